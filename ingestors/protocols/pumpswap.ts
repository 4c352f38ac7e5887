import type { PoolChange } from '../../schemas/events.ts'
import { byTag, offsetsOf, u64, viewOf } from '../svm/layout.ts'
import { type SvmScope, showPool, spotOf } from '../svm/scope.ts'
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

/** An event's instruction with the accounts that it names. */
interface Named {
  readonly pool: string
  readonly user: string
  readonly base: string
  readonly quote: string
  readonly userBase: string
  readonly userQuote: string
  readonly baseVault: string
  readonly quoteVault: string
}

const namedBy = ({ caller }: CpiEvent, form: Form): Named | undefined => {
  const { accounts } = caller
  if (accounts.length <= form.quoteVault) return undefined
  const at = (index: number): string => accounts[index] ?? ''
  return {
    pool: at(form.pool),
    user: at(form.user),
    base: at(form.base),
    quote: at(form.quote),
    userBase: at(form.userBase),
    userQuote: at(form.userQuote),
    baseVault: at(form.baseVault),
    quoteVault: at(form.quoteVault),
  }
}

/** The mints are in no event: they are the program's own accounts, which it checked. */
const showNamed = (
  scope: SvmScope,
  event: CpiEvent,
  wanted: Form,
): Named | 'unknown-instruction' | 'missing-account' => {
  const form = formOf(viewOf(event.caller.data), 0)
  if (form !== wanted) return 'unknown-instruction'
  const named = namedBy(event, form)
  if (named === undefined) return 'missing-account'
  showPool(scope, {
    address: named.pool,
    tokenA: named.base,
    tokenB: named.quote,
    protocol: event.row.id,
    factory: event.program,
    feePips: null,
    proven: true,
  })
  return named
}

/** A trade. The words base and quote are the pool's: what is the pair's base is not asked here. */
const readTrade =
  (buys: boolean): EventRow['read'] =>
  (scope, event) => {
    const { view } = event
    const amount = (offset: number) => u64(view, EVENT_START + offset)
    const baseRaw = amount(TRADED.baseAmount)
    const quoteRaw = amount(TRADED.userQuoteAmount)
    if (baseRaw === 0n || quoteRaw === 0n) return 'zero-amount'
    const named = showNamed(scope, event, TRADE)
    if (typeof named === 'string') return named
    const { base, quote, userBase, userQuote, baseVault, quoteVault } = named
    const poolBaseRaw = amount(TRADED.poolBase)
    const poolQuoteRaw = amount(TRADED.poolQuote)
    const movedRaw = amount(TRADED.poolQuoteAmount)
    scope.out.swaps.push({
      kind: 'swap',
      ...spotOf(scope, event.caller, event.callerAt),
      pool: named.pool,
      protocol: event.row.id,
      trader: named.user,
      tokenIn: buys ? quote : base,
      tokenOut: buys ? base : quote,
      amountInRaw: buys ? quoteRaw : baseRaw,
      amountOutRaw: buys ? baseRaw : quoteRaw,
      reservesInOut: buys
        ? [poolQuoteRaw + movedRaw, poolBaseRaw - baseRaw]
        : [poolBaseRaw + baseRaw, poolQuoteRaw - movedRaw],
      accounts: buys
        ? { userIn: userQuote, userOut: userBase, vaultIn: quoteVault, vaultOut: baseVault }
        : { userIn: userBase, userOut: userQuote, vaultIn: baseVault, vaultOut: quoteVault },
    })
    return undefined
  }

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
    const amount = (offset: number) => u64(event.view, EVENT_START + offset)
    const named = showNamed(scope, event, LIQUIDITY)
    if (typeof named === 'string') return named
    const amountARaw = amount(layout.baseAmount)
    const amountBRaw = amount(layout.quoteAmount)
    scope.out.poolChanges.push({
      kind,
      ...spotOf(scope, event.caller, event.callerAt),
      pool: named.pool,
      protocol: event.row.id,
      owner: named.user,
      tokenA: named.base,
      tokenB: named.quote,
      amountARaw,
      amountBRaw,
      reserves: [
        amount(layout.poolBase) + sign * amountARaw,
        amount(layout.poolQuote) + sign * amountBRaw,
      ],
    })
    return undefined
  }

/** The PumpSwap AMM; contract/chains.md 4.3. Source: pump-fun/pump-public-docs idl/pump_amm.json. */
export const pumpSwap: SvmFamily = {
  family: 'pumpswap',
  reader: selfCalls({
    '67f4521f2cf57777': { bytes: TRADED.end, read: readTrade(true) }, // BuyEvent
    '3e2f370aa503dc2a': { bytes: TRADED.end, read: readTrade(false) }, // SellEvent
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
