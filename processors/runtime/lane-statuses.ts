import type { Lane } from '../../core/bus/contract.ts'
import type { LaneStatus } from './stage-lane.ts'

/** The newest status of each lane that a stage or sink has. */
export interface LaneStatuses {
  /** Ignored of a lane that was taken away. */
  set(lane: Pick<Lane, 'signal'>, status: LaneStatus): void
  get(partition: number): LaneStatus | undefined
  list(): readonly LaneStatus[]
}

/** Makes an empty list; a lane leaves it when it is taken away, also one that has halted before. */
export const makeLaneStatuses = (): LaneStatuses => {
  const held = new Map<number, { readonly signal: AbortSignal; readonly status: LaneStatus }>()
  const owned = () => [...held.values()].filter(({ signal }) => !signal.aborted)
  return {
    set: ({ signal }, status) => {
      if (!signal.aborted) held.set(status.partition, { signal, status })
    },
    get: (partition) => owned().find(({ status }) => status.partition === partition)?.status,
    list: () => owned().map(({ status }) => status),
  }
}
