import { Fault } from '../../core/errors.ts'

/** Writes of one organization that may wait for the writer. */
const MAX_WAITING_PER_ORG = 16

/** Runs writes one after the other, round robin over organizations. */
export interface WriterQueue {
  /**
   * Runs the work when it is next. Work without an organization is the installation's own: it is queued like an
   * organization's and never rejected. Throws `Fault` CONCURRENCY_LIMIT while 16 of the organization wait, and what the work throws.
   */
  run<T>(orgId: string | undefined, work: () => Promise<T>): Promise<T>
  /** Resolves when nothing runs and nothing waits. */
  idle(): Promise<void>
}

/** Round robin: an organization moves to the end of the map when its work starts. */
export const createWriterQueue = (): WriterQueue => {
  const queues = new Map<string | undefined, (() => Promise<unknown>)[]>()
  let running: Promise<void> | undefined
  const drain = async (): Promise<void> => {
    for (let [first] = queues; first !== undefined; [first] = queues) {
      const [orgId, waiting] = first
      const work = waiting.shift()
      queues.delete(orgId)
      if (waiting.length > 0) queues.set(orgId, waiting)
      await work?.()
    }
    running = undefined
  }
  return {
    run: (orgId, work) =>
      new Promise((resolve, reject) => {
        const waiting = queues.get(orgId) ?? []
        if (orgId !== undefined && waiting.length >= MAX_WAITING_PER_ORG) {
          return reject(new Fault('CONCURRENCY_LIMIT', undefined, { waiting: MAX_WAITING_PER_ORG }))
        }
        waiting.push(() => Promise.resolve().then(work).then(resolve, reject))
        queues.set(orgId, waiting)
        running ??= drain()
      }),
    idle: async () => {
      while (running !== undefined) await running
    },
  }
}
