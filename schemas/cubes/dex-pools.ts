import { BLOCK, DEX, fastUnits, LIMIT, units, unknown } from './shared.ts'
import type { Cube, Leaf, Tree } from './types.ts'

const liquidity: Leaf = {
  sql: 'liquidity_usd',
  type: 'Float',
  exact: true,
  about: 'USD in the pool; null where reserves are not known.',
}
const updated: Leaf = {
  sql: 'last_updated',
  type: 'DateTime',
  bucket: 'start',
  about: 'Time of the last event.',
}
const address = (sql: string, about: string): Leaf => ({
  sql,
  type: 'String',
  address: true,
  about,
})
const side = (letter: 'a' | 'b'): Tree => ({
  Address: address(`token_${letter}`, 'Token address.'),
  PostAmount: {
    sql: units(`reserve_${letter}`, `decimals_${letter}`),
    fast: fastUnits(`reserve_${letter}`, `decimals_${letter}`),
    exactUnits: { raw: `reserve_${letter}`, places: `decimals_${letter}` },
    type: 'Float',
    about: 'Reserve, token units.',
  },
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
  lookups: {},
  dimensions: {
    Pool: {
      Address: address('pool_address', 'Pool.'),
      TokenAAddress: address('token_a', 'Base token.'),
      TokenBAddress: address('token_b', 'Quote token.'),
      ProgramAddress: address('program_address', 'Program or factory.'),
      LiquidityUSD: liquidity,
      LiquidityInUSD: liquidity,
      PriceAtoB: { sql: 'price_a_to_b', type: 'Float', about: 'Quote per base.' },
      PriceBtoA: { sql: 'price_b_to_a', type: 'Float', about: 'Base per quote.' },
      CurveProgress: {
        sql: 'curve_progress',
        type: 'Float',
        about: 'Share of a launch curve that is sold; null for other pools.',
      },
      LastUpdated: updated,
      Dex: DEX,
      Base: side('a'),
      Quote: side('b'),
    },
    Dex: DEX,
    TokenA: { Address: address('token_a', 'Base token.') },
    TokenB: { Address: address('token_b', 'Quote token.') },
    Block: {
      Time: updated,
      Date: {
        sql: 'toDate(last_updated)',
        type: 'Date',
        bucket: 'start',
        about: 'Day of the last event.',
      },
      ...Object.fromEntries(
        Object.keys(BLOCK)
          .filter((name) => name !== 'Time' && name !== 'Date')
          .map((name) => [
            name,
            unknown(name === 'Hash' ? 'String' : 'Int', 'A snapshot names no block.'),
          ]),
      ),
    },
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
  limit: LIMIT,
  aliases: [],
}
