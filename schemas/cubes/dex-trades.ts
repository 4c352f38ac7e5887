import {
  accountFields,
  amountFields,
  BLOCK_FIELDS,
  currencyFields,
  DEX_FIELDS,
  ROW_LIMIT,
  SUSPECT_LEAF,
  TRADE_INDEX_LEAF,
  TRANSACTION_FIELDS,
} from './fields.ts'
import type { Cube, Tree } from './types.ts'

const legFields = (side: 'buy' | 'sell'): Tree => ({
  Currency: currencyFields(side, `${side}_token`, `${side}_decimals`),
  ...amountFields(`${side}_amount`, `${side}_decimals`),
  AmountInUSD: {
    sql: `${side}_amount_usd`,
    type: 'Float',
    exact: true,
    about: 'USD value of this leg.',
  },
  PriceInUSD: { sql: `${side}_price_usd`, type: 'Float', about: 'USD per token of this leg.' },
  PriceInNative: {
    sql: `${side}_price_native`,
    type: 'Float',
    about: 'Native tokens per token of this leg.',
  },
  Account: accountFields(`${side}_owner`, `${side}_token_account`),
})

/** One row per swap: what the trader received (Buy) and gave (Sell). */
export const DEX_TRADES: Cube = {
  name: 'DEXTrades',
  about: 'One row per swap. Suspect trades are hidden unless `where` names IsSuspect.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 2_000,
  source: '{chain}_dex_trades FINAL',
  time: 'block_time',
  lookups: { buy: { key: 'buy_token' }, sell: { key: 'sell_token' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Trade: {
      Buy: legFields('buy'),
      Sell: legFields('sell'),
      Index: TRADE_INDEX_LEAF,
      Dex: DEX_FIELDS,
    },
    Pool: {
      Address: {
        sql: 'pool_address',
        type: 'String',
        address: true,
        about: 'Pool that executed the swap.',
      },
    },
    IsSuspect: SUSPECT_LEAF,
  },
  selectors: {
    tokenAddress: ['Trade.Buy.Currency.MintAddress'],
    walletAddress: ['Trade.Buy.Account.Owner', 'Trade.Sell.Account.Owner'],
    poolAddress: ['Pool.Address'],
    dexProgram: ['Trade.Dex.ProgramAddress'],
    date: ['Block.Time'],
  },
  defaults: { IsSuspect: false },
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  joins: ['Transfers', 'BalanceUpdates', 'DEXPoolEvents'],
  limit: ROW_LIMIT,
  aliases: [],
}
