import type { PoolMetadata } from '../../../schemas/events.ts'
import type { ListedProtocol } from '../../decode/protocol-registry.ts'
import type { Call, CallResult } from '../abi/call.ts'

/**
 * How a node proves a pool and tells its tokens: two rounds of calls at the hash of the block that
 * first needs it, then the conclusion. Pure.
 */
export interface PoolVerification {
  /** First round: usually to the pool itself. */
  readonly ask: (pool: string, listed: readonly ListedProtocol[]) => readonly Call[]
  /** Second round: usually to the factory that the pool claims. Absent: there is none. */
  readonly confirm?: (context: VerificationContext) => readonly Call[]
  /** The metadata, verified or not; undefined: a contract of another kind, or `later`. */
  readonly conclude: (
    context: VerificationContext,
    confirmed: readonly CallResult[],
  ) => PoolMetadata | undefined
  /** The contract may register a pool after it traded: what is not known is asked for again. */
  readonly later?: true
}

/** A pool whose first round was answered. */
export interface VerificationContext {
  readonly pool: string
  /** Protocols of this chain whose pools log the event that named the pool. */
  readonly listed: readonly ListedProtocol[]
  /** Answers to `ask`, in its order. */
  readonly results: readonly CallResult[]
}
