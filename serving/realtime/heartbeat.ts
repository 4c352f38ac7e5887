import { PING_SECONDS } from './connect-commands.ts'
import type { CloseFrame } from './protocol.ts'
import { CLOSE_FRAMES } from './protocol.ts'
import type { Session } from './session.ts'

/** Times of one connection, epoch milliseconds. */
export interface HeartbeatState {
  readonly openedMs: number
  /** Last frame that came in, of whatever kind. */
  readonly seenMs: number
  readonly nextPingMs: number
  /** When connect was refused with 109; 0 = it was not. */
  readonly rejectedMs: number
}

/** No connect within this time after the upgrade. */
const CONNECT_TIMEOUT_MS = 10_000
/** Silence after which a connection counts as dead. */
const IDLE_TIMEOUT_MS = 60_000
/** How long a refused client may take to close by itself. */
const REJECTED_GRACE_MS = 5_000
/** How long a credential may be over before the connection is closed. */
const EXPIRY_GRACE_MS = 25_000
const PING_INTERVAL_MS = PING_SECONDS * 1_000

/** A connection that was just opened; the first ping comes at random in the second half of the interval. */
export const initialHeartbeat = (nowMs: number, random: () => number): HeartbeatState => ({
  openedMs: nowMs,
  seenMs: nowMs,
  nextPingMs: nowMs + PING_INTERVAL_MS / 2 + (random() * PING_INTERVAL_MS) / 2,
  rejectedMs: 0,
})

/** What the clock asks for: a close, a ping, or nothing. */
export const nextHeartbeatAction = (
  pulse: HeartbeatState,
  session: Session,
  nowMs: number,
): CloseFrame | 'ping' | undefined => {
  if (session.phase === 'rejected') {
    return nowMs - pulse.rejectedMs >= REJECTED_GRACE_MS ? CLOSE_FRAMES.connectionClosed : undefined
  }
  if (session.phase === 'fresh') {
    return nowMs - pulse.openedMs >= CONNECT_TIMEOUT_MS ? CLOSE_FRAMES.stale : undefined
  }
  const expiresAtMs = session.principal?.expiresAtMs ?? Number.POSITIVE_INFINITY
  if (nowMs >= expiresAtMs + EXPIRY_GRACE_MS) return CLOSE_FRAMES.expired
  if (nowMs - pulse.seenMs >= IDLE_TIMEOUT_MS) return CLOSE_FRAMES.noPong
  const isSetBack = pulse.nextPingMs - nowMs > PING_INTERVAL_MS
  return nowMs >= pulse.nextPingMs || isSetBack ? 'ping' : undefined
}

/** The pulse after a ping was sent: the next one keeps the rhythm, and skips what a sleep missed; a clock that was set back begins anew. */
export const withPingSent = (pulse: HeartbeatState, nowMs: number): HeartbeatState => {
  const nextPingMs = Math.max(pulse.nextPingMs + PING_INTERVAL_MS, nowMs + PING_INTERVAL_MS / 2)
  return { ...pulse, nextPingMs: Math.min(nextPingMs, nowMs + PING_INTERVAL_MS) }
}
