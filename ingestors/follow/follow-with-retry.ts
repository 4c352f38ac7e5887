import { InvalidInput, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { retry } from '../../core/retry.ts'
import type { ChainOp, Position, Source } from './contract.ts'

/** Pauses between rounds in which nothing was taken. */
const PAUSE = { firstMs: 100, maxMs: 5_000, tries: Number.POSITIVE_INFINITY } as const
/** What every endpoint was asked for already when it is thrown: the chain is halted at once, until they say otherwise. */
const HALTS: ReadonlySet<string> = new Set(['reorg-below-finality', 'reorg-beyond-window'])
/** Rounds after which a chain that takes nothing is reported as blocked. */
const REPORT_AFTER_ROUNDS = 4

/** A chain that is followed through the mistakes of its nodes. */
export interface RetryingFollower {
  readonly source: Source
  readonly position: () => Position | null
  /** Takes an operation; true ends the chain. What it throws is not retried. */
  readonly take: (op: ChainOp) => Promise<boolean>
  /** Commits what was taken and not committed yet. Default: `take` leaves nothing. */
  readonly flush?: () => Promise<void>
  /** Outcome of a commit that is on its way without a further call; undefined = there is none. */
  readonly pending?: () => Promise<void> | undefined
  /** Called once when nothing could be read for several rounds because of what the nodes say, or all leave our chain. */
  readonly onStill: (error: InvalidInput) => Promise<void>
  readonly log: Logger
}

const isHalt = (error: unknown): boolean => error instanceof InvalidInput && HALTS.has(error.reason)

/** What taking or committing threw: the session is over. */
class Ended extends Error {}

const endWith = (cause: unknown): never => {
  throw new Ended('not taken', { cause })
}

/**
 * Takes operation after operation. What goes wrong on the node's side, no answer or an invalid one, is asked for again from
 * where the chain stands, however long it lasts: another answer may be in shape. A chain that leaves ours
 * below finality may come back too: it is halted meanwhile. A recording does not change, and an outage that is final stays one: those
 * are thrown.
 */
export const followWithRetry = async (
  follower: RetryingFollower,
  signal: AbortSignal,
): Promise<void> => {
  const { source, log, onStill } = follower
  const isPassing = (error: unknown): boolean =>
    source.node !== null &&
    ((error instanceof Outage && error.of === 'rpc' && !error.final) ||
      error instanceof InvalidInput)
  /** Why the chain was reported as blocked; undefined: it moved since. */
  let reportedReason: string | undefined
  const report = async (error: InvalidInput, attempt: number): Promise<void> => {
    if (reportedReason === error.reason || (!isHalt(error) && attempt !== REPORT_AFTER_ROUNDS))
      return
    reportedReason = error.reason
    await onStill(error)
  }
  const flush = async (): Promise<void> => follower.flush?.().catch(endWith)
  const round = async (attempt: number): Promise<'more' | 'ended'> => {
    let taken = 0
    try {
      for await (const op of watched(source.operations(follower.position(), signal), follower)) {
        const isEnd = await follower.take(op).catch(endWith)
        taken += 1
        reportedReason = undefined
        if (isEnd) break
      }
      await flush()
      return 'ended'
    } catch (error) {
      if (error instanceof Ended) throw error
      await flush()
      if (signal.aborted || !isPassing(error)) throw error
      log.warn({ err: error, attempt }, 'block source failed, retrying')
      if (taken > 0 && !isHalt(error)) return 'more'
      if (error instanceof InvalidInput) await report(error, attempt)
      throw error
    }
  }
  try {
    let outcome = 'more'
    while (outcome === 'more') {
      outcome = await retry(round, { ...PAUSE, signal, again: isPassing })
    }
  } catch (error) {
    throw error instanceof Ended ? error.cause : error
  }
}

/** The operations; a commit that fails while the next one is waited for ends them. */
async function* watched(
  source: AsyncIterable<ChainOp>,
  { pending }: Pick<RetryingFollower, 'pending'>,
): AsyncGenerator<ChainOp> {
  const operations = source[Symbol.asyncIterator]()
  let isWaiting = false
  try {
    for (;;) {
      const coming = operations.next()
      isWaiting = true
      const commit = pending?.()
      if (commit !== undefined) {
        const arrival = coming.then(
          () => undefined,
          () => undefined,
        )
        await Promise.race([arrival, commit.catch(endWith)])
      }
      const next = await coming
      isWaiting = false
      if (next.done) return
      yield next.value
    }
  } finally {
    // One that is still asking its node ends when that has answered.
    const closed = operations.return?.().catch(() => undefined)
    if (!isWaiting) await closed
  }
}
