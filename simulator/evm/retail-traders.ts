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
export const popularPool = (desk: BlockBuilder): Pool | undefined => {
  const open = desk.context.world.pools.filter((pool) => pool.weight > 0 && isPoolOpen(desk, pool))
  let at = desk.random.unit() * open.reduce((sum, { weight }) => sum + weight, 0)
  return open.find(({ weight }) => {
    at -= weight
    return at < 0
  })
}

/** Many small trades, few large ones; USD. */
const tradeSizeUsd = ({ random }: BlockBuilder, pool: Pool): number =>
  Math.min(40 / (random.unit() + 0.012), pool.usd * 0.008)

const sellableAmount = (
  desk: BlockBuilder,
  token: Token,
  facts: { readonly account: number; readonly usd: number },
): bigint => {
  const held = balanceOf(desk.context, token, facts.account)
  return minBigint(held, rawForUsd(desk.context, token, facts.usd))
}

/** A trader buys or sells in a popular pool. */
export const retailTrade = (desk: BlockBuilder): number => {
  const { context, random } = desk
  const pool = popularPool(desk)
  if (pool === undefined) return 0
  const trader = random.pick(context.world.byRole.retail).index
  const usd = tradeSizeUsd(desk, pool)
  const { baseToken, quoteToken } = pool
  const native = random.chance(0.6)
  const amount = sellableAmount(desk, baseToken, { account: trader, usd })
  if (random.chance(0.5) && usdOf(context, baseToken, amount) > usd / 4)
    return submitTrade(desk, {
      trader,
      pools: [pool],
      tokenIn: baseToken,
      amountIn: amount,
      useNative: native,
    })
  const amountIn = rawForUsd(context, quoteToken, usd)
  return submitTrade(desk, {
    trader,
    pools: [pool],
    tokenIn: quoteToken,
    amountIn,
    useNative: native,
  })
}

/** A holder buys, adds, sells a part or everything, and starts again later. */
export const holderTrade = (desk: BlockBuilder): number => {
  const { context, random } = desk
  const { byRole, pools } = context.world
  const at = random.below(byRole.holder.length)
  const trader = byRole.holder[at]?.index ?? 0
  const mine = pools.filter(
    (pool, index) => (index + at) % 9 === 0 && pool.weight > 0 && pool.baseToken.kind === undefined,
  )
  const pool = mine[random.below(Math.max(1, mine.length))]
  if (pool === undefined || !isPoolOpen(desk, pool)) return 0
  const { baseToken, quoteToken } = pool
  const held = balanceOf(context, baseToken, trader)
  const mood = random.unit()
  if (held > 0n && mood < 0.35)
    return submitTrade(desk, { trader, pools: [pool], tokenIn: baseToken, amountIn: held })
  if (held > 3n && mood < 0.65) {
    const part = (held * BigInt(20 + random.below(60))) / 100n
    return submitTrade(desk, { trader, pools: [pool], tokenIn: baseToken, amountIn: part })
  }
  const usd = Math.min(100 + 900 * random.unit(), pool.usd * 0.008)
  const amountIn = rawForUsd(context, quoteToken, usd)
  return submitTrade(desk, { trader, pools: [pool], tokenIn: quoteToken, amountIn })
}

const nextPool = (desk: BlockBuilder, token: Token, used: readonly Pool[]): Pool | undefined => {
  const fitting = desk.context.world.pools.filter(
    (pool) =>
      pool.weight > 0 &&
      isPoolOpen(desk, pool) &&
      (pool.token0 === token || pool.token1 === token) &&
      !used.includes(pool) &&
      !used.some((before) => before.baseToken === pool.baseToken),
  )
  return fitting.length === 0 ? undefined : desk.random.pick(fitting)
}

/** A swap through two or three pools in one transaction. */
export const routedTrade = (desk: BlockBuilder): number => {
  const { context, random } = desk
  const start = popularPool(desk)
  if (start === undefined) return 0
  const trader = random.pick(context.world.byRole.retail).index
  const usd = tradeSizeUsd(desk, start)
  const sold = sellableAmount(desk, start.baseToken, { account: trader, usd })
  const sells = usdOf(context, start.baseToken, sold) > usd / 4
  const tokenIn = sells ? start.baseToken : start.quoteToken
  const pools: Pool[] = [start]
  let token = otherToken(start, tokenIn)
  const hops = random.chance(0.25) ? 3 : 2
  while (pools.length < hops) {
    const next = nextPool(desk, token, pools)
    if (next === undefined) break
    pools.push(next)
    token = otherToken(next, token)
  }
  const amountIn = sells ? sold : rawForUsd(context, tokenIn, usd)
  return submitTrade(desk, { trader, pools, tokenIn, amountIn, useNative: random.chance(0.4) })
}

/** A liquidity provider adds to a pool, or takes out a part of what lies there. */
export const moveLiquidity = (desk: BlockBuilder): number => {
  const { context, random } = desk
  const { layout, state, world } = context
  const pool = popularPool(desk)
  if (pool === undefined) return 0
  const provider = random.pick(world.byRole.liquidity).index
  if (random.chance(0.55)) {
    const share = BigInt(20 + random.below(180))
    const held = [
      balanceOf(context, pool.token0, pool.account),
      balanceOf(context, pool.token1, pool.account),
    ] as const
    addLiquidity(desk, pool, {
      provider,
      amounts: [(held[0] * share) / 10_000n, (held[1] * share) / 10_000n],
    })
    return 0
  }
  const owner = accountAddress(world, provider)
  const deadline = 2n ** 40n
  if (pool.version === 3) {
    const liquidity =
      (readPoolField(context, pool, 'liquidity') * BigInt(1 + random.below(90))) / 10_000n
    desk.submit({
      from: provider,
      to: world.positionManager.address,
      input: CALL_DATA.decrease(BigInt(pool.index), liquidity, 0n, 0n, deadline),
      gas: 260_000,
      run: () => poolBurn(context, pool, provider, liquidity),
    })
    return 0
  }
  const cap = readPoolField(context, pool, 'liquidity') / 100n
  const mine = state.get(layout.share(pool.index, provider)) / 2n
  const shares = minBigint(mine, cap)
  const router = world.venues[pool.venue].router
  if (shares <= 0n) return 0
  desk.submit({
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

const sendTokens = (desk: BlockBuilder): void => {
  const { context, random } = desk
  const { byRole, tokens } = context.world
  const token = random.pick(tokens.filter(({ born }) => born < context.height))
  const from = random.pick(byRole.retail).index
  const to = random.pick(byRole.holder).index
  const held = balanceOf(context, token, from)
  const amount = random.chance(0.1) ? 0n : (held * BigInt(1 + random.below(50))) / 100n
  if (amount === 0n && random.chance(0.7)) return
  desk.send(from, token, { to, amount })
}

const sendEther = (desk: BlockBuilder): void => {
  const { context, random } = desk
  const { byRole } = context.world
  const from = random.pick(byRole.retail).index
  const to = random.pick(byRole.holder).index
  const valueRaw = BigInt(1 + random.below(900)) * 10n ** 15n
  const run = (): void => transferNative(context, from, to, valueRaw)
  desk.submit({
    from,
    to: accountAddress(context.world, to),
    valueRaw,
    input: EMPTY_CALL_DATA,
    gas: 21_000,
    run,
  })
}

const wrapOrUnwrap = (desk: BlockBuilder): void => {
  const { context, random } = desk
  const { byRole, weth } = context.world
  const from = random.pick(byRole.holder).index
  const held = balanceOf(context, weth, from)
  const common = { from, to: weth.address, gas: 45_000 } as const
  if (held > 0n && random.chance(0.5)) {
    const run = (): void => unwrap(context, from, held)
    desk.submit({ ...common, input: CALL_DATA.withdraw(held), run })
    return
  }
  const valueRaw = BigInt(1 + random.below(500)) * 10n ** 15n
  const run = (): void => wrap(context, from, valueRaw)
  desk.submit({ ...common, valueRaw, input: CALL_DATA.deposit(), run })
}

/** What fills blocks beside trades: transfers of tokens and coins, WETH deposits and withdrawals. */
export const plainTransaction = (desk: BlockBuilder): number => {
  const kind = desk.random.unit()
  if (kind < 0.45) sendTokens(desk)
  else if (kind < 0.8) sendEther(desk)
  else wrapOrUnwrap(desk)
  return 0
}
