/** What moves inside the product between normalize, decode and publish. Amounts are base units ending in `Raw`. */

import type {
  CallFrame,
  NativeBalanceChange,
  RejectedTransaction,
  SvmReward,
  TransactionGas,
  Uncle,
  Withdrawal,
} from './block-parts.ts'
import type { DropReason } from './drop-reasons.ts'
import type { LabelReport } from './label-changes.ts'
import type { OutcomeChange } from './outcome-changes.ts'
import type { Prediction } from './prediction-events.ts'
import type { RedPacketReport, RedPacketSource } from './red-packet-reports.ts'
import type { ReservePricing } from './reserve-pricing.ts'

/** One log of a receipt. Hex is lower case with `0x`. */
export interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  /** Index in the block. */
  readonly index: number
}

/** What every transaction has, whatever its chain runs. */
interface TransactionBase {
  /** Hash, or first signature. */
  readonly hash: string
  /** Place in the block. */
  readonly index: number
  /** Who signed first and paid the fee. */
  readonly from: string
  readonly feeRaw: bigint
  readonly success: boolean
}

/** One EVM transaction with its receipt. A failed one (`success: false`) has no logs but still paid its fee. */
export interface Transaction extends TransactionBase {
  /** null: contract creation. */
  readonly to: string | null
  readonly valueRaw: bigint
  /** Paid per gas, in base units; absent: not reported, or the transaction paid on another chain. */
  readonly gasPriceRaw?: bigint
  /** Contract that the transaction made. */
  readonly contractAddress: string | null
  /** Absent: not requested. */
  readonly gas?: TransactionGas
  readonly logs: readonly Log[]
}

/** One instruction as it ran. Inner ones follow the one that called them, in the order in which they ran. */
export interface SvmInstruction {
  readonly program: string
  readonly accounts: readonly string[]
  /** null: of a program that no decoder reads. */
  readonly data: Uint8Array | null
  /**
   * Data as the node reported it, base 58 or bytes; null: a parser of the node kept neither. Only where every
   * instruction is asked for.
   */
  readonly raw?: string | Uint8Array | null
  /** Place among the message's own instructions; inner ones carry their outermost caller's. */
  readonly outer: number
  /** Place among the inner instructions of `outer`; null for the message's own. */
  readonly inner: number | null
  /** Depth of the call, 1 = the message's own. */
  readonly depth: number
  /**
   * `Program log:` and `Program data:` lines that it wrote itself, with their prefix; only for programs whose events are logs,
   * unless every instruction is asked for.
   */
  readonly logs: readonly string[]
  /** A token instruction that the batch before it held: it was not called by itself. */
  readonly batched?: true
}

/** A token account before and after a transaction; null = it was not there. */
export interface SvmTokenBalance {
  readonly account: string
  readonly owner: string
  readonly mint: string
  readonly tokenProgram: string
  readonly decimals: number
  readonly preRaw: bigint | null
  readonly postRaw: bigint | null
}

/** Lamports of an account that a transaction changed. */
export interface SvmLamports {
  readonly account: string
  readonly preRaw: bigint
  readonly postRaw: bigint
}

/** One Solana transaction that is not a vote. A failed one has no instructions: nothing that it did counts but its fee. */
export interface SvmTransaction extends TransactionBase {
  readonly version: 'legacy' | 0 | 1
  readonly instructions: readonly SvmInstruction[]
  readonly tokenBalances: readonly SvmTokenBalance[]
  /** Changed accounts only, fee and rent included. */
  readonly lamports: readonly SvmLamports[]
  /** Compute units that it used; absent: not reported. */
  readonly computeUnits?: number
}

/** An event that a Move transaction emitted. Its fields come by name or as bytes, as the node gave them. */
export interface MoveEvent {
  /** Place among the events of its transaction. */
  readonly index: number
  /** Package that first defined the event's type: no other code can emit it. */
  readonly package: string
  /** `module::Name` of the type. */
  readonly name: string
  readonly typeArguments: readonly string[]
  readonly sender: string
  readonly fields: Readonly<Record<string, unknown>> | null
  /** BCS; null where the fields are there. */
  readonly bytes: Uint8Array | null
}

/** What a transaction did to an owner's holdings of a coin, its fee included. What the owner holds is not reported. */
export interface MoveBalanceChange {
  readonly owner: string
  readonly coin: string
  readonly deltaRaw: bigint
}

/** A call of a Move function, as far as it says which coins a pool holds. */
export interface MoveCall {
  readonly typeArguments: readonly string[]
  /** Objects that it takes. */
  readonly objects: readonly string[]
}

/** What a Move transaction was sent with, and what its computation cost; base units, null: not reported. */
export interface MoveGas {
  /** Most that it would have paid. */
  readonly budgetRaw: bigint | null
  /** Per unit of computation. */
  readonly priceRaw: bigint | null
  readonly computationRaw: bigint | null
}

/** An object that a transaction wrote. */
export interface MoveObject {
  readonly id: string
  /** As the node prints it; empty for packages. */
  readonly type: string
  readonly change: 'created' | 'changed' | 'published'
  /** Fields by name, where the node gave them. */
  readonly fields: Readonly<Record<string, unknown>> | null
}

/** One Move transaction. A failed one has no events, calls or objects: nothing that it did counts but its fee. */
export interface MoveTransaction extends TransactionBase {
  /** Who paid: `feeRaw` is computation and storage without the rebate, below zero where the rebate is larger. */
  readonly gasOwner: string
  readonly gas: MoveGas
  readonly events: readonly MoveEvent[]
  readonly deltas: readonly MoveBalanceChange[]
  readonly calls: readonly MoveCall[]
  readonly objects: readonly MoveObject[]
}

/** What every block has. */
interface BlockBase {
  readonly chain: string
  /** What orders blocks: the block number, on Solana the slot. */
  readonly height: number
  readonly hash: string
  readonly parentHash: string
  readonly timeMs: number
  /** Transactions that no endpoint gives in shape: they are not among the others. */
  readonly rejected?: readonly RejectedTransaction[]
}

/** A Solana block, its votes left out. */
export interface SvmBlock extends BlockBase {
  readonly vm: 'svm'
  readonly parentSlot: number
  /** Number of the block; slots without a block are not counted. null: the recording does not say. */
  readonly blockHeight: number | null
  /** All transactions of the block, votes too. */
  readonly txCount: number
  readonly rewardsCount: number
  /** Absent: not requested. */
  readonly rewards?: readonly SvmReward[]
  readonly transactions: readonly SvmTransaction[]
}

/** An EVM block as every decoder reads it: their JSON, checked and normalized. */
export interface EvmBlock extends BlockBase {
  readonly vm: 'evm'
  readonly coinbase: string
  readonly gasLimitRaw: bigint
  readonly gasUsedRaw: bigint
  readonly baseFeeRaw: bigint
  readonly difficultyRaw: bigint
  readonly nonce: string
  readonly extra: string
  /** Absent: none. */
  readonly withdrawals?: readonly Withdrawal[]
  /** Hashes of the uncles that it names; absent: none. */
  readonly uncleHashes?: readonly string[]
  /** Absent: not requested. */
  readonly uncles?: readonly Uncle[]
  /** By transaction, in the order in which they ran; absent: not requested, or no node tells. */
  readonly calls?: readonly CallFrame[]
  /** One per account, in the order of the transactions that ended them; absent as `calls`. */
  readonly coins?: readonly NativeBalanceChange[]
  readonly transactions: readonly Transaction[]
}

/** A checkpoint: its sequence number is the height, its digest the hash. */
export interface MoveBlock extends BlockBase {
  readonly vm: 'move'
  readonly transactions: readonly MoveTransaction[]
}

/** A block of any chain. */
export type Block = EvmBlock | SvmBlock | MoveBlock

/** What a node, a fixture or the token's own birth says of a token. null = not known (a revert, or no archive state). */
export interface TokenMetadata {
  readonly address: string
  readonly decimals: number | null
  readonly name: string | null
  readonly symbol: string | null
  readonly totalSupplyRaw: bigint | null
  /** Where its metadata document lies. */
  readonly uri?: string
  /** Token program (Solana). */
  readonly program?: string
  readonly mintAuthority?: string
  readonly freezeAuthority?: string
}

/** What is known of a pool. `verified`: its factory is listed and the factory itself names this pool. */
export interface PoolMetadata {
  /** The pool's contract; of pools that share one contract their 32-byte id. */
  readonly address: string
  /** In the pool's own order: the lower address of the two on V2 and V3 shapes, the launched token of a curve. */
  readonly tokenA: string
  readonly tokenB: string
  /** Every token in the pool's own order, where there are more than the two above. */
  readonly coins?: readonly string[]
  /** Tokens that the pool also takes in place of its own, in its order: metapools and lending pools (Curve). */
  readonly underlying?: readonly string[]
  /** Row id of `protocols.ts`, or null where the factory is not listed. */
  readonly protocol: string | null
  readonly factory: string | null
  /** Hundredths of a basis point, null where the protocol has no fixed fee. */
  readonly feePips: number | null
  readonly verified: boolean
}

/** Where in its block an event happened. */
export interface EventPosition {
  readonly txIndex: number
  /** Index of the log in the block; elsewhere the place among the instructions (Solana) or events (Sui) of the transaction. */
  readonly logIndex: number
  /** Solana: the message's own instruction, and the place among the inner ones below it (null: itself). */
  readonly path?: { readonly outer: number; readonly inner: number | null }
}

/** A side's accounts, where tokens lie in accounts of their own (Solana). */
export interface SwapAccounts {
  /** Trader's token accounts. */
  readonly userIn: string
  readonly userOut: string
  /** Pool's vaults. */
  readonly vaultIn: string
  readonly vaultOut: string
}

/** State of a bonding curve after a trade; null = not reported. */
export interface CurveState {
  readonly virtualQuoteRaw: bigint | null
  readonly virtualTokenRaw: bigint | null
  readonly realQuoteRaw: bigint
  readonly realTokenRaw: bigint | null
}

/** One pool hop: the trade as the pool logged it. */
export interface Swap extends EventPosition {
  readonly kind: 'swap'
  readonly pool: string
  /** Contract that keeps the pool's tokens, where not the pool itself: one for many pools. */
  readonly vault?: string
  readonly protocol: string
  readonly trader: string
  /** null where neither the pool nor the transfers of the transaction tell. */
  readonly tokenIn: string | null
  readonly tokenOut: string | null
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
  /** Pool reserves after the swap in the pool's own order, where the protocol logs them. */
  readonly reserves?: readonly [bigint, bigint]
  /** Pool reserves after the swap as [of tokenIn, of tokenOut], where the protocol tells them that way. */
  readonly reservesInOut?: readonly [bigint, bigint]
  /** Reserves before the swap as [of tokenIn, of tokenOut], where the traded amounts do not tell: fees that passed by the vaults. */
  readonly reservesBeforeInOut?: readonly [bigint, bigint]
  readonly curve?: CurveState
  /** How much of what a curve must raise it has raised, 0 to 1, where the protocol tells it. */
  readonly curveProgress?: number
  readonly pricing?: ReservePricing
  readonly accounts?: SwapAccounts
  /** Square root price after the swap, concentrated liquidity only. */
  readonly sqrtPriceX96?: bigint
  /** Liquidity in range after the swap, concentrated liquidity only. */
  readonly liquidityRaw?: bigint
  /** Tick after the swap, where price, liquidity and positions are all that the pool prices with. */
  readonly tick?: number
  /** What it did to the bins, Liquidity Book only. */
  readonly bins?: BinChange
}

/** Tokens X and Y that came to a bin of Liquidity Book, below zero where they left it. */
export interface BinMove {
  readonly bin: number
  readonly xRaw: bigint
  readonly yRaw: bigint
}

/** What an event says of the bins of a pool of Liquidity Book, and of what its fee is made of. */
export interface BinChange {
  readonly moves?: readonly BinMove[]
  /** Distance of the prices of two bins in basis points, of a pool that opens. */
  readonly binStep?: number
  /** The bin at whose price the pool trades after the event. */
  readonly activeBin?: number
  /** Volatility that a swap has accumulated with this bin, hundredths of a basis point of bins. */
  readonly volatility?: number
  /**
   * Base factor, filter period and decay period (seconds), reduction factor, control of the variable fee, share of the protocol, and
   * the most volatility: as the pool's contract states them.
   */
  readonly feeTerms?: readonly number[]
  /** What the event does to the references of the variable fee beside what a swap does: as a swap would now, or whatever the time. */
  readonly references?: 'by_time' | 'forced'
}

/** Liquidity between two ticks that came or left. */
export interface LiquidityPosition {
  readonly tickLower: number
  readonly tickUpper: number
  readonly liquidityRaw: bigint
}

/**
 * Liquidity moved in or out of a pool, or a pool opened. Where a protocol owes first and pays later (Uniswap V3), `decrease` is
 * what a position gave up; it stays in the pool until a `collect`, which also holds the position's fees. `state`: nothing moved
 * for anybody, but what the pool prices with changed.
 */
export interface PoolLiquidityChange extends EventPosition {
  readonly kind: 'initialize' | 'increase' | 'decrease' | 'collect' | 'state'
  readonly pool: string
  /** As of a swap. */
  readonly vault?: string
  readonly protocol: string
  readonly owner: string
  readonly tokenA: string
  readonly tokenB: string
  readonly amountARaw: bigint
  readonly amountBRaw: bigint
  readonly reserves?: readonly [bigint, bigint]
  /** The curve that opens. */
  readonly curve?: CurveState
  readonly pricing?: ReservePricing
  /** What an `increase` or `decrease` moved, of pools whose swaps tell their tick. */
  readonly position?: LiquidityPosition
  /** Price and tick that such a pool opens at. */
  readonly opensAt?: { readonly sqrtPriceX96: bigint; readonly tick: number }
  /** What it did to the bins, Liquidity Book only. */
  readonly bins?: BinChange
}

/** A fungible token moved. */
export interface Transfer extends EventPosition {
  readonly kind: 'transfer'
  readonly token: string
  /** Owners, not token accounts. */
  readonly from: string
  readonly to: string
  readonly fromAccount?: string
  readonly toAccount?: string
  readonly amountRaw: bigint
  /** The native token turned into its wrapped token (from the zero address) or back (to it); no transfer log says so. */
  readonly wrap: boolean
  /** The call that moved the native token: its place in the transaction. */
  readonly callIndex?: number
}

/**
 * What an owner's account holds of a token after a transaction. One per (transaction, account); in block order the `preRaw` of
 * one is the `postRaw` of the one before.
 */
export interface BalanceChange extends EventPosition {
  readonly kind: 'balance'
  /** Token account; where tokens have none (EVM, coins) the owner itself. */
  readonly account: string
  readonly owner: string
  /** The chain's native token: EVM zero address, Solana system address, Sui its type. */
  readonly token: string
  readonly decimals: number | null
  readonly preRaw: bigint
  readonly postRaw: bigint
  readonly lifecycle: 'new' | 'existing' | 'closed'
}

/** A token's supply grew or shrank, or the token was set up. */
export interface SupplyChange extends EventPosition {
  readonly kind: 'supply'
  readonly type: 'initialize' | 'mint' | 'burn'
  readonly token: string
  readonly amountRaw: bigint
}

/** A token came to be. */
export interface TokenCreation extends EventPosition {
  readonly kind: 'token-created'
  readonly metadata: TokenMetadata
  /** Who made it. */
  readonly dev: string
  readonly creators: readonly string[]
  /** Launchpad (row id of `protocols.ts`) and its curve; null: made by hand. */
  readonly launch: LaunchVenue | null
}

/** A launchpad token left its curve for a pool. */
export interface Migration extends EventPosition {
  readonly kind: 'migration'
  readonly token: string
  readonly from: LaunchVenue
  /** null: the transaction does not say which pool. */
  readonly to: LaunchVenue | null
}

/** A protocol and its curve or pool. */
export interface LaunchVenue {
  readonly protocol: string
  readonly pool: string
}

/** What happened to a red packet, and who reported it. */
export type RedPacketEvent = EventPosition & RedPacketSource & RedPacketReport

/** What a listed contract said of addresses, and who said it. */
export type LabelChange = EventPosition &
  LabelReport & {
    /** Row id of `protocols.ts`. */
    readonly protocol: string
    readonly contract: string
  }

/** Why a chain event was not taken; counted, and sampled to the dead letters. */
export interface DroppedEvent {
  readonly reason: DropReason
  readonly txHash: string
  readonly logIndex: number
  readonly protocol: string
}

/** Everything decoded from one block, in log order. */
export interface DecodedBlock {
  readonly swaps: readonly Swap[]
  readonly poolChanges: readonly PoolLiquidityChange[]
  readonly transfers: readonly Transfer[]
  readonly balances: readonly BalanceChange[]
  readonly supplies: readonly SupplyChange[]
  readonly tokenCreations: readonly TokenCreation[]
  readonly migrations: readonly Migration[]
  readonly predictions: readonly Prediction[]
  /** What those did to positions, and transfers of outcome tokens. */
  readonly outcomeChanges: readonly OutcomeChange[]
  readonly redPackets: readonly RedPacketEvent[]
  readonly labelChanges: readonly LabelChange[]
  /** Pools that listed factories made in this block, or whose program showed them: verified. */
  readonly pools: readonly PoolMetadata[]
  readonly dropped: readonly DroppedEvent[]
}
