import { chainRow } from '../../../schemas/chains.ts'
import type { EvmBlock } from '../../../schemas/events.ts'

/** What an account gets for a block. The three parts that count are `staticRaw`, `dynamicRaw` and `uncleRaw`. */
export interface MinerReward {
  readonly miner: string
  /** Made with the block, whatever it holds. */
  readonly staticRaw: bigint
  /** Fees that were not burnt. */
  readonly dynamicRaw: bigint
  /** For naming uncles, or for having made one. */
  readonly uncleRaw: bigint
  /** Fees that senders paid, without those for blobs, which are burnt. */
  readonly feesRaw: bigint
  readonly burntRaw: bigint
}

/** Blocks that a reward of an uncle counts back from. Source: the yellow paper, 11.3. */
const UNCLE_REACH = 8n
/** Part of the static reward for naming one uncle. */
const NAMING_PART = 32n

const staticReward = ({ chain, height }: EvmBlock): bigint =>
  chainRow(chain)?.staticRewards?.find(({ from }) => height >= from)?.raw ?? 0n

/**
 * What a block pays: first who made it, then makers of uncles, each once. A miner that made an uncle too gets one sum. Fees are
 * those of all transactions, the failed ones among them. Pure.
 */
export const minerRewards = (block: EvmBlock): readonly MinerReward[] => {
  const staticRaw = staticReward(block)
  const feesRaw = block.transactions.reduce((sum, { feeRaw }) => sum + feeRaw, 0n)
  const baseRaw = block.baseFeeRaw * block.gasUsedRaw
  // A recording may lack transactions.
  const isWhole = baseRaw <= feesRaw
  const burntRaw = isWhole ? baseRaw : feesRaw
  const named = BigInt(block.uncleHashes?.length ?? 0)
  const rewards = new Map<string, MinerReward>([
    [
      block.coinbase,
      {
        miner: block.coinbase,
        staticRaw,
        feesRaw,
        burntRaw,
        dynamicRaw: feesRaw - burntRaw,
        uncleRaw: (named * staticRaw) / NAMING_PART,
      },
    ],
  ])
  for (const { miner, height } of block.uncles ?? []) {
    const nearness = BigInt(height) + UNCLE_REACH - BigInt(block.height)
    const raw = nearness > 0n ? (nearness * staticRaw) / UNCLE_REACH : 0n
    const held = rewards.get(miner) ?? { miner, ...NOTHING }
    rewards.set(miner, { ...held, uncleRaw: held.uncleRaw + raw })
  }
  return [...rewards.values()]
}

const NOTHING = { staticRaw: 0n, dynamicRaw: 0n, uncleRaw: 0n, feesRaw: 0n, burntRaw: 0n } as const
