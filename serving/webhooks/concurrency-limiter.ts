/** Limits of the attempts in flight in one process. */
export interface ConcurrencyLimits {
  readonly total: number
  /** Of these, reserved for endpoints with nothing in flight. */
  readonly reserved: number
  /** At most for endpoints with a recent timeout. */
  readonly slow: number
}

/** The endpoint that needs a slot. */
export interface Requester {
  readonly endpointId: string
  readonly isSlow: boolean
}

/** Concurrency limit over all endpoints of a process. Receivers that hang cannot take the slots that others need. */
export interface ConcurrencyLimiter {
  /** Runs the work when a slot is free, and releases the slot when it has ended. */
  run<Result>(requester: Requester, work: () => Promise<Result>): Promise<Result>
}

const DEFAULT_LIMITS: ConcurrencyLimits = { total: 1_024, reserved: 256, slow: 512 }

interface Waiting {
  readonly isSlow: boolean
  readonly start: () => void
}

/** Round robin over endpoints; the waiting requests are bounded by the in-flight limit of each endpoint. */
export const createConcurrencyLimiter = ({
  total,
  reserved,
  slow,
}: ConcurrencyLimits = DEFAULT_LIMITS): ConcurrencyLimiter => {
  const waiting = new Map<string, Waiting[]>()
  const inUseByEndpoint = new Map<string, number>()
  let inUse = 0
  let inUseBySlow = 0
  const isAdmitted = ({ endpointId, isSlow }: Requester): boolean => {
    if (inUse >= total) return false
    if (isSlow) return inUseBySlow < slow
    return !inUseByEndpoint.has(endpointId) || inUse < total - reserved
  }
  const acquire = ({ endpointId, isSlow }: Requester): void => {
    inUse += 1
    if (isSlow) inUseBySlow += 1
    inUseByEndpoint.set(endpointId, (inUseByEndpoint.get(endpointId) ?? 0) + 1)
  }
  const release = ({ endpointId, isSlow }: Requester): void => {
    inUse -= 1
    if (isSlow) inUseBySlow -= 1
    const remaining = (inUseByEndpoint.get(endpointId) ?? 1) - 1
    if (remaining === 0) inUseByEndpoint.delete(endpointId)
    else inUseByEndpoint.set(endpointId, remaining)
    admit()
  }
  const admit = (): void => {
    for (const [endpointId, [first, ...others]] of waiting) {
      if (inUse >= total) return
      if (!first || !isAdmitted({ endpointId, isSlow: first.isSlow })) continue
      // To the end of the order: round robin over endpoints.
      waiting.delete(endpointId)
      if (others.length > 0) waiting.set(endpointId, others)
      acquire({ endpointId, isSlow: first.isSlow })
      first.start()
    }
  }
  const waitForSlot = (requester: Requester): Promise<void> =>
    new Promise((start) => {
      const { endpointId, isSlow } = requester
      waiting.set(endpointId, [...(waiting.get(endpointId) ?? []), { isSlow, start }])
      admit()
    })
  const runAdmitted: ConcurrencyLimiter['run'] = async (requester, work) => {
    try {
      return await work()
    } finally {
      release(requester)
    }
  }
  return {
    run: (requester, work) => {
      if (waiting.size > 0 || !isAdmitted(requester)) {
        return waitForSlot(requester).then(() => runAdmitted(requester, work))
      }
      acquire(requester)
      return runAdmitted(requester, work)
    },
  }
}
