import {
  addressLeaf,
  BLOCK_FIELDS,
  changeFields,
  countLeaf,
  currencyFields,
  DEX_FIELDS,
  ROW_LIMIT,
  rawLeaf,
  TRANSACTION_FIELDS,
  unitsLeaf,
  usdLeaf,
} from './fields.ts'
import type { Cube, Tree } from './types.ts'

const poolLeaf = addressLeaf('pool_address', 'Pool.')
const liquidityLeaf = usdLeaf(
  'liquidity_usd',
  'USD in the pool after the event; null where reserves or prices are not known.',
)
const sideFields = (side: 'base' | 'quote'): Tree => ({
  Address: addressLeaf(`${side}_token`, 'Token address.'),
  PostAmount: unitsLeaf(
    `${side}_post`,
    `${side}_decimals`,
    'Reserve after the event, token units.',
  ),
  PostAmountRaw: rawLeaf(`${side}_post`),
  ...changeFields('ChangeAmount', `${side}_change`, 'Signed change', `${side}_decimals`),
  PriceInUSD: { sql: `${side}_price_usd`, type: 'Float', about: 'USD per token.' },
})

const TYPE_SQL = `transform(toString(event_type), ['INITIALIZE', 'INCREASE_LIQUIDITY', 'DECREASE_LIQUIDITY', 'SWAP'], ['create', 'add', 'remove', 'swap'], '')`

/** What happened to each pool, with its reserves afterwards. */
export const DEX_POOL_EVENTS: Cube = {
  name: 'DEXPoolEvents',
  about:
    'One row per event of a pool: made, liquidity added or removed, swap; with the reserves after it.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 1_200,
  source: '{chain}_dex_pool_events_enriched FINAL',
  time: 'block_time',
  lookups: { base: { key: 'base_token' }, quote: { key: 'quote_token' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Pool: {
      Address: poolLeaf,
      Market: {
        Address: poolLeaf,
        MarketAddress: poolLeaf,
        PoolAddress: poolLeaf,
        BaseCurrency: currencyFields('base', 'base_token', 'base_decimals'),
        QuoteCurrency: currencyFields('quote', 'quote_token', 'quote_decimals'),
      },
      Dex: DEX_FIELDS,
      Base: sideFields('base'),
      Quote: sideFields('quote'),
      LiquidityInUSD: liquidityLeaf,
      LiquidityUSD: liquidityLeaf,
      EventType: { sql: TYPE_SQL, type: 'String', about: 'create, add, remove or swap.' },
      Index: countLeaf('event_index', 'Event index in the block.'),
    },
  },
  selectors: {
    poolAddress: ['Pool.Market.Address'],
    tokenAddress: ['Pool.Market.BaseCurrency.MintAddress', 'Pool.Market.QuoteCurrency.MintAddress'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  joins: ['DEXTrades'],
  limit: ROW_LIMIT,
  aliases: [],
}
