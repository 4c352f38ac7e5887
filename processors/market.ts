import { decimalNumber, decimalText, unitsText } from '../core/amounts.ts'
import type {
  MarketCap,
  TokenEvent,
  TokenSupplyEvent,
  TradeEvent,
  Transfer,
  TransferProcessed,
} from '../schemas/wire.ts'
import { times, unitsOf } from './trade.ts'

/** Last good price of a token and its supply. */
export interface Market {
  readonly usd: number | null
  readonly native: number | null
  /** Token units as text; "" = unknown. */
  readonly supply: string
}

/** A token of which neither is known. */
export const NO_MARKET: Market = { usd: null, native: null, supply: '' }

/** The market after a trade: its price counts unless it is suspect, failed or has none. */
export const afterTrade = (
  { usd, native, supply }: Market,
  { trade_processed: processed, transaction }: TradeEvent,
): Market => {
  const price = decimalNumber(processed?.token_a_price_in_usd ?? '')
  const counts =
    processed !== null &&
    !processed.is_token_a_price_in_usd_suspect &&
    transaction?.status !== 'STATUS_FAILED' &&
    price !== null &&
    price > 0
  return counts
    ? { usd: price, native: decimalNumber(processed.token_a_price_in_native), supply }
    : { usd, native, supply }
}

/** The market after a supply event that tells the supply behind it. */
export const afterSupply = (market: Market, { token_supply: supply }: TokenSupplyEvent): Market => {
  const after = supply?.post_amount_with_decimals ?? ''
  return after === '' ? market : { ...market, supply: after }
}

/** The market after facts of its token: they count until a supply event says more. */
export const afterFacts = (market: Market, { token }: TokenEvent): Market => {
  const raw = token?.additional_metadata.total_supply
  if (market.supply !== '' || raw === undefined || token === null || token.decimals === -1) {
    return market
  }
  return { ...market, supply: unitsText(BigInt(raw), token.decimals) }
}

/** Price times total supply; "" where either is unknown. */
export const capOf = (token: string, { usd, native, supply }: Market): MarketCap => {
  const units = decimalNumber(supply)
  return {
    token_address: token,
    total_supply_amount: supply,
    market_cap_in_native: decimalText(times(units, native)),
    market_cap_in_usd: decimalText(times(units, usd)),
  }
}

/** A transfer's worth at its token's price; "" where that is unknown. */
export const worthOf = (
  { token_amount: amount, token_decimals: decimals }: Transfer,
  { usd, native }: Pick<Market, 'usd' | 'native'>,
): TransferProcessed => {
  const units = unitsOf(amount, decimals)
  return {
    token_amount_in_native: decimalText(times(units, native)),
    token_amount_in_usd: decimalText(times(units, usd)),
    token_price_in_native: decimalText(native),
    token_price_in_usd: decimalText(usd),
  }
}
