import type { Topic } from './topics.ts'

/** What stands behind the chain in a channel name, in order. */
export type ChannelParameter = 'token' | 'pool' | 'pair' | 'wallet' | 'resolution'

/** How a short key is written: `d` decimal (R9), `n` integer, `ms` epoch milliseconds, `s` text. */
type KeyType = 'd' | 'n' | 'ms' | 's'

/** One short key of a payload with the name that filters and documents use for it. */
export interface ChannelKey {
  readonly type: KeyType
  readonly long: string
}

/** One channel family. Source: contract/websocket.md 4. */
export interface ChannelRow {
  readonly prefix: string
  /** Other spellings that clients subscribe with; answered under the literal name. */
  readonly aliases: readonly string[]
  readonly parameters: readonly ChannelParameter[]
  readonly topic: Topic
  /** Candle families: which candles of the topic, and in which unit. */
  readonly candle: {
    readonly dimension: `CANDLESTICK_DIMENSION_${'TOKEN_ADDRESS' | 'POOL_ADDRESS' | 'PAIR'}`
    readonly unit: 'usd' | 'native'
  } | null
  /** True: the subject is the topic's partition key, so positions are stable (R30). Quote assets stay plain. */
  readonly recoverable: boolean
  /** `latest`: only the newest value matters, so a slow reader may miss some; `event`: every publication counts. */
  readonly delivery: 'latest' | 'event'
  readonly shape: 'object' | 'array'
  readonly keys: Readonly<Record<string, ChannelKey>>
}

const d = (long: string): ChannelKey => ({ type: 'd', long })
const n = (long: string): ChannelKey => ({ type: 'n', long })
const ms = (long: string): ChannelKey => ({ type: 'ms', long })
const s = (long: string): ChannelKey => ({ type: 's', long })

/** Payload of the candle families, contract/websocket.md 4.1. */
const CANDLE_KEYS = {
  a: s('address'),
  o: d('open'),
  c: d('close'),
  h: d('high'),
  l: d('low'),
  v: d('volume'),
  r: s('resolution'),
  t: ms('time'),
  n: n('number'),
} as const

/** Payload of the trade families, contract/websocket.md 4.6; `op` by R49. */
const TRADE_KEYS = {
  a: s('tokenAddress'),
  t: ms('timestamp'),
  k: s('kind'),
  ba: d('buyAmount'),
  sa: d('sellAmount'),
  baiu: d('buyAmountInUsd'),
  saiu: d('sellAmountInUsd'),
  btma: s('buyTokenAddress'),
  stma: s('sellTokenAddress'),
  btn: s('buyTokenName'),
  bts: s('buyTokenSymbol'),
  stn: s('sellTokenName'),
  sts: s('sellTokenSymbol'),
  bwa: s('buyWalletAddress'),
  swa: s('sellWalletAddress'),
  h: s('txHash'),
  op: s('op'),
} as const

/** Key of a candle payload. */
export type CandleKey = keyof typeof CANDLE_KEYS
/** Key of a trade payload. */
export type TradeKey = keyof typeof TRADE_KEYS

const candles = (
  prefix: string,
  subject: 'token' | 'pool' | 'pair',
  unit: 'usd' | 'native',
  aliases: readonly string[] = [],
): ChannelRow => ({
  prefix,
  aliases,
  parameters: [subject, 'resolution'],
  topic: 'candlesticks',
  candle: {
    dimension:
      subject === 'pair'
        ? 'CANDLESTICK_DIMENSION_PAIR'
        : subject === 'pool'
          ? 'CANDLESTICK_DIMENSION_POOL_ADDRESS'
          : 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS',
    unit,
  },
  recoverable: false,
  delivery: 'latest',
  shape: 'object',
  keys: CANDLE_KEYS,
})

const trades = (
  prefix: string,
  subject: 'token' | 'wallet',
  aliases: readonly string[],
): ChannelRow => ({
  prefix,
  aliases,
  parameters: [subject],
  topic: 'tradesProcessed',
  candle: null,
  recoverable: subject === 'token',
  delivery: 'event',
  shape: 'object',
  keys: TRADE_KEYS,
})

/** Every channel family that is served. A stream is a row here and a mapper in `serving/realtime/publish.ts`. */
export const CHANNELS: readonly ChannelRow[] = [
  candles('dex-candle', 'token', 'usd', ['dex-token-candles']),
  candles('dex-candle-in-native', 'token', 'native'),
  candles('dex-pool-candle', 'pool', 'usd'),
  candles('dex-pool-candle-in-native', 'pool', 'native'),
  candles('dex-pair-candle', 'pair', 'usd'),
  candles('dex-pair-candle-in-native', 'pair', 'native'),
  trades('dex-trade', 'token', ['dex-token-trade']),
  trades('dex-wallet-trade', 'wallet', ['wallet-trade']),
]
