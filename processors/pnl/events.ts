import {
  formatDecimal,
  formatUnits,
  formatUsd,
  USD_DECIMALS,
  unitsToNumber,
} from '../../core/amounts.ts'
import type { WalletTokenPnlEvent, WalletTradePnlEvent } from '../../schemas/wire.ts'
import { divide, fixedPointText } from '../runtime/valuation.ts'
import {
  type Position,
  type PositionTrade,
  type PositionUpdate,
  tradesInLastDays,
} from './position.ts'

/** A wallet and a token. */
export interface WalletToken {
  readonly wallet: string
  readonly token: string
}

const unitsOrEmpty = (raw: bigint, decimals: number | null): string =>
  decimals === null ? '' : formatUnits(raw, decimals)

const usdNumber = (raw: bigint): number => unitsToNumber(raw, USD_DECIMALS)

/** A ratio to the lifetime cost; 0 without any. */
const ratioText = (profit: number, cost: number): string =>
  formatDecimal(cost === 0 ? 0 : profit / cost)

const averagePrice = (usd: bigint, raw: bigint, decimals: number | null): string =>
  formatDecimal(decimals === null ? null : divide(usdNumber(usd), unitsToNumber(raw, decimals)))

/** Quantity at the token's last believed price, less its cost; null where one of them is not known. */
const unrealizedProfit = ({ heldRaw, costUsd, decimals, priceUsd }: Position): number | null => {
  if (heldRaw === 0n) return 0
  if (decimals === null || priceUsd === '') return null
  return unitsToNumber(heldRaw, decimals) * Number(priceUsd) - usdNumber(costUsd)
}

/** The state of a position on the wire. Window counts end with the day of its newest trade. */
export const pnlEvent = (
  { wallet, token }: WalletToken,
  position: Position,
  version: number,
): WalletTokenPnlEvent => {
  const { decimals, openMs, closeMs, lastMs } = position
  const week = tradesInLastDays(position, 7)
  const month = tradesInLastDays(position, 30)
  const held = unitsOrEmpty(position.heldRaw, decimals)
  const spent = usdNumber(position.boughtUsd)
  const unrealized = unrealizedProfit(position)
  return {
    wallet_address: wallet,
    token_address: token,
    token_price_in_usd: position.priceUsd,
    open_time: openMs,
    close_time: closeMs,
    last_time: lastMs,
    balance: held,
    buy_amount: unitsOrEmpty(position.boughtRaw, decimals),
    buy_amount_in_usd: fixedPointText(position.boughtUsd),
    buys: position.buys,
    buys_7d: week.buys,
    buys_30d: month.buys,
    sell_amount: unitsOrEmpty(position.soldRaw, decimals),
    sell_amount_in_usd: fixedPointText(position.soldUsd),
    sells: position.sells,
    sells_7d: week.sells,
    sells_30d: month.sells,
    held_duration_ms: openMs === 0 ? 0 : (closeMs === 0 ? lastMs : closeMs) - openMs,
    average_buy_price_in_usd: averagePrice(position.boughtUsd, position.valuedBoughtRaw, decimals),
    average_sell_price_in_usd: averagePrice(position.soldUsd, position.valuedSoldRaw, decimals),
    unrealized_profit_in_usd: formatUsd(unrealized),
    unrealized_profit_ratio: unrealized === null ? '' : ratioText(unrealized, spent),
    realized_profit_in_usd: fixedPointText(position.realizedUsd),
    realized_profit_ratio: ratioText(usdNumber(position.realizedUsd), spent),
    total_realized_profit_in_usd: fixedPointText(position.totalRealizedUsd),
    total_realized_profit_ratio: ratioText(usdNumber(position.totalRealizedUsd), spent),
    position_amount: held,
    position_cost_in_usd: fixedPointText(position.costUsd),
    first_time: position.firstMs,
    wins: position.wins,
    losses: position.losses,
    version,
    valued_buy_amount: unitsOrEmpty(position.valuedBoughtRaw, decimals),
    valued_sell_amount: unitsOrEmpty(position.valuedSoldRaw, decimals),
  }
}

/** What one trade did, on the wire. */
export const tradePnlEvent = (
  { wallet, token }: WalletToken,
  trade: PositionTrade,
  { position, realizedUsd, costUsd, unknownRaw }: PositionUpdate,
  instructionPosition: { readonly tx: string; readonly eventIndex: number },
): WalletTradePnlEvent => ({
  wallet_address: wallet,
  token_address: token,
  time: trade.timeMs,
  tx: instructionPosition.tx,
  event_index: instructionPosition.eventIndex,
  side: trade.buy ? 'BUY' : 'SELL',
  amount: unitsOrEmpty(trade.amountRaw, position.decimals),
  amount_in_usd: trade.usd === null ? '' : fixedPointText(trade.usd),
  realized_profit_in_usd: fixedPointText(realizedUsd),
  cost_in_usd: fixedPointText(costUsd),
  unknown_amount: unitsOrEmpty(unknownRaw, position.decimals),
  position_amount: unitsOrEmpty(position.heldRaw, position.decimals),
  position_cost_in_usd: fixedPointText(position.costUsd),
})
