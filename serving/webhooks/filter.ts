import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import type { ChannelKey } from '../../schemas/channel-keys.ts'
import { channelKind, kindRow, WEBHOOK_KIND_NAMES } from '../../schemas/webhooks.ts'
import {
  createExpressionCompiler,
  type Expression,
  type ExpressionNode,
  InvalidExpression,
  type Replacement,
} from '../cel/expression.ts'
import { childNodes } from '../cel/expression-cost.ts'
import type { BodyValue, WebhookEvent } from './message.ts'

/** Result of a filter; `error` = it read a value that the event does not have, which is not a match. */
export type FilterResult = 'match' | 'no-match' | 'error'

/** A compiled filter. */
export type Filter = (event: Pick<WebhookEvent, 'channel' | 'timeMs' | 'data'>) => FilterResult

const MAX_FILTER_LENGTH = 2_048
const LIMITS = {
  nodes: 200,
  depth: 20,
  /** These take less than a millisecond. */
  steps: 5_000,
}

/** Text that multiplies: a few of them in a row make megabytes out of a name, and a filter asks for none. */
const FORBIDDEN_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['matches', 'may hold no regular expression'],
  ['join', 'may not join lists'],
])

/** The language has a `type` of its own; as long, so that positions stay. */
const TYPE_VARIABLE = 'typ_'

const VARIABLES = [
  ...['channel', TYPE_VARIABLE, 'timestamp', 'data'],
  ...new Set(
    WEBHOOK_KIND_NAMES.flatMap((kind) => Object.values(kindRow(kind).keys).map(({ long }) => long)),
  ),
]

/** The event's `type` as a variable; the function `type(x)` stays what it is. */
const typeVariables = ({ op, args, range }: ExpressionNode): readonly Replacement[] => [
  ...(op === 'id' && args === 'type'
    ? [{ start: range.start, end: range.end, text: TYPE_VARIABLE }]
    : []),
  ...childNodes(args).flatMap(typeVariables),
]

const compileExpression = createExpressionCompiler({
  variables: VARIABLES,
  limits: LIMITS,
  forbidden: FORBIDDEN_FUNCTIONS,
  rewrite: typeVariables,
})

/**
 * Compiles a CEL expression over `channel`, `type`, `timestamp`, `data` and the long names.
 * Bounded before it runs: no regular expressions, no loops over data, and a limit to the steps that the expression can
 * take. Throws `Fault` WEBHOOK_FILTER_INVALID with the position.
 */
export const compileFilter = (source: string): Filter => {
  const run = parseFilter(source)
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
    const cached = cache.get(source)
    if (cached) return cached
    const made = compileOrNeverMatch(source)
    cache.set(source, made)
    return made
  }
}

/** Why a stored filter lets nothing through any more: what it says is beyond today's limits; undefined where it is good. */
export const storedFilterProblem = (source: string): string | undefined => {
  try {
    compileFilter(source)
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
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

const parseFilter = (source: string): Expression => {
  if (source.length > MAX_FILTER_LENGTH) {
    throw invalidFilter(`is longer than ${MAX_FILTER_LENGTH} characters`, MAX_FILTER_LENGTH)
  }
  try {
    return compileExpression(source)
  } catch (error) {
    if (!(error instanceof InvalidExpression)) throw error
    throw invalidFilter(error.message, error.position)
  }
}

const invalidFilter = (why: string, position: number): Fault =>
  new Fault('WEBHOOK_FILTER_INVALID', `filter ${why}`, { parameter: 'filter', position })

/** Decimals are texts in the body, and numbers where they are compared. */
const filterValue = (value: BodyValue, row: ChannelKey | undefined): BodyValue =>
  row?.type === 'd' && typeof value === 'string' ? Number(value) : value

const expandKeys = (value: BodyValue, row: ChannelKey | undefined): BodyValue =>
  typeof value === 'object'
    ? Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [row?.keys?.[key]?.long ?? key, inner]),
      )
    : value
