import { minBigint } from '../../core/bigint-math.ts'
import type { BlockBuilder } from './block-builder.ts'
import { addLiquidity } from './deployments.ts'
import { accountAddress, balanceOf, transferNative, unwrap, wrap } from './execution.ts'
import { rawForUsd, usdOf } from './fair-prices.ts'
import { otherToken } from './router.ts'
import type { Pool, Token } from './scenario.ts'
import { submitTrade } from './submit-trade.ts'
import { callDataEncoder, EMPTY_CALL_DATA } from './transactions.ts'
import { pairBurn, readPoolField } from './v2-pair.ts'
import { poolBurn } from './v3-pool.ts'

const CALL_DATA = {
  deposit: callDataEncoder('deposit()'),
  withdraw: callDataEncoder('withdraw(uint256)'),
  removeLiquidity: callDataEncoder(
    'removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)',
  ),
  decrease: callDataEncoder('decreaseLiquidity(uint256,uint128,uint256,uint256,uint256)'),
} as const

const isPoolOpen = ({ context }: BlockBuilder, pool: Pool): boolean =>
  readPoolField(context, pool, 'liquidity') > 0n

/** A pool that people trade in, by weight; undefined while there is none. */
export const popularPool = (builder: BlockBuilder): Pool | undefined => {
  const open = builder.context.scenario.pools.filter(
    (pool) => pool.weight > 0 && isPoolOpen(builder, pool),
  )
  let at = builder.random.unit() * open.reduce((sum, { weight }) => sum + weight, 0)
  return open.find(({ weight }) => {
    at -= weight
    return at < 0
  })
}

/** Many small trades, few large ones; USD. */
const tradeSizeUsd = ({ random }: BlockBuilder, pool: Pool): number =>
  Math.min(40 / (random.unit() + 0.012), pool.usd * 0.008)

const sellableAmount = (
  builder: BlockBuilder,
  token: Token,
  facts: { readonly account: number; readonly usd: number },
): bigint => {
  const held = balanceOf(builder.context, token, facts.account)
  return minBigint(held, rawForUsd(builder.context, token, facts.usd))
}

/** A trader buys or sells in a popular pool. */
export const retailTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const pool = popularPool(builder)
  if (pool === undefined) return 0
  const trader = random.pick(context.scenario.byRole.retail).index
  const usd = tradeSizeUsd(builder, pool)
  const { baseToken, quoteToken } = pool
  const native = random.chance(0.6)
  const amount = sellableAmount(builder, baseToken, { account: trader, usd })
  if (random.chance(0.5) && usdOf(context, baseToken, amount) > usd / 4)
    return submitTrade(builder, {
      trader,
      pools: [pool],
      tokenIn: baseToken,
      amountIn: amount,
      useNative: native,
    })
  const amountIn = rawForUsd(context, quoteToken, usd)
  return submitTrade(builder, {
    trader,
    pools: [pool],
    tokenIn: quoteToken,
    amountIn,
    useNative: native,
  })
}

/** A holder buys, adds, sells a part or everything, and starts again later. */
export const holderTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const { byRole, pools } = context.scenario
  const at = random.below(byRole.holder.length)
  const trader = byRole.holder[at]?.index ?? 0
  const mine = pools.filter(
    (pool, index) => (index + at) % 9 === 0 && pool.weight > 0 && pool.baseToken.kind === undefined,
  )
  const pool = mine[random.below(Math.max(1, mine.length))]
  if (pool === undefined || !isPoolOpen(builder, pool)) return 0
  const { baseToken, quoteToken } = pool
  const held = balanceOf(context, baseToken, trader)
  const mood = random.unit()
  if (held > 0n && mood < 0.35)
    return submitTrade(builder, { trader, pools: [pool], tokenIn: baseToken, amountIn: held })
  if (held > 3n && mood < 0.65) {
    const part = (held * BigInt(20 + random.below(60))) / 100n
    return submitTrade(builder, { trader, pools: [pool], tokenIn: baseToken, amountIn: part })
  }
  const usd = Math.min(100 + 900 * random.unit(), pool.usd * 0.008)
  const amountIn = rawForUsd(context, quoteToken, usd)
  return submitTrade(builder, { trader, pools: [pool], tokenIn: quoteToken, amountIn })
}

const nextPool = (builder: BlockBuilder, token: Token, used: readonly Pool[]): Pool | undefined => {
  const fitting = builder.context.scenario.pools.filter(
    (pool) =>
      pool.weight > 0 &&
      isPoolOpen(builder, pool) &&
      (pool.token0 === token || pool.token1 === token) &&
      !used.includes(pool) &&
      !used.some((before) => before.baseToken === pool.baseToken),
  )
  return fitting.length === 0 ? undefined : builder.random.pick(fitting)
}

/** A swap through two or three pools in one transaction. */
export const routedTrade = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const start = popularPool(builder)
  if (start === undefined) return 0
  const trader = random.pick(context.scenario.byRole.retail).index
  const usd = tradeSizeUsd(builder, start)
  const sold = sellableAmount(builder, start.baseToken, { account: trader, usd })
  const sells = usdOf(context, start.baseToken, sold) > usd / 4
  const tokenIn = sells ? start.baseToken : start.quoteToken
  const pools: Pool[] = [start]
  let token = otherToken(start, tokenIn)
  const hops = random.chance(0.25) ? 3 : 2
  while (pools.length < hops) {
    const next = nextPool(builder, token, pools)
    if (next === undefined) break
    pools.push(next)
    token = otherToken(next, token)
  }
  const amountIn = sells ? sold : rawForUsd(context, tokenIn, usd)
  return submitTrade(builder, { trader, pools, tokenIn, amountIn, useNative: random.chance(0.4) })
}

/** A liquidity provider adds to a pool, or takes out a part of what lies there. */
export const moveLiquidity = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const { layout, state, scenario } = context
  const pool = popularPool(builder)
  if (pool === undefined) return 0
  const provider = random.pick(scenario.byRole.liquidity).index
  if (random.chance(0.55)) {
    const share = BigInt(20 + random.below(180))
    const held = [
      balanceOf(context, pool.token0, pool.account),
      balanceOf(context, pool.token1, pool.account),
    ] as const
    addLiquidity(builder, pool, {
      provider,
      amounts: [(held[0] * share) / 10_000n, (held[1] * share) / 10_000n],
    })
    return 0
  }
  const owner = accountAddress(scenario, provider)
  const deadline = 2n ** 40n
  if (pool.version === 3) {
    const liquidity =
      (readPoolField(context, pool, 'liquidity') * BigInt(1 + random.below(90))) / 10_000n
    builder.submit({
      from: provider,
      to: scenario.positionManager.address,
      input: CALL_DATA.decrease(BigInt(pool.index), liquidity, 0n, 0n, deadline),
      gas: 260_000,
      run: () => poolBurn(context, pool, provider, liquidity),
    })
    return 0
  }
  const cap = readPoolField(context, pool, 'liquidity') / 100n
  const mine = state.get(layout.share(pool.index, provider)) / 2n
  const shares = minBigint(mine, cap)
  const router = scenario.venues[pool.venue].router
  if (shares <= 0n) return 0
  builder.submit({
    from: provider,
    to: router.address,
    input: CALL_DATA.removeLiquidity(
      pool.token0.address,
      pool.token1.address,
      shares,
      0n,
      0n,
      owner,
      deadline,
    ),
    gas: 170_000,
    run: () => pairBurn(context, pool, { sender: router.index, owner: provider, shares }),
  })
  return 0
}

const sendTokens = (builder: BlockBuilder): void => {
  const { context, random } = builder
  const { byRole, tokens } = context.scenario
  const token = random.pick(tokens.filter(({ born }) => born < context.height))
  const from = random.pick(byRole.retail).index
  const to = random.pick(byRole.holder).index
  const held = balanceOf(context, token, from)
  const amount = random.chance(0.1) ? 0n : (held * BigInt(1 + random.below(50))) / 100n
  if (amount === 0n && random.chance(0.7)) return
  builder.send(from, token, { to, amount })
}

const sendEther = (builder: BlockBuilder): void => {
  const { context, random } = builder
  const { byRole } = context.scenario
  const from = random.pick(byRole.retail).index
  const to = random.pick(byRole.holder).index
  const valueRaw = BigInt(1 + random.below(900)) * 10n ** 15n
  const run = (): void => transferNative(context, from, to, valueRaw)
  builder.submit({
    from,
    to: accountAddress(context.scenario, to),
    valueRaw,
    input: EMPTY_CALL_DATA,
    gas: 21_000,
    run,
  })
}

const wrapOrUnwrap = (builder: BlockBuilder): void => {
  const { context, random } = builder
  const { byRole, weth } = context.scenario
  const from = random.pick(byRole.holder).index
  const held = balanceOf(context, weth, from)
  const common = { from, to: weth.address, gas: 45_000 } as const
  if (held > 0n && random.chance(0.5)) {
    const run = (): void => unwrap(context, from, held)
    builder.submit({ ...common, input: CALL_DATA.withdraw(held), run })
    return
  }
  const valueRaw = BigInt(1 + random.below(500)) * 10n ** 15n
  const run = (): void => wrap(context, from, valueRaw)
  builder.submit({ ...common, valueRaw, input: CALL_DATA.deposit(), run })
}

/** What fills blocks beside trades: transfers of tokens and of the native token, WETH deposits and withdrawals. */
export const plainTransaction = (builder: BlockBuilder): number => {
  const kind = builder.random.unit()
  if (kind < 0.45) sendTokens(builder)
  else if (kind < 0.8) sendEther(builder)
  else wrapOrUnwrap(builder)
  return 0
}
