/** Tells readers of a topic that it grew; there is no polling. */
export interface ChangeNotifier {
  readonly wake: (topics: ReadonlySet<string>) => void
  /** Resolves when one of the topics grows, after `ms`, or when the signal aborts. */
  readonly wait: (topics: readonly string[], ms: number, signal: AbortSignal) => Promise<void>
}

interface Waiter {
  readonly topics: readonly string[]
  readonly go: () => void
}

/** Makes an empty set of waiters. */
export const makeChangeNotifier = (): ChangeNotifier => {
  const waiters = new Set<Waiter>()
  return {
    wake: (topics) => {
      for (const waiter of waiters) {
        if (waiter.topics.some((topic) => topics.has(topic))) waiter.go()
      }
    },
    wait: (topics, ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const timer = Number.isFinite(ms) ? setTimeout(() => waiter.go(), ms) : undefined
        const waiter: Waiter = {
          topics,
          go: () => {
            clearTimeout(timer)
            waiters.delete(waiter)
            signal.removeEventListener('abort', waiter.go)
            resolve()
          },
        }
        signal.addEventListener('abort', waiter.go, { once: true })
        waiters.add(waiter)
      }),
  }
}
