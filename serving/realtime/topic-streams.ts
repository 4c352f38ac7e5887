import type { Codec } from '../../core/codec/contract.ts'
import { type ChannelTopic, RECOVERABLE_TOPICS } from '../../schemas/channels.ts'
import { TOPICS } from '../../schemas/topics.ts'
import type { EventMeta, Messages } from '../../schemas/wire.ts'
import {
  predictionPublications,
  predictionSettlementPublications,
} from './prediction-publications.ts'
import {
  candlePublications,
  type Publication,
  type PublishContext,
  tradePublications,
} from './publication.ts'
import {
  balancePublications,
  documentPublications,
  holdingPublications,
  newTokenPublications,
  pnlPublications,
  poolPublications,
  statPublications,
  supplyPublications,
} from './publication-mappers.ts'

/** How the records of one topic become publications. */
export interface TopicStream {
  /** True: read even without subscribers, because some of it is kept for clients that come back. */
  readonly isKept: boolean
  /** Throws `InvalidInput`. */
  readonly read: (
    codec: Codec,
    value: Uint8Array,
    context: PublishContext,
  ) => { readonly meta: EventMeta | null; readonly publications: readonly Publication[] }
}

type MessageWithMeta = {
  [Name in keyof Messages]: Messages[Name] extends { readonly meta: EventMeta | null }
    ? Name
    : never
}[keyof Messages]

const topicStream = <Name extends MessageWithMeta>(
  message: Name,
  map: (value: Messages[Name], context: PublishContext) => readonly Publication[],
): Pick<TopicStream, 'read'> => ({
  read: (codec, bytes, context) => {
    const value = codec.decode(message, bytes)
    return { meta: value.meta, publications: map(value, context) }
  },
})

/** Every topic that a channel reads has its mapper. */
const STREAM_BY_TOPIC: Readonly<Record<ChannelTopic, Pick<TopicStream, 'read'>>> = {
  tradesProcessed: topicStream('dex.trade.TradeEvents', tradePublications),
  tradesPending: topicStream('dex.trade.TradeEvents', (value, context) =>
    tradePublications(value, context, true),
  ),
  candlesticks: topicStream('candlestick.CandlestickEvents', candlePublications),
  tradeStats: topicStream('trade.stat.TradeStatEvents', statPublications),
  tokenHoldings: topicStream('token.holding.TokenHoldingEvents', holdingPublications),
  tokensCreated: topicStream('token.TokenEvents', newTokenPublications),
  tokenDocuments: topicStream('token.TokenEvents', documentPublications),
  balancesProcessed: topicStream('balance.BalanceEvents', balancePublications),
  tokenMarketCaps: topicStream('token.market_cap.TokenMarketCapEvents', supplyPublications),
  poolsProcessed: topicStream('dex.pool.DexPoolEvents', poolPublications),
  walletTokenPnls: topicStream('wallet.pnl.WalletTokenPnlEvents', pnlPublications),
  predictionTrades: topicStream('prediction.PredictionTradeEvents', predictionPublications),
  predictionSettlements: topicStream(
    'prediction.PredictionSettlementEvents',
    predictionSettlementPublications,
  ),
}

/** Streams by the suffix of their topic. */
export const STREAM_BY_SUFFIX: ReadonlyMap<string, TopicStream> = new Map(
  (Object.keys(STREAM_BY_TOPIC) as ChannelTopic[]).map((topic) => [
    TOPICS[topic].suffix,
    { ...STREAM_BY_TOPIC[topic], isKept: RECOVERABLE_TOPICS.has(topic) },
  ]),
)
