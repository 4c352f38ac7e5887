/** How much of one kind a connection may send. */
export interface InboundRate {
  /** At once. */
  readonly burst: number
  /** Once the burst is used. */
  readonly perSecond: number
}

/** Commands of streams, and messages of GraphQL subscriptions. */
export const COMMAND_RATE: InboundRate = { burst: 300, perSecond: 50 }

/** WebSocket pings and pongs: one in 25 s is usual. */
export const CONTROL_FRAME_RATE: InboundRate = { burst: 100, perSecond: 10 }

/** What a connection may still send of one kind, as of `atMs` (epoch milliseconds). Below 0 = it sent too much. */
export interface InboundBudget {
  readonly tokens: number
  readonly atMs: number
}

/** The budget of a connection that was just opened. */
export const fullBudget = ({ burst }: InboundRate, nowMs: number): InboundBudget => ({
  tokens: burst,
  atMs: nowMs,
})

/** The budget after one more came in; a clock that was set back gives nothing back. */
export const takeToken = (
  { tokens, atMs }: InboundBudget,
  { burst, perSecond }: InboundRate,
  nowMs: number,
): InboundBudget => {
  const refilled = (Math.max(0, nowMs - atMs) / 1_000) * perSecond
  return { tokens: Math.min(burst, tokens + refilled) - 1, atMs: nowMs }
}
