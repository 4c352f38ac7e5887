import {
  accountFields,
  BLOCK_FIELDS,
  balanceChangeFields,
  countLeaf,
  currencyFields,
  ROW_LIMIT,
  rawLeaf,
  TRANSACTION_FIELDS,
  unitsLeaf,
  usdLeaf,
} from './fields.ts'
import type { Cube } from './types.ts'

/** One row per changed balance. */
export const BALANCE_UPDATES: Cube = {
  name: 'BalanceUpdates',
  about:
    'One row per balance change of a token account. USD of quote assets only: their price is part of the block.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 400,
  source: '{chain}_balance_updates FINAL',
  time: 'block_time',
  lookups: { own: { key: 'token_address' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    BalanceUpdate: {
      Currency: currencyFields('own', 'token_address', 'decimals'),
      Account: accountFields('owner', 'token_account'),
      PreBalance: unitsLeaf('pre_balance', 'decimals', 'Before, token units.'),
      PostBalance: unitsLeaf('post_balance', 'decimals', 'After, token units.'),
      PreBalanceRaw: rawLeaf('pre_balance', 'Before, base units.'),
      PostBalanceRaw: rawLeaf('post_balance', 'After, base units.'),
      PreBalanceInUSD: usdLeaf('pre_balance_usd', 'Before, USD.'),
      PostBalanceInUSD: usdLeaf('post_balance_usd', 'After, USD.'),
      ...balanceChangeFields('Amount'),
      AmountInUSD: usdLeaf('post_balance_usd - pre_balance_usd', 'Post less pre, USD.'),
      Index: countLeaf('event_index', 'Event index in the block.'),
    },
  },
  selectors: {
    ownerAddress: ['BalanceUpdate.Account.Owner'],
    tokenAddress: ['BalanceUpdate.Currency.MintAddress'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  joins: ['DEXTrades', 'Transfers'],
  limit: ROW_LIMIT,
  aliases: [],
}
