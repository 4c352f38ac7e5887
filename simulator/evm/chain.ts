import { type RunningChain, type RunOptions, runChain } from '../node/chain.ts'
import type { ChainSpec } from '../node/producer.ts'
import { createEvmBlockProducer, type EvmBlockProducer } from './block-producer.ts'
import type { SealedBlock } from './blocks.ts'

/** Blocks below the head that count as final and as safe. */
export const FINAL_DEPTH = 64
export const SAFE_DEPTH = 32

/** A running EVM chain. */
export type EvmChain = RunningChain<EvmBlockProducer, SealedBlock>

/** Opens a chain; everything up to now is there when it resolves. What is final stays in every reorg. */
export const openChain = (options: RunOptions & { readonly spec: ChainSpec }): Promise<EvmChain> =>
  runChain(createEvmBlockProducer(options.spec), { ...options, deepestReorg: FINAL_DEPTH - 1 })
