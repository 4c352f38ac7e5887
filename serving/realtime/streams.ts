import type { Codec } from '../../core/codec/contract.ts'
import type { ChannelTopic } from '../../schemas/channels.ts'
import { TOPICS } from '../../schemas/topics.ts'
import type { EventMeta, Messages } from '../../schemas/wire.ts'
import {
  balancePublications,
  documentPublications,
  holdingPublications,
  newTokenPublications,
  pnlPublications,
  poolPublications,
  statPublications,
  supplyPublications,
} from './mappers.ts'
import { candlePublications, type Desk, type Publication, tradePublications } from './publish.ts'

/** How the records of one topic become publications. */
export interface Stream {
  /** True: read even when nobody listens, because some of it is kept for those who come back. */
  readonly always: boolean
  /** Throws `Malformed`. */
  readonly read: (
    codec: Codec,
    value: Uint8Array,
    desk: Desk,
  ) => { readonly meta: EventMeta | null; readonly publications: readonly Publication[] }
}

type Enveloped = {
  [Name in keyof Messages]: Messages[Name] extends { readonly meta: EventMeta | null }
    ? Name
    : never
}[keyof Messages]

const stream = <Name extends Enveloped>(
  message: Name,
  map: (value: Messages[Name], desk: Desk) => readonly Publication[],
  always = false,
): Stream => ({
  always,
  read: (codec, bytes, desk) => {
    const value = codec.decode(message, bytes)
    return { meta: value.meta, publications: map(value, desk) }
  },
})

/** Every topic that a channel reads has its mapper. */
const BY_TOPIC: Readonly<Record<ChannelTopic, Stream>> = {
  tradesProcessed: stream('dex.trade.TradeEvents', tradePublications, true),
  candlesticks: stream('candlestick.CandlestickEvents', candlePublications),
  tradeStats: stream('trade.stat.TradeStatEvents', statPublications),
  tokenHoldings: stream('token.holding.TokenHoldingEvents', holdingPublications),
  tokensCreated: stream('token.TokenEvents', newTokenPublications),
  tokenDocuments: stream('token.TokenEvents', documentPublications),
  balancesProcessed: stream('balance.BalanceEvents', balancePublications),
  tokenMarketCaps: stream('token.market_cap.TokenMarketCapEvents', supplyPublications),
  poolsProcessed: stream('dex.pool.DexPoolEvents', poolPublications),
  walletTokenPnls: stream('wallet.pnl.WalletTokenPnlEvents', pnlPublications),
}

/** Streams by the suffix of their topic. */
export const STREAMS: ReadonlyMap<string, Stream> = new Map(
  (Object.entries(BY_TOPIC) as [keyof typeof BY_TOPIC, Stream][]).map(([topic, one]) => [
    TOPICS[topic].suffix,
    one,
  ]),
)
