import { InvalidInput } from '../../core/errors.ts'
import type {
  BalanceEvents,
  BinState,
  BondingCurve,
  ConcentratedState,
  DexPoolEvent,
  DexPoolEvents,
  PoolState,
  ReservePricing,
  TokenEvents,
  TokenSupplyEvents,
  TradeEvents,
  TransferEvents,
} from '../../schemas/wire.ts'

const UNSIGNED_AMOUNT = /^\d{0,78}$/
const SIGNED_AMOUNT = /^-?\d{0,78}$/
const MAX_UINT256 = 2n ** 256n - 1n
const DECIMAL_TEXT = /^$|^-?\d{1,400}(\.\d{1,400})?$/

const validateAmountText = (field: string, text: string, shape = UNSIGNED_AMOUNT): void => {
  if (!shape.test(text) || (text.length > 77 && BigInt(text) > MAX_UINT256))
    throw new InvalidInput('amount', `${field} is not a base-unit amount`)
}
/** Throws `InvalidInput` for what is neither empty nor base units of 256 bits. */
export const validateAmount = (field: string, text: string): void => validateAmountText(field, text)
const WHOLE_NUMBER = /^$|^-?\d{1,400}$/

/** Throws `InvalidInput` for what is neither empty nor a whole number: a sum, which may be wider than 256 bits or below zero. */
export const validateWholeNumber = (field: string, text: string): void => {
  if (!WHOLE_NUMBER.test(text)) throw new InvalidInput('amount', `${field} is not a whole number`)
}
const validateDecimal = (field: string, text: string): void => {
  if (!DECIMAL_TEXT.test(text))
    throw new InvalidInput('decimal', `${field} is not a decimal number`)
}
const validateTokenDecimals = (field: string, value: number | null): void => {
  if (value !== null && !(value >= 0 && value <= 255)) {
    throw new InvalidInput('decimals', `${field} is outside 0 to 255`)
  }
}

const TRADE_AMOUNTS = [
  'user_a_amount',
  'user_b_amount',
  'user_a_pre_amount',
  'user_a_post_amount',
  'user_b_pre_amount',
  'user_b_post_amount',
  'vault_a_post_amount',
  'vault_b_post_amount',
] as const
const POOL_AMOUNTS = [
  'token_a_amount',
  'token_b_amount',
  'token_a_vault_post_amount',
  'token_b_vault_post_amount',
] as const
const CURVE_AMOUNTS = [
  'virtual_quote_reserves',
  'virtual_token_reserves',
  'real_quote_reserves',
  'real_token_reserves',
] as const
/** Reckoned back from what a pool logged: below zero where the pool lies, which then counts as unknown. */
const DERIVED_TRADE_AMOUNTS = ['vault_a_pre_amount', 'vault_b_pre_amount'] as const
const DERIVED_POOL_AMOUNTS = ['token_a_vault_pre_amount', 'token_b_vault_pre_amount'] as const

const validateBondingCurve = (reserves: BondingCurve | null): void => {
  for (const field of CURVE_AMOUNTS) validateAmountText(field, reserves?.[field] ?? '')
}

const validateRanges = (
  ranges: Pick<ConcentratedState, 'sqrt_price_x96' | 'liquidity'> | null,
): void => {
  validateWholeNumber('sqrt_price_x96', ranges?.sqrt_price_x96 ?? '')
  validateWholeNumber('liquidity', ranges?.liquidity ?? '')
}

const validateBinAmounts = (amounts: Pick<BinState, 'amount_x' | 'amount_y'> | null): void => {
  validateWholeNumber('amount_x', amounts?.amount_x ?? '')
  validateWholeNumber('amount_y', amounts?.amount_y ?? '')
}

const validatePricing = (pricing: ReservePricing | null): void => {
  validateWholeNumber('reserve_a', pricing?.reserve_a ?? '')
  validateWholeNumber('reserve_b', pricing?.reserve_b ?? '')
}

/** What an event says of ranges, bins and priced reserves. */
const validatePoolChanges = ({ concentrated, bins, pricing }: DexPoolEvent): void => {
  validateRanges(concentrated)
  validateWholeNumber('position_liquidity', concentrated?.position_liquidity ?? '')
  for (const move of bins?.moves ?? []) validateBinAmounts(move)
  validatePricing(pricing)
}

const validatePoolState = (state: PoolState | null): void => {
  validateWholeNumber('token_a_vault_amount', state?.token_a_vault_amount ?? '')
  validateWholeNumber('token_b_vault_amount', state?.token_b_vault_amount ?? '')
  validateRanges(state?.concentrated ?? null)
  validateBinAmounts(state?.bins ?? null)
  validatePricing(state?.pricing ?? null)
}

interface PositionedEvent {
  readonly instruction: unknown
  readonly transaction: { readonly fee: string } | null
}

const validatePosition = (event: PositionedEvent): void => {
  if (!event.instruction) throw new InvalidInput('head', 'the event does not say where it stands')
  validateAmountText('fee', event.transaction?.fee ?? '')
}

/** Throws `InvalidInput` for invalid numbers, decimals out of range, or events without a position. Returns its input. */
export const validateTrades = (value: TradeEvents): TradeEvents => {
  for (const event of value.events) {
    validatePosition(event)
    const { trade } = event
    if (trade === null) throw new InvalidInput('trade', 'a trade event without a trade')
    for (const field of TRADE_AMOUNTS) validateAmountText(field, trade[field])
    for (const field of DERIVED_TRADE_AMOUNTS)
      validateAmountText(field, trade[field], SIGNED_AMOUNT)
    validateBondingCurve(event.bonding_curve)
    validateTokenDecimals('token_a_decimals', trade.token_a_decimals)
    validateTokenDecimals('token_b_decimals', trade.token_b_decimals)
    validateDecimal('quote_price_in_usd', event.quote_price_in_usd)
    validateDecimal('quote_price_in_native', event.quote_price_in_native)
  }
  return value
}

/** As `validateTrades`, for pool events. */
export const validatePools = (value: DexPoolEvents): DexPoolEvents => {
  for (const event of value.events) {
    validatePosition(event)
    const { pool } = event
    if (pool === null) throw new InvalidInput('pool', 'a pool event without a pool')
    for (const field of POOL_AMOUNTS) validateAmountText(field, pool[field])
    for (const field of DERIVED_POOL_AMOUNTS) validateAmountText(field, pool[field], SIGNED_AMOUNT)
    validateBondingCurve(event.bonding_curve)
    validatePoolChanges(event)
    validatePoolState(event.pool_processed?.before ?? null)
    validateTokenDecimals('token_a_decimals', pool.token_a_decimals)
    validateTokenDecimals('token_b_decimals', pool.token_b_decimals)
    validateDecimal('quote_price_in_usd', event.quote_price_in_usd)
    validateDecimal('quote_price_in_native', event.quote_price_in_native)
  }
  return value
}

/** As `validateTrades`, for token metadata; `decimals` -1 means unknown. */
export const validateTokens = (value: TokenEvents): TokenEvents => {
  for (const { token } of value.events) {
    if (token === null || token.address === '') throw new InvalidInput('token', 'no token named')
    if (token.decimals !== -1) validateTokenDecimals('decimals', token.decimals)
    validateAmountText('total_supply', token.additional_metadata.total_supply ?? '')
  }
  return value
}

/** As `validateTrades`, for transfers. */
export const validateTransfers = (value: TransferEvents): TransferEvents => {
  for (const event of value.events) {
    validatePosition(event)
    const { transfer } = event
    if (transfer === null) throw new InvalidInput('transfer', 'a transfer event without a transfer')
    validateAmountText('token_amount', transfer.token_amount)
    validateAmountText('token_id', transfer.token_id ?? '')
    validateTokenDecimals('token_decimals', transfer.token_decimals)
  }
  return value
}

/** As `validateTrades`, for balances: both amounts are known. */
export const validateBalances = (value: BalanceEvents): BalanceEvents => {
  for (const event of value.events) validatePosition(event)
  return validateBalanceDeltas(value)
}

/** As `validateBalances`, for copies that carry the balance alone. */
export const validateBalanceDeltas = (value: BalanceEvents): BalanceEvents => {
  for (const { balance } of value.events) {
    if (balance === null) throw new InvalidInput('balance', 'a balance event without a balance')
    for (const field of ['pre_amount', 'post_amount'] as const) {
      if (balance[field] === '') throw new InvalidInput('amount', `${field} is missing`)
      validateAmountText(field, balance[field])
    }
    validateTokenDecimals('decimals', balance.decimals)
  }
  return value
}

/** As `validateTrades`, for supply changes. */
export const validateSupplies = (value: TokenSupplyEvents): TokenSupplyEvents => {
  for (const event of value.events) {
    validatePosition(event)
    const { token_supply: supply } = event
    if (supply === null) throw new InvalidInput('supply', 'a supply event without a supply')
    validateAmountText('amount_without_decimals', supply.amount_without_decimals)
    if (supply.decimals !== -1) validateTokenDecimals('decimals', supply.decimals)
  }
  return value
}
