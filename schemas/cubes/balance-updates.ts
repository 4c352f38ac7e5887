import {
  accountFields,
  approximateUnitsSql,
  BLOCK_FIELDS,
  currencyFields,
  ROW_LIMIT,
  TRANSACTION_FIELDS,
  unitsSql,
} from './fields.ts'
import type { Cube, Leaf } from './types.ts'

const balanceLeaf = (column: string, about: string): Leaf => ({
  sql: unitsSql(column, 'decimals'),
  fast: approximateUnitsSql(column, 'decimals'),
  exactUnits: { raw: column, places: 'decimals' },
  type: 'Float',
  about,
})
const usdLeaf = (column: string, about: string): Leaf => ({
  sql: column,
  type: 'Float',
  exact: true,
  about,
})

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
      PreBalance: balanceLeaf('pre_balance', 'Before, token units.'),
      PostBalance: balanceLeaf('post_balance', 'After, token units.'),
      PreBalanceRaw: { sql: 'toString(pre_balance)', type: 'String', about: 'Before, base units.' },
      PostBalanceRaw: {
        sql: 'toString(post_balance)',
        type: 'String',
        about: 'After, base units.',
      },
      PreBalanceInUSD: usdLeaf('pre_balance_usd', 'Before, USD.'),
      PostBalanceInUSD: usdLeaf('post_balance_usd', 'After, USD.'),
      Amount: {
        sql: `${approximateUnitsSql('post_balance', 'decimals')} - ${approximateUnitsSql('pre_balance', 'decimals')}`,
        type: 'Float',
        about: 'Post less pre, token units.',
      },
      AmountInUSD: usdLeaf('post_balance_usd - pre_balance_usd', 'Post less pre, USD.'),
      Index: { sql: 'event_index', type: 'Int', about: 'Event index in the block.' },
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
  limit: ROW_LIMIT,
  aliases: [],
}
