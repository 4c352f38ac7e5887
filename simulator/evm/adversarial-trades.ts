import type { BlockBuilder } from './block-builder.ts'
import { LOG_ENCODERS } from './event-logs.ts'
import { accountAddress, Reverted, transfer } from './execution.ts'
import { correctionOf, deviationOf, rawForUsd } from './fair-prices.ts'
import { popularPool } from './retail-traders.ts'
import type { Pool } from './scenario.ts'
import { submitFailingTrade, submitTrade } from './submit-trade.ts'
import { callDataEncoder } from './transactions.ts'
import { pairReserves, pairSwap } from './v2-pair.ts'

const CALL_DATA = {
  swap: callDataEncoder('swap(uint256,uint256,address,bytes)'),
  go: callDataEncoder('execute(uint256,uint256)'),
} as const

/** Largest number of forged logs in one transaction. */
const MAX_FORGED_LOGS = 34

const randomOpenPool = (
  builder: BlockBuilder,
  wanted: (pool: Pool) => boolean,
): Pool | undefined => {
  const { layout, state, scenario } = builder.context
  const pools = scenario.pools.filter(
    (pool) => wanted(pool) && state.get(layout.pool(pool.index, 'liquidity')) > 0n,
  )
  return pools.length === 0 ? undefined : builder.random.pick(pools)
}

const isMemePool = ({ thin, weight, version, baseToken }: Pool): boolean =>
  !thin &&
  weight > 0 &&
  version === 2 &&
  baseToken.kind === undefined &&
  baseToken.quirk !== 'taxed'

/** A whale moves a pool that holds next to nothing far off the market, another brings it back. */
const illiquidPoolTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const pool = randomOpenPool(builder, ({ thin }) => thin)
  if (pool === undefined) return 0
  const trader = random.pick(context.scenario.byRole.whale).index
  if (Math.abs(deviationOf(context, pool)) > 0.2)
    return submitTrade(builder, { trader, pools: [pool], ...correctionOf(context, pool, 0.98) })
  const tokenIn = random.chance(0.5) ? pool.baseToken : pool.quoteToken
  const usd = pool.usd * (0.3 + 0.9 * random.unit())
  return submitTrade(builder, {
    trader,
    pools: [pool],
    tokenIn,
    amountIn: rawForUsd(context, tokenIn, usd),
  })
}

/** Next to nothing is swapped: rounding decides the price. On V3 the output may be zero. */
const dustTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const pool = random.chance(0.3)
    ? randomOpenPool(
        builder,
        (made) => made.version === 3 && made.quoteToken.symbol === 'USDC' && !made.thin,
      )
    : randomOpenPool(builder, isMemePool)
  if (pool === undefined) return 0
  const trader = random.pick(context.scenario.byRole.whale).index
  const tokenIn = pool.version === 3 ? pool.baseToken : pool.quoteToken
  const amountIn = pool.version === 3 ? 1n : BigInt(2 + random.below(2_000))
  return submitTrade(builder, { trader, pools: [pool], tokenIn, amountIn })
}

/** An account pays dollars and asks a pair for one base unit: a price beyond reason. */
const extremePriceTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const { byRole, flashContract } = context.scenario
  const pool = randomOpenPool(builder, (made) => isMemePool(made) && made.baseToken.decimals >= 9)
  if (pool === undefined) return 0
  const trader = random.pick(byRole.whale).index
  const { baseToken, quoteToken } = pool
  const amount = rawForUsd(context, quoteToken, 5 + 20 * random.unit())
  if (!builder.fund(trader, quoteToken, amount)) return 0
  const sent = builder.submit({
    from: trader,
    to: flashContract.address,
    input: CALL_DATA.go(amount, 1n),
    gas: 130_000,
    run: () => {
      transfer(context, quoteToken, { from: trader, to: pool.account, amount })
      const amountsOut = baseToken === pool.token0 ? ([1n, 0n] as const) : ([0n, 1n] as const)
      pairSwap(context, pool, { sender: flashContract.index, to: trader, amountsOut })
    },
  })
  return sent ? 1 : 0
}

/** A whale shakes a pool that people trade in. */
const largeTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const pool = randomOpenPool(builder, isMemePool)
  if (pool === undefined) return 0
  const trader = random.pick(context.scenario.byRole.whale).index
  const tokenIn = random.chance(0.6) ? pool.quoteToken : pool.baseToken
  const usd = Math.min(pool.usd * (0.06 + 0.1 * random.unit()), 80_000)
  return submitTrade(builder, {
    trader,
    pools: [pool],
    tokenIn,
    amountIn: rawForUsd(context, tokenIn, usd),
  })
}

/** One of the trades that a price table must not believe. */
export const suspectTrade = (builder: BlockBuilder): number =>
  builder.random.pick([
    illiquidPoolTrade,
    illiquidPoolTrade,
    dustTrade,
    extremePriceTrade,
    largeTrade,
  ])(builder)

/** A flash swap that is paid back in both tokens of the pair. */
export const flashSwap = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const { byRole, flashContract } = context.scenario
  const pool = randomOpenPool(builder, isMemePool)
  if (pool === undefined) return 0
  const trader = random.pick(byRole.arbitrageur).index
  const [reserve0, reserve1] = pairReserves(context, pool)
  const out1 = (reserve1 * BigInt(1 + random.below(20))) / 10_000n
  const in1 = out1 / 2n
  const adjusted1 = (reserve1 - out1 + in1) * 1_000n - in1 * 3n
  if (out1 === 0n || adjusted1 <= 0n) return 0
  const needed = (reserve0 * reserve1 * 1_000_000n) / adjusted1 + 1n
  const in0 = (needed - reserve0 * 1_000n) / 997n + 1n
  const payer = flashContract.index
  if (!builder.fund(payer, pool.token0, in0) || !builder.fund(payer, pool.token1, in1)) return 0
  const sent = builder.submit({
    from: trader,
    to: flashContract.address,
    input: CALL_DATA.swap(0n, out1, flashContract.address, '0x01'),
    gas: 210_000,
    run: () =>
      pairSwap(context, pool, {
        sender: payer,
        to: payer,
        amountsOut: [0n, out1],
        callback: () => {
          transfer(context, pool.token0, { from: payer, to: pool.account, amount: in0 })
          transfer(context, pool.token1, { from: payer, to: pool.account, amount: in1 })
        },
      }),
  })
  return sent ? 1 : 0
}

/** Swap events of contracts that are not pools: a bare emitter, and a pair that names a factory which does not know it. */
export const forgedSwaps = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const { byRole, forgery, fakePair } = context.scenario
  const forger = random.pick(byRole.forger)
  const amount = (): bigint => BigInt(1 + random.below(1_000_000)) * 10n ** 15n
  const count = random.chance(0.2) ? MAX_FORGED_LOGS : 1 + random.below(3)
  const emitV2 = (from: typeof forgery): void => {
    const [paid, got] = [amount(), amount()]
    const victim = accountAddress(context.scenario, random.pick(byRole.retail).index)
    context.logs.push(LOG_ENCODERS.swapV2(from.address, forger.address, paid, 0n, 0n, got, victim))
  }
  const run = (): void => {
    if (random.chance(0.3)) {
      context.logs.push(LOG_ENCODERS.sync(fakePair.address, amount(), amount()))
      emitV2(fakePair)
      return
    }
    for (let i = 0; i < count; i += 1) {
      if (random.chance(0.7)) emitV2(forgery)
      else {
        const price = 1n << BigInt(90 + random.below(12))
        const words = [amount(), -amount(), price, amount(), random.below(20_000)] as const
        const who = forger.address
        context.logs.push(LOG_ENCODERS.swapV3(forgery.address, who, who, ...words))
      }
    }
  }
  const input = CALL_DATA.go(1n, 1n)
  builder.submit({
    from: forger.index,
    to: forgery.address,
    input,
    gas: 60_000 + 3_000 * count,
    run,
  })
  return 0
}

/** A swap whose limit is not met: it fails and pays its fee. */
export const failedTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const pool = popularPool(builder)
  if (pool === undefined) return 0
  const trader = random.pick(context.scenario.byRole.retail).index
  const amountIn = rawForUsd(context, pool.quoteToken, 50 + random.below(500))
  submitFailingTrade(builder, { trader, pools: [pool], tokenIn: pool.quoteToken, amountIn }, () => {
    throw new Reverted('INSUFFICIENT_OUTPUT_AMOUNT')
  })
  return 0
}
