import {
  addressLeaf,
  bucketBlockFields,
  DEX_FIELDS,
  ROW_LIMIT,
  rawLeaf,
  unitsLeaf,
  unknownLeaf,
  usdLeaf,
} from './fields.ts'
import type { Cube, Leaf, Tree } from './types.ts'

const liquidityLeaf = usdLeaf(
  'liquidity_usd',
  'USD in the pool; null where reserves are not known.',
)
const updatedLeaf: Leaf = {
  sql: 'last_updated',
  type: 'DateTime',
  bucket: 'start',
  about: 'Time of the last event.',
}
const sideFields = (letter: 'a' | 'b'): Tree => ({
  Address: addressLeaf(`token_${letter}`, 'Token address.'),
  PostAmount: unitsLeaf(`reserve_${letter}`, `decimals_${letter}`, 'Reserve, token units.'),
  PostAmountRaw: rawLeaf(`reserve_${letter}`),
})

/** The state of each pool as its last event left it. */
export const DEX_POOLS: Cube = {
  name: 'DEXPools',
  about:
    'One row per pool: reserves, liquidity and price after its last event. A is the base token.',
  groups: ['EVM', 'Solana'],
  layer: 'DWS',
  baseCost: 800,
  source: '{chain}_dex_pools FINAL',
  time: 'last_updated',
  timeless: true,
  versionBits: 24,
  lookups: {},
  dimensions: {
    Pool: {
      Address: addressLeaf('pool_address', 'Pool.'),
      TokenAAddress: addressLeaf('token_a', 'Base token.'),
      TokenBAddress: addressLeaf('token_b', 'Quote token.'),
      ProgramAddress: addressLeaf('program_address', 'Program or factory.'),
      LiquidityUSD: liquidityLeaf,
      LiquidityInUSD: liquidityLeaf,
      PriceAtoB: { sql: 'price_a_to_b', type: 'Float', about: 'Quote per base.' },
      PriceBtoA: { sql: 'price_b_to_a', type: 'Float', about: 'Base per quote.' },
      CurveProgress: {
        sql: 'curve_progress',
        type: 'Float',
        about: 'Share of a launch curve that is sold; null for other pools.',
      },
      LastUpdated: updatedLeaf,
      Dex: DEX_FIELDS,
      Base: sideFields('a'),
      Quote: sideFields('b'),
    },
    LiquidityUSD: liquidityLeaf,
    EventCount: unknownLeaf('Int', 'Events of a pool are not counted.'),
    LastSeen: updatedLeaf,
    Dex: DEX_FIELDS,
    TokenA: { Address: addressLeaf('token_a', 'Base token.') },
    TokenB: { Address: addressLeaf('token_b', 'Quote token.') },
    Block: bucketBlockFields(
      updatedLeaf,
      {
        sql: 'toDate(last_updated)',
        type: 'Date',
        bucket: 'start',
        about: 'Day of the last event.',
      },
      'A snapshot names no block.',
    ),
  },
  selectors: {
    poolAddress: ['Pool.Address'],
    tokenA: ['Pool.TokenAAddress'],
    tokenB: ['Pool.TokenBAddress'],
    tokenAddress: ['Pool.TokenAAddress', 'Pool.TokenBAddress'],
    date: ['Pool.LastUpdated'],
  },
  defaults: {},
  order: ['ifNull(liquidity_usd, 0)', 'pool_address'],
  newest: 'Pool.LiquidityUSD',
  limit: ROW_LIMIT,
  aliases: ['PoolLiquiditySnapshots'],
}
