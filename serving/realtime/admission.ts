import { Fault } from '../../core/errors.ts'

/** Bounds of what a process holds open. */
export interface AdmissionLimits {
  /** Open connections, whoever they belong to. */
  readonly connections: number
  /** Connections of one address that have not been accepted by a connect command yet. */
  readonly pendingPerAddress: number
}

/** Why another connection does not fit, and when it may be tried again. */
export interface ConnectionRefusal {
  readonly fault: Fault
  readonly retryAfterSeconds: number
}

/** A pending connection is closed after 10 s, so there is room again by then. */
const PENDING_RETRY_SECONDS = 10
const BUSY_RETRY_SECONDS = 5

/** Counts open connections, and pending ones by address: until its connect command, a connection does not belong to an organization. */
export class AdmissionControl {
  readonly #limits: AdmissionLimits
  readonly #pending = new Map<string, number>()
  #open = 0

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /** Addresses with a pending connection. */
  get pendingAddresses(): number {
    return this.#pending.size
  }

  /** What to answer to another connection of the address (see `rateLimitAddress`); undefined where it fits. */
  refusal(address: string): ConnectionRefusal | undefined {
    if (this.#open >= this.#limits.connections) {
      const fault = new Fault(
        'SERVER_BUSY',
        'The limit of stream connections is reached: try again later',
      )
      return { fault, retryAfterSeconds: BUSY_RETRY_SECONDS }
    }
    const limit = this.#limits.pendingPerAddress
    if ((this.#pending.get(address) ?? 0) < limit) return undefined
    const fault = new Fault('RATE_LIMIT', 'Too many connections without a connect command', {
      limit,
      remaining: 0,
    })
    return { fault, retryAfterSeconds: PENDING_RETRY_SECONDS }
  }

  /** Counts a connection; the result takes it back, and tells when its connect command was accepted. */
  opened(address: string): AdmissionSlot {
    this.#open += 1
    this.#pending.set(address, (this.#pending.get(address) ?? 0) + 1)
    let pending = true
    let open = true
    const accepted = (): void => {
      if (!pending) return
      pending = false
      const left = (this.#pending.get(address) ?? 0) - 1
      if (left > 0) this.#pending.set(address, left)
      else this.#pending.delete(address)
    }
    const closed = (): void => {
      accepted()
      if (open) this.#open -= 1
      open = false
    }
    return { accepted, closed }
  }
}

/** What one counted connection tells; each call counts once. */
export interface AdmissionSlot {
  readonly accepted: () => void
  readonly closed: () => void
}
