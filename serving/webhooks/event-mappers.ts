import { tryDecode } from '../../core/bus/dead-letters.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import {
  channelKind,
  kindRow,
  WEBHOOK_KIND_NAMES,
  type WEBHOOK_KINDS,
  type WebhookChannel,
  type WebhookKind,
  webhookChannel,
} from '../../schemas/webhooks.ts'
import type { EventMeta, Messages } from '../../schemas/wire.ts'
import type { EventDraft, MapContext } from './event-context.ts'
import {
  closedCandleEvents,
  largeTransferEvents,
  priceCrossingEvents,
  tradeActivityEvents,
  tradeEvents,
  transferActivityEvents,
} from './market-events.ts'
import { messageId, type WebhookEvent } from './message.ts'
import { tokenEvents } from './token-events.ts'

/** Messages of the topics that webhooks read. */
const MESSAGE_BY_TOPIC = {
  tokensCreated: 'token.TokenEvents',
  tokensMigrated: 'token.TokenEvents',
  tradesProcessed: 'dex.trade.TradeEvents',
  candlesticks: 'candlestick.CandlestickEvents',
  transfersProcessed: 'transfer.TransferEvents',
  tokenPrices: 'token.price.TokenPriceEvents',
} as const satisfies Record<string, keyof Messages>

/** A topic that webhooks read. */
export type WebhookTopic = keyof typeof MESSAGE_BY_TOPIC

type TopicMessage<Name extends WebhookTopic> = Messages[(typeof MESSAGE_BY_TOPIC)[Name]]
type Mapper<Name extends WebhookTopic> = (
  message: TopicMessage<Name>,
  context: MapContext,
) => Iterable<EventDraft>

/** Every kind has a mapper for each of its topics: without one nothing compiles. */
const MAPPERS: {
  readonly [Kind in WebhookKind]: {
    readonly [Name in (typeof WEBHOOK_KINDS)[Kind]['topics'][number]]: Mapper<Name>
  }
} = {
  'token.created': { tokensCreated: tokenEvents('token.created') },
  'token.migrated': { tokensMigrated: tokenEvents('token.migrated') },
  'trade.executed': { tradesProcessed: tradeEvents },
  'candle.closed': { candlesticks: closedCandleEvents },
  'transfer.large': { transfersProcessed: largeTransferEvents },
  'price.crossed': { tokenPrices: priceCrossingEvents },
  'wallet.activity': {
    tradesProcessed: tradeActivityEvents,
    transfersProcessed: transferActivityEvents,
  },
}

/** Topics that webhooks of a chain read. */
export const WEBHOOK_TOPICS = Object.keys(MESSAGE_BY_TOPIC) as readonly WebhookTopic[]

const kindsOf = (topic: WebhookTopic): readonly WebhookKind[] =>
  WEBHOOK_KIND_NAMES.filter((kind) => kindRow(kind).topics.includes(topic))

/** Context of reading a record. */
export interface ReadContext extends Omit<MapContext, 'meta' | 'hasSubject'> {
  readonly chain: string
  /** False: no endpoint names any of the subjects. */
  readonly hasSubject: (channel: WebhookChannel, subjects: readonly string[]) => boolean
  /** True: an endpoint has the channel, or its events are kept for replays. */
  readonly isOpen: (channel: WebhookChannel) => boolean
}

/** Events of a record, made one by one as they are asked for. A retraction gives none, because a webhook is never taken back; a topic that no endpoint needs is not decoded. */
export const readWebhookEvents = (
  codec: Codec,
  topic: WebhookTopic,
  value: Uint8Array | null,
  context: ReadContext,
): Iterable<WebhookEvent> | InvalidInput => {
  const kinds = kindsOf(topic).filter((kind) => context.isOpen(webhookChannel(context.chain, kind)))
  if (kinds.length === 0) return []
  const decoded = tryDecode(() => {
    if (value === null) throw new InvalidInput('tombstone', 'unexpected tombstone')
    return codec.decode(MESSAGE_BY_TOPIC[topic], value)
  })
  if (decoded instanceof InvalidInput) return decoded
  return webhookEvents(kinds, topic, decoded.value, context)
}

/** Events that kinds make of a decoded record, made one by one as they are asked for. */
export function* webhookEvents<Name extends WebhookTopic>(
  kinds: readonly WebhookKind[],
  topic: Name,
  message: TopicMessage<Name>,
  context: Omit<ReadContext, 'isOpen'>,
): Iterable<WebhookEvent> {
  const { meta } = message
  if (meta === null || meta.op !== 'OP_APPLY') return
  const mapContext: MapContext = {
    ...context,
    meta,
    hasSubject: (kind, subjects) =>
      context.hasSubject(webhookChannel(context.chain, kind), subjects),
  }
  for (const kind of kinds) {
    const mappers: Partial<Record<WebhookTopic, Mapper<Name>>> = MAPPERS[kind] as never
    for (const draft of mappers[topic]?.(message, mapContext) ?? []) {
      yield completeEvent(draft, webhookChannel(context.chain, kind), meta)
    }
  }
}

const completeEvent = (
  { timeMs, data, subjects, tokenAddress, tx, path }: EventDraft,
  channel: WebhookChannel,
  { block_time, chain, slot, commitment }: EventMeta,
): WebhookEvent => ({
  id: messageId(channel, tokenAddress, tx, path),
  channel,
  timeMs,
  knownMs: Math.max(timeMs, block_time),
  data,
  subjects,
  chain,
  tokenAddress,
  slot,
  tx,
  path,
  commitment: commitment.replace('COMMITMENT_', '').toLowerCase(),
})

/** True where a kind's messages are kept whoever wants them, so that a replay finds them. */
export const isAlwaysKept = (channel: WebhookChannel): boolean =>
  kindRow(channelKind(channel)).needs === 'nothing'
