import type { SvmInstruction, SwapAccounts } from '../../schemas/events.ts'
import { byTag, isZeroKey, keyAt, offsetsOf, textsAt, u64 } from '../svm/layout.ts'
import { pathOf, showPool, WRAPPED_SOL } from '../svm/scope.ts'
import {
  type CpiEvent,
  EVENT_START,
  type EventRow,
  type SvmFamily,
  selfCalls,
} from './svm-types.ts'

/** Where a trade instruction names its accounts; a null quote is SOL itself, which lies in no token account. */
interface Form {
  readonly mint: number
  readonly curve: number
  readonly vault: number
  readonly user: number
  readonly userTokens: number
  readonly quote: { readonly mint: number; readonly vault: number; readonly user: number } | null
  /** A trade stands at its instruction, those of the second forms at their event, as the recorded expectations have it. */
  readonly at: 'instruction' | 'event'
}

const FIRST: Form = {
  mint: 2,
  curve: 3,
  vault: 4,
  user: 6,
  userTokens: 5,
  quote: null,
  at: 'instruction',
}

const SECOND: Form = {
  mint: 1,
  curve: 10,
  vault: 11,
  user: 13,
  userTokens: 14,
  quote: { mint: 2, vault: 12, user: 15 },
  at: 'event',
}

const THIRD: Form = {
  mint: 1,
  curve: 5,
  vault: 6,
  user: 8,
  userTokens: 9,
  quote: { mint: 2, vault: 7, user: 10 },
  at: 'instruction',
}

const formOf = byTag<Form>({
  '66063d1201daebea': FIRST, // buy
  '38fc74089edfcd5f': FIRST, // buy_exact_sol_in
  '33e685a4017f83ad': FIRST, // sell
  b817ee6167c5d33d: SECOND, // buy_v2
  c2ab1c46684d5b2f: SECOND, // buy_exact_quote_in_v2
  '5df6823ce7e940b2': SECOND, // sell_v2
  '07051dc4f5176550': THIRD, // buy_v3
  e1f7501ed5b38488: THIRD, // buy_exact_quote_in_v3
  '1c92de7726c469d5': THIRD, // sell_v3
})

/** The first layout; all later ones begin with it. */
const TRADE = offsetsOf({
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
const TRADE_FEES = offsetsOf({
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
const TRADE_MODES = offsetsOf({
  mayhemMode: 'bool',
  cashbackFeeBasisPoints: 'u64',
  cashback: 'u64',
  buybackFeeBasisPoints: 'u64',
  buybackFee: 'u64',
})

const SHAREHOLDER = offsetsOf({ address: 'key', shareBasisPoints: 'u16' })

const TRADE_QUOTE = offsetsOf({ mint: 'key', amount: 'u64', virtual: 'u64', real: 'u64' })

/** Where the quote's fields start, behind a text and a list; undefined in layouts before curves were quoted in other tokens. */
const quoteStart = (view: DataView): number | undefined => {
  const name = EVENT_START + TRADE.end + TRADE_FEES.end
  if (view.byteLength < name + 4) return undefined
  const list = name + 4 + view.getUint32(name, true) + TRADE_MODES.end
  if (view.byteLength < list + 4) return undefined
  const start = list + 4 + view.getUint32(list, true) * SHAREHOLDER.end
  return view.byteLength < start + TRADE_QUOTE.end ? undefined : start
}

/** What moved of the quote and what the curve holds of it: with a quote of its own the SOL fields are zero (chains.md 4.2). */
interface Quoted {
  readonly amountRaw: bigint
  readonly virtualRaw: bigint
  readonly realRaw: bigint
  /** null: SOL itself. */
  readonly mint: string | null
}

const quoteOf = ({ view, data, caller }: CpiEvent, { quote }: Form): Quoted => {
  const start = quoteStart(view)
  if (start === undefined) {
    return {
      amountRaw: u64(view, EVENT_START + TRADE.solAmount),
      virtualRaw: u64(view, EVENT_START + TRADE.virtualSol),
      realRaw: u64(view, EVENT_START + TRADE.realSol),
      mint: null,
    }
  }
  const mintAt = start + TRADE_QUOTE.mint
  const listed = quote === null ? undefined : caller.accounts[quote.mint]
  return {
    amountRaw: u64(view, start + TRADE_QUOTE.amount),
    virtualRaw: u64(view, start + TRADE_QUOTE.virtual),
    realRaw: u64(view, start + TRADE_QUOTE.real),
    mint: isZeroKey(view, mintAt) ? null : (listed ?? keyAt(data, mintAt)),
  }
}

/** Both sides' accounts; SOL lies in the user and in the curve themselves. */
const accountsOf = (
  { accounts }: SvmInstruction,
  form: Form,
  { buys, ownQuote }: { readonly buys: boolean; readonly ownQuote: boolean },
): SwapAccounts => {
  const user = accounts[form.user] ?? ''
  const curve = accounts[form.curve] ?? ''
  const quote = ownQuote ? form.quote : null
  const userQuote = quote === null ? user : (accounts[quote.user] ?? user)
  const vaultQuote = quote === null ? curve : (accounts[quote.vault] ?? curve)
  const userTokens = accounts[form.userTokens] ?? user
  const vaultTokens = accounts[form.vault] ?? curve
  return buys
    ? { userIn: userQuote, userOut: userTokens, vaultIn: vaultQuote, vaultOut: vaultTokens }
    : { userIn: userTokens, userOut: userQuote, vaultIn: vaultTokens, vaultOut: vaultQuote }
}

const readTrade: EventRow['read'] = (scope, event) => {
  const { view, caller } = event
  const form = formOf(caller.data, 0)
  if (form === undefined) return 'unknown-instruction'
  const mint = caller.accounts[form.mint]
  const pool = caller.accounts[form.curve]
  const trader = caller.accounts[form.user]
  if (mint === undefined || pool === undefined || trader === undefined) return 'missing-account'
  const quote = quoteOf(event, form)
  const quoteMint = quote.mint ?? WRAPPED_SOL
  const tokenRaw = u64(view, EVENT_START + TRADE.tokenAmount)
  if (quote.amountRaw === 0n && tokenRaw === 0n) return 'zero-amount'
  const buys = view.getUint8(EVENT_START + TRADE.isBuy) !== 0
  const realTokenRaw = u64(view, EVENT_START + TRADE.realToken)
  const atEvent = form.at === 'event'
  showPool(scope, event, { address: pool, tokenA: mint, tokenB: quoteMint })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: atEvent ? event.at : event.callerAt,
    path: pathOf(atEvent ? event.instruction : caller),
    pool,
    protocol: event.row.id,
    trader,
    tokenIn: buys ? quoteMint : mint,
    tokenOut: buys ? mint : quoteMint,
    amountInRaw: buys ? quote.amountRaw : tokenRaw,
    amountOutRaw: buys ? tokenRaw : quote.amountRaw,
    reservesInOut: buys ? [quote.realRaw, realTokenRaw] : [realTokenRaw, quote.realRaw],
    curve: {
      virtualQuoteRaw: quote.virtualRaw,
      virtualTokenRaw: u64(view, EVENT_START + TRADE.virtualToken),
      realQuoteRaw: quote.realRaw,
      realTokenRaw,
    },
    accounts: accountsOf(caller, form, { buys, ownQuote: quoteMint !== WRAPPED_SOL }),
  })
  return undefined
}

/** Behind name, symbol and address of the metadata; the first layout ended with the user. */
const CREATE = offsetsOf({ mint: 'key', curve: 'key', user: 'key' })

const CREATE_CURVE = offsetsOf({
  creator: 'key',
  timestamp: 'i64',
  virtualToken: 'u64',
  virtualSol: 'u64',
  realToken: 'u64',
  totalSupply: 'u64',
})

const CREATE_MODES = offsetsOf({ tokenProgram: 'key', mayhemMode: 'bool', cashback: 'bool' })

const CREATE_QUOTE = offsetsOf({ mint: 'key', virtual: 'u64' })

/** What every token started with before events said it. Source: pump-public-docs, PUMP_PROGRAM_README.md. */
const USUAL_REAL_TOKENS = 793_100_000_000_000n
const USUAL_SUPPLY = 1_000_000_000_000_000n
const DECIMALS = 6

const readCreate: EventRow['read'] = (scope, event) => {
  const { data, view, caller, row } = event
  const told = textsAt(data, EVENT_START, 3)
  if (told === undefined || data.length < told.end + CREATE.end) return 'short-data'
  const [name = '', symbol = '', uri = ''] = told.texts
  const curveAt = told.end + CREATE.end
  const modesAt = curveAt + CREATE_CURVE.end
  const quoteAt = modesAt + CREATE_MODES.end
  const has = (start: number, { end }: { readonly end: number }) => data.length >= start + end
  const [mint, pool, user] = [
    keyAt(data, told.end + CREATE.mint),
    keyAt(data, told.end + CREATE.curve),
    keyAt(data, told.end + CREATE.user),
  ]
  const withCurve = has(curveAt, CREATE_CURVE)
  const creator = withCurve ? keyAt(data, curveAt + CREATE_CURVE.creator) : user
  const ownQuote = has(quoteAt, CREATE_QUOTE) && !isZeroKey(view, quoteAt + CREATE_QUOTE.mint)
  const quoteMint = ownQuote ? keyAt(data, quoteAt + CREATE_QUOTE.mint) : WRAPPED_SOL
  const set = scope.newborn.mints.get(mint)
  const program = has(modesAt, CREATE_MODES) ? keyAt(data, modesAt) : set?.program
  const txIndex = scope.tx.index
  const logIndex = event.callerAt
  const path = pathOf(caller)
  scope.newborn.launched.add(mint)
  showPool(scope, event, { address: pool, tokenA: mint, tokenB: quoteMint })
  scope.out.births.push({
    kind: 'birth',
    txIndex,
    logIndex,
    path,
    fact: {
      address: mint,
      decimals: set?.decimals ?? DECIMALS,
      name,
      symbol,
      totalSupplyRaw: withCurve ? u64(view, curveAt + CREATE_CURVE.totalSupply) : USUAL_SUPPLY,
      uri,
      ...(program !== undefined && { program }),
    },
    dev: user,
    creators: [creator],
    launch: { protocol: row.id, pool },
  })
  const realRaw = withCurve ? u64(view, curveAt + CREATE_CURVE.realToken) : USUAL_REAL_TOKENS
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex,
    logIndex,
    path,
    pool,
    protocol: row.id,
    owner: user,
    tokenA: mint,
    tokenB: quoteMint,
    amountARaw: realRaw,
    amountBRaw: 0n,
    reserves: [realRaw, 0n],
    ...(withCurve && {
      curve: {
        virtualQuoteRaw: has(quoteAt, CREATE_QUOTE)
          ? u64(view, quoteAt + CREATE_QUOTE.virtual)
          : u64(view, curveAt + CREATE_CURVE.virtualSol),
        virtualTokenRaw: u64(view, curveAt + CREATE_CURVE.virtualToken),
        realQuoteRaw: 0n,
        realTokenRaw: realRaw,
      },
    }),
  })
  return undefined
}

const MIGRATED = offsetsOf({
  user: 'key',
  mint: 'key',
  mintAmount: 'u64',
  solAmount: 'u64',
  migrationFee: 'u64',
  curve: 'key',
  timestamp: 'i64',
  pool: 'key',
})

const readMigrated: EventRow['read'] = (scope, { data, row, caller, callerAt }) => {
  scope.out.migrations.push({
    kind: 'migration',
    txIndex: scope.tx.index,
    logIndex: callerAt,
    path: pathOf(caller),
    token: keyAt(data, EVENT_START + MIGRATED.mint),
    from: { protocol: row.id, pool: keyAt(data, EVENT_START + MIGRATED.curve) },
    to: { protocol: 'pumpswap', pool: keyAt(data, EVENT_START + MIGRATED.pool) },
  })
  return undefined
}

/** The pump.fun launchpad and its curves; contract/chains.md 4.2. Source: pump-fun/pump-public-docs idl/pump.json. */
export const pumpFun: SvmFamily = {
  family: 'pump_fun',
  reader: selfCalls({
    bddb7fd34ee661ee: { bytes: TRADE.end, read: readTrade }, // TradeEvent
    '1b72a94ddeeb6376': { bytes: CREATE.end, read: readCreate }, // CreateEvent
    bde95db95c94ea94: { bytes: MIGRATED.end, read: readMigrated }, // CompletePumpAmmMigrationEvent
  }),
}
