/** What a token is called. */
export interface TokenName {
  readonly symbol: string
  readonly name: string
}

/** A coin that is older than the chain's first block. */
export interface TokenListing extends TokenName {
  readonly decimals: number
  /** Whole tokens. */
  readonly supply: number
  readonly usd: number
  /** Deviation of its fair price from block to block. */
  readonly swing: number
}

/** What USDC is called on mainnet. */
export const USDC_NAME: TokenName = { symbol: 'USDC', name: 'USD Coin' }

/** Older coins. */
export const LISTED_TOKENS: readonly TokenListing[] = [
  {
    symbol: 'MOSS',
    name: 'Moss',
    decimals: 5,
    supply: 88_000_000_000,
    usd: 0.000_021,
    swing: 0.000_5,
  },
  {
    symbol: 'KELP',
    name: 'Kelp Forest',
    decimals: 6,
    supply: 1_000_000_000,
    usd: 0.042,
    swing: 0.000_4,
  },
  { symbol: 'ORBX', name: 'Orbit', decimals: 9, supply: 210_000_000, usd: 0.36, swing: 0.000_3 },
  {
    symbol: 'TERN',
    name: 'Arctic Tern',
    decimals: 8,
    supply: 40_000_000,
    usd: 2.4,
    swing: 0.000_3,
  },
]

/** USD of a SOL at the first block, and how much it moves from block to block. */
export const SOL_USD = 152
export const SOL_VOLATILITY = 0.000_12

/** A Raydium AMM v4 pool: its coin, its pc, and the USD on each side of it at the first block. */
interface PoolListing {
  readonly coin: string
  readonly pc: string
  readonly usd: number
  /** How often people trade here, relative to the other pools. */
  readonly weight: number
  readonly reference: boolean
}

/** Pools of coins that are older than the chain. Either token may be the coin, as on mainnet. */
export const LISTED_POOLS: readonly PoolListing[] = [
  { coin: 'SOL', pc: 'USDC', usd: 9_000_000, weight: 6, reference: true },
  { coin: 'MOSS', pc: 'SOL', usd: 900_000, weight: 3, reference: false },
  { coin: 'SOL', pc: 'KELP', usd: 400_000, weight: 2, reference: false },
  { coin: 'ORBX', pc: 'SOL', usd: 250_000, weight: 2, reference: false },
  { coin: 'TERN', pc: 'USDC', usd: 300_000, weight: 1, reference: false },
]
