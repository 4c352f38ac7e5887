import { smaller } from '../../core/bigint-math.ts'
import { CURVE_FEES, curveCost, curvePayout, curveTokens, feeOf } from './curve.ts'
import type { Desk } from './desk.ts'
import type { Launch } from './launches.ts'
import { curveBuy, curveOf, curveSell, PHASE } from './pump.ts'
import type { Run } from './run.ts'
import { openAccount } from './spl.ts'
import {
  aboutOf,
  closeIfEmpty,
  holderOf,
  partOf,
  popularLaunch,
  routed,
  someoneFor,
} from './stage.ts'
import type { Wallet } from './world.ts'

/** How people trade a kind of token: how often they buy, and for how many lamports at most. */
const MOODS = {
  dud: { buys: 0.47, most: 400_000_000 },
  steady: { buys: 0.56, most: 1_200_000_000 },
  hyped: { buys: 0.76, most: 4_200_000_000 },
} as const

/** Compute units asked for. */
const UNITS = 220_000

/** What a curve asks for tokens, fees counted. */
const priceWithFees = (sol: bigint): bigint =>
  sol + feeOf(sol, CURVE_FEES.protocol) + feeOf(sol, CURVE_FEES.creator)

/** Most lamports that somebody spends on a launch this time. */
export const spendingOn = ({ random }: Desk, { heat }: Launch): bigint => {
  const roll = random.unit()
  return BigInt(20_000_000 + Math.floor(roll * roll * MOODS[heat].most))
}

/** Buys on a curve inside a transaction: the account first, then the tokens. */
export const buyInside = (
  run: Run,
  { launch, user }: { readonly launch: Launch; readonly user: Wallet },
  facts: { readonly spend: bigint; readonly slippage: number; readonly isRouted: boolean },
): void => {
  const curve = curveOf(run.machine, launch)
  const tokens = curveTokens(curve, facts.spend)
  const limit = partOf(priceWithFees(curveCost(curve, tokens)), 1_000 + facts.slippage) + 1n
  openAccount(run, launch.holding(user), { payer: user.account })
  routed(run, user, facts.isRouted, () => curveBuy(run, { launch, user, tokens, limit }))
}

/** Somebody buys on a curve. Returns the trades made. */
export const buyOnCurve = (desk: Desk, launch: Launch, user: Wallet): number => {
  const { random } = desk
  const spend = spendingOn(desk, launch)
  if (!desk.fund(user, partOf(spend, 1_300))) return 0
  const facts = { spend, slippage: 10 + random.below(150), isRouted: random.chance(0.25) }
  const sent = desk.submit({
    ...{ payer: user.account, units: UNITS, about: aboutOf(launch, launch.curve, user) },
    run: (run) => buyInside(run, { launch, user }, facts),
  })
  return sent ? 1 : 0
}

const sellOnCurve = (desk: Desk, launch: Launch): number => {
  const { random, machine } = desk
  const holder = holderOf(desk, launch)
  if (holder === undefined || !desk.fund(holder.wallet, 0n)) return 0
  const { wallet, held } = holder
  const isAll = random.chance(0.45)
  const tokens = isAll ? held : partOf(held, 100 + random.below(800))
  const payout = curvePayout(curveOf(machine, launch), tokens)
  if (tokens === 0n || payout < 10_000n) return 0
  const limit = smaller(partOf(payout, 700 + random.below(200)), payout)
  const isRouted = random.chance(0.25)
  const closes = isAll && random.chance(0.6)
  const sent = desk.submit({
    ...{ payer: wallet.account, units: UNITS, about: aboutOf(launch, launch.curve, wallet) },
    run: (run) => {
      routed(run, wallet, isRouted, () => curveSell(run, { launch, user: wallet, tokens, limit }))
      if (closes) closeIfEmpty(run, launch.holding(wallet), wallet)
    },
  })
  return sent ? 1 : 0
}

/** A trade on the curve of a popular launch. Returns the trades made. */
export const curveTrade = (desk: Desk): number => {
  const { machine, random } = desk
  const launch = popularLaunch(desk, PHASE.curve)
  if (launch === undefined) return 0
  if (random.chance(MOODS[launch.heat].buys))
    return buyOnCurve(desk, launch, someoneFor(machine.world, launch, random))
  return sellOnCurve(desk, launch)
}
