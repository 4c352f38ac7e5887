import { formatUnits, formatUsd, unitsToNumber } from '../../core/amounts.ts'
import { candleSeriesOf, type EventCandle, expandCandles } from '../../core/candlestick-events.ts'
import type { CandleKey, TradeKey } from '../../schemas/channel-keys.ts'
import { CHANNELS, type ChannelOf, type ChannelRow, channelRow } from '../../schemas/channels.ts'
import type { CandlestickEvents, Trade, TradeEvent, TradeEvents } from '../../schemas/wire.ts'
import { streamSubject } from './channel-name.ts'
import type { Payload } from './payload.ts'

/** One event as one stream carries it. */
export interface Publication {
  readonly row: ChannelRow
  readonly subject: string
  /** Token, pool, wallet or pair of the subject. */
  readonly address: string
  readonly payload: Payload
  /** Index of the event in its record: the low part of the position. */
  readonly index: number
  /** The event was undone by a reorg. */
  readonly retraction: boolean
  /** Of a block that is not confirmed yet: of those that want such trades, and never kept. */
  readonly pending: boolean
  /** Start of the candle's bucket; 0 for events. */
  readonly bucketMs: number
  /** Values of different facets of a channel do not replace each other; "" = it has one. */
  readonly facet: string
}

/** Name, symbol and decimals of a token, as far as they are known; -1 = unknown decimals. */
export interface TokenMetadata {
  readonly name: string
  readonly symbol: string
  readonly decimals: number
}

/** Context of the mappers. */
export interface PublishContext {
  readonly chain: string
  nameOf(token: string): TokenMetadata | undefined
  /** Last price of a token in USD; "" = unknown. */
  priceOf(token: string): string
  /** True: there is a subscription to candles of the token, pool or pair. */
  hasCandleSubscribers(address: string): boolean
  /** False: there is no subscriber and nothing is kept, so the payload need not be made. */
  isNeeded(subject: string, row: ChannelRow, address: string): boolean
}

const candleChannels = (dimension: string): readonly ChannelRow[] =>
  CHANNELS.filter(({ candle }) => candle?.dimension === dimension)
const CANDLE_CHANNELS: Readonly<Record<string, readonly ChannelRow[]>> = {
  CANDLESTICK_DIMENSION_TOKEN_ADDRESS: candleChannels('CANDLESTICK_DIMENSION_TOKEN_ADDRESS'),
  CANDLESTICK_DIMENSION_POOL_ADDRESS: candleChannels('CANDLESTICK_DIMENSION_POOL_ADDRESS'),
  CANDLESTICK_DIMENSION_PAIR: candleChannels('CANDLESTICK_DIMENSION_PAIR'),
}

/**
 * Publications of one record of `{c}.candlesticks`. A candle without a price in the unit is not published, nor is one that the topic
 * repeats because its end has become final: nothing of it has changed, and newer candles of its channel have been sent.
 */
export const candlePublications = (
  message: CandlestickEvents,
  context: PublishContext,
): readonly Publication[] => {
  const publications: Publication[] = []
  for (const [index, event] of message.events.entries()) {
    if (event.is_final) continue
    let candles: readonly EventCandle[] | undefined
    for (const series of candleSeriesOf(event)) {
      if (!context.hasCandleSubscribers(series.address)) continue
      candles ??= expandCandles(event)
      for (const row of CANDLE_CHANNELS[series.dimension] ?? []) {
        for (const candle of candles) {
          const publication = candlePublication(
            { candle, row, address: series.address, index },
            context,
          )
          if (publication !== undefined) publications.push(publication)
        }
      }
    }
  }
  return publications
}

interface CandleTarget {
  readonly candle: EventCandle
  readonly row: ChannelRow
  readonly address: string
  readonly index: number
}

const candlePublication = (
  { candle, row, address, index }: CandleTarget,
  context: PublishContext,
): Publication | undefined => {
  const subject = streamSubject(row.prefix, context.chain, address, candle.resolution)
  if (!context.isNeeded(subject, row, address)) return undefined
  const payload = candlePayload(candle, address, row.candle?.unit === 'native')
  if (payload.o === '' && candle.trades > 0) return undefined
  return {
    row,
    subject,
    address,
    payload,
    index,
    retraction: false,
    pending: false,
    bucketMs: candle.startMs,
    facet: '',
  }
}

const candlePayload = (
  candle: EventCandle,
  address: string,
  native: boolean,
): Readonly<Record<CandleKey, string | number>> => ({
  a: address,
  o: native ? candle.openInNative : candle.open,
  c: native ? candle.closeInNative : candle.close,
  h: native ? candle.highInNative : candle.high,
  l: native ? candle.lowInNative : candle.low,
  v: candle.volume,
  r: candle.resolution,
  t: candle.startMs,
  n: candle.trades,
})

/** Whom a trade is published to, and the token that the publication is about. */
type TradeView = readonly [address: string, about: string]

/** Views of a trade by the channel that has them: every channel that is made of trades. */
const TRADE_VIEWS: Readonly<
  Record<ChannelOf<'tradesProcessed'>, (trade: Trade) => readonly TradeView[]>
> = {
  'dex-trade': ({ token_a_address: base, token_b_address: quote }) => [
    [base, base],
    [quote, quote],
  ],
  'dex-wallet-trade': (trade) =>
    tradeWallets(trade).map((wallet) => [wallet, trade.token_a_address]),
}
const TRADE_CHANNELS = (Object.keys(TRADE_VIEWS) as (keyof typeof TRADE_VIEWS)[]).map(
  (prefix) => [channelRow(prefix), TRADE_VIEWS[prefix]] as const,
)

/**
 * Publications of one record of `{c}.dex.trades.processed` or `{c}.dex.trades.pending`: to both tokens and to every wallet involved.
 */
export const tradePublications = (
  message: TradeEvents,
  context: PublishContext,
  pending = false,
): readonly Publication[] => {
  const retraction = message.meta?.op === 'OP_REVERT'
  const publications: Publication[] = []
  for (const [index, event] of message.events.entries()) {
    const { trade } = event
    if (trade === null) continue
    let shared: SharedPayload | undefined
    for (const [row, viewsOf] of TRADE_CHANNELS) {
      for (const [address, about] of viewsOf(trade)) {
        const subject = streamSubject(row.prefix, context.chain, address)
        if (!context.isNeeded(subject, row, address)) continue
        shared ??= sharedPayload(event, trade, context)
        const payload: { -readonly [Key in keyof TradePayload]: TradePayload[Key] } = { ...shared }
        payload.a = about
        payload.k = shared.btma === about ? 'buy' : 'sell'
        if (pending) payload.cm = 'processed'
        if (retraction) payload.op = 'revert'
        publications.push({
          row,
          subject,
          address,
          payload,
          index,
          retraction,
          pending,
          bucketMs: 0,
          facet: '',
        })
      }
    }
  }
  return publications
}

const tradeWallets = ({
  user_a_account_owner_address: a,
  user_b_account_owner_address: b,
}: Trade): readonly string[] => [a, ...(b === a ? [] : [b])].filter((wallet) => wallet !== '')

type TradePayload = Readonly<Partial<Record<TradeKey, string | number>>>
/** What every view of a trade has in common; the token that it is about and the side are the view's. */
type SharedPayload = Readonly<Record<Exclude<TradeKey, 't' | 'cm' | 'op'>, string>> & {
  readonly t: number
}

/** One side of a trade: amount in token units and USD, "" when unknown. */
interface TradeSide {
  readonly token: string
  readonly wallet: string
  readonly amount: string
  readonly amountInUsd: string
}

const sharedPayload = (event: TradeEvent, trade: Trade, context: PublishContext): SharedPayload => {
  const prices = event.trade_processed
  const a = tradeSide({
    token: trade.token_a_address,
    wallet: trade.user_a_account_owner_address,
    raw: trade.user_a_amount,
    decimals: trade.token_a_decimals,
    price: prices?.token_a_price_in_usd ?? '',
  })
  const b = tradeSide({
    token: trade.token_b_address,
    wallet: trade.user_b_account_owner_address,
    raw: trade.user_b_amount,
    decimals: trade.token_b_decimals,
    price: prices?.token_b_price_in_usd ?? '',
  })
  const [bought, sold] = trade.was_original_direction ? [b, a] : [a, b]
  const buyName = context.nameOf(bought.token)
  const sellName = context.nameOf(sold.token)
  return {
    a: '',
    t: event.block?.timestamp ?? 0,
    k: '',
    ba: bought.amount,
    sa: sold.amount,
    baiu: bought.amountInUsd,
    saiu: sold.amountInUsd,
    btma: bought.token,
    stma: sold.token,
    btn: buyName?.name ?? '',
    bts: buyName?.symbol ?? '',
    stn: sellName?.name ?? '',
    sts: sellName?.symbol ?? '',
    bwa: bought.wallet,
    swa: sold.wallet,
    h: event.transaction?.signature ?? '',
  }
}

const tradeSide = (input: {
  readonly token: string
  readonly wallet: string
  readonly raw: string
  readonly decimals: number | null
  readonly price: string
}): TradeSide => {
  const { token, wallet, raw, decimals, price } = input
  if (decimals === null || !/^\d+$/.test(raw)) return { token, wallet, amount: '', amountInUsd: '' }
  const amountRaw = BigInt(raw)
  const inUsd = price === '' ? null : unitsToNumber(amountRaw, decimals) * Number(price)
  return { token, wallet, amount: formatUnits(amountRaw, decimals), amountInUsd: formatUsd(inUsd) }
}
