import { Malformed } from '../../core/errors.ts'
import type {
  BalanceEvents,
  BondingCurve,
  DexPoolEvents,
  TokenEvents,
  TokenSupplyEvents,
  TradeEvents,
  TransferEvents,
} from '../../schemas/wire.ts'

const RAW = /^\d{0,78}$/
const SIGNED = /^-?\d{0,78}$/
const LAST_RAW = 2n ** 256n - 1n
const DECIMAL = /^$|^-?\d{1,400}(\.\d{1,400})?$/

const raw = (field: string, text: string, shape = RAW): void => {
  if (!shape.test(text) || (text.length > 77 && BigInt(text) > LAST_RAW))
    throw new Malformed('amount', `${field} is no base-unit amount`)
}
/** Throws `Malformed` for what is neither empty nor base units of 256 bits. */
export const checkRaw = (field: string, text: string): void => raw(field, text)
const decimal = (field: string, text: string): void => {
  if (!DECIMAL.test(text)) throw new Malformed('decimal', `${field} is not a decimal number`)
}
const decimals = (field: string, value: number | null): void => {
  if (value !== null && !(value >= 0 && value <= 255)) {
    throw new Malformed('decimals', `${field} is outside 0 to 255`)
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
const TRADE_PRE = ['vault_a_pre_amount', 'vault_b_pre_amount'] as const
const POOL_PRE = ['token_a_vault_pre_amount', 'token_b_vault_pre_amount'] as const

const curve = (reserves: BondingCurve | null): void => {
  for (const field of CURVE_AMOUNTS) raw(field, reserves?.[field] ?? '')
}

interface Placed {
  readonly instruction: unknown
  readonly transaction: { readonly fee: string } | null
}

const placed = (event: Placed): void => {
  if (!event.instruction) throw new Malformed('head', 'the event does not say where it stands')
  raw('fee', event.transaction?.fee ?? '')
}

/** Throws `Malformed` for numbers that are none, decimals out of range, or events without a place. Returns its input. */
export const checkTrades = (value: TradeEvents): TradeEvents => {
  for (const event of value.events) {
    placed(event)
    const { trade } = event
    if (trade === null) throw new Malformed('trade', 'a trade event without a trade')
    for (const field of TRADE_AMOUNTS) raw(field, trade[field])
    for (const field of TRADE_PRE) raw(field, trade[field], SIGNED)
    curve(event.bonding_curve)
    decimals('token_a_decimals', trade.token_a_decimals)
    decimals('token_b_decimals', trade.token_b_decimals)
    decimal('quote_price_in_usd', event.quote_price_in_usd)
    decimal('quote_price_in_native', event.quote_price_in_native)
  }
  return value
}

/** As `checkTrades`, for pool events. */
export const checkPools = (value: DexPoolEvents): DexPoolEvents => {
  for (const event of value.events) {
    placed(event)
    const { pool } = event
    if (pool === null) throw new Malformed('pool', 'a pool event without a pool')
    for (const field of POOL_AMOUNTS) raw(field, pool[field])
    for (const field of POOL_PRE) raw(field, pool[field], SIGNED)
    curve(event.bonding_curve)
    decimals('token_a_decimals', pool.token_a_decimals)
    decimals('token_b_decimals', pool.token_b_decimals)
    decimal('quote_price_in_usd', event.quote_price_in_usd)
    decimal('quote_price_in_native', event.quote_price_in_native)
  }
  return value
}

/** As `checkTrades`, for token facts; `decimals` -1 means unknown. */
export const checkTokens = (value: TokenEvents): TokenEvents => {
  for (const { token } of value.events) {
    if (token === null || token.address === '') throw new Malformed('token', 'no token named')
    if (token.decimals !== -1) decimals('decimals', token.decimals)
    raw('total_supply', token.additional_metadata.total_supply ?? '')
  }
  return value
}

/** As `checkTrades`, for transfers. */
export const checkTransfers = (value: TransferEvents): TransferEvents => {
  for (const event of value.events) {
    placed(event)
    const { transfer } = event
    if (transfer === null) throw new Malformed('transfer', 'a transfer event without a transfer')
    raw('token_amount', transfer.token_amount)
    raw('token_id', transfer.token_id ?? '')
    decimals('token_decimals', transfer.token_decimals)
  }
  return value
}

/** As `checkTrades`, for balances: both amounts are known. */
export const checkBalances = (value: BalanceEvents): BalanceEvents => {
  for (const event of value.events) placed(event)
  return checkDeltas(value)
}

/** As `checkBalances`, for copies that carry the balance alone. */
export const checkDeltas = (value: BalanceEvents): BalanceEvents => {
  for (const { balance } of value.events) {
    if (balance === null) throw new Malformed('balance', 'a balance event without a balance')
    for (const field of ['pre_amount', 'post_amount'] as const) {
      if (balance[field] === '') throw new Malformed('amount', `${field} is missing`)
      raw(field, balance[field])
    }
    decimals('decimals', balance.decimals)
  }
  return value
}

/** As `checkTrades`, for supply changes. */
export const checkSupplies = (value: TokenSupplyEvents): TokenSupplyEvents => {
  for (const event of value.events) {
    placed(event)
    const { token_supply: supply } = event
    if (supply === null) throw new Malformed('supply', 'a supply event without a supply')
    raw('amount_without_decimals', supply.amount_without_decimals)
    if (supply.decimals !== -1) decimals('decimals', supply.decimals)
  }
  return value
}
