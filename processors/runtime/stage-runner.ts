import type { Bus, Lane, LaneCommit, RunningTask } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { topicName } from '../../schemas/topics.ts'
import { type FailingLane, makeLaneActivity } from './lane-activity.ts'
import { makeLaneStatuses } from './lane-statuses.ts'
import type { LaneThreads } from './lane-threads.ts'
import type { Stage } from './stage.ts'
import {
  blocksOffset,
  inputTopics,
  type LaneReports,
  type LaneStatus,
  StageLane,
} from './stage-lane.ts'

/** What every stage and sink works with. */
export interface StageDeps {
  readonly chain: string
  readonly bus: Bus
  readonly codec: Codec
  readonly metrics: Metrics
  readonly log: Logger
  /** Quote assets of the chain with the configured ones; absent: the chain's own table. */
  readonly quoteAssets?: QuoteAssets
  /** Threads that fold; absent: lanes fold in this one. */
  readonly threads?: LaneThreads
}

/** A running stage or sink. */
export interface RunningStage extends RunningTask {
  readonly group: string
  lanes(): readonly LaneStatus[]
  /** Lanes that wait for something outside to recover, and those that have done nothing for a while. */
  failing(): readonly FailingLane[]
}

/**
 * Runs a stage over a chain: every lane loads its state, folds block operations and commits publications, state and
 * offsets together. A lane whose input breaks the contract halts with its reason in `lanes()`.
 */
export const startStage = async (stage: Stage, deps: StageDeps): Promise<RunningStage> => {
  const { chain, bus, log, threads, quoteAssets } = deps
  const { app } = stage
  const group = `${app}.${chain}`
  const statuses = makeLaneStatuses()
  const activity = makeLaneActivity()
  const running = await bus.subscribe({
    group,
    topics: [...inputTopics(stage, chain).keys()],
    needsWholeLog: true,
    broadcast: [topicName('blocks', chain)],
    broadcastFrom: (lane) => blocksOffset(lane, stage, chain),
    run: async (lane) => {
      const { partition } = lane
      const reports = reportsOf(stage, deps, (status) => statuses.set(lane, status))
      const work = async (watched: Lane): Promise<void> => {
        const own = { ...watched, commit: (commit: LaneCommit) => watched.writer.commit(commit) }
        if (threads)
          await threads.run({ app, chain, ...(quoteAssets && { quoteAssets }) }, own, reports)
        else await new StageLane(stage, deps, own, reports).run()
      }
      try {
        await activity.watch(lane, work)
      } catch (error) {
        if (!(error instanceof InvalidInput)) throw error
        log.error(
          { group, partition, err: error },
          'partition stopped by invalid input, see runbook',
        )
        // The lane ends here: what is wrong with its input does not get better by trying again.
        const halted = `${error.reason}: ${error.message}`
        const newest = statuses.get(partition) ?? {
          partition,
          seq: null,
          height: 0,
          blockTimeMs: 0,
        }
        statuses.set(lane, { ...newest, halted })
      }
    },
  })
  return {
    group,
    lanes: statuses.list,
    failing: () => activity.stalled(Date.now()),
    stop: () => running.stop(),
  }
}

/** Reports of a lane as metrics, log lines and its status. */
const reportsOf = (
  { app }: Stage,
  { chain, metrics, log }: StageDeps,
  setStatus: (status: LaneStatus) => void,
): LaneReports => {
  const group = `${app}.${chain}`
  return {
    status: (status) => {
      const { blockTimeMs } = status
      if (blockTimeMs > 0) {
        const lagMs = Math.max(0, Date.now() - blockTimeMs)
        metrics.processLagSeconds.set({ group }, lagMs / 1_000)
      }
      setStatus(status)
    },
    committed: (records) => metrics.recordsProcessed.inc({ group }, records),
    undecodable: ({ topic, offset }, err) => {
      metrics.eventsDropped.inc({ stage: app, reason: err.reason })
      log.error({ group, topic, offset, err }, 'undecodable record sent to dead-letter topic')
    },
  }
}
