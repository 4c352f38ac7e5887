import { formatDecimal } from '../../core/amounts.ts'
import { InvalidInput } from '../../core/errors.ts'
import { CONSTANT_PRODUCT, hasEqualValueSides, protocolRow } from '../../schemas/protocols.ts'
import type { Trade, TradeEvent, TradeProcessed } from '../../schemas/wire.ts'
import {
  type Reserves,
  type VaultAmounts,
  vaultReserves,
  virtualReserves,
} from '../pools/bonding-curve.ts'
import {
  type BlockPosition,
  createEnrichmentProcessor,
  type Enrichment,
} from '../runtime/enrichment.ts'
import type { Stage } from '../runtime/stage.ts'
import { divide, type TradeValuation, unitPrice, valueTrade } from '../runtime/valuation.ts'
import { factorBetween, type PriceSignals, SUSPECT_LIMITS, suspectReason } from './suspect-rules.ts'

/** A price level that is not believed yet. */
interface PriceLevel {
  readonly price: number
  readonly trades: number
  readonly firstHeight: number
}

/** Last good prices of a token (`t/{address}`), or last price in the quote of a pool and base (`p/{pool}/{base}`). */
interface LastPrice {
  readonly usd: number | null
  readonly native: number | null
  readonly inQuote: number | null
  readonly timeMs: number
  readonly level: PriceLevel | null
}

const NO_LAST_PRICE: LastPrice = { usd: null, native: null, inQuote: null, timeMs: 0, level: null }

const vaultAmounts = (trade: Trade): VaultAmounts => ({
  preA: trade.vault_a_pre_amount,
  preB: trade.vault_b_pre_amount,
  postA: trade.vault_a_post_amount,
  postB: trade.vault_b_post_amount,
})

/** Reserves whose quotient is the pool's price: a curve's virtual ones, or the vaults where sides are even; null elsewhere. */
const pricingReserves = (event: TradeEvent, trade: Trade): Reserves | null => {
  const { instruction, bonding_curve: curve } = event
  const row = protocolRow(instruction?.type ?? '')
  const found =
    curve !== null
      ? virtualReserves(curve, vaultAmounts(trade))
      : row !== undefined && hasEqualValueSides(row)
        ? vaultReserves(vaultAmounts(trade))
        : null
  return found && [...found.pre, ...found.post].every((raw) => raw > 0n) ? found : null
}

const bigintRatio = (one: bigint, other: bigint): number | null =>
  divide(Number(one), Number(other))

const productRatio = (event: TradeEvent, reserves: Reserves | null): number | null =>
  reserves !== null && CONSTANT_PRODUCT.has(event.instruction?.type ?? '')
    ? bigintRatio(reserves.post[0] * reserves.post[1], reserves.pre[0] * reserves.pre[1])
    : null

/** From the reserves where the pool logs them, else from the pool's last trade of the hour. */
const poolPriceFactor = (
  reserves: Reserves | null,
  numbers: TradeValuation,
  last: number | null,
): number | null =>
  reserves === null
    ? factorBetween(numbers.priceInQuote, last)
    : factorBetween(
        bigintRatio(reserves.pre[1], reserves.pre[0]),
        bigintRatio(reserves.post[1], reserves.post[0]),
      )

const withoutStalePrices = (last: LastPrice, timeMs: number): LastPrice =>
  timeMs - last.timeMs > SUSPECT_LIMITS.closeMaxAgeMs
    ? { ...last, usd: null, native: null, inQuote: null }
    : last

const nextLevel = (level: PriceLevel | null, price: number, height: number): PriceLevel => {
  const factor = level === null ? null : factorBetween(level.price, price)
  return level !== null && factor !== null && factor <= SUSPECT_LIMITS.levelFactor
    ? { ...level, price, trades: level.trades + 1 }
    : { price, trades: 1, firstHeight: height }
}

const isConfirmed = (level: PriceLevel, height: number): boolean =>
  level.trades >= SUSPECT_LIMITS.levelTrades &&
  height - level.firstHeight >= SUSPECT_LIMITS.levelBlocks - 1

const isDust = ({ valueUsd }: TradeValuation): boolean =>
  valueUsd !== null && valueUsd < SUSPECT_LIMITS.tinyUsd

interface PricedTrade {
  readonly processed: TradeProcessed
  readonly token: LastPrice
  readonly pool: LastPrice
}

const compareWithLastClose = (
  token: LastPrice,
  priceUsd: number | null,
  place: BlockPosition,
): { readonly factor: number | null; readonly level: PriceLevel | null } => {
  const factor = factorBetween(priceUsd, withoutStalePrices(token, place.timeMs).usd)
  if (priceUsd === null || factor === null || factor <= SUSPECT_LIMITS.closeFactor) {
    return { factor, level: null }
  }
  const level = nextLevel(token.level, priceUsd, place.height)
  return isConfirmed(level, place.height) ? { factor: null, level: null } : { factor, level }
}

/** Prices and suspect reason of one trade, given the last prices of its token and its pool. */
export const priceTrade = (
  event: TradeEvent,
  trade: Trade,
  known: { readonly token: LastPrice | undefined; readonly pool: LastPrice | undefined },
  place: BlockPosition,
): PricedTrade => {
  const numbers = valueTrade(event, trade)
  const token = known.token ?? NO_LAST_PRICE
  const pool = known.pool ?? NO_LAST_PRICE
  const reserves = pricingReserves(event, trade)
  const close = compareWithLastClose(token, numbers.priceUsd, place)
  const signs: PriceSignals = {
    priceUsd: numbers.priceUsd,
    valueUsd: numbers.valueUsd,
    productRatio: productRatio(event, reserves),
    poolFactor: poolPriceFactor(reserves, numbers, withoutStalePrices(pool, place.timeMs).inQuote),
    closeFactor: close.factor,
  }
  const reason = suspectReason(signs)
  const good = reason === 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED'
  const last: LastPrice =
    good && numbers.priceUsd !== null
      ? {
          usd: numbers.priceUsd,
          native: numbers.priceNative,
          inQuote: numbers.priceInQuote,
          timeMs: place.timeMs,
          level: null,
        }
      : { ...token, level: close.level ?? token.level }
  return {
    token: last,
    // Rounding moves a price at will where next to nothing is traded: it would be held against the next good trade.
    pool:
      numbers.priceInQuote === null || isDust(numbers)
        ? pool
        : { ...NO_LAST_PRICE, inQuote: numbers.priceInQuote, timeMs: place.timeMs },
    processed: {
      token_a_price_in_quote: formatDecimal(numbers.priceInQuote),
      token_a_price_in_usd: formatDecimal(numbers.priceUsd),
      token_a_price_in_native: formatDecimal(numbers.priceNative),
      token_b_price_in_base: formatDecimal(unitPrice(numbers.baseUnits, numbers.quoteUnits)),
      token_b_price_in_usd: event.quote_price_in_usd,
      token_b_price_in_native: event.quote_price_in_native,
      is_token_a_price_in_usd_suspect: !good,
      is_token_a_price_in_usd_suspect_reason: reason,
      token_a_price_in_usd_lasted: formatDecimal(last.usd),
      token_a_price_in_native_lasted: formatDecimal(last.native),
      token_b_price_in_usd_lasted: event.quote_price_in_usd,
      token_b_price_in_native_lasted: event.quote_price_in_native,
    },
  }
}

const PRICE_ENRICHMENT: Enrichment<TradeEvent, TradeProcessed, LastPrice> = {
  batches: ({ records }) =>
    records.flatMap(({ topic, key, value }) => (topic === 'trades' ? [{ key, value }] : [])),
  enrich: (event, known, place) => {
    const { trade } = event
    if (trade === null) throw new InvalidInput('trade', 'a trade event without a trade')
    const token = `t/${trade.token_a_address}`
    const pool = `p/${trade.pool_address}/${trade.token_a_address}`
    const priced = priceTrade(event, trade, { token: known(token), pool: known(pool) }, place)
    return {
      processed: priced.processed,
      writes: [
        [token, priced.token],
        [pool, priced.pool],
      ],
    }
  },
  finish: (event, processed) => ({ ...event, trade_processed: processed }),
  publish: ({ key, value }) => ({
    topic: 'tradesProcessed',
    key,
    value: { meta: value.meta, events: value.events },
  }),
}

/** `dex.trades` to `dex.trades.processed`, one record for one: prices, last good prices, and the suspect reason. */
export const PRICES: Stage = {
  app: 'prices',
  inputs: ['trades'],
  outputs: ['tradesProcessed'],
  load: (state) => createEnrichmentProcessor(PRICE_ENRICHMENT, state),
}
