import {
  addressLeaf,
  BLOCK_FIELDS,
  countLeaf,
  LOG_TRANSACTION_FIELDS,
  optionalAddressLeaf,
  ROW_LIMIT,
  signatureFields,
} from './fields.ts'
import type { Cube, Leaf } from './types.ts'

const emitterLeaf = addressLeaf('contract', 'Contract that wrote it.')
const topicLeaf = (number: 1 | 2 | 3 | 4): Leaf => ({
  sql: `nullIf(topics[${number}], '')`,
  type: 'String',
  address: true,
  about: `Topic ${number - 1}; null where it has fewer.`,
})

/** One row per log of a transaction that succeeded. */
export const EVENTS: Cube = {
  name: 'Events',
  about: 'One row per log of the transactions that succeeded.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_logs_enriched FINAL',
  time: 'block_time',
  feed: 'events',
  lookups: {},
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: LOG_TRANSACTION_FIELDS,
    Log: {
      SmartContract: emitterLeaf,
      Address: emitterLeaf,
      Index: countLeaf('log_index', 'Index of the log in its block.'),
      Signature: signatureFields(`nullIf(topic0, '')`, 'Topic 0.'),
      EventName: { sql: 'sig_name', type: 'String', about: 'Name; null where it is not known.' },
      Topics: {
        leaf: 'All',
        tree: {
          All: { sql: 'topics', type: 'StringList', address: true, about: 'All topics.' },
          Topic0: optionalAddressLeaf('topic0', 'Topic 0; null where it has none.'),
          Topic1: topicLeaf(2),
          Topic2: topicLeaf(3),
          Topic3: topicLeaf(4),
        },
      },
      Data: { sql: 'data', type: 'String', about: 'Data, hex; beyond 64 KiB it is cut.' },
    },
  },
  selectors: {
    contractAddress: ['Log.SmartContract'],
    topic0: ['Log.Topics.Topic0'],
    txHash: ['Transaction.Hash'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'log_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
