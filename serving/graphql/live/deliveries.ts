import { setTimeout as sleep } from 'node:timers/promises'
import type { LimitFunction } from 'p-limit'
import { Fault } from '../../../core/errors.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import type { FreshnessReader, Meter, Principal } from '../../interfaces.ts'
import type { QueryCaller } from '../../queries/limited-reads.ts'
import type { QueryQueue } from '../../queries/query-queue.ts'
import { JSON_FORMAT } from '../answer-format.ts'
import type { GraphqlEngine } from '../engine.ts'
import { type ExecutionResult, executePlan } from '../execute.ts'
import type { Plan } from '../plan.ts'
import { runAndCharge } from '../run-and-charge.ts'
import type { BlockFeed, FeedStep } from './block-feed.ts'
import type { CatchUp, CatchUpStep, NotYet } from './catch-up.ts'
import type { LiveLimits } from './limits.ts'
import { type BlockTip, encodeCursor } from './resume-cursor.ts'

/** A subscription that fell so far behind that blocks would be left out. */
export class SubscriptionTooSlow extends Error {}

/** What deliveries are made with. */
export interface DeliveryDeps {
  readonly engine: Pick<GraphqlEngine, 'reads' | 'limits'>
  readonly meter: Meter
  readonly freshness: FreshnessReader
  readonly metrics: Pick<Metrics, 'graphqlDeliveries'>
  readonly nowMs: () => number
  readonly limits: Pick<LiveLimits, 'maxAnswerBytes' | 'maxQuietBlocks' | 'busyPauseMs'>
  readonly catchUp: CatchUp
  /** Turns of the deliveries of all organizations. */
  readonly turns: QueryQueue
}

/** One subscription as it begins. */
export interface SubscriptionSource {
  readonly plan: Plan
  readonly principal: Principal
  /** By chain; the chains of the plan. */
  readonly feeds: readonly BlockFeed[]
  /** Positions to continue at, by chain; absent: it begins behind the newest block. */
  readonly resume?: ReadonlyMap<string, BlockTip>
  /** Turns of the organization's subscriptions that catch up. */
  readonly catchUpTurns: LimitFunction
  /** Settles when the client may be sent more; undefined where it may now. Nothing runs for it meanwhile. */
  readonly backlog: () => Promise<unknown> | undefined
  /** Called once, when blocks from now on are its own. */
  readonly onBegin: () => void
  /** Called once, however it ends: with the error that ended it, undefined where the client did. */
  readonly onEnd: (error?: unknown) => void
}

/** The bodies of a subscription's deliveries; `return` ends it at once, also a statement that runs. */
export interface Deliveries extends AsyncIterableIterator<Buffer> {
  return(): Promise<IteratorResult<Buffer>>
}

const DONE: IteratorResult<Buffer> = { done: true, value: undefined }

/** How far a subscription has come on one chain. */
interface Position {
  readonly tip: BlockTip
  /** Live: all operations up to `seq` are delivered. Otherwise it catches up once all rows of that operation are stored. */
  readonly seq: number
  readonly isLive: boolean
}

/** What a step did: where it ended, and the delivery with the number of blocks that it adds and removes. */
interface StepResult {
  readonly position: Position
  readonly delivery?: ExecutionResult
  readonly blocks: number
  readonly removed: number
}

type Step = CatchUpStep | NotYet

/** With what ends the subscription. */
interface StepDeps extends DeliveryDeps {
  readonly signal: AbortSignal
}

/** Finds the next blocks, runs the plan over them and charges what both cost: as a query does, also where no row was found. */
const runStep = async (
  { plan, principal }: SubscriptionSource,
  { before, take, cursorAt }: StepRun,
  deps: StepDeps,
): Promise<StepResult> => {
  const { engine, meter, limits, signal } = deps
  return runAndCharge({ plan, principal, meter, signal }, async (caller) => {
    const withoutRun = (position: Position) => ({
      value: { position, blocks: 0, removed: 0 },
      milliUnits: undefined,
    })
    const step = await take(caller)
    if ('untilSeq' in step) return withoutRun({ ...before, seq: step.untilSeq })
    const { scope, seq, tip, isLast } = step
    const position = { tip, seq, isLive: isLast }
    if (scope === undefined) return withoutRun(position)
    const running = {
      reads: engine.reads,
      freshness: deps.freshness,
      nowMs: deps.nowMs,
      scope,
      cursor: cursorAt(tip),
      limits: { ...engine.limits, maxAnswerBytes: limits.maxAnswerBytes },
      format: JSON_FORMAT,
    }
    const delivery = await executePlan(plan, running, caller)
    const blocks = scope.added.length
    const value = { position, delivery, blocks, removed: scope.removed.length }
    return { value, milliUnits: delivery.milliUnits }
  })
}

/** How one step is run. */
interface StepRun {
  readonly feed: BlockFeed
  readonly before: Position
  readonly take: (caller: QueryCaller) => Promise<Step> | Step
  /** The cursor behind the step. */
  readonly cursorAt: (tip: BlockTip) => string
}

/** Nothing is wrong but that there is too much to do now. */
const isOverload = (error: unknown): boolean =>
  error instanceof Fault &&
  (error.faultName === 'SERVER_BUSY' || error.faultName === 'CONCURRENCY_LIMIT')

/** What came on the chain since an operation. Throws `SubscriptionTooSlow` where that is too much. */
const newsOf = (feed: BlockFeed, { seq }: Position): FeedStep | undefined => {
  const step = feed.after(seq)
  if (step === 'lost') throw new SubscriptionTooSlow('too many blocks behind')
  return step
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

/** The steps of a subscription over the positions of its chains. */
const createSteps = (source: SubscriptionSource, deps: StepDeps) => {
  const positions = new Map<BlockFeed, Position>()
  let hasDelivered = false
  const cursorAt =
    (feed: BlockFeed) =>
    (tip: BlockTip): string =>
      encodeCursor(
        new Map([...positions].map(([each, at]) => [each.chain, each === feed ? tip : at.tip])),
      )
  const catchUp =
    (feed: BlockFeed, { tip }: Position) =>
    async (caller: QueryCaller) => {
      try {
        return await deps.catchUp(feed, tip, caller)
      } catch (error) {
        // It was near enough when it began.
        if (hasDelivered && error instanceof Fault && error.faultName === 'CURSOR_EXPIRED')
          throw new SubscriptionTooSlow('too many blocks behind')
        throw error
      }
    }
  const runInTurn = (step: StepRun): Promise<StepResult | undefined> => {
    const { principal, catchUpTurns, backlog } = source
    const run = (): Promise<StepResult | undefined> =>
      deps.turns.run(
        principal.orgId,
        // Others of the connection may have sent much while this one waited.
        async () => (backlog() ? undefined : runStep(source, step, deps)),
        deps.signal,
      )
    return step.before.isLive ? run() : catchUpTurns(run)
  }
  return {
    join: async (feed: BlockFeed): Promise<void> => {
      const position = await feed.join()
      const resumed = source.resume?.get(feed.chain)
      if (deps.signal.aborted) feed.leave()
      else if (resumed) positions.set(feed, { tip: resumed, seq: 0, isLive: false })
      else positions.set(feed, { ...position, isLive: true })
    },
    leave: () => {
      for (const feed of positions.keys()) feed.leave()
    },
    /** The step that has something to do; undefined where nothing came. */
    next: (): StepRun | undefined => {
      for (const [feed, before] of positions) {
        const common = { feed, before, cursorAt: cursorAt(feed) }
        if (!before.isLive) {
          if (feed.stored().seq < before.seq) continue
          return { ...common, take: catchUp(feed, before) }
        }
        if (newsOf(feed, before) === undefined) continue
        // Asked again in its turn: what has come meanwhile belongs to the same delivery.
        const take = (): Step => {
          const step = newsOf(feed, before)
          return step ? { ...step, isLast: true } : { untilSeq: before.seq }
        }
        return { ...common, take }
      }
      return undefined
    },
    /** Undefined where nothing was done: the client was sent much meanwhile, or there was too much to do, and a pause is over. */
    run: async (step: StepRun): Promise<StepResult | undefined> => {
      const result = await runInTurn(step).catch(async (error: unknown) => {
        if (!isOverload(error)) throw error
        deps.metrics.graphqlDeliveries.inc({ outcome: 'delayed' })
        await sleep(deps.limits.busyPauseMs, undefined, { signal: deps.signal, ref: false })
      })
      if (!result) return undefined
      // At the end of the map: the next step is another chain's, where one has something.
      positions.delete(step.feed)
      positions.set(step.feed, result.position)
      hasDelivered ||= result.delivery !== undefined
      return result
    },
  }
}

/**
 * The deliveries of a subscription: the first `next` marks its beginning, and each one after that waits for blocks with rows.
 * Between two calls of `next` nothing runs; what came meanwhile is one delivery. Where there is too much to do, it is tried again later. `next` throws `SubscriptionTooSlow` where that is
 * too much, `Fault` INVALID_CURSOR or CURSOR_EXPIRED where it cannot be resumed, and what the plan throws.
 */
export const createDeliveries = (source: SubscriptionSource, deps: DeliveryDeps): Deliveries => {
  const { feeds } = source
  const ending = new AbortController()
  const { signal } = ending
  const steps = createSteps(source, { ...deps, signal })
  let begun = false
  let quietBlocks = 0
  const end = (error?: unknown): void => {
    if (signal.aborted) return
    ending.abort()
    steps.leave()
    source.onEnd(error)
  }
  const nextBody = async (): Promise<Buffer | undefined> => {
    if (!begun) {
      begun = true
      await Promise.all(feeds.map(steps.join))
      if (!signal.aborted) source.onBegin()
    }
    while (!signal.aborted) {
      const step = steps.next()
      const backlog = step && source.backlog()
      if (step === undefined || backlog) {
        await (backlog ?? anyChange(feeds, signal))
        continue
      }
      const result = await steps.run(step)
      if (result?.delivery === undefined) continue
      const { blocks, removed } = result
      const { body, rowCount } = result.delivery
      deps.metrics.graphqlDeliveries.inc({ outcome: rowCount > 0 ? 'rows' : 'empty' })
      quietBlocks += blocks
      // Without rows for long, a delivery takes the client's cursor along.
      if (rowCount === 0 && removed === 0 && quietBlocks < deps.limits.maxQuietBlocks) continue
      quietBlocks = 0
      return body
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
        end(error)
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
