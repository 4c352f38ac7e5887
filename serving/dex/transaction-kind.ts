import type { RpcPool } from '../../core/rpc/pool.ts'
import type { Job, JobChange } from '../jobs/job.ts'
import type { BlockhashSightings } from './solana-status.ts'

/** A signed transaction that was read and can be sent. */
export interface SendableTransaction {
  /** Hash or signature by which the chain names it. */
  readonly hash: string
  /**
   * Hands it to a node of its chain, or to a protected endpoint and to no node; one that the chain has already is as good. Returns what its job
   * tells of it while it is under way. Throws `Fault` INSUFFICIENT_BALANCE, FEE_PARAMETER_ERROR, TRANSACTION_FAILED where it is refused,
   * CHAIN_CONNECTION_ERROR where no node takes the call, BUNDLE_PROCESSING_FAILED where no protected endpoint does: it may be out even so.
   */
  send(nodes: RpcPool, protectedBy?: RpcPool): Promise<Readonly<Record<string, unknown>>>
}

/** What is remembered of a transaction between two looks at it. */
export interface CheckState extends BlockhashSightings {
  /** Looks, one after the other, that found that no block can take it any more: nodes behind one address may differ. */
  missingChecks: number
}

/** How transactions of a virtual machine are read, sent and looked up. */
export interface TransactionKind {
  /** Longest time between two looks at a new one; older ones are looked at less often. */
  readonly maxWaitMs: number
  /**
   * Reads a signed transaction. Throws `Fault` INVALID_PARAMETER for what is none, TRANSACTION_SIZE_EXCEEDED, TRANSACTION_NOT_SIGNED,
   * TRANSACTION_SIGNATURE_MISSING.
   */
  read(text: string): Promise<SendableTransaction>
  /** Whether a node has it in a block, by its hash. Throws `Fault` CHAIN_CONNECTION_ERROR. */
  isMined(nodes: RpcPool, hash: string): Promise<boolean>
  /** The end of a job's transaction, as a node knows it; undefined while there is none. Throws where no node responded. */
  check(nodes: RpcPool, job: Job, state: CheckState): Promise<JobChange | undefined>
}
