/** How many attempts may be on their way in one process, and for whom. */
export interface ConcurrencyLimits {
  readonly most: number
  /** Of these, for endpoints that have nothing on its way. */
  readonly reserved: number
  /** At most for endpoints that let an attempt run into its limit of late. */
  readonly slow: number
}

/** Who asks for a place. */
export interface Requester {
  readonly endpointId: string
  readonly isSlow: boolean
}

/** Places for attempts over all endpoints of a process. Receivers that hang cannot hold those that others need. */
export interface ConcurrencyLimiter {
  /** Runs the work when there is a place for it, and frees the place when it has ended. */
  run<Result>(asker: Requester, work: () => Promise<Result>): Promise<Result>
}

const DEFAULT_LIMITS: ConcurrencyLimits = { most: 1_024, reserved: 256, slow: 512 }

interface Waiting {
  readonly isSlow: boolean
  readonly start: () => void
}

/** Makes them. Endpoints take turns; how many wait is bounded by what each may have on its way. */
export const createConcurrencyLimiter = ({
  most,
  reserved,
  slow,
}: ConcurrencyLimits = DEFAULT_LIMITS): ConcurrencyLimiter => {
  const waiting = new Map<string, Waiting[]>()
  const heldBy = new Map<string, number>()
  let held = 0
  let heldBySlow = 0
  const isAdmitted = ({ endpointId, isSlow }: Requester): boolean => {
    if (held >= most) return false
    if (isSlow) return heldBySlow < slow
    return !heldBy.has(endpointId) || held < most - reserved
  }
  const hold = ({ endpointId, isSlow }: Requester): void => {
    held += 1
    if (isSlow) heldBySlow += 1
    heldBy.set(endpointId, (heldBy.get(endpointId) ?? 0) + 1)
  }
  const release = ({ endpointId, isSlow }: Requester): void => {
    held -= 1
    if (isSlow) heldBySlow -= 1
    const rest = (heldBy.get(endpointId) ?? 1) - 1
    if (rest === 0) heldBy.delete(endpointId)
    else heldBy.set(endpointId, rest)
    admit()
  }
  const admit = (): void => {
    for (const [endpointId, [first, ...others]] of waiting) {
      if (held >= most) return
      if (!first || !isAdmitted({ endpointId, isSlow: first.isSlow })) continue
      // Behind all others: endpoints take turns.
      waiting.delete(endpointId)
      if (others.length > 0) waiting.set(endpointId, others)
      hold({ endpointId, isSlow: first.isSlow })
      first.start()
    }
  }
  const turn = (asker: Requester): Promise<void> =>
    new Promise((start) => {
      const { endpointId, isSlow } = asker
      waiting.set(endpointId, [...(waiting.get(endpointId) ?? []), { isSlow, start }])
      admit()
    })
  return {
    run: async (asker, work) => {
      if (waiting.size === 0 && isAdmitted(asker)) hold(asker)
      else await turn(asker)
      try {
        return await work()
      } finally {
        release(asker)
      }
    },
  }
}
