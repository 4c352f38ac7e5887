import { formatDecimal, formatUnits, formatUsd, unitsToNumber } from '../../core/amounts.ts'
import { candleSeriesOf } from '../../core/candlestick-events.ts'
import { isExecutedTrade } from '../../core/executed-trade.ts'
import { bucketEnd, isResolution } from '../../core/time.ts'
import { LARGE_TRANSFER_USD } from '../../schemas/webhooks.ts'
import type {
  CandlestickEvents,
  TokenPriceEvents,
  Trade,
  TradeEvent,
  TradeEvents,
  TransferEvent,
  TransferEvents,
} from '../../schemas/wire.ts'
import { type EventDraft, levelSubject, type MapContext } from './event-context.ts'
import type { BodyData } from './message.ts'

/** Data without what is unknown. */
const omitUnknown = (data: Readonly<Record<string, string | number>>): BodyData =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== ''))

const eventPath = ({ instruction }: Pick<TradeEvent, 'instruction'>): string =>
  String(instruction?.log_index ?? 0)

interface TradeSide {
  readonly token: string
  readonly wallet: string
  readonly amount: string
  readonly amountInUsd: string
}

const tradeSide = (
  token: string,
  wallet: string,
  { raw, decimals, price }: { raw: string; decimals: number | null; price: string },
): TradeSide => {
  if (decimals === null || !/^\d+$/.test(raw)) return { token, wallet, amount: '', amountInUsd: '' }
  const amountRaw = BigInt(raw)
  const inUsd = price === '' ? null : unitsToNumber(amountRaw, decimals) * Number(price)
  return { token, wallet, amount: formatUnits(amountRaw, decimals), amountInUsd: formatUsd(inUsd) }
}

/** What was bought and what was sold, each with the wallet that has it. */
const tradeSides = (
  { trade_processed: prices }: TradeEvent,
  trade: Trade,
): { readonly base: TradeSide; readonly bought: TradeSide; readonly sold: TradeSide } => {
  const base = tradeSide(trade.token_a_address, trade.user_a_account_owner_address, {
    raw: trade.user_a_amount,
    decimals: trade.token_a_decimals,
    price: prices?.token_a_price_in_usd ?? '',
  })
  const quote = tradeSide(trade.token_b_address, trade.user_b_account_owner_address, {
    raw: trade.user_b_amount,
    decimals: trade.token_b_decimals,
    price: prices?.token_b_price_in_usd ?? '',
  })
  const [bought, sold] = trade.was_original_direction ? [quote, base] : [base, quote]
  return { base, bought, sold }
}

const SUSPECT_PREFIX = /^TOKEN_PRICE_SUSPECT_REASON_(?:BY_)?/

/** Why the price of a trade is not trusted, in lower case; empty for a price that is. */
const suspectReason = (prices: TradeEvent['trade_processed']): string =>
  prices?.is_token_a_price_in_usd_suspect
    ? prices.is_token_a_price_in_usd_suspect_reason.replace(SUSPECT_PREFIX, '').toLowerCase()
    : ''

/** Trades that an endpoint named by a token, the pool or a wallet. */
export const tradeEvents = (
  { events }: TradeEvents,
  { meta, hasSubject }: MapContext,
): readonly EventDraft[] =>
  events.flatMap((event) => {
    const { trade } = event
    if (trade === null || !isExecutedTrade(event)) return []
    const subjects = [
      ...[trade.token_a_address, trade.token_b_address, trade.pool_address],
      ...[trade.user_a_account_owner_address, trade.user_b_account_owner_address],
    ].filter((subject) => subject !== '')
    if (!hasSubject('trade.executed', subjects)) return []
    const { base, bought, sold } = tradeSides(event, trade)
    const tx = event.transaction?.signature ?? ''
    const data = omitUnknown({
      a: base.token,
      k: bought === base ? 'buy' : 'sell',
      ba: bought.amount,
      sa: sold.amount,
      baiu: bought.amountInUsd,
      saiu: sold.amountInUsd,
      btma: bought.token,
      stma: sold.token,
      bwa: bought.wallet,
      swa: sold.wallet,
      h: tx,
      p: trade.pool_address,
      sr: suspectReason(event.trade_processed),
    })
    const timeMs = event.block?.timestamp || meta.block_time
    const path = eventPath(event)
    return [{ kind: 'trade.executed', timeMs, data, subjects, tokenAddress: base.token, tx, path }]
  })

/** Both sides of a trade, for the wallets that an endpoint named: what was bought and what was sold are one activity each. */
export const tradeActivityEvents = (
  { events }: TradeEvents,
  { meta, hasSubject }: MapContext,
): readonly EventDraft[] =>
  events.flatMap((event) => {
    const { trade } = event
    if (trade === null || !isExecutedTrade(event)) return []
    const { user_a_account_owner_address: one, user_b_account_owner_address: other } = trade
    if (!hasSubject('wallet.activity', [one, other])) return []
    const { bought, sold } = tradeSides(event, trade)
    const tx = event.transaction?.signature ?? ''
    const timeMs = event.block?.timestamp || meta.block_time
    return [
      { kind: 'buy', own: bought, paid: sold },
      { kind: 'sell', own: sold, paid: bought },
    ].flatMap(({ kind, own, paid }): readonly EventDraft[] => {
      if (own.wallet === '' || !hasSubject('wallet.activity', [own.wallet])) return []
      const data = omitUnknown({
        a: own.wallet,
        k: kind,
        ta: own.token,
        am: own.amount,
        aiu: own.amountInUsd,
        ota: paid.token,
        h: tx,
      })
      const path = `${eventPath(event)}/${kind}/${own.wallet}`
      const subjects = [own.wallet]
      return [
        { kind: 'wallet.activity', timeMs, data, subjects, tokenAddress: own.token, tx, path },
      ]
    })
  })

const transferPath = (event: TransferEvent): string => {
  const call = event.transfer?.call_index
  return call === null || call === undefined ? eventPath(event) : `${eventPath(event)}/c${call}`
}

const transferAmount = ({ transfer }: TransferEvent): string => {
  if (transfer === null || transfer.token_decimals === null) return ''
  return formatUnits(BigInt(transfer.token_amount), transfer.token_decimals)
}

/** Transfers worth enough. */
export const largeTransferEvents = (
  { events }: TransferEvents,
  { meta, hasSubject }: MapContext,
): readonly EventDraft[] =>
  events.flatMap((event) => {
    const { transfer, transfer_processed: processed } = event
    if (transfer === null || !transfer.success || !isExecutedTrade(event)) return []
    const usd = processed?.token_amount_in_usd ?? ''
    if (usd === '' || Number(usd) < LARGE_TRANSFER_USD) return []
    const { token_address: token, sender_account_owner_address: from } = transfer
    const { receiver_account_owner_address: to } = transfer
    const subjects = [token, from, to].filter((subject) => subject !== '')
    if (!hasSubject('transfer.large', subjects)) return []
    const tx = event.transaction?.signature ?? ''
    const data = omitUnknown({
      a: token,
      f: from,
      r: to,
      am: transferAmount(event),
      aiu: usd,
      h: tx,
    })
    const timeMs = event.block?.timestamp || meta.block_time
    const path = transferPath(event)
    return [{ kind: 'transfer.large', timeMs, data, subjects, tokenAddress: token, tx, path }]
  })

/** Both ends of a transfer, for the wallets that an endpoint named. */
export const transferActivityEvents = (
  { events }: TransferEvents,
  { meta, hasSubject }: MapContext,
): readonly EventDraft[] =>
  events.flatMap((event) => {
    const { transfer, transfer_processed: processed } = event
    if (transfer === null || !transfer.success || !isExecutedTrade(event)) return []
    const { sender_account_owner_address: from, receiver_account_owner_address: to } = transfer
    const { token_address: token } = transfer
    const tx = event.transaction?.signature ?? ''
    const timeMs = event.block?.timestamp || meta.block_time
    return [
      { kind: 'out', own: from, other: to },
      { kind: 'in', own: to, other: from },
    ].flatMap(({ kind, own, other }): readonly EventDraft[] => {
      if (own === '' || !hasSubject('wallet.activity', [own])) return []
      const data = omitUnknown({
        a: own,
        k: kind,
        ta: token,
        am: transferAmount(event),
        aiu: processed?.token_amount_in_usd ?? '',
        cp: other,
        h: tx,
      })
      const path = `${transferPath(event)}/${kind}/${own}`
      return [
        {
          kind: 'wallet.activity',
          timeMs,
          data,
          subjects: [own],
          tokenAddress: token,
          tx,
          path,
        },
      ]
    })
  })

const CANDLE_DIMENSIONS: ReadonlySet<string> = new Set([
  'CANDLESTICK_DIMENSION_TOKEN_ADDRESS',
  'CANDLESTICK_DIMENSION_POOL_ADDRESS',
])

/** Candles that are final, of tokens and pools that an endpoint named. */
export const closedCandleEvents = (
  { events }: CandlestickEvents,
  { hasSubject }: MapContext,
): readonly EventDraft[] =>
  events.flatMap((event) => {
    const { resolution } = event
    if (!event.is_final || !isResolution(resolution)) return []
    const startMs = Number(event.timestamp)
    return candleSeriesOf(event).flatMap(({ dimension, address }): readonly EventDraft[] => {
      if (!CANDLE_DIMENSIONS.has(dimension) || !hasSubject('candle.closed', [address])) return []
      const data = omitUnknown({
        a: address,
        o: event.open,
        c: event.close,
        h: event.high,
        l: event.low,
        v: event.volume,
        r: resolution,
        t: startMs,
        n: event.trades,
      })
      return [
        {
          kind: 'candle.closed',
          timeMs: bucketEnd(startMs, resolution),
          data,
          subjects: [address],
          tokenAddress: event.token_address,
          tx: '',
          path: `${address}/${resolution}/${startMs}`,
        },
      ]
    })
  })

/**
 * Prices that crossed a level that an endpoint waits for. The first price that is seen crosses nothing. One by one as they are
 * asked for: a price may cross very many levels.
 */
export function* priceCrossingEvents(
  { events }: TokenPriceEvents,
  { meta, hasPriceLevel, crossedLevels, swapPrice }: MapContext,
): Iterable<EventDraft> {
  for (const { token_price: priced, block } of events) {
    const price = priced?.price_in_usd ?? ''
    if (priced === null || price === '') continue
    const token = priced.token_address
    if (!hasPriceLevel(token)) continue
    const before = swapPrice(token, price)
    if (before === undefined) continue
    const direction = Number(before) < Number(price) ? 'up' : 'down'
    for (const level of crossedLevels(token, Number(before), Number(price))) {
      yield {
        kind: 'price.crossed',
        timeMs: block?.timestamp || meta.block_time,
        data: { a: token, lv: formatDecimal(level), d: direction, piu: price, ppiu: before },
        subjects: [levelSubject(token, level)],
        tokenAddress: token,
        tx: '',
        path: `${block?.height ?? meta.height}/${level}/${direction}`,
      }
    }
  }
}
