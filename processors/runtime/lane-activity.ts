import type { Lane } from '../../core/bus/contract.ts'

/** A lane that repeats work which fails, or that does nothing any more. */
export interface FailingLane {
  readonly partition: number
  /** When it failed first, epoch milliseconds. */
  readonly sinceMs: number
  readonly error: string
}

/** A lane asks for records every quarter of a second and after each commit: one that does not for so long is reported. */
const STALLED_AFTER_MS = 30_000

/** When each lane of a stage or sink last took records or committed. */
export interface LaneActivity {
  /** Runs `work` with the lane; what it takes and commits is noted. */
  watch<T>(lane: Lane, work: (lane: Lane) => Promise<T>): Promise<T>
  /** Lanes that have neither taken nor committed for 30 s, since when (epoch milliseconds). */
  stalled(nowMs: number): readonly FailingLane[]
}

/** Makes an empty list; a lane leaves it when its work ends or it is taken away. */
export const makeLaneActivity = (): LaneActivity => {
  const running = new Map<Lane, number>()
  const noting =
    <Args extends unknown[], T>(lane: Lane, work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      const result = await work(...args)
      if (running.has(lane)) running.set(lane, Date.now())
      return result
    }
  return {
    watch: async (lane, work) => {
      const { writer } = lane
      running.set(lane, Date.now())
      try {
        return await work({
          ...lane,
          take: noting(lane, (limits) => lane.take(limits)),
          writer: { ...writer, commit: noting(lane, (commit) => writer.commit(commit)) },
        })
      } finally {
        running.delete(lane)
      }
    },
    stalled: (nowMs) =>
      [...running]
        .filter(([{ signal }, atMs]) => !signal.aborted && nowMs - atMs >= STALLED_AFTER_MS)
        .map(([{ partition }, sinceMs]) => ({
          partition,
          sinceMs,
          error: 'the lane neither takes records nor commits',
        })),
  }
}
