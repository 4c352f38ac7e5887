import type { Codec } from '../../core/codec/contract.ts'
import type { Topic } from '../../schemas/topics.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import {
  validateBalances,
  validatePools,
  validateSupplies,
  validateTokens,
  validateTrades,
  validateTransfers,
} from '../runtime/validate-records.ts'
import { blockRows, finalityRows, type Row } from './columns.ts'
import {
  poolBinRows,
  poolCreatedRows,
  poolEventRows,
  poolPositionRows,
  poolRows,
  tokenRows,
} from './pool-and-token-rows.ts'
import { tokenDocumentRows } from './token-document-rows.ts'
import { marketRows, priceRows, statRows, supplyRows } from './token-market-rows.ts'
import { tradeRows, transferRows } from './trade-rows.ts'
import { balanceRows, holderRows, holdingRows, pnlRows, pnlTradeRows } from './wallet-rows.ts'

/** Rows for one table, without the chain prefix. */
export interface TableRows {
  readonly table: string
  readonly rows: readonly Row[]
}

/** A topic and the tables that it feeds; tables are written in this order. */
export interface Sink {
  readonly topic: Topic
  /** People watch these rows: they can be read within 1.5 s, those of other sinks within 5 s. */
  readonly isWatched?: true
  /** Pure function of the record. Throws `InvalidInput`. */
  readonly map: (
    codec: Codec,
    bytes: Uint8Array,
  ) => { readonly meta: EventMeta | null; readonly tables: readonly TableRows[] }
}

/** Events stored as they are. None of these tables may feed a view that sums over inserts. */
export const SINKS: readonly Sink[] = [
  {
    topic: 'blocks',
    map: (codec, bytes) => {
      const block = codec.decode('block.BlockEvent', bytes)
      return {
        meta: block.meta,
        tables: [
          { table: 'blocks', rows: blockRows(block) },
          { table: 'chain_state', rows: finalityRows(block) },
        ],
      }
    },
  },
  {
    topic: 'tradesProcessed',
    isWatched: true,
    map: (codec, bytes) => {
      const value = validateTrades(codec.decode('dex.trade.TradeEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'dex_trades', rows: tradeRows(value) }] }
    },
  },
  {
    topic: 'poolsProcessed',
    map: (codec, bytes) => {
      const value = validatePools(codec.decode('dex.pool.DexPoolEvents', bytes))
      return {
        meta: value.meta,
        tables: [
          { table: 'dex_pool_events_enriched', rows: poolEventRows(value) },
          { table: 'dex_pools', rows: poolRows(value) },
          { table: 'dex_pool_births', rows: poolCreatedRows(value) },
          { table: 'dex_pool_positions', rows: poolPositionRows(value) },
          { table: 'dex_pool_bins', rows: poolBinRows(value) },
        ],
      }
    },
  },
  {
    topic: 'tokensProcessed',
    map: (codec, bytes) => {
      const value = validateTokens(codec.decode('token.TokenEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'tokens', rows: tokenRows(value) }] }
    },
  },
  {
    topic: 'tokenDocuments',
    map: (codec, bytes) => {
      const value = codec.decode('token.TokenEvents', bytes)
      return { meta: null, tables: [{ table: 'token_documents', rows: tokenDocumentRows(value) }] }
    },
  },
  {
    topic: 'tradeStats',
    isWatched: true,
    map: (codec, bytes) => {
      const value = codec.decode('trade.stat.TradeStatEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_stats', rows: statRows(value) }] }
    },
  },
  {
    topic: 'tokenPrices',
    map: (codec, bytes) => {
      const value = codec.decode('token.price.TokenPriceEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_prices', rows: priceRows(value) }] }
    },
  },
  {
    topic: 'tokenMarketCaps',
    map: (codec, bytes) => {
      const value = codec.decode('token.market_cap.TokenMarketCapEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_markets', rows: marketRows(value) }] }
    },
  },
  {
    topic: 'tokenSuppliesProcessed',
    map: (codec, bytes) => {
      const value = validateSupplies(codec.decode('token.supply.TokenSupplyEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'token_supplies', rows: supplyRows(value) }] }
    },
  },
  {
    topic: 'transfersProcessed',
    map: (codec, bytes) => {
      const value = validateTransfers(codec.decode('transfer.TransferEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'transfers', rows: transferRows(value) }] }
    },
  },
  {
    topic: 'balancesProcessed',
    map: (codec, bytes) => {
      const value = validateBalances(codec.decode('balance.BalanceEvents', bytes))
      const holders = holderRows(value)
      return {
        meta: value.meta,
        tables: [
          { table: 'balance_updates', rows: balanceRows(value) },
          { table: 'token_holders', rows: holders },
          { table: 'wallet_balances', rows: holders },
        ],
      }
    },
  },
  {
    topic: 'tokenHoldings',
    map: (codec, bytes) => {
      const value = codec.decode('token.holding.TokenHoldingEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_holdings', rows: holdingRows(value) }] }
    },
  },
  {
    topic: 'walletTokenPnls',
    map: (codec, bytes) => {
      const value = codec.decode('wallet.pnl.WalletTokenPnlEvents', bytes)
      return {
        meta: value.meta,
        tables: [
          { table: 'wallet_token_pnl', rows: pnlRows(value) },
          { table: 'wallet_pnl_trades', rows: pnlTradeRows(value) },
        ],
      }
    },
  },
]
