import type { Address, Hex } from 'viem'
import type { ChainExtra } from '../../../core/config/settings.ts'
import type { AnvilClient } from './anvil.ts'
import { deployUniswap } from './uniswap-contracts.ts'

/** Tokens of the deployed market; all have 18 decimals, as the compiled ERC-20 has. */
export interface UniswapMarket {
  readonly usd: Address
  readonly weth: Address
  readonly token: Address
  /** usd/weth and weth/token on V2, usd/weth on V3 at 0.3 %. */
  readonly pools: { readonly v2Usd: Address; readonly v2Token: Address; readonly v3Usd: Address }
  readonly extra: ChainExtra
  /** Sells `amount` of the first token along the path; returns the transaction hash. */
  swapV2(path: readonly Address[], amount: bigint): Promise<Hex>
  swapV3(tokenIn: Address, tokenOut: Address, amount: bigint): Promise<Hex>
  /** Adds a position of the usd/weth pool on V3 with at most so much weth, and two thousand times as much usd. */
  mintV3(ticks: readonly [number, number], weth: bigint): Promise<Hex>
}

const UNIT = 10n ** 18n
const FEE = 3_000

/** Deploys factories, routers and three pools: 1 WETH = 2,000 USD, 1 token = 0.001 WETH. */
export const deployUniswapMarket = async (client: AnvilClient): Promise<UniswapMarket> => {
  const uniswap = await deployUniswap(client, 5_000n * UNIT)
  const { weth, v2Factory, v2Router, v3Factory, v3Router } = uniswap
  const usd = await uniswap.newToken()
  const token = await uniswap.newToken()
  const amounts = [2_000_000n * UNIT, 1_000n * UNIT] as const
  const v2Usd = await uniswap.addV2([usd, weth], amounts)
  const v2Token = await uniswap.addV2([token, weth], [500_000n * UNIT, 500n * UNIT])
  const v3Usd = await uniswap.openV3([usd, weth], FEE, [2_000n, 1n])
  await uniswap.mintV3([usd, weth], FEE, { ticks: [-887_220, 887_220], amounts })
  return {
    usd,
    weth,
    token,
    pools: { v2Usd, v2Token, v3Usd },
    extra: {
      ...chainExtraOf({ usd, weth, v2Factory, v3Factory, v2Usd, v3Usd }),
      routers: [
        { protocol: 'uniswap_v2', router: v2Router.toLowerCase() },
        { protocol: 'uniswap_v3', router: v3Router.toLowerCase() },
      ],
    },
    swapV2: uniswap.swapV2,
    mintV3: (ticks, most) =>
      uniswap.mintV3([usd, weth], FEE, { ticks, amounts: [2_000n * most, most] }),
    swapV3: (tokenIn, tokenOut, amount) => uniswap.swapV3([tokenIn, tokenOut], FEE, amount),
  }
}

/** What the configuration must be told of such a chain. */
export const chainExtraOf = (deployed: Readonly<Record<string, Address>>): ChainExtra => {
  const low = (name: string): string => (deployed[name] ?? '').toLowerCase()
  return {
    factories: [
      { protocol: 'uniswap_v2', factory: low('v2Factory') },
      { protocol: 'uniswap_v3', factory: low('v3Factory') },
    ],
    quotes: [
      { address: low('usd'), symbol: 'USD', decimals: 18, kind: 'stable' },
      { address: low('weth'), symbol: 'WETH', decimals: 18, kind: 'native' },
    ],
    referencePools: [
      { pool: low('v2Usd'), token: low('weth'), quote: low('usd'), protocol: 'uniswap_v2' },
      { pool: low('v3Usd'), token: low('weth'), quote: low('usd'), protocol: 'uniswap_v3' },
    ],
    replace: true,
  }
}
