/** Candle states of a chain from the coarsest tables that hold them: rollups below the watermark, raw trades above. */

/** Stored candle tables, coarsest first, with the start of their bucket around the watermark `w`. */
const STORED = [
  { base: '1d', floor: 'toStartOfDay(w)' },
  { base: '1h', floor: 'toStartOfHour(w)' },
  { base: '1m', floor: 'w' },
  { base: '1s', floor: 'w' },
] as const

/** A stored resolution. */
export type Base = (typeof STORED)[number]['base']

/** Start of the rollup's newest minute, the CTE that the layers read as `w`. */
export const watermark = (chain: string): string =>
  `(SELECT argMax(hot_from, _ver) FROM ${chain}_chain_state WHERE key = 'rollup') AS w`

const STATES = `open AS o, close AS c, high AS h, low AS l, open_native AS onv, close_native AS cnv,
  high_native AS hnv, low_native AS lnv, volume AS v, volume_usd AS vu, volume_native AS vn, trades AS n`

const POSITION = 'bitShiftLeft(block_slot, 24) + event_index'
const NATIVE = 'ifNull(price_native, 0)'
const USD = 'assumeNotNull(price_usd)'
/** Of trades whose native price is known; a bucket without any has a low of infinity. */
const nativeAt = (unknown: string): string => `if(price_native > 0, ${POSITION}, ${unknown})`
const LAST = '18446744073709551615'

const RAW_STATES = `argMinState(${USD}, ${POSITION}) AS o, argMaxState(${USD}, ${POSITION}) AS c,
  max(${USD}) AS h, min(${USD}) AS l, argMinState(${NATIVE}, ${nativeAt(LAST)}) AS onv,
  argMaxState(${NATIVE}, ${nativeAt('0')}) AS cnv, max(${NATIVE}) AS hnv,
  min(if(price_native > 0, assumeNotNull(price_native), inf)) AS lnv,
  sum(amount) AS v, sum(assumeNotNull(amount_usd)) AS vu, sum(ifNull(amount_native, 0)) AS vn,
  count() AS n`

/** What the layers are asked for. Every text is SQL of ours; values stay parameters. */
export interface LayerQuery {
  readonly chain: string
  /** Coarsest table whose buckets fit the wanted ones. */
  readonly base: Base
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
export const candleLayers = ({ chain, base, where, bucket, range }: LayerQuery): string => {
  const first = STORED.findIndex((row) => row.base === base)
  const tables = base === '1s' ? STORED.slice(first) : STORED.slice(first, -1)
  const inRange = (column: string): string => (range ? ` AND ${range(column)}` : '')
  const rolled = tables.map(({ base: name, floor }, index) => {
    const coarser = tables[index - 1]
    const from = coarser ? ` AND bucket >= ${coarser.floor}` : ''
    return `SELECT token_address, ${bucket('bucket')} AS b, ${STATES} FROM ${chain}_ohlc_${name}
  WHERE ${where} AND bucket < ${floor}${from}${inRange('bucket')}`
  })
  const raw = `SELECT token_address, ${bucket('block_time')} AS b, ${RAW_STATES}
  FROM ${chain}_dex_trades_enriched FINAL
  WHERE ${where} AND block_time >= w AND is_suspect = 0 AND price_usd > 0${inRange('block_time')}
  GROUP BY token_address, b`
  return [...rolled, raw].join('\nUNION ALL\n')
}
