import {
  addressLeaf,
  BLOCK_FIELDS,
  nativeLeaf,
  nativePriceLookup,
  ROW_LIMIT,
  withRawTwins,
} from './fields.ts'
import { CANDLES_SQL } from './pairs.ts'
import type { Cube } from './types.ts'

const totalLeaf = nativeLeaf('total_reward', 'All of it, whole native tokens.')

/** What a block paid to who made it. */
export const MINER_REWARDS: Cube = {
  name: 'MinerRewards',
  about: 'One row per block and maker: what the block paid, on chains whose rule is known.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_miner_rewards FINAL',
  time: 'block_time',
  feed: 'miner-rewards',
  lookups: { coin: nativePriceLookup(CANDLES_SQL) },
  dimensions: {
    Block: BLOCK_FIELDS,
    Reward: withRawTwins({
      Miner: addressLeaf('miner', 'Who was paid.'),
      TotalReward: totalLeaf,
      TotalRewardInUSD: {
        sql: `${totalLeaf.fast} * coin_usd`,
        needs: 'coin',
        type: 'Float',
        about: 'USD at the close of the minute; null without a trade of the native token in it.',
      },
      StaticReward: nativeLeaf(
        'static_reward',
        'What the protocol pays for a block, whole native tokens.',
      ),
      DynamicReward: nativeLeaf(
        'dynamic_reward',
        'What transactions pay its maker, whole native tokens.',
      ),
      TxFees: nativeLeaf('tx_fees', 'Fees of all transactions, whole native tokens.'),
      BurntFees: nativeLeaf('burnt_fees', 'Fees that were burnt, whole native tokens.'),
      UncleReward: nativeLeaf('uncle_reward', 'For uncles, whole native tokens.'),
    }),
  },
  selectors: { miner: ['Reward.Miner'], date: ['Block.Time'] },
  defaults: {},
  order: ['block_slot', 'miner'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
