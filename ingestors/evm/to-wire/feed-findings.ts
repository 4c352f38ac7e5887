import type { DecodedBlock, EvmBlock } from '../../../schemas/events.ts'
import type { FeedContext, FeedFindings } from '../../to-wire/block-mapping.ts'
import { nativeBalanceChanges } from '../decode/native-balance-changes.ts'
import { nativeTransfers } from '../normalize/native-transfers.ts'
import { trackPositions } from '../predictions/outcome-positions.ts'
import { trackOutcomes } from '../predictions/outcome-tokens.ts'
import { addressLabelEvents } from './address-labels.ts'
import { callEvents, logEvents, minerRewardEvents, uncleEvents } from './feeds.ts'
import { positionEvents } from './outcome-positions.ts'
import { predictionEvents } from './prediction-feeds.ts'

/** What the feeds of an EVM chain add to a block. Pure. */
export const evmFeedFindings = (
  block: EvmBlock,
  { predictions, outcomeChanges, labelChanges }: DecodedBlock,
  { chain, feeds, amount }: FeedContext,
): FeedFindings => {
  const natives = {
    ...(feeds.has('native-transfers') && { natives: nativeTransfers(block, chain) }),
    ...(block.coins && { nativeBalances: nativeBalanceChanges(block.coins, chain) }),
  }
  const ownEvents = {
    ...(feeds.has('calls') && { calls: callEvents(block) }),
    ...(feeds.has('events') && { events: logEvents(block) }),
    ...(feeds.has('miner-rewards') && { minerRewards: minerRewardEvents(block) }),
    ...(feeds.has('uncles') && { uncles: uncleEvents(block) }),
    ...(feeds.has('address-labels') && { addressLabels: addressLabelEvents(block, labelChanges) }),
  }
  if (!feeds.has('predictions')) return { ...natives, feedEvents: ownEvents }
  const outcomes = trackOutcomes(predictions, amount)
  const positions = trackPositions(outcomeChanges, outcomes, block.timeMs, amount)
  const amounts = new Map([...outcomes.amounts, ...positions.amounts])
  const feedEvents = {
    ...ownEvents,
    ...predictionEvents(block, predictions, outcomes),
    predictionPositions: positionEvents(block, positions, outcomes),
  }
  return { ...natives, feedEvents, amounts }
}
