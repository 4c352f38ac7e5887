/** Quotes of single pools against what real Uniswap contracts pay, on a real node. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Address, parseAbi, parseEther } from 'viem'
import { MAX_TICK, MIN_TICK } from '../../core/prices/tick-math.ts'
import { concentratedAmountOut } from '../../serving/dex/concentrated-liquidity.ts'
import { constantProductAmountOut } from '../../serving/dex/constant-product.ts'
import { createSeededRandom } from '../support/builders/market-trade.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { deployUniswapMarket, type UniswapMarket } from '../support/nodes/uniswap-v2-v3.ts'

const ERC20 = parseAbi(['function balanceOf(address) view returns (uint256)'])
const V2_PAIR = parseAbi([
  'function getReserves() view returns (uint112, uint112, uint32)',
  'function token0() view returns (address)',
])
const V3_POOL = parseAbi([
  'function slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)',
  'function liquidity() view returns (uint128)',
])
/** Range of the market's one position, and the spacing of a pool with a fee of 0.3 %. */
const RANGE = 887_220
const SPACING = 60

let anvil: Anvil
let market: UniswapMarket

before(async () => {
  anvil = await startAnvil()
  market = await deployUniswapMarket(anvil.client)
})
after(() => anvil.stop())

const balanceOf = (token: Address): Promise<bigint> =>
  anvil.client.readContract({
    address: token,
    abi: ERC20,
    functionName: 'balanceOf',
    args: [devAccount(0).address],
  })

/** What arrives of `token` while `work` runs. */
const received = async (token: Address, work: () => Promise<unknown>): Promise<bigint> => {
  const held = await balanceOf(token)
  await work()
  return (await balanceOf(token)) - held
}

/** A swap of the usd/weth pools: which way, and how much of what is sold. */
const swaps = (seed: number, largest: number) => {
  const random = createSeededRandom(seed)
  return Array.from({ length: 30 }, () => {
    const sellsUsd = random() < 0.5
    const share = random() ** 4 * largest
    const amount = parseEther((sellsUsd ? 2_000_000 * share : 1_000 * share).toFixed(18)) + 1n
    const [sold, bought] = sellsUsd ? [market.usd, market.weth] : [market.weth, market.usd]
    return { sold, bought, amount }
  })
}

test('V2: thirty swaps pay what was quoted, to the last unit', async () => {
  const pair = { address: market.pools.v2Usd, abi: V2_PAIR } as const
  const token0 = await anvil.client.readContract({ ...pair, functionName: 'token0' })
  for (const { sold, bought, amount } of swaps(3, 0.4)) {
    const [one, other] = await anvil.client.readContract({ ...pair, functionName: 'getReserves' })
    const [reserveIn, reserveOut] = sold === token0 ? [one, other] : [other, one]
    const quoted = constantProductAmountOut(amount, {
      in: reserveIn,
      out: reserveOut,
      feePips: 3_000,
    })
    assert.equal(await received(bought, () => market.swapV2([sold, bought], amount)), quoted)
  }
})

test('V3: thirty swaps across many words of ticks pay the quoted amount, to the last unit', async () => {
  const pool = { address: market.pools.v3Usd, abi: V3_POOL } as const
  const position = await anvil.client.readContract({ ...pool, functionName: 'liquidity' })
  const usdIsFirst = BigInt(market.usd) < BigInt(market.weth)
  let farthest = 0
  for (const { sold, bought, amount } of swaps(5, 1)) {
    const [sqrtPriceX96, tick] = await anvil.client.readContract({ ...pool, functionName: 'slot0' })
    const state = {
      sqrtPriceX96,
      tick,
      liquidity: position,
      feePips: 3_000,
      tickSpacing: SPACING,
      ticks: [
        { tick: -RANGE, liquidityNet: position },
        { tick: RANGE, liquidityNet: -position },
      ],
      knownTicks: [MIN_TICK, MAX_TICK],
    } as const
    const quote = concentratedAmountOut(state, (sold === market.usd) === usdIsFirst, amount)
    assert.ok('amountRaw' in quote)
    farthest = Math.max(farthest, quote.steps)
    const paid = await received(bought, () => market.swapV3(sold, bought, amount))
    assert.equal(paid, quote.amountRaw)
  }
  assert.ok(farthest > 1, 'some swaps leave the word that they began in')
})
