import { BrokenCircuitError, ConsecutiveBreaker, circuitBreaker, handleType } from 'cockatiel'
import { Fault, type FaultName } from '../../../core/errors.ts'
import {
  addressRules,
  type OutboundClient,
  openOutboundClient,
} from '../../../core/http/guarded-client.ts'
import { isJsonObject, parseJson } from '../../../core/json.ts'
import { createQueryQueue, type QueryQueueLimits } from '../../queries/query-queue.ts'

/** Which errors the failures of an aggregator are for callers. */
export interface AggregatorFaults {
  readonly unauthorized: FaultName
  readonly rateLimit: FaultName
  readonly badRequest: FaultName
  readonly other: FaultName
}

/** On whose behalf a call is made. */
export interface AggregatorCaller {
  readonly orgId: string
  /** Ends the wait for a turn. */
  readonly signal?: AbortSignal
}

/** Where an aggregator is, and what it is sent with each call. */
export interface AggregatorAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly faults: AggregatorFaults
  readonly caller: () => AggregatorCaller
}

/** An object that an aggregator answers. */
export interface AggregatorAnswer {
  readonly fields: Readonly<Record<string, unknown>>
  /** Its JSON text. */
  readonly text: string
}

/** Calls of an aggregator's HTTP interface. */
export interface AggregatorClient {
  /**
   * The object that it answers, to a body where one is given. Throws the `Fault` of each way to fail, none of which tells the address or the key;
   * CONCURRENCY_LIMIT where calls of the caller's own organization are in the way, SERVER_BUSY where those of all are.
   */
  ask(path: string, body?: string): Promise<AggregatorAnswer>
  /** The fault of an answer that cannot be used. */
  invalid(reason: string): Fault
  close(): Promise<void>
}

/** Longest time of a call, and largest answer. */
const [TIMEOUT_MS, MAX_ANSWER_BYTES] = [2_000, 1_048_576]
/** Outages in a row after which no call is made, and how long. */
const [MAX_FAILURES, CLOSED_MS] = [5, 10_000]
/** Calls of one aggregator: half of those at the same time, and a quarter of those that wait, may be one organization's. */
const CALL_LIMITS: QueryQueueLimits = {
  running: 16,
  runningPerOrg: 8,
  waiting: 64,
  waitingPerOrg: 16,
  waitMs: 4_000,
}
/** The operator names the address: it may be anywhere. */
const ANYWHERE = ['0.0.0.0/0', '::/0']

/** The aggregator did not answer, or has an error of its own: these count until it is not asked any more. */
class AggregatorOutage extends Error {}

interface Answer {
  readonly status: number
  readonly answer: AggregatorAnswer | undefined
}

const exchange = async (
  client: OutboundClient,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): Promise<Answer> => {
  const common = { timeoutMs: TIMEOUT_MS, mostBytes: MAX_ANSWER_BYTES }
  const asked =
    body === undefined
      ? client.exchange(url, { method: 'GET', headers, ...common })
      : client.exchange(url, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body,
          ...common,
        })
  const { status, start, broken } = await asked.catch((cause: unknown) => {
    throw new AggregatorOutage('no answer', { cause })
  })
  if (broken !== undefined) throw new AggregatorOutage('no whole answer', { cause: broken })
  if (status >= 500) throw new AggregatorOutage(`status ${status}`)
  return { status, answer: answerIn(start) }
}

const answerIn = (bytes: Buffer): AggregatorAnswer | undefined => {
  const text = bytes.toString('utf8')
  try {
    const fields = parseJson(text)
    return isJsonObject(fields) ? { fields, text } : undefined
  } catch {
    return undefined
  }
}

/** A body with an aggregator's own answer as it came: it may hold numbers that would lose digits. */
export const bodyWith = (name: string, text: string, more: object): string =>
  `{${JSON.stringify(name)}:${text},${JSON.stringify(more).slice(1)}`

/** Opens calls to an aggregator, which take turns by organization. After five outages in a row it is not asked for ten seconds. */
export const openAggregatorClient = ({
  url,
  headers,
  faults,
  caller,
}: AggregatorAddress): AggregatorClient => {
  const client = openOutboundClient({ rules: addressRules(ANYWHERE), plainHttp: 'listed' })
  const base = url.replace(/\/+$/, '')
  const breaker = circuitBreaker(handleType(AggregatorOutage), {
    halfOpenAfter: CLOSED_MS,
    breaker: new ConsecutiveBreaker(MAX_FAILURES),
  })
  const turns = createQueryQueue(CALL_LIMITS)
  const faultOf = (name: FaultName, reason: string): Fault => new Fault(name, undefined, { reason })
  const withoutAnswer = (error: unknown): Fault => {
    if (error instanceof BrokenCircuitError) return faultOf(faults.other, 'not asked after outages')
    if (error instanceof AggregatorOutage) return faultOf(faults.other, 'no answer')
    throw error
  }
  return {
    invalid: (reason) => faultOf(faults.other, reason),
    ask: async (path, body) => {
      const { orgId, signal } = caller()
      const call = () => breaker.execute(() => exchange(client, base + path, headers, body))
      const { status, answer } = await turns.run(orgId, call, signal).catch((error: unknown) => {
        throw withoutAnswer(error)
      })
      if (status === 401 || status === 403) throw faultOf(faults.unauthorized, 'unauthorized')
      if (status === 429) throw faultOf(faults.rateLimit, 'rate limit')
      if (status >= 400) throw faultOf(faults.badRequest, `status ${status}`)
      if (status !== 200 || answer === undefined) throw faultOf(faults.other, 'unexpected answer')
      return answer
    },
    close: () => client.close(),
  }
}
