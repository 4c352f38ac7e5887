import { seedPricesFromPools } from '../../decode/seed-prices.ts'
import type { NodeAnswers } from '../../follow/contract.ts'
import type { StateReader } from '../abi/call.ts'
import { nodeMetadataReader } from './reader.ts'

/** What an EVM node tells beside its blocks: all of it is contract state at a block's own hash. */
export const evmNodeQueries = (state: StateReader): NodeAnswers => ({
  metadataReader: (protocols) => nodeMetadataReader(state, protocols),
  seedPrices: (pools, quoteAssets, at) => seedPricesFromPools(state, pools, quoteAssets, at),
})
