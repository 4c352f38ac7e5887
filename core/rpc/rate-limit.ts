import { RateLimiterMemory, RateLimiterQueue } from 'rate-limiter-flexible'
import { Outage } from '../errors.ts'

/** Calls that wait for their turn at one endpoint; more are an outage of that endpoint, so that another is asked. */
const MAX_WAITING_CALLS = 1_024

/** Waits for a call's turn. Throws `Outage` when too many wait already. */
export type AcquireCallSlot = () => Promise<void>

/** A budget of calls per second; 0 = none, every call goes at once. */
export const makeRateLimit = (perSecond: number): AcquireCallSlot => {
  if (perSecond === 0) return async () => undefined
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 })
  const queue = new RateLimiterQueue(limiter, { maxQueueSize: MAX_WAITING_CALLS })
  return async () => {
    try {
      await queue.removeTokens(1)
    } catch (error) {
      throw new Outage(
        'rpc',
        `${MAX_WAITING_CALLS} calls are queued already, the limit of one endpoint`,
        { cause: error },
      )
    }
  }
}
