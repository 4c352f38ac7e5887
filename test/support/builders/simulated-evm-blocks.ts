import {
  createEvmBlockProducer,
  type EvmBlockProducer,
} from '../../../simulator/evm/block-producer.ts'
import type { SealedBlock } from '../../../simulator/evm/blocks.ts'
import type { ChainSpec } from '../../../simulator/node/producer.ts'
import type { State } from '../../../simulator/node/state.ts'

/** First blocks of a simulated chain, block 0 included, and the state after the last. */
export const buildSimulatedEvmBlocks = (
  spec: ChainSpec,
  count: number,
): {
  readonly producer: EvmBlockProducer
  readonly blocks: readonly SealedBlock[]
  readonly state: State
} => {
  const producer = createEvmBlockProducer(spec)
  const { block, state } = producer.genesis()
  const blocks = [block]
  let parent = block
  for (let made = 0; made < count; made += 1) {
    const making = producer.next(parent, state, 0)
    let step = making.next()
    while (step.done !== true) step = making.next()
    parent = step.value
    blocks.push(parent)
  }
  return { producer, blocks, state }
}
