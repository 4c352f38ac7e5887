import type { OffsetRange, ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { foldBlock, type QuoteTrade, resetPricesAfterGap } from '../../core/prices/fold-block.ts'
import { type QuoteAssets, quoteAssetPricesAt } from '../../core/prices/quote-assets.ts'
import type { PriceEntry } from '../../core/prices/quote-state.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type { Block, DecodedBlock, TokenMetadata } from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type { BlockEvent } from '../../schemas/wire.ts'
import { withFetched } from '../decode/metadata-reader.ts'
import { coinChanges } from '../evm/decode/native-balance-changes.ts'
import { trackOutcomes } from '../evm/decode/outcome-tokens.ts'
import { nativeTransfers } from '../evm/normalize/native-transfers.ts'
import { parentHeightOf } from '../follow/chain-position.ts'
import type { BlockRef, Commitment } from '../follow/contract.ts'
import { type BlockFindings, blockEvents } from '../to-wire/block-events.ts'
import type { MetadataSource } from '../to-wire/tokens.ts'
import {
  type BlockHeader,
  blockEvent,
  blockHeader,
  type Cursor,
  NO_HEADER,
} from './block-record.ts'
import type { FetchedMetadata, Ledger, Pending } from './metadata-store.ts'
import { trackPositions } from './outcome-positions.ts'
import {
  chunksOf,
  type EventBatch,
  encodedRecords,
  type OperationMeta,
  revertedChunks,
} from './record-batches.ts'
import type { Applied } from './resume.ts'
import { track } from './running-balances.ts'

/** What every operation of one chain is made with. */
export interface ChainContext {
  readonly chain: ChainRow
  readonly book: QuoteAssets
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
  /** Its `{c}.blocks` event, where its data records lie at these places. */
  readonly event: (spans: readonly OffsetRange[]) => BlockEvent
  readonly pending: Pending
  readonly cursor: Cursor
  readonly seq: number
  readonly header: BlockHeader
  readonly chunks: readonly EventBatch[]
}

/** A block with everything that was found out about it. */
export interface ReadBlock {
  readonly block: Block
  readonly learned: FetchedMetadata
  readonly decoded: DecodedBlock
  readonly origin: MetadataSource
  /** Prices that a start or a gap is primed with. */
  readonly primes: readonly PriceEntry[]
  /** Dead letters that go into the same commit. */
  readonly letters: readonly ProducerRecord[]
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
  const { chain, book } = chainContext
  const { block, decoded } = read
  const { fetched, learned } = factsOf(read, ledger)
  const facts = withFetched(ledger, learned)
  const runningTotals = track(block, decoded, learned.tokens, ledger.amount)
  const entered = resetPricesAfterGap(ledger.quotes(), parentHeightOf(block) + 1, read.primes)
  const quotePrices = quoteAssetPricesAt(entered, block.timeMs, book)
  const context = { chain, block, quoteAssets: book, quotePrices, ...facts }
  const wanted = wantedOf(chainContext, ledger, read)
  const found = { decoded, runningTotals, fetched: fetched, metadataSource: read.origin }
  const events = blockEvents(context, { ...found, ...wanted })
  const { height, timeMs } = block
  const trades = quoteTrades(decoded, (pool) => facts.pool(pool)?.verified === true)
  const quotes = foldBlock(entered, { height, timeMs, trades }, book)
  const meta = metaOf(chainContext, 'OP_APPLY', seq, block)
  const chunks = chunksOf(events, chain.id, chainContext.partitions)
  const { outcomes, positions } = wanted
  const amounts =
    outcomes && positions
      ? new Map([...runningTotals.amounts, ...outcomes.amounts, ...positions.amounts])
      : runningTotals.amounts
  const pending = ledger.apply({ seq, quotes, learned, amounts, expired: read.expired })
  return prepared(chainContext, pending, {
    meta,
    header: blockHeader(block),
    cursor,
    chunks,
    letters: read.letters,
  })
}

/** What the chain's feeds add to a block. */
const wantedOf = (
  { chain, feeds }: ChainContext,
  { amount }: Ledger,
  { block, decoded }: ReadBlock,
): Pick<BlockFindings, 'feeds' | 'outcomes' | 'positions' | 'natives' | 'coins'> => {
  if (feeds === undefined || feeds.size === 0) return {}
  const hasNatives = block.vm === 'evm' && feeds.has('native-transfers')
  return {
    feeds,
    ...(hasNatives && { natives: nativeTransfers(block, chain) }),
    ...(block.vm === 'evm' && block.coins && { coins: coinChanges(block.coins, chain) }),
    ...(feeds.has('predictions') && predictionFindings(decoded, block.timeMs, amount)),
  }
}

const predictionFindings = (
  { predictions, outcomeChanges }: DecodedBlock,
  timeMs: number,
  amount: Ledger['amount'],
): Required<Pick<BlockFindings, 'outcomes' | 'positions'>> => {
  const outcomes = trackOutcomes(predictions, amount)
  return { outcomes, positions: trackPositions(outcomeChanges, outcomes, timeMs, amount) }
}

/**
 * What a block teaches: facts that were asked for (`fetched`, which are published as such), and with them what its own events say of the
 * tokens that were born and the pools that were made in it.
 */
const factsOf = (
  { learned, decoded }: ReadBlock,
  ledger: Ledger,
): { readonly fetched: readonly TokenMetadata[]; readonly learned: FetchedMetadata } => {
  const born = new Map(decoded.tokenCreations.map(({ metadata: fact }) => [fact.address, fact]))
  const reportedDecimals = learned.tokens.filter(({ address }) => !born.has(address))
  const pools = decoded.pools.filter(({ address }) => ledger.pool(address)?.verified !== true)
  return {
    fetched: reportedDecimals,
    learned: {
      tokens: [...reportedDecimals, ...born.values()],
      pools: [...learned.pools, ...pools],
    },
  }
}

/** Makes the REVERT of the newest applied block from the records that its APPLY wrote. */
export const revertOperation = (
  chainContext: ChainContext,
  ledger: Ledger,
  { seq, cursor }: { readonly seq: number; readonly cursor: Cursor },
  applied: Applied,
  chunks: readonly EventBatch[],
): Prepared => {
  return prepared(chainContext, ledger.revert(applied.seq), {
    meta: metaOf(chainContext, 'OP_REVERT', seq, applied.ref),
    header: applied.header,
    cursor,
    chunks: revertedChunks(chunks),
    letters: [],
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
  const parts = { meta, header: NO_HEADER, cursor, chunks: [], letters: [] }
  return prepared(chainContext, ledger.forget(finalSeqs), parts)
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
  readonly chunks: readonly EventBatch[]
  readonly letters: readonly ProducerRecord[]
}

const prepared = (
  { codec }: ChainContext,
  pending: Pending,
  { letters, ...parts }: Parts,
): Prepared => {
  const { meta, header, cursor, chunks } = parts
  const { quotes } = pending
  return {
    op: meta.op,
    records: [...encodedRecords(chunks, meta, codec), ...letters],
    event: (spans) => blockEvent({ ...parts, quotes }, spans),
    pending,
    cursor,
    seq: meta.seq,
    header,
    chunks,
  }
}
