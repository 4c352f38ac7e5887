import type { QuoteKind } from '../../schemas/chains.ts'

/** How a token behaves where it differs from a plain ERC-20. */
type TokenQuirk =
  /** `deposit` and `withdraw` instead of mint and burn. */
  | 'wrapped-native'
  /** `decimals()` reverts. */
  | 'no-decimals'
  /** `name()` and `symbol()` answer bytes32, as tokens before ERC-20 was settled do. */
  | 'bytes32'
  /** Keeps 2 % of every transfer. */
  | 'taxed'

/** One token of the simulated market. */
export interface TokenListing {
  readonly symbol: string
  readonly name: string
  readonly decimals: number
  /** USD of one whole token at the start. */
  readonly usd: number
  /** Deviation of the fair price per block, as a share; 0 = pegged. */
  readonly swing: number
  readonly kind?: QuoteKind
  readonly quirk?: TokenQuirk
  /** Block that deploys it. */
  readonly born: number
}

const tokenListing = (
  symbol: string,
  name: string,
  facts: Pick<TokenListing, 'decimals' | 'usd' | 'swing'> & Partial<TokenListing>,
): TokenListing => ({ symbol, name, born: 1, ...facts })

/** Hundredths of a percent kept by a taxed token. */
export const TAX_BASIS_POINTS = 200n

/** Every token that ever exists; position in this list is its index. */
export const TOKENS: readonly TokenListing[] = [
  tokenListing('WETH', 'Wrapped Ether', {
    decimals: 18,
    usd: 3_000,
    swing: 0.0006,
    kind: 'native',
    quirk: 'wrapped-native',
  }),
  tokenListing('USDC', 'USD Coin', { decimals: 6, usd: 1, swing: 0, kind: 'stable' }),
  tokenListing('USDT', 'Tether USD', { decimals: 6, usd: 1, swing: 0, kind: 'stable' }),
  tokenListing('DAI', 'Dai Stablecoin', { decimals: 18, usd: 1, swing: 0, kind: 'stable' }),
  tokenListing('WBTC', 'Wrapped BTC', { decimals: 8, usd: 60_000, swing: 0.0005, kind: 'btc' }),
  tokenListing('LANT', 'Lantern', { decimals: 18, usd: 14, swing: 0.001 }),
  tokenListing('HARB', 'Harbor Protocol', { decimals: 18, usd: 6.5, swing: 0.001 }),
  tokenListing('MOSS', 'Mossfield', { decimals: 18, usd: 0.82, swing: 0.0015 }),
  tokenListing('FROGO', 'Frogo', { decimals: 18, usd: 0.0000094, swing: 0.0025 }),
  tokenListing('BORK', 'Bork Inu', { decimals: 9, usd: 0.00021, swing: 0.0025 }),
  tokenListing('KITT', 'Kitten Token', { decimals: 8, usd: 0.0034, swing: 0.002 }),
  tokenListing('BEAN', 'Magic Bean', { decimals: 6, usd: 0.047, swing: 0.002 }),
  tokenListing('WHOLE', 'Whole Only', { decimals: 0, usd: 2.5, swing: 0.001 }),
  tokenListing('MKX', 'Maker X', { decimals: 18, usd: 110, swing: 0.0008, quirk: 'bytes32' }),
  tokenListing('TOLL', 'Toll Road', { decimals: 18, usd: 0.015, swing: 0.0015, quirk: 'taxed' }),
  tokenListing('SHY', 'Shy Token', { decimals: 18, usd: 0.4, swing: 0.0015, quirk: 'no-decimals' }),
  tokenListing('CTRL', 'Con\u0000trol\u001b[31m\nToken\u202e', {
    decimals: 18,
    usd: 0.09,
    swing: 0.002,
  }),
  tokenListing('ISLA', 'Isla', { decimals: 18, usd: 1.3, swing: 0.001 }),
  tokenListing('ISLB', 'Islb', { decimals: 18, usd: 0.7, swing: 0.001 }),
  tokenListing('NOVA', 'Nova Pup', { decimals: 18, usd: 0.0008, swing: 0.003, born: 20 }),
  tokenListing('ZEST', 'Zest', { decimals: 18, usd: 0.0005, swing: 0.003, born: 60 }),
  tokenListing('GLUM', 'Glum Face', { decimals: 9, usd: 0.00004, swing: 0.003, born: 140 }),
  tokenListing('RUSK', 'Rusk', { decimals: 18, usd: 0.0021, swing: 0.003, born: 290 }),
  tokenListing('PIPP', 'Pippin Coin', { decimals: 18, usd: 0.00012, swing: 0.003, born: 800 }),
  tokenListing('YETI', 'Yeti Walks', { decimals: 18, usd: 0.006, swing: 0.003, born: 2_400 }),
]

/** Which router and factory a pool belongs to. */
export const VENUES = {
  uniswap_v2: { version: 2, listed: true },
  sushiswap_v2: { version: 2, listed: true },
  /** A fork that no table lists: its swaps are of an unknown protocol. */
  fork_v2: { version: 2, listed: false },
  uniswap_v3: { version: 3, listed: true },
} as const
export type VenueId = keyof typeof VENUES

/** One pool of the simulated market, before addresses decide the order of its tokens. */
export interface PoolListing {
  readonly venue: VenueId
  readonly base: string
  readonly quote: string
  /** Value of both sides at the start. */
  readonly usd: number
  /** Hundredths of a basis point. */
  readonly feePips: number
  readonly born: number
  /** How often retail trades here, relative to the others. */
  readonly weight: number
  /** Hardly any liquidity and no arbitrage: where prices go wrong. */
  readonly thin: boolean
  /** First of its pair: what a price table may start from. */
  readonly reference: boolean
}

const FIRST_POOL_HEIGHT = 3

const poolListing = (
  venue: VenueId,
  pair: string,
  usd: number,
  extra: Partial<PoolListing> = {},
): PoolListing => {
  const [base = '', quote = ''] = pair.split('/')
  return {
    venue,
    base,
    quote,
    usd,
    feePips: 3_000,
    born: FIRST_POOL_HEIGHT,
    weight: 4,
    thin: false,
    reference: false,
    ...extra,
  }
}

/** Every pool that ever exists; position in this list is its index. The first ones are spread over four blocks. */
export const POOLS: readonly PoolListing[] = [
  poolListing('uniswap_v3', 'WETH/USDC', 40e6, { feePips: 500, weight: 14, reference: true }),
  poolListing('uniswap_v2', 'WETH/USDC', 12e6, { weight: 8, reference: true }),
  poolListing('sushiswap_v2', 'WETH/USDT', 6e6, { weight: 5, reference: true }),
  poolListing('sushiswap_v2', 'WETH/DAI', 4e6, { weight: 3, reference: true }),
  poolListing('uniswap_v3', 'WBTC/WETH', 16e6, { weight: 5, reference: true }),
  poolListing('uniswap_v2', 'WBTC/USDC', 5e6, { weight: 3, reference: true }),
  poolListing('uniswap_v3', 'USDC/USDT', 30e6, { feePips: 100, weight: 4, reference: true }),
  poolListing('uniswap_v3', 'DAI/USDC', 20e6, { feePips: 100, weight: 3, reference: true }),
  poolListing('uniswap_v2', 'LANT/WETH', 3e6),
  poolListing('uniswap_v3', 'LANT/WETH', 2e6),
  poolListing('uniswap_v3', 'HARB/WETH', 2.5e6),
  poolListing('uniswap_v3', 'HARB/USDC', 1.2e6, { feePips: 10_000 }),
  poolListing('uniswap_v2', 'MOSS/WETH', 9e5),
  poolListing('sushiswap_v2', 'MOSS/WETH', 5e5),
  poolListing('uniswap_v2', 'FROGO/WETH', 1.4e6, { weight: 10 }),
  poolListing('uniswap_v3', 'FROGO/WETH', 7e5, { feePips: 10_000, weight: 6 }),
  poolListing('uniswap_v2', 'BORK/WETH', 6e5, { weight: 6 }),
  poolListing('sushiswap_v2', 'BORK/USDT', 2e5),
  poolListing('uniswap_v2', 'KITT/WETH', 4e5),
  poolListing('uniswap_v3', 'KITT/USDC', 3e5, { feePips: 10_000 }),
  poolListing('uniswap_v2', 'BEAN/USDC', 5e5),
  poolListing('uniswap_v2', 'WHOLE/USDC', 6e5, { weight: 2 }),
  poolListing('uniswap_v2', 'MKX/WETH', 8e5, { weight: 2 }),
  poolListing('uniswap_v2', 'MKX/WBTC', 3e5, { weight: 1 }),
  poolListing('uniswap_v2', 'TOLL/WETH', 3e5),
  poolListing('uniswap_v2', 'SHY/WETH', 3e5, { weight: 2 }),
  poolListing('uniswap_v2', 'CTRL/WETH', 3e5, { weight: 2 }),
  poolListing('uniswap_v2', 'ISLA/ISLB', 1e5, { weight: 1 }),
  poolListing('fork_v2', 'FROGO/WETH', 2e5, { weight: 2 }),
  poolListing('sushiswap_v2', 'FROGO/WETH', 900, { weight: 0, thin: true }),
  poolListing('uniswap_v2', 'HARB/WETH', 600, { weight: 0, thin: true }),
  poolListing('uniswap_v3', 'MOSS/USDC', 800, { weight: 0, thin: true, feePips: 10_000 }),
  poolListing('uniswap_v2', 'LANT/USDC', 8e5, { born: 12 }),
  poolListing('uniswap_v3', 'MOSS/WETH', 6e5, { born: 30 }),
  poolListing('uniswap_v2', 'NOVA/WETH', 6e4, { born: 21, weight: 5 }),
  poolListing('uniswap_v2', 'ZEST/WETH', 5e4, { born: 62, weight: 5 }),
  poolListing('sushiswap_v2', 'GLUM/WETH', 4e4, { born: 141, weight: 4 }),
  poolListing('uniswap_v3', 'NOVA/WETH', 8e4, { born: 200, feePips: 10_000, weight: 3 }),
  poolListing('uniswap_v2', 'RUSK/WETH', 5e4, { born: 292, weight: 4 }),
  poolListing('uniswap_v2', 'PIPP/WETH', 5e4, { born: 802, weight: 4 }),
  poolListing('uniswap_v2', 'YETI/USDC', 5e4, { born: 2_402, weight: 4 }),
].map((row, at) =>
  row.born > FIRST_POOL_HEIGHT ? row : { ...row, born: FIRST_POOL_HEIGHT + (at % 4) },
)
