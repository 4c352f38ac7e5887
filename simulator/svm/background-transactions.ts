import { tokensOf } from './accounts.ts'
import { ammSwap } from './amm.ts'
import { Fields } from './bytes.ts'
import { curveCost, curveTokens } from './curve.ts'
import { spendingOn } from './curve-trades.ts'
import type { Desk } from './desk.ts'
import { IDS } from './ids.ts'
import { poolReserves } from './pool-trades.ts'
import { rawForUsd } from './prices.ts'
import { curveBuy, curveOf, PHASE } from './pump.ts'
import { raydiumSwap } from './raydium.ts'
import { accountFor, popularPool } from './raydium-trades.ts'
import { burn, closeAccount, openAccount, transfer, transferChecked } from './spl.ts'
import { holderOf, partOf, popularLaunch, routed, someoneFor, wrap } from './stage.ts'
import { sendLamports } from './system.ts'

/** Error of the router: less came out than was promised. */
const ROUTER_SLIPPAGE = 6_001

/** Two votes: what most transactions of a block are. */
export const vote = ({ machine, submit }: Desk): void => {
  const { validators } = machine.world
  const { slot } = machine
  for (const at of [slot, slot + 3]) {
    const validator = validators[at % validators.length]
    if (validator === undefined) continue
    const { identity, vote: account } = validator
    submit({
      ...{ payer: identity, units: 0, form: 'legacy', isVote: true },
      run: (run) =>
        run.call({
          ...{ program: IDS.vote, accounts: [account, identity], flags: 'wS', units: 2_100 },
          data: () => new Fields().u32(14).u64(BigInt(slot)).u8(0).u64(0n).done(),
        }),
    })
  }
}

const sendSol = (desk: Desk): void => {
  const { machine, random } = desk
  const { retail } = machine.world.byRole
  const [from, to] = [random.pick(retail), random.pick(retail)]
  const lamports = BigInt(1 + random.below(3_000)) * 1_000_000n
  if (!desk.fund(from, lamports)) return
  desk.submit({
    ...{ payer: from.account, units: random.chance(0.5) ? 450 : 0 },
    run: (run) => sendLamports(run, from.account, to.account, lamports),
  })
}

const sendDollars = (desk: Desk): void => {
  const { machine, random } = desk
  const { world, state } = machine
  const from = random.pick([...world.byRole.maker, ...world.byRole.exchange])
  const to = random.pick(world.byRole.retail)
  const amount = rawForUsd(machine, world.usdc, 10 + random.below(900))
  const held = tokensOf((place) => state.get(place), from.usdc) ?? 0n
  if (held < amount || !desk.fund(from, 0n)) return
  desk.submit({
    ...{ payer: from.account, units: 60_000 },
    run: (run) => {
      openAccount(run, to.usdc, { payer: from.account })
      transfer(run, { from: from.usdc, to: to.usdc, authority: from.account, amount })
    },
  })
}

/** Tokens of a launch go to somebody else, or out of the world. */
const moveTokens = (desk: Desk): void => {
  const { machine, random } = desk
  const launch = popularLaunch(desk, random.chance(0.5) ? PHASE.curve : PHASE.pool)
  const holder = launch && holderOf(desk, launch)
  if (launch === undefined || holder === undefined || !desk.fund(holder.wallet, 0n)) return
  const { wallet, held } = holder
  const from = launch.holding(wallet)
  const other = someoneFor(machine.world, launch, random)
  const to = launch.holding(other)
  const amount = partOf(held, 1 + random.below(300))
  const burns = random.chance(0.15)
  if (amount === 0n || from === to) return
  desk.submit({
    ...{ payer: wallet.account, units: 80_000 },
    run: (run) => {
      if (burns) {
        burn(run, from, wallet.account, amount)
        return
      }
      openAccount(run, to, { payer: wallet.account })
      transferChecked(run, { from, to, authority: wallet.account, amount })
    },
  })
}

/** Somebody closes an account that has been empty for a while, for its rent. */
const tidyUp = (desk: Desk): void => {
  const { machine, random } = desk
  const launch = popularLaunch(desk, PHASE.curve)
  if (launch === undefined) return
  const wallet = machine.world.wallets.find(
    (one) => machine.state.get(launch.holding(one).place) === 1n,
  )
  if (wallet === undefined || random.chance(0.5) || !desk.fund(wallet, 0n)) return
  desk.submit({
    ...{ payer: wallet.account, units: 0 },
    run: (run) => closeAccount(run, launch.holding(wallet), wallet.account),
  })
}

/** What people do besides trading. Makes no trade. */
export const plainTransaction = (desk: Desk): number => {
  desk.random.pick([sendSol, sendSol, sendDollars, moveTokens, moveTokens, tidyUp])(desk)
  return 0
}

/** A buy on a curve that fails: the limit is too low, or the router wants more than it got. */
const failedCurve = (desk: Desk): void => {
  const { machine, random } = desk
  const launch = popularLaunch(desk, PHASE.curve)
  if (launch === undefined) return
  const user = someoneFor(machine.world, launch, random)
  const spend = spendingOn(desk, launch)
  if (!desk.fund(user, spend * 2n)) return
  const isRouted = random.chance(0.5)
  desk.submit({
    ...{ payer: user.account, units: 200_000, sendAnyway: true },
    run: (run) => {
      const curve = curveOf(machine, launch)
      const tokens = curveTokens(curve, spend)
      const cost = curveCost(curve, tokens)
      openAccount(run, launch.holding(user), { payer: user.account })
      routed(run, user, isRouted, () => {
        const limit = isRouted ? cost * 2n : partOf(cost, 960)
        curveBuy(run, { launch, user, tokens, limit })
        run.fail(ROUTER_SLIPPAGE, 'Error: slippage tolerance exceeded')
      })
    },
  })
}

const failedPool = (desk: Desk): void => {
  const { machine, random } = desk
  const launch = popularLaunch(desk, PHASE.pool)
  if (launch === undefined) return
  const user = someoneFor(machine.world, launch, random)
  const { base, quote } = poolReserves(desk, launch)
  const limit = partOf(quote, 3)
  if (!desk.fund(user, limit)) return
  desk.submit({
    ...{ payer: user.account, units: 200_000, sendAnyway: true },
    run: (run) => {
      wrap(run, user, limit)
      openAccount(run, launch.holding(user), { payer: user.account })
      ammSwap(run, { launch, user, base: partOf(base, 4), limit }, true)
    },
  })
}

const failedRaydium = (desk: Desk): void => {
  const { machine, random } = desk
  const { world } = machine
  const pool = popularPool(desk)
  const user = random.pick(world.byRole.maker)
  const [from, to] = [accountFor(world, user, pool.pc), accountFor(world, user, pool.coin)]
  const amount = rawForUsd(machine, pool.pc, 40 + random.below(400))
  if (!desk.fund(user, 0n)) return
  desk.submit({
    ...{ payer: user.account, units: 120_000, sendAnyway: true },
    run: (run) =>
      raydiumSwap(run, {
        ...{ pool, user, from, to, exact: 'in', amount, short: random.chance(0.5) },
        limit: 1n << 62n,
      }),
  })
}

/** A trade that fails after some of it was done. Makes no trade. */
export const failedTrade = (desk: Desk): number => {
  desk.random.pick([failedCurve, failedCurve, failedPool, failedRaydium])(desk)
  return 0
}

/** One transaction through two pools: an older coin to SOL, and that into a graduated token. Returns the trades made. */
export const twoHops = (desk: Desk): number => {
  const { machine, random } = desk
  const { world, state } = machine
  const launch = popularLaunch(desk, PHASE.pool)
  const pool = random.pick(
    world.pools.filter(({ coin, pc }) => pc === world.sol && coin !== world.sol),
  )
  const user = random.pick(world.byRole.maker)
  const from = accountFor(world, user, pool.coin)
  const amount = rawForUsd(machine, pool.coin, 30 + random.below(300))
  if (launch === undefined || (tokensOf((at) => state.get(at), from) ?? 0n) < amount) return 0
  if (!desk.fund(user, 0n)) return 0
  const sent = desk.submit({
    ...{ payer: user.account, units: 400_000 },
    run: (run) => {
      wrap(run, user, 0n)
      openAccount(run, launch.holding(user), { payer: user.account })
      const before = state.get(user.wsol.place)
      routed(run, user, true, () => {
        const swap = { pool, user, from, to: user.wsol, exact: 'in', short: true } as const
        raydiumSwap(run, { ...swap, amount, limit: 1n })
        const got = state.get(user.wsol.place) - before
        const { base, quote } = poolReserves(desk, launch)
        const wanted = (base * partOf(got, 990)) / (quote + got)
        ammSwap(run, { launch, user, base: wanted, limit: got }, true)
      })
    },
  })
  return sent ? 2 : 0
}
