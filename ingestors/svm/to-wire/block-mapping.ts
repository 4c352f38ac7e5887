import type { SvmBlock, TokenMetadata } from '../../../schemas/events.ts'
import { HEADER_WITHOUT_GAS } from '../../to-wire/block-header.ts'
import type {
  BlockMapping,
  FeedContext,
  FeedFindings,
  OwnTransactionFields,
} from '../../to-wire/block-mapping.ts'
import { blockNumber } from './block-number.ts'
import { instructionEvents, orderEvents, rewardEvents } from './feeds.ts'

/** Most programs that are named of one transaction: more than its accounts can be. */
const MAX_PROGRAMS = 256

const transactionFields = ({ transactions }: SvmBlock): readonly OwnTransactionFields[] =>
  transactions.map(({ instructions, computeUnits, success }) => {
    const called = instructions.filter(({ batched }) => batched !== true)
    return {
      gas_used: computeUnits === undefined ? '' : String(computeUnits),
      instructions_count: success ? called.length : 0,
      programs: [...new Set(called.map(({ program }) => program))].slice(0, MAX_PROGRAMS),
    }
  })

const tokenFields = ({ program, mintAuthority, freezeAuthority }: TokenMetadata) => ({
  solana_extra: {
    fungible: true,
    program_address: program ?? '',
    mint_authority: mintAuthority ?? '',
    freeze_authority: freezeAuthority ?? '',
  },
})

const feedFindings = (block: SvmBlock, _: unknown, { feeds }: FeedContext): FeedFindings => ({
  feedEvents: {
    ...(feeds.has('instructions') && { instructions: instructionEvents(block) }),
    ...(feeds.has('rewards') && { rewards: rewardEvents(block) }),
    ...(feeds.has('orders') && { orders: orderEvents(block) }),
  },
})

/** Blocks of Solana as events. */
export const SVM_MAPPING: BlockMapping<SvmBlock> = {
  tokenKind: 'spl_token',
  tokenFields,
  header: ({ parentSlot, txCount, rewardsCount }) => ({
    ...HEADER_WITHOUT_GAS,
    parent_slot: parentSlot,
    tx_count: txCount,
    rewards_count: rewardsCount,
  }),
  blockNumber,
  feePayer: (_, { from }) => from,
  transactionFields,
  feedFindings,
}
