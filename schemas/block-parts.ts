/** What a block holds beside transactions and their logs. Amounts are base units ending in `Raw`. */
import type { DropReason } from './drop-reasons.ts'

/** One call of a transaction; the first is the transaction itself. In the order in which they were entered. */
export interface CallFrame {
  readonly txIndex: number
  /** Place among the calls of its transaction. */
  readonly index: number
  /** 0 = the transaction itself. */
  readonly depth: number
  /** How it was entered, as tracers name it: `CALL`, `DELEGATECALL`, `STATICCALL`, `CREATE2`, `SELFDESTRUCT`. */
  readonly type: string
  readonly from: string
  /** Who was called, what was made, or who got what a destroyed contract held; null: nothing was made. */
  readonly to: string | null
  /** As the tracer tells it: a DELEGATECALL repeats its caller's, and moves nothing. */
  readonly valueRaw: bigint
  readonly gas: number
  readonly gasUsed: number
  /** Hex; of a creation the init code. */
  readonly input: string
  /** Hex; of a creation the code that was left. */
  readonly output: string
  /** Why it ended in failure, as the node words it. */
  readonly error: string | null
  /** What it did stands: neither it nor a call above it failed. */
  readonly success: boolean
}

/**
 * What an EVM transaction was sent with, and the gas that it used. null: not reported. Quantities are what the node says,
 * whatever it says: some chains put 2^63 - 1 there.
 */
export interface TransactionGas {
  /** Gas that it may use. */
  readonly limit: bigint | null
  readonly used: bigint | null
  /** Gas of the block up to its end. */
  readonly cumulative: bigint | null
  /** Most that it would have paid per gas, and above the base fee; before EIP-1559 there is neither. */
  readonly maxFeeRaw: bigint | null
  readonly maxPriorityFeeRaw: bigint | null
  readonly nonce: bigint | null
  /** Type of its envelope (EIP-2718). */
  readonly type: number | null
}

/** What an account holds of the chain's native token after a block that changed it. */
export interface NativeBalanceChange {
  readonly account: string
  /** The transaction that changed it last; the number of transactions where the block itself did. */
  readonly txIndex: number
  readonly preRaw: bigint
  readonly postRaw: bigint
}

/** A block that lost against its sibling and is named by a later one (proof of work). */
export interface Uncle {
  /** Place among the uncles of the block that names it. */
  readonly index: number
  readonly hash: string
  readonly parentHash: string
  readonly miner: string
  readonly height: number
  readonly difficultyRaw: bigint
  readonly gasLimit: number
  readonly gasUsed: number
  readonly timeMs: number
}

/** Native tokens that came back from the consensus layer. */
export interface Withdrawal {
  readonly to: string
  readonly amountRaw: bigint
}

/** Lamports that a Solana block paid or took beside its transactions. */
export interface SvmReward {
  readonly address: string
  /** Below zero: taken. */
  readonly amountRaw: bigint
  readonly postRaw: bigint
  /** As the node words it: `Fee`, `Rent`, `Staking`, `Voting`; '' where it says none. */
  readonly type: string
  /** Percent of the vote account; null where there is none. */
  readonly commission: number | null
}

/** A transaction that cannot be read. */
export interface RejectedTransaction {
  /** As far as it is reported; empty where it is not. */
  readonly txHash: string
  readonly index: number
  readonly reason: DropReason
  readonly message: string
  /** The node's own words. */
  readonly input: unknown
}
