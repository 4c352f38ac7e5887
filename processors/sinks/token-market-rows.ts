import { rowVersion } from '../../core/event-version.ts'
import type {
  TokenMarketCapEvents,
  TokenPriceEvents,
  TokenSupplyEvents,
  TradeStatEvents,
} from '../../schemas/wire.ts'
import { nullableDecimal, saturatedDecimal, UNITS_DECIMAL, VALUE_DECIMAL } from './column-limits.ts'
import {
  amountColumn,
  positionColumns,
  priceColumn,
  type Row,
  timeText,
  transactionColumns,
  versionColumns,
} from './columns.ts'

/** Token units; null when unknown or beyond the column. */
const nullableUnitsColumn = (text: string): string | null => nullableDecimal(text, UNITS_DECIMAL)

/** A volume in token units, never more than the column holds. */
const saturatedUnitsColumn = (text: string): string => saturatedDecimal(text, UNITS_DECIMAL)

/** A volume in USD or native units, never more than the column holds. */
const saturatedValueColumn = (text: string): string => saturatedDecimal(text, VALUE_DECIMAL)

/** Rows of `{c}_token_stats`: the newest of each window, with the window before it. */
export const statRows = ({ events }: TradeStatEvents): readonly Row[] =>
  events.map((event) => ({
    token_address: event.token_address,
    resolution: event.resolution,
    stat_time: timeText(Number(event.timestamp)),
    open_usd: priceColumn(event.open_in_usd),
    close_usd: priceColumn(event.close_in_usd),
    high_usd: priceColumn(event.high_in_usd),
    low_usd: priceColumn(event.low_in_usd),
    open_native: priceColumn(event.open_in_native),
    close_native: priceColumn(event.close_in_native),
    high_native: priceColumn(event.high_in_native),
    low_native: priceColumn(event.low_in_native),
    buys: event.buys,
    sells: event.sells,
    buyers: event.buyers,
    sellers: event.sellers,
    traders: event.traders,
    pools: event.pools,
    programs: event.programs,
    buy_volume: saturatedUnitsColumn(event.buy_volume),
    sell_volume: saturatedUnitsColumn(event.sell_volume),
    buy_volume_usd: saturatedValueColumn(event.buy_volume_in_usd),
    sell_volume_usd: saturatedValueColumn(event.sell_volume_in_usd),
    buy_volume_native: saturatedValueColumn(event.buy_volume_in_native),
    sell_volume_native: saturatedValueColumn(event.sell_volume_in_native),
    volume_change_ratio: priceColumn(event.volume_change_ratio),
    liquidity_usd: priceColumn(event.liquidity_in_usd),
    liquidity_change_ratio: priceColumn(event.liquidity_change_ratio),
    prev_open_usd: priceColumn(event.prev_open_in_usd),
    prev_open_native: priceColumn(event.prev_open_in_native),
    prev_close_usd: priceColumn(event.prev_close_in_usd),
    prev_close_native: priceColumn(event.prev_close_in_native),
    prev_high_usd: priceColumn(event.prev_high_in_usd),
    prev_high_native: priceColumn(event.prev_high_in_native),
    prev_low_usd: priceColumn(event.prev_low_in_usd),
    prev_low_native: priceColumn(event.prev_low_in_native),
    prev_buys: event.prev_buys,
    prev_sells: event.prev_sells,
    prev_buyers: event.prev_buyers,
    prev_sellers: event.prev_sellers,
    prev_pools: event.prev_pools,
    prev_programs: event.prev_programs,
    prev_buy_volume: saturatedUnitsColumn(event.prev_buy_volume),
    prev_buy_volume_usd: saturatedValueColumn(event.prev_buy_volume_in_usd),
    prev_buy_volume_native: saturatedValueColumn(event.prev_buy_volume_in_native),
    prev_sell_volume: saturatedUnitsColumn(event.prev_sell_volume),
    prev_sell_volume_usd: saturatedValueColumn(event.prev_sell_volume_in_usd),
    prev_sell_volume_native: saturatedValueColumn(event.prev_sell_volume_in_native),
    prev_liquidity_usd: priceColumn(event.prev_liquidity_in_usd),
    version: event.version,
  }))

/** Rows of `{c}_token_prices`. */
export const priceRows = ({ meta, events }: TokenPriceEvents): readonly Row[] =>
  events.flatMap(({ token_price: price, block }) =>
    meta === null || price === null
      ? []
      : [
          {
            token_address: price.token_address,
            price_time: timeText(block?.timestamp ?? meta.block_time),
            price_usd: priceColumn(price.price_in_usd),
            price_native: priceColumn(price.price_in_native),
            _ver: rowVersion(meta.seq, meta.part).toString(),
          },
        ],
  )

/** Rows of `{c}_token_markets`. */
export const marketRows = ({ meta, events }: TokenMarketCapEvents): readonly Row[] =>
  events.flatMap(({ market_cap: cap, block }) =>
    meta === null || cap === null
      ? []
      : [
          {
            token_address: cap.token_address,
            market_time: timeText(block?.timestamp ?? meta.block_time),
            total_supply: nullableUnitsColumn(cap.total_supply_amount),
            market_cap_usd: priceColumn(cap.market_cap_in_usd),
            market_cap_native: priceColumn(cap.market_cap_in_native),
            _ver: rowVersion(meta.seq, meta.part).toString(),
          },
        ],
  )

/** Rows of `{c}_token_supplies`. */
export const supplyRows = ({ meta, events }: TokenSupplyEvents): readonly Row[] =>
  events.flatMap((event) => {
    const { token_supply: supply, market_cap: cap, instruction } = event
    if (meta === null || supply === null) return []
    return [
      {
        event_type: event.type.replace('TOKEN_SUPPLY_EVENT_TYPE_', ''),
        ...positionColumns(meta, event),
        ...transactionColumns(meta, event, null),
        token_address: supply.token_address,
        decimals: supply.decimals === -1 ? null : supply.decimals,
        amount: amountColumn(supply.amount_without_decimals),
        post_supply: nullableUnitsColumn(supply.post_amount_with_decimals),
        market_cap_usd: priceColumn(cap?.market_cap_in_usd ?? ''),
        market_cap_native: priceColumn(cap?.market_cap_in_native ?? ''),
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })
