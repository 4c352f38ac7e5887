import type { LimitedReads } from '../../queries/limited-reads.ts'
import { createQueryQueue, type QueryQueue } from '../../queries/query-queue.ts'
import type { LiveLimits } from './limits.ts'

/** Longest wait for a turn; a subscription waits for one at a time, so none is refused. */
const MAX_WAIT_MS = 24 * 3_600_000

/**
 * Turns of deliveries, taken before their statements wait with those of queries: a block is news for every subscription at the
 * same time, and their statements would fill the queue that queries wait in. An organization has as many turns as it may run
 * statements, and organizations follow each other.
 */
export const createDeliveryTurns = (
  { perOrg }: Pick<LimitedReads, 'perOrg'>,
  { subscriptionsPerOrg }: Pick<LiveLimits, 'subscriptionsPerOrg'>,
): QueryQueue =>
  createQueryQueue({
    // So many keep all places busy, also where one organization has all of its own.
    running: 2 * perOrg,
    runningPerOrg: perOrg,
    waiting: Number.POSITIVE_INFINITY,
    waitingPerOrg: subscriptionsPerOrg,
    waitMs: MAX_WAIT_MS,
  })
