import type { Random } from '../node/random.ts'
import type { Account, TokenAccount } from './accounts.ts'
import { tokenBalanceOf } from './accounts.ts'
import type { BlockBuilder } from './block-builder.ts'
import { BorshWriter } from './borsh-writer.ts'
import type { ExecutionContext, TransactionExecution } from './execution.ts'
import type { Launch } from './launches.ts'
import { LAUNCH_PHASE } from './pump-fun.ts'
import type { Scenario, Wallet } from './scenario.ts'
import { closeAccount, createAssociatedTokenAccount, syncNative } from './spl-token.ts'
import { transferLamports } from './system-program.ts'

/** Launches that live now in one of these phases. */
export const launchesInPhase = (
  { state, scenario, launches }: ExecutionContext,
  phase: bigint,
): readonly Launch[] => {
  const { layout } = scenario
  const found: Launch[] = []
  for (let slot = 0; slot < layout.launches; slot += 1) {
    if (state.get(layout.launch(slot, 'phase')) !== phase) continue
    found.push(launches.at(Number(state.get(layout.launch(slot, 'serial'))) - 1, slot))
  }
  return found
}

const POPULARITY_WEIGHTS = { dud: 1, steady: 4, hyped: 22 } as const
/** Blocks after which a token of each kind is half forgotten. */
const HALF_LIFE = { dud: 250, steady: 2_500, hyped: 40_000 } as const

/** How much people look at a launch now. */
const attractionOf = (
  { state, scenario, height }: ExecutionContext,
  { slot, popularity }: Launch,
): number => {
  const idle = height - Number(state.get(scenario.layout.launch(slot, 'lastHeight')))
  const trades = Number(state.get(scenario.layout.launch(slot, 'trades')))
  const worn = popularity === 'hyped' ? 1 : 1 + trades / 60
  return POPULARITY_WEIGHTS[popularity] / (1 + idle / HALF_LIFE[popularity]) / worn
}

/** A launch in a phase, the ones that people look at more often; undefined when there is none. */
export const popularLaunch = (blockBuilder: BlockBuilder, phase: bigint): Launch | undefined => {
  const { context, random } = blockBuilder
  const found = launchesInPhase(context, phase)
  const isCurve = phase === LAUNCH_PHASE.curve
  const weights = found.map((launch) =>
    isCurve ? attractionOf(context, launch) : 1 + (launch.serial % 3),
  )
  let at = random.unit() * weights.reduce((sum, weight) => sum + weight, 0)
  for (const [index, launch] of found.entries()) {
    at -= weights[index] ?? 0
    if (at < 0) return launch
  }
  return found[0]
}

/** Wallets of the crowd of one token: the same faces come back. */
const TRADERS_PER_LAUNCH = 44

/** A trader of a launch. */
export const randomTrader = ({ byRole }: Scenario, { serial }: Launch, random: Random): Wallet => {
  if (random.chance(0.03)) return random.pick(byRole.whale)
  const { retail } = byRole
  const wallet = retail[(serial * 29 + random.below(TRADERS_PER_LAUNCH)) % retail.length]
  return wallet ?? random.pick(retail)
}

const MAX_HOLDER_TRIES = 20

/** A wallet that holds some of a launch, and how much; undefined when none is found soon. */
export const randomHolder = (
  { context, random }: BlockBuilder,
  launch: Launch,
): { readonly wallet: Wallet; readonly held: bigint } | undefined => {
  const { state, scenario } = context
  for (let tried = 0; tried < MAX_HOLDER_TRIES; tried += 1) {
    const isCreator = random.chance(0.1)
    const wallet = isCreator ? launch.creator : randomTrader(scenario, launch, random)
    const held = tokenBalanceOf((place) => state.get(place), launch.holding(wallet)) ?? 0n
    if (held > 0n) return { wallet, held }
  }
  return undefined
}

/** Runs something through the router program, or as it is. */
export const viaRouter = (
  run: TransactionExecution,
  user: Wallet,
  isRouted: boolean,
  body: () => void,
): void => {
  if (!isRouted) {
    body()
    return
  }
  const { router } = run.context.scenario
  const data = () => new BorshWriter().hex('e517cb977ae3ad2a').u64(0n).toBytes()
  const call = { program: router, accounts: [user.account, router], flags: 'Sr', data }
  run.invoke({ units: 9_000, ...call, name: 'Route' }, body)
}

/** Puts lamports into a wallet's wSOL account, which is made if need be. */
export const wrapSol = (
  run: TransactionExecution,
  { account, wsol }: Wallet,
  lamports: bigint,
): void => {
  createAssociatedTokenAccount(run, wsol, { payer: account })
  if (lamports === 0n) return
  transferLamports(run, account, wsol, lamports)
  syncNative(run, wsol)
}

/** Closes a wallet's wSOL account: what is in it becomes lamports. */
export const unwrapSol = (run: TransactionExecution, { account, wsol }: Wallet): void =>
  closeAccount(run, wsol, account)

/** A part of an amount, in thousandths. */
export const perMille = (amount: bigint, thousandths: number): bigint =>
  (amount * BigInt(Math.max(0, Math.floor(thousandths)))) / 1_000n

/** Closes a token account when nothing is in it. */
export const closeIfEmpty = (
  run: TransactionExecution,
  account: TokenAccount,
  owner: Wallet,
): void => {
  if (run.context.state.get(account.stateIndex) === 1n) closeAccount(run, account, owner.account)
}

/** What a trade is about. */
export const tradeSubject = (launch: Launch, pool: Account, user: Wallet) => ({
  token: launch.mint.account.address,
  pool: pool.address,
  wallet: user.account.address,
})
