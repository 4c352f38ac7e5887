import {
  accountFields,
  amountFields,
  approximateUnitsSql,
  BLOCK_FIELDS,
  currencyFields,
  DEX_FIELDS,
  ROW_LIMIT,
  SUSPECT_LEAF,
  TRADE_INDEX_LEAF,
  TRANSACTION_FIELDS,
} from './fields.ts'
import type { Cube, Leaf } from './types.ts'

const pool: Leaf = {
  sql: 'pool_address',
  type: 'String',
  address: true,
  about: 'Pool that executed the swap.',
}

/** Each swap twice, once from the view of each of its tokens. */
export const DEX_TRADE_BY_TOKENS: Cube = {
  name: 'DEXTradeByTokens',
  about: 'Each swap twice, once per token. Suspect trades are included: filter by IsSuspect.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 2_000,
  source: '{chain}_dex_trades_enriched FINAL',
  time: 'block_time',
  lookups: { own: { key: 'token_address' }, counter: { key: 'side_token' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Trade: {
      Currency: currencyFields('own', 'token_address', 'decimals'),
      ...amountFields('amount', 'decimals'),
      AmountInUSD: {
        sql: 'amount_usd',
        type: 'Float',
        exact: true,
        about: 'USD value of the own token.',
      },
      PriceInUSD: { sql: 'price_usd', type: 'Float', about: 'USD per own token.' },
      PriceInNative: { sql: 'price_native', type: 'Float', about: 'Native tokens per own token.' },
      Price: {
        sql: `${approximateUnitsSql('side_amount', 'side_decimals')} / nullIf(${approximateUnitsSql('amount', 'decimals')}, 0)`,
        type: 'Float',
        about: 'Counter tokens per own token.',
      },
      PriceAsymmetry: {
        sql: 'toFloat64(0)',
        type: 'Float',
        about: 'Relative gap of the USD values of both legs; both carry the same value, so 0.',
      },
      Side: {
        Type: {
          sql: 'lower(toString(side))',
          type: 'String',
          folds: true,
          about: 'buy or sell, seen from the own token.',
        },
        Currency: currencyFields('counter', 'side_token', 'side_decimals'),
        ...amountFields('side_amount', 'side_decimals'),
        AmountInUSD: {
          sql: 'side_amount_usd',
          type: 'Float',
          exact: true,
          about: 'USD value of the counter token.',
        },
      },
      Account: accountFields('owner'),
      Index: TRADE_INDEX_LEAF,
      Dex: DEX_FIELDS,
      Market: { PoolAddress: pool, MarketAddress: pool, Address: pool },
    },
    IsSuspect: SUSPECT_LEAF,
  },
  selectors: {
    tokenAddress: ['Trade.Currency.MintAddress'],
    sideType: ['Trade.Side.Type'],
    poolAddress: ['Trade.Market.PoolAddress'],
    dexProgram: ['Trade.Dex.ProgramAddress'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index', 'side'],
  newest: 'Block.Time',
  joins: ['Transfers', 'BalanceUpdates', 'DEXPoolEvents'],
  limit: ROW_LIMIT,
  aliases: [],
}
