import type { CurveState, SwapAccounts } from '../../../schemas/events.ts'
import { i128, isZeroKey, keyAt, offsetsOf, u64 } from '../layout/layout.ts'
import { holderOf, pathOf, type SvmScope, showPool } from './tx-context.ts'
import { type CpiEvent, EVENT_START } from './types.ts'

/** Where an instruction names its accounts. */
export interface Form {
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
export type Named = { readonly [K in keyof Form]: string }

/** Both directions of a trade have this layout: what was traded, its limit, then reserves before it. */
export const TRADED = offsetsOf({
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
const CREATOR = offsetsOf({ address: 'key', feeBasisPoints: 'u64', fee: 'u64' })

/** Behind that, of purchases only and before the name of the instruction, a text. */
const VOLUME = offsetsOf({
  tracked: 'bool',
  unclaimedTokens: 'u64',
  claimedTokens: 'u64',
  currentSol: 'u64',
  lastUpdate: 'i64',
  leastBase: 'u64',
})

/** Last of both, since July 2026 with what the pool prices with beside its vault, before the trade. */
const TAIL = offsetsOf({
  cashbackBasisPoints: 'u64',
  cashback: 'u64',
  buybackBasisPoints: 'u64',
  buybackFee: 'u64',
  virtualQuote: 'i128',
})

/** A number of an event, by its offset among the fields. */
export const amount = ({ view }: CpiEvent, offset: number): bigint =>
  u64(view, EVENT_START + offset)

const creatorAt = EVENT_START + TRADED.end

/** Where the tail starts; undefined where the event ends before. */
const tailAt = ({ view }: CpiEvent, buys: boolean): number | undefined => {
  const behind = creatorAt + CREATOR.end
  if (!buys) return behind
  const name = behind + VOLUME.end
  return view.byteLength < name + 4 ? undefined : name + 4 + view.getUint32(name, true)
}

/**
 * What a user paid or got. A purchase for an exact amount of the quote states the whole of it where others state it without fees, so
 * of a purchase the larger of the two is what was paid.
 */
const userQuoteOf = (event: CpiEvent, buys: boolean): bigint => {
  const userRaw = amount(event, TRADED.userQuoteAmount)
  const quoteRaw = amount(event, TRADED.quoteAmount)
  return buys && quoteRaw > userRaw ? quoteRaw : userRaw
}

/** Fees that stay in the vault until they are swept: where nobody is named to get them, all but what buys back. */
const keptOf = (event: CpiEvent, tail: number | undefined): bigint => {
  const { view } = event
  if (tail === undefined || view.byteLength < tail + TAIL.virtualQuote) return 0n
  if (!isZeroKey(view, EVENT_START + TRADED.protocolFeeRecipient)) return 0n
  const fees = amount(event, TRADED.protocolFee) + u64(view, creatorAt + CREATOR.fee)
  const boughtBack = u64(view, tail + TAIL.buybackFee)
  return fees > boughtBack ? fees - boughtBack : 0n
}

/** The pool's reserves around a trade, base and quote in the pool's own words. */
interface Around {
  readonly before: readonly [base: bigint, quote: bigint]
  readonly after: readonly [base: bigint, quote: bigint]
  /** Set where the pool prices with more than its vault holds, or with less. */
  readonly curve?: CurveState
}

const reservesOf = (event: CpiEvent, buys: boolean): Around => {
  const { view } = event
  const [base, quote] = [amount(event, TRADED.poolBase), amount(event, TRADED.poolQuote)]
  const [baseRaw, quoteRaw] = [
    amount(event, TRADED.baseAmount),
    amount(event, TRADED.poolQuoteAmount),
  ]
  const tail = tailAt(event, buys)
  const priced = buys ? quote + quoteRaw : quote - quoteRaw
  const after = [buys ? base - baseRaw : base + baseRaw, priced + keptOf(event, tail)] as const
  const before = [base, quote] as const
  const isTold = tail !== undefined && view.byteLength >= tail + TAIL.end
  const virtualRaw = isTold ? i128(view, tail + TAIL.virtualQuote) : 0n
  if (virtualRaw === 0n) return { before, after }
  return {
    before,
    after,
    curve: {
      virtualQuoteRaw: priced + virtualRaw,
      virtualTokenRaw: after[0],
      realQuoteRaw: after[1],
      realTokenRaw: after[0],
    },
  }
}

/** Where a route's hops start, and how many accounts each has: base, quote, pool, vault of the base, vault of the quote. */
const HOPS_START = 16
const HOP = { base: -2, quote: -1, baseVault: 1, quoteVault: 2 } as const

/** Accounts of the hop that an event is of; the reason when they are not there or hold other tokens. */
export const hopOf = (scope: SvmScope, { data, caller }: CpiEvent): Named | string => {
  const { accounts } = caller
  const pool = keyAt(data, EVENT_START + TRADED.pool)
  const at = accounts.indexOf(pool, HOPS_START - HOP.base)
  const [user, first, second] = accounts
  const [base, quote] = [accounts[at + HOP.base], accounts[at + HOP.quote]]
  const [baseVault, quoteVault] = [accounts[at + HOP.baseVault], accounts[at + HOP.quoteVault]]
  if (at === -1 || !user || !first || !second || !base || !quote || !baseVault || !quoteVault) {
    return 'missing-account'
  }
  const mintOf = (account: string): string | undefined => holderOf(scope, account)?.mint
  if (mintOf(baseVault) !== base || mintOf(quoteVault) !== quote) return 'unknown-account'
  const ownOf = (mint: string): string =>
    [first, second].find((account) => mintOf(account) === mint) ?? user
  return {
    ...{ pool, user, base, quote, baseVault, quoteVault },
    ...{ userBase: ownOf(base), userQuote: ownOf(quote) },
  }
}

const accountsOf = (named: Named, buys: boolean): SwapAccounts => {
  const { userBase, userQuote, baseVault, quoteVault } = named
  return buys
    ? { userIn: userQuote, userOut: userBase, vaultIn: quoteVault, vaultOut: baseVault }
    : { userIn: userBase, userOut: userQuote, vaultIn: baseVault, vaultOut: quoteVault }
}

/**
 * Takes a trade between these accounts; the reason when it is none. The words base and quote are the pool's: what is the pair's
 * base is not asked here. Several hops of one instruction stand at their events.
 */
export const takeTrade = (
  scope: SvmScope,
  event: CpiEvent,
  {
    named,
    buys,
    at,
  }: { readonly named: Named; readonly buys: boolean; readonly at: 'caller' | 'event' },
): string | undefined => {
  const baseRaw = amount(event, TRADED.baseAmount)
  const quoteRaw = userQuoteOf(event, buys)
  if (baseRaw === 0n && quoteRaw === 0n) return 'zero-amount'
  const { pool, base, quote } = named
  showPool(scope, event, { address: pool, tokenA: base, tokenB: quote })
  const { before, after, curve } = reservesOf(event, buys)
  const inOut = ([ofBase, ofQuote]: readonly [bigint, bigint]): readonly [bigint, bigint] =>
    buys ? [ofQuote, ofBase] : [ofBase, ofQuote]
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at === 'event' ? event.at : event.callerAt,
    path: pathOf(at === 'event' ? event.instruction : event.caller),
    pool,
    protocol: event.row.id,
    trader: named.user,
    tokenIn: buys ? quote : base,
    tokenOut: buys ? base : quote,
    amountInRaw: buys ? quoteRaw : baseRaw,
    amountOutRaw: buys ? baseRaw : quoteRaw,
    reservesInOut: inOut(after),
    reservesBeforeInOut: inOut(before),
    accounts: accountsOf(named, buys),
    ...(curve && { curve }),
  })
  return undefined
}
