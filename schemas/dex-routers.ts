/**
 * Contracts that swap for a wallet. `v2`: Uniswap V2's Router02; `v3`: the first SwapRouter of Uniswap V3, whose calls carry a deadline;
 * `book`: LBRouter of Liquidity Book.
 */
export interface DexRouterRow {
  /** Row id of `protocols.ts`. */
  readonly protocol: string
  readonly kind: RouterKind
  /** By chain id, lower case, as each DEX publishes them. */
  readonly routers: Readonly<Record<string, string>>
}

const UNISWAP_V3_ROUTER = '0xe592427a0aece92de3edee1f18e0157c05861564'

/** Which calls a router takes. */
export type RouterKind = 'v2' | 'v3' | 'book'

/** LBRouter of LFJ. Source: traderjoe-xyz/joe-docs deployment-addresses. */
const LFJ_V21_ROUTER = '0xb4315e873dbcf96ffd0acd8ea43f689d8c20fb30'
const LFJ_V22_ROUTER = '0x18556da13313f3532c54711497a8fedac273220e'

/** Routers of this build; a configuration adds others per chain. */
export const DEX_ROUTERS: readonly DexRouterRow[] = [
  {
    protocol: 'uniswap_v2',
    kind: 'v2',
    routers: { eth: '0x7a250d5630b4cf539739df2c5dacb4c659f2488d' },
  },
  {
    protocol: 'sushiswap_v2',
    kind: 'v2',
    routers: { eth: '0xd9e1ce17f2641f24ae83637ab66a2cca9c378b9f' },
  },
  {
    protocol: 'pancakeswap_v2',
    kind: 'v2',
    routers: { bsc: '0x10ed43c718714eb63d5aa57b78b54704e256024e' },
  },
  {
    protocol: 'uniswap_v3',
    kind: 'v3',
    routers: {
      eth: UNISWAP_V3_ROUTER,
      polygon: UNISWAP_V3_ROUTER,
      arbitrum: UNISWAP_V3_ROUTER,
      optimism: UNISWAP_V3_ROUTER,
    },
  },
  {
    protocol: 'lfj_v2_1',
    kind: 'book',
    routers: {
      avalanche: LFJ_V21_ROUTER,
      arbitrum: LFJ_V21_ROUTER,
      bsc: LFJ_V21_ROUTER,
      eth: '0x9a93a421b74f1c5755b83dd2c211614dc419c44b',
    },
  },
  {
    protocol: 'lfj_v2_2',
    kind: 'book',
    routers: { avalanche: LFJ_V22_ROUTER, arbitrum: LFJ_V22_ROUTER },
  },
]

/** Uniswap's Universal Router on a chain, and the contract through which it takes tokens. */
export interface UniversalRouterRow {
  readonly router: string
  readonly permit2: string
}

/** Pools that a Universal Router finds, by row id of `protocols.ts`: it computes their addresses from its own two factories. */
export const UNIVERSAL_PROTOCOLS = ['uniswap_v2', 'uniswap_v3'] as const

/** One address on every chain below, as its deployment is deterministic. */
const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3'

/** By chain id, lower case. Source: npm @uniswap/universal-router 2.0.0 deploy-addresses ("UniversalRouterV2"), script/deployParameters. */
export const UNIVERSAL_ROUTERS: Readonly<Record<string, UniversalRouterRow>> = {
  eth: { router: '0x66a9893cc07d91d95644aedd05d03f95e1dba8af', permit2: PERMIT2 },
  bsc: { router: '0x1906c1d672b88cd1b9ac7593301ca990f94eae07', permit2: PERMIT2 },
  base: { router: '0x6ff5693b99212da76ad316178a184ab56d299b43', permit2: PERMIT2 },
  polygon: { router: '0x1095692a6237d83c6a72f3f5efedb9a670c49223', permit2: PERMIT2 },
  arbitrum: { router: '0xa51afafe0263b40edaef0df8781ea9aa03e381a3', permit2: PERMIT2 },
  optimism: { router: '0x851116d9223fabed8e56c0e6b8ad0c31d98b3507', permit2: PERMIT2 },
}
