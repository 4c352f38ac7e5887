/** Contracts that swap for a wallet. `v2`: Uniswap V2's Router02; `v3`: the first SwapRouter of Uniswap V3, whose calls carry a deadline. */
export interface DexRouterRow {
  /** Row id of `protocols.ts`. */
  readonly protocol: string
  readonly kind: 'v2' | 'v3'
  /** By chain id, lower case, as each DEX publishes them. */
  readonly routers: Readonly<Record<string, string>>
}

const UNISWAP_V3_ROUTER = '0xe592427a0aece92de3edee1f18e0157c05861564'

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
]
