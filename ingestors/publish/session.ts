import { LRUCache } from 'lru-cache'
import type { Bus, Lane } from '../../core/bus/contract.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { PriceEntry } from '../../core/prices/quote-state.ts'
import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import { maxReorgBlocks } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import { blockDeadLetters, namelessSwaps } from '../dead-letters/dead-letters.ts'
import { fetchMissing, type MetadataReader, withFetched } from '../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import { parentHeightOf, reverted } from '../follow/chain-position.ts'
import type { BlockRef, ChainOp, Position } from '../follow/contract.ts'
import type { RejectedResponse } from '../input/rejected-responses.ts'
import { decodeBlock, requiredLookups } from '../vm/decode-block.ts'
import {
  applyOperation,
  finalizeOperation,
  type Prepared,
  revertOperation,
  type Workshop,
} from './block-operation.ts'
import type { Cursor } from './block-record.ts'
import { type Ledger, openLedger } from './metadata-store.ts'
import { countDecoded, countUntaken } from './metrics.ts'
import type { Chunk } from './record-batches.ts'
import { chunksAt } from './reread-block.ts'
import { type Applied, appliedOf, placeBelow, positionOf, recover } from './resume.ts'

/** The newest blocks' records are held for a reorg, as many as have so many events; older ones are read again from the log. */
const HELD_EVENTS = 20_000

/** What a session needs beside its lane. */
export interface SessionOptions {
  readonly bus: Bus
  readonly workshop: Omit<Workshop, 'partition'>
  readonly protocols: ProtocolRegistry
  readonly facts: MetadataReader
  /** Prices to start with at a start and across a gap. */
  readonly primes: (block: Block, signal: AbortSignal) => Promise<readonly PriceEntry[]>
  /** What nodes said meanwhile and was not taken. */
  readonly refusals?: () => readonly RejectedResponse[]
  readonly metrics: Metrics
}

/** Where a chain stands in the log. */
interface Standing {
  readonly seq: number
  readonly tip: BlockRef | null
}

/** One ownership of a chain: recovered from the log, it commits operation after operation until something throws. */
export interface Session {
  readonly position: () => Position | null
  readonly standing: () => Standing
  /** Facts and prices as of the newest block. */
  readonly known: Pick<Ledger, 'token' | 'pool' | 'quotes'>
  /** Commits one operation. Throws `Outage` when the outcome is not known: the session is over then. */
  readonly take: (op: ChainOp, signal: AbortSignal) => Promise<void>
}

/** Recovers a chain from its topic and the lane's state. The lane's writer has fenced every earlier one. */
export const openSession = async (options: SessionOptions, lane: Lane): Promise<Session> => {
  const { bus, workshop, metrics } = options
  const { chain, codec } = workshop
  const shop: Workshop = { ...workshop, partition: lane.partition }
  const bound = maxReorgBlocks(chain)
  const ledger = openLedger(await lane.state(workshop.store))
  const recovered = await recover(bus, codec, chain)
  const held = heldRecords()
  let { seq, cursor, stack, truncated } = recovered
  const position = (): Position | null => positionOf({ cursor, stack, truncated })

  const commit = async (prepared: Prepared): Promise<void> => {
    await lane.writer.commit(prepared.commit)
    ledger.commit(prepared.pending)
    seq = prepared.seq
    cursor = prepared.cursor
  }
  const apply = async (block: Block, signal: AbortSignal): Promise<void> => {
    const rest = makeYieldIfDue()
    const read = await readBlock(options, ledger, block, signal)
    await rest()
    const expired = stack.slice(0, Math.max(stack.length + 1 - bound, 0))
    const prepared = applyOperation(
      shop,
      ledger,
      { seq: seq + 1, cursor: { ...cursor, tip: refOf(block) } },
      { ...read, expired: expired.map((applied) => applied.seq) },
    )
    await commit(prepared)
    countDecoded(metrics, read.decoded, block)
    stack = [...stack.slice(expired.length), appliedOf(prepared.event())]
    truncated ||= expired.length > 0
    held.set(prepared.seq, prepared.chunks)
  }
  const revert = async (ref: BlockRef): Promise<void> => {
    const newest = stack.at(-1)
    if (newest === undefined || newest.ref.hash !== ref.hash) {
      throw new Error(`reorg reverts ${ref.hash}, which is not the current tip`)
    }
    // Throws before anything is written for a block that cannot be taken back.
    reverted({ stack: stack.map((each) => each.ref), final: cursor.final, truncated })
    const chunks = held.get(newest.seq) ?? (await chunksAt(bus, codec, newest.event))
    const below = stack.slice(0, -1)
    const next: Cursor = { ...cursor, tip: below.at(-1)?.ref ?? placeBelow(ref) }
    await commit(revertOperation(shop, ledger, { seq: seq + 1, cursor: next }, newest, chunks))
    held.delete(newest.seq)
    stack = below
  }
  const finalize = async (ref: BlockRef): Promise<void> => {
    const settled = stack.filter((applied) => applied.ref.height <= ref.height)
    const finalSeq = settled.at(-1)?.seq ?? cursor.finalSeq
    const next: Cursor = { ...cursor, final: ref, finalSeq }
    const seqs = settled.map((applied) => applied.seq)
    await commit(finalizeOperation(shop, ledger, { seq: seq + 1, cursor: next }, ref, seqs))
    stack = stack.filter((applied: Applied) => applied.ref.height >= ref.height)
    truncated = false
  }
  return {
    position,
    standing: () => ({ seq, tip: cursor.tip }),
    known: ledger,
    take: async (op, signal) => {
      if (op.op === 'apply') await apply(op.block, signal)
      else if (op.op === 'revert') await revert(op.ref)
      else await finalize(op.ref)
      metrics.blocksIngested.inc({ chain: chain.id, op: op.op })
    },
  }
}

/** Records of operations by `seq`, the oldest forgotten first; those of a block that is larger than all room are not held. */
const heldRecords = () =>
  new LRUCache<number, readonly Chunk[]>({
    maxSize: HELD_EVENTS,
    sizeCalculation: (chunks) => 1 + chunks.reduce((sum, { events }) => sum + events.length, 0),
  })

const refOf = ({ height, hash, parentHash, timeMs }: BlockRef): BlockRef => ({
  height,
  hash,
  parentHash,
  timeMs,
})

/** Everything that is asked and decoded before a block can be committed. */
const readBlock = async (
  { facts, protocols, primes, refusals, metrics }: SessionOptions,
  ledger: Ledger,
  block: Block,
  signal: AbortSignal,
) => {
  const subjects = requiredLookups(block, protocols)
  const learned = await fetchMissing({ reader: facts, known: ledger }, subjects, block, signal)
  const { pool, token } = withFetched(ledger, learned)
  const asked = (subjects.prices ?? []).filter((each) => pool(each.pool)?.verified)
  const prices = asked.length > 0 ? await facts.prices?.(asked, block, signal) : undefined
  const price = (address: string) => prices?.get(address)
  const books = { verification: facts.verification, protocols, pool, token, price }
  const decoded = decodeBlock(block, books)
  const { clock } = ledger.quotes()
  const contiguous = clock?.height === parentHeightOf(block)
  const dropped = [...decoded.dropped, ...namelessSwaps(decoded.swaps, block)]
  const unread = learned.unread ?? []
  countUntaken(metrics, block, { dropped, unread, subjects, pools: learned.pools })
  return {
    block,
    learned,
    decoded,
    origin: facts.metadataSource,
    primes: contiguous ? [] : await primes(block, signal),
    letters: blockDeadLetters(block, {
      dropped,
      unread,
      rejectedResponses: refusals?.() ?? [],
      context: books,
    }),
  }
}
