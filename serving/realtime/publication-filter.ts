import { LRUCache } from 'lru-cache'
import type { ChannelRow } from '../../schemas/channels.ts'
import { createExpressionCompiler, InvalidExpression } from '../cel/expression.ts'
import { callLinearMatches, extendWithFilterRules } from '../cel/filter-rules.ts'
import { createPatternCompiler } from '../cel/patterns.ts'
import { PAYLOAD_VARIABLE, shortKeyNames } from './filter-names.ts'
import type { FilterView, PayloadKeys } from './payload.ts'
import type { Body } from './protocol.ts'
import { isObject } from './protocol.ts'
import { InvalidTagFilter, tagFilterExpression } from './tag-filter.ts'

/** Which publications of a subscription are sent; equal ones are the same object. */
export interface PublicationFilter {
  readonly text: string
  /** Steps that it takes at most for one publication. */
  readonly steps: number
  /** False where it asks for something that is not there. */
  matches(view: FilterView): boolean
}

/** Filters of every family, the last used ones kept compiled. */
export interface FilterCompiler {
  /** The filter of a text; undefined where it is none. */
  compile(row: ChannelRow, text: string): PublicationFilter | undefined
  /** The filter of a text that is kept compiled; undefined where it has to be compiled to know. */
  compiled(row: ChannelRow, text: string): PublicationFilter | undefined
}

const MAX_FILTER_BYTES = 4_096
const LIMITS = {
  nodes: 256,
  depth: 32,
  /** Some ten microseconds, a few hundred with regular expressions or time zones: one channel may have thousands of filters. */
  steps: 1_000,
}
/** Memory of the filters that are kept compiled, of all families and organizations together: some 900 of the largest. */
const MAX_COMPILED_BYTES = 64 * 1_024 * 1_024
/** Memory of compiled filters as measured, in bytes: of any, of each character of the text, and at most, because nodes are limited. */
const COMPILED_BYTES = { any: 3_072, perCharacter: 260, most: 80 * 1_024 }

const FORBIDDEN_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['join', 'may not join lists'],
  // Those that are left after every call of it was given another function.
  ['matches', 'may match in linear time only'],
])

/** Memory of a compiled filter in bytes, rather too much than too little; its text is in the key and in the nodes too. */
const estimateCompiledBytes = ({ text }: PublicationFilter): number => {
  const { any, perCharacter, most } = COMPILED_BYTES
  return Math.min(any + text.length * perCharacter, most) + 2 * Buffer.byteLength(text)
}

/** Families whose payloads have the same keys have the same filters. */
interface KeysCompiler {
  /** Tells its filters from those of other keys. */
  readonly id: number
  readonly compile: (text: string) => PublicationFilter | undefined
}

/** Compiles each text once for all families whose payloads have the same keys. `maxBytes`: memory of what is kept compiled. */
export const createFilterCompiler = ({ maxBytes = MAX_COMPILED_BYTES } = {}): FilterCompiler => {
  const patterns = createPatternCompiler()
  const compilers = new Map<PayloadKeys, KeysCompiler>()
  const kept = new LRUCache<string, PublicationFilter>({
    maxSize: maxBytes,
    sizeCalculation: estimateCompiledBytes,
  })
  const makeCompiler = (keys: PayloadKeys): KeysCompiler => {
    const compile = createExpressionCompiler({
      variables: [PAYLOAD_VARIABLE],
      limits: LIMITS,
      forbidden: FORBIDDEN_FUNCTIONS,
      extend: (environment) => extendWithFilterRules(environment, patterns),
      rewrite: (node, source) => shortKeyNames(node, { keys, source }),
      adapt: callLinearMatches,
      programSize: (pattern, position) => patterns(pattern, position).programSize(),
    })
    return { id: compilers.size, compile: (text) => compileFilter(compile, text) }
  }
  const compilerOf = ({ keys }: ChannelRow): KeysCompiler => {
    const compiler = compilers.get(keys) ?? makeCompiler(keys)
    compilers.set(keys, compiler)
    return compiler
  }
  const compiled: FilterCompiler['compiled'] = (row, text) =>
    kept.get(`${compilerOf(row).id} ${text}`)
  return {
    compiled,
    compile: (row, text) => {
      const known = compiled(row, text)
      if (known !== undefined) return known
      const { id, compile } = compilerOf(row)
      const filter = compile(text)
      if (filter !== undefined) kept.set(`${id} ${text}`, filter)
      return filter
    },
  }
}

const compileFilter = (
  compile: ReturnType<typeof createExpressionCompiler>,
  text: string,
): PublicationFilter | undefined => {
  if (Buffer.byteLength(text) > MAX_FILTER_BYTES) return undefined
  try {
    const run = compile(text)
    return {
      text,
      steps: run.steps,
      matches: (view) => {
        try {
          return run({ [PAYLOAD_VARIABLE]: view }) === true
        } catch {
          return false
        }
      },
    }
  } catch (error) {
    if (error instanceof InvalidExpression) return undefined
    throw error
  }
}

/**
 * Text of the filter that a subscribe asks for: `filter`, `data.filter` or `tf`; "" = none, undefined = not a filter, or more than
 * one.
 */
export const requestedFilter = ({ filter, data, tf }: Body): string | undefined => {
  const inside = isObject(data) ? data.filter : undefined
  const texts = [filter, inside].filter((one) => one !== undefined && one !== null && one !== '')
  const tags = tf === undefined || tf === null ? [] : [tf]
  if (texts.length + tags.length > 1) return undefined
  const [text = ''] = texts
  if (typeof text !== 'string') return undefined
  return tags.length === 0 ? text : tagFilterText(tags[0])
}

const tagFilterText = (node: unknown): string | undefined => {
  try {
    return tagFilterExpression(node, MAX_FILTER_BYTES)
  } catch (error) {
    if (error instanceof InvalidTagFilter) return undefined
    throw error
  }
}
