import {
  addressLeaf,
  BLOCK_FIELDS,
  countLeaf,
  nativePriceLookup,
  ROW_LIMIT,
  rawLeaf,
} from './fields.ts'
import { CANDLES_SQL } from './pairs.ts'
import type { Cube } from './types.ts'

/** Lamports are few enough to be doubles; a fine is below zero. */
const AMOUNT_SQL = 'toFloat64(amount) / 1e9'

/** One row per reward of a block. */
export const REWARDS: Cube = {
  name: 'Rewards',
  about: 'What a block paid to its leader, to voters and to stakes.',
  groups: ['Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_rewards FINAL',
  time: 'block_time',
  feed: 'rewards',
  lookups: { coin: nativePriceLookup(CANDLES_SQL) },
  dimensions: {
    Block: BLOCK_FIELDS,
    Reward: {
      Address: addressLeaf('address', 'Who was paid.'),
      RewardType: {
        sql: 'reward_type',
        type: 'String',
        folds: true,
        about: 'Fee, Rent, Staking or Voting.',
      },
      Amount: { sql: AMOUNT_SQL, type: 'Float', about: 'SOL.' },
      AmountRaw: rawLeaf('amount', 'Lamports.'),
      AmountInUSD: {
        sql: `(${AMOUNT_SQL}) * coin_usd`,
        needs: 'coin',
        type: 'Float',
        about: 'USD at the close of the minute; null without a trade of the native token in it.',
      },
      PostBalance: { sql: 'toFloat64(post_balance) / 1e9', type: 'Float', about: 'SOL after it.' },
      PostBalanceRaw: rawLeaf('post_balance', 'Lamports after it.'),
      Commission: countLeaf('commission', 'Commission of the validator, percent.'),
    },
  },
  selectors: { address: ['Reward.Address'], date: ['Block.Time'] },
  defaults: {},
  order: ['block_slot', 'event_index'],
  newest: 'Block.Time',
  joinKey: ['block_slot'],
  limit: ROW_LIMIT,
  aliases: [],
}
