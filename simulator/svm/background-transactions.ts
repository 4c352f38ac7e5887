import { tokenBalanceOf } from './accounts.ts'
import { curveCost, tokensForLamports } from './amm-math.ts'
import type { BlockBuilder } from './block-builder.ts'
import { BorshWriter } from './borsh-writer.ts'
import { randomSpend } from './curve-trades.ts'
import { rawForUsd } from './fair-prices.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import {
  perMille,
  popularLaunch,
  randomHolder,
  randomTrader,
  viaRouter,
  wrapSol,
} from './launch-traders.ts'
import { curveBuy, LAUNCH_PHASE, readCurve } from './pump-fun.ts'
import { pumpSwapTrade } from './pumpswap.ts'
import { poolReserves } from './pumpswap-trades.ts'
import { raydiumSwap } from './raydium.ts'
import { popularPool, tokenAccountFor } from './raydium-trades.ts'
import {
  burn,
  closeAccount,
  createAssociatedTokenAccount,
  transfer,
  transferChecked,
} from './spl-token.ts'
import { transferLamports } from './system-program.ts'

/** Error of the router: less came out than was promised. */
const ROUTER_SLIPPAGE = 6_001

/** Two votes: what most transactions of a block are. */
export const submitVotes = ({ context, submit }: BlockBuilder): void => {
  const { validators } = context.scenario
  const { slot } = context
  for (const at of [slot, slot + 3]) {
    const validator = validators[at % validators.length]
    if (validator === undefined) continue
    const { identity, vote: account } = validator
    submit({
      payer: identity,
      units: 0,
      messageForm: 'legacy',
      isVote: true,
      run: (run) =>
        run.invoke({
          program: KNOWN_ACCOUNTS.vote,
          accounts: [account, identity],
          flags: 'wS',
          units: 2_100,
          data: () => new BorshWriter().u32(14).u64(BigInt(slot)).u8(0).u64(0n).toBytes(),
        }),
    })
  }
}

const sendSol = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const { retail } = context.scenario.byRole
  const [from, to] = [random.pick(retail), random.pick(retail)]
  const lamports = BigInt(1 + random.below(3_000)) * 1_000_000n
  if (!blockBuilder.fund(from, lamports)) return
  blockBuilder.submit({
    payer: from.account,
    units: random.chance(0.5) ? 450 : 0,
    run: (run) => transferLamports(run, from.account, to.account, lamports),
  })
}

const sendUsdc = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const { scenario, state } = context
  const from = random.pick([...scenario.byRole.maker, ...scenario.byRole.exchange])
  const to = random.pick(scenario.byRole.retail)
  const amount = rawForUsd(context, scenario.usdc, 10 + random.below(900))
  const held = tokenBalanceOf((place) => state.get(place), from.usdc) ?? 0n
  if (held < amount || !blockBuilder.fund(from, 0n)) return
  blockBuilder.submit({
    payer: from.account,
    units: 60_000,
    run: (run) => {
      createAssociatedTokenAccount(run, to.usdc, { payer: from.account })
      transfer(run, { from: from.usdc, to: to.usdc, authority: from.account, amount })
    },
  })
}

/** Tokens of a launch go to another wallet, or out of the scenario. */
const moveLaunchTokens = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const launch = popularLaunch(
    blockBuilder,
    random.chance(0.5) ? LAUNCH_PHASE.curve : LAUNCH_PHASE.pool,
  )
  const holder = launch && randomHolder(blockBuilder, launch)
  if (launch === undefined || holder === undefined || !blockBuilder.fund(holder.wallet, 0n)) return
  const { wallet, held } = holder
  const from = launch.holding(wallet)
  const other = randomTrader(context.scenario, launch, random)
  const to = launch.holding(other)
  const amount = perMille(held, 1 + random.below(300))
  const burns = random.chance(0.15)
  if (amount === 0n || from === to) return
  blockBuilder.submit({
    payer: wallet.account,
    units: 80_000,
    run: (run) => {
      if (burns) {
        burn(run, from, wallet.account, amount)
        return
      }
      createAssociatedTokenAccount(run, to, { payer: wallet.account })
      transferChecked(run, { from, to, authority: wallet.account, amount })
    },
  })
}

/** A wallet closes an account that has been empty for a while, for its rent. */
const closeEmptyAccount = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const launch = popularLaunch(blockBuilder, LAUNCH_PHASE.curve)
  if (launch === undefined) return
  const wallet = context.scenario.wallets.find(
    (one) => context.state.get(launch.holding(one).stateIndex) === 1n,
  )
  if (wallet === undefined || random.chance(0.5) || !blockBuilder.fund(wallet, 0n)) return
  blockBuilder.submit({
    payer: wallet.account,
    units: 0,
    run: (run) => closeAccount(run, launch.holding(wallet), wallet.account),
  })
}

/** What people do besides trading. Makes no trade. */
export const plainTransaction = (blockBuilder: BlockBuilder): number => {
  blockBuilder.random.pick([
    sendSol,
    sendSol,
    sendUsdc,
    moveLaunchTokens,
    moveLaunchTokens,
    closeEmptyAccount,
  ])(blockBuilder)
  return 0
}

/** A buy on a curve that fails: the limit is too low, or the router wants more than it got. */
const failedCurveBuy = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const launch = popularLaunch(blockBuilder, LAUNCH_PHASE.curve)
  if (launch === undefined) return
  const user = randomTrader(context.scenario, launch, random)
  const spend = randomSpend(blockBuilder, launch)
  if (!blockBuilder.fund(user, spend * 2n)) return
  const isRouted = random.chance(0.5)
  blockBuilder.submit({
    payer: user.account,
    units: 200_000,
    sendAnyway: true,
    run: (run) => {
      const curve = readCurve(context, launch)
      const tokens = tokensForLamports(curve, spend)
      const cost = curveCost(curve, tokens)
      createAssociatedTokenAccount(run, launch.holding(user), { payer: user.account })
      viaRouter(run, user, isRouted, () => {
        const limit = isRouted ? cost * 2n : perMille(cost, 960)
        curveBuy(run, { launch, user, tokens, limit })
        run.fail(ROUTER_SLIPPAGE, 'Error: slippage tolerance exceeded')
      })
    },
  })
}

const failedPumpSwapBuy = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const launch = popularLaunch(blockBuilder, LAUNCH_PHASE.pool)
  if (launch === undefined) return
  const user = randomTrader(context.scenario, launch, random)
  const { base, quote } = poolReserves(blockBuilder, launch)
  const limit = perMille(quote, 3)
  if (!blockBuilder.fund(user, limit)) return
  blockBuilder.submit({
    payer: user.account,
    units: 200_000,
    sendAnyway: true,
    run: (run) => {
      wrapSol(run, user, limit)
      createAssociatedTokenAccount(run, launch.holding(user), { payer: user.account })
      pumpSwapTrade(run, { launch, user, base: perMille(base, 4), limit }, true)
    },
  })
}

const failedRaydiumSwap = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const { scenario } = context
  const pool = popularPool(blockBuilder)
  const user = random.pick(scenario.byRole.maker)
  const [from, to] = [
    tokenAccountFor(scenario, user, pool.pc),
    tokenAccountFor(scenario, user, pool.coin),
  ]
  const amount = rawForUsd(context, pool.pc, 40 + random.below(400))
  if (!blockBuilder.fund(user, 0n)) return
  blockBuilder.submit({
    payer: user.account,
    units: 120_000,
    sendAnyway: true,
    run: (run) =>
      raydiumSwap(run, {
        pool,
        user,
        from,
        to,
        exact: 'in',
        amount,
        short: random.chance(0.5),
        limit: 1n << 62n,
      }),
  })
}

/** A trade that fails after some of it was done. Makes no trade. */
export const failedTrade = (blockBuilder: BlockBuilder): number => {
  blockBuilder.random.pick([failedCurveBuy, failedCurveBuy, failedPumpSwapBuy, failedRaydiumSwap])(
    blockBuilder,
  )
  return 0
}

/** One transaction through two pools: an older coin to SOL, and that into a graduated token. Returns the trades made. */
export const twoPoolTrade = (blockBuilder: BlockBuilder): number => {
  const { context, random } = blockBuilder
  const { scenario, state } = context
  const launch = popularLaunch(blockBuilder, LAUNCH_PHASE.pool)
  const pool = random.pick(
    scenario.pools.filter(({ coin, pc }) => pc === scenario.sol && coin !== scenario.sol),
  )
  const user = random.pick(scenario.byRole.maker)
  const from = tokenAccountFor(scenario, user, pool.coin)
  const amount = rawForUsd(context, pool.coin, 30 + random.below(300))
  if (launch === undefined || (tokenBalanceOf((at) => state.get(at), from) ?? 0n) < amount) return 0
  if (!blockBuilder.fund(user, 0n)) return 0
  const sent = blockBuilder.submit({
    payer: user.account,
    units: 400_000,
    run: (run) => {
      wrapSol(run, user, 0n)
      createAssociatedTokenAccount(run, launch.holding(user), { payer: user.account })
      const before = state.get(user.wsol.stateIndex)
      viaRouter(run, user, true, () => {
        const swap = { pool, user, from, to: user.wsol, exact: 'in', short: true } as const
        raydiumSwap(run, { ...swap, amount, limit: 1n })
        const got = state.get(user.wsol.stateIndex) - before
        const { base, quote } = poolReserves(blockBuilder, launch)
        const wanted = (base * perMille(got, 990)) / (quote + got)
        pumpSwapTrade(run, { launch, user, base: wanted, limit: got }, true)
      })
    },
  })
  return sent ? 2 : 0
}
