import type { Close } from './protocol.ts'
import { CLOSES } from './protocol.ts'
import type { Session } from './session.ts'
import { PING_SECONDS } from './session-credentials.ts'

/** Times of one connection, epoch milliseconds. */
export interface Pulse {
  readonly openedMs: number
  /** Last frame that came in, of whatever kind. */
  readonly seenMs: number
  readonly nextPingMs: number
  /** When connect was refused with 109; 0 = it was not. */
  readonly rejectedMs: number
}

/** WebSocket pings and pongs that a client may send at once, and each second after that: one in 25 s is usual. */
const CONTROL_BURST = 100
const CONTROLS_PER_SECOND = 10

/** WebSocket pings and pongs that a client may still send, as of `atMs`. */
export interface ControlBudget {
  readonly tokens: number
  readonly atMs: number
}

/** The budget of a connection that was just opened. */
export const firstControls = (nowMs: number): ControlBudget => ({
  tokens: CONTROL_BURST,
  atMs: nowMs,
})

/** The budget after one more ping or pong; below 0 = too many. */
export const afterControl = ({ tokens, atMs }: ControlBudget, nowMs: number): ControlBudget => {
  const back = (Math.max(0, nowMs - atMs) / 1_000) * CONTROLS_PER_SECOND
  return { tokens: Math.min(CONTROL_BURST, tokens + back) - 1, atMs: nowMs }
}

/** No connect within this time after the upgrade. */
const STALE_MS = 10_000
/** Silence after which a connection counts as dead. */
const SILENCE_MS = 60_000
/** How long a refused client may take to close by itself. */
const REJECTED_MS = 5_000
/** How long a credential may be over before the connection is closed. */
const EXPIRY_GRACE_MS = 25_000
const PING_MS = PING_SECONDS * 1_000

/** A connection that was just opened; the first ping comes at random in the second half of the interval. */
export const firstPulse = (nowMs: number, random: () => number): Pulse => ({
  openedMs: nowMs,
  seenMs: nowMs,
  nextPingMs: nowMs + PING_MS / 2 + (random() * PING_MS) / 2,
  rejectedMs: 0,
})

/** What the clock asks for: a close, a ping, or nothing. */
export const due = (pulse: Pulse, session: Session, nowMs: number): Close | 'ping' | undefined => {
  if (session.phase === 'rejected') {
    return nowMs - pulse.rejectedMs >= REJECTED_MS ? CLOSES.connectionClosed : undefined
  }
  if (session.phase === 'fresh') {
    return nowMs - pulse.openedMs >= STALE_MS ? CLOSES.stale : undefined
  }
  const expiresAtMs = session.principal?.expiresAtMs ?? Number.POSITIVE_INFINITY
  if (nowMs >= expiresAtMs + EXPIRY_GRACE_MS) return CLOSES.expired
  if (nowMs - pulse.seenMs >= SILENCE_MS) return CLOSES.noPong
  return nowMs >= pulse.nextPingMs ? 'ping' : undefined
}

/** The pulse after a ping was sent: the next one keeps the rhythm, and skips what a sleep missed. */
export const pinged = (pulse: Pulse, nowMs: number): Pulse => ({
  ...pulse,
  nextPingMs: Math.max(pulse.nextPingMs + PING_MS, nowMs + PING_MS / 2),
})
