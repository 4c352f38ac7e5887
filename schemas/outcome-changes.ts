/** Outcome tokens that were moved, made or taken. */
export interface OutcomeAmount {
  readonly tokenId: bigint
  readonly amountRaw: bigint
}

/** How a position in outcome tokens changed. A `transfer` is what no trade and no settlement of its transaction explains. */
export type OutcomeChangeType =
  | 'buy'
  | 'sell'
  | 'split'
  | 'merge'
  | 'redeem'
  | 'convert'
  | 'transfer'

/** What one step of a transaction did to a wallet's outcome tokens. */
export interface OutcomeChange {
  readonly txIndex: number
  readonly logIndex: number
  readonly kind: 'outcome-change'
  readonly type: OutcomeChangeType
  readonly protocol: string
  readonly wallet: string
  /** Signed: below zero leaves the wallet. Only a conversion has both. */
  readonly parts: readonly OutcomeAmount[]
  /** Collateral given for what came in, or got for what left, all parts together; null: not known. */
  readonly collateralRaw: bigint | null
  /** Condition of a settlement. */
  readonly conditionId: string | null
  /** Of a trade: what changed hands at its price, without its fee; null for anything else. */
  readonly traded: {
    readonly sharesRaw: bigint
    readonly collateralRaw: bigint
    /** An exchange filled an order: anyone can be a market maker, at any price. */
    readonly isOrder: boolean
  } | null
}
