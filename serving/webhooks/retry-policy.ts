/** Why an attempt failed. */
export type ErrorKind = 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked' | 'status' | 'body'

/** Result of one attempt. */
export interface AttemptResult {
  /** HTTP status; 0 = no response. */
  readonly status: number
  readonly errorKind: ErrorKind | null
  /** Error text of the attempt's record; never an internal address. */
  readonly error: string
  /** First part of the response body. */
  readonly response: string
  readonly durationMs: number
  /** `Retry-After` in milliseconds from now; null = none. */
  readonly retryAfterMs: number | null
  /** Value of the response header `webhook-delivery`. */
  readonly directive: 'disable' | 'abort-message' | null
}

/** What triggered an attempt; only scheduled ones and replays are retried. */
export type Trigger = 'scheduled' | 'manual' | 'replay'

/** Input of the retry decision. */
export interface RetryContext {
  /** 1 = the first. */
  readonly attempt: number
  readonly trigger: Trigger
  /** Pause before each attempt, the first included, milliseconds. */
  readonly scheduleMs: readonly number[]
  readonly nowMs: number
  /** 0 to 1. */
  readonly random: () => number
}

/** Decision after an attempt. */
export interface RetryDecision {
  readonly status: 'success' | 'pending' | 'fail'
  /** When to try again, epoch milliseconds; null = never. */
  readonly nextAtMs: number | null
  /** Disables the endpoint too. */
  readonly disable: 'gone' | 'receiver' | null
  /** True: every attempt of the schedule is used up. */
  readonly exhausted: boolean
}

const JITTER = 0.2
/** Shortest delay after a timeout or a 429. */
const MIN_OVERLOADED_DELAY_MS = 60_000
const HTTP_GONE = 410
const HTTP_TOO_MANY_REQUESTS = 429

/** The retry decision. Pure. */
export const decideRetry = (outcome: AttemptResult, context: RetryContext): RetryDecision => {
  const { status, errorKind, directive } = outcome
  if (directive === 'disable')
    return finalDecision(errorKind === null ? 'success' : 'fail', 'receiver')
  if (errorKind === null) return finalDecision('success', null)
  if (status === HTTP_GONE) return finalDecision('fail', 'gone')
  if (directive === 'abort-message' || context.trigger === 'manual')
    return finalDecision('fail', null)
  const pauseMs = context.scheduleMs[context.attempt]
  if (pauseMs === undefined) {
    return { status: 'fail', nextAtMs: null, disable: null, exhausted: true }
  }
  const nextAtMs = context.nowMs + Math.round(retryDelayMs(outcome, pauseMs, context.random))
  return { status: 'pending', nextAtMs, disable: null, exhausted: false }
}

const finalDecision = (
  status: 'success' | 'fail',
  disable: RetryDecision['disable'],
): RetryDecision => ({
  status,
  nextAtMs: null,
  disable,
  exhausted: false,
})

const retryDelayMs = (outcome: AttemptResult, pauseMs: number, random: () => number): number => {
  const scheduledMs = pauseMs * (1 - JITTER + 2 * JITTER * random())
  const { retryAfterMs } = outcome
  const requestedMs =
    retryAfterMs === null
      ? scheduledMs
      : Math.min(Math.max(retryAfterMs, scheduledMs), 2 * scheduledMs)
  const overloaded = outcome.errorKind === 'timeout' || outcome.status === HTTP_TOO_MANY_REQUESTS
  return overloaded ? Math.max(requestedMs, MIN_OVERLOADED_DELAY_MS) : requestedMs
}

/** `Retry-After` as milliseconds from now: seconds, or an HTTP date; null when it is neither. */
export const parseRetryAfter = (header: string | undefined, nowMs: number): number | null => {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const atMs = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs)
}
