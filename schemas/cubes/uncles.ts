import { addressLeaf, BLOCK_FIELDS, countLeaf, ROW_LIMIT } from './fields.ts'
import type { Cube } from './types.ts'

/** Blocks that other blocks name as their uncles. */
export const UNCLES: Cube = {
  name: 'Uncles',
  about: 'One row per uncle, in the block that names it; Ethereum before proof of stake.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_uncles FINAL',
  time: 'block_time',
  feed: 'uncles',
  lookups: {},
  dimensions: {
    Block: BLOCK_FIELDS,
    Uncle: {
      Index: countLeaf('uncle_index', 'Place among the uncles of the block.'),
      Number: countLeaf('uncle_number', 'Number of the uncle.'),
      Hash: addressLeaf('uncle_hash', 'Hash of the uncle.'),
      ParentHash: addressLeaf('uncle_parent_hash', 'Block before the uncle.'),
      Miner: addressLeaf('miner', 'Who made it.'),
      Difficulty: { sql: 'toFloat64(difficulty)', type: 'Float', about: 'Difficulty.' },
      GasLimit: countLeaf('gas_limit', 'Gas that it may use.'),
      GasUsed: countLeaf('gas_used', 'Gas that it used.'),
      Timestamp: { sql: 'uncle_time', type: 'DateTime', about: 'Time of the uncle.' },
    },
  },
  selectors: { miner: ['Uncle.Miner'], date: ['Block.Time'] },
  defaults: {},
  order: ['block_slot', 'uncle_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
