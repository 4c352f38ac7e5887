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

/** Compiled filters of every family. */
export interface FilterCompiler {
  /** The filter of a text; undefined where it is none. */
  compile(row: ChannelRow, text: string): PublicationFilter | undefined
}

const MAX_FILTER_BYTES = 4_096
const LIMITS = {
  nodes: 256,
  depth: 32,
  /** Some ten microseconds, a few hundred with regular expressions or time zones: one channel may have thousands of filters. */
  steps: 1_000,
}
/** Filters that are kept compiled: more than connections can subscribe to in a short time. */
const MAX_FILTERS = 10_000

const FORBIDDEN_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['join', 'may not join lists'],
  // Those that are left after every call of it was given another function.
  ['matches', 'may match in linear time only'],
])

/** Compiles each text once for all families whose payloads have the same keys. */
export const createFilterCompiler = (): FilterCompiler => {
  const patterns = createPatternCompiler()
  const compilers = new Map<PayloadKeys, (text: string) => PublicationFilter | undefined>()
  const compilerFor = (keys: PayloadKeys): ((text: string) => PublicationFilter | undefined) => {
    const compile = createExpressionCompiler({
      variables: [PAYLOAD_VARIABLE],
      limits: LIMITS,
      forbidden: FORBIDDEN_FUNCTIONS,
      extend: (environment) => extendWithFilterRules(environment, patterns),
      rewrite: (node, source) => shortKeyNames(node, { keys, source }),
      adapt: callLinearMatches,
      programSize: (pattern, position) => patterns(pattern, position).programSize(),
    })
    const known = new LRUCache<string, PublicationFilter>({ max: MAX_FILTERS })
    return (text) => {
      const filter = known.get(text) ?? compileFilter(compile, text)
      if (filter !== undefined) known.set(text, filter)
      return filter
    }
  }
  return {
    compile: ({ keys }, text) => {
      const compile = compilers.get(keys) ?? compilerFor(keys)
      compilers.set(keys, compile)
      return compile(text)
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
