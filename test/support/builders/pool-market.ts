import { MAX_TICK, MIN_TICK, sqrtPriceAtTick } from '../../../core/prices/tick-math.ts'
import type { ConcentratedPool, ConstantProductPool, Pool } from '../../../serving/dex/pool.ts'
import { createSeededRandom } from './market-trade.ts'

/** Hubs of `buildPoolMarket`. */
export const MARKET_HUBS: ReadonlySet<string> = new Set(['h0', 'h1', 'h2'])

/** A constant-product pool with a fee of 0.3 %. */
export const pairPool = (
  address: string,
  tokens: readonly [string, string],
  reserves: readonly [bigint, bigint],
  more: Partial<ConstantProductPool> = {},
): ConstantProductPool => ({
  kind: 'constant_product',
  protocol: 'uniswap_v2',
  feePips: 3_000,
  tvlUsd: 10_000,
  address,
  tokens,
  reserves,
  ...more,
})

/** Pools of `t0`, `t1`, … with each other and, seven of ten, with a hub; ten pools to a token. The same each time. */
export const buildPoolMarket = (count: number): readonly Pool[] => {
  const random = createSeededRandom(7)
  const token = (): string => `t${Math.floor(random() * (count / 10))}`
  return Array.from({ length: count }, (_, index) => {
    const one = random() < 0.7 ? `h${Math.floor(random() * 3)}` : token()
    const depth = BigInt(Math.floor(random() * 1e15) + 1_000_000)
    return pairPool(`p${index}`, [one, token()], [depth, depth], { tvlUsd: random() * 1e6 })
  }).filter(({ tokens }) => tokens[0] !== tokens[1])
}

/** A concentrated pool with positions of several widths around its price. */
export const rangedPool = (
  address: string,
  tokens: readonly [string, string],
  { tick, liquidity, widths }: RangedPoolShape,
): ConcentratedPool => {
  const spacing = 60
  const nets = new Map<number, bigint>()
  for (const width of widths) {
    const lower = Math.floor(tick / spacing - width) * spacing
    const upper = Math.ceil(tick / spacing + width) * spacing
    nets.set(lower, (nets.get(lower) ?? 0n) + liquidity)
    nets.set(upper, (nets.get(upper) ?? 0n) - liquidity)
  }
  return {
    kind: 'concentrated',
    protocol: 'uniswap_v3',
    feePips: 3_000,
    tvlUsd: 20_000,
    address,
    tokens,
    tick,
    tickSpacing: spacing,
    sqrtPriceX96: sqrtPriceAtTick(tick),
    liquidity: liquidity * BigInt(widths.length),
    ticks: [...nets]
      .map(([at, liquidityNet]) => ({ tick: at, liquidityNet }))
      .toSorted((one, other) => one.tick - other.tick),
    knownTicks: [MIN_TICK, MAX_TICK],
  }
}

/** Where a concentrated pool stands, and how far its positions reach, in usable ticks. */
interface RangedPoolShape {
  readonly tick: number
  /** Of each position. */
  readonly liquidity: bigint
  readonly widths: readonly number[]
}

/** `buildPoolMarket` in which every other pool is concentrated, with pools between the hubs. */
export const buildMixedMarket = (count: number): readonly Pool[] => {
  const random = createSeededRandom(9)
  const hubs = [...MARKET_HUBS]
  const pairs = hubs.flatMap((one, at) => hubs.slice(at + 1).map((other) => [one, other] as const))
  const between = pairs.flatMap((tokens, at) =>
    [0, 1, 2, 3].map((number) =>
      pairPool(`h${at}-${number}`, tokens, [10n ** 15n, 10n ** 15n], { tvlUsd: 1e6 }),
    ),
  )
  return [...between, ...buildPoolMarket(count - between.length)].map((pool, index) => {
    if (index % 2 === 0 || pool.kind !== 'constant_product') return pool
    const { address, tokens, tvlUsd, reserves } = pool
    const widths = [14_000, ...Array.from({ length: 20 }, () => 1 + random() * 200)]
    const tick = Math.floor((random() - 0.5) * 400)
    return {
      ...rangedPool(address, tokens, { tick, widths, liquidity: reserves[0] / 20n + 1n }),
      tvlUsd,
    }
  })
}
