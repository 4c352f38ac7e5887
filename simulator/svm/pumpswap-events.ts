import { PUMPSWAP_FEES } from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import type { Launch } from './launches.ts'
import type { EventContext } from './pump-fun-events.ts'

/** A trade in a PumpSwap pool; the reserves and the user's tokens are those before it. */
export interface PumpSwapTrade {
  readonly isBuy: boolean
  readonly base: bigint
  /** Most to pay (buy) or fewest to get (sell). */
  readonly limit: bigint
  /** Quote at the pool's price, before any fee. */
  readonly quote: bigint
  readonly lpFee: bigint
  readonly protocolFee: bigint
  readonly creatorFee: bigint
  readonly poolBase: bigint
  readonly poolQuote: bigint
  readonly userBase: bigint
  readonly userQuote: bigint
}

/** What the pool gets (buy) or gives (sell): its own fee stays with it. */
export const poolQuoteDelta = ({ isBuy, quote, lpFee }: PumpSwapTrade): bigint =>
  isBuy ? quote + lpFee : quote - lpFee

/** What the user pays (buy) or gets (sell), all fees counted. */
export const userQuoteDelta = (trade: PumpSwapTrade): bigint => {
  const fees = trade.protocolFee + trade.creatorFee
  return trade.isBuy ? poolQuoteDelta(trade) + fees : poolQuoteDelta(trade) - fees
}

const appendAccounts = (
  event: BorshWriter,
  { launch, user, scenario }: EventContext,
): BorshWriter =>
  event
    .pubkey(launch.pool)
    .pubkey(user.account)
    .pubkey(launch.holding(user))
    .pubkey(user.wsol)
    .pubkey(scenario.ammFeeOwner)
    .pubkey(scenario.ammFeeVault)

/** BuyEvent and SellEvent in the layout of their token. */
export const swapEvent = (facts: EventContext, trade: PumpSwapTrade): Uint8Array => {
  const { isBuy, base, limit, quote } = trade
  const event = new BorshWriter().hex(isBuy ? '67f4521f2cf57777' : '3e2f370aa503dc2a')
  event.i64(facts.timeSec).u64(base).u64(limit).u64(trade.userBase).u64(trade.userQuote)
  event.u64(trade.poolBase).u64(trade.poolQuote).u64(quote)
  event.u64(PUMPSWAP_FEES.lp).u64(trade.lpFee).u64(PUMPSWAP_FEES.protocol).u64(trade.protocolFee)
  event.u64(poolQuoteDelta(trade)).u64(userQuoteDelta(trade))
  appendAccounts(event, facts)
  if (facts.launch.eventLayout === 'first') return event.toBytes()
  event.pubkey(facts.launch.creator.account).u64(PUMPSWAP_FEES.creator).u64(trade.creatorFee)
  if (isBuy) event.bool(true).u64(0n).u64(0n).u64(0n).i64(0).u64(base).text('buy')
  event.u64(0n).u64(0n)
  if (facts.launch.eventLayout === '2025') return event.toBytes()
  return event.u64(0n).u64(0n).toBytes()
}

/** CreatePoolEvent of a graduation. */
export const createPoolEvent = (
  launch: Launch,
  { timeSec }: { readonly timeSec: number },
  made: { readonly base: bigint; readonly quote: bigint; readonly shares: bigint },
): Uint8Array => {
  const { base, quote, shares } = made
  const event = new BorshWriter()
    .hex('b1310cd2a076a774')
    .i64(timeSec)
    .u16(0)
    .pubkey(launch.authority)
  event.pubkey(launch.mint.account).pubkey(KNOWN_ACCOUNTS.wsol).u8(launch.mint.decimals).u8(9)
  event.u64(base).u64(quote).u64(base).u64(quote)
  event
    .u64(LOCKED_LP_TOKENS)
    .u64(shares)
    .u64(shares - LOCKED_LP_TOKENS)
    .u8(POOL_BUMP)
  event.pubkey(launch.pool).pubkey(launch.lpMint.account)
  event.pubkey(launch.authorityBase).pubkey(launch.authorityQuote)
  return event.pubkey(launch.creator.account).bool(false).toBytes()
}

/** Shares of a new pool without a recipient. Source: recorded CreatePoolEvent. */
export const LOCKED_LP_TOKENS = 100n
const POOL_BUMP = 248
