import type { BlockBuilder } from './block-builder.ts'
import { balanceOf, firstAccount } from './execution.ts'
import { correctionOf, deviationOf, rawForUsd, usdOf } from './fair-prices.ts'
import { otherToken, quoteOf } from './router.ts'
import type { Pool, Token } from './scenario.ts'
import { submitTrade } from './submit-trade.ts'

/** Share of a pool's fee and of its slack by which its price may be off before a market maker acts. */
const priceTolerance = (pool: Pool): number =>
  pool.feePips / 1e6 + (pool.quoteToken.kind === undefined ? 0.004 : 0.0015)

const mostMispricedPool = (builder: BlockBuilder, pools: readonly Pool[]): Pool | undefined => {
  let worst: Pool | undefined
  let most = 1
  for (const pool of pools) {
    if (pool.thin) continue
    const by = Math.abs(deviationOf(builder.context, pool)) / priceTolerance(pool)
    if (by > most) {
      worst = pool
      most = by
    }
  }
  return worst
}

/** Price of the base token in this pool over its fair price, less 1. */
const premiumOf = ({ context }: BlockBuilder, pool: Pool): number => {
  const by = deviationOf(context, pool)
  return pool.baseToken === pool.token0 ? by : -by / (1 + by)
}

/** The third pool of a cycle: leads from the quote of the dear pool back to the quote of the cheap one. */
const bridgePool = (builder: BlockBuilder, from: Token, to: Token): Pool | undefined =>
  builder.context.scenario.pools.find(
    (pool) =>
      pool.reference &&
      (pool.token0 === from || pool.token1 === from) &&
      otherToken(pool, from) === to &&
      deviationOf(builder.context, pool) !== 0,
  )

/** The route that buys where a token is cheap and sells where it is dear, back in the first quote. */
const arbitrageCycle = (
  builder: BlockBuilder,
  cheap: Pool,
  dear: Pool,
): readonly Pool[] | undefined => {
  if (cheap.quoteToken === dear.quoteToken) return [cheap, dear]
  const back = bridgePool(builder, dear.quoteToken, cheap.quoteToken)
  return back === undefined ? undefined : [cheap, dear, back]
}

const cycleOutput = (
  builder: BlockBuilder,
  pools: readonly Pool[],
  start: { readonly token: Token; readonly amount: bigint },
) => {
  let { token, amount } = start
  for (const pool of pools) {
    amount = quoteOf(builder.context, pool, token, amount) ?? 0n
    token = otherToken(pool, token)
  }
  return amount
}

const arbitrage = (builder: BlockBuilder, off: Pool): number => {
  const { context, random } = builder
  const { pools, byRole, arbitrageContract } = context.scenario
  const peers = pools.filter(
    (pool) =>
      pool !== off &&
      !pool.thin &&
      pool.baseToken === off.baseToken &&
      deviationOf(context, pool) !== 0,
  )
  if (off.baseToken.quirk === 'taxed') return 0
  for (const peer of peers) {
    const [cheap, dear] =
      premiumOf(builder, off) < premiumOf(builder, peer) ? [off, peer] : [peer, off]
    const cycle = arbitrageCycle(builder, cheap, dear)
    if (cycle === undefined) continue
    const gap = premiumOf(builder, dear) - premiumOf(builder, cheap)
    const smaller = Math.min(cheap.usd, dear.usd)
    const amountIn = rawForUsd(context, cheap.quoteToken, (smaller * gap) / 12)
    if (amountIn <= 0n) continue
    if (cycleOutput(builder, cycle, { token: cheap.quoteToken, amount: amountIn }) <= amountIn)
      continue
    const trader = random.pick(byRole.arbitrageur).index
    return submitTrade(builder, {
      trader,
      pools: cycle,
      tokenIn: cheap.quoteToken,
      amountIn,
      via: arbitrageContract.index,
    })
  }
  return 0
}

/** The pool that is furthest from its fair price is brought back: by arbitrage where another pool of the token pays for it, else by a market maker. */
export const correctPrices = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const { pools, byRole } = context.scenario
  const off = mostMispricedPool(builder, pools)
  if (off === undefined) return 0
  const hops = random.chance(0.5) ? arbitrage(builder, off) : 0
  if (hops > 0) return hops
  const trader = random.pick(byRole['market-maker']).index
  return submitTrade(builder, { trader, pools: [off], ...correctionOf(context, off, 0.85) })
}

/** Holdings above which an account hands the surplus back to the exchange, in USD. */
const SURPLUS_THRESHOLD_USD = 60_000

/** A trader who has become rich in one token sends most of it to the exchange, so that money goes round. */
export const returnSurplus = (builder: BlockBuilder): number => {
  const { context, random } = builder
  const { byRole, tokens } = context.scenario
  const exchange = firstAccount(byRole.exchange)
  const role = random.pick(['retail', 'holder', 'market-maker', 'arbitrageur'] as const)
  const account = random.pick(byRole[role]).index
  for (const token of tokens) {
    const held = balanceOf(context, token, account)
    if (held === 0n || usdOf(context, token, held) < SURPLUS_THRESHOLD_USD) continue
    builder.send(account, token, { to: exchange.index, amount: (held * 9n) / 10n })
    return 0
  }
  return 0
}
