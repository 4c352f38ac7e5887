import type { SvmReward } from '../../../schemas/block-parts.ts'
import { fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseAmount, parseBase58Key, parseUint } from '../layout/json.ts'

/** Kinds by the number that Yellowstone prints. Source: solana-storage-proto confirmed_block.proto. */
const REWARD_TYPES = ['', 'Fee', 'Rent', 'Staking', 'Voting'] as const

/** Rewards of a block as nodes and Yellowstone print them. Throws `InvalidInput`. */
export const parseRewards = (value: unknown): readonly SvmReward[] =>
  orElse(value, 'block.rewards', { read: listOf, fallback: [] }).map((each) => {
    const raw = fieldsOf(each, 'block.rewards[]')
    return {
      address: parseBase58Key(raw.pubkey, 'reward.pubkey'),
      amountRaw: parseSignedAmount(raw.lamports, 'reward.lamports'),
      postRaw: parseAmount(raw.postBalance, 'reward.postBalance'),
      type: parseRewardType(raw.rewardType),
      commission: parseCommission(raw.commission),
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
  if (percent > 100) throw invalid('bad-number', 'reward.commission', value)
  return percent
}
