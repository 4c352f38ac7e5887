import { feeOf, PUMPSWAP_FEES, pumpSwapCost, pumpSwapPayout } from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import type { InstructionCall, TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import type { Launch } from './launches.ts'
import { countTrade } from './pump-fun.ts'
import { type EventContext, emitEvent } from './pump-fun-events.ts'
import { type PumpSwapTrade, poolQuoteDelta, swapEvent, userQuoteDelta } from './pumpswap-events.ts'
import type { Wallet } from './scenario.ts'
import { currentTokenBalance, transferChecked } from './spl-token.ts'

/** Errors of the program. Source: pump-public-docs idl/pump_amm.json. */
const EXCEEDED_SLIPPAGE = 6_004

/** Something that a wallet asks of a pool. */
export interface PumpSwapOrder {
  readonly launch: Launch
  readonly user: Wallet
  readonly base: bigint
  readonly limit: bigint
}

const swapInstruction = (
  { launch, user, scenario }: Omit<EventContext, 'timeSec'>,
  isBuy: boolean,
): Omit<InstructionCall, 'data' | 'units'> => {
  const { mint, creator } = launch
  const accounts = [
    ...[launch.pool, user.account, KNOWN_ACCOUNTS.ammConfig, mint.account, KNOWN_ACCOUNTS.wsol],
    ...[launch.holding(user), user.wsol, launch.poolBase, launch.poolQuote],
    ...[
      scenario.ammFeeOwner,
      scenario.ammFeeVault,
      mint.program,
      KNOWN_ACCOUNTS.token,
      KNOWN_ACCOUNTS.system,
      KNOWN_ACCOUNTS.ata,
    ],
    ...[KNOWN_ACCOUNTS.ammEvents, KNOWN_ACCOUNTS.amm, creator.ammVault, creator.ammAuthority],
    ...(isBuy ? [KNOWN_ACCOUNTS.ammVolume, user.ammVolume] : []),
    ...[KNOWN_ACCOUNTS.ammFeeConfig, KNOWN_ACCOUNTS.pumpFees],
  ]
  const flags = `wSrrrwwwwrwrrrrrrwr${isBuy ? 'rw' : ''}rr`
  return { program: KNOWN_ACCOUNTS.amm, accounts, flags, name: isBuy ? 'Buy' : 'Sell' }
}

const callGetFees = (run: TransactionExecution): void =>
  run.invoke({
    data: () => new BorshWriter().hex('e7257e55cf5b3f34').bool(true).u128(0n).u64(0n).toBytes(),
    program: KNOWN_ACCOUNTS.pumpFees,
    accounts: [KNOWN_ACCOUNTS.ammFeeConfig, KNOWN_ACCOUNTS.amm],
    flags: 'rr',
    units: 4_291,
    name: 'GetFees',
  })

const quoteTrade = (
  run: TransactionExecution,
  { launch, user, base, limit }: PumpSwapOrder,
  isBuy: boolean,
): PumpSwapTrade => {
  const poolBase = currentTokenBalance(run, launch.poolBase)
  const poolQuote = currentTokenBalance(run, launch.poolQuote)
  const quote = isBuy
    ? pumpSwapCost(poolBase, poolQuote, base)
    : pumpSwapPayout(poolBase, poolQuote, base)
  return {
    lpFee: feeOf(quote, PUMPSWAP_FEES.lp),
    isBuy,
    base,
    limit,
    quote,
    poolBase,
    poolQuote,
    protocolFee: feeOf(quote, PUMPSWAP_FEES.protocol),
    creatorFee: feeOf(quote, PUMPSWAP_FEES.creator),
    userBase: currentTokenBalance(run, launch.holding(user)),
    userQuote: currentTokenBalance(run, user.wsol),
  }
}

/** Moves the tokens of a trade: base first, then the quote's parts. */
const settleTrade = (
  run: TransactionExecution,
  { launch, user }: PumpSwapOrder,
  trade: PumpSwapTrade,
): void => {
  const { scenario } = run.context
  const holding = launch.holding(user)
  const { pool, poolBase, poolQuote, creator } = launch
  const [payer, authority] = trade.isBuy ? [user.wsol, user.account] : [poolQuote, pool]
  const pay = (to: typeof poolQuote, amount: bigint): void =>
    transferChecked(run, { from: payer, to, authority, amount })
  if (trade.isBuy) {
    transferChecked(run, { from: poolBase, to: holding, authority: pool, amount: trade.base })
    pay(poolQuote, poolQuoteDelta(trade))
  } else {
    const { account } = user
    transferChecked(run, { from: holding, to: poolBase, authority: account, amount: trade.base })
    pay(user.wsol, userQuoteDelta(trade))
  }
  pay(scenario.ammFeeVault, trade.protocolFee)
  pay(creator.ammVault, trade.creatorFee)
}

/** PumpSwap `buy` and `sell`. Throws Failed beyond the limit. */
export const pumpSwapTrade = (
  run: TransactionExecution,
  order: PumpSwapOrder,
  isBuy: boolean,
): void => {
  const { context } = run
  const { launch, user, base, limit } = order
  const { scenario, timeSec } = context
  const data = () => {
    const fields = new BorshWriter().hex(isBuy ? '66063d1201daebea' : '33e685a4017f83ad')
    fields.u64(base).u64(limit)
    return isBuy ? fields.u8(1).toBytes() : fields.toBytes()
  }
  run.invoke({ data, ...swapInstruction({ launch, user, scenario }, isBuy), units: 52_000 }, () => {
    callGetFees(run)
    const trade = quoteTrade(run, order, isBuy)
    const asked = userQuoteDelta(trade)
    if (isBuy ? asked > limit : asked < limit)
      run.fail(EXCEEDED_SLIPPAGE, 'AnchorError: slippage exceeded')
    settleTrade(run, order, trade)
    countTrade(context, launch)
    const facts = { launch, user, timeSec, scenario }
    const from = { program: KNOWN_ACCOUNTS.amm, authority: KNOWN_ACCOUNTS.ammEvents }
    emitEvent(run, from, () => swapEvent(facts, trade))
  })
}
