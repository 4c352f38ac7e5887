import type { Logger } from './logger.ts'

/** A part of a process: started in order, stopped in reverse. */
export interface Component {
  readonly name: string
  stop(): Promise<void>
}

/** Parts of one process. */
export interface Lifecycle {
  /** Registers a running part; returns it. */
  add<P extends Component>(part: P): P
  /** Stops everything in reverse order; a part that does not stop in its time is left behind and logged. */
  stop(reason: string): Promise<void>
}

/** Times of a stop, in milliseconds. */
interface StopLimits {
  /** For one part. */
  readonly partMs: number
  /** For all of them; a part whose turn comes later is stopped with little or no wait. */
  readonly wholeMs: number
}

/** Service managers wait half a minute before they kill. */
const STOP_LIMITS: StopLimits = { partMs: 10_000, wholeMs: 20_000 }
const MIN_STOP_MS = 500

/** Makes a lifecycle. A second `stop` joins the first. */
export const makeLifecycle = (log: Logger, limits: StopLimits = STOP_LIMITS): Lifecycle => {
  const parts: Component[] = []
  let stopping: Promise<void> | undefined
  const stopAll = async (reason: string): Promise<void> => {
    log.info({ reason }, 'shutting down')
    const endMs = performance.now() + limits.wholeMs
    for (const part of parts.toReversed()) {
      const leftMs = Math.max(endMs - performance.now(), MIN_STOP_MS)
      await withTimeout(part.stop(), Math.min(limits.partMs, leftMs)).catch((error: unknown) =>
        log.error({ err: error, part: part.name }, 'component failed to stop'),
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

const withTimeout = async (work: Promise<void>, limitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not finished within ${limitMs} ms`)), limitMs)
  })
  await Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
