import {
  BALANCE_KEYS,
  CANDLE_KEYS,
  type ChannelKey,
  CURVE_KEYS,
  GENERAL_STAT_KEYS,
  HOLDING_KEYS,
  LIQUIDITY_KEYS,
  MAX_LIQUIDITY_KEYS,
  NEW_TOKEN_KEYS,
  PNL_KEYS,
  PNL_SUMMARY_KEYS,
  POOL_KEYS,
  PREDICTION_KEYS,
  RANKING_KEYS,
  STAT_KEYS,
  SUPPLY_KEYS,
  TRADE_KEYS,
} from './channel-keys.ts'
import type { Topic } from './topics.ts'

/** What stands behind the chain in a channel name, in order. */
export type ChannelParameter =
  | 'token'
  | 'pool'
  | 'pair'
  | 'wallet'
  | 'resolution'
  /** A ranking, of one launchpad where its name follows. */
  | 'ranking'
  | 'wholeRanking'
  /** The ranking of new tokens: the only one of its family. */
  | 'newRanking'
  /** An event of a prediction market: its group of questions or its condition, as blocks name them. */
  | 'eventSlug'
  /** An outcome token of a prediction market: a decimal number of up to 78 digits. */
  | 'outcomeToken'

/** Rankings by the word of their channels, and the one that each word means. */
export const RANKINGS = {
  new: 'new',
  trending: 'trending',
  completed: 'completed',
  graduated: 'graduated',
  stocks: 'stocks',
  us_stocks: 'stocks',
} as const
/** Tokens in an order. `completed`: their launch curve is nearly sold; `graduated`: they moved to a DEX. */
export type Ranking = (typeof RANKINGS)[keyof typeof RANKINGS]

/** Launchpads that a ranking can be narrowed to, as channels and token facts spell them. */
export const RANKING_LAUNCHPADS = [
  'pump_fun',
  'raydium_launchpad',
  'meteora_dynamic_bounding_curve',
  'bonk_fun',
  'boop_fun',
  'moonit_fun',
] as const

/** What channels without a topic are made of: a query that is repeated. Each needs a mapper in `serving/realtime/polled-lists.ts`. */
export type ChannelQuery =
  | 'ranking'
  | 'rankingStats'
  | 'rankingHolders'
  | 'rankingSupply'
  | 'rankingNumbers'
  | 'rankingCurves'
  | 'walletPnl'

/** One channel family. */
export interface ChannelRow {
  readonly prefix: string
  /** Other spellings that clients subscribe with; answered under the literal name. */
  readonly aliases: readonly string[]
  readonly parameters: readonly ChannelParameter[]
  /** null: a query is repeated instead. */
  readonly topic: Topic | null
  readonly query: ChannelQuery | null
  /** Topics that feed it beside `topic`. */
  readonly moreTopics?: readonly Topic[]
  /** Candle families: which candles of the topic, and in which unit. */
  readonly candle: {
    readonly dimension: `CANDLESTICK_DIMENSION_${'TOKEN_ADDRESS' | 'POOL_ADDRESS' | 'PAIR'}`
    readonly unit: 'usd' | 'native'
  } | null
  /**
   * True: publications are kept for clients that come back. The subject has to be the topic's partition key, so that positions are
   * stable, and every publication a value of its own. Quote assets stay plain.
   */
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

/** A row whose name and topic the types know: mappers are tables by name, so that one without a mapper does not compile. */
type Channel<Prefix extends string, Source extends Topic | null> = ChannelRow & {
  readonly prefix: Prefix
  readonly topic: Source
}

/** Topics whose records become publications by the name of the channel; candles become theirs by the facts of the row. */
type NamedTopic = Exclude<Topic, 'candlesticks' | 'tradesPending'>

const candleChannel = <Prefix extends string>(
  prefix: Prefix,
  subject: 'token' | 'pool' | 'pair',
  unit: 'usd' | 'native',
  aliases: readonly string[] = [],
): Channel<Prefix, 'candlesticks'> => ({
  prefix,
  aliases,
  parameters: [subject, 'resolution'],
  topic: 'candlesticks',
  query: null,
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

const tradeChannel = <Prefix extends string>(
  prefix: Prefix,
  subject: 'token' | 'wallet',
  aliases: readonly string[],
): Channel<Prefix, 'tradesProcessed'> => ({
  prefix,
  aliases,
  parameters: [subject],
  topic: 'tradesProcessed',
  query: null,
  candle: null,
  recoverable: subject === 'token',
  delivery: 'event',
  shape: 'object',
  keys: TRADE_KEYS,
  pending: true,
  longNames: false,
})

/** A family whose publications are whole objects of one subject, newest wins. */
const latestValueChannel = <Prefix extends string, Source extends NamedTopic>(
  prefix: Prefix,
  parameters: readonly ChannelParameter[],
  topic: Source,
  keys: Readonly<Record<string, ChannelKey>>,
  aliases: readonly string[] = [],
): Channel<Prefix, Source> => ({
  prefix,
  aliases,
  parameters,
  topic,
  keys,
  query: null,
  candle: null,
  recoverable: false,
  delivery: 'latest',
  shape: 'object',
  pending: false,
  longNames: false,
})

const withLongNames = <Row extends ChannelRow>(row: Row): Row => ({ ...row, longNames: true })

/** A family of which every publication counts. */
const eventChannel = <Prefix extends string, Source extends NamedTopic>(
  prefix: Prefix,
  parameters: readonly ChannelParameter[],
  topic: Source,
  keys: Readonly<Record<string, ChannelKey>>,
  aliases: readonly string[] = [],
): Channel<Prefix, Source> => ({
  ...latestValueChannel(prefix, parameters, topic, keys, aliases),
  delivery: 'event',
})

/** What happened in prediction markets: trades and settlements. */
const predictionChannel = <Prefix extends string>(
  prefix: Prefix,
  parameter: ChannelParameter,
): Channel<Prefix, 'predictionTrades'> => ({
  ...eventChannel(prefix, [parameter], 'predictionTrades', PREDICTION_KEYS),
  moreTopics: ['predictionSettlements'],
})

/** A family that sends the events of a second as one array. */
const batchChannel = <Prefix extends string, Source extends NamedTopic>(
  prefix: Prefix,
  topic: Source,
  keys: Readonly<Record<string, ChannelKey>>,
): Channel<Prefix, Source> => ({ ...eventChannel(prefix, [], topic, keys), shape: 'array' })

/** A family whose lists a query gives again and again. */
const listChannel = <Prefix extends string>(
  prefix: Prefix,
  parameter: ChannelParameter,
  query: ChannelQuery,
  keys: Readonly<Record<string, ChannelKey>>,
  aliases: readonly string[] = [],
): Channel<Prefix, null> => ({
  prefix,
  aliases,
  keys,
  query,
  parameters: [parameter],
  topic: null,
  candle: null,
  recoverable: false,
  delivery: 'latest',
  shape: 'array',
  pending: false,
  longNames: false,
})

const ROWS = [
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
  latestValueChannel('dex-token-general-stat-num', ['token'], 'poolsProcessed', GENERAL_STAT_KEYS),
  listChannel('dex-wallet-pnl-list', 'wallet', 'walletPnl', PNL_SUMMARY_KEYS),
  listChannel('dex-ranking-list', 'ranking', 'ranking', RANKING_KEYS),
  // The same, an element at a time.
  {
    ...listChannel('dex-ranking-token-list', 'ranking', 'ranking', RANKING_KEYS),
    shape: 'object',
  },
  listChannel('dex-ranking-token-stats-list', 'wholeRanking', 'rankingStats', STAT_KEYS, [
    'dex-ranking-token-stats',
  ]),
  listChannel('dex-ranking-token-holding-list', 'wholeRanking', 'rankingHolders', HOLDING_KEYS),
  listChannel('dex-ranking-token-supply-list', 'wholeRanking', 'rankingSupply', SUPPLY_KEYS),
  listChannel(
    'dex-ranking-token-general_stat_num-list',
    'wholeRanking',
    'rankingNumbers',
    GENERAL_STAT_KEYS,
  ),
  listChannel('dex-ranking-token-bounding-curve-list', 'newRanking', 'rankingCurves', CURVE_KEYS),
  predictionChannel('pred:evt', 'eventSlug'),
  predictionChannel('pred:tok', 'outcomeToken'),
] as const

/** Every channel family that is served. A stream is a row here and a mapper of its topic or query in `serving/realtime/`. */
export const CHANNELS: readonly ChannelRow[] = ROWS

/** Name of a channel family. */
export type ChannelPrefix = (typeof ROWS)[number]['prefix']

/** Topics that channels read. Each needs a mapper in `serving/realtime/topic-streams.ts`. */
export type ChannelTopic =
  | Exclude<(typeof ROWS)[number]['topic'], null>
  | 'tradesPending'
  | 'predictionSettlements'

/** Channel families that are made of a topic: each needs publications of its own from a record of it. */
export type ChannelOf<Source extends ChannelTopic> = Extract<
  (typeof ROWS)[number],
  { readonly topic: Source }
>['prefix']

/** Topics that channels are made of. */
export const CHANNEL_TOPICS: readonly Topic[] = [
  ...new Set(CHANNELS.flatMap(({ topic, moreTopics = [] }) => [topic ?? [], moreTopics].flat())),
  'tradesPending',
]

/** Topics of which something is kept for clients that come back: read also without subscribers, and refilled at a start. */
export const RECOVERABLE_TOPICS: ReadonlySet<Topic> = new Set(
  CHANNELS.flatMap(({ topic, recoverable }) => (recoverable && topic !== null ? [topic] : [])),
)

const ROW_BY_PREFIX: ReadonlyMap<string, ChannelRow> = new Map(
  CHANNELS.map((row) => [row.prefix, row]),
)

/** Row of a family by its prefix. */
export const channelRow = (prefix: ChannelPrefix): ChannelRow => {
  const row = ROW_BY_PREFIX.get(prefix)
  if (row === undefined) throw new Error(`no channel family ${prefix}`)
  return row
}
