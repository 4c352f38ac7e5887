import type { DecodedBlock } from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { OutcomePositions } from '../evm/predictions/outcome-positions.ts'
import type { Outcomes } from '../evm/predictions/outcome-tokens.ts'
import type { Keyed, MappingContext } from './context.ts'
import { callEvents, logEvents, minerRewardEvents, uncleEvents } from './evm-feeds.ts'
import { positionEvents } from './outcome-positions.ts'
import { type PredictionEvents, predictionEvents } from './prediction-feeds.ts'
import { redPacketEvents } from './red-packet-feed.ts'
import { instructionEvents, orderEvents, rewardEvents } from './svm-feeds.ts'
import { transactionEvents } from './transactions.ts'

/** What a block publishes in the topics of optional feeds; absent where a feed is off. */
export interface FeedEvents extends Partial<PredictionEvents> {
  readonly calls?: readonly Keyed<Wire.CallEvent>[]
  readonly events?: readonly Keyed<Wire.LogEvent>[]
  readonly minerRewards?: readonly Keyed<Wire.MinerRewardEvent>[]
  readonly uncles?: readonly Keyed<Wire.UncleEvent>[]
  readonly instructions?: readonly Keyed<Wire.InstructionEvent>[]
  readonly rewards?: readonly Keyed<Wire.RewardEvent>[]
  readonly orders?: readonly Keyed<Wire.OrderEvent>[]
  readonly transactions?: readonly Keyed<Wire.TransactionEvent>[]
  readonly predictionPositions?: readonly Keyed<Wire.PredictionPositionEvent>[]
  readonly redpackets?: readonly Keyed<Wire.RedPacketEvent>[]
}

/** What is published beside trades. */
export interface Wanted {
  /** Those of the chain that are on. Default: none. */
  readonly feeds?: ReadonlySet<Feed>
  /** What is known of outcome tokens, where prediction markets are published. */
  readonly outcomes?: Outcomes
  /** What the block did to positions in them. */
  readonly positions?: OutcomePositions
}

/** Maps what the chain's feeds ask for. */
export const feedEvents = (
  context: MappingContext,
  decoded: DecodedBlock,
  wanted: Wanted,
): FeedEvents => {
  const { block } = context
  const { feeds } = wanted
  if (feeds === undefined || feeds.size === 0) return {}
  const transactions = feeds.has('transactions') ? { transactions: transactionEvents(block) } : {}
  return { ...transactions, ...vmFeedEvents(context, decoded, { ...wanted, feeds }) }
}

const vmFeedEvents = (
  context: MappingContext,
  { predictions, redPackets }: DecodedBlock,
  { feeds, outcomes, positions }: Wanted & { readonly feeds: ReadonlySet<Feed> },
): FeedEvents => {
  const { block } = context
  const packets = feeds.has('red-packets') && { redpackets: redPacketEvents(context, redPackets) }
  if (block.vm === 'evm') {
    return {
      ...(feeds.has('calls') && { calls: callEvents(block) }),
      ...(feeds.has('events') && { events: logEvents(block) }),
      ...(feeds.has('miner-rewards') && { minerRewards: minerRewardEvents(block) }),
      ...(feeds.has('uncles') && { uncles: uncleEvents(block) }),
      ...(outcomes && predictionEvents(block, predictions, outcomes)),
      ...(outcomes &&
        positions && { predictionPositions: positionEvents(block, positions, outcomes) }),
      ...packets,
    }
  }
  if (block.vm !== 'svm') return {}
  return {
    ...(feeds.has('instructions') && { instructions: instructionEvents(block) }),
    ...(feeds.has('rewards') && { rewards: rewardEvents(block) }),
    ...(feeds.has('orders') && { orders: orderEvents(block) }),
    ...packets,
  }
}
