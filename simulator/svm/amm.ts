import { type AmmTrade, poolSideOf, swapEvent, userSideOf } from './amm-events.ts'
import { Fields } from './bytes.ts'
import { AMM_FEES, ammCost, ammPayout, feeOf } from './curve.ts'
import { IDS } from './ids.ts'
import type { Launch } from './launches.ts'
import { countTrade } from './pump.ts'
import { type EventFacts, emitEvent } from './pump-events.ts'
import type { Call, Run } from './run.ts'
import { tokensNow, transferChecked } from './spl.ts'
import type { Wallet } from './world.ts'

/** Errors of the program. Source: pump-public-docs idl/pump_amm.json. */
const EXCEEDED_SLIPPAGE = 6_004

/** Something that a wallet asks of a pool. */
export interface AmmOrder {
  readonly launch: Launch
  readonly user: Wallet
  readonly base: bigint
  readonly limit: bigint
}

const swapCall = (
  { launch, user, world }: Omit<EventFacts, 'timeSec'>,
  isBuy: boolean,
): Omit<Call, 'data' | 'units'> => {
  const { mint, creator } = launch
  const accounts = [
    ...[launch.pool, user.account, IDS.ammConfig, mint.account, IDS.wsol],
    ...[launch.holding(user), user.wsol, launch.poolBase, launch.poolQuote],
    ...[world.ammFeeOwner, world.ammFeeVault, mint.program, IDS.token, IDS.system, IDS.ata],
    ...[IDS.ammEvents, IDS.amm, creator.ammVault, creator.ammAuthority],
    ...(isBuy ? [IDS.ammVolume, user.ammVolume] : []),
    ...[IDS.ammFeeConfig, IDS.pumpFees],
  ]
  const flags = `wSrrrwwwwrwrrrrrrwr${isBuy ? 'rw' : ''}rr`
  return { program: IDS.amm, accounts, flags, name: isBuy ? 'Buy' : 'Sell' }
}

const getFees = (run: Run): void =>
  run.call({
    data: () => new Fields().hex('e7257e55cf5b3f34').bool(true).u128(0n).u64(0n).done(),
    ...{ program: IDS.pumpFees, accounts: [IDS.ammFeeConfig, IDS.amm], flags: 'rr' },
    ...{ units: 4_291, name: 'GetFees' },
  })

const quoted = (run: Run, { launch, user, base, limit }: AmmOrder, isBuy: boolean): AmmTrade => {
  const poolBase = tokensNow(run, launch.poolBase)
  const poolQuote = tokensNow(run, launch.poolQuote)
  const quote = isBuy ? ammCost(poolBase, poolQuote, base) : ammPayout(poolBase, poolQuote, base)
  return {
    lpFee: feeOf(quote, AMM_FEES.lp),
    ...{ isBuy, base, limit, quote, poolBase, poolQuote },
    protocolFee: feeOf(quote, AMM_FEES.protocol),
    creatorFee: feeOf(quote, AMM_FEES.creator),
    userBase: tokensNow(run, launch.holding(user)),
    userQuote: tokensNow(run, user.wsol),
  }
}

/** Moves the tokens of a trade: base first, then the quote's parts. */
const settle = (run: Run, { launch, user }: AmmOrder, trade: AmmTrade): void => {
  const { world } = run.machine
  const holding = launch.holding(user)
  const { pool, poolBase, poolQuote, creator } = launch
  const [payer, authority] = trade.isBuy ? [user.wsol, user.account] : [poolQuote, pool]
  const pay = (to: typeof poolQuote, amount: bigint): void =>
    transferChecked(run, { from: payer, to, authority, amount })
  if (trade.isBuy) {
    transferChecked(run, { from: poolBase, to: holding, authority: pool, amount: trade.base })
    pay(poolQuote, poolSideOf(trade))
  } else {
    const { account } = user
    transferChecked(run, { from: holding, to: poolBase, authority: account, amount: trade.base })
    pay(user.wsol, userSideOf(trade))
  }
  pay(world.ammFeeVault, trade.protocolFee)
  pay(creator.ammVault, trade.creatorFee)
}

/** PumpSwap `buy` and `sell`. Throws Failed beyond the limit. */
export const ammSwap = (run: Run, order: AmmOrder, isBuy: boolean): void => {
  const { machine } = run
  const { launch, user, base, limit } = order
  const { world, timeSec } = machine
  const data = () => {
    const fields = new Fields().hex(isBuy ? '66063d1201daebea' : '33e685a4017f83ad')
    fields.u64(base).u64(limit)
    return isBuy ? fields.u8(1).done() : fields.done()
  }
  run.call({ data, ...swapCall({ launch, user, world }, isBuy), units: 52_000 }, () => {
    getFees(run)
    const trade = quoted(run, order, isBuy)
    const asked = userSideOf(trade)
    if (isBuy ? asked > limit : asked < limit)
      run.fail(EXCEEDED_SLIPPAGE, 'AnchorError: slippage exceeded')
    settle(run, order, trade)
    countTrade(machine, launch)
    const facts = { launch, user, timeSec, world }
    const from = { program: IDS.amm, authority: IDS.ammEvents }
    emitEvent(run, from, () => swapEvent(facts, trade))
  })
}
