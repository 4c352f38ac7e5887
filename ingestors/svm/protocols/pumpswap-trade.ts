import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { CurveState, SwapAccounts } from '../../../schemas/events.ts'
import { fieldOffsets, i128, isDefaultPubkey, readPubkey, u64 } from '../layout/borsh-layout.ts'
import { instructionPath, registerPool, type SvmTxContext, tokenAccountOf } from './tx-context.ts'
import { EVENT_FIELDS_OFFSET, eventU64, type ProgramEvent } from './types.ts'

/** Where an instruction names its accounts. */
export interface AccountLayout {
  readonly pool: number
  readonly user: number
  readonly base: number
  readonly quote: number
  readonly userBase: number
  readonly userQuote: number
  readonly baseVault: number
  readonly quoteVault: number
}

/** The same accounts by their addresses. The mints are in no event: the program checked those of its instruction. */
export type AccountsByName = { readonly [K in keyof AccountLayout]: string }

/** Both directions of a trade have this layout: what was traded, its limit, then reserves before it. */
export const TRADE_EVENT = fieldOffsets({
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
  /** What the user paid or got; of a buy that names what is paid, what is left of it behind all fees. */
  userQuoteAmount: 'u64',
  pool: 'key',
  user: 'key',
  userBaseAccount: 'key',
  userQuoteAccount: 'key',
  protocolFeeRecipient: 'key',
  protocolFeeRecipientAccount: 'key',
})

/** Behind it, since spring 2025. */
const CREATOR_FEE = fieldOffsets({ address: 'key', feeBasisPoints: 'u64', fee: 'u64' })

/** Behind that, of purchases only and before the name of the instruction, a text. */
const VOLUME_TRACKING = fieldOffsets({
  tracked: 'bool',
  unclaimedTokens: 'u64',
  claimedTokens: 'u64',
  currentSol: 'u64',
  lastUpdate: 'i64',
  leastBase: 'u64',
})

/** Last of both, since July 2026 with what the pool prices with beside its vault, before the trade. */
const CASHBACK_AND_VIRTUAL_QUOTE = fieldOffsets({
  cashbackBasisPoints: 'u64',
  cashback: 'u64',
  buybackBasisPoints: 'u64',
  buybackFee: 'u64',
  virtualQuote: 'i128',
})

const CREATOR_FEE_OFFSET = EVENT_FIELDS_OFFSET + TRADE_EVENT.end

/** Where the tail starts; undefined where the event ends before. */
const cashbackOffset = ({ view }: ProgramEvent, buys: boolean): number | undefined => {
  const behind = CREATOR_FEE_OFFSET + CREATOR_FEE.end
  if (!buys) return behind
  const name = behind + VOLUME_TRACKING.end
  return view.byteLength < name + 4 ? undefined : name + 4 + view.getUint32(name, true)
}

/**
 * What a user paid or got. A purchase for an exact amount of the quote states the whole of it where others state it without fees, so
 * of a purchase the larger of the two is what was paid.
 */
const userQuoteRaw = (event: ProgramEvent, buys: boolean): bigint => {
  const userRaw = eventU64(event, TRADE_EVENT.userQuoteAmount)
  const quoteRaw = eventU64(event, TRADE_EVENT.quoteAmount)
  return buys && quoteRaw > userRaw ? quoteRaw : userRaw
}

/** Fees that stay in the vault until they are swept: where no node is named to get them, all but what buys back. */
const feesKeptInVault = (event: ProgramEvent, tail: number | undefined): bigint => {
  const { view } = event
  if (tail === undefined || view.byteLength < tail + CASHBACK_AND_VIRTUAL_QUOTE.virtualQuote)
    return 0n
  if (!isDefaultPubkey(view, EVENT_FIELDS_OFFSET + TRADE_EVENT.protocolFeeRecipient)) return 0n
  const fees =
    eventU64(event, TRADE_EVENT.protocolFee) + u64(view, CREATOR_FEE_OFFSET + CREATOR_FEE.fee)
  const boughtBack = u64(view, tail + CASHBACK_AND_VIRTUAL_QUOTE.buybackFee)
  return fees > boughtBack ? fees - boughtBack : 0n
}

/** The pool's reserves around a trade, base and quote in the pool's own words. */
interface ReserveChange {
  readonly before: readonly [base: bigint, quote: bigint]
  readonly after: readonly [base: bigint, quote: bigint]
  /** What it prices with beside its vault of the quote. */
  readonly virtualQuote: bigint
  /** Quote that it prices with after the trade, beside that: what its vault holds but for fees of others. */
  readonly pricedQuote: bigint
}

const reserveChangeOf = (event: ProgramEvent, buys: boolean): ReserveChange => {
  const { view } = event
  const [base, quote] = [
    eventU64(event, TRADE_EVENT.poolBase),
    eventU64(event, TRADE_EVENT.poolQuote),
  ]
  const [baseRaw, quoteRaw] = [
    eventU64(event, TRADE_EVENT.baseAmount),
    eventU64(event, TRADE_EVENT.poolQuoteAmount),
  ]
  const tail = cashbackOffset(event, buys)
  const priced = buys ? quote + quoteRaw : quote - quoteRaw
  const after = [
    buys ? base - baseRaw : base + baseRaw,
    priced + feesKeptInVault(event, tail),
  ] as const
  const before = [base, quote] as const
  const isReported = tail !== undefined && view.byteLength >= tail + CASHBACK_AND_VIRTUAL_QUOTE.end
  const virtualQuote = isReported ? i128(view, tail + CASHBACK_AND_VIRTUAL_QUOTE.virtualQuote) : 0n
  return { before, after, virtualQuote, pricedQuote: priced }
}

/** Set where the pool prices with more than its vault holds, or with less. */
const curveOf = ({ after, virtualQuote, pricedQuote }: ReserveChange): CurveState | undefined =>
  virtualQuote === 0n
    ? undefined
    : {
        virtualQuoteRaw: pricedQuote + virtualQuote,
        virtualTokenRaw: after[0],
        realQuoteRaw: after[1],
        realTokenRaw: after[0],
      }

/** A basis point in hundredths of one. */
const PIPS_PER_BASIS_POINT = 100

/** Fees that a trade was charged, hundredths of a basis point: for liquidity, the protocol, the creator, and what traders get back. */
const feePipsOf = (event: ProgramEvent, buys: boolean): readonly number[] => {
  const { view } = event
  const tail = cashbackOffset(event, buys)
  const hasCreator = view.byteLength >= CREATOR_FEE_OFFSET + CREATOR_FEE.end
  const hasCashback =
    tail !== undefined && view.byteLength >= tail + CASHBACK_AND_VIRTUAL_QUOTE.buybackBasisPoints
  const basisPoints = [
    eventU64(event, TRADE_EVENT.lpFeeBasisPoints),
    eventU64(event, TRADE_EVENT.protocolFeeBasisPoints),
    hasCreator ? u64(view, CREATOR_FEE_OFFSET + CREATOR_FEE.feeBasisPoints) : 0n,
    hasCashback ? u64(view, tail + CASHBACK_AND_VIRTUAL_QUOTE.cashbackBasisPoints) : 0n,
  ]
  return basisPoints.map((part) => Number(part) * PIPS_PER_BASIS_POINT)
}

/** Where a route's hops start, and how many accounts each has: base, quote, pool, vault of the base, vault of the quote. */
const HOPS_START = 16
const HOP_LAYOUT = { base: -2, quote: -1, baseVault: 1, quoteVault: 2 } as const

/** Accounts of the hop that an event is of; the reason when they are not there or hold other tokens. */
export const hopAccounts = (
  scope: SvmTxContext,
  { data, caller }: ProgramEvent,
): AccountsByName | DropReason => {
  const { accounts } = caller
  const pool = readPubkey(data, EVENT_FIELDS_OFFSET + TRADE_EVENT.pool)
  const at = accounts.indexOf(pool, HOPS_START - HOP_LAYOUT.base)
  const [user, first, second] = accounts
  const [base, quote] = [accounts[at + HOP_LAYOUT.base], accounts[at + HOP_LAYOUT.quote]]
  const [baseVault, quoteVault] = [
    accounts[at + HOP_LAYOUT.baseVault],
    accounts[at + HOP_LAYOUT.quoteVault],
  ]
  if (at === -1 || !user || !first || !second || !base || !quote || !baseVault || !quoteVault) {
    return 'missing-account'
  }
  const mintOf = (account: string): string | undefined => tokenAccountOf(scope, account)?.mint
  if (mintOf(baseVault) !== base || mintOf(quoteVault) !== quote) return 'unknown-account'
  const ownOf = (mint: string): string =>
    [first, second].find((account) => mintOf(account) === mint) ?? user
  return {
    pool,
    user,
    base,
    quote,
    baseVault,
    quoteVault,
    userBase: ownOf(base),
    userQuote: ownOf(quote),
  }
}

const swapAccountsOf = (named: AccountsByName, buys: boolean): SwapAccounts => {
  const { userBase, userQuote, baseVault, quoteVault } = named
  return buys
    ? { userIn: userQuote, userOut: userBase, vaultIn: quoteVault, vaultOut: baseVault }
    : { userIn: userBase, userOut: userQuote, vaultIn: baseVault, vaultOut: quoteVault }
}

/**
 * Takes a trade between these accounts; the reason when it is none. The words base and quote are the pool's: what is the pair's
 * base is not asked here. Several hops of one instruction stand at their events.
 */
export const addTrade = (
  scope: SvmTxContext,
  event: ProgramEvent,
  {
    named,
    buys,
    at,
    isCharged,
  }: {
    readonly named: AccountsByName
    readonly buys: boolean
    readonly at: 'caller' | 'event'
    /** The trade paid the pool's fees: they are those of the next one. */
    readonly isCharged: boolean
  },
): DropReason | undefined => {
  const baseRaw = eventU64(event, TRADE_EVENT.baseAmount)
  const quoteRaw = userQuoteRaw(event, buys)
  if (baseRaw === 0n && quoteRaw === 0n) return 'zero-amount'
  const { pool, base, quote } = named
  registerPool(scope, event, { address: pool, tokenA: base, tokenB: quote })
  const change = reserveChangeOf(event, buys)
  const { before, after, virtualQuote, pricedQuote } = change
  const curve = curveOf(change)
  const inOut = ([ofBase, ofQuote]: readonly [bigint, bigint]): readonly [bigint, bigint] =>
    buys ? [ofQuote, ofBase] : [ofBase, ofQuote]
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at === 'event' ? event.at : event.callerIndex,
    path: instructionPath(at === 'event' ? event.instruction : event.caller),
    pool,
    protocol: event.row.id,
    trader: named.user,
    tokenIn: buys ? quote : base,
    tokenOut: buys ? base : quote,
    amountInRaw: buys ? quoteRaw : baseRaw,
    amountOutRaw: buys ? baseRaw : quoteRaw,
    reservesInOut: inOut(after),
    reservesBeforeInOut: inOut(before),
    accounts: swapAccountsOf(named, buys),
    ...(curve && { curve }),
    pricing: {
      reserves: inOut([after[0], pricedQuote + virtualQuote]),
      found: inOut([before[0], before[1] + virtualQuote]),
      feePips: isCharged ? feePipsOf(event, buys) : [],
      feeToken: quote,
    },
  })
  return undefined
}
