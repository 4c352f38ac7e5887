import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js'
import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import { LAUNCH_KEYS, WEBHOOK_KEYS, type WebhookKey } from '../../schemas/webhooks.ts'
import { childrenOf, costOf, WALKS } from './filter-cost.ts'
import type { WebhookEvent } from './message.ts'

/** What a filter answers of an event; `error` = it asked for something that is not there, which is not a match. */
export type FilterAnswer = 'match' | 'no-match' | 'error'

/** A compiled filter. */
export type Filter = (event: Pick<WebhookEvent, 'channel' | 'timeMs' | 'data'>) => FilterAnswer

const MOST_CHARACTERS = 2_048
const LIMITS = {
  maxAstNodes: 200,
  maxDepth: 20,
  maxListElements: 100,
  maxMapEntries: 20,
  maxCallArguments: 8,
}

/** Steps of one evaluation: these take less than a millisecond. */
const MOST_STEPS = 5_000

/** Text that multiplies: a few of them in a row make megabytes out of a name, and a filter asks for none. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['matches', 'may hold no regular expression'],
  ['join', 'may not join lists'],
])

/** The language has a `type` of its own; as long, so that positions stay. */
const TYPE_VARIABLE = 'typ_'

const VARIABLES = [
  ...['channel', TYPE_VARIABLE, 'timestamp', 'data'],
  ...Object.values(WEBHOOK_KEYS),
]

const newEnvironment = (): Environment => {
  const environment = new Environment({ limits: LIMITS })
  for (const name of VARIABLES) {
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
  if (source.length > MOST_CHARACTERS) {
    throw refused(`is longer than ${MOST_CHARACTERS} characters`, MOST_CHARACTERS)
  }
  const run = parse(source)
  refuseLoops(run.ast)
  if (costOf(run.ast) > MOST_STEPS) throw refused('takes too many steps', 0)
  const { valid, type, error } = run.check()
  if (!valid) throw refused(error?.summary ?? 'does not hold together', error?.range?.start ?? 0)
  if (type !== 'bool' && type !== 'dyn') throw refused(`gives ${type}, not a truth value`, 0)
  return ({ channel, timeMs, data }) => {
    try {
      const longNames = Object.entries(data).map(([key, value]) => [
        WEBHOOK_KEYS[key as WebhookKey],
        longValue(value),
      ])
      const answer: unknown = run({
        channel,
        [TYPE_VARIABLE]: channel,
        timestamp: timeMs,
        data,
        ...Object.fromEntries(longNames),
      })
      return answer === true ? 'match' : 'no-match'
    } catch {
      return 'error'
    }
  }
}

/** Filters by their text, compiled once; one that no longer compiles matches nothing. */
export const filterCache = (size = 10_000): ((source: string) => Filter) => {
  const cache = new LRUCache<string, Filter>({ max: size })
  return (source) => {
    const known = cache.get(source)
    if (known) return known
    const made = compiledOr(source)
    cache.set(source, made)
    return made
  }
}

const compiledOr = (source: string): Filter => {
  try {
    return compileFilter(source)
  } catch (error) {
    if (error instanceof Fault) return () => 'error'
    throw error
  }
}

const refused = (why: string, position: number): Fault =>
  new Fault('WEBHOOK_FILTER_INVALID', `filter ${why}`, { parameter: 'filter', position })

const parse = (source: string) => {
  const environment = newEnvironment()
  try {
    const run = environment.parse(source)
    const renamed = withTypeVariable(source, run.ast)
    return renamed === source ? run : environment.parse(renamed)
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    throw refused(error.summary, error.range?.start ?? 0)
  }
}

/** The event's `type` as a variable; the function `type(x)` stays what it is. */
const withTypeVariable = (source: string, node: ASTNode): string => {
  const isType = node.op === 'id' && node.args === 'type'
  const start = source.slice(0, node.range.start)
  const own = isType ? start + TYPE_VARIABLE + source.slice(node.range.end) : source
  return childrenOf(node.args).reduce(withTypeVariable, own)
}

const longValue = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [
          LAUNCH_KEYS[key as keyof typeof LAUNCH_KEYS],
          inner,
        ]),
      )
    : value

const refuseLoops = (node: ASTNode): void => {
  const name = node.op === 'rcall' || node.op === 'call' ? node.args[0] : ''
  const why = REFUSED.get(name)
  if (why !== undefined) throw refused(why, node.range.start)
  if (node.op === 'rcall' && WALKS.has(name) && node.args[1].op !== 'list') {
    throw refused('may walk written lists only', node.range.start)
  }
  for (const child of childrenOf(node.args)) refuseLoops(child)
}
