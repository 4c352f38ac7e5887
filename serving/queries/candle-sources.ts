/** Candle states of a chain from the coarsest tables that hold them: rollups below the watermark, raw trades above. */

/** Stored candle tables, coarsest first, with the start of their bucket around the watermark `w`. */
const STORED_RESOLUTIONS = [
  { base: '1d', floor: 'toStartOfDay(w)' },
  { base: '1h', floor: 'toStartOfHour(w)' },
  { base: '1m', floor: 'w' },
  { base: '1s', floor: 'w' },
] as const

/** A stored resolution. */
export type StoredResolution = (typeof STORED_RESOLUTIONS)[number]['base']

/** Start of the rollup's newest minute, the CTE that the layers read as `w`. */
export const watermarkCte = (chain: string): string =>
  `(SELECT argMax(hot_from, _ver) FROM ${chain}_chain_state WHERE key = 'rollup') AS w`

const STORED_STATES = `open AS o, close AS c, high AS h, low AS l, open_native AS onv, close_native AS cnv,
  high_native AS hnv, low_native AS lnv, volume AS v, volume_usd AS vu, volume_native AS vn, trades AS n`

const EVENT_POSITION = 'bitShiftLeft(block_slot, 24) + event_index'
const NATIVE_PRICE = 'ifNull(price_native, 0)'
const USD_PRICE = 'assumeNotNull(price_usd)'
/** Of trades whose native price is known; a bucket without any has a low of infinity. */
const nativePosition = (unknown: string): string =>
  `if(price_native > 0, ${EVENT_POSITION}, ${unknown})`
const MAX_POSITION = '18446744073709551615'

const TRADE_STATES = `argMinState(${USD_PRICE}, ${EVENT_POSITION}) AS o, argMaxState(${USD_PRICE}, ${EVENT_POSITION}) AS c,
  max(${USD_PRICE}) AS h, min(${USD_PRICE}) AS l, argMinState(${NATIVE_PRICE}, ${nativePosition(MAX_POSITION)}) AS onv,
  argMaxState(${NATIVE_PRICE}, ${nativePosition('0')}) AS cnv, max(${NATIVE_PRICE}) AS hnv,
  min(if(price_native > 0, assumeNotNull(price_native), inf)) AS lnv,
  sum(amount) AS v, sum(assumeNotNull(amount_usd)) AS vu, sum(ifNull(amount_native, 0)) AS vn,
  count() AS n`

/** What the layers are asked for. Every text is SQL of ours; values stay parameters. */
export interface CandleSourceQuery {
  readonly chain: string
  /** Coarsest table whose buckets fit the wanted ones. */
  readonly base: StoredResolution
  /** Condition on `token_address`, `side_token` and `pool_address`. */
  readonly where: string
  /** The wanted bucket of a time column. */
  readonly bucket: (column: string) => string
  /** Condition on a time column; absent = all of time. */
  readonly range?: (column: string) => string
}

/**
 * A UNION ALL of candle states by `(token_address, b)`, to be merged by an outer GROUP BY; needs `watermark` in scope.
 * A table coarser than a minute is read below the watermark's own day or hour only: that bucket may already hold the
 * minute that is being finalized.
 */
export const candleSources = ({ chain, base, where, bucket, range }: CandleSourceQuery): string => {
  const first = STORED_RESOLUTIONS.findIndex((row) => row.base === base)
  const tables =
    base === '1s' ? STORED_RESOLUTIONS.slice(first) : STORED_RESOLUTIONS.slice(first, -1)
  const inRange = (column: string): string => (range ? ` AND ${range(column)}` : '')
  const aggregated = tables.map(({ base: name, floor }, index) => {
    const coarser = tables[index - 1]
    const from = coarser ? ` AND bucket >= ${coarser.floor}` : ''
    return `SELECT token_address, ${bucket('bucket')} AS b, ${STORED_STATES} FROM ${chain}_ohlc_${name}
  WHERE ${where} AND bucket < ${floor}${from}${inRange('bucket')}`
  })
  const raw = `SELECT token_address, ${bucket('block_time')} AS b, ${TRADE_STATES}
  FROM ${chain}_dex_trades_enriched FINAL
  WHERE ${where} AND block_time >= w AND is_suspect = 0 AND price_usd > 0${inRange('block_time')}
  GROUP BY token_address, b`
  return [...aggregated, raw].join('\nUNION ALL\n')
}
