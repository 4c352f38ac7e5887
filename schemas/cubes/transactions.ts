import {
  addressLeaf,
  BLOCK_FIELDS,
  countLeaf,
  nativeLeaf,
  nativePriceLookup,
  optionalAddressLeaf,
  ROW_LIMIT,
  TRANSACTION_FIELDS,
  unknownLeaf,
  withRawTwins,
} from './fields.ts'
import { CANDLES_SQL } from './pairs.ts'
import type { Cube, Leaf, Tree } from './types.ts'

const calledLeaf = optionalAddressLeaf(
  'to_address',
  'Called address; null where a contract was made.',
)
const gasPriceLeaf = nativeLeaf('gas_price', 'What it paid per gas, whole native tokens.')
const valueLeaf = nativeLeaf('value', 'Value that it moved itself, whole native tokens.')
const priorityLeaf = nativeLeaf(
  'priority_fee',
  'What the producer gets per gas, whole native tokens.',
)
const gasUsedLeaf = countLeaf('gas_used', 'Gas that it used; on Solana compute units.')
const payerLeaf = addressLeaf('fee_payer', 'Who paid the fee.')
const typeLeaf = countLeaf('tx_type', 'Type of its envelope, 0 to 4.')
const inUsd = (leaf: Leaf, about: string): Leaf => ({
  sql: `${leaf.fast ?? leaf.sql} * coin_usd`,
  needs: 'coin',
  type: 'Float',
  about: `${about} USD at the close of the minute; null without a trade of the native token in it.`,
})
const minerSql = 'priority_fee * toUInt256(gas_used)'
const savedSql = '(max_fee - gas_price) * toUInt256(gas_used)'

const FEE_FIELDS: Tree = withRawTwins({
  SenderFee: {
    sql: 'tx_fee_native',
    type: 'Float',
    exact: true,
    about: 'What its sender paid, whole native tokens.',
  },
  SenderFeeInUSD: inUsd(
    { sql: 'toFloat64(tx_fee_native)', type: 'Float', about: '' },
    'What its sender paid.',
  ),
  Burnt: nativeLeaf('burnt', 'What was burnt of it, whole native tokens.'),
  MinerReward: nativeLeaf(minerSql, 'What its producer got of it, whole native tokens.'),
  PriorityFeePerGas: priorityLeaf,
  EffectiveGasPrice: gasPriceLeaf,
  Savings: nativeLeaf(
    savedSql,
    'What it would have paid at most, less what it paid, whole native tokens.',
  ),
  GasRefund: unknownLeaf('Float', 'Refunds are not stored.'),
})

/** The same once more, without groups. */
const FLAT_FIELDS: Tree = {
  ...Object.fromEntries(
    Object.entries(TRANSACTION_FIELDS).filter(([name]) =>
      ['Hash', 'Signature', 'Signer', 'From', 'FeeInNative'].includes(name),
    ),
  ),
  FeePayer: payerLeaf,
  To: calledLeaf,
  TxIndex: countLeaf('tx_index', 'Index of the transaction in its block.'),
  Success: { sql: `tx_status = 'SUCCESS'`, type: 'Boolean', about: 'Transaction succeeded.' },
  Gas: withRawTwins({ Used: gasUsedLeaf, Price: gasPriceLeaf }),
}

/** One row per transaction. */
export const TRANSACTIONS: Cube = {
  name: 'Transactions',
  about: 'One row per transaction, failed ones too; on Solana votes are left out.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_transactions FINAL',
  time: 'block_time',
  feed: 'transactions',
  lookups: { coin: nativePriceLookup(CANDLES_SQL) },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: withRawTwins({
      ...TRANSACTION_FIELDS,
      FeePayer: payerLeaf,
      To: calledLeaf,
      FeeInUSD: inUsd({ sql: 'toFloat64(tx_fee_native)', type: 'Float', about: '' }, 'Fee.'),
      Value: valueLeaf,
      ValueInUSD: inUsd(valueLeaf, 'Value.'),
      Gas: countLeaf('gas_limit', 'Gas that it may use.'),
      GasPrice: gasPriceLeaf,
      Nonce: countLeaf('nonce', `Number among its sender's.`),
      Type: typeLeaf,
      InstructionsCount: countLeaf('instructions_count', 'Instructions that were carried out.'),
      Programs: {
        sql: 'programs',
        type: 'StringList',
        about: 'Programs that it called, inner calls too (Solana).',
      },
    }),
    Fee: { leaf: 'SenderFee', tree: FEE_FIELDS },
    ...FLAT_FIELDS,
    Receipt: {
      Status: {
        sql: `if(tx_status = 'SUCCESS', 1, 0)`,
        type: 'Int',
        about: '1 where it succeeded, else 0.',
      },
      Type: typeLeaf,
      GasUsed: gasUsedLeaf,
      CumulativeGasUsed: countLeaf('cumulative_gas_used', 'Gas of the block up to its end.'),
      ContractAddress: optionalAddressLeaf('contract_address', 'Contract that it made.'),
      PostState: unknownLeaf('String', 'Not stored.'),
      Bloom: unknownLeaf('String', 'Not stored.'),
    },
  },
  selectors: {
    txHash: ['Transaction.Hash'],
    txSignature: ['Transaction.Hash'],
    fromAddress: ['Transaction.From'],
    toAddress: ['Transaction.To'],
    feePayer: ['Transaction.FeePayer'],
    signer: ['Transaction.Signer'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index'],
  newest: 'Block.Time',
  joins: ['Events', 'Calls', 'Instructions', 'Rewards', 'DEXTrades', 'Transfers'],
  limit: ROW_LIMIT,
  aliases: ['SolTransactions', 'EVMTransactions'],
}
