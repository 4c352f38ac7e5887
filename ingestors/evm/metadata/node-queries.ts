import { primesFromPools } from '../../decode/seed-prices.ts'
import type { NodeAnswers, StateReader } from '../../follow/contract.ts'
import { nodeFacts } from './reader.ts'

/** What an EVM node tells beside its blocks: all of it is contract state at a block's own hash. */
export const evmAnswers = (state: StateReader): NodeAnswers => ({
  facts: (protocols) => nodeFacts(state, protocols),
  primes: (pools, book, at) => primesFromPools(state, pools, book, at),
})
