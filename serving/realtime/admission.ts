import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'

/** Bounds of what a process holds open on the port of the sockets. */
export interface AdmissionLimits {
  /** Open connections, whoever they belong to. */
  readonly connections: number
  /** Connections of one address that belong to no organization yet. */
  readonly pendingPerAddress: number
  readonly connectionsPerOrg: number
}

/** Why another connection does not fit, and when it may be tried again. */
export interface ConnectionRefusal {
  readonly fault: Fault
  readonly retryAfterSeconds: number
}

/** A pending connection is closed after 10 s, so there is room again by then. */
const PENDING_RETRY_SECONDS = 10
const BUSY_RETRY_SECONDS = 5

/**
 * Counts the connections of every surface of one port: all, pending ones by address, accepted ones by organization. Until its
 * `connect` or `connection_init`, a connection does not belong to an organization.
 */
export class AdmissionControl {
  readonly #limits: AdmissionLimits
  readonly #pending = new Map<string, number>()
  readonly #accepted = new Map<string, number>()
  #open = 0

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /** Addresses with a pending connection. */
  get pendingAddresses(): number {
    return this.#pending.size
  }

  /** Organizations with an accepted connection. */
  get organizations(): number {
    return this.#accepted.size
  }

  /** True where another connection of the organization fits. */
  hasRoomFor(orgId: string): boolean {
    return (this.#accepted.get(orgId) ?? 0) < this.#limits.connectionsPerOrg
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
    const fault = new Fault('RATE_LIMIT', 'Too many connections that are not authenticated yet', {
      limit,
      remaining: 0,
    })
    return { fault, retryAfterSeconds: PENDING_RETRY_SECONDS }
  }

  /** Counts a connection; the result takes it back, and tells to which organization it belongs once that is known. */
  opened(address: string): AdmissionSlot {
    this.#open += 1
    addTo(this.#pending, address, 1)
    let state: 'pending' | 'closed' | { readonly orgId: string } = 'pending'
    return {
      accepted: (orgId) => {
        if (state !== 'pending') return
        state = { orgId }
        addTo(this.#pending, address, -1)
        addTo(this.#accepted, orgId, 1)
      },
      closed: () => {
        if (state === 'closed') return
        if (state === 'pending') addTo(this.#pending, address, -1)
        else addTo(this.#accepted, state.orgId, -1)
        state = 'closed'
        this.#open -= 1
      },
    }
  }
}

const addTo = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const left = (counts.get(key) ?? 0) + change
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}

/** What one counted connection tells; each call counts once, and none after it was closed. */
export interface AdmissionSlot {
  readonly accepted: (orgId: string) => void
  readonly closed: () => void
}

/** The counts of one port, which all of its surfaces share. */
export const createAdmission = ({
  wsConnections,
  wsPendingPerAddress,
  wsConnectionsPerAccount,
}: Pick<
  Config,
  'wsConnections' | 'wsPendingPerAddress' | 'wsConnectionsPerAccount'
>): AdmissionControl =>
  new AdmissionControl({
    connections: wsConnections,
    pendingPerAddress: wsPendingPerAddress,
    connectionsPerOrg: wsConnectionsPerAccount,
  })
