import type { SvmReward } from '../../../schemas/block-parts.ts'
import { fieldsOf, listOf, orElse, refuse } from '../../input/json.ts'
import { parseAmount, parseBase58Key, parseUint } from '../layout/json.ts'

/** Kinds by the number that Yellowstone prints. Source: solana-storage-proto confirmed_block.proto. */
const REWARD_TYPES = ['', 'Fee', 'Rent', 'Staking', 'Voting'] as const

/** Rewards of a block as nodes and Yellowstone print them. Throws `InvalidInput`. */
export const parseRewards = (value: unknown): readonly SvmReward[] =>
  orElse(value, 'block.rewards', { read: listOf, fallback: [] }).map((each) => {
    const said = fieldsOf(each, 'block.rewards[]')
    return {
      address: parseBase58Key(said.pubkey, 'reward.pubkey'),
      amountRaw: parseSignedAmount(said.lamports, 'reward.lamports'),
      postRaw: parseAmount(said.postBalance, 'reward.postBalance'),
      type: parseRewardType(said.rewardType),
      commission: parseCommission(said.commission),
    }
  })

/** Rent and slashing take away. */
const parseSignedAmount = (value: unknown, at: string): bigint => {
  if (typeof value === 'number' && value < 0) return -parseAmount(-value, at)
  if (typeof value === 'string' && value.startsWith('-')) return -parseAmount(value.slice(1), at)
  return parseAmount(value, at)
}

const parseRewardType = (value: unknown): string => {
  if (typeof value === 'number') return REWARD_TYPES[value] ?? ''
  return typeof value === 'string' && /^\w{1,32}$/.test(value) ? value : ''
}

const parseCommission = (value: unknown): number | null => {
  if (value === undefined || value === null || value === '') return null
  const percent = parseUint(value, 'reward.commission')
  if (percent > 100) throw refuse('bad-number', 'reward.commission', value)
  return percent
}
