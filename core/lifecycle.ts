import type { Logger } from './log.ts'

/** A part of a process: started in order, stopped in reverse. */
export interface Part {
  readonly name: string
  stop(): Promise<void>
}

/** Parts of one process and the signal that ends them. */
export interface Lifecycle {
  readonly signal: AbortSignal
  /** Registers a running part; returns it. */
  add<P extends Part>(part: P): P
  /** Stops everything in reverse order; a part that does not stop within `limitMs` is left behind and logged. */
  stop(reason: string): Promise<void>
  /** Resolves when stopping has ended. */
  readonly stopped: Promise<void>
}

/** Makes a lifecycle. A second `stop` joins the first. */
export const makeLifecycle = (log: Logger, limitMs = 10_000): Lifecycle => {
  const controller = new AbortController()
  const parts: Part[] = []
  const { promise: stopped, resolve } = deferred()
  let stopping: Promise<void> | undefined
  const stopAll = async (reason: string): Promise<void> => {
    log.info({ reason }, 'stopping')
    controller.abort(new Error(reason))
    for (const part of parts.toReversed()) {
      await withLimit(part.stop(), limitMs).catch((error: unknown) =>
        log.error({ err: error, part: part.name }, 'part did not stop'),
      )
    }
    resolve()
  }
  return {
    signal: controller.signal,
    stopped,
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

const deferred = (): { promise: Promise<void>; resolve: () => void } => {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

const withLimit = async (work: Promise<void>, limitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${limitMs} ms`)), limitMs)
  })
  await Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
