import type { Metrics } from '../../../core/ops/metrics.ts'
import type { FreshnessReader, Meter, Principal } from '../../interfaces.ts'
import { emptyWork, queryWorkMilliUnits } from '../../queries/limited-reads.ts'
import { JSON_FORMAT } from '../answer-format.ts'
import type { BlockScope } from '../block-scope.ts'
import type { GraphqlEngine } from '../engine.ts'
import { publicErrors } from '../errors.ts'
import { type ExecutionResult, executePlan } from '../execute.ts'
import type { Plan } from '../plan.ts'
import type { BlockFeed } from './block-feed.ts'
import type { LiveLimits } from './limits.ts'

/** A subscription that fell so far behind that blocks would be left out. */
export class SubscriptionTooSlow extends Error {}

/** What deliveries are made with. */
export interface DeliveryDeps {
  readonly engine: Pick<GraphqlEngine, 'reads' | 'limits'>
  readonly meter: Meter
  readonly freshness: FreshnessReader
  readonly metrics: Pick<Metrics, 'graphqlDeliveries'>
  readonly nowMs: () => number
  readonly limits: Pick<LiveLimits, 'maxAnswerBytes'>
}

/** One subscription as it begins. */
export interface SubscriptionSource {
  readonly plan: Plan
  readonly principal: Principal
  /** By chain; the chains of the plan. */
  readonly feeds: readonly BlockFeed[]
  /** Called once, when blocks from now on are its own. */
  readonly onBegin: () => void
  /** Called once, however it ends. */
  readonly onEnd: () => void
}

/** The bodies of a subscription's deliveries; `return` ends it at once, also a statement that runs. */
export interface Deliveries extends AsyncIterableIterator<Buffer> {
  return(): Promise<IteratorResult<Buffer>>
}

const DONE: IteratorResult<Buffer> = { done: true, value: undefined }

/** Runs the plan over the blocks and settles what it cost: as a query does, also where no row was found. */
const runStep = async (
  scope: BlockScope,
  { plan, principal }: SubscriptionSource,
  deps: DeliveryDeps,
  signal: AbortSignal,
): Promise<ExecutionResult> => {
  const { engine, meter, limits } = deps
  const reservation = meter.reserve(principal, plan.worstMilliUnits, 'graphql')
  const caller = { ...principal, signal, work: emptyWork() }
  try {
    const running = {
      reads: engine.reads,
      freshness: deps.freshness,
      nowMs: deps.nowMs,
      scope,
      limits: { ...engine.limits, maxAnswerBytes: limits.maxAnswerBytes },
      format: JSON_FORMAT,
    }
    const result = await executePlan(plan, running, caller)
    reservation.settle(result.milliUnits)
    return result
  } catch (error) {
    const isInternal = !publicErrors(error) && !signal.aborted
    reservation.settle(
      isInternal ? 0 : Math.min(plan.worstMilliUnits, queryWorkMilliUnits(caller.work)),
    )
    throw error
  }
}

/** Resolves when one of the feeds has more. */
const anyChange = async (feeds: readonly BlockFeed[], ended: AbortSignal): Promise<void> => {
  const waiting = new AbortController()
  // Of a chain that is not ingested here nothing ever comes.
  const over = new Promise<void>((resolve) => {
    waiting.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const stop = (): void => waiting.abort()
  ended.addEventListener('abort', stop, { once: true })
  if (ended.aborted) stop()
  await Promise.race([...feeds.map((feed) => feed.changed(waiting.signal)), over])
  ended.removeEventListener('abort', stop)
  stop()
}

/**
 * The deliveries of a subscription: the first `next` marks its beginning, and each one after that waits for blocks with rows.
 * Between two calls of `next` nothing runs; what came meanwhile is one delivery. `next` throws `SubscriptionTooSlow` where that is
 * too much, and what the plan throws.
 */
export const createDeliveries = (source: SubscriptionSource, deps: DeliveryDeps): Deliveries => {
  const { feeds } = source
  const ending = new AbortController()
  const { signal } = ending
  const cursors = new Map<BlockFeed, number>()
  let begun = false
  const end = (): void => {
    if (signal.aborted) return
    ending.abort()
    for (const feed of cursors.keys()) feed.leave()
    source.onEnd()
  }
  const join = async (feed: BlockFeed): Promise<void> => {
    const cursor = await feed.join()
    if (signal.aborted) feed.leave()
    else cursors.set(feed, cursor)
  }
  const takeStep = (): BlockScope | undefined => {
    for (const [feed, cursor] of cursors) {
      const step = feed.after(cursor)
      if (step === 'lost') throw new SubscriptionTooSlow('too many blocks behind')
      if (step === undefined) continue
      // At the end of the map: the next step is another chain's, where one has something.
      cursors.delete(feed)
      cursors.set(feed, step.cursor)
      return step.scope
    }
    return undefined
  }
  const nextBody = async (): Promise<Buffer | undefined> => {
    if (!begun) {
      begun = true
      await Promise.all(feeds.map(join))
      if (!signal.aborted) source.onBegin()
    }
    while (!signal.aborted) {
      const scope = takeStep()
      if (scope === undefined) {
        await anyChange(feeds, signal)
        continue
      }
      const { body, rowCount } = await runStep(scope, source, deps, signal)
      deps.metrics.graphqlDeliveries.inc({ outcome: rowCount > 0 ? 'rows' : 'empty' })
      if (rowCount > 0 || scope.removed.length > 0) return body
    }
    return undefined
  }
  return {
    next: async () => {
      if (signal.aborted) return DONE
      try {
        const value = await nextBody()
        return value === undefined || signal.aborted ? DONE : { done: false, value }
      } catch (error) {
        if (signal.aborted) return DONE
        end()
        throw error
      }
    },
    return: async () => {
      end()
      return DONE
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
