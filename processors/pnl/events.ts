import { decimalText, USD_PLACES, unitsNumber, unitsText, usdText } from '../../core/amounts.ts'
import type { WalletTokenPnlEvent, WalletTradePnlEvent } from '../../schemas/wire.ts'
import { over, valueText } from '../runtime/valuation.ts'
import { type Deal, type Outcome, type Position, tradesWithin } from './position.ts'

/** A wallet and a token. */
export interface Holder {
  readonly wallet: string
  readonly token: string
}

const unitsOrNone = (raw: bigint, decimals: number | null): string =>
  decimals === null ? '' : unitsText(raw, decimals)

const usdNumber = (raw: bigint): number => unitsNumber(raw, USD_PLACES)

/** A ratio to the lifetime cost; 0 without any (contract/rest.md 4.4). */
const ratioText = (profit: number, cost: number): string =>
  decimalText(cost === 0 ? 0 : profit / cost)

const average = (usd: bigint, raw: bigint, decimals: number | null): string =>
  decimalText(decimals === null ? null : over(usdNumber(usd), unitsNumber(raw, decimals)))

/** Quantity at the token's last believed price, less its cost; null where one of them is not known. */
const unrealizedOf = ({ heldRaw, costUsd, decimals, priceUsd }: Position): number | null => {
  if (heldRaw === 0n) return 0
  if (decimals === null || priceUsd === '') return null
  return unitsNumber(heldRaw, decimals) * Number(priceUsd) - usdNumber(costUsd)
}

/** The state of a position on the wire. Window counts end with the day of its newest trade. */
export const pnlEvent = (
  { wallet, token }: Holder,
  position: Position,
  version: number,
): WalletTokenPnlEvent => {
  const { decimals, openMs, closeMs, lastMs } = position
  const week = tradesWithin(position, 7)
  const month = tradesWithin(position, 30)
  const held = unitsOrNone(position.heldRaw, decimals)
  const spent = usdNumber(position.boughtUsd)
  const unrealized = unrealizedOf(position)
  return {
    wallet_address: wallet,
    token_address: token,
    token_price_in_usd: position.priceUsd,
    open_time: openMs,
    close_time: closeMs,
    last_time: lastMs,
    balance: held,
    buy_amount: unitsOrNone(position.boughtRaw, decimals),
    buy_amount_in_usd: valueText(position.boughtUsd),
    buys: position.buys,
    buys_7d: week.buys,
    buys_30d: month.buys,
    sell_amount: unitsOrNone(position.soldRaw, decimals),
    sell_amount_in_usd: valueText(position.soldUsd),
    sells: position.sells,
    sells_7d: week.sells,
    sells_30d: month.sells,
    held_duration_ms: openMs === 0 ? 0 : (closeMs === 0 ? lastMs : closeMs) - openMs,
    average_buy_price_in_usd: average(position.boughtUsd, position.boughtRaw, decimals),
    average_sell_price_in_usd: average(position.soldUsd, position.soldRaw, decimals),
    unrealized_profit_in_usd: usdText(unrealized),
    unrealized_profit_ratio: unrealized === null ? '' : ratioText(unrealized, spent),
    realized_profit_in_usd: valueText(position.realizedUsd),
    realized_profit_ratio: ratioText(usdNumber(position.realizedUsd), spent),
    total_realized_profit_in_usd: valueText(position.totalRealizedUsd),
    total_realized_profit_ratio: ratioText(usdNumber(position.totalRealizedUsd), spent),
    position_amount: held,
    position_cost_in_usd: valueText(position.costUsd),
    first_time: position.firstMs,
    wins: position.wins,
    losses: position.losses,
    version,
  }
}

/** What one trade did, on the wire. */
export const pnlTrade = (
  { wallet, token }: Holder,
  deal: Deal,
  { position, realizedUsd, costUsd, unknownRaw }: Outcome,
  place: { readonly tx: string; readonly eventIndex: number },
): WalletTradePnlEvent => ({
  wallet_address: wallet,
  token_address: token,
  time: deal.timeMs,
  tx: place.tx,
  event_index: place.eventIndex,
  side: deal.buy ? 'BUY' : 'SELL',
  amount: unitsOrNone(deal.amountRaw, position.decimals),
  amount_in_usd: deal.usd === null ? '' : valueText(deal.usd),
  realized_profit_in_usd: valueText(realizedUsd),
  cost_in_usd: valueText(costUsd),
  unknown_amount: unitsOrNone(unknownRaw, position.decimals),
  position_amount: unitsOrNone(position.heldRaw, position.decimals),
  position_cost_in_usd: valueText(position.costUsd),
})
