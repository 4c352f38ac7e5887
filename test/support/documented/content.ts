/** Rows of one table, written by hand. */
export type StoredRows = readonly [table: string, rows: readonly object[]]

/** What the documented queries of one subject find: rows of tables, and the `data` of the answers, worked out by hand. */
export interface DocumentedContent {
  readonly rows: readonly StoredRows[]
  readonly answers: Readonly<Record<string, object>>
}

/** The moment at which the documented queries are asked: `realtime` starts a day before. */
export const ASKED_AT_MS = Date.UTC(2026, 3, 2)

/** Where a row stands in a chain. Heights differ from slots, so that one is not taken for the other. */
export const inBlock = (
  slot: number,
  time: string,
  tx: string,
  [txIndex, eventIndex]: readonly [number, number] = [0, 0],
) => ({
  block_time: time,
  block_slot: slot,
  block_height: slot - 1,
  block_hash: `b${slot}`,
  tx_hash: tx,
  tx_index: txIndex,
  tx_status: 'SUCCESS',
  event_index: eventIndex,
  _ver: 1,
})

/** The same of tables without transactions. */
export const inBlockOnly = (slot: number, time: string, index = 0) => ({
  block_time: time,
  block_slot: slot,
  block_height: slot - 1,
  block_hash: `b${slot}`,
  event_index: index,
  _ver: 1,
})

/** One side of a swap: base units, and USD per token where it is known. */
export interface Leg {
  readonly token: string
  readonly decimals: number
  readonly raw: string
  readonly priceUsd?: number
}

/** A swap as the tables hold it. */
export interface Swap {
  readonly place: ReturnType<typeof inBlock>
  readonly wallet: string
  readonly bought: Leg
  readonly sold: Leg
  readonly usd?: number
  readonly pool: string
  /** Program, name, family. */
  readonly dex: readonly [string, string, string]
  readonly suspect?: true
  /** The token that was sold is the base of the pair. */
  readonly baseIsSold?: true
}

/** USD of the native coin in the synthetic markets. */
const COIN_USD = 100

const legColumns = (side: 'buy' | 'sell', leg: Leg, { wallet, usd }: Swap): object => ({
  [`${side}_token`]: leg.token,
  [`${side}_decimals`]: leg.decimals,
  [`${side}_amount`]: leg.raw,
  [`${side}_owner`]: wallet,
  [`${side}_price_usd`]: leg.priceUsd ?? null,
  [`${side}_price_native`]: leg.priceUsd === undefined ? null : leg.priceUsd / COIN_USD,
  [`${side}_amount_usd`]: usd === undefined ? null : String(usd),
  [`${side}_amount_native`]: usd === undefined ? null : String(usd / COIN_USD),
})

/** Row of a swap; its fee is 0.000005 native coins. */
export const swapRow = (swap: Swap): object => ({
  ...swap.place,
  tx_signer: swap.wallet,
  tx_fee_native: '0.000005',
  tx_fee_usd: '0.0005',
  program_address: swap.dex[0],
  protocol_name: swap.dex[1],
  protocol_family: swap.dex[2],
  pool_address: swap.pool,
  ...legColumns('buy', swap.bought, swap),
  ...legColumns('sell', swap.sold, swap),
  base_is_buy: swap.baseIsSold ? 0 : 1,
  is_suspect: swap.suspect ? 1 : 0,
})
