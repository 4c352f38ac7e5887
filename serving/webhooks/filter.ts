import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js'
import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import type { ChannelKey } from '../../schemas/channel-keys.ts'
import { channelKind, kindRow, WEBHOOK_KIND_NAMES } from '../../schemas/webhooks.ts'
import { childNodes, evaluationCost, LIST_MACROS } from './filter-cost.ts'
import type { BodyValue, WebhookEvent } from './message.ts'

/** What a filter answers of an event; `error` = it asked for something that is not there, which is not a match. */
export type FilterResult = 'match' | 'no-match' | 'error'

/** A compiled filter. */
export type Filter = (event: Pick<WebhookEvent, 'channel' | 'timeMs' | 'data'>) => FilterResult

const MAX_FILTER_LENGTH = 2_048
const PARSER_LIMITS = {
  maxAstNodes: 200,
  maxDepth: 20,
  maxListElements: 100,
  maxMapEntries: 20,
  maxCallArguments: 8,
}

/** Steps of one evaluation: these take less than a millisecond. */
const MAX_EVALUATION_STEPS = 5_000

/** Text that multiplies: a few of them in a row make megabytes out of a name, and a filter asks for none. */
const FORBIDDEN_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['matches', 'may hold no regular expression'],
  ['join', 'may not join lists'],
])

/** The language has a `type` of its own; as long, so that positions stay. */
const TYPE_VARIABLE = 'typ_'

const VARIABLES = [
  ...['channel', TYPE_VARIABLE, 'timestamp', 'data'],
  ...WEBHOOK_KIND_NAMES.flatMap((kind) =>
    Object.values(kindRow(kind).keys).map(({ long }) => long),
  ),
]

const createEnvironment = (): Environment => {
  const environment = new Environment({ limits: PARSER_LIMITS })
  for (const name of new Set(VARIABLES)) {
    environment.registerVariable(name, 'dyn')
  }
  return environment
}

/**
 * Compiles a CEL expression over `channel`, `type`, `timestamp`, `data` and the long names.
 * Bounded before it runs: no regular expressions, no loops over data, and a limit to the steps that the expression can
 * take. Throws `Fault` WEBHOOK_FILTER_INVALID with the position.
 */
export const compileFilter = (source: string): Filter => {
  if (source.length > MAX_FILTER_LENGTH) {
    throw invalidFilter(`is longer than ${MAX_FILTER_LENGTH} characters`, MAX_FILTER_LENGTH)
  }
  const run = parseFilter(source)
  rejectForbiddenCalls(run.ast)
  if (evaluationCost(run.ast) > MAX_EVALUATION_STEPS) throw invalidFilter('takes too many steps', 0)
  const { valid, type, error } = run.check()
  if (!valid)
    throw invalidFilter(error?.summary ?? 'does not hold together', error?.range?.start ?? 0)
  if (type !== 'bool' && type !== 'dyn') throw invalidFilter(`gives ${type}, not a truth value`, 0)
  return ({ channel, timeMs, data }) => {
    try {
      const { keys } = kindRow(channelKind(channel))
      const values = Object.entries(data).map(
        ([key, value]) => [key, keys[key], filterValue(value, keys[key])] as const,
      )
      const answer: unknown = run({
        channel,
        [TYPE_VARIABLE]: channel,
        timestamp: timeMs,
        data: Object.fromEntries(values.map(([key, , value]) => [key, value])),
        ...Object.fromEntries(
          values.map(([key, row, value]) => [row?.long ?? key, expandKeys(value, row)]),
        ),
      })
      return answer === true ? 'match' : 'no-match'
    } catch {
      return 'error'
    }
  }
}

/** Filters by their text, compiled once; one that no longer compiles matches nothing. */
export const createFilterCache = (size = 10_000): ((source: string) => Filter) => {
  const cache = new LRUCache<string, Filter>({ max: size })
  return (source) => {
    const known = cache.get(source)
    if (known) return known
    const made = compileOrNeverMatch(source)
    cache.set(source, made)
    return made
  }
}

const compileOrNeverMatch = (source: string): Filter => {
  try {
    return compileFilter(source)
  } catch (error) {
    if (error instanceof Fault) return () => 'error'
    throw error
  }
}

const invalidFilter = (why: string, position: number): Fault =>
  new Fault('WEBHOOK_FILTER_INVALID', `filter ${why}`, { parameter: 'filter', position })

const parseFilter = (source: string) => {
  const environment = createEnvironment()
  try {
    const run = environment.parse(source)
    const renamed = withTypeVariable(source, run.ast)
    return renamed === source ? run : environment.parse(renamed)
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    throw invalidFilter(error.summary, error.range?.start ?? 0)
  }
}

/** The event's `type` as a variable; the function `type(x)` stays what it is. */
const withTypeVariable = (source: string, node: ASTNode): string => {
  const isType = node.op === 'id' && node.args === 'type'
  const start = source.slice(0, node.range.start)
  const own = isType ? start + TYPE_VARIABLE + source.slice(node.range.end) : source
  return childNodes(node.args).reduce(withTypeVariable, own)
}

/** Decimals are texts in the body, and numbers where they are compared. */
const filterValue = (value: BodyValue, row: ChannelKey | undefined): BodyValue =>
  row?.type === 'd' && typeof value === 'string' ? Number(value) : value

const expandKeys = (value: BodyValue, row: ChannelKey | undefined): BodyValue =>
  typeof value === 'object'
    ? Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [row?.keys?.[key]?.long ?? key, inner]),
      )
    : value

const rejectForbiddenCalls = (node: ASTNode): void => {
  const name = node.op === 'rcall' || node.op === 'call' ? node.args[0] : ''
  const why = FORBIDDEN_FUNCTIONS.get(name)
  if (why !== undefined) throw invalidFilter(why, node.range.start)
  if (node.op === 'rcall' && LIST_MACROS.has(name) && node.args[1].op !== 'list') {
    throw invalidFilter('may walk written lists only', node.range.start)
  }
  for (const child of childNodes(node.args)) rejectForbiddenCalls(child)
}
