import {
  accountFields,
  BLOCK_FIELDS,
  changeFields,
  countLeaf,
  currencyFields,
  instructionProgramFields,
  ROW_LIMIT,
  TRANSACTION_FIELDS,
  unknownLeaf,
  usdLeaf,
} from './fields.ts'
import type { Cube } from './types.ts'

/** A movement changes two balances: one less, one more. Mints and burns have one side only. */
const SOURCE_SQL = `(SELECT *, side.1 AS owner, side.2 AS token_account, side.3 AS sign FROM {chain}_transfers FINAL
ARRAY JOIN [(sender, sender_token_account, -1), (receiver, receiver_token_account, 1)] AS side WHERE success = 1 AND side.1 != '')`

const NOT_BY_INSTRUCTION = 'Known per transaction only: TransactionBalances.'

/** What each instruction did to balances of tokens. */
export const INSTRUCTION_BALANCE_UPDATES: Cube = {
  name: 'InstructionBalanceUpdates',
  about:
    'Two rows per token movement: whose balance fell and whose rose, with the instruction. Programs are known with the feed `instructions`.',
  groups: ['Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: SOURCE_SQL,
  time: 'block_time',
  timeless: true,
  lookups: {
    own: { key: 'token_address' },
    called: {
      select: `SELECT block_slot AS called_slot, tx_hash AS called_tx, ix_index AS called_index, toNullable(program_address) AS program_address, program_name, method FROM {chain}_instructions_enriched FINAL WHERE depth = 1`,
      on: 'called_slot = block_slot AND called_tx = tx_hash AND called_index = ix_index',
    },
  },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Instruction: {
      Index: countLeaf('ix_index', 'Place of the outermost instruction in the transaction.'),
      Program: instructionProgramFields('program_address', 'called'),
    },
    BalanceUpdate: {
      Currency: currencyFields('own', 'token_address', 'decimals'),
      Account: accountFields('owner', 'token_account'),
      ...changeFields('Amount', 'sign * toInt256(amount)', 'Signed change'),
      AmountInUSD: usdLeaf('sign * amount_usd', 'Signed change, USD at that time.'),
      PreBalance: unknownLeaf('Float', NOT_BY_INSTRUCTION),
      PostBalance: unknownLeaf('Float', NOT_BY_INSTRUCTION),
      PreBalanceInUSD: unknownLeaf('Float', NOT_BY_INSTRUCTION),
      PostBalanceInUSD: unknownLeaf('Float', NOT_BY_INSTRUCTION),
    },
  },
  selectors: {
    tokenAddress: ['BalanceUpdate.Currency.MintAddress'],
    ownerAddress: ['BalanceUpdate.Account.Owner'],
    programId: ['Instruction.Program.Address'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index', 'sign'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
