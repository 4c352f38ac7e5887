import type { SvmReward } from '../../../schemas/block-parts.ts'
import { fieldsOf, listOf, orElse, refuse } from '../../input/json.ts'
import { amountAt, keyAt, wholeAt } from '../layout/json.ts'

/** Kinds by the number that Yellowstone prints. Source: solana-storage-proto confirmed_block.proto. */
const KINDS = ['', 'Fee', 'Rent', 'Staking', 'Voting'] as const

/** Rewards of a block as nodes and Yellowstone print them. Throws `Malformed`. */
export const rewardsOf = (value: unknown): readonly SvmReward[] =>
  orElse(value, 'block.rewards', { read: listOf, fallback: [] }).map((each) => {
    const said = fieldsOf(each, 'block.rewards[]')
    return {
      address: keyAt(said.pubkey, 'reward.pubkey'),
      amountRaw: signedAt(said.lamports, 'reward.lamports'),
      postRaw: amountAt(said.postBalance, 'reward.postBalance'),
      type: kindOf(said.rewardType),
      commission: commissionOf(said.commission),
    }
  })

/** Rent and slashing take away. */
const signedAt = (value: unknown, at: string): bigint => {
  if (typeof value === 'number' && value < 0) return -amountAt(-value, at)
  if (typeof value === 'string' && value.startsWith('-')) return -amountAt(value.slice(1), at)
  return amountAt(value, at)
}

const kindOf = (value: unknown): string => {
  if (typeof value === 'number') return KINDS[value] ?? ''
  return typeof value === 'string' && /^\w{1,32}$/.test(value) ? value : ''
}

const commissionOf = (value: unknown): number | null => {
  if (value === undefined || value === null || value === '') return null
  const percent = wholeAt(value, 'reward.commission')
  if (percent > 100) throw refuse('bad-number', 'reward.commission', value)
  return percent
}
