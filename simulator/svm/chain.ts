import { type RunningChain, type RunOptions, runChain } from '../node/chain.ts'
import type { ChainSpec } from '../node/producer.ts'
import { createSvmBlockProducer, type SvmBlockProducer } from './block-producer.ts'
import type { SealedBlock } from './blocks.ts'
import { heightAt, slotAt } from './slots.ts'

/**
 * Blocks below the head that count as final. Mainnet needs 31 to 32 confirmed blocks above; here it is twice that, so
 * that a reorg of 60 blocks, the deepest that readers are drilled with, never takes back what was final.
 */
export const FINAL_DEPTH = 64

/** A running Solana chain. */
export type SolanaChain = RunningChain<SvmBlockProducer, SealedBlock>

/** How sure one wants to be. `processed` and `confirmed` are the head here: forks are seen by those who read it. */
export type Commitment = 'processed' | 'confirmed' | 'finalized'

/** Opens a chain; everything up to now is there when it resolves. What is final stays in every reorg. */
export const openChain = (
  options: RunOptions & { readonly spec: ChainSpec },
): Promise<SolanaChain> =>
  runChain(createSvmBlockProducer(options.spec), { ...options, deepestReorg: FINAL_DEPTH - 1 })

/** Height of the newest block at a commitment. */
export const heightAtCommitment = (chain: SolanaChain, commitment: Commitment): number => {
  const { height } = chain.head()
  return commitment === 'finalized' ? Math.max(0, height - FINAL_DEPTH) : height
}

/** Slot of the block at a height that is on show. */
export const visibleSlot = async (chain: SolanaChain, height: number): Promise<number> => {
  const head = chain.head()
  if (height === head.height) return head.slot
  if (height < head.height - FINAL_DEPTH) return slotAt(chain.producer.spec.seed, height)
  return (await chain.block(height))?.slot ?? slotAt(chain.producer.spec.seed, height)
}

/** The block on show in a slot; undefined when the slot has none. */
export const blockInSlot = async (
  chain: SolanaChain,
  slot: number,
): Promise<SealedBlock | undefined> => {
  const height = heightAt(chain.producer.spec.seed, slot)
  for (const at of [height, height + 1]) {
    if (at > chain.head().height || (await visibleSlot(chain, at)) !== slot) continue
    return chain.block(at)
  }
  return undefined
}
