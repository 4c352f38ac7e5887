import type { DecodedBlock, EvmBlock } from '../../../schemas/events.ts'
import type { FeedContext, FeedFindings } from '../../to-wire/block-events.ts'
import { nativeTransfers } from '../normalize/native-transfers.ts'
import { trackPositions } from '../predictions/outcome-positions.ts'
import { trackOutcomes } from '../predictions/outcome-tokens.ts'
import { nativeBalanceChanges } from './native-balance-changes.ts'

/** What the feeds of an EVM chain add to a block. Pure. */
export const evmFeedFindings = (
  block: EvmBlock,
  { predictions, outcomeChanges }: DecodedBlock,
  { chain, feeds, amount }: FeedContext,
): FeedFindings => {
  const natives = {
    ...(feeds.has('native-transfers') && { natives: nativeTransfers(block, chain) }),
    ...(block.coins && { nativeBalances: nativeBalanceChanges(block.coins, chain) }),
  }
  if (!feeds.has('predictions')) return natives
  const outcomes = trackOutcomes(predictions, amount)
  const positions = trackPositions(outcomeChanges, outcomes, block.timeMs, amount)
  const amounts = new Map([...outcomes.amounts, ...positions.amounts])
  return { ...natives, outcomes, positions, amounts }
}
