import { smaller } from '../../core/bigint-math.ts'
import { ammSwap } from './amm.ts'
import { ammCost, ammPayout } from './curve.ts'
import type { Desk } from './desk.ts'
import type { Launch } from './launches.ts'
import { poolDeviation } from './prices.ts'
import { PHASE } from './pump.ts'
import { openAccount } from './spl.ts'
import {
  aboutOf,
  closeIfEmpty,
  holderOf,
  partOf,
  popularLaunch,
  routed,
  someoneFor,
  unwrap,
  wrap,
} from './stage.ts'
import type { Wallet } from './world.ts'

const UNITS = 260_000

/** Tokens in a pool now. */
export const poolReserves = ({ machine: { state } }: Desk, { poolBase, poolQuote }: Launch) => ({
  base: state.get(poolBase.place) - 1n,
  quote: state.get(poolQuote.place) - 1n,
})

/** Somebody buys in a pool with lamports. Returns the trades made. */
const buyInPool = (desk: Desk, launch: Launch, user: Wallet): number => {
  const { random } = desk
  const { base, quote } = poolReserves(desk, launch)
  const roll = random.unit()
  const spend = partOf(quote, 1 + 22 * roll * roll)
  const amount = (base * spend) / (quote + spend)
  const limit = partOf(ammCost(base, quote, amount), 1_010 + random.below(120)) + 10n
  if (amount === 0n || !desk.fund(user, limit)) return 0
  const isRouted = random.chance(0.25)
  const sent = desk.submit({
    ...{ payer: user.account, units: UNITS, about: aboutOf(launch, launch.pool, user) },
    run: (run) => {
      wrap(run, user, limit)
      openAccount(run, launch.holding(user), { payer: user.account })
      routed(run, user, isRouted, () => ammSwap(run, { launch, user, base: amount, limit }, true))
      unwrap(run, user)
    },
  })
  return sent ? 1 : 0
}

const sellInPool = (desk: Desk, launch: Launch): number => {
  const { random } = desk
  const holder = holderOf(desk, launch)
  if (holder === undefined || !desk.fund(holder.wallet, 0n)) return 0
  const { wallet: user, held } = holder
  const { base, quote } = poolReserves(desk, launch)
  const isAll = random.chance(0.35)
  const most = partOf(base, 30)
  const wish = isAll ? held : partOf(held, 100 + random.below(800))
  const amount = smaller(wish, most)
  const payout = ammPayout(base, quote, amount)
  if (payout < 10_000n) return 0
  const limit = partOf(payout, 800 + random.below(180))
  const isRouted = random.chance(0.25)
  const sent = desk.submit({
    ...{ payer: user.account, units: UNITS, about: aboutOf(launch, launch.pool, user) },
    run: (run) => {
      wrap(run, user, 0n)
      routed(run, user, isRouted, () => ammSwap(run, { launch, user, base: amount, limit }, false))
      unwrap(run, user)
      if (isAll) closeIfEmpty(run, launch.holding(user), user)
    },
  })
  return sent ? 1 : 0
}

/** A trade in the pool of a graduated launch; people follow what they believe it is worth. Returns the trades made. */
export const poolTrade = (desk: Desk): number => {
  const { machine, random } = desk
  const launch = popularLaunch(desk, PHASE.pool)
  if (launch === undefined) return 0
  const off = poolDeviation(machine, launch.slot, poolReserves(desk, launch))
  const buys = Math.max(0.12, Math.min(0.88, 0.5 - off * 1.5))
  if (random.chance(buys)) return buyInPool(desk, launch, someoneFor(machine.world, launch, random))
  return sellInPool(desk, launch)
}
