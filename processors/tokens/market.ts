import { formatDecimal, formatUnits, parseDecimal, parseUnits } from '../../core/amounts.ts'
import { isExecutedTrade } from '../../core/executed-trade.ts'
import type {
  MarketCap,
  TokenEvent,
  TokenSupplyEvent,
  TradeEvent,
  Transfer,
  TransferProcessed,
} from '../../schemas/wire.ts'
import { multiply, tokenUnits } from '../runtime/valuation.ts'
import type { BurnAccountChange } from './burns.ts'

/** Last good price of a token, its supply, and what of it lies at burn addresses. */
export interface Market {
  readonly usd: number | null
  readonly native: number | null
  /** Token units as text; "" = unknown. */
  readonly supply: string
  /** Token units as text. */
  readonly burnt: string
}

/** A token of which nothing is known. */
export const NO_MARKET: Market = { usd: null, native: null, supply: '', burnt: '0' }

/** True where two markets say the same. */
export const isSameMarket = (one: Market, other: Market): boolean =>
  one.usd === other.usd &&
  one.native === other.native &&
  one.supply === other.supply &&
  one.burnt === other.burnt

/** The market after a trade: its price counts unless it is suspect, failed or has none. */
export const afterTrade = (market: Market, event: TradeEvent): Market => {
  const { trade_processed: processed } = event
  const price = parseDecimal(processed?.token_a_price_in_usd ?? '')
  const counts =
    processed !== null &&
    !processed.is_token_a_price_in_usd_suspect &&
    isExecutedTrade(event) &&
    price !== null &&
    price > 0
  return counts
    ? { ...market, usd: price, native: parseDecimal(processed.token_a_price_in_native) }
    : market
}

/** The market after a supply event that tells the supply behind it. */
export const afterSupply = (market: Market, { token_supply: supply }: TokenSupplyEvent): Market => {
  const after = supply?.post_amount_with_decimals ?? ''
  return after === '' ? market : { ...market, supply: after }
}

/** The market after metadata of its token: it counts until a supply event says more. */
export const afterMetadata = (market: Market, { token }: TokenEvent): Market => {
  const raw = token?.additional_metadata.total_supply
  if (market.supply !== '' || raw === undefined || token === null || token.decimals === -1) {
    return market
  }
  return { ...market, supply: formatUnits(BigInt(raw), token.decimals) }
}

/** The market after an account of a burn address changed. */
export const afterBurn = (market: Market, change: BurnAccountChange): Market => {
  const raw = parseUnits(market.burnt, change.decimals) + change.postRaw - change.preRaw
  return { ...market, burnt: formatUnits(raw > 0n ? raw : 0n, change.decimals) }
}

/** The total supply, and price times what of it circulates; "" where either is unknown. */
export const marketCapOf = (token: string, { usd, native, supply, burnt }: Market): MarketCap => {
  const total = parseDecimal(supply)
  const units = total === null ? null : Math.max(0, total - Number(burnt))
  return {
    token_address: token,
    total_supply_amount: supply,
    market_cap_in_native: formatDecimal(multiply(units, native)),
    market_cap_in_usd: formatDecimal(multiply(units, usd)),
  }
}

/** A transfer's worth at its token's price; "" where that is unknown. */
export const transferValue = (
  { token_amount: amount, token_decimals: decimals }: Transfer,
  { usd, native }: Pick<Market, 'usd' | 'native'>,
): TransferProcessed => {
  const units = tokenUnits(amount, decimals)
  return {
    token_amount_in_native: formatDecimal(multiply(units, native)),
    token_amount_in_usd: formatDecimal(multiply(units, usd)),
    token_price_in_native: formatDecimal(native),
    token_price_in_usd: formatDecimal(usd),
  }
}
