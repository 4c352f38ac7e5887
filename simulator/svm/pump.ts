import { Fields } from './bytes.ts'
import {
  BUYBACK_SHARE,
  CURVE_FEES,
  type Curve,
  curveAfter,
  curveCost,
  curvePayout,
  feeOf,
} from './curve.ts'
import { IDS } from './ids.ts'
import type { Launch } from './launches.ts'
import { type CurveTrade, completeEvent, emitEvent, tradeEvent } from './pump-events.ts'
import type { Call, Machine, Run } from './run.ts'
import { transferChecked } from './spl.ts'
import { moveLamports, sendLamports } from './system.ts'
import type { Wallet } from './world.ts'

/** What a launched token is at the moment: 0 nothing, then this. */
export const PHASE = { curve: 1n, complete: 2n, pool: 3n } as const

/** Errors of the program. Source: pump-public-docs idl/pump.json. */
const PUMP_ERRORS = { tooMuchSol: 6_002, tooLittleSol: 6_003 } as const

const EVENTS = { program: IDS.pump, authority: IDS.pumpEvents } as const

/** Numbers of a launch's curve now. */
export const curveOf = ({ state, world }: Machine, { slot }: Launch): Curve => {
  const read = (field: keyof Curve): bigint => state.get(world.layout.launch(slot, field))
  return {
    virtualSol: read('virtualSol'),
    virtualToken: read('virtualToken'),
    realSol: read('realSol'),
    realToken: read('realToken'),
  }
}

/** Writes the numbers of a curve. */
export const setCurve = ({ state, world }: Machine, { slot }: Launch, curve: Curve): void => {
  const { layout } = world
  state.set(layout.launch(slot, 'virtualSol'), curve.virtualSol)
  state.set(layout.launch(slot, 'virtualToken'), curve.virtualToken)
  state.set(layout.launch(slot, 'realSol'), curve.realSol)
  state.set(layout.launch(slot, 'realToken'), curve.realToken)
}

/** Counts a trade of a launch. */
export const countTrade = ({ state, world, height }: Machine, { slot }: Launch): void => {
  state.add(world.layout.launch(slot, 'trades'), 1n)
  state.set(world.layout.launch(slot, 'lastHeight'), BigInt(height))
}

/** Something that a wallet asks of a curve. */
export interface CurveOrder {
  readonly launch: Launch
  readonly user: Wallet
  readonly tokens: bigint
  /** Most lamports to pay, or fewest to get; fees are part of it. */
  readonly limit: bigint
}

const getFees = (run: Run): void =>
  run.call({
    data: () => new Fields().hex('e7257e55cf5b3f34').bool(true).u128(0n).u64(0n).done(),
    ...{ program: IDS.pumpFees, accounts: [IDS.pumpFeeConfig, IDS.pump], flags: 'rr' },
    ...{ units: 3_136, name: 'GetFees' },
  })

const sharesOf = (launch: Launch, sol: bigint) => {
  const fee = feeOf(sol, CURVE_FEES.protocol)
  const buyback = launch.events === '2026' ? (fee * BUYBACK_SHARE) / 10_000n : 0n
  return { fee, creatorFee: feeOf(sol, CURVE_FEES.creator), buyback }
}

/** Accounts of buy and sell; those of 2026 stand at the end. */
const swapCall = (
  { machine: { world } }: Run,
  { launch, user }: CurveOrder,
  isBuy: boolean,
): Pick<Call, 'program' | 'accounts' | 'flags'> => {
  const { mint, curve, vault, creator, events, extra } = launch
  const [first, second] = isBuy
    ? [mint.program, creator.creatorVault]
    : [creator.creatorVault, mint.program]
  const accounts = [
    ...[IDS.pumpGlobal, world.feeRecipient, mint.account, curve, vault],
    ...[launch.holding(user), user.account, IDS.system, first, second],
    ...[IDS.pumpEvents, IDS.pump],
    ...(isBuy ? [IDS.pumpVolume, user.curveVolume] : []),
    ...[IDS.pumpFeeConfig, IDS.pumpFees],
    ...(events === '2026' ? [...extra.slice(0, 1), world.buyback] : []),
  ]
  const vaults = isBuy ? 'rw' : 'wr'
  const tail = `${isBuy ? 'rw' : ''}rr${events === '2026' ? 'rw' : ''}`
  return { program: IDS.pump, accounts, flags: `rwrwwwSr${vaults}rr${tail}` }
}

const finish = (run: Run, { launch, user }: CurveOrder, trade: CurveTrade): void => {
  const { machine } = run
  const { timeSec, world, state } = machine
  setCurve(machine, launch, trade.after)
  countTrade(machine, launch)
  const facts = { launch, user, timeSec, world }
  emitEvent(run, EVENTS, () => tradeEvent(facts, trade))
  if (trade.after.realToken > 0n) return
  state.set(world.layout.launch(launch.slot, 'phase'), PHASE.complete)
  emitEvent(run, EVENTS, () => completeEvent(facts))
}

/** pump.fun `buy`: so many tokens for at most so much. Throws Failed beyond the limit. */
export const curveBuy = (run: Run, order: CurveOrder): void => {
  const { launch, user, tokens, limit } = order
  const { world } = run.machine
  const data = () => new Fields().hex('66063d1201daebea').u64(tokens).u64(limit).u8(0).done()
  run.call({ data, ...swapCall(run, order, true), units: 38_000, name: 'Buy' }, () => {
    const curve = curveOf(run.machine, launch)
    const sol = curveCost(curve, tokens)
    const { fee, creatorFee, buyback } = sharesOf(launch, sol)
    getFees(run)
    if (sol + fee + creatorFee > limit)
      run.fail(PUMP_ERRORS.tooMuchSol, 'AnchorError: Too much SOL required to buy')
    const [from, to, authority] = [launch.vault, launch.holding(user), launch.curve]
    transferChecked(run, { from, to, authority, amount: tokens })
    sendLamports(run, user.account, launch.creator.creatorVault, creatorFee)
    sendLamports(run, user.account, launch.curve, sol)
    if (buyback > 0n) sendLamports(run, user.account, world.buyback, buyback)
    sendLamports(run, user.account, world.feeRecipient, fee - buyback)
    const after = curveAfter(curve, sol, tokens)
    finish(run, order, { isBuy: true, tokens, sol, fee, creatorFee, buyback, after })
  })
}

/** pump.fun `sell`: the curve pays by moving its own lamports. Throws Failed below the limit. */
export const curveSell = (run: Run, order: CurveOrder): void => {
  const { launch, user, tokens, limit } = order
  const { world } = run.machine
  const data = () => new Fields().hex('33e685a4017f83ad').u64(tokens).u64(limit).done()
  run.call({ data, ...swapCall(run, order, false), units: 31_000, name: 'Sell' }, () => {
    const curve = curveOf(run.machine, launch)
    const sol = curvePayout(curve, tokens)
    const { fee, creatorFee, buyback } = sharesOf(launch, sol)
    getFees(run)
    const paid = sol - fee - creatorFee
    if (paid < limit)
      run.fail(PUMP_ERRORS.tooLittleSol, 'AnchorError: Too little SOL received to sell')
    const [from, to, authority] = [launch.holding(user), launch.vault, user.account]
    transferChecked(run, { from, to, authority, amount: tokens })
    moveLamports(run, launch.curve, user.account, paid)
    moveLamports(run, launch.curve, launch.creator.creatorVault, creatorFee)
    moveLamports(run, launch.curve, world.buyback, buyback)
    moveLamports(run, launch.curve, world.feeRecipient, fee - buyback)
    const after = curveAfter(curve, -sol, -tokens)
    finish(run, order, { isBuy: false, tokens, sol, fee, creatorFee, buyback, after })
  })
}
