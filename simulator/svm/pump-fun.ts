import {
  type BondingCurve,
  BUYBACK_SHARE,
  CURVE_FEES,
  curveAfter,
  curveCost,
  curvePayout,
  feeOf,
} from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import type { ExecutionContext, InstructionCall, TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import type { Launch } from './launches.ts'
import { type CurveTrade, completeEvent, emitEvent, tradeEvent } from './pump-fun-events.ts'
import type { Wallet } from './scenario.ts'
import { transferChecked } from './spl-token.ts'
import { moveLamports, transferLamports } from './system-program.ts'

/** What a launched token is at the moment: 0 nothing, then this. */
export const LAUNCH_PHASE = { curve: 1n, complete: 2n, pool: 3n } as const

/** Errors of the program. Source: pump-public-docs idl/pump.json. */
const PUMP_ERRORS = { tooMuchSol: 6_002, tooLittleSol: 6_003 } as const

const EVENT_EMITTER = {
  program: KNOWN_ACCOUNTS.pump,
  authority: KNOWN_ACCOUNTS.pumpEvents,
} as const

/** Numbers of a launch's curve now. */
export const readCurve = (
  { state, scenario }: ExecutionContext,
  { slot }: Launch,
): BondingCurve => {
  const read = (field: keyof BondingCurve): bigint => state.get(scenario.layout.launch(slot, field))
  return {
    virtualSol: read('virtualSol'),
    virtualToken: read('virtualToken'),
    realSol: read('realSol'),
    realToken: read('realToken'),
  }
}

/** Writes the numbers of a curve. */
export const writeCurve = (
  { state, scenario }: ExecutionContext,
  { slot }: Launch,
  curve: BondingCurve,
): void => {
  const { layout } = scenario
  state.set(layout.launch(slot, 'virtualSol'), curve.virtualSol)
  state.set(layout.launch(slot, 'virtualToken'), curve.virtualToken)
  state.set(layout.launch(slot, 'realSol'), curve.realSol)
  state.set(layout.launch(slot, 'realToken'), curve.realToken)
}

/** Counts a trade of a launch. */
export const countTrade = (
  { state, scenario, height }: ExecutionContext,
  { slot }: Launch,
): void => {
  state.add(scenario.layout.launch(slot, 'trades'), 1n)
  state.set(scenario.layout.launch(slot, 'lastHeight'), BigInt(height))
}

/** Something that a wallet asks of a curve. */
export interface CurveOrder {
  readonly launch: Launch
  readonly user: Wallet
  readonly tokens: bigint
  /** Most lamports to pay, or fewest to get; fees are part of it. */
  readonly limit: bigint
}

const callGetFees = (run: TransactionExecution): void =>
  run.invoke({
    data: () => new BorshWriter().hex('e7257e55cf5b3f34').bool(true).u128(0n).u64(0n).toBytes(),
    program: KNOWN_ACCOUNTS.pumpFees,
    accounts: [KNOWN_ACCOUNTS.pumpFeeConfig, KNOWN_ACCOUNTS.pump],
    flags: 'rr',
    units: 3_136,
    name: 'GetFees',
  })

const tradeFees = (launch: Launch, sol: bigint) => {
  const fee = feeOf(sol, CURVE_FEES.protocol)
  const buyback = launch.eventLayout === '2026' ? (fee * BUYBACK_SHARE) / 10_000n : 0n
  return { fee, creatorFee: feeOf(sol, CURVE_FEES.creator), buyback }
}

/** Accounts of buy and sell; those of 2026 stand at the end. */
const swapInstruction = (
  { context: { scenario } }: TransactionExecution,
  { launch, user }: CurveOrder,
  isBuy: boolean,
): Pick<InstructionCall, 'program' | 'accounts' | 'flags'> => {
  const { mint, curve, vault, creator, eventLayout, extraAccounts } = launch
  const [first, second] = isBuy
    ? [mint.program, creator.creatorVault]
    : [creator.creatorVault, mint.program]
  const accounts = [
    ...[KNOWN_ACCOUNTS.pumpGlobal, scenario.feeRecipient, mint.account, curve, vault],
    ...[launch.holding(user), user.account, KNOWN_ACCOUNTS.system, first, second],
    ...[KNOWN_ACCOUNTS.pumpEvents, KNOWN_ACCOUNTS.pump],
    ...(isBuy ? [KNOWN_ACCOUNTS.pumpVolume, user.curveVolume] : []),
    ...[KNOWN_ACCOUNTS.pumpFeeConfig, KNOWN_ACCOUNTS.pumpFees],
    ...(eventLayout === '2026' ? [...extraAccounts.slice(0, 1), scenario.buyback] : []),
  ]
  const vaults = isBuy ? 'rw' : 'wr'
  const tail = `${isBuy ? 'rw' : ''}rr${eventLayout === '2026' ? 'rw' : ''}`
  return { program: KNOWN_ACCOUNTS.pump, accounts, flags: `rwrwwwSr${vaults}rr${tail}` }
}

const finishTrade = (
  run: TransactionExecution,
  { launch, user }: CurveOrder,
  trade: CurveTrade,
): void => {
  const { context } = run
  const { timeSec, scenario, state } = context
  writeCurve(context, launch, trade.after)
  countTrade(context, launch)
  const facts = { launch, user, timeSec, scenario }
  emitEvent(run, EVENT_EMITTER, () => tradeEvent(facts, trade))
  if (trade.after.realToken > 0n) return
  state.set(scenario.layout.launch(launch.slot, 'phase'), LAUNCH_PHASE.complete)
  emitEvent(run, EVENT_EMITTER, () => completeEvent(facts))
}

/** pump.fun `buy`: so many tokens for at most so much. Throws Failed beyond the limit. */
export const curveBuy = (run: TransactionExecution, order: CurveOrder): void => {
  const { launch, user, tokens, limit } = order
  const { scenario } = run.context
  const data = () =>
    new BorshWriter().hex('66063d1201daebea').u64(tokens).u64(limit).u8(0).toBytes()
  run.invoke({ data, ...swapInstruction(run, order, true), units: 38_000, name: 'Buy' }, () => {
    const curve = readCurve(run.context, launch)
    const sol = curveCost(curve, tokens)
    const { fee, creatorFee, buyback } = tradeFees(launch, sol)
    callGetFees(run)
    if (sol + fee + creatorFee > limit)
      run.fail(PUMP_ERRORS.tooMuchSol, 'AnchorError: Too much SOL required to buy')
    const [from, to, authority] = [launch.vault, launch.holding(user), launch.curve]
    transferChecked(run, { from, to, authority, amount: tokens })
    transferLamports(run, user.account, launch.creator.creatorVault, creatorFee)
    transferLamports(run, user.account, launch.curve, sol)
    if (buyback > 0n) transferLamports(run, user.account, scenario.buyback, buyback)
    transferLamports(run, user.account, scenario.feeRecipient, fee - buyback)
    const after = curveAfter(curve, sol, tokens)
    finishTrade(run, order, { isBuy: true, tokens, sol, fee, creatorFee, buyback, after })
  })
}

/** pump.fun `sell`: the curve pays by moving its own lamports. Throws Failed below the limit. */
export const curveSell = (run: TransactionExecution, order: CurveOrder): void => {
  const { launch, user, tokens, limit } = order
  const { scenario } = run.context
  const data = () => new BorshWriter().hex('33e685a4017f83ad').u64(tokens).u64(limit).toBytes()
  run.invoke({ data, ...swapInstruction(run, order, false), units: 31_000, name: 'Sell' }, () => {
    const curve = readCurve(run.context, launch)
    const sol = curvePayout(curve, tokens)
    const { fee, creatorFee, buyback } = tradeFees(launch, sol)
    callGetFees(run)
    const paid = sol - fee - creatorFee
    if (paid < limit)
      run.fail(PUMP_ERRORS.tooLittleSol, 'AnchorError: Too little SOL received to sell')
    const [from, to, authority] = [launch.holding(user), launch.vault, user.account]
    transferChecked(run, { from, to, authority, amount: tokens })
    moveLamports(run, launch.curve, user.account, paid)
    moveLamports(run, launch.curve, launch.creator.creatorVault, creatorFee)
    moveLamports(run, launch.curve, scenario.buyback, buyback)
    moveLamports(run, launch.curve, scenario.feeRecipient, fee - buyback)
    const after = curveAfter(curve, -sol, -tokens)
    finishTrade(run, order, { isBuy: false, tokens, sol, fee, creatorFee, buyback, after })
  })
}
