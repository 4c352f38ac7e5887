import {
  addressLeaf,
  BLOCK_FIELDS,
  balanceChangeFields,
  currencyFields,
  optionalAddressLeaf,
  ROW_LIMIT,
  rawLeaf,
  TRANSACTION_FIELDS,
  unitsLeaf,
  usdLeaf,
} from './fields.ts'
import type { Cube } from './types.ts'

/** Balances before and after each transaction. */
export const TRANSACTION_BALANCES: Cube = {
  name: 'TransactionBalances',
  about:
    'One row per transaction and balance that it changed. USD of quote assets only: their price is part of the block.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_balance_updates FINAL',
  time: 'block_time',
  timeless: true,
  lookups: { own: { key: 'token_address' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    TokenBalance: {
      Address: addressLeaf('owner', 'Wallet.'),
      TokenAccount: optionalAddressLeaf('token_account', 'Token account on Solana, else null.'),
      Currency: currencyFields('own', 'token_address', 'decimals'),
      PreBalance: unitsLeaf('pre_balance', 'decimals', 'Before, token units.'),
      PreBalanceRaw: rawLeaf('pre_balance', 'Before, base units.'),
      PostBalance: unitsLeaf('post_balance', 'decimals', 'After, token units.'),
      PostBalanceRaw: rawLeaf('post_balance', 'After, base units.'),
      ...balanceChangeFields('Change'),
      PreBalanceInUSD: usdLeaf('pre_balance_usd', 'Before, USD.'),
      PostBalanceInUSD: usdLeaf('post_balance_usd', 'After, USD.'),
      ChangeInUSD: usdLeaf('post_balance_usd - pre_balance_usd', 'Post less pre, USD.'),
      UpdateType: {
        sql: `nullIf(lower(toString(lifecycle)), 'unspecified')`,
        type: 'String',
        folds: true,
        about: 'new, existing or closed: what became of the token account.',
      },
    },
  },
  selectors: {
    address: ['TokenBalance.Address'],
    currency: ['TokenBalance.Currency.SmartContract'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
