import {
  BUCKET_FIELDS,
  ROW_LIMIT,
  tokenFields,
  unitsLeaf,
  unitsSql,
  withRawTwins,
} from './fields.ts'
import type { Cube, Leaf, Tree } from './types.ts'

const countLeaf = (column: string, about: string): Leaf => ({
  sql: column,
  rollup: `sum(${column})`,
  type: 'Int',
  about,
})
const usdLeaf = (column: string, about: string): Leaf => ({
  sql: column,
  rollup: `sum(${column})`,
  type: 'Float',
  exact: true,
  about,
})
const distinctLeaf = (state: string, about: string): Leaf => ({
  sql: `finalizeAggregation(${state})`,
  rollup: `uniqCombined64Merge(12)(${state})`,
  type: 'Int',
  about,
})
const volumeLeaf = usdLeaf('volume_usd', 'Traded value in USD.')

const UNIQUE_STATE = 'uniqCombined64State(12)'
const UNIQUE_STATE_IF = 'uniqCombined64StateIf(12)'

/** Trade statistics of one chain: rolled-up minutes below the watermark, raw trades above it. */
const SOURCE_SQL = `(SELECT '{chain}' AS chain, token_address, b AS bucket, sum(n) AS trades, sum(nb) AS buys, sum(ns) AS sells,
  sum(v) AS volume, sum(vu) AS volume_usd, sum(bvu) AS buy_volume_usd, sum(svu) AS sell_volume_usd,
  uniqCombined64MergeState(12)(ub) AS buyers, uniqCombined64MergeState(12)(us) AS sellers,
  uniqCombined64MergeState(12)(ut) AS traders
FROM (
  SELECT token_address, bucket AS b, trades AS n, buys AS nb, sells AS ns, volume AS v, volume_usd AS vu,
    buy_volume_usd AS bvu, sell_volume_usd AS svu, buyers AS ub, sellers AS us, traders AS ut
  FROM {chain}_token_trade_stats_1m WHERE bucket < {watermark}
  UNION ALL
  SELECT token_address, toStartOfMinute(block_time) AS b, count() AS n, countIf(side = 'BUY') AS nb,
    countIf(side = 'SELL') AS ns, sum(amount) AS v, sum(ifNull(amount_usd, 0)) AS vu,
    sumIf(ifNull(amount_usd, 0), side = 'BUY') AS bvu, sumIf(ifNull(amount_usd, 0), side = 'SELL') AS svu,
    ${UNIQUE_STATE_IF}(owner, side = 'BUY') AS ub, ${UNIQUE_STATE_IF}(owner, side = 'SELL') AS us, ${UNIQUE_STATE}(owner) AS ut
  FROM {chain}_dex_trades_enriched FINAL WHERE block_time >= {watermark} GROUP BY token_address, b
) GROUP BY token_address, bucket)`

const STATISTICS: Tree = {
  TradeCount: countLeaf('trades', 'Trades of the bucket.'),
  BuyCount: countLeaf('buys', 'Buys of the token.'),
  SellCount: countLeaf('sells', 'Sells of the token.'),
  UniqueBuyers: distinctLeaf('buyers', 'Distinct buyers; not additive over buckets.'),
  UniqueSellers: distinctLeaf('sellers', 'Distinct sellers; not additive over buckets.'),
  UniqueTraders: distinctLeaf('traders', 'Distinct traders; not additive over buckets.'),
}

/** Trade statistics per token, chain and minute; wider buckets by `interval`. */
export const TOKENS: Cube = {
  name: 'Tokens',
  about:
    'Trades, volumes and distinct wallets per token, chain and minute, both legs of every trade, suspect ones too.',
  groups: ['Trading', 'EVM', 'Solana'],
  layer: 'DWM',
  baseCost: 1_200,
  source: SOURCE_SQL,
  time: 'bucket',
  chainColumn: 'chain',
  lookups: { own: { key: 'token_address' } },
  dimensions: {
    Token: {
      ...tokenFields('own', 'token_address'),
      Decimals: { sql: 'own_places', needs: 'own', type: 'Int', about: 'Decimal places.' },
    },
    Market: { Network: { sql: 'chain', type: 'String', about: 'Chain: sol, eth, bsc and so on.' } },
    ...BUCKET_FIELDS,
    Volume: withRawTwins({
      Usd: volumeLeaf,
      BuyVolumeUSD: usdLeaf('buy_volume_usd', 'Value bought, USD.'),
      SellVolumeUSD: usdLeaf('sell_volume_usd', 'Value sold, USD.'),
      Base: {
        ...unitsLeaf('volume', 'own_places', 'Traded amount in token units.'),
        rollup: unitsSql('sum(volume)', 'any(own_places)'),
        needs: 'own',
      },
    }),
    VolumeUSD: volumeLeaf,
    ...STATISTICS,
    Stats: STATISTICS,
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
  aliases: ['TokenTradeStats'],
}
