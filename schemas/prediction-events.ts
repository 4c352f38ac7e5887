import type { EventPosition } from './events.ts'
import type { OutcomeAmount } from './outcome-changes.ts'

/** An order of a prediction market was filled, or a market maker dealt. */
export interface PredictionTrade extends EventPosition {
  readonly kind: 'prediction-trade'
  /** Row id of `protocols.ts`. */
  readonly protocol: string
  /** Contract that matched the order, or the market maker itself. */
  readonly exchange: string
  /** null: a market maker, which has no orders. */
  readonly orderHash: string | null
  readonly maker: string
  readonly taker: string
  /** What the maker did with outcome tokens. */
  readonly side: 'BUY' | 'SELL'
  /** Outcome token: its id in the contract that holds all of them. */
  readonly tokenId: bigint
  readonly sharesRaw: bigint
  /** Token that was paid. */
  readonly collateral: string
  readonly collateralRaw: bigint
  readonly feeRaw: bigint
  /** What the fee was taken in. */
  readonly feeIn: 'collateral' | 'shares'
}

/** A prediction market was set up or decided. Named as the event of its contract. */
export interface PredictionManagement extends EventPosition {
  readonly kind: 'prediction-management'
  readonly type:
    | 'ConditionPreparation'
    | 'ConditionResolution'
    | 'TokenRegistered'
    | 'MarketPrepared'
    | 'QuestionPrepared'
    | 'OutcomeReported'
  readonly protocol: string
  readonly conditionId: string | null
  readonly questionId: string | null
  /** Group of questions of which one comes true. */
  readonly marketId: string | null
  /** Who decides. */
  readonly oracle: string | null
  /** Number of outcomes. */
  readonly outcomes: number | null
  /** Shares of the payout by outcome, in their order; empty until it is decided. */
  readonly payouts: readonly bigint[]
  /** Outcome tokens of the condition, in no order that tells which is which. */
  readonly tokenIds: readonly bigint[]
  readonly description: string | null
}

/** Collateral became outcome tokens or outcome tokens became collateral, without a counterparty. */
export interface PredictionSettlement extends EventPosition {
  readonly kind: 'prediction-settlement'
  readonly type: 'Split' | 'Merge' | 'Redemption' | 'Conversion'
  readonly protocol: string
  readonly holder: string
  readonly conditionId: string | null
  readonly marketId: string | null
  /** null: the adapter's, which takes the collateral of its exchange. */
  readonly collateral: string | null
  /** Collateral put in or paid out; of a conversion the outcome tokens given up of each question. */
  readonly amountRaw: bigint
  /** Sets of outcomes, a bit for each; empty where the event names none. */
  readonly indexSets: readonly bigint[]
  /** As the tokens' contract logged them; empty where it did not. */
  readonly moved: readonly OutcomeAmount[]
}

/** What happened in a prediction market. */
export type Prediction = PredictionTrade | PredictionManagement | PredictionSettlement
