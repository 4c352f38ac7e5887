import {
  BLOCK_FIELDS,
  countLeaf,
  instructionProgramFields,
  ROW_LIMIT,
  TRANSACTION_FIELDS,
} from './fields.ts'
import type { Cube } from './types.ts'

/** One row per instruction that was carried out. */
export const INSTRUCTIONS: Cube = {
  name: 'Instructions',
  about: 'One row per instruction that was carried out, inner ones too, votes left out.',
  groups: ['Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_instructions_enriched FINAL',
  time: 'block_time',
  feed: 'instructions',
  lookups: {},
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Instruction: {
      Index: countLeaf('ix_index', `Place of its outermost caller in the transaction, or its own.`),
      Depth: countLeaf('depth', 'Depth of the call; 1 is called by the transaction itself.'),
      InternalSeqNumber: countLeaf('internal_seq', 'Place in the order in which they ran.'),
      Program: instructionProgramFields('program_address'),
      Accounts: { sql: 'accounts', type: 'StringList', about: 'Accounts in the order given.' },
      Data: { sql: 'data', type: 'String', about: 'Data, base 58; long data is cut.' },
      CallPath: {
        sql: 'call_path',
        type: 'IntList',
        about: 'Place of each caller among its siblings, then its own.',
      },
      Logs: { sql: 'logs', type: 'StringList', about: 'Log lines that it wrote itself.' },
    },
  },
  selectors: {
    programId: ['Instruction.Program.Address'],
    txSignature: ['Transaction.Signature'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
