import type { Query } from '../../core/clickhouse/client.ts'
import { normalizeQueryTime } from '../../core/time.ts'
import { candleSources, mergedCandle, watermarkCte } from './candle-sources.ts'
import { type KeysetList, type KeysetRow, POSITION_ORDER } from './keyset-list.ts'

/** A price of a token. */
export interface PriceRow {
  readonly time_ms: string
  readonly price_usd: number
  readonly price_native: number | null
}

/** The newest price of a token at or before a time: that of its last trade whose price counts. */
export const priceQuery = (chain: string, token: string, timeMs: number): Query => ({
  sql: `SELECT toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms, t.price_usd AS price_usd,
  nullIf(t.price_native, 0) AS price_native
FROM ${chain}_dex_trades_enriched AS t FINAL
WHERE t.token_address = {token:String} AND t.block_time <= fromUnixTimestamp64Milli({at:Int64})
  AND t.is_suspect = 0 AND t.price_usd > 0
ORDER BY t.block_slot DESC, t.tx_index DESC, t.event_index DESC LIMIT 1`,
  params: { token, at: timeMs },
})

/** Last price of every minute with trades, newest first. */
export const priceList = (chain: string, token: string): KeysetList => {
  const layers = candleSources({
    chain,
    base: '1m',
    where: 'token_address = {token:String}',
    bucket: (column) => `intDiv(toInt64(toUnixTimestamp(${column})), 60) * 60`,
  })
  return {
    with: watermarkCte(chain),
    columns: `toString(t.minute * 1000) AS time_ms, t.close_usd AS price_usd, nullIf(t.close_native, 0) AS price_native`,
    from: `(SELECT b AS minute, ${mergedCandle('close')} AS close_usd, ${mergedCandle('close_native')} AS close_native FROM (${layers}) GROUP BY b) AS t`,
    where: [],
    order: [{ sql: 't.minute', type: 'Int64' }],
    descending: true,
    params: { token },
  }
}

/** Where and when a token was made. */
export interface CreationRow {
  readonly slot: string
  readonly time_ms: string
  readonly tx_hash: string
  /** null: the block is not known here. */
  readonly height: string | null
  readonly hash: string | null
}

/** Creation of a token; none when it was not seen. */
export const creationQuery = (chain: string, token: string): Query => ({
  sql: `WITH (SELECT any(created_slot) FROM ${chain}_tokens FINAL WHERE token_address = {token:String}) AS made_in
SELECT toString(t.created_slot) AS slot, toString(toUnixTimestamp64Milli(t.created_at)) AS time_ms, t.created_tx AS tx_hash,
  if(b.block_hash = '', NULL, toString(b.block_height)) AS height, nullIf(b.block_hash, '') AS hash
FROM (SELECT token_address, created_slot, created_at, created_tx FROM ${chain}_tokens FINAL WHERE token_address = {token:String}) AS t
LEFT JOIN (SELECT block_slot, block_height, block_hash FROM ${chain}_blocks FINAL WHERE block_slot = made_in) AS b ON b.block_slot = t.created_slot
WHERE t.created_tx != ''`,
  params: { token },
})

/** A change of a supply. */
export interface SupplyChangeRow extends KeysetRow {
  readonly kind: string
  readonly amount_raw: string
  readonly decimals: number | null
  readonly height: string
  readonly time_ms: string
  readonly tx_hash: string
}

const SUPPLY_EVENTS = { all: ['MINT', 'BURN'], mint: ['MINT'], burn: ['BURN'] } as const

/** Changes of a token's supply, newest first. */
export const supplyChangeList = (
  chain: string,
  token: string,
  kind: keyof typeof SUPPLY_EVENTS,
): KeysetList => ({
  columns: `lower(toString(t.event_type)) AS kind, toString(t.amount) AS amount_raw, t.decimals AS decimals,
  toString(t.block_height) AS height, toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms, t.tx_hash AS tx_hash`,
  from: `${chain}_token_supplies AS t FINAL`,
  where: ['t.token_address = {token:String}', 't.event_type IN {kinds:Array(String)}'],
  order: POSITION_ORDER,
  time: 't.block_time',
  descending: true,
  params: { token, kinds: SUPPLY_EVENTS[kind] },
})

/** A transfer. */
export interface TransferRow extends KeysetRow {
  readonly token: string
  readonly sender: string
  readonly receiver: string
  readonly amount_raw: string
  readonly decimals: number | null
  readonly amount_usd: string | null
  readonly time_ms: string
  readonly tx_hash: string
  readonly event_index: number
  readonly success: number
}

const timeBounds = (bounds: Readonly<Record<string, number | undefined>>) =>
  Object.entries(bounds).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, normalizeQueryTime(value)] as const],
  )

const TRANSFER_BOUNDS: Readonly<Record<string, string>> = {
  from: 't.block_time >= fromUnixTimestamp64Milli({from:Int64})',
  to: 't.block_time <= fromUnixTimestamp64Milli({to:Int64})',
  before: 't.block_time < fromUnixTimestamp64Milli({before:Int64})',
  after: 't.block_time > fromUnixTimestamp64Milli({after:Int64})',
}

/** Transfers of a token, newest first. Bounds in seconds or ms, inclusive. */
export const tokenTransfersList = (
  chain: string,
  token: string,
  bounds: { readonly from: number | undefined; readonly to: number | undefined },
): KeysetList => {
  const times = timeBounds(bounds)
  return {
    columns: `t.token_address AS token, t.sender AS sender, t.receiver AS receiver, toString(t.amount) AS amount_raw, t.decimals AS decimals,
  toString(t.amount_usd) AS amount_usd, toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms,
  t.tx_hash AS tx_hash, t.event_index AS event_index, t.success AS success`,
    from: `${chain}_transfers AS t FINAL`,
    where: [
      't.token_address = {token:String}',
      ...times.map(([name]) => TRANSFER_BOUNDS[name] ?? '1'),
    ],
    order: POSITION_ORDER,
    time: 't.block_time',
    descending: true,
    params: { token, ...Object.fromEntries(times) },
  }
}

/** How many transfers of a token lie strictly between two times, in seconds or ms. */
export const tokenTransferTotalQuery = (
  chain: string,
  token: string,
  bounds: { readonly before: number | undefined; readonly after: number | undefined },
): Query => {
  const times = timeBounds(bounds)
  const conditions = times.map(([name]) => ` AND ${TRANSFER_BOUNDS[name] ?? '1'}`).join('')
  return {
    sql: `SELECT toString(count()) AS total FROM ${chain}_transfers AS t FINAL WHERE t.token_address = {token:String}${conditions}`,
    params: { token, ...Object.fromEntries(times) },
  }
}
