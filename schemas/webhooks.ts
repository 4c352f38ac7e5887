import { CHAINS } from './chains.ts'
import {
  ACTIVITY_KEYS,
  CANDLE_KEYS,
  type ChannelKey,
  NEW_TOKEN_KEYS,
  PRICE_CROSSING_KEYS,
  TRADE_KEYS,
  TRANSFER_KEYS,
} from './channel-keys.ts'
import type { Topic } from './topics.ts'

/** What an endpoint must name before it may have a channel: those with many events are never sent whole. */
export type ChannelRequirement = 'nothing' | 'subjects' | 'subjects-or-filter' | 'price-levels'

/** One kind of webhook: its channel exists for every chain, `sol.token.created`. */
export interface WebhookKindRow {
  readonly about: string
  /** Where its events come from. */
  readonly topics: readonly Topic[]
  /** Keys of `data`, in the order in which they are sent. */
  readonly keys: Readonly<Record<string, ChannelKey>>
  readonly needs: ChannelRequirement
  /** Keys of `data` whose values an endpoint can name as subjects. */
  readonly subjectKeys: readonly string[]
}

const pickKeys = <Keys extends Readonly<Record<string, ChannelKey>>, const Name extends keyof Keys>(
  keys: Keys,
  ...names: readonly Name[]
): Pick<Keys, Name> => Object.fromEntries(names.map((name) => [name, keys[name]])) as never

const { op: _op, cm: _cm, t: _t, btn: _btn, bts: _bts, stn: _stn, sts: _sts, ...SIDES } = TRADE_KEYS

/** Price levels of one token that an organization may have, over all its endpoints. */
export const MAX_LEVELS_PER_TOKEN = 1_000

/** Transfers below this are not large, US dollars. */
export const LARGE_TRANSFER_USD = 10_000

/** Every kind of webhook. A kind is a row here and a mapper in `serving/webhooks/event-mappers.ts`. */
export const WEBHOOK_KINDS = {
  'token.created': {
    about: 'A token came to be, on a launchpad or by hand',
    topics: ['tokensCreated'],
    keys: pickKeys(NEW_TOKEN_KEYS, 'a', 'n', 's', 'dec', 'cts', 'lf'),
    needs: 'nothing',
    subjectKeys: [],
  },
  'token.migrated': {
    about: 'A launchpad token moved to its pool',
    topics: ['tokensMigrated'],
    keys: pickKeys(NEW_TOKEN_KEYS, 'a', 'n', 's', 'cts', 'lf', 'mt'),
    needs: 'nothing',
    subjectKeys: [],
  },
  'trade.executed': {
    about: 'A trade of a token, on a pool, or by a wallet that the endpoint names',
    topics: ['tradesProcessed'],
    keys: {
      ...SIDES,
      p: { type: 's', long: 'poolAddress' },
      sr: { type: 's', long: 'suspectReason' },
    },
    needs: 'subjects',
    subjectKeys: ['btma', 'stma', 'bwa', 'swa', 'p'],
  },
  'candle.closed': {
    about: 'A candle of a token or pool that the endpoint names is final: 1m, 1h and 1d',
    topics: ['candlesticks'],
    keys: CANDLE_KEYS,
    needs: 'subjects',
    subjectKeys: ['a'],
  },
  'transfer.large': {
    about: `A transfer worth at least ${LARGE_TRANSFER_USD} US dollars`,
    topics: ['transfersProcessed'],
    keys: TRANSFER_KEYS,
    needs: 'subjects-or-filter',
    subjectKeys: ['a', 'f', 'r'],
  },
  'price.crossed': {
    about: 'The price of a token in US dollars crossed a level that the endpoint names',
    topics: ['tokenPrices'],
    keys: PRICE_CROSSING_KEYS,
    needs: 'price-levels',
    subjectKeys: [],
  },
  'wallet.activity': {
    about: 'A wallet that the endpoint names bought, sold, sent or received',
    topics: ['tradesProcessed', 'transfersProcessed'],
    keys: ACTIVITY_KEYS,
    needs: 'subjects',
    subjectKeys: ['a'],
  },
} as const satisfies Record<string, WebhookKindRow>

/** Name of a kind, the channel without its chain. */
export type WebhookKind = keyof typeof WEBHOOK_KINDS

/** Name of a webhook channel, which is also the event type. */
export type WebhookChannel = `${keyof typeof CHAINS}.${WebhookKind}`

/** Every kind, in the table's order. */
export const WEBHOOK_KIND_NAMES = Object.keys(WEBHOOK_KINDS) as readonly WebhookKind[]

/** The channel of a kind on a chain. */
export const webhookChannel = (chain: string, kind: WebhookKind): WebhookChannel =>
  `${chain as keyof typeof CHAINS}.${kind}`

/** Chain of a channel, by its internal id. */
export const channelChain = (channel: WebhookChannel): string =>
  channel.slice(0, channel.indexOf('.'))

/** Kind of a channel. */
export const channelKind = (channel: WebhookChannel): WebhookKind =>
  channel.slice(channel.indexOf('.') + 1) as WebhookKind

/** Row of a kind, as every kind has it. */
export const kindRow = (kind: WebhookKind): WebhookKindRow => WEBHOOK_KINDS[kind]

/** Every channel name, chain by chain. */
export const WEBHOOK_CHANNEL_NAMES: readonly WebhookChannel[] = Object.keys(CHAINS).flatMap(
  (chain) => WEBHOOK_KIND_NAMES.map((kind) => webhookChannel(chain, kind)),
)

/** What an endpoint without a list of channels gets: whatever needs nothing to be named. New ones of that sort come by themselves. */
export const DEFAULT_WEBHOOK_CHANNELS: readonly WebhookChannel[] = WEBHOOK_CHANNEL_NAMES.filter(
  (name) => kindRow(channelKind(name)).needs === 'nothing',
)

/** True for the name of a channel; records of later versions may hold others. */
export const isWebhookChannel = (text: string): text is WebhookChannel =>
  (WEBHOOK_CHANNEL_NAMES as readonly string[]).includes(text)
