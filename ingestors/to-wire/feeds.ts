import type { DecodedBlock } from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { Keyed, MappingContext } from './context.ts'
import { redPacketEvents } from './red-packet-feed.ts'
import { transactionEvents } from './transactions.ts'

/** What a block publishes in the topics of optional feeds; absent where a feed is off. */
export interface FeedEvents {
  readonly calls?: readonly Keyed<Wire.CallEvent>[]
  readonly events?: readonly Keyed<Wire.LogEvent>[]
  readonly minerRewards?: readonly Keyed<Wire.MinerRewardEvent>[]
  readonly uncles?: readonly Keyed<Wire.UncleEvent>[]
  readonly instructions?: readonly Keyed<Wire.InstructionEvent>[]
  readonly rewards?: readonly Keyed<Wire.RewardEvent>[]
  readonly orders?: readonly Keyed<Wire.OrderEvent>[]
  readonly transactions?: readonly Keyed<Wire.TransactionEvent>[]
  readonly predictionTrades?: readonly Keyed<Wire.PredictionTradeEvent>[]
  readonly predictionManagements?: readonly Keyed<Wire.PredictionManagementEvent>[]
  readonly predictionSettlements?: readonly Keyed<Wire.PredictionSettlementEvent>[]
  readonly predictionPositions?: readonly Keyed<Wire.PredictionPositionEvent>[]
  readonly addressLabels?: readonly Keyed<Wire.AddressLabelEvent>[]
  readonly redpackets?: readonly Keyed<Wire.RedPacketEvent>[]
}

/** Events of the feeds that chains of several virtual machines have. */
export const commonFeedEvents = (
  context: MappingContext,
  { redPackets }: DecodedBlock,
  feeds: ReadonlySet<Feed>,
): FeedEvents => ({
  ...(feeds.has('transactions') && { transactions: transactionEvents(context) }),
  ...(feeds.has('red-packets') && { redpackets: redPacketEvents(context, redPackets) }),
})
