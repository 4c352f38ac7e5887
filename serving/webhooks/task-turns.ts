import type { WebhookTask } from '../../schemas/wire.ts'

type Task = Pick<WebhookTask, 'task_id' | 'org_id'>

/**
 * Chooses the tasks that continue in a round, `most` at a time: organizations take turns, and so do the tasks of one. An
 * organization gets a second task in a round only where every other has one.
 */
export const createTaskTurns = (most: number) => {
  /** Round in which a task or organization last had a turn. Those that have none running are forgotten. */
  let lastTurns = new Map<string, number>()
  let round = 0
  const byTurn = (one: string, other: string): number =>
    (lastTurns.get(one) ?? 0) - (lastTurns.get(other) ?? 0)
  return <T extends Task>(running: readonly T[]): readonly T[] => {
    round += 1
    const byOrg = new Map<string, T[]>()
    for (const task of running) {
      const own = byOrg.get(task.org_id)
      if (own === undefined) byOrg.set(task.org_id, [task])
      else own.push(task)
    }
    const queues = [...byOrg]
      .toSorted(([one], [other]) => byTurn(one, other))
      .map(([, tasks]) => tasks.toSorted((one, other) => byTurn(one.task_id, other.task_id)))
    const chosen: T[] = []
    for (let nth = 0; chosen.length < Math.min(most, running.length); nth += 1) {
      const next = queues.flatMap((tasks) => tasks[nth] ?? [])
      chosen.push(...next.slice(0, most - chosen.length))
    }
    const turns = new Map<string, number>()
    for (const { task_id, org_id } of running) {
      for (const id of [task_id, org_id]) turns.set(id, lastTurns.get(id) ?? 0)
    }
    for (const { task_id, org_id } of chosen) turns.set(task_id, round).set(org_id, round)
    lastTurns = turns
    return chosen
  }
}
