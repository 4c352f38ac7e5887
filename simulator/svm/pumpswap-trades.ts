import { minBigint } from '../../core/bigint-math.ts'
import { pumpSwapCost, pumpSwapPayout } from './amm-math.ts'
import type { BlockBuilder } from './block-builder.ts'
import { poolDeviation } from './fair-prices.ts'
import {
  closeIfEmpty,
  perMille,
  popularLaunch,
  randomHolder,
  randomTrader,
  tradeSubject,
  unwrapSol,
  viaRouter,
  wrapSol,
} from './launch-traders.ts'
import type { Launch } from './launches.ts'
import { LAUNCH_PHASE } from './pump-fun.ts'
import { pumpSwapTrade } from './pumpswap.ts'
import type { Wallet } from './scenario.ts'
import { createAssociatedTokenAccount } from './spl-token.ts'

const COMPUTE_UNITS = 260_000

/** Tokens in a pool now. */
export const poolReserves = (
  { context: { state } }: BlockBuilder,
  { poolBase, poolQuote }: Launch,
) => ({
  base: state.get(poolBase.stateIndex) - 1n,
  quote: state.get(poolQuote.stateIndex) - 1n,
})

/** A trader buys in a pool with lamports. Returns the trades made. */
const buyInPool = (blockBuilder: BlockBuilder, launch: Launch, user: Wallet): number => {
  const { random } = blockBuilder
  const { base, quote } = poolReserves(blockBuilder, launch)
  const roll = random.unit()
  const spend = perMille(quote, 1 + 22 * roll * roll)
  const amount = (base * spend) / (quote + spend)
  const limit = perMille(pumpSwapCost(base, quote, amount), 1_010 + random.below(120)) + 10n
  if (amount === 0n || !blockBuilder.fund(user, limit)) return 0
  const isRouted = random.chance(0.25)
  const sent = blockBuilder.submit({
    payer: user.account,
    units: COMPUTE_UNITS,
    about: tradeSubject(launch, launch.pool, user),
    run: (run) => {
      wrapSol(run, user, limit)
      createAssociatedTokenAccount(run, launch.holding(user), { payer: user.account })
      viaRouter(run, user, isRouted, () =>
        pumpSwapTrade(run, { launch, user, base: amount, limit }, true),
      )
      unwrapSol(run, user)
    },
  })
  return sent ? 1 : 0
}

const sellInPool = (blockBuilder: BlockBuilder, launch: Launch): number => {
  const { random } = blockBuilder
  const holder = randomHolder(blockBuilder, launch)
  if (holder === undefined || !blockBuilder.fund(holder.wallet, 0n)) return 0
  const { wallet: user, held } = holder
  const { base, quote } = poolReserves(blockBuilder, launch)
  const isAll = random.chance(0.35)
  const most = perMille(base, 30)
  const wish = isAll ? held : perMille(held, 100 + random.below(800))
  const amount = minBigint(wish, most)
  const payout = pumpSwapPayout(base, quote, amount)
  if (payout < 10_000n) return 0
  const limit = perMille(payout, 800 + random.below(180))
  const isRouted = random.chance(0.25)
  const sent = blockBuilder.submit({
    payer: user.account,
    units: COMPUTE_UNITS,
    about: tradeSubject(launch, launch.pool, user),
    run: (run) => {
      wrapSol(run, user, 0n)
      viaRouter(run, user, isRouted, () =>
        pumpSwapTrade(run, { launch, user, base: amount, limit }, false),
      )
      unwrapSol(run, user)
      if (isAll) closeIfEmpty(run, launch.holding(user), user)
    },
  })
  return sent ? 1 : 0
}

/** A trade in the pool of a graduated launch; people follow what they believe it is worth. Returns the trades made. */
export const poolTrade = (blockBuilder: BlockBuilder): number => {
  const { context, random } = blockBuilder
  const launch = popularLaunch(blockBuilder, LAUNCH_PHASE.pool)
  if (launch === undefined) return 0
  const off = poolDeviation(context, launch.slot, poolReserves(blockBuilder, launch))
  const buys = Math.max(0.12, Math.min(0.88, 0.5 - off * 1.5))
  if (random.chance(buys))
    return buyInPool(blockBuilder, launch, randomTrader(context.scenario, launch, random))
  return sellInPool(blockBuilder, launch)
}
