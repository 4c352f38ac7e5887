import type {
  TokenMarketCapEvents,
  TokenPriceEvents,
  TokenSupplyEvents,
  TradeStatEvents,
} from '../../schemas/wire.ts'
import { knownDecimal, totalDecimal, UNITS_SHAPE, VALUE_SHAPE } from '../runtime/bounds.ts'
import {
  amountColumn,
  placeColumns,
  priceColumn,
  type Row,
  rowVersion,
  timeText,
  transactionColumns,
  versionColumns,
} from './rows.ts'

/** Token units; null when unknown or beyond the column. */
const unitsColumn = (text: string): string | null => knownDecimal(text, UNITS_SHAPE)

/** A volume in token units, never more than the column holds. */
const unitsSumColumn = (text: string): string => totalDecimal(text, UNITS_SHAPE)

/** A volume in USD or native units, never more than the column holds. */
const valueSumColumn = (text: string): string => totalDecimal(text, VALUE_SHAPE)

/** Rows of `{c}_token_stats`: the newest of each window. */
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
    buy_volume: unitsSumColumn(event.buy_volume),
    sell_volume: unitsSumColumn(event.sell_volume),
    buy_volume_usd: valueSumColumn(event.buy_volume_in_usd),
    sell_volume_usd: valueSumColumn(event.sell_volume_in_usd),
    buy_volume_native: valueSumColumn(event.buy_volume_in_native),
    sell_volume_native: valueSumColumn(event.sell_volume_in_native),
    volume_change_ratio: priceColumn(event.volume_change_ratio),
    liquidity_usd: priceColumn(event.liquidity_in_usd),
    liquidity_change_ratio: priceColumn(event.liquidity_change_ratio),
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
            _ver: rowVersion(meta.seq, meta.part),
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
            total_supply: unitsColumn(cap.total_supply_amount),
            market_cap_usd: priceColumn(cap.market_cap_in_usd),
            market_cap_native: priceColumn(cap.market_cap_in_native),
            _ver: rowVersion(meta.seq, meta.part),
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
        ...placeColumns(meta, event),
        ...transactionColumns(meta, event, null),
        token_address: supply.token_address,
        decimals: supply.decimals === -1 ? null : supply.decimals,
        amount: amountColumn(supply.amount_without_decimals),
        post_supply: unitsColumn(supply.post_amount_with_decimals),
        market_cap_usd: priceColumn(cap?.market_cap_in_usd ?? ''),
        market_cap_native: priceColumn(cap?.market_cap_in_native ?? ''),
        ...versionColumns(meta, instruction?.event_index ?? 0),
      },
    ]
  })
