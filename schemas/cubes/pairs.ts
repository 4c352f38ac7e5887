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

const POSITION_SQL = 'bitShiftLeft(block_slot, 24) + event_index'
const COUNTED_SQL = 'is_suspect = 0 AND price_usd > 0 AND is_base = 1'

/**
 * Candles of one chain, of the base leg as on streams: rolled-up minutes below the watermark, raw
 * trades above it, merged over pools and counter tokens. Native prices are
 * those of the trades whose native price is known; a bucket without any has 0 and infinity in the states and null here.
 */
export const CANDLES_SQL = `(SELECT '{chain}' AS chain, token_address, b AS bucket,
  argMinMerge(o) AS open, max(h) AS high, min(l) AS low, argMaxMerge(cl) AS close,
  nullIf(argMinMerge(no), 0) AS open_native, nullIf(max(nh), 0) AS high_native, nullIf(min(nl), inf) AS low_native,
  nullIf(argMaxMerge(nc), 0) AS close_native, sum(v) AS volume, sum(vu) AS volume_usd, sum(vn) AS volume_native,
  sum(n) AS trades, sum(nb) AS buys, sum(ns) AS sells
FROM (
  SELECT token_address, bucket AS b, open AS o, close AS cl, high AS h, low AS l, open_native AS no, close_native AS nc,
    high_native AS nh, low_native AS nl, volume AS v, volume_usd AS vu, volume_native AS vn, trades AS n, buys AS nb,
    sells AS ns
  FROM {chain}_ohlc_1m WHERE bucket < {watermark} AND is_base = 1
  UNION ALL
  SELECT token_address, toStartOfMinute(block_time) AS b, argMinState(assumeNotNull(price_usd), ${POSITION_SQL}) AS o,
    argMaxState(assumeNotNull(price_usd), ${POSITION_SQL}) AS cl, max(assumeNotNull(price_usd)) AS h,
    min(assumeNotNull(price_usd)) AS l, argMinState(ifNull(price_native, 0), if(price_native > 0, ${POSITION_SQL}, 18446744073709551615)) AS no,
    argMaxState(ifNull(price_native, 0), if(price_native > 0, ${POSITION_SQL}, 0)) AS nc, max(ifNull(price_native, 0)) AS nh,
    min(if(price_native > 0, assumeNotNull(price_native), inf)) AS nl, sum(amount) AS v, sum(assumeNotNull(amount_usd)) AS vu,
    sum(ifNull(amount_native, 0)) AS vn, count() AS n, countIf(side = 'BUY') AS nb, countIf(side = 'SELL') AS ns
  FROM {chain}_dex_trades_enriched FINAL WHERE block_time >= {watermark} AND ${COUNTED_SQL} GROUP BY token_address, b
) GROUP BY token_address, bucket)`

/** Candles per token, chain and minute; wider buckets by `interval`. */
export const PAIRS: Cube = {
  name: 'Pairs',
  about:
    'One candle per base token, chain and minute over all pools, without suspect trades. `interval` widens the bucket.',
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
