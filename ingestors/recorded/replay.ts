import { readFile as readBytes } from 'node:fs/promises'
import type { ChainExtra } from '../../core/config/settings.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type { Block, MoveTransaction, PoolMetadata, SvmTransaction } from '../../schemas/events.ts'
import { PROTOCOLS, type ProtocolRow } from '../../schemas/protocols.ts'
import { type MetadataReader, readTableMetadata } from '../decode/metadata-reader.ts'
import type { MetadataTable } from '../decode/metadata-table.ts'
import { seedPricePools } from '../decode/seed-prices.ts'
import { tipOf } from '../follow/chain-position.ts'
import type { BlockRef, ChainOp, Position, Source } from '../follow/contract.ts'
import type { Recorded } from '../input/recorded-block.ts'
import { COMMITMENT_BY_VM } from '../vm/commitments.ts'
import { recordedFile } from './files.ts'

/** Blocks between two FINALIZE operations: a recording is final, and rollups wait for that. */
const FINAL_EVERY = 32

/** What is replayed. */
export interface Recordings {
  readonly chain: ChainRow
  /** Recorded answers of nodes and checkpoint files, as `recordedFile` reads them; in any order. */
  readonly files: readonly string[]
  readonly metadata?: MetadataTable
  readonly extra?: ChainExtra
  readonly log: Logger
  readonly readFile?: (file: string) => Promise<string | Uint8Array>
}

/** A source of recorded blocks, and the metadata that comes with it. */
export interface RecordedSource extends Source {
  readonly metadata: MetadataReader
  /** Files without a block time, which cannot be ordered. */
  readonly skipped: readonly string[]
}

/** Files of one block. */
interface RecordedPosition {
  readonly ref: BlockRef
  readonly files: readonly string[]
}

/**
 * Recordings as a source: ordered by height, files of one block joined, no continuity between blocks. Every file is
 * read once before the first block is given, and again when its turn comes, so memory holds one block at a time. Throws
 * `InvalidInput` for a file that is not a recording of this chain, or for two blocks of one height.
 */
export const recordedSource = async (recordings: Recordings): Promise<RecordedSource> => {
  const { chain, log, metadata, extra, readFile = (file) => readBytes(file) } = recordings
  const read = async (file: string): Promise<Recorded> =>
    recordedFile(chain.id, file, await readFile(file), extra?.factories)
  const { positions, skipped } = await index(recordings.files, read)
  for (const file of skipped) log.warn({ file }, 'skipped recording without a block time')
  log.warn(
    { chain: chain.id, blocks: positions.length },
    'replaying recordings without checks of continuity and receipt counts',
  )
  const pools = [...(metadata?.pools ?? []), ...referencePools(chain, extra)]
  return {
    origin: `${chain.id}:recorded`,
    commitment: COMMITMENT_BY_VM[chain.vm],
    gaps: true,
    node: null,
    metadata: readTableMetadata(metadata?.tokens, pools),
    skipped,
    head: () => positions.at(-1)?.ref ?? null,
    operations: (position, signal) => replayed({ positions, read, signal }, position),
  }
}

const refOf = ({ height, hash, parentHash, timeMs }: Block): BlockRef => ({
  height,
  hash,
  parentHash,
  timeMs,
})

const index = async (
  files: readonly string[],
  read: (file: string) => Promise<Recorded>,
): Promise<{
  readonly positions: readonly RecordedPosition[]
  readonly skipped: readonly string[]
}> => {
  const byHeight = new Map<number, { ref: BlockRef; named: boolean; files: string[] }>()
  const untimed = new Set<string>()
  for (const file of files) {
    const { block, timed, named } = await read(file).catch((error: unknown) => {
      if (!(error instanceof InvalidInput)) throw error
      throw new InvalidInput(error.reason, `${file}: ${error.message}`, { cause: error })
    })
    const held = byHeight.get(block.height)
    if (!timed) untimed.add(file)
    if (held === undefined) {
      byHeight.set(block.height, { ref: refOf(block), named, files: [file] })
    } else if (held.named && named && held.ref.hash !== block.hash) {
      throw new InvalidInput('mixed-blocks', `${file}: another block of height ${block.height}`)
    } else {
      held.files.push(file)
      if (named ? timed || !held.named : timed && !held.named) held.ref = refOf(block)
      held.named ||= named
    }
  }
  const all = [...byHeight.values()].sort((a, b) => a.ref.height - b.ref.height)
  const isTimed = (position: RecordedPosition): boolean =>
    position.files.some((file) => !untimed.has(file))
  return {
    positions: all.filter(isTimed),
    skipped: all.filter((position) => !isTimed(position)).flatMap((position) => position.files),
  }
}

interface Replaying {
  readonly positions: readonly RecordedPosition[]
  readonly read: (file: string) => Promise<Recorded>
  readonly signal: AbortSignal
}

async function* replayed(
  { positions, read, signal }: Replaying,
  position: Position | null,
): AsyncGenerator<ChainOp> {
  const tip = tipOf(position)
  const rest = positions.filter(({ ref }) => ref.height > (tip?.height ?? -1))
  let newest = tip
  const final = position?.final?.height ?? -1
  let open = (position?.stack ?? []).filter(({ height }) => height > final).length
  for (const position of rest) {
    if (signal.aborted) return
    const block = joined(await Promise.all(position.files.map(read)))
    yield { op: 'apply', block }
    newest = refOf(block)
    open += 1
    if (open < FINAL_EVERY) continue
    yield { op: 'finalize', ref: newest }
    open = 0
  }
  if (newest !== null && open > 0) yield { op: 'finalize', ref: newest }
}

/** Several recordings of one block: the header of the one that says most, every transaction once. */
const joined = (recordings: readonly Recorded[]): Block => {
  const rank = ({ whole, named, timed }: Recorded): number =>
    (whole ? 4 : 0) + (named ? 2 : 0) + (timed ? 1 : 0)
  const sorted = recordings.toSorted((a, b) => rank(b) - rank(a))
  const [first] = sorted
  if (first === undefined) throw new Error('a place without files')
  const timeMs = sorted.find(({ timed }) => timed)?.block.timeMs ?? first.block.timeMs
  const blocks = sorted.map(({ block }) => block)
  const { block } = first
  if (block.vm === 'evm') {
    const all = blocks.flatMap((each) => (each.vm === 'evm' ? each.transactions : []))
    return { ...block, timeMs, transactions: united(all) }
  }
  if (block.vm === 'svm') {
    const all = blocks.flatMap((each) => (each.vm === 'svm' ? each.transactions : []))
    return { ...block, timeMs, transactions: withPositions(first, united(all)) }
  }
  const all = blocks.flatMap((each) => (each.vm === 'move' ? each.transactions : []))
  return { ...block, timeMs, transactions: withPositions(first, united(all)) }
}

/** Every transaction once, as it came first, in block order. */
const united = <T extends Block['transactions'][number]>(all: readonly T[]): readonly T[] => {
  const transactions = new Map<string, T>()
  for (const transaction of all) {
    if (!transactions.has(transaction.hash)) transactions.set(transaction.hash, transaction)
  }
  return [...transactions.values()].sort((a, b) => a.index - b.index)
}

/** A single transaction of Solana or Sui does not say where it stood in its block: several of them are counted in one order. */
const withPositions = <T extends SvmTransaction | MoveTransaction>(
  { whole }: Recorded,
  transactions: readonly T[],
): readonly T[] =>
  whole
    ? transactions
    : transactions
        .toSorted((a, b) => a.index - b.index || (a.hash < b.hash ? -1 : 1))
        .map((transaction, index) => ({ ...transaction, index }))

/** The chain's reference pools are known without a node: they may move prices in a replay. */
const referencePools = (chain: ChainRow, extra?: ChainExtra): readonly PoolMetadata[] =>
  seedPricePools(chain, extra).map(({ pool, token, quote, protocol }) => {
    const [tokenA = '', tokenB = ''] = [token, quote].sort()
    const factory = factoryOf(protocol, chain.id)
    return { address: pool, tokenA, tokenB, protocol, factory, feePips: null, verified: true }
  })

const factoryOf = (protocol: string, chain: string): string | null => {
  const rows: readonly ProtocolRow[] = PROTOCOLS
  return rows.find(({ id }) => id === protocol)?.factories[chain]?.[0] ?? null
}
