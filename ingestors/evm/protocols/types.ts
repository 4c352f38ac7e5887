import type {
  BinChange,
  LiquidityPosition,
  Log,
  PoolLiquidityChange,
  TokenMetadata,
} from '../../../schemas/events.ts'
import type { LabelReport } from '../../../schemas/label-changes.ts'
import type { OutcomeAmount } from '../../../schemas/outcome-changes.ts'
import type {
  PredictionManagement,
  PredictionSettlement,
  PredictionTrade,
} from '../../../schemas/prediction-events.ts'
import type { Family } from '../../../schemas/protocols.ts'
import type { RedPacketReport } from '../../../schemas/red-packet-reports.ts'
import type { PoolVerification } from '../verify/contract.ts'

/**
 * A token as an event names it: its index in the pool's own order, or in that of the tokens behind it, or its address, or
 * not at all: the one that the pool paid out in this very amount, which only the transaction's transfers show.
 */
export type Leg =
  | number
  | { readonly underlying: number }
  | { readonly paidOutRaw: bigint }
  | string

/** The leg is what lies behind one of the pool's own tokens. */
export const isUnderlying = (leg: Leg): leg is Extract<Leg, { readonly underlying: number }> =>
  typeof leg === 'object' && 'underlying' in leg

/** A swap as its pool says it. Amounts are what the pool took and gave; both above zero. */
export interface DecodedSwap {
  readonly kind: 'swap'
  readonly pool: string
  /** Where the pool's tokens lie, where not in the pool: the contract that holds those of many. */
  readonly vault?: string
  /** Row of `schemas/protocols.ts` to name where nothing but the event's shape is known. */
  readonly defaultProtocol: string
  readonly tokenIn: Leg
  readonly tokenOut: Leg
  /** The pool keeps its tokens in an order of its own, not by address: two of them, or maybe more. */
  readonly unordered?: 'pair' | 'many'
  /** The side that the event does not name is the chain's native token where no token moved on it. */
  readonly unnamedIsNative?: true
  /** Who traded, where the event says it. */
  readonly trader?: string
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
  /** What the pool holds afterwards, of the token in and of the token out. */
  readonly reservesInOut?: readonly [bigint, bigint]
  readonly sqrtPriceX96?: bigint
  readonly liquidityRaw?: bigint
  readonly tick?: number
  readonly bins?: BinChange
}

/** Liquidity moved, or a pool opened. */
export interface DecodedLiquidityChange {
  readonly kind: 'change'
  readonly pool: string
  readonly vault?: string
  readonly defaultProtocol: string
  readonly unordered?: 'pair' | 'many'
  readonly change: PoolLiquidityChange['kind']
  /** In the pool's own order, or in that of `legs`. */
  readonly amountsRaw: readonly bigint[]
  readonly legs?: readonly Leg[]
  readonly position?: LiquidityPosition
  readonly opensAt?: PoolLiquidityChange['opensAt']
  readonly bins?: BinChange
}

/** Liquidity came to or left a range of prices. Its amounts follow from the pool's price, which another event tells, or the pool's state. */
export interface DecodedPositionChange {
  readonly kind: 'position'
  readonly pool: string
  readonly vault: string
  readonly defaultProtocol: string
  readonly ticks: readonly [lower: number, upper: number]
  /** Below zero: it left. */
  readonly liquidityRaw: bigint
}

/** A pool's reserves after the event that it logs next; where its protocol's swaps come first, after the swap before. */
export interface DecodedSync {
  readonly kind: 'reserves'
  readonly pool: string
  readonly reserves: readonly [bigint, bigint]
}

/** A factory says that it made a pool. Counts only where the factory is listed. */
export interface DecodedPoolCreated {
  readonly kind: 'pool'
  readonly pool: string
  readonly factory: string
  /** As of a swap. */
  readonly vault?: string
  /** In the pool's own order; two or more, else the pool is not kept. */
  readonly tokens: readonly string[]
  /** Hundredths of a basis point; null: the protocol row tells. */
  readonly feePips: number | null
  /** The pool trades from now on; false: an event of its own opens it. */
  readonly opens: boolean
  /** What it opens at. */
  readonly sqrtPriceX96?: bigint
  readonly bins?: BinChange
}

/** A launchpad says that it made a token. */
export interface DecodedTokenLaunch {
  readonly kind: 'token-created'
  readonly token: string
  /** What the event tells of the token; the rest is asked of a node. */
  readonly metadata: Partial<Pick<TokenMetadata, 'name' | 'symbol' | 'decimals' | 'totalSupplyRaw'>>
  /** null: who sent the transaction. */
  readonly dev: string | null
  /** Its curve or its pool; null: the pool that the transaction opens for it. */
  readonly pool: string | null
  /** What holds the curve's tokens, where not the launchpad. */
  readonly vault?: string
  /** What the curve is paid in, where the launchpad says so: proves the curve. */
  readonly quote?: string
  /** Trade on the curve begins; `tokensRaw` is what it starts to sell, null where it does not say. */
  readonly opens?: { readonly tokensRaw: bigint | null }
}

/** A launchpad says that a token left its curve. */
export interface DecodedMigration {
  readonly kind: 'migration'
  readonly token: string
  /** The token that the new pool holds instead of it; mostly itself. */
  readonly pooled: string
  /** Its curve; null: the one that sold it in this transaction. */
  readonly curve: string | null
  /** Said for certain; else only where the transaction also fills a pool of the token. */
  readonly certain: boolean
}

/** Outcome tokens of prediction markets moved, as their contract logs it. */
export interface DecodedOutcomeTransfers {
  readonly kind: 'outcomes'
  readonly from: string
  readonly to: string
  readonly moved: readonly OutcomeAmount[]
}

/** A market maker for a prediction market says that it dealt. Counts only with the tokens that moved. */
export interface DecodedMarketMakerTrade {
  readonly kind: 'market-maker-trade'
  readonly maker: string
  readonly taker: string
  /** What the maker did. */
  readonly side: 'BUY' | 'SELL'
  readonly sharesRaw: bigint
  readonly collateral: string
  readonly collateralRaw: bigint
  readonly feeRaw: bigint
}

/** What an exchange charged an order was given back in part. */
export interface DecodedFeeRefund {
  readonly kind: 'fee-refund'
  readonly orderHash: string
  /** Outcome token that is given back; 0: collateral. */
  readonly tokenId: bigint
  readonly amountRaw: bigint
}

type PositionFields = 'txIndex' | 'logIndex' | 'path' | 'protocol'

/** What a listed contract says of a prediction market. */
export type DecodedPrediction =
  | Omit<PredictionTrade, PositionFields>
  | Omit<PredictionManagement, PositionFields>
  | Omit<PredictionSettlement, PositionFields>
  | DecodedOutcomeTransfers
  | DecodedMarketMakerTrade
  | DecodedFeeRefund

/** A fungible token moved. */
export interface DecodedTransfer {
  readonly kind: 'transfer'
  readonly token: string
  readonly from: string
  readonly to: string
  readonly amountRaw: bigint
  /** No transfer log, but the native token turned into its wrapped token or back. */
  readonly wrap: boolean
  /** The chain's native token leaves for another chain; counts where the native token's own contract says so. */
  readonly leaves?: true
}

/** Everything logged since the operation before was done for this account (ERC-4337). */
interface DecodedUserOperation {
  readonly kind: 'operation'
  readonly sender: string
}

/** The event is one of ours and what it says cannot be used. */
export interface InvalidEvent {
  readonly kind: 'invalid'
  readonly reason:
    | 'zero-amount'
    | 'impossible-amount'
    | 'truncated-data'
    | 'bad-array'
    | 'bad-address'
    | 'unknown-side'
}

/** What one log says, before anyone asked whether its pool is real. */
export type DecodedEvent =
  | DecodedSwap
  | DecodedLiquidityChange
  | DecodedPositionChange
  | DecodedSync
  | DecodedPoolCreated
  | DecodedTokenLaunch
  | DecodedMigration
  | DecodedPrediction
  | RedPacketReport
  | LabelReport
  | DecodedTransfer
  | DecodedUserOperation
  | InvalidEvent

/** One event of a family. */
export interface EvmEvent {
  /** As in its source, `indexed` parts first. */
  readonly signature: string
  /**
   * Who logs it: decides whose metadata is needed. `singleton`: a listed contract that holds many pools and speaks for them; what
   * others log in its name is not theirs. `listed`: of many contracts that log it, only listed ones are heard.
   */
  readonly by: 'pool' | 'factory' | 'singleton' | 'listed' | 'token' | 'other'
  /** Topics with topic0: look-alikes differ here. */
  readonly topics: number
  /** Words that the data has at least; more are a newer layout's and are left alone. */
  readonly words: number
  /** Of a singleton's pool: which one the log is about. */
  readonly pool?: (log: Log) => string
  /** Whether it states the price of its pool, or cannot be decoded without it. */
  readonly price?: 'emitted' | 'requested'
  /** Tokens that it names: a contract that nets what it pays out need not move each of them. */
  readonly tokens?: (log: Log) => readonly string[]
  /** Reads a log that has that many topics and words; undefined: nothing happened. */
  readonly read: (log: Log) => DecodedEvent | undefined
}

/** A decoder family: pure, no clock, no lookup. */
export interface EvmFamily {
  readonly family: Family | 'erc20' | 'erc4337'
  /** By topic0; several rows where one topic0 comes in several shapes. */
  readonly events: Readonly<Record<string, EvmEvent | readonly EvmEvent[]>>
  /** How a node proves its pools; absent: only their creation in sight does. */
  readonly verification?: PoolVerification
}

/** Amounts from here on do not exist on any chain: they are forged or misread. */
const IMPOSSIBLE_AMOUNT = 1n << 255n

/**
 * The refusal, or undefined, for amounts that no swap has: nothing at all, both on one side, or beyond any token. One side may be
 * nothing: dust for which a pool pays nothing, the fee of a loan that was paid back.
 */
export const invalidAmounts = (
  amountInRaw: bigint,
  amountOutRaw: bigint,
): InvalidEvent | undefined => {
  if (amountInRaw < 0n || amountOutRaw < 0n || (amountInRaw === 0n && amountOutRaw === 0n)) {
    return { kind: 'invalid', reason: 'zero-amount' }
  }
  return amountInRaw >= IMPOSSIBLE_AMOUNT || amountOutRaw >= IMPOSSIBLE_AMOUNT
    ? { kind: 'invalid', reason: 'impossible-amount' }
    : undefined
}

/** The refusal, or undefined, for amounts of which one is beyond any token. */
export const impossible = (amountsRaw: readonly bigint[]): InvalidEvent | undefined =>
  amountsRaw.some((amountRaw) => amountRaw >= IMPOSSIBLE_AMOUNT)
    ? { kind: 'invalid', reason: 'impossible-amount' }
    : undefined

/** A list that does not lie in its data, is too long, or does not fit to another one. */
export const BAD_ARRAY: InvalidEvent = { kind: 'invalid', reason: 'bad-array' }

/** A word is not an address, or is the zero address. */
export const BAD_ADDRESS: InvalidEvent = { kind: 'invalid', reason: 'bad-address' }
