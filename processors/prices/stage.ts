import { decimalText } from '../../core/amounts.ts'
import { Malformed } from '../../core/errors.ts'
import { CONSTANT_PRODUCT, hasEvenSides, protocolRow } from '../../schemas/protocols.ts'
import type { Trade, TradeEvent, TradeProcessed } from '../../schemas/wire.ts'
import {
  curveAround,
  type Reserves,
  type VaultTexts,
  vaultsAround,
} from '../pools/bonding-curve.ts'
import { type Enrichment, foldEnrichment, type Place } from '../runtime/enrichment.ts'
import type { Stage } from '../runtime/stage.ts'
import { numbersOf, over, priceOf, type TradeNumbers } from '../runtime/valuation.ts'
import { factorBetween, SUSPECT_LIMITS, suspectReason, type TradeSigns } from './suspect.ts'

/** A price level that is not believed yet. */
interface Level {
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
  readonly level: Level | null
}

const UNKNOWN: LastPrice = { usd: null, native: null, inQuote: null, timeMs: 0, level: null }

const vaultsOf = (trade: Trade): VaultTexts => ({
  preA: trade.vault_a_pre_amount,
  preB: trade.vault_b_pre_amount,
  postA: trade.vault_a_post_amount,
  postB: trade.vault_b_post_amount,
})

/** Reserves whose quotient is the pool's price: a curve's virtual ones, or the vaults where sides are even; null elsewhere. */
const reservesOf = (event: TradeEvent, trade: Trade): Reserves | null => {
  const { instruction, bonding_curve: curve } = event
  const row = protocolRow(instruction?.type ?? '')
  const found =
    curve !== null
      ? curveAround(curve, vaultsOf(trade))
      : row !== undefined && hasEvenSides(row)
        ? vaultsAround(vaultsOf(trade))
        : null
  return found && [...found.pre, ...found.post].every((raw) => raw > 0n) ? found : null
}

const ratioOf = (one: bigint, other: bigint): number | null => over(Number(one), Number(other))

const productRatio = (event: TradeEvent, reserves: Reserves | null): number | null =>
  reserves !== null && CONSTANT_PRODUCT.has(event.instruction?.type ?? '')
    ? ratioOf(reserves.post[0] * reserves.post[1], reserves.pre[0] * reserves.pre[1])
    : null

/** From the reserves where the pool logs them, else from the pool's last trade of the hour. */
const poolFactor = (
  reserves: Reserves | null,
  numbers: TradeNumbers,
  last: number | null,
): number | null =>
  reserves === null
    ? factorBetween(numbers.priceInQuote, last)
    : factorBetween(
        ratioOf(reserves.pre[1], reserves.pre[0]),
        ratioOf(reserves.post[1], reserves.post[0]),
      )

const fresh = (last: LastPrice, timeMs: number): LastPrice =>
  timeMs - last.timeMs > SUSPECT_LIMITS.closeMaxAgeMs
    ? { ...last, usd: null, native: null, inQuote: null }
    : last

const nextLevel = (level: Level | null, price: number, height: number): Level => {
  const factor = level === null ? null : factorBetween(level.price, price)
  return level !== null && factor !== null && factor <= SUSPECT_LIMITS.levelFactor
    ? { ...level, price, trades: level.trades + 1 }
    : { price, trades: 1, firstHeight: height }
}

const isBelieved = (level: Level, height: number): boolean =>
  level.trades >= SUSPECT_LIMITS.levelTrades &&
  height - level.firstHeight >= SUSPECT_LIMITS.levelBlocks - 1

const isDust = ({ valueUsd }: TradeNumbers): boolean =>
  valueUsd !== null && valueUsd < SUSPECT_LIMITS.tinyUsd

interface Judged {
  readonly processed: TradeProcessed
  readonly token: LastPrice
  readonly pool: LastPrice
}

const closeSigns = (
  token: LastPrice,
  priceUsd: number | null,
  place: Place,
): { readonly factor: number | null; readonly level: Level | null } => {
  const factor = factorBetween(priceUsd, fresh(token, place.timeMs).usd)
  if (priceUsd === null || factor === null || factor <= SUSPECT_LIMITS.closeFactor) {
    return { factor, level: null }
  }
  const level = nextLevel(token.level, priceUsd, place.height)
  return isBelieved(level, place.height) ? { factor: null, level: null } : { factor, level }
}

/** Prices and verdict of one trade, given the last prices of its token and its pool. */
export const judge = (
  event: TradeEvent,
  trade: Trade,
  known: { readonly token: LastPrice | undefined; readonly pool: LastPrice | undefined },
  place: Place,
): Judged => {
  const numbers = numbersOf(event, trade)
  const token = known.token ?? UNKNOWN
  const pool = known.pool ?? UNKNOWN
  const reserves = reservesOf(event, trade)
  const close = closeSigns(token, numbers.priceUsd, place)
  const signs: TradeSigns = {
    priceUsd: numbers.priceUsd,
    valueUsd: numbers.valueUsd,
    productRatio: productRatio(event, reserves),
    poolFactor: poolFactor(reserves, numbers, fresh(pool, place.timeMs).inQuote),
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
        : { ...UNKNOWN, inQuote: numbers.priceInQuote, timeMs: place.timeMs },
    processed: {
      token_a_price_in_quote: decimalText(numbers.priceInQuote),
      token_a_price_in_usd: decimalText(numbers.priceUsd),
      token_a_price_in_native: decimalText(numbers.priceNative),
      token_b_price_in_base: decimalText(priceOf(numbers.baseUnits, numbers.quoteUnits)),
      token_b_price_in_usd: event.quote_price_in_usd,
      token_b_price_in_native: event.quote_price_in_native,
      is_token_a_price_in_usd_suspect: !good,
      is_token_a_price_in_usd_suspect_reason: reason,
      token_a_price_in_usd_lasted: decimalText(last.usd),
      token_a_price_in_native_lasted: decimalText(last.native),
      token_b_price_in_usd_lasted: event.quote_price_in_usd,
      token_b_price_in_native_lasted: event.quote_price_in_native,
    },
  }
}

const PRICING: Enrichment<TradeEvent, TradeProcessed, LastPrice> = {
  batches: ({ records }) =>
    records.flatMap(({ topic, key, value }) => (topic === 'trades' ? [{ key, value }] : [])),
  enrich: (event, known, place) => {
    const { trade } = event
    if (trade === null) throw new Malformed('trade', 'a trade event without a trade')
    const token = `t/${trade.token_a_address}`
    const pool = `p/${trade.pool_address}/${trade.token_a_address}`
    const judged = judge(event, trade, { token: known(token), pool: known(pool) }, place)
    return {
      processed: judged.processed,
      writes: [
        [token, judged.token],
        [pool, judged.pool],
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

/** `dex.trades` to `dex.trades.processed`, one record for one: prices, last good prices, and the suspect verdict. */
export const PRICES: Stage = {
  app: 'prices',
  inputs: ['trades'],
  outputs: ['tradesProcessed'],
  load: (state) => foldEnrichment(PRICING, state),
}
