/** Candle states of a chain from the coarsest tables that hold them: rollups below the watermark, raw trades above. */

import {
  CANDLE_TRADES_SQL,
  inLines,
  mergedState,
  type StateNames,
  storedStates,
  tradeStates,
} from '../../schemas/candle-states.ts'

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

/** Names of the states in the union. */
const NAMES = {
  open: 'o',
  close: 'c',
  high: 'h',
  low: 'l',
  open_native: 'onv',
  close_native: 'cnv',
  high_native: 'hnv',
  low_native: 'lnv',
  volume: 'v',
  volume_usd: 'vu',
  volume_native: 'vn',
  trades: 'n',
} as const satisfies StateNames

const STORED_STATES = inLines(storedStates(NAMES), [6, 6], '  ')
const TRADE_STATES = inLines(tradeStates(NAMES), [2, 3, 2, 1, 3, 1], '  ')

/** A state of the union's rows merged, for the statement that groups them. */
export const mergedCandle = (state: keyof typeof NAMES): string => mergedState(state, NAMES[state])

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
  WHERE ${where} AND block_time >= w AND ${CANDLE_TRADES_SQL}${inRange('block_time')}
  GROUP BY token_address, b`
  return [...aggregated, raw].join('\nUNION ALL\n')
}
