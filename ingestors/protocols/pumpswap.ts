import type { PoolChange, SwapAccounts } from '../../schemas/events.ts'
import { byTag, offsetsOf, u64 } from '../svm/layout.ts'
import { pathOf, type SvmScope, showPool } from '../svm/scope.ts'
import {
  type CpiEvent,
  EVENT_START,
  type EventRow,
  type SvmFamily,
  selfCalls,
} from './svm-types.ts'

/** Where an instruction names its accounts. */
interface Form {
  readonly pool: number
  readonly user: number
  readonly base: number
  readonly quote: number
  readonly userBase: number
  readonly userQuote: number
  readonly baseVault: number
  readonly quoteVault: number
}

const TRADE: Form = {
  pool: 0,
  user: 1,
  base: 3,
  quote: 4,
  userBase: 5,
  userQuote: 6,
  baseVault: 7,
  quoteVault: 8,
}

const LIQUIDITY: Form = {
  pool: 0,
  user: 2,
  base: 3,
  quote: 4,
  userBase: 6,
  userQuote: 7,
  baseVault: 9,
  quoteVault: 10,
}

const formOf = byTag<Form>({
  '66063d1201daebea': TRADE, // buy
  c62e1552b4d9e870: TRADE, // buy_exact_quote_in
  '33e685a4017f83ad': TRADE, // sell
  b817ee6167c5d33d: TRADE, // buy_v2
  c2ab1c46684d5b2f: TRADE, // buy_exact_quote_in_v2
  '5df6823ce7e940b2': TRADE, // sell_v2
  e992d18ecf6840bc: LIQUIDITY, // create_pool
  f223c68952e1f2b6: LIQUIDITY, // deposit
  b712469c946da122: LIQUIDITY, // withdraw
})

/** Both directions of a trade have this layout: what was traded, its limit, then reserves before it. */
const TRADED = offsetsOf({
  timestamp: 'i64',
  baseAmount: 'u64',
  limit: 'u64',
  userBase: 'u64',
  userQuote: 'u64',
  poolBase: 'u64',
  poolQuote: 'u64',
  quoteAmount: 'u64',
  lpFeeBasisPoints: 'u64',
  lpFee: 'u64',
  protocolFeeBasisPoints: 'u64',
  protocolFee: 'u64',
  /** What the pool's vault got or gave, fees of others left out. */
  poolQuoteAmount: 'u64',
  /** What the user paid or got. */
  userQuoteAmount: 'u64',
  pool: 'key',
  user: 'key',
  userBaseAccount: 'key',
  userQuoteAccount: 'key',
  protocolFeeRecipient: 'key',
  protocolFeeRecipientAccount: 'key',
})

/** Keeps the pool of an event told by an instruction of that form; the reason when it was another or names too little. */
const showNamed = (scope: SvmScope, event: CpiEvent, wanted: Form): string | undefined => {
  const { accounts, data } = event.caller
  if (formOf(data, 0) !== wanted) return 'unknown-instruction'
  if (accounts.length <= wanted.quoteVault) return 'missing-account'
  const address = named(event, wanted.pool)
  const tokenA = named(event, wanted.base)
  showPool(scope, event, { address, tokenA, tokenB: named(event, wanted.quote) })
  return undefined
}

/** The mints are in no event: they are accounts of the instruction, which the program checked. */
const named = ({ caller }: CpiEvent, index: number): string => caller.accounts[index] ?? ''

const amount = ({ view }: CpiEvent, offset: number): bigint => u64(view, EVENT_START + offset)

const tradeAccounts = (event: CpiEvent, buys: boolean): SwapAccounts => {
  const userBase = named(event, TRADE.userBase)
  const userQuote = named(event, TRADE.userQuote)
  const baseVault = named(event, TRADE.baseVault)
  const quoteVault = named(event, TRADE.quoteVault)
  return buys
    ? { userIn: userQuote, userOut: userBase, vaultIn: quoteVault, vaultOut: baseVault }
    : { userIn: userBase, userOut: userQuote, vaultIn: baseVault, vaultOut: quoteVault }
}

/** A trade. The words base and quote are the pool's: what is the pair's base is not asked here. */
const readTrade = (scope: SvmScope, event: CpiEvent, buys: boolean): string | undefined => {
  const baseRaw = amount(event, TRADED.baseAmount)
  const quoteRaw = amount(event, TRADED.userQuoteAmount)
  if (baseRaw === 0n && quoteRaw === 0n) return 'zero-amount'
  const reason = showNamed(scope, event, TRADE)
  if (reason !== undefined) return reason
  const base = named(event, TRADE.base)
  const quote = named(event, TRADE.quote)
  const poolBaseRaw = amount(event, TRADED.poolBase)
  const poolQuoteRaw = amount(event, TRADED.poolQuote)
  const movedRaw = amount(event, TRADED.poolQuoteAmount)
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: event.callerAt,
    path: pathOf(event.caller),
    pool: named(event, TRADE.pool),
    protocol: event.row.id,
    trader: named(event, TRADE.user),
    tokenIn: buys ? quote : base,
    tokenOut: buys ? base : quote,
    amountInRaw: buys ? quoteRaw : baseRaw,
    amountOutRaw: buys ? baseRaw : quoteRaw,
    reservesInOut: buys
      ? [poolQuoteRaw + movedRaw, poolBaseRaw - baseRaw]
      : [poolBaseRaw + baseRaw, poolQuoteRaw - movedRaw],
    reservesBeforeInOut: buys ? [poolQuoteRaw, poolBaseRaw] : [poolBaseRaw, poolQuoteRaw],
    accounts: tradeAccounts(event, buys),
  })
  return undefined
}

const readBuy: EventRow['read'] = (scope, event) => readTrade(scope, event, true)
const readSell: EventRow['read'] = (scope, event) => readTrade(scope, event, false)

/** Deposits and withdrawals, reserves before them. */
const MOVED = offsetsOf({
  timestamp: 'i64',
  lpAmount: 'u64',
  baseLimit: 'u64',
  quoteLimit: 'u64',
  userBase: 'u64',
  userQuote: 'u64',
  poolBase: 'u64',
  poolQuote: 'u64',
  baseAmount: 'u64',
  quoteAmount: 'u64',
})

const CREATED = offsetsOf({
  timestamp: 'i64',
  index: 'u16',
  creator: 'key',
  baseMint: 'key',
  quoteMint: 'key',
  baseDecimals: 'u8',
  quoteDecimals: 'u8',
  baseAmount: 'u64',
  quoteAmount: 'u64',
  poolBase: 'u64',
  poolQuote: 'u64',
})

interface Change {
  readonly kind: PoolChange['kind']
  readonly layout: Readonly<Record<'baseAmount' | 'quoteAmount' | 'poolBase' | 'poolQuote', number>>
  /** What the amounts do to the reserves that the event states. */
  readonly sign: bigint
}

const readChange =
  ({ kind, layout, sign }: Change): EventRow['read'] =>
  (scope, event) => {
    const reason = showNamed(scope, event, LIQUIDITY)
    if (reason !== undefined) return reason
    const amountARaw = amount(event, layout.baseAmount)
    const amountBRaw = amount(event, layout.quoteAmount)
    scope.out.poolChanges.push({
      kind,
      txIndex: scope.tx.index,
      logIndex: event.callerAt,
      path: pathOf(event.caller),
      pool: named(event, LIQUIDITY.pool),
      protocol: event.row.id,
      owner: named(event, LIQUIDITY.user),
      tokenA: named(event, LIQUIDITY.base),
      tokenB: named(event, LIQUIDITY.quote),
      amountARaw,
      amountBRaw,
      reserves: [
        amount(event, layout.poolBase) + sign * amountARaw,
        amount(event, layout.poolQuote) + sign * amountBRaw,
      ],
    })
    return undefined
  }

/** The PumpSwap AMM; contract/chains.md 4.3. Source: pump-fun/pump-public-docs idl/pump_amm.json. */
export const pumpSwap: SvmFamily = {
  family: 'pumpswap',
  reader: selfCalls({
    '67f4521f2cf57777': { bytes: TRADED.end, read: readBuy }, // BuyEvent
    '3e2f370aa503dc2a': { bytes: TRADED.end, read: readSell }, // SellEvent
    b1310cd2a076a774: {
      bytes: CREATED.end,
      read: readChange({ kind: 'initialize', layout: CREATED, sign: 0n }),
    }, // CreatePoolEvent
    '78f83d531f8e6b90': {
      bytes: MOVED.end,
      read: readChange({ kind: 'increase', layout: MOVED, sign: 1n }),
    }, // DepositEvent
    '1609851aa02c47c0': {
      bytes: MOVED.end,
      read: readChange({ kind: 'decrease', layout: MOVED, sign: -1n }),
    }, // WithdrawEvent
  }),
}
