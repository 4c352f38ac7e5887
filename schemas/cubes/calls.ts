import {
  addressLeaf,
  BLOCK_FIELDS,
  countLeaf,
  nativeLeaf,
  optionalAddressLeaf,
  ROW_LIMIT,
  signatureFields,
  TRANSACTION_FIELDS,
  withRawTwins,
} from './fields.ts'
import type { Cube } from './types.ts'

const callerLeaf = addressLeaf('from_address', 'Who called.')
const calledLeaf = optionalAddressLeaf(
  'to_address',
  'Who was called; null where a contract was to be made and none was.',
)
const opcodeLeaf = {
  sql: 'opcode',
  type: 'String',
  folds: true,
  about: 'CALL, DELEGATECALL, STATICCALL, CREATE and so on.',
} as const
const valueLeaf = nativeLeaf('value', 'Value that moved, whole native tokens.')

/** One row per call inside a transaction. */
export const CALLS: Cube = {
  name: 'Calls',
  about: 'One row per call inside a transaction, as traces of the node tell it.',
  groups: ['EVM'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_traces_enriched FINAL',
  time: 'block_time',
  feed: 'calls',
  lookups: {},
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Call: withRawTwins({
      Index: countLeaf('call_index', 'Place in the order in which the calls ran.'),
      Depth: countLeaf('depth', 'Depth; 0 is the transaction itself.'),
      From: callerLeaf,
      FromAddress: callerLeaf,
      To: calledLeaf,
      ToAddress: calledLeaf,
      Opcode: opcodeLeaf,
      CallType: opcodeLeaf,
      Gas: countLeaf('gas', 'Gas that it may use.'),
      GasUsed: countLeaf('gas_used', 'Gas that it used.'),
      Input: { sql: 'input', type: 'String', about: 'Input, hex; beyond 64 KiB it is cut.' },
      Output: { sql: 'output', type: 'String', about: 'Output, hex; beyond 64 KiB it is cut.' },
      Value: valueLeaf,
      ValueInNative: valueLeaf,
      Signature: signatureFields(
        `if(length(input) >= 10 AND NOT startsWith(opcode, 'CREATE'), substring(input, 1, 10), NULL)`,
        'First four bytes of the input.',
      ),
      Success: { sql: 'success', type: 'Boolean', about: 'The call succeeded.' },
      Error: { sql: 'error', type: 'String', about: `The node's words; null: none.` },
    }),
  },
  selectors: { toAddress: ['Call.To'], txHash: ['Transaction.Hash'], date: ['Block.Time'] },
  defaults: {},
  order: ['block_slot', 'tx_index', 'call_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
