import { InvalidInput } from '../../core/errors.ts'
import { isExecutedTrade } from '../../core/executed-trade.ts'
import { type QuoteAssets, quoteRankOf } from '../../core/prices/quote-assets.ts'
import type { EventMeta, TradeEvent, WalletTradePnlEvent } from '../../schemas/wire.ts'
import { recordVersion } from '../candles/series.ts'
import { quoteAssetsByChain } from '../runtime/quote-assets.ts'
import type { Operation, Publication, Stage, StageProcessor, StageState } from '../runtime/stage.ts'
import { isBuy, toFixedPoint, tradeValues } from '../runtime/valuation.ts'
import { createVersionedStore } from '../runtime/versioned-store.ts'
import { pnlEvent, tradePnlEvent, type WalletToken } from './events.ts'
import {
  applyTrade,
  fromStoredPosition,
  NO_POSITION,
  type Position,
  type PositionTrade,
  type StoredPosition,
  toStoredPosition,
} from './position.ts'

/** Most rows of one record: keeps a record far below the log's limit. */
const ROWS_PER_RECORD = 500

/** Rows of an unfinalized block, in chain order: a retraction repeats them. */
interface StoredTradeRows {
  readonly rows: readonly WalletTradePnlEvent[]
}

const positionKey = ({ wallet, token }: WalletToken): string => `${token}|${wallet}`

const parsePositionKey = (key: string): WalletToken => {
  const cut = key.indexOf('|')
  return { token: key.slice(0, cut), wallet: key.slice(cut + 1) }
}

interface WalletTrade extends WalletToken {
  readonly trade: PositionTrade
  readonly instructionPosition: { readonly tx: string; readonly eventIndex: number }
}

/** The trade as a change of its wallet's position; undefined for trades that make no position: failed ones, and those of money itself. */
const walletTradeOf = (
  event: TradeEvent,
  timeMs: number,
  quoteAssets: QuoteAssets,
): WalletTrade | undefined => {
  const { trade, transaction, instruction, trade_processed: processed } = event
  if (trade === null || !isExecutedTrade(event)) return undefined
  const { token_a_address: token, user_a_account_owner_address: wallet } = trade
  if (wallet === '' || quoteRankOf(token, quoteAssets) > 0) return undefined
  return {
    wallet,
    token,
    trade: {
      buy: isBuy(trade),
      amountRaw: BigInt(trade.user_a_amount === '' ? 0 : trade.user_a_amount),
      usd: toFixedPoint(tradeValues(event, trade).valueUsd),
      timeMs,
      decimals: trade.token_a_decimals,
      priceUsd: processed?.token_a_price_in_usd_lasted ?? '',
    },
    instructionPosition: {
      tx: transaction?.signature ?? '',
      eventIndex: instruction?.event_index ?? 0,
    },
  }
}

const walletTrades = (
  { block, records }: Operation,
  quoteAssets: QuoteAssets,
): readonly WalletTrade[] =>
  records
    .flatMap(({ topic, value }) =>
      topic === 'tradesProcessed'
        ? value.events.flatMap(
            (event) => walletTradeOf(event, block.meta.block_time, quoteAssets) ?? [],
          )
        : [],
    )
    .toSorted(
      (one, other) => one.instructionPosition.eventIndex - other.instructionPosition.eventIndex,
    )

interface BlockPnl {
  readonly positions: readonly (readonly [key: string, position: Position])[]
  readonly rows: readonly WalletTradePnlEvent[]
}

const groupBy = <Item>(items: Iterable<Item>, keyOfItem: (item: Item) => string) => {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOfItem(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

const toPublications = (meta: EventMeta, { positions, rows }: BlockPnl): readonly Publication[] => {
  const version = recordVersion(meta.seq, 0)
  const rowsOf = groupBy(rows, ({ wallet_address }) => wallet_address)
  const records = [...groupBy(positions, ([key]) => parsePositionKey(key).wallet)].flatMap(
    ([wallet, held]) => {
      const trades = rowsOf.get(wallet) ?? []
      const events = held.map(([key, position]) =>
        pnlEvent(parsePositionKey(key), position, version),
      )
      const chunks = Math.max(1, Math.ceil(trades.length / ROWS_PER_RECORD))
      return Array.from({ length: chunks }, (_, index) => ({
        wallet,
        events: index === chunks - 1 ? events : [],
        trades: trades.slice(index * ROWS_PER_RECORD, (index + 1) * ROWS_PER_RECORD),
      }))
    },
  )
  return records.map(({ wallet, events, trades }, part) => ({
    topic: 'walletTokenPnls',
    key: wallet,
    value: { meta: { ...meta, part, parts: records.length }, events, trades },
  }))
}

const loadPnl = (state: StageState, given?: QuoteAssets): StageProcessor => {
  const layers = createVersionedStore<StoredPosition, StoredTradeRows>(state)
  const quoteAssetsFor = quoteAssetsByChain(given)
  const apply = (operation: Operation): BlockPnl => {
    const { hash, height, block_time: timeMs, chain } = operation.block.meta
    const positions = new Map<string, Position>()
    const rows: WalletTradePnlEvent[] = []
    for (const walletTrade of walletTrades(operation, quoteAssetsFor(chain))) {
      const key = positionKey(walletTrade)
      const stored = positions.has(key) ? undefined : layers.get(key)
      const before = positions.get(key) ?? (stored ? fromStoredPosition(stored) : NO_POSITION)
      const outcome = applyTrade(before, walletTrade.trade)
      positions.set(key, outcome.position)
      rows.push(
        tradePnlEvent(walletTrade, walletTrade.trade, outcome, walletTrade.instructionPosition),
      )
    }
    if (operation.records.length > 0) {
      const values = new Map(
        [...positions].map(([key, position]) => [key, toStoredPosition(position)]),
      )
      layers.apply({ hash, height, timeMs, values, extra: { rows } })
    }
    return { positions: [...positions], rows }
  }
  const revert = (operation: Operation): BlockPnl => {
    if (operation.records.length === 0) return { positions: [], rows: [] }
    const { hash } = operation.block.meta
    const block = layers.revert(hash)
    if (block === undefined) {
      throw new InvalidInput('revert', `block ${hash} is reverted but was not applied`)
    }
    const positions = [...block.values.keys()].map((key) => {
      const before = layers.get(key)
      return [key, before === undefined ? NO_POSITION : fromStoredPosition(before)] as const
    })
    return { positions, rows: block.extra.rows.toReversed() }
  }
  return {
    step: (operation) => {
      const { meta, final_height: finalHeight } = operation.block
      if (meta.op === 'OP_FINALIZE') {
        layers.finalize(finalHeight)
        return []
      }
      return toPublications(meta, meta.op === 'OP_REVERT' ? revert(operation) : apply(operation))
    },
    flush: () => ({ publications: [], changes: layers.changes() }),
  }
}

/**
 * `dex.trades.processed` to `wallet-token-pnls`: after each block the positions that it changed, and what each of its trades did
 * to them. A retraction brings the positions from before the block and repeats the undone rows, newest first; a position
 * without a trade has no buys and no sells.
 */
export const PNL: Stage = {
  app: 'pnl',
  inputs: ['tradesProcessed'],
  outputs: ['walletTokenPnls'],
  load: loadPnl,
}
