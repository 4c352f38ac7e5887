import {
  BALANCE_KEYS,
  CANDLE_KEYS,
  type ChannelKey,
  HOLDING_KEYS,
  LIQUIDITY_KEYS,
  MAX_LIQUIDITY_KEYS,
  NEW_TOKEN_KEYS,
  PNL_KEYS,
  POOL_KEYS,
  STAT_KEYS,
  SUPPLY_KEYS,
  TRADE_KEYS,
} from './channel-keys.ts'
import type { Topic } from './topics.ts'

/** What stands behind the chain in a channel name, in order. */
export type ChannelParameter = 'token' | 'pool' | 'pair' | 'wallet' | 'resolution'

/** Topics that channels read. Each needs a mapper in `serving/realtime/topic-streams.ts`: without one nothing compiles. */
export type ChannelTopic = Extract<
  Topic,
  | 'tradesProcessed'
  | 'tradesPending'
  | 'candlesticks'
  | 'tradeStats'
  | 'tokenHoldings'
  | 'tokensCreated'
  | 'tokenDocuments'
  | 'balancesProcessed'
  | 'tokenMarketCaps'
  | 'poolsProcessed'
  | 'walletTokenPnls'
>

/** One channel family. */
export interface ChannelRow {
  readonly prefix: string
  /** Other spellings that clients subscribe with; answered under the literal name. */
  readonly aliases: readonly string[]
  readonly parameters: readonly ChannelParameter[]
  readonly topic: ChannelTopic
  /** Candle families: which candles of the topic, and in which unit. */
  readonly candle: {
    readonly dimension: `CANDLESTICK_DIMENSION_${'TOKEN_ADDRESS' | 'POOL_ADDRESS' | 'PAIR'}`
    readonly unit: 'usd' | 'native'
  } | null
  /** True: the subject is the topic's partition key, so positions are stable. Quote assets stay plain. */
  readonly recoverable: boolean
  /** `latest`: only the newest value matters, so a slow reader may miss some; `event`: every publication counts. */
  readonly delivery: 'latest' | 'event'
  readonly shape: 'object' | 'array'
  readonly keys: Readonly<Record<string, ChannelKey>>
  /** True: trades of blocks that are not confirmed yet can be asked for. */
  readonly pending: boolean
  /** True: old clients read it by long names only, so clients that do not say their name get both. */
  readonly longNames: boolean
}

const candleChannel = (
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
  pending: false,
  longNames: false,
})

const tradeChannel = (
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
  pending: true,
  longNames: false,
})

/** A family whose publications are whole objects of one subject, newest wins. */
const latestValueChannel = (
  prefix: string,
  parameters: readonly ChannelParameter[],
  topic: ChannelTopic,
  keys: Readonly<Record<string, ChannelKey>>,
  aliases: readonly string[] = [],
): ChannelRow => ({
  prefix,
  aliases,
  parameters,
  topic,
  keys,
  candle: null,
  recoverable: false,
  delivery: 'latest',
  shape: 'object',
  pending: false,
  longNames: false,
})

const withLongNames = (row: ChannelRow): ChannelRow => ({ ...row, longNames: true })

/** A family of which every publication counts. */
const eventChannel = (
  prefix: string,
  parameters: readonly ChannelParameter[],
  topic: ChannelTopic,
  keys: Readonly<Record<string, ChannelKey>>,
  aliases: readonly string[] = [],
): ChannelRow => ({
  ...latestValueChannel(prefix, parameters, topic, keys, aliases),
  delivery: 'event',
})

/** A family that sends the events of a second as one array. */
const batchChannel = (
  prefix: string,
  topic: ChannelTopic,
  keys: Readonly<Record<string, ChannelKey>>,
): ChannelRow => ({ ...eventChannel(prefix, [], topic, keys), shape: 'array' })

/** Every channel family that is served. A stream is a row here and a mapper in `serving/realtime/publication.ts`. */
export const CHANNELS: readonly ChannelRow[] = [
  candleChannel('dex-candle', 'token', 'usd', ['dex-token-candles']),
  candleChannel('dex-candle-in-native', 'token', 'native'),
  candleChannel('dex-pool-candle', 'pool', 'usd'),
  candleChannel('dex-pool-candle-in-native', 'pool', 'native'),
  candleChannel('dex-pair-candle', 'pair', 'usd'),
  candleChannel('dex-pair-candle-in-native', 'pair', 'native'),
  tradeChannel('dex-trade', 'token', ['dex-token-trade']),
  tradeChannel('dex-wallet-trade', 'wallet', ['wallet-trade']),
  latestValueChannel('dex-token-stats', ['token'], 'tradeStats', STAT_KEYS),
  withLongNames(
    latestValueChannel('dex-token-holding', ['token'], 'tokenHoldings', HOLDING_KEYS, [
      'token-holders',
      'dex-token-holders-stats',
      'dex-token-holder',
    ]),
  ),
  eventChannel('dex-new-token', [], 'tokensCreated', NEW_TOKEN_KEYS, ['dex-token-new']),
  batchChannel('dex-new-tokens', 'tokensCreated', NEW_TOKEN_KEYS),
  batchChannel('dex-new-tokens-metadata', 'tokenDocuments', NEW_TOKEN_KEYS),
  withLongNames(
    eventChannel('dex-wallet-balance', ['wallet'], 'balancesProcessed', BALANCE_KEYS, [
      'wallet-balance',
    ]),
  ),
  withLongNames(latestValueChannel('dex-token-supply', ['token'], 'tokenMarketCaps', SUPPLY_KEYS)),
  withLongNames(
    latestValueChannel('dex-token-liquidity', ['token'], 'poolsProcessed', MAX_LIQUIDITY_KEYS, [
      'dex-token-max-liquidity',
    ]),
  ),
  withLongNames(
    latestValueChannel('dex-token-total-liquidity', ['token'], 'poolsProcessed', LIQUIDITY_KEYS),
  ),
  withLongNames(
    latestValueChannel('dex-pool-balance', ['pool'], 'poolsProcessed', POOL_KEYS, [
      'dex-dex-pool-balance',
    ]),
  ),
  withLongNames(
    eventChannel('dex-wallet-token-pnl', ['wallet'], 'walletTokenPnls', PNL_KEYS, [
      'dex-wallet-pnl',
    ]),
  ),
]

/** Topics that channels are made of. */
export const CHANNEL_TOPICS: readonly Topic[] = [
  ...new Set(CHANNELS.map(({ topic }) => topic)),
  'tradesPending',
]

const ROW_BY_PREFIX: ReadonlyMap<string, ChannelRow> = new Map(
  CHANNELS.map((row) => [row.prefix, row]),
)

/** Row of a family by its prefix. Throws for one that is not served. */
export const channelRow = (prefix: string): ChannelRow => {
  const row = ROW_BY_PREFIX.get(prefix)
  if (row === undefined) throw new Error(`no channel family ${prefix}`)
  return row
}
