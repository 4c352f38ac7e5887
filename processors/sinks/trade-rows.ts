import type { TradeEvent, TradeEvents, TransferEvents } from '../../schemas/wire.ts'
import { isBuy, tradeValues } from '../runtime/valuation.ts'
import {
  amountColumn,
  nativeTokenPrice,
  positionColumns,
  priceColumn,
  protocolColumns,
  type Row,
  transactionColumns,
  valueColumn,
  versionColumns,
} from './columns.ts'

/** Prefixes the columns of one leg with the side that it is on. */
const withSidePrefix = (side: 'buy' | 'sell', leg: Row): Row =>
  Object.fromEntries(Object.entries(leg).map(([name, value]) => [`${side}_${name}`, value]))

const tradeLegs = (event: TradeEvent): { readonly base: Row; readonly quote: Row } | undefined => {
  const { trade, trade_processed: processed } = event
  if (trade === null) return undefined
  const { valueUsd, valueNative } = tradeValues(event, trade)
  const value = { amount_usd: valueColumn(valueUsd), amount_native: valueColumn(valueNative) }
  return {
    base: {
      token: trade.token_a_address,
      decimals: trade.token_a_decimals,
      amount: amountColumn(trade.user_a_amount),
      owner: trade.user_a_account_owner_address,
      token_account: trade.user_a_token_account_address,
      pre_amount: amountColumn(trade.user_a_pre_amount),
      post_amount: amountColumn(trade.user_a_post_amount),
      price_usd: priceColumn(processed?.token_a_price_in_usd ?? ''),
      price_native: priceColumn(processed?.token_a_price_in_native ?? ''),
      ...value,
    },
    quote: {
      token: trade.token_b_address,
      decimals: trade.token_b_decimals,
      amount: amountColumn(trade.user_b_amount),
      owner: trade.user_b_account_owner_address,
      token_account: trade.user_b_token_account_address,
      pre_amount: amountColumn(trade.user_b_pre_amount),
      post_amount: amountColumn(trade.user_b_post_amount),
      price_usd: priceColumn(processed?.token_b_price_in_usd ?? ''),
      price_native: priceColumn(processed?.token_b_price_in_native ?? ''),
      ...value,
    },
  }
}

const SUSPECT_REASONS: Readonly<Record<string, string>> = {
  BY_LAST_CLOSE_PRICES: 'LAST_CLOSE',
  BY_SMALL_AMOUNT_IN_USD: 'SMALL_USD',
  BY_BIG_PRICE: 'BIG_PRICE',
  BY_CONSTANT_PRODUCT_FORMULA: 'CONSTANT_PRODUCT',
  BY_POOL_PRICE_IMPACT: 'PRICE_IMPACT',
  BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT: 'SMALL_USD_AND_IMPACT',
}

const suspectColumn = (event: TradeEvent): string => {
  const reason = event.trade_processed?.is_token_a_price_in_usd_suspect_reason ?? ''
  return SUSPECT_REASONS[reason.replace('TOKEN_PRICE_SUSPECT_REASON_', '')] ?? 'UNSPECIFIED'
}

/** Rows of `{c}_dex_trades`; a retracted trade is the same row with `_del = 1` and a newer version. */
export const tradeRows = ({ meta, events }: TradeEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { trade, instruction, bonding_curve: curve } = event
    const sides = tradeLegs(event)
    if (meta === null || trade === null || sides === undefined) return []
    const buy = isBuy(trade)
    return [
      {
        ix_index: instruction?.index ?? 0,
        ...positionColumns(meta, event),
        ...transactionColumns(
          meta,
          event,
          nativeTokenPrice(event.quote_price_in_usd, event.quote_price_in_native),
        ),
        inner_ix_index: instruction?.inner_instruction_index ?? 0,
        ...protocolColumns(event),
        inner_program_address: event.d_app?.inner_program_address ?? '',
        pool_address: trade.pool_address,
        pool_config_address: trade.pool_config_address,
        ...withSidePrefix(buy ? 'buy' : 'sell', sides.base),
        ...withSidePrefix(buy ? 'sell' : 'buy', sides.quote),
        base_is_buy: buy ? 1 : 0,
        was_original_direction: trade.was_original_direction ? 1 : 0,
        vault_a: trade.vault_a,
        vault_b: trade.vault_b,
        vault_a_post_amount: amountColumn(trade.vault_a_post_amount),
        vault_b_post_amount: amountColumn(trade.vault_b_post_amount),
        virtual_quote_reserves: amountColumn(curve?.virtual_quote_reserves ?? ''),
        virtual_token_reserves: amountColumn(curve?.virtual_token_reserves ?? ''),
        real_quote_reserves: amountColumn(curve?.real_quote_reserves ?? ''),
        real_token_reserves: amountColumn(curve?.real_token_reserves ?? ''),
        is_suspect: event.trade_processed?.is_token_a_price_in_usd_suspect ? 1 : 0,
        suspect_reason: suspectColumn(event),
        bundle_source: (event.transaction?.bundles[0]?.source ?? '').replace('BUNDLE_SOURCE_', ''),
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })

/** Rows of `{c}_transfers`. */
export const transferRows = ({ meta, events }: TransferEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { transfer, instruction, transfer_processed: processed } = event
    if (meta === null || transfer === null) return []
    return [
      {
        ix_index: instruction?.index ?? 0,
        ...positionColumns(meta, event),
        ...transactionColumns(meta, event, null),
        call_index: transfer.call_index ?? 0,
        log_index: instruction?.log_index ?? 0,
        token_address: transfer.token_address,
        decimals: transfer.token_decimals,
        sender: transfer.sender_account_owner_address,
        sender_token_account: transfer.sender_token_account_address,
        receiver: transfer.receiver_account_owner_address,
        receiver_token_account: transfer.receiver_token_account_address,
        amount: amountColumn(transfer.token_amount),
        amount_usd: processed && valueColumn(priceColumn(processed.token_amount_in_usd)),
        amount_native: processed && valueColumn(priceColumn(processed.token_amount_in_native)),
        price_usd: processed && priceColumn(processed.token_price_in_usd),
        price_native: processed && priceColumn(processed.token_price_in_native),
        token_id: amountColumn(transfer.token_id ?? ''),
        uri: transfer.uri,
        success: transfer.success ? 1 : 0,
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })
