import type { Logger } from './log.ts'

/** A part of a process: started in order, stopped in reverse. */
export interface Part {
  readonly name: string
  stop(): Promise<void>
}

/** Parts of one process. */
export interface Lifecycle {
  /** Registers a running part; returns it. */
  add<P extends Part>(part: P): P
  /** Stops everything in reverse order; a part that does not stop within `limitMs` is left behind and logged. */
  stop(reason: string): Promise<void>
}

/** Makes a lifecycle. A second `stop` joins the first. */
export const makeLifecycle = (log: Logger, limitMs = 10_000): Lifecycle => {
  const parts: Part[] = []
  let stopping: Promise<void> | undefined
  const stopAll = async (reason: string): Promise<void> => {
    log.info({ reason }, 'stopping')
    for (const part of parts.toReversed()) {
      await withLimit(part.stop(), limitMs).catch((error: unknown) =>
        log.error({ err: error, part: part.name }, 'part did not stop'),
      )
    }
  }
  return {
    add: (part) => {
      parts.push(part)
      return part
    },
    stop: (reason) => {
      stopping ??= stopAll(reason)
      return stopping
    },
  }
}

const withLimit = async (work: Promise<void>, limitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${limitMs} ms`)), limitMs)
  })
  await Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
