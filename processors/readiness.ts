import type { Observation } from '../core/ops/metrics.ts'
import type { FailingLane } from './runtime/lane-activity.ts'
import type { LaneStatus } from './runtime/stage-lane.ts'

/** How long work may fail again and again, or make no progress, before the process is not ready, in milliseconds. */
const MAX_FAILING_MS = 60_000

/** What decides whether the process role is ready, by consumer group or finalizer. */
export interface ProcessorsHealth {
  readonly groups: Readonly<Record<string, readonly LaneStatus[]>>
  readonly failing: Readonly<Record<string, readonly FailingLane[]>>
}

/** Not ready: a lane that is halted, whose inserts have failed for a minute, or that has done nothing for as long. */
export const processorsReadiness = (
  { groups, failing }: ProcessorsHealth,
  nowMs: number,
): { readonly ok: boolean; readonly detail?: string } => {
  for (const [group, lanes] of Object.entries(groups)) {
    const halted = lanes.find((lane) => lane.halted !== undefined)
    if (halted) return { ok: false, detail: `${group}/${halted.partition}: ${halted.halted}` }
  }
  for (const [group, lanes] of Object.entries(failing)) {
    const late = lanes.find(({ sinceMs }) => nowMs - sinceMs >= MAX_FAILING_MS)
    if (late === undefined) continue
    const seconds = Math.floor((nowMs - late.sinceMs) / 1_000)
    const detail = `${group}/${late.partition}: failing for ${seconds} s: ${late.error.slice(0, 200)}`
    return { ok: false, detail }
  }
  return { ok: true }
}

/** How many partitions of each consumer group were stopped by invalid input; groups without any count 0. */
export const stoppedPartitions = (
  groups: ProcessorsHealth['groups'],
): readonly Observation<'group' | 'reason'>[] =>
  Object.entries(groups).map(([group, lanes]) => ({
    labels: { group, reason: 'invalid-input' },
    value: lanes.filter(({ halted }) => halted !== undefined).length,
  }))
