import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { open, type RootDatabase, TransactionFlags } from 'lmdb'
import { Outage } from '../../errors.ts'
import type { LaneState, SharedState, StateChange } from '../contract.ts'
import { diskOutage, runTransaction, usedBytes } from '../embedded/lmdb.ts'
import { bootId } from '../embedded/process-lock.ts'

/** Layout of a copy; another number is another layout, and the copy is made anew. */
const LAYOUT_VERSION = 1
/** The map grows by itself from here. */
const INITIAL_MAP_BYTES = 16_777_216
/** Pages that a write touches beside its own bytes. */
const WRITE_OVERHEAD_BYTES = 65_536
/** Source: LMDB mdb.c, `MDB_MAGIC`, little-endian, behind the page header of lmdb-js' data version. */
const LMDB_MAGIC = Buffer.from([0xde, 0xc0, 0xef, 0xbe])
const LMDB_MAGIC_OFFSET = 24
/** What lmdb says of a file that holds nonsense. */
const CORRUPTION_ERRORS = /MDB_(CORRUPTED|PAGE_NOTFOUND|PAGE_FULL|INVALID|PANIC|CURSOR_FULL)/
/** Visible when it returns; the system writes it to disk later: a copy that a power cut met is made anew. */
const ASYNC_FLUSH_FLAGS = TransactionFlags.ABORTABLE | TransactionFlags.SYNCHRONOUS_COMMIT
const NO_FLUSH_FLAGS = ASYNC_FLUSH_FLAGS | TransactionFlags.NO_SYNC_FLUSH

/** The last changelog record that a copy holds; the log's own time tells it from one of another log. */
export interface StoreCheckpoint {
  readonly offset: number
  readonly timestampMs: number
}

/** What a copy takes over; `value: null` removes the key. */
export type StoreChange = Pick<StateChange, 'key' | 'value'>

/** One lane's store on the local disk: all of its changelog up to a mark, and nothing beyond. */
export interface LaneStore extends LaneState {
  /** null: the copy is empty or its position is unknown. */
  mark(): StoreCheckpoint | null
  /** Takes changes and the changelog position they lead to, whole or not at all. Throws `Outage`. */
  apply(changes: readonly StoreChange[], mark: StoreCheckpoint | null): void
  /** Empties the copy. */
  clear(): void
  close(): Promise<void>
}

/** Where a copy lies and what it is a copy of. */
export interface LaneStoreOptions {
  /** Folder of this copy alone. */
  readonly path: string
  readonly mapSizeBytes: number
  /** Name of the changelog that no other log bears: cluster, topic, partition. */
  readonly log: string
}

interface StoreHeader {
  readonly format: number
  readonly log: string
  /** The newest holder; an older one must not write any more. */
  readonly holder: string
  readonly mark: StoreCheckpoint | null
}

type StoreDatabase = RootDatabase<Buffer, Buffer>

const HEADER_KEY = Buffer.from([0])
const entryKey = (key: string): Buffer => Buffer.concat([Buffer.from([1]), Buffer.from(key)])

/**
 * Opens a copy and becomes its holder: whoever held it before, in this process or another, can no longer write to it.
 * A copy that is damaged, of another layout or of another log comes back empty.
 */
export const openLaneStore = (plan: LaneStoreOptions): LaneStore => {
  const { path, mapSizeBytes, log } = plan
  const holder = randomUUID()
  const root = openOrReset(path)
  let damaged = false
  const failure = (error: unknown): Outage => {
    if (error instanceof Outage) return error
    damaged ||= error instanceof Error && CORRUPTION_ERRORS.test(error.message)
    return damaged
      ? new Outage('disk', `${path} is damaged`, { cause: error })
      : diskOutage(path, error)
  }
  const guarded = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw failure(error)
    }
  }
  const close = async (): Promise<void> => {
    const whole = !damaged && flushToDisk(root, holder)
    await root.close()
    if (damaged) rmSync(path, { recursive: true, force: true })
    else if (whole) rmSync(join(path, OPEN_MARKER_FILE), { force: true })
  }
  const write = (work: () => void, mark: StoreCheckpoint | null): void =>
    guarded(() =>
      runTransaction(
        root,
        () => {
          if (readHeader(root)?.holder !== holder)
            throw new Outage('bus', `${path} is held by another process; a lane has one owner`)
          work()
          writeHeader(root, { format: LAYOUT_VERSION, log, holder, mark })
        },
        NO_FLUSH_FLAGS,
      ),
    )
  try {
    guarded(() => runTransaction(root, () => takeOwnership(root, log, holder), NO_FLUSH_FLAGS))
  } catch (error) {
    void close()
    throw error
  }
  return {
    location: { kind: 'folder', path },
    ...readState(root, failure),
    mark: () => guarded(() => readHeader(root)?.mark ?? null),
    clear: () => write(() => root.clearSync(), null),
    apply: (changes, mark) => {
      if (usedBytes([root]) + estimateChangeBytes(changes) > mapSizeBytes) {
        throw new Outage('disk', `${path} is full: ${mapSizeBytes} bytes`, { final: true })
      }
      write(() => {
        for (const { key, value } of changes) {
          if (value === null) root.removeSync(entryKey(key))
          else
            root.putSync(
              entryKey(key),
              Buffer.from(value.buffer, value.byteOffset, value.byteLength),
            )
        }
      }, mark)
    },
    close,
  }
}

/** State as the copy holds it. */
const readState = (
  root: StoreDatabase,
  failure: (error: unknown) => Outage,
): Pick<LaneState, 'get' | 'entries'> => ({
  get: (key) => {
    try {
      return root.get(entryKey(key))
    } catch (error) {
      throw failure(error)
    }
  },
  *entries(prefix = '') {
    try {
      const range = root.getRange({ start: entryKey(prefix), end: prefixEndKey(prefix) })
      for (const { key, value } of range) yield [key.toString('utf8', 1), value] as const
    } catch (error) {
      throw failure(error)
    }
  },
})

/** Opens a copy for reading that another thread of this process holds; what that one finds damaged it makes anew. */
export const openSharedLaneStore = (path: string): SharedState<LaneState> => {
  const root = openDatabase(path, { readOnly: true })
  return {
    state: readState(root, (error) => diskOutage(path, error)),
    refresh: () => root.resetReadTxn(),
    close: () => root.close(),
  }
}

/** Becomes the holder; what is not a copy of this log is emptied. */
const takeOwnership = (root: StoreDatabase, log: string, holder: string): void => {
  const held = readHeader(root)
  const ours = held?.format === LAYOUT_VERSION && held.log === log
  if (!ours) root.clearSync()
  writeHeader(root, { format: LAYOUT_VERSION, log, holder, mark: ours ? held.mark : null })
}

/** The first key behind all that begin with the prefix; UTF-8 has no byte 255 that could overflow. */
const prefixEndKey = (prefix: string): Buffer => {
  const key = entryKey(prefix)
  key[key.length - 1] = (key.at(-1) ?? 0) + 1
  return key
}

const estimateChangeBytes = (changes: readonly StoreChange[]): number =>
  changes.reduce(
    (sum, { key, value }) => sum + 64 + key.length + (value?.byteLength ?? 0),
    WRITE_OVERHEAD_BYTES,
  )

const writeHeader = (root: StoreDatabase, head: StoreHeader): void => {
  root.putSync(HEADER_KEY, Buffer.from(JSON.stringify(head)))
}

const readHeader = (root: StoreDatabase): StoreHeader | undefined => {
  const bytes = root.get(HEADER_KEY)
  try {
    return bytes && (JSON.parse(bytes.toString('utf8')) as StoreHeader)
  } catch {
    return undefined
  }
}

/** Writes out what the system still holds; false when that failed, or another one holds the copy now. */
const flushToDisk = (root: StoreDatabase, holder: string): boolean => {
  try {
    return runTransaction(root, () => {
      const head = readHeader(root)
      if (head?.holder !== holder) return false
      writeHeader(root, head)
      return true
    })
  } catch {
    return false
  }
}

/** Stands beside a copy while it is open, and names the system's start: one of an earlier start met a power cut. */
const OPEN_MARKER_FILE = 'held'

/** Opens the folder; what lmdb could not read without ending the process is removed first. */
const openOrReset = (path: string): StoreDatabase => {
  const file = join(path, 'data.mdb')
  if (existsSync(file) && (!hasLmdbMagic(file) || isFromEarlierBoot(path))) {
    rmSync(path, { recursive: true, force: true })
  }
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, OPEN_MARKER_FILE), bootId() ?? '', { flush: true })
  const first = openDatabase(path)
  if (!isTruncated(first, file)) return first
  first.close()
  rmSync(file)
  return openDatabase(path)
}

const isFromEarlierBoot = (path: string): boolean => {
  const held = join(path, OPEN_MARKER_FILE)
  if (!existsSync(held)) return false
  const boot = bootId()
  return boot === undefined || readFileSync(held, 'utf8') !== boot
}

const openDatabase = (path: string, mode: { readonly readOnly?: boolean } = {}): StoreDatabase =>
  open<Buffer, Buffer>({
    ...mode,
    path,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    mapSize: INITIAL_MAP_BYTES,
    overlappingSync: false,
  })

const hasLmdbMagic = (file: string): boolean => {
  const bytes = Buffer.alloc(LMDB_MAGIC.length)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, bytes, 0, bytes.length, LMDB_MAGIC_OFFSET)
  } finally {
    closeSync(handle)
  }
  return bytes.equals(LMDB_MAGIC)
}

const isTruncated = (root: StoreDatabase, file: string): boolean => {
  const { pageSize, lastPageNumber } = root.getStats() as {
    readonly pageSize: number
    readonly lastPageNumber: number
  }
  return statSync(file).size < pageSize * lastPageNumber
}
