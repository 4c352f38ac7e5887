import type { Codec, MessageName } from '../../core/codec/contract.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import { type Feed, feedTopics } from '../../schemas/feeds.ts'
import { TOPICS, type Topic, type TopicRow } from '../../schemas/topics.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import { type FeedColumnTypes, type FeedEvent, feedRows } from './feed-rows.ts'
import { predictionPositionTables } from './prediction-position-rows.ts'
import { redPacketRows } from './red-packet-rows.ts'
import type { Sink } from './tables.ts'

interface FeedRecord {
  readonly meta: EventMeta | null
  readonly events: readonly FeedEvent[]
}

const decodeFeed = (codec: Codec, message: MessageName, bytes: Uint8Array): FeedRecord =>
  codec.decode(message, bytes) as unknown as FeedRecord

/** A feed is stored as it is: its record is flat, and its fields are the columns. */
const createFeedSink = (topic: Topic, table: string, shape: FeedColumnTypes): Sink => {
  const { message }: TopicRow = TOPICS[topic]
  if (message === null) throw new Error(`${topic} has no message`)
  return {
    topic,
    map: (codec, bytes) => {
      const value = decodeFeed(codec, message, bytes)
      return { meta: value.meta, tables: [{ table, rows: feedRows(value, shape) }] }
    },
  }
}

/** Sinks of optional feeds. */
export const FEED_SINKS: readonly Sink[] = [
  createFeedSink('calls', 'traces_enriched', { raws: ['value'] }),
  createFeedSink('events', 'logs_enriched', {}),
  createFeedSink('minerRewards', 'miner_rewards', {
    raws: [
      ...['total_reward', 'burnt_fees', 'dynamic_reward', 'static_reward', 'tx_fees'],
      'uncle_reward',
    ],
  }),
  createFeedSink('uncles', 'uncles', { raws: ['difficulty'], times: ['uncle_time'] }),
  createFeedSink('instructions', 'instructions_enriched', {}),
  createFeedSink('rewards', 'rewards', { raws: ['post_balance'], signed: ['amount'] }),
  createFeedSink('orders', 'dex_orders', {
    raws: ['price_ticks', 'size_lots'],
    prices: ['limit_price', 'limit_amount'],
  }),
  createFeedSink('predictionTrades', 'prediction_trades', {
    raws: ['amount', 'collateral_amount', 'fee'],
    prices: ['price'],
  }),
  createFeedSink('predictionManagements', 'prediction_managements', {}),
  createFeedSink('predictionSettlements', 'prediction_settlements', {
    raws: ['collateral_amount'],
    rawLists: ['amounts'],
  }),
  createFeedSink('transactions', 'transactions', {
    unknownRaws: [
      ...(['value', 'gas_price', 'max_fee', 'max_priority_fee', 'priority_fee', 'burnt'] as const),
    ],
    counts: ['gas_limit', 'gas_used', 'cumulative_gas_used', 'nonce'],
  }),
  createFeedSink('addressLabels', 'address_label_events', {}),
  {
    topic: 'predictionPositions',
    map: (codec, bytes) => {
      const value = codec.decode('prediction.PredictionPositionEvents', bytes)
      return { meta: value.meta, tables: predictionPositionTables(value) }
    },
  },
  {
    topic: 'redpackets',
    map: (codec, bytes) => {
      const value = codec.decode('redpacket.RedPacketEvents', bytes)
      return { meta: value.meta, tables: redPacketRows(value) }
    },
  },
]

/** Those of a chain's feeds that are on. */
export const enabledFeedSinks = (chain: ChainRow, feeds: readonly Feed[]): readonly Sink[] => {
  const topics = feedTopics(chain, feeds)
  return FEED_SINKS.filter(({ topic }) => topics.includes(topic))
}
