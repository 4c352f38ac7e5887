import { seedPricesFromPools } from '../../decode/seed-prices.ts'
import type { NodeAnswers, StateReader } from '../../follow/contract.ts'
import { nodeMetadataReader } from './reader.ts'

/** What an EVM node tells beside its blocks: all of it is contract state at a block's own hash. */
export const evmNodeQueries = (state: StateReader): NodeAnswers => ({
  facts: (protocols) => nodeMetadataReader(state, protocols),
  primes: (pools, book, at) => seedPricesFromPools(state, pools, book, at),
})
