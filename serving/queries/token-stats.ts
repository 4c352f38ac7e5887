import type { Query } from '../../core/clickhouse/client.ts'

/** One window of a token, and the window before it, as the warehouse answers them. */
export interface StatRow {
  readonly token_address: string
  readonly resolution: string
  readonly stat_ms: string
  readonly open_usd: number | null
  readonly close_usd: number | null
  readonly high_usd: number | null
  readonly low_usd: number | null
  readonly open_native: number | null
  readonly close_native: number | null
  readonly high_native: number | null
  readonly low_native: number | null
  readonly buys: string
  readonly sells: string
  readonly buyers: string
  readonly sellers: string
  readonly traders: string
  readonly pools: string
  readonly programs: string
  readonly buy_volume: string
  readonly sell_volume: string
  readonly buy_volume_usd: string
  readonly sell_volume_usd: string
  readonly buy_volume_native: string
  readonly sell_volume_native: string
  readonly total_volume_usd: string
  readonly total_volume_native: string
  readonly volume_change_ratio: number | null
  readonly liquidity_usd: number | null
  readonly liquidity_change_ratio: number | null
  readonly prev_open_usd: number | null
  readonly prev_close_usd: number | null
  readonly prev_high_usd: number | null
  readonly prev_low_usd: number | null
  readonly prev_open_native: number | null
  readonly prev_close_native: number | null
  readonly prev_high_native: number | null
  readonly prev_low_native: number | null
  readonly prev_buys: string
  readonly prev_sells: string
  readonly prev_buyers: string
  readonly prev_sellers: string
  readonly prev_pools: string
  readonly prev_programs: string
  readonly prev_buy_volume: string
  readonly prev_sell_volume: string
  readonly prev_buy_volume_usd: string
  readonly prev_sell_volume_usd: string
  readonly prev_buy_volume_native: string
  readonly prev_sell_volume_native: string
  readonly prev_liquidity_usd: number | null
}

const COUNT_COLUMNS = ['buys', 'sells', 'buyers', 'sellers', 'traders', 'pools', 'programs']
const VOLUME_COLUMNS = ['buy', 'sell'].flatMap((side) =>
  ['', '_usd', '_native'].map((unit) => `${side}_volume${unit}`),
)
/** Of the window before; its distinct traders are not a field. */
const PREVIOUS_TEXT_COLUMNS = [...COUNT_COLUMNS, ...VOLUME_COLUMNS].flatMap((name) =>
  name === 'traders' ? [] : [`prev_${name}`],
)
const PREVIOUS_PRICE_COLUMNS = ['usd', 'native'].flatMap((unit) =>
  ['open', 'close', 'high', 'low'].map((price) => `prev_${price}_${unit}`),
)
/** Wide numbers as text. */
const TEXT_COLUMNS = [...COUNT_COLUMNS, ...VOLUME_COLUMNS, ...PREVIOUS_TEXT_COLUMNS]
  .map((name) => `toString(s.${name}) AS ${name}`)
  .join(', ')

/** All windows of the given tokens, shortest first; tokens without statistics are missing. */
export const statsQuery = (chain: string, addresses: readonly string[]): Query => ({
  sql: `SELECT token_address, toString(s.resolution) AS resolution,
  toString(toUnixTimestamp64Milli(stat_time)) AS stat_ms,
  open_usd, close_usd, high_usd, low_usd, open_native, close_native, high_native, low_native,
  ${TEXT_COLUMNS},
  toString(s.buy_volume_usd + s.sell_volume_usd) AS total_volume_usd,
  toString(s.buy_volume_native + s.sell_volume_native) AS total_volume_native,
  volume_change_ratio, liquidity_usd, liquidity_change_ratio,
  ${PREVIOUS_PRICE_COLUMNS.join(', ')}, prev_liquidity_usd
FROM ${chain}_token_stats AS s FINAL WHERE token_address IN {addresses:Array(String)}
ORDER BY token_address, indexOf(['1m','5m','15m','30m','1h','4h','6h','24h'], s.resolution)`,
  params: { addresses },
})
