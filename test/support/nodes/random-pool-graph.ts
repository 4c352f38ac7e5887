import { type Address, parseEther } from 'viem'
import type { ChainExtra } from '../../../core/config/settings.ts'
import type { AnvilClient } from './anvil.ts'
import { deployUniswap, type UniswapContracts } from './uniswap-contracts.ts'
import { chainExtraOf } from './uniswap-v2-v3.ts'

/** Real pools of both Uniswap families between random pairs of tokens. */
export interface RandomPoolGraph {
  readonly uniswap: UniswapContracts
  /** `usd` and WETH first. */
  readonly tokens: readonly Address[]
  /** USD for one token, by token. */
  readonly prices: ReadonlyMap<Address, number>
  readonly poolCount: number
  readonly extra: ChainExtra
}

/** How a graph is made. */
interface GraphOptions {
  /** From 0 to below 1. */
  readonly random: () => number
  /** Tokens beside `usd` and WETH. */
  readonly tokens: number
  /** Pools beside the one that ties each token to `usd` or WETH. */
  readonly morePools: number
}

const WETH_PRICE = 2_000
/** Fees that V3 enables, and the distance of their ticks. */
const FEES = [
  [500, 10],
  [3_000, 60],
  [10_000, 200],
] as const
const LOG_TICK = Math.log(1.0001)

/** So many units of a token as are worth `usd`. */
export const unitsWorth = (usd: number, price: number): bigint =>
  parseEther((usd / price).toFixed(18))

/** Deploys a random graph. Every token can be reached; most pairs trade on one family only. */
export const deployRandomPoolGraph = async (
  client: AnvilClient,
  { random, ...size }: GraphOptions,
): Promise<RandomPoolGraph> => {
  const uniswap = await deployUniswap(client, parseEther('9000'))
  const { weth, v2Factory, v3Factory } = uniswap
  const usd = await uniswap.newToken()
  const prices = new Map([
    [usd, 1],
    [weth, WETH_PRICE],
  ])
  for (let count = 0; count < size.tokens; count += 1) {
    prices.set(await uniswap.newToken(), 10 ** (random() * 4 - 2))
  }
  const tokens = [...prices.keys()]
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const priceOf = (token: Address): number => prices.get(token) ?? 1
  const worth = (pair: readonly [Address, Address], value: number): readonly [bigint, bigint] => [
    unitsWorth(value, priceOf(pair[0])),
    unitsWorth(value, priceOf(pair[1])),
  ]
  const opened = new Set<string>()
  let poolCount = 0
  const depth = (): number => 10 ** (4.5 + random() * 1.5)

  const addV2 = async (pair: readonly [Address, Address]): Promise<Address> => {
    poolCount += 1
    // Prices are a little apart, as they are between venues.
    const [one, other] = worth(pair, depth())
    return uniswap.addV2(pair, [one, (other * BigInt(980 + Math.floor(random() * 40))) / 1_000n])
  }
  const addV3 = async (pair: readonly [Address, Address]): Promise<Address> => {
    poolCount += 1
    const [fee, spacing] = pick(FEES)
    const pool = await uniswap.openV3(pair, fee, worth(pair, 1_000_000))
    const widest = Math.floor(887_272 / spacing) * spacing
    const amounts = worth(pair, depth())
    await uniswap.mintV3(pair, fee, { ticks: [-widest, widest], amounts })
    const isInOrder = BigInt(pair[0]) < BigInt(pair[1])
    const ratio = priceOf(pair[0]) / priceOf(pair[1])
    const middle = Math.log(isInOrder ? ratio : 1 / ratio) / LOG_TICK
    const at = (offset: number): number => Math.round((middle + offset) / spacing) * spacing
    for (let count = Math.floor(random() * 4); count > 0; count -= 1) {
      const lower = at((random() - 0.7) * 3_000)
      const ticks = [lower, lower + spacing * (2 + Math.floor(random() * 20))] as const
      await uniswap.mintV3(pair, fee, { ticks, amounts: worth(pair, depth() / 10) })
    }
    return pool
  }
  const addPool = async (pair: readonly [Address, Address]): Promise<void> => {
    const family = random() < 0.5 ? 'v2' : 'v3'
    const key = [family, ...pair.toSorted()].join()
    if (pair[0] === pair[1] || opened.has(key)) return
    opened.add(key)
    await (family === 'v2' ? addV2(pair) : addV3(pair))
  }

  for (const family of ['v2', 'v3']) opened.add([family, ...[usd, weth].toSorted()].join())
  const [v2Usd, v3Usd] = [await addV2([usd, weth]), await addV3([usd, weth])]
  for (const token of tokens.slice(2)) await addPool([pick([usd, weth]), token])
  for (let count = 0; count < size.morePools; count += 1)
    await addPool([pick(tokens), pick(tokens)])
  return {
    uniswap,
    tokens,
    prices,
    poolCount,
    extra: {
      ...chainExtraOf({ usd, weth, v2Factory, v3Factory, v2Usd, v3Usd }),
      routers: [
        { protocol: 'uniswap_v2', router: uniswap.v2Router.toLowerCase() },
        { protocol: 'uniswap_v3', router: uniswap.v3Router.toLowerCase() },
      ],
    },
  }
}
