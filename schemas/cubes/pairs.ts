import {
  CANDLE_TRADES_SQL,
  type CandleState,
  inLines,
  mergedState,
  type StateNames,
  storedStates,
  tradeStates,
} from '../candle-states.ts'
import {
  BUCKET_FIELDS,
  ROW_LIMIT,
  tokenFields,
  unitsLeaf,
  unitsSql,
  unknownLeaf,
  withRawTwins,
} from './fields.ts'
import type { Cube, Leaf, Tree } from './types.ts'

const sumLeaf = (column: string, about: string): Leaf => ({
  sql: column,
  rollup: `sum(${column})`,
  type: 'Int',
  about,
})
const priceFields = (suffix: '' | '_native', unit: string): Tree => ({
  Open: {
    sql: `open${suffix}`,
    rollup: `argMin(open${suffix}, bucket)`,
    type: 'Float',
    about: `First price, ${unit}.`,
  },
  High: {
    sql: `high${suffix}`,
    rollup: `max(high${suffix})`,
    type: 'Float',
    about: `Highest price, ${unit}.`,
  },
  Low: {
    sql: `low${suffix}`,
    rollup: `min(low${suffix})`,
    type: 'Float',
    about: `Lowest price, ${unit}.`,
  },
  Close: {
    sql: `close${suffix}`,
    rollup: `argMax(close${suffix}, bucket)`,
    type: 'Float',
    about: `Last price, ${unit}.`,
  },
})
const usdVolumeLeaf: Leaf = {
  sql: 'volume_usd',
  rollup: 'sum(volume_usd)',
  type: 'Float',
  exact: true,
  about: 'Traded value in USD.',
}
const tradesLeaf = sumLeaf('trades', 'Trades of the bucket.')

/** Names of the states in the union. */
const NAMES = {
  open: 'o',
  close: 'cl',
  high: 'h',
  low: 'l',
  open_native: 'no',
  close_native: 'nc',
  high_native: 'nh',
  low_native: 'nl',
  volume: 'v',
  volume_usd: 'vu',
  volume_native: 'vn',
  trades: 'n',
  buys: 'nb',
  sells: 'ns',
} as const satisfies StateNames

/** Of native prices: what a bucket without a known one has is null. */
const UNKNOWN_NATIVE: Readonly<Partial<Record<CandleState, string>>> = {
  open_native: '0',
  high_native: '0',
  low_native: 'inf',
  close_native: '0',
}
const mergedColumn = (state: keyof typeof NAMES): string => {
  const value = mergedState(state, NAMES[state])
  const unknown = UNKNOWN_NATIVE[state]
  return `${unknown === undefined ? value : `nullIf(${value}, ${unknown})`} AS ${state}`
}
const PRICE_STATES = ['open', 'high', 'low', 'close'] as const
const NATIVE_PRICE_STATES = ['open_native', 'high_native', 'low_native', 'close_native'] as const
const VOLUME_STATES = ['volume', 'volume_usd', 'volume_native', 'trades', 'buys', 'sells'] as const
const MERGED_COLUMNS = [...PRICE_STATES, ...NATIVE_PRICE_STATES, ...VOLUME_STATES].map(mergedColumn)

/**
 * Candles of one chain, of the base leg as on streams: rolled-up minutes below the watermark, raw
 * trades above it, merged over pools and counter tokens. Native prices are
 * those of the trades whose native price is known; a bucket without any has 0 and infinity in the states and null here.
 */
export const CANDLES_SQL = `(SELECT '{chain}' AS chain, token_address, b AS bucket,
  ${inLines(MERGED_COLUMNS, [4, 3, 4, 3], '  ')}
FROM (
  SELECT token_address, bucket AS b, ${inLines(storedStates(NAMES), [6, 7, 1], '    ')}
  FROM {chain}_ohlc_1m WHERE bucket < {watermark} AND is_base = 1
  UNION ALL
  SELECT token_address, toStartOfMinute(block_time) AS b, ${inLines(tradeStates(NAMES), [1, 2, 2, 2, 3, 4], '    ')}
  FROM {chain}_dex_trades_enriched FINAL WHERE block_time >= {watermark} AND ${CANDLE_TRADES_SQL} AND is_base = 1 GROUP BY token_address, b
) GROUP BY token_address, bucket)`

/** Candles per token, chain and minute; wider buckets by `interval`. */
export const PAIRS: Cube = {
  name: 'Pairs',
  about:
    'One candle per base token, chain and minute over all pools, without suspect trades. `interval` widens the bucket; `where` chooses minutes before that.',
  groups: ['Trading', 'EVM', 'Solana'],
  layer: 'DWM',
  baseCost: 1_200,
  source: CANDLES_SQL,
  time: 'bucket',
  chainColumn: 'chain',
  lookups: { own: { key: 'token_address' } },
  dimensions: {
    Token: {
      ...tokenFields('own', 'token_address'),
      Decimals: { sql: 'own_places', needs: 'own', type: 'Int', about: 'Decimal places.' },
    },
    Market: {
      Network: { sql: 'chain', type: 'String', about: 'Chain: sol, eth, bsc and so on.' },
    },
    ...BUCKET_FIELDS,
    Price: {
      Ohlc: priceFields('', 'USD'),
      OhlcNative: priceFields('_native', 'native tokens'),
      ...priceFields('', 'USD'),
    },
    Volume: withRawTwins({
      Usd: usdVolumeLeaf,
      Native: {
        sql: 'volume_native',
        rollup: 'sum(volume_native)',
        type: 'Float',
        exact: true,
        about: 'Traded value in native tokens.',
      },
      Base: {
        ...unitsLeaf('volume', 'own_places', 'Traded amount in token units.'),
        rollup: unitsSql('sum(volume)', 'any(own_places)'),
        needs: 'own',
      },
      Quote: unknownLeaf('Float', 'Counter tokens of several kinds do not add up.'),
    }),
    VolumeUSD: usdVolumeLeaf,
    Stats: {
      TradeCount: tradesLeaf,
      BuyCount: sumLeaf('buys', 'Buys of the token.'),
      SellCount: sumLeaf('sells', 'Sells of the token.'),
    },
    TradeCount: tradesLeaf,
  },
  selectors: {
    tokenAddress: ['Token.Address'],
    chain: ['Market.Network'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['bucket', 'chain', 'token_address'],
  newest: 'Block.Time',
  rowKey: ['chain', 'token_address'],
  limit: ROW_LIMIT,
  aliases: ['OHLC'],
}
