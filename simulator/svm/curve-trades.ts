import { minBigint } from '../../core/bigint-math.ts'
import { CURVE_FEES, curveCost, curvePayout, feeOf, tokensForLamports } from './amm-math.ts'
import type { BlockBuilder } from './block-builder.ts'
import type { TransactionExecution } from './execution.ts'
import {
  closeIfEmpty,
  perMille,
  popularLaunch,
  randomHolder,
  randomTrader,
  tradeSubject,
  viaRouter,
} from './launch-traders.ts'
import type { Launch } from './launches.ts'
import { curveBuy, curveSell, LAUNCH_PHASE, readCurve } from './pump-fun.ts'
import type { Wallet } from './scenario.ts'
import { createAssociatedTokenAccount } from './spl-token.ts'

/** How people trade a kind of token: how often they buy, and for how many lamports at most. */
const TRADER_BEHAVIOR = {
  dud: { buys: 0.47, most: 400_000_000 },
  steady: { buys: 0.56, most: 1_200_000_000 },
  hyped: { buys: 0.76, most: 4_200_000_000 },
} as const

/** Compute units asked for. */
const COMPUTE_UNITS = 220_000

/** What a curve asks for tokens, fees counted. */
const costWithFees = (sol: bigint): bigint =>
  sol + feeOf(sol, CURVE_FEES.protocol) + feeOf(sol, CURVE_FEES.creator)

/** Most lamports that a trader spends on a launch this time. */
export const randomSpend = ({ random }: BlockBuilder, { popularity }: Launch): bigint => {
  const roll = random.unit()
  return BigInt(20_000_000 + Math.floor(roll * roll * TRADER_BEHAVIOR[popularity].most))
}

/** Buys on a curve inside a transaction: the account first, then the tokens. */
export const addCurveBuy = (
  run: TransactionExecution,
  { launch, user }: { readonly launch: Launch; readonly user: Wallet },
  facts: { readonly spend: bigint; readonly slippage: number; readonly isRouted: boolean },
): void => {
  const curve = readCurve(run.context, launch)
  const tokens = tokensForLamports(curve, facts.spend)
  const limit = perMille(costWithFees(curveCost(curve, tokens)), 1_000 + facts.slippage) + 1n
  createAssociatedTokenAccount(run, launch.holding(user), { payer: user.account })
  viaRouter(run, user, facts.isRouted, () => curveBuy(run, { launch, user, tokens, limit }))
}

/** A trader buys on a curve. Returns the trades made. */
export const buyOnCurve = (blockBuilder: BlockBuilder, launch: Launch, user: Wallet): number => {
  const { random } = blockBuilder
  const spend = randomSpend(blockBuilder, launch)
  if (!blockBuilder.fund(user, perMille(spend, 1_300))) return 0
  const facts = { spend, slippage: 10 + random.below(150), isRouted: random.chance(0.25) }
  const sent = blockBuilder.submit({
    payer: user.account,
    units: COMPUTE_UNITS,
    about: tradeSubject(launch, launch.curve, user),
    run: (run) => addCurveBuy(run, { launch, user }, facts),
  })
  return sent ? 1 : 0
}

const sellOnCurve = (blockBuilder: BlockBuilder, launch: Launch): number => {
  const { random, context } = blockBuilder
  const holder = randomHolder(blockBuilder, launch)
  if (holder === undefined || !blockBuilder.fund(holder.wallet, 0n)) return 0
  const { wallet, held } = holder
  const isAll = random.chance(0.45)
  const tokens = isAll ? held : perMille(held, 100 + random.below(800))
  const payout = curvePayout(readCurve(context, launch), tokens)
  if (tokens === 0n || payout < 10_000n) return 0
  const limit = minBigint(perMille(payout, 700 + random.below(200)), payout)
  const isRouted = random.chance(0.25)
  const closes = isAll && random.chance(0.6)
  const sent = blockBuilder.submit({
    payer: wallet.account,
    units: COMPUTE_UNITS,
    about: tradeSubject(launch, launch.curve, wallet),
    run: (run) => {
      viaRouter(run, wallet, isRouted, () =>
        curveSell(run, { launch, user: wallet, tokens, limit }),
      )
      if (closes) closeIfEmpty(run, launch.holding(wallet), wallet)
    },
  })
  return sent ? 1 : 0
}

/** A trade on the curve of a popular launch. Returns the trades made. */
export const curveTrade = (blockBuilder: BlockBuilder): number => {
  const { context, random } = blockBuilder
  const launch = popularLaunch(blockBuilder, LAUNCH_PHASE.curve)
  if (launch === undefined) return 0
  if (random.chance(TRADER_BEHAVIOR[launch.popularity].buys))
    return buyOnCurve(blockBuilder, launch, randomTrader(context.scenario, launch, random))
  return sellOnCurve(blockBuilder, launch)
}
