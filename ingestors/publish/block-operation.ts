import type { OffsetRange, ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { foldBlock, type QuoteTrade, resetPricesAfterGap } from '../../core/prices/fold-block.ts'
import { type QuoteAssets, quoteAssetPricesAt } from '../../core/prices/quote-assets.ts'
import type { PriceEntry } from '../../core/prices/quote-state.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type { Block, DecodedBlock, TokenMetadata } from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type { BlockEvent } from '../../schemas/wire.ts'
import type { FetchedMetadata, MetadataSource } from '../decode/contract.ts'
import { withFetched } from '../decode/metadata-reader.ts'
import { parentHeightOf } from '../follow/chain-position.ts'
import type { BlockRef, Commitment } from '../follow/contract.ts'
import { blockEvents } from '../to-wire/block-events.ts'
import { type BlockHeader, NO_HEADER } from '../to-wire/block-header.ts'
import { blockMapping } from '../vm/block-mapping.ts'
import { blockEvent, type Cursor } from './block-record.ts'
import type { Ledger, Pending } from './metadata-store.ts'
import {
  batchesOf,
  type EventBatch,
  encodedRecords,
  type OperationMeta,
  revertedBatches,
} from './record-batches.ts'
import type { Applied } from './resume.ts'
import { updateRunningTotals } from './running-balances.ts'

/** What every operation of one chain needs: the chain, its codec, its state store. */
export interface ChainContext {
  readonly chain: ChainRow
  readonly quoteAssets: QuoteAssets
  readonly codec: Codec
  /** Those of the chain that are on. Default: none. */
  readonly feeds?: ReadonlySet<Feed>
  readonly partitions: (topic: string) => number
  /** Name of the state store, and the partition of it that this ingestor owns. */
  readonly store: string
  readonly partition: number
  readonly nowMs: () => number
  /** At which the source reads blocks. */
  readonly commitment: Commitment
}

/** An operation that is ready to be committed, and what is true once it is. */
export interface Prepared {
  readonly op: OperationMeta['op']
  /** Its data records and dead letters. */
  readonly records: readonly ProducerRecord[]
  /** Its `{c}.blocks` event, where its data records lie at these offsets. */
  readonly event: (ranges: readonly OffsetRange[]) => BlockEvent
  readonly pending: Pending
  readonly cursor: Cursor
  readonly seq: number
  readonly header: BlockHeader
  readonly batches: readonly EventBatch[]
}

/** A block with what was decoded and fetched for it. */
export interface ReadBlock {
  readonly block: Block
  readonly fetched: FetchedMetadata
  readonly decoded: DecodedBlock
  readonly origin: MetadataSource
  /** Seed prices after a start or a gap. */
  readonly seedPrices: readonly PriceEntry[]
  /** Dead letters that go into the same commit. */
  readonly deadLetters: readonly ProducerRecord[]
  /** Operations that fall out of the reorg window with this one. */
  readonly expired: readonly number[]
}

/** Makes the APPLY of a block: `seq` is the operation's own, `cursor` what it leaves behind. */
export const applyOperation = (
  chainContext: ChainContext,
  ledger: Ledger,
  { seq, cursor }: { readonly seq: number; readonly cursor: Cursor },
  read: ReadBlock,
): Prepared => {
  const { chain, quoteAssets, feeds } = chainContext
  const { block, decoded } = read
  const { fetchedTokens, metadata } = metadataOf(read, ledger)
  const known = withFetched(ledger, metadata)
  const runningTotals = updateRunningTotals(block, decoded, metadata.tokens, ledger.amount)
  const quotesBefore = resetPricesAfterGap(
    ledger.quotes(),
    parentHeightOf(block) + 1,
    read.seedPrices,
  )
  const quotePrices = quoteAssetPricesAt(quotesBefore, block.timeMs, quoteAssets)
  const mapping = blockMapping(block)
  const context = { chain, block, mapping, quoteAssets, quotePrices, ...known }
  const { amounts: feedAmounts = [], ...ofFeeds } =
    feeds && feeds.size > 0
      ? mapping.feedFindings(block, decoded, { chain, feeds, amount: ledger.amount })
      : {}
  const findings = {
    decoded,
    runningTotals,
    fetched: fetchedTokens,
    metadataSource: read.origin,
    ...(feeds && { feeds }),
  }
  const events = blockEvents(context, { ...findings, ...ofFeeds })
  const { height, timeMs } = block
  const trades = quoteTrades(decoded, (pool) => known.pool(pool)?.verified === true)
  const quotes = foldBlock(quotesBefore, { height, timeMs, trades }, quoteAssets)
  const meta = metaOf(chainContext, 'OP_APPLY', seq, block)
  const batches = batchesOf(events, chain.id, chainContext.partitions)
  const amounts = new Map([...runningTotals.amounts, ...feedAmounts])
  const pending = ledger.apply({ seq, quotes, metadata, amounts, expired: read.expired })
  return prepared(chainContext, pending, {
    meta,
    header: mapping.header(block),
    cursor,
    batches,
    deadLetters: read.deadLetters,
  })
}

/**
 * The metadata that a block adds: what was fetched for it (`fetchedTokens` are published as such), and what its own events say of the
 * tokens and pools that were created in it.
 */
const metadataOf = (
  { fetched, decoded }: ReadBlock,
  ledger: Ledger,
): { readonly fetchedTokens: readonly TokenMetadata[]; readonly metadata: FetchedMetadata } => {
  const created = new Map(
    decoded.tokenCreations.map(({ metadata }) => [metadata.address, metadata]),
  )
  const fetchedTokens = fetched.tokens.filter(({ address }) => !created.has(address))
  const pools = decoded.pools.filter(({ address }) => ledger.pool(address)?.verified !== true)
  return {
    fetchedTokens,
    metadata: {
      tokens: [...fetchedTokens, ...created.values()],
      pools: [...fetched.pools, ...pools],
    },
  }
}

/** Makes the REVERT of the newest applied block from the records that its APPLY wrote. */
export const revertOperation = (
  chainContext: ChainContext,
  ledger: Ledger,
  { seq, cursor }: { readonly seq: number; readonly cursor: Cursor },
  applied: Applied,
  batches: readonly EventBatch[],
): Prepared => {
  return prepared(chainContext, ledger.revert(applied.seq), {
    meta: metaOf(chainContext, 'OP_REVERT', seq, applied.ref),
    header: applied.header,
    cursor,
    batches: revertedBatches(batches),
    deadLetters: [],
  })
}

/** Makes the FINALIZE up to `ref`; `finalSeqs` are the operations that can no longer be taken back. */
export const finalizeOperation = (
  chainContext: ChainContext,
  ledger: Ledger,
  { seq, cursor }: { readonly seq: number; readonly cursor: Cursor },
  ref: BlockRef,
  finalSeqs: readonly number[],
): Prepared => {
  const meta = metaOf(chainContext, 'OP_FINALIZE', seq, ref)
  const parts = { meta, header: NO_HEADER, cursor, batches: [], deadLetters: [] }
  return prepared(chainContext, ledger.dropUndo(finalSeqs), parts)
}

/** Trades of a block as the price table reads them. */
const quoteTrades = (
  { swaps }: DecodedBlock,
  isVerified: (pool: string) => boolean,
): readonly QuoteTrade[] =>
  swaps.flatMap(({ pool, tokenIn, tokenOut, amountInRaw, amountOutRaw }) =>
    tokenIn === null || tokenOut === null
      ? []
      : [
          {
            pool,
            verified: isVerified(pool),
            tokenA: tokenIn,
            tokenB: tokenOut,
            amountARaw: amountInRaw,
            amountBRaw: amountOutRaw,
          },
        ],
  )

const COMMITMENTS = {
  processed: 'COMMITMENT_PROCESSED',
  confirmed: 'COMMITMENT_CONFIRMED',
  finalized: 'COMMITMENT_FINALIZED',
} as const

const metaOf = (
  { chain, nowMs, commitment }: ChainContext,
  op: 'OP_APPLY' | 'OP_REVERT' | 'OP_FINALIZE',
  seq: number,
  ref: BlockRef,
): OperationMeta => ({
  chain: chain.id,
  op,
  seq,
  commitment: COMMITMENTS[op === 'OP_FINALIZE' ? 'finalized' : commitment],
  height: ref.height,
  slot: ref.height,
  hash: ref.hash,
  parent_hash: ref.parentHash,
  block_time: ref.timeMs,
  produced_at: nowMs(),
})

interface Parts {
  readonly meta: OperationMeta
  readonly header: BlockHeader
  readonly cursor: Cursor
  readonly batches: readonly EventBatch[]
  readonly deadLetters: readonly ProducerRecord[]
}

const prepared = (
  { codec }: ChainContext,
  pending: Pending,
  { deadLetters, ...parts }: Parts,
): Prepared => {
  const { meta, header, cursor, batches } = parts
  const { quotes } = pending
  return {
    op: meta.op,
    records: [...encodedRecords(batches, meta, codec), ...deadLetters],
    event: (ranges) => blockEvent({ ...parts, quotes }, ranges),
    pending,
    cursor,
    seq: meta.seq,
    header,
    batches,
  }
}
