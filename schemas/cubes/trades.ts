import {
  addressLeaf,
  approximateUnitsSql,
  CROSS_CHAIN_BLOCK_FIELDS,
  countLeaf,
  ROW_LIMIT,
  rawLeaf,
  SUSPECT_LEAF,
  tokenFields,
  unitsLeaf,
  unknownLeaf,
  usdLeaf,
} from './fields.ts'
import type { Cube, Leaf } from './types.ts'

const LEG_COLUMNS = ['token', 'decimals', 'amount', 'amount_usd', 'price_usd'] as const
const LEGS_SQL = LEG_COLUMNS.flatMap((column) => [
  `if(base_is_buy = 1, buy_${column}, sell_${column}) AS base_${column}`,
  `if(base_is_buy = 1, sell_${column}, buy_${column}) AS quote_${column}`,
]).join(', ')

const amountLeaf = (leg: 'base' | 'quote'): Leaf => unitsLeaf(`${leg}_amount`, `${leg}_decimals`)
const signerLeaf = addressLeaf('tx_signer', 'First signer; on EVM the sender.')

/** Swaps of every chain, as trades of the pair's base token. */
export const TRADES: Cube = {
  name: 'Trades',
  about:
    'One row per swap of any chain, as a trade of the base token of its pair. Suspect trades are included: filter by IsSuspect.',
  groups: ['Trading'],
  layer: 'DWD',
  baseCost: 2_000,
  source: `(SELECT '{chain}' AS chain, *, ${LEGS_SQL} FROM {chain}_dex_trades FINAL)`,
  time: 'block_time',
  chainColumn: 'chain',
  lookups: { base: { key: 'base_token' }, quote: { key: 'quote_token' } },
  dimensions: {
    Block: CROSS_CHAIN_BLOCK_FIELDS,
    Side: {
      sql: `if(base_is_buy = 1, 'buy', 'sell')`,
      type: 'String',
      folds: true,
      about: 'What the trader did with the base token: buy or sell.',
    },
    Trader: { Address: addressLeaf('buy_owner', 'Wallet.') },
    Amounts: {
      Base: amountLeaf('base'),
      Quote: amountLeaf('quote'),
      BaseRaw: rawLeaf('base_amount'),
      QuoteRaw: rawLeaf('quote_amount'),
    },
    AmountsInUsd: {
      Base: usdLeaf('base_amount_usd', 'USD.'),
      Quote: usdLeaf('quote_amount_usd', 'USD.'),
    },
    Price: {
      sql: `${approximateUnitsSql('quote_amount', 'quote_decimals')} / nullIf(${approximateUnitsSql('base_amount', 'base_decimals')}, 0)`,
      type: 'Float',
      about: 'Quote tokens per base token.',
    },
    PriceInUsd: { sql: 'base_price_usd', type: 'Float', about: 'USD per base token.' },
    Pair: {
      Token: tokenFields('base', 'base_token'),
      QuoteToken: tokenFields('quote', 'quote_token'),
      Market: {
        Address: addressLeaf('pool_address', 'Pool.'),
        Network: { sql: 'chain', type: 'String', about: 'Chain: sol, eth, bsc and so on.' },
        Program: addressLeaf('program_address', 'Program or factory of the DEX.'),
      },
    },
    TransactionHeader: {
      Hash: addressLeaf('tx_hash', 'Transaction hash or signature.'),
      Fee: {
        sql: 'tx_fee_native',
        type: 'Float',
        exact: true,
        about: 'Fee in whole native tokens.',
      },
      FeePayer: signerLeaf,
      Sender: signerLeaf,
      To: unknownLeaf('String', 'Called address; not stored with trades.'),
      Index: countLeaf('tx_index', 'Index of the transaction in its block.'),
    },
    Index: countLeaf('event_index', 'Event index in the block.'),
    IsSuspect: SUSPECT_LEAF,
  },
  selectors: {
    tokenAddress: ['Pair.Token.Address'],
    chain: ['Pair.Market.Network'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_time', 'chain', 'block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
