import { CONSTANT_PRODUCT, PROTOCOLS, type ProtocolRow } from '../protocols.ts'
import {
  addressLeaf,
  BLOCK_FIELDS,
  countLeaf,
  currencyFields,
  DEX_FIELDS,
  numberLeaf,
  ROW_LIMIT,
  TRANSACTION_FIELDS,
} from './fields.ts'
import type { Cube, LeafOrTree } from './types.ts'

/** Hundredths of a percent by which a swap may move the price. */
const LEVELS = [10, 50, 100, 200, 500, 1_000]

/** Protocols whose reserves and fee tell what a swap gets. */
const PRICED = PROTOCOLS.flatMap(({ id, feePips }: ProtocolRow) =>
  CONSTANT_PRODUCT.has(id) && feePips !== undefined ? [{ id, feePips }] : [],
)
const IDS_SQL = PRICED.map(({ id }) => `'${id}'`).join(', ')
const FEES_SQL = PRICED.map(({ feePips }) => feePips).join(', ')

/** Reserves after each event, once per level; `kept` is the share of the price and `paid` that of the input that is left. */
const SOURCE_SQL = `(SELECT *, level, toFloat64(base_post) / exp10(base_decimals) AS a, toFloat64(quote_post) / exp10(quote_decimals) AS b,
  1 - level / 10000 AS kept, 1 - transform(protocol_family, [${IDS_SQL}], [${FEES_SQL}], 0) / 1000000 AS paid
FROM {chain}_dex_pool_events_enriched FINAL ARRAY JOIN [${LEVELS.join(', ')}] AS level
WHERE protocol_family IN (${IDS_SQL}) AND base_post > 0 AND quote_post > 0)`

/** One direction: what goes in is held by `from`, what comes out by `to`. */
const direction = (from: 'a' | 'b', to: 'a' | 'b'): LeafOrTree => ({
  leaf: 'Spot',
  tree: {
    Spot: numberLeaf(`${to} / ${from}`, 'Price without a fee of the smallest swap.'),
    Price: numberLeaf(
      `${to} / ${from} * kept * paid`,
      'Average price of the largest swap at this level, its fee included.',
    ),
    MinAmountOut: numberLeaf(`${to} * (1 - kept)`, 'What that swap gets, token units.'),
    MaxAmountIn: numberLeaf(
      `${from} * (1 - kept) / kept / paid`,
      'What that swap gives, token units, its fee included.',
    ),
  },
})

/** How much each pool takes until its price moves. */
export const DEX_POOL_SLIPPAGES: Cube = {
  name: 'DEXPoolSlippages',
  about:
    'Depth of pools that keep the product of their reserves, after each event and at six levels. A is the base token.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: SOURCE_SQL,
  time: 'block_time',
  lookups: { base: { key: 'base_token' }, quote: { key: 'quote_token' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Price: {
      AtoB: direction('a', 'b'),
      BtoA: direction('b', 'a'),
      AtoBMin: numberLeaf('b / a * kept', 'A to B when the level is reached.'),
      AtoBMax: numberLeaf('b / a', 'A to B before the swap.'),
      SlippageBasisPoints: countLeaf('level', '100 is one percent.'),
      Pool: {
        SmartContract: addressLeaf('pool_address', 'Pool.'),
        CurrencyA: currencyFields('base', 'base_token', 'base_decimals'),
        CurrencyB: currencyFields('quote', 'quote_token', 'quote_decimals'),
      },
      Dex: DEX_FIELDS,
    },
  },
  selectors: { poolAddress: ['Price.Pool.SmartContract'], date: ['Block.Time'] },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index', 'level'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
