import { isCurveTrade } from '../../../core/prices/curve-trade.ts'
import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { SvmInstruction, SwapAccounts } from '../../../schemas/events.ts'
import {
  fieldOffsets,
  isDefaultPubkey,
  matchDiscriminator,
  readPubkey,
  u64,
} from '../layout/borsh-layout.ts'
import {
  instructionPath,
  registerPool,
  type SvmTxContext,
  tokenAccountOf,
  WRAPPED_SOL,
} from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventReader,
  type EventType,
  type ProgramEvent,
} from './types.ts'

/** Where a trade instruction names its accounts; a null quote is SOL itself, which lies in no token account. */
interface AccountLayout {
  readonly mint: number
  readonly curve: number
  readonly vault: number
  readonly user: number
  readonly userTokens: number
  readonly quote: { readonly mint: number; readonly vault: number; readonly user: number } | null
  /** A trade stands at its instruction, those of the second forms at their event, as the recorded expectations have it. */
  readonly at: 'instruction' | 'event'
}

const BUY_SELL_V1: AccountLayout = {
  mint: 2,
  curve: 3,
  vault: 4,
  user: 6,
  userTokens: 5,
  quote: null,
  at: 'instruction',
}

const BUY_SELL_V2: AccountLayout = {
  mint: 1,
  curve: 10,
  vault: 11,
  user: 13,
  userTokens: 14,
  quote: { mint: 2, vault: 12, user: 15 },
  at: 'event',
}

const BUY_SELL_V3: AccountLayout = {
  mint: 1,
  curve: 5,
  vault: 6,
  user: 8,
  userTokens: 9,
  quote: { mint: 2, vault: 7, user: 10 },
  at: 'instruction',
}

const accountLayoutOf = matchDiscriminator<AccountLayout | 'route'>({
  '66063d1201daebea': BUY_SELL_V1, // buy
  '38fc74089edfcd5f': BUY_SELL_V1, // buy_exact_sol_in
  '33e685a4017f83ad': BUY_SELL_V1, // sell
  b817ee6167c5d33d: BUY_SELL_V2, // buy_v2
  c2ab1c46684d5b2f: BUY_SELL_V2, // buy_exact_quote_in_v2
  '5df6823ce7e940b2': BUY_SELL_V2, // sell_v2
  '07051dc4f5176550': BUY_SELL_V3, // buy_v3
  e1f7501ed5b38488: BUY_SELL_V3, // buy_exact_quote_in_v3
  '1c92de7726c469d5': BUY_SELL_V3, // sell_v3
  e19a7516d756f667: 'route', // multi_hop_curve_swap
})

/** The accounts of a trade by their addresses. */
interface TradeAccounts {
  readonly mint: string
  readonly curve: string
  readonly vault: string
  readonly user: string
  readonly userTokens: string
  readonly quote: { readonly mint: string; readonly vault: string; readonly user: string } | null
  readonly at: AccountLayout['at']
}

const accountsByName = (
  { accounts }: SvmInstruction,
  form: AccountLayout,
): TradeAccounts | DropReason => {
  const [mint, curve, user] = [accounts[form.mint], accounts[form.curve], accounts[form.user]]
  if (mint === undefined || curve === undefined || user === undefined) return 'missing-account'
  const { quote } = form
  const quoteMint = quote === null ? undefined : accounts[quote.mint]
  return {
    mint,
    curve,
    user,
    vault: accounts[form.vault] ?? curve,
    userTokens: accounts[form.userTokens] ?? user,
    quote:
      quote === null || quoteMint === undefined
        ? null
        : {
            mint: quoteMint,
            vault: accounts[quote.vault] ?? curve,
            user: accounts[quote.user] ?? user,
          },
    at: form.at,
  }
}

/** Who trades along a route, where its hops start, and what each names behind its mint. */
const ROUTE = { user: 3, start: 13, quote: 1, curve: 2, vault: 3, quoteVault: 4 } as const

/**
 * Accounts of the hop that buys or sells a mint; the reason when they are not there or hold other tokens. A mint may stand in two
 * hops, of one as its quote: the vault of its curve tells which one is its own.
 */
const hopAccounts = (
  scope: SvmTxContext,
  { accounts }: SvmInstruction,
  mint: string,
): TradeAccounts | DropReason => {
  const user = accounts[ROUTE.user]
  let reason: DropReason = 'missing-account'
  for (
    let at = accounts.indexOf(mint, ROUTE.start);
    at !== -1;
    at = accounts.indexOf(mint, at + 1)
  ) {
    const [quoteMint, curve] = [accounts[at + ROUTE.quote], accounts[at + ROUTE.curve]]
    const [vault, quoteVault] = [accounts[at + ROUTE.vault], accounts[at + ROUTE.quoteVault]]
    if (!user || !quoteMint || !curve || !vault || !quoteVault) return reason
    const holder = tokenAccountOf(scope, vault)
    if (holder?.mint === mint && holder.owner === curve) {
      const quote = { mint: quoteMint, vault: quoteVault, user }
      return { mint, curve, vault, user, userTokens: user, quote, at: 'event' }
    }
    reason = 'unknown-account'
  }
  return reason
}

/** The accounts of what an event tells; `mintAt` is where it names its mint, which is read for a route only. */
const tradeAccountsOf = (
  scope: SvmTxContext,
  { data, caller }: ProgramEvent,
  mintAt: number,
): TradeAccounts | DropReason => {
  const form = accountLayoutOf(caller.data, 0)
  if (form === undefined) return 'unknown-instruction'
  return form === 'route'
    ? hopAccounts(scope, caller, readPubkey(data, EVENT_FIELDS_OFFSET + mintAt))
    : accountsByName(caller, form)
}

/** What all layouts begin with; that of spring 2024 ends before the real reserves. */
const TRADE = fieldOffsets({
  mint: 'key',
  solAmount: 'u64',
  tokenAmount: 'u64',
  isBuy: 'bool',
  user: 'key',
  timestamp: 'i64',
  virtualSol: 'u64',
  virtualToken: 'u64',
  realSol: 'u64',
  realToken: 'u64',
})

/** Up to the name of the instruction, a text. */
const TRADE_FEES = fieldOffsets({
  feeRecipient: 'key',
  feeBasisPoints: 'u64',
  fee: 'u64',
  creator: 'key',
  creatorFeeBasisPoints: 'u64',
  creatorFee: 'u64',
  trackVolume: 'bool',
  totalUnclaimedTokens: 'u64',
  totalClaimedTokens: 'u64',
  currentSolVolume: 'u64',
  lastUpdateTimestamp: 'i64',
})

/** Up to the shareholders, a list. */
const TRADE_MODES = fieldOffsets({
  mayhemMode: 'bool',
  cashbackFeeBasisPoints: 'u64',
  cashback: 'u64',
  buybackFeeBasisPoints: 'u64',
  buybackFee: 'u64',
})

const SHAREHOLDER = fieldOffsets({ address: 'key', shareBasisPoints: 'u16' })

const TRADE_QUOTE = fieldOffsets({ mint: 'key', amount: 'u64', virtual: 'u64', real: 'u64' })

/** Where the quote's fields start, behind a text and a list; undefined in layouts before curves were quoted in other tokens. */
const quoteStart = (view: DataView): number | undefined => {
  const name = EVENT_FIELDS_OFFSET + TRADE.end + TRADE_FEES.end
  if (view.byteLength < name + 4) return undefined
  const list = name + 4 + view.getUint32(name, true) + TRADE_MODES.end
  if (view.byteLength < list + 4) return undefined
  const start = list + 4 + view.getUint32(list, true) * SHAREHOLDER.end
  return view.byteLength < start + TRADE_QUOTE.end ? undefined : start
}

/** What moved of the quote and what the curve holds of it: with a quote of its own the SOL fields are zero. */
interface QuoteState {
  readonly amountRaw: bigint
  readonly virtualRaw: bigint
  readonly realRaw: bigint
  /** null: SOL itself. */
  readonly mint: string | null
}

/** What a curve counts and never holds: every curve began so when events told no reserves of their own. */
const INITIAL_VIRTUAL = { solRaw: 30_000_000_000n, tokenRaw: 279_900_000_000_000n } as const

const excessOver = (virtualRaw: bigint, neverRaw: bigint): bigint =>
  virtualRaw > neverRaw ? virtualRaw - neverRaw : 0n

/** SOL and tokens that the curve holds. */
const realReservesOf = (view: DataView): readonly [solRaw: bigint, tokenRaw: bigint] => {
  if (view.byteLength >= EVENT_FIELDS_OFFSET + TRADE.end) {
    return [
      u64(view, EVENT_FIELDS_OFFSET + TRADE.realSol),
      u64(view, EVENT_FIELDS_OFFSET + TRADE.realToken),
    ]
  }
  return [
    excessOver(u64(view, EVENT_FIELDS_OFFSET + TRADE.virtualSol), INITIAL_VIRTUAL.solRaw),
    excessOver(u64(view, EVENT_FIELDS_OFFSET + TRADE.virtualToken), INITIAL_VIRTUAL.tokenRaw),
  ]
}

const quoteStateOf = ({ view, data }: ProgramEvent, { quote }: TradeAccounts): QuoteState => {
  const start = quoteStart(view)
  if (start === undefined) {
    return {
      amountRaw: u64(view, EVENT_FIELDS_OFFSET + TRADE.solAmount),
      virtualRaw: u64(view, EVENT_FIELDS_OFFSET + TRADE.virtualSol),
      realRaw: realReservesOf(view)[0],
      mint: null,
    }
  }
  const mintAt = start + TRADE_QUOTE.mint
  return {
    amountRaw: u64(view, start + TRADE_QUOTE.amount),
    virtualRaw: u64(view, start + TRADE_QUOTE.virtual),
    realRaw: u64(view, start + TRADE_QUOTE.real),
    mint: isDefaultPubkey(view, mintAt) ? null : (quote?.mint ?? readPubkey(data, mintAt)),
  }
}

/** A basis point in hundredths of one. */
const PIPS_PER_BASIS_POINT = 100

/**
 * Fees of the protocol and of the creator, hundredths of a basis point; none where the event tells of none (before 2025), or of
 * cashback too: how that is charged on a curve was not seen.
 */
const feePipsOf = ({ view }: ProgramEvent): readonly number[] => {
  const fees = EVENT_FIELDS_OFFSET + TRADE.end
  const name = fees + TRADE_FEES.end
  if (view.byteLength < name + 4) return []
  const modes = name + 4 + view.getUint32(name, true)
  const hasModes = view.byteLength >= modes + TRADE_MODES.end
  if (hasModes && u64(view, modes + TRADE_MODES.cashbackFeeBasisPoints) > 0n) return []
  return [TRADE_FEES.feeBasisPoints, TRADE_FEES.creatorFeeBasisPoints].map(
    (offset) => Number(u64(view, fees + offset)) * PIPS_PER_BASIS_POINT,
  )
}

/** Both sides' accounts; SOL lies in the user and in the curve themselves. */
const swapAccountsOf = (
  { user, curve, userTokens, vault, quote }: TradeAccounts,
  { buys, ownQuote }: { readonly buys: boolean; readonly ownQuote: boolean },
): SwapAccounts => {
  const [userQuote, vaultQuote] =
    ownQuote && quote !== null ? [quote.user, quote.vault] : [user, curve]
  return buys
    ? { userIn: userQuote, userOut: userTokens, vaultIn: vaultQuote, vaultOut: vault }
    : { userIn: userTokens, userOut: userQuote, vaultIn: vault, vaultOut: vaultQuote }
}

const readTrade: EventReader = (scope, event) => {
  const { view, caller } = event
  const named = tradeAccountsOf(scope, event, TRADE.mint)
  if (typeof named === 'string') return named
  const { mint, curve: pool, user: trader } = named
  const quote = quoteStateOf(event, named)
  const quoteMint = quote.mint ?? WRAPPED_SOL
  const tokenRaw = u64(view, EVENT_FIELDS_OFFSET + TRADE.tokenAmount)
  if (quote.amountRaw === 0n && tokenRaw === 0n) return 'zero-amount'
  const buys = view.getUint8(EVENT_FIELDS_OFFSET + TRADE.isBuy) !== 0
  const [, realTokenRaw] = realReservesOf(view)
  const atEvent = named.at === 'event'
  const virtualTokenRaw = u64(view, EVENT_FIELDS_OFFSET + TRADE.virtualToken)
  const inOut = (ofQuote: bigint, ofToken: bigint): readonly [bigint, bigint] =>
    buys ? [ofQuote, ofToken] : [ofToken, ofQuote]
  const sign = buys ? 1n : -1n
  const [quoteBefore, tokenBefore] = [
    quote.virtualRaw - sign * quote.amountRaw,
    virtualTokenRaw + sign * tokenRaw,
  ]
  const explained = isCurveTrade({
    quote: quoteBefore,
    base: tokenBefore,
    buys,
    quoteRaw: quote.amountRaw,
    baseRaw: tokenRaw,
  })
  registerPool(scope, event, { address: pool, tokenA: mint, tokenB: quoteMint })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: atEvent ? event.at : event.callerIndex,
    path: instructionPath(atEvent ? event.instruction : caller),
    pool,
    protocol: event.row.id,
    trader,
    tokenIn: buys ? quoteMint : mint,
    tokenOut: buys ? mint : quoteMint,
    amountInRaw: buys ? quote.amountRaw : tokenRaw,
    amountOutRaw: buys ? tokenRaw : quote.amountRaw,
    reservesInOut: inOut(quote.realRaw, realTokenRaw),
    // Curves whose virtual reserves are moved from outside do not follow their own trades.
    ...(explained && {
      pricing: {
        reserves: inOut(quote.virtualRaw, virtualTokenRaw),
        found: inOut(quoteBefore, tokenBefore),
        feePips: feePipsOf(event),
        feeToken: quoteMint,
      },
    }),
    curve: {
      virtualQuoteRaw: quote.virtualRaw,
      virtualTokenRaw,
      realQuoteRaw: quote.realRaw,
      realTokenRaw,
    },
    accounts: swapAccountsOf(named, { buys, ownQuote: quoteMint !== WRAPPED_SOL }),
  })
  return undefined
}

const POST_COMPLETE_BUY = fieldOffsets({
  user: 'key',
  mint: 'key',
  curve: 'key',
  quoteMint: 'key',
  timestamp: 'i64',
  tokenAmount: 'u64',
  quoteAmount: 'u64',
  feeBasisPoints: 'u64',
  fee: 'u64',
  creatorFeeBasisPoints: 'u64',
  creatorFee: 'u64',
  buybackFee: 'u64',
  poolTokensBefore: 'u64',
  poolQuoteBefore: 'u64',
  poolTokensAfter: 'u64',
  poolQuoteAfter: 'u64',
})

/**
 * A purchase that empties its curve continues with the tokens that lie there for the pool to come, at that pool's price. The trade's
 * own event tells the part before.
 */
const readPostCompleteBuy: EventReader = (scope, event) => {
  const { view, data } = event
  const named = tradeAccountsOf(scope, event, POST_COMPLETE_BUY.mint)
  if (typeof named === 'string') return named
  const [tokenRaw, quoteRaw, tokensAfter, quoteAfter] = [
    u64(view, EVENT_FIELDS_OFFSET + POST_COMPLETE_BUY.tokenAmount),
    u64(view, EVENT_FIELDS_OFFSET + POST_COMPLETE_BUY.quoteAmount),
    u64(view, EVENT_FIELDS_OFFSET + POST_COMPLETE_BUY.poolTokensAfter),
    u64(view, EVENT_FIELDS_OFFSET + POST_COMPLETE_BUY.poolQuoteAfter),
  ]
  if (tokenRaw === 0n && quoteRaw === 0n) return 'zero-amount'
  const quoteAt = EVENT_FIELDS_OFFSET + POST_COMPLETE_BUY.quoteMint
  const quoteMint = isDefaultPubkey(view, quoteAt) ? WRAPPED_SOL : readPubkey(data, quoteAt)
  const { mint, curve: pool, user: trader } = named
  registerPool(scope, event, { address: pool, tokenA: mint, tokenB: quoteMint })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: event.at,
    path: instructionPath(event.instruction),
    pool,
    protocol: event.row.id,
    trader,
    tokenIn: quoteMint,
    tokenOut: mint,
    amountInRaw: quoteRaw,
    amountOutRaw: tokenRaw,
    reservesInOut: [quoteAfter, 0n],
    curve: {
      virtualQuoteRaw: quoteAfter,
      virtualTokenRaw: tokensAfter,
      realQuoteRaw: quoteAfter,
      realTokenRaw: 0n,
    },
    accounts: swapAccountsOf(named, { buys: true, ownQuote: quoteMint !== WRAPPED_SOL }),
  })
  return undefined
}

/** TradeEvent of pump.fun, in every layout. */
export const tradeEvent: EventType = { bytes: TRADE.realSol, read: readTrade }

/** PostCompleteBuyEvent of pump.fun. */
export const postCompleteBuyEvent: EventType = {
  bytes: POST_COMPLETE_BUY.end,
  read: readPostCompleteBuy,
}
