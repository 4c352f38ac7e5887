import { Fault } from '../../core/errors.ts'

/** Writes of one organization that may wait for the writer. */
const MAX_WAITING_PER_ORG = 16

/** Lets one piece of work run after the other, organizations in turn. */
export interface WriterTurns {
  /**
   * Runs the work when its turn has come. Work without an organization is the installation's own: it has turns like an
   * organization's and is never refused. Throws `Fault` CONCURRENCY_LIMIT while 16 of the organization wait, and what the work throws.
   */
  run<T>(orgId: string | undefined, work: () => Promise<T>): Promise<T>
  /** Resolves when nothing runs and nothing waits. */
  idle(): Promise<void>
}

/** Organizations stand in a ring: whose work begins goes to its end. */
export const createWriterTurns = (): WriterTurns => {
  const ring = new Map<string | undefined, (() => Promise<unknown>)[]>()
  let running: Promise<void> | undefined
  const drain = async (): Promise<void> => {
    for (let [first] = ring; first !== undefined; [first] = ring) {
      const [orgId, waiting] = first
      const work = waiting.shift()
      ring.delete(orgId)
      if (waiting.length > 0) ring.set(orgId, waiting)
      await work?.()
    }
    running = undefined
  }
  return {
    run: (orgId, work) =>
      new Promise((resolve, reject) => {
        const waiting = ring.get(orgId) ?? []
        if (orgId !== undefined && waiting.length >= MAX_WAITING_PER_ORG) {
          return reject(new Fault('CONCURRENCY_LIMIT', undefined, { waiting: MAX_WAITING_PER_ORG }))
        }
        waiting.push(() => Promise.resolve().then(work).then(resolve, reject))
        ring.set(orgId, waiting)
        running ??= drain()
      }),
    idle: async () => {
      while (running !== undefined) await running
    },
  }
}
