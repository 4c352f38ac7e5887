/** Decoder families: a file each under `ingestors/protocols/`. */
export type Family =
  | 'uniswap_v2'
  | 'uniswap_v3'
  | 'uniswap_v4'
  | 'pump_fun'
  | 'pumpswap'
  | 'raydium_amm_v4'
  | 'raydium_cpmm'
  | 'raydium_clmm'
  | 'raydium_launchlab'
  | 'orca_whirlpool'
  | 'meteora_dlmm'
  | 'meteora_damm_v2'
  | 'meteora_dbc'
  | 'meteora_damm_v1'
  | 'moonshot'
  | 'cetus'
  | 'turbos'
  | 'momentum'
  | 'bluefin'
  | 'deepbook'
  | 'aftermath'

/**
 * A factory's question that names a pool: by its two tokens and, after the underscore, what else tells pools of a pair apart.
 * `is_pool`: the factory only says whether it made the pool.
 */
export type PoolLookup =
  | 'pair'
  | 'pool_fee'
  | 'pool_tick_spacing'
  | 'pool_stable'
  | 'pool_by_pair'
  | 'is_pool'

/**
 * One row per DEX: which factory makes its pools, and which decoder family reads their events.
 * Factories: contract/chains.md 3.2, 3.3, 4.1 and 5. Adding a DEX on a known family is adding a row.
 */
export interface ProtocolRow {
  /** Snake-case id on the wire and in tables (R28). */
  readonly id: string
  /** Display name. */
  readonly name: string
  /** Decoder file under `ingestors/protocols/`. */
  readonly family: Family
  /** Families whose events its pools log too. */
  readonly speaks?: readonly Family[]
  /** How the factory finds a pool, where not as the family's first protocol does. */
  readonly lookup?: PoolLookup
  /** Short name that recorded expectations use. */
  readonly short: string
  /** Fee of every pool in hundredths of a basis point, where the pools do not say it themselves. */
  readonly feePips?: number
  /** Makes tokens and sells them along a curve until they migrate. */
  readonly launchpad?: true
  /** Base units that a curve usually sells before it is complete; a curve's own opening says otherwise. */
  readonly curveTokensRaw?: bigint
  /** Its curves also hold tokens that they do not sell: how far one is stands in its trades, or nowhere. */
  readonly curveKeepsTokens?: true
  /** Factory addresses by chain id, lower case; on Solana the program, on Sui the package that first defined its events. */
  readonly factories: Readonly<Record<string, readonly string[]>>
}

/** Protocols of this build. */
export const PROTOCOLS = [
  {
    id: 'uniswap_v2',
    name: 'Uniswap V2',
    family: 'uniswap_v2',
    short: 'univ2',
    feePips: 3000,
    factories: { eth: ['0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f'] },
  },
  {
    id: 'sushiswap_v2',
    name: 'SushiSwap',
    family: 'uniswap_v2',
    short: 'sushiv2',
    feePips: 3000,
    factories: { eth: ['0xc0aee478e3658e2610c5f7a4a2e1777ce9e4f2ac'] },
  },
  {
    id: 'pancakeswap_v2',
    name: 'PancakeSwap V2',
    family: 'uniswap_v2',
    short: 'pancakev2',
    feePips: 2500,
    factories: { eth: ['0x1097053fd2ea711dad45caccc45eff7548fcb362'] },
  },
  {
    id: 'uniswap_v3',
    name: 'Uniswap V3',
    family: 'uniswap_v3',
    short: 'univ3',
    factories: { eth: ['0x1f98431c8ad98523631ae4a59f267346ea31f984'] },
  },
  {
    id: 'sushiswap_v3',
    name: 'SushiSwap V3',
    family: 'uniswap_v3',
    short: 'sushiv3',
    factories: { eth: ['0xbaceb8ec6b9355dfc0269c18bac9d6e2bdc29c4f'] },
  },
  {
    id: 'pancakeswap_v3',
    name: 'PancakeSwap V3',
    family: 'uniswap_v3',
    short: 'pancakev3',
    factories: { eth: ['0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865'] },
  },
  {
    id: 'uniswap_v4',
    name: 'Uniswap V4',
    family: 'uniswap_v4',
    short: 'univ4',
    factories: { eth: ['0x000000000004444c5dc75cb358380d2e3de08a90'] },
  },
  {
    id: 'pump_fun',
    name: 'Pump.fun',
    family: 'pump_fun',
    short: 'pumpfun',
    launchpad: true,
    curveTokensRaw: 793_100_000_000_000n,
    factories: { sol: ['6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P'] },
  },
  {
    id: 'pumpswap',
    name: 'PumpSwap',
    family: 'pumpswap',
    short: 'pumpswap',
    factories: { sol: ['pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA'] },
  },
  {
    id: 'raydium_amm_v4',
    name: 'Raydium AMM v4',
    family: 'raydium_amm_v4',
    short: 'raydium_amm_v4',
    feePips: 2500,
    factories: { sol: ['675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8'] },
  },
  {
    id: 'meteora_dlmm',
    name: 'Meteora DLMM',
    family: 'meteora_dlmm',
    short: 'meteora_dlmm',
    factories: { sol: ['LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo'] },
  },
  {
    id: 'meteora_damm_v2',
    name: 'Meteora DAMM v2',
    family: 'meteora_damm_v2',
    short: 'meteora_damm_v2',
    factories: { sol: ['cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG'] },
  },
  {
    id: 'meteora_dbc',
    name: 'Meteora DBC',
    family: 'meteora_dbc',
    short: 'meteora_dbc',
    launchpad: true,
    curveKeepsTokens: true,
    factories: { sol: ['dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN'] },
  },
  {
    id: 'meteora_damm_v1',
    name: 'Meteora DAMM v1',
    family: 'meteora_damm_v1',
    short: 'meteora_damm_v1',
    factories: { sol: ['Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB'] },
  },
  {
    id: 'moonshot',
    name: 'Moonshot',
    family: 'moonshot',
    short: 'moonshot',
    launchpad: true,
    curveKeepsTokens: true,
    factories: { sol: ['MoonCVVNZFSYkqNXP6bxHLPL6QQJiMagDL3qcqUQTrG'] },
  },
  {
    id: 'raydium_cpmm',
    name: 'Raydium CPMM',
    family: 'raydium_cpmm',
    short: 'raydium_cpmm',
    factories: { sol: ['CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C'] },
  },
  {
    id: 'raydium_clmm',
    name: 'Raydium CLMM',
    family: 'raydium_clmm',
    short: 'raydium_clmm',
    factories: { sol: ['CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK'] },
  },
  {
    id: 'raydium_launchlab',
    name: 'Raydium LaunchLab',
    family: 'raydium_launchlab',
    short: 'raydium_launchlab',
    launchpad: true,
    factories: { sol: ['LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj'] },
  },
  {
    id: 'orca_whirlpool',
    name: 'Orca Whirlpool',
    family: 'orca_whirlpool',
    short: 'orca_whirlpool',
    factories: { sol: ['whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc'] },
  },
  {
    id: 'cetus',
    name: 'Cetus',
    family: 'cetus',
    short: 'cetus',
    factories: {
      sui: ['0x1eabed72c53feb3805120a081dc15963c204dc8d091542592abaf7a35689b2fb'],
    },
  },
  {
    id: 'turbos',
    name: 'Turbos',
    family: 'turbos',
    short: 'turbos',
    factories: {
      sui: ['0x91bfbc386a41afcfd9b2533058d7e915a1d3829089cc268ff4333d54d6339ca1'],
    },
  },
  {
    id: 'momentum',
    name: 'Momentum',
    family: 'momentum',
    short: 'momentum',
    factories: {
      sui: ['0x70285592c97965e811e0c6f98dccc3a9c2b4ad854b3594faab9597ada267b860'],
    },
  },
  {
    id: 'bluefin',
    name: 'Bluefin',
    family: 'bluefin',
    short: 'bluefin',
    factories: {
      sui: ['0x3492c874c1e3b3e2984e8c41b589e642d4d0a5d6459e5a9cfc2d52fd7c89c267'],
    },
  },
  {
    id: 'deepbook',
    name: 'DeepBook',
    family: 'deepbook',
    short: 'deepbook',
    factories: {
      sui: ['0x2c8d603bc51326b8c13cef9dd07031a408a48dddb541963357661df5d3204809'],
    },
  },
  {
    id: 'aftermath',
    name: 'Aftermath',
    family: 'aftermath',
    short: 'aftermath',
    factories: {
      sui: [
        '0xefe170ec0be4d762196bedecd7a065816576198a6527c99282a2551aaa7da38c',
        '0xc4049b2d1cc0f6e017fda8260e4377cecd236bd7f56a54fee120816e72e2e0dd',
      ],
    },
  },
] as const satisfies readonly ProtocolRow[]

const BY_ID: ReadonlyMap<string, ProtocolRow> = new Map(PROTOCOLS.map((row) => [row.id, row]))

/** Row of a protocol by its id. */
export const protocolRow = (id: string): ProtocolRow | undefined => BY_ID.get(id)
