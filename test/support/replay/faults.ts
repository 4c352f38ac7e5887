/** What a replay server does wrong on demand, once per fault. */
export const REPLAY_FAULTS = [
  /** The answer comes after the caller has given up. */
  'late',
  /** The answer is of another block or has another shape. */
  'wrong',
  /** The answer ends in the middle. */
  'truncated',
  /** A later notice comes before an earlier one. */
  'out-of-order',
  /** The node says that it serves another chain. */
  'wrong-chain',
  /** The node refuses: too many calls. */
  'rate-limited',
  /** The connection falls. */
  'disconnect',
] as const

/** One of `REPLAY_FAULTS`. */
export type ReplayFault = (typeof REPLAY_FAULTS)[number]

/** Asked before each answer; undefined: the server behaves. */
export type FaultPlan = (method: string) => ReplayFault | undefined
