import type { Codec, MessageName } from '../../core/codec/contract.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import { type Feed, feedTopics } from '../../schemas/feeds.ts'
import { TOPICS, type Topic, type TopicRow } from '../../schemas/topics.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import { type FlatEvent, type FlatShape, flatRows } from './flat-rows.ts'
import type { Sink } from './tables.ts'

interface FlatRecord {
  readonly meta: EventMeta | null
  readonly events: readonly FlatEvent[]
}

const decoded = (codec: Codec, message: MessageName, bytes: Uint8Array): FlatRecord =>
  codec.decode(message, bytes) as unknown as FlatRecord

/** A feed is stored as it is: its record is flat, and its fields are the columns. */
const flatSink = (topic: Topic, table: string, shape: FlatShape): Sink => {
  const { message }: TopicRow = TOPICS[topic]
  if (message === null) throw new Error(`${topic} has no message`)
  return {
    topic,
    map: (codec, bytes) => {
      const value = decoded(codec, message, bytes)
      return { meta: value.meta, tables: [{ table, rows: flatRows(value, shape) }] }
    },
  }
}

/** Sinks of optional feeds. */
export const FEED_SINKS: readonly Sink[] = [
  flatSink('calls', 'traces_enriched', { raws: ['value'] }),
  flatSink('events', 'logs_enriched', {}),
  flatSink('minerRewards', 'miner_rewards', {
    raws: [
      ...['total_reward', 'burnt_fees', 'dynamic_reward', 'static_reward', 'tx_fees'],
      'uncle_reward',
    ],
  }),
  flatSink('uncles', 'uncles', { raws: ['difficulty'], times: ['uncle_time'] }),
  flatSink('instructions', 'instructions_enriched', {}),
  flatSink('rewards', 'rewards', { raws: ['post_balance'], signed: ['amount'] }),
  flatSink('orders', 'dex_orders', {
    raws: ['price_ticks', 'size_lots'],
    prices: ['limit_price', 'limit_amount'],
  }),
  flatSink('predictionTrades', 'prediction_trades', {
    raws: ['amount', 'collateral_amount', 'fee'],
    prices: ['price'],
  }),
  flatSink('predictionManagements', 'prediction_managements', {}),
  flatSink('predictionSettlements', 'prediction_settlements', {
    raws: ['collateral_amount'],
    rawLists: ['amounts'],
  }),
]

/** Those of a chain's feeds that are on. */
export const feedSinks = (chain: ChainRow, feeds: readonly Feed[]): readonly Sink[] => {
  const topics = feedTopics(chain, feeds)
  return FEED_SINKS.filter(({ topic }) => topics.includes(topic))
}
