/** What happened to an order of an order book. Prices and sizes count in units of its market; null: the chain does not tell. */
export interface OrderEvent {
  readonly type: 'OPEN' | 'UPDATE' | 'CANCEL' | 'FILL'
  readonly market: string
  /** As the market counts its orders. */
  readonly orderId: bigint | null
  readonly isBid: boolean
  readonly owner: string | null
  /** Where the market keeps what the owner deposited and ordered. */
  readonly account: string | null
  /** Who signed the transaction's part that led to it; of a fill that is reported later, who took it. */
  readonly payer: string
  readonly priceTicks: bigint | null
  /** What was asked for, filled or taken away. */
  readonly lots: bigint | null
}
