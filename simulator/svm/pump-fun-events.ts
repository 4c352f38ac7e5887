import {
  type BondingCurve,
  BUYBACK_SHARE,
  CURVE_FEES,
  NEW_CURVE,
  TOTAL_SUPPLY,
} from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import type { LazyBytes, TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import type { Launch } from './launches.ts'
import type { Scenario, Wallet } from './scenario.ts'

/** Before the event of a call to oneself. Source: anchor, `EVENT_IX_TAG`. */
const EVENT_CPI_DISCRIMINATOR = 'e445a52e51cb9a1d'

/** An event as Anchor programs emit it: a log line, and a call to oneself that cannot be cut off. */
export const emitEvent = (
  run: TransactionExecution,
  from: {
    readonly program: typeof KNOWN_ACCOUNTS.pump
    readonly authority: typeof KNOWN_ACCOUNTS.pumpEvents
  },
  event: LazyBytes,
): void => {
  run.log(() => `Program data: ${Buffer.from(event()).toString('base64')}`)
  run.invoke({
    data: () => new BorshWriter().hex(EVENT_CPI_DISCRIMINATOR).raw(event()).toBytes(),
    program: from.program,
    accounts: [from.authority],
    flags: 'r',
    units: 2_060,
  })
}

/** A trade on a curve; `sol` is without fees. */
export interface CurveTrade {
  readonly isBuy: boolean
  readonly tokens: bigint
  readonly sol: bigint
  readonly fee: bigint
  readonly creatorFee: bigint
  readonly buyback: bigint
  /** The curve after it. */
  readonly after: BondingCurve
}

/** TradeEvent in the layout of its token. */
export const tradeEvent = (
  { launch, user, timeSec, scenario }: EventContext,
  { isBuy, tokens, sol, fee, creatorFee, buyback, after }: CurveTrade,
): Uint8Array => {
  const event = new BorshWriter()
    .hex('bddb7fd34ee661ee')
    .pubkey(launch.mint.account)
    .u64(sol)
    .u64(tokens)
    .bool(isBuy)
    .pubkey(user.account)
    .i64(timeSec)
    .u64(after.virtualSol)
    .u64(after.virtualToken)
    .u64(after.realSol)
    .u64(after.realToken)
  if (launch.eventLayout === 'first') return event.toBytes()
  event.pubkey(scenario.feeRecipient).u64(CURVE_FEES.protocol).u64(fee)
  event.pubkey(launch.creator.account).u64(CURVE_FEES.creator).u64(creatorFee)
  event.bool(false).u64(0n).u64(0n).u64(0n).i64(0)
  event
    .text(isBuy ? 'buy' : 'sell')
    .bool(false)
    .u64(0n)
    .u64(0n)
  if (launch.eventLayout === '2025') return event.toBytes()
  event.u64(BUYBACK_SHARE).u64(buyback).u32(0).pubkey(KNOWN_ACCOUNTS.system)
  return event.u64(sol).u64(after.virtualSol).u64(after.realSol).toBytes()
}

/** What an event is about. */
export interface EventContext {
  readonly launch: Launch
  readonly user: Wallet
  readonly timeSec: number
  readonly scenario: Scenario
}

/** CreateEvent. */
export const createEvent = ({ launch, user, timeSec }: EventContext): Uint8Array => {
  const { mint, curve, creator, eventLayout } = launch
  const event = new BorshWriter()
    .hex('1b72a94ddeeb6376')
    .text(launch.name)
    .text(launch.symbol)
    .text(launch.uri)
    .pubkey(mint.account)
    .pubkey(curve)
    .pubkey(user.account)
    .pubkey(creator.account)
    .i64(timeSec)
    .u64(NEW_CURVE.virtualToken)
    .u64(NEW_CURVE.virtualSol)
    .u64(NEW_CURVE.realToken)
    .u64(TOTAL_SUPPLY)
  if (eventLayout === 'first') return event.toBytes()
  event.pubkey(mint.program).bool(false).bool(false)
  if (eventLayout === '2025') return event.toBytes()
  return event.pubkey(KNOWN_ACCOUNTS.system).u64(NEW_CURVE.virtualSol).toBytes()
}

/** CompleteEvent: the curve is sold out. */
export const completeEvent = ({ launch, user, timeSec }: EventContext): Uint8Array => {
  const event = new BorshWriter().hex('5f72619cd42e9808').pubkey(user.account)
  event.pubkey(launch.mint.account).pubkey(launch.curve).i64(timeSec)
  return launch.eventLayout === '2026'
    ? event.pubkey(KNOWN_ACCOUNTS.system).toBytes()
    : event.toBytes()
}

/** CompletePumpAmmMigrationEvent: the curve's money lies in a pool. */
export const migrationEvent = (
  { launch, user, timeSec }: EventContext,
  moved: { readonly tokens: bigint; readonly sol: bigint; readonly fee: bigint },
): Uint8Array => {
  const event = new BorshWriter()
    .hex('bde95db95c94ea94')
    .pubkey(user.account)
    .pubkey(launch.mint.account)
  event.u64(moved.tokens).u64(moved.sol).u64(moved.fee).pubkey(launch.curve)
  event.i64(timeSec).pubkey(launch.pool)
  return launch.eventLayout === '2026'
    ? event.pubkey(KNOWN_ACCOUNTS.system).toBytes()
    : event.toBytes()
}
