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
import type { LaneState, StateChange } from '../contract.ts'
import { diskOutage, inTransaction, usedBytes } from '../embedded/lmdb.ts'
import { bootId } from '../embedded/process-lock.ts'

/** Layout of a copy; another number is another layout, and the copy is made anew. */
const FORMAT = 1
/** The map grows by itself from here. */
const FIRST_MAP_BYTES = 16_777_216
/** Pages that a write touches beside its own bytes. */
const SPARE_BYTES = 65_536
/** Source: LMDB mdb.c, `MDB_MAGIC`, little-endian, behind the page header of lmdb-js' data version. */
const MAGIC = Buffer.from([0xde, 0xc0, 0xef, 0xbe])
const MAGIC_AT = 24
/** What lmdb says of a file that holds nonsense. */
const DAMAGE = /MDB_(CORRUPTED|PAGE_NOTFOUND|PAGE_FULL|INVALID|PANIC|CURSOR_FULL)/
/** Visible when it returns; the system writes it to disk later: a copy that a power cut met is made anew. */
const UNFLUSHED = TransactionFlags.ABORTABLE | TransactionFlags.SYNCHRONOUS_COMMIT
const NO_FLUSH = UNFLUSHED | TransactionFlags.NO_SYNC_FLUSH

/** The last changelog record that a copy holds; the log's own time tells it from one of another log. */
export interface Mark {
  readonly offset: number
  readonly timestampMs: number
}

/** What a copy takes over; `value: null` removes the key. */
export type CopyChange = Pick<StateChange, 'key' | 'value'>

/** One lane's store on the local disk: all of its changelog up to a mark, and nothing beyond. */
export interface LaneCopy extends LaneState {
  /** null: the copy is empty or nobody knows where it stands. */
  mark(): Mark | null
  /** Takes changes and the place they lead to, whole or not at all. Throws `Outage`. */
  apply(changes: readonly CopyChange[], mark: Mark | null): void
  /** Empties the copy. */
  clear(): void
  close(): Promise<void>
}

/** Where a copy lies and what it is a copy of. */
export interface CopyPlan {
  /** Folder of this copy alone. */
  readonly path: string
  readonly mapSizeBytes: number
  /** Name of the changelog that no other log bears: cluster, topic, partition. */
  readonly log: string
}

interface Head {
  readonly format: number
  readonly log: string
  /** The newest holder; an older one must not write any more. */
  readonly holder: string
  readonly mark: Mark | null
}

type Store = RootDatabase<Buffer, Buffer>

const HEAD = Buffer.from([0])
const stateKey = (key: string): Buffer => Buffer.concat([Buffer.from([1]), Buffer.from(key)])

/**
 * Opens a copy and becomes its holder: whoever held it before, in this process or another, can no longer write to it.
 * A copy that is damaged, of another layout or of another log comes back empty.
 */
export const openLaneCopy = (plan: CopyPlan): LaneCopy => {
  const { path, mapSizeBytes, log } = plan
  const holder = randomUUID()
  const root = openSound(path)
  let damaged = false
  const failure = (error: unknown): Outage => {
    if (error instanceof Outage) return error
    damaged ||= error instanceof Error && DAMAGE.test(error.message)
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
    const whole = !damaged && flushed(root, holder)
    await root.close()
    if (damaged) rmSync(path, { recursive: true, force: true })
    else if (whole) rmSync(join(path, HELD), { force: true })
  }
  const write = (work: () => void, mark: Mark | null): void =>
    guarded(() =>
      inTransaction(
        root,
        () => {
          if (headOf(root)?.holder !== holder) throw new Outage('bus', `${path} has another holder`)
          work()
          putHead(root, { format: FORMAT, log, holder, mark })
        },
        NO_FLUSH,
      ),
    )
  try {
    guarded(() => inTransaction(root, () => take(root, log, holder), NO_FLUSH))
  } catch (error) {
    void close()
    throw error
  }
  return {
    get: (key) => guarded(() => root.get(stateKey(key))),
    *entries(prefix = '') {
      try {
        const range = root.getRange({ start: stateKey(prefix), end: after(prefix) })
        for (const { key, value } of range) yield [key.toString('utf8', 1), value] as const
      } catch (error) {
        throw failure(error)
      }
    },
    mark: () => guarded(() => headOf(root)?.mark ?? null),
    clear: () => write(() => root.clearSync(), null),
    apply: (changes, mark) => {
      if (usedBytes([root]) + bytesOf(changes) > mapSizeBytes) {
        throw new Outage('disk', `${path} is full: ${mapSizeBytes} bytes`, { final: true })
      }
      write(() => {
        for (const { key, value } of changes) {
          if (value === null) root.removeSync(stateKey(key))
          else
            root.putSync(
              stateKey(key),
              Buffer.from(value.buffer, value.byteOffset, value.byteLength),
            )
        }
      }, mark)
    },
    close,
  }
}

/** Becomes the holder; what is not a copy of this log is emptied. */
const take = (root: Store, log: string, holder: string): void => {
  const held = headOf(root)
  const ours = held?.format === FORMAT && held.log === log
  if (!ours) root.clearSync()
  putHead(root, { format: FORMAT, log, holder, mark: ours ? held.mark : null })
}

/** The first key behind all that begin with the prefix; UTF-8 has no byte 255 that could overflow. */
const after = (prefix: string): Buffer => {
  const key = stateKey(prefix)
  key[key.length - 1] = (key.at(-1) ?? 0) + 1
  return key
}

const bytesOf = (changes: readonly CopyChange[]): number =>
  changes.reduce(
    (sum, { key, value }) => sum + 64 + key.length + (value?.byteLength ?? 0),
    SPARE_BYTES,
  )

const putHead = (root: Store, head: Head): void => {
  root.putSync(HEAD, Buffer.from(JSON.stringify(head)))
}

const headOf = (root: Store): Head | undefined => {
  const bytes = root.get(HEAD)
  try {
    return bytes && (JSON.parse(bytes.toString('utf8')) as Head)
  } catch {
    return undefined
  }
}

/** Writes out what the system still holds; false when that failed, or another one holds the copy now. */
const flushed = (root: Store, holder: string): boolean => {
  try {
    return inTransaction(root, () => {
      const head = headOf(root)
      if (head?.holder !== holder) return false
      putHead(root, head)
      return true
    })
  } catch {
    return false
  }
}

/** Stands beside a copy while it is open, and names the system's start: one of an earlier start met a power cut. */
const HELD = 'held'

/** Opens the folder; what lmdb could not read without ending the process is removed first. */
const openSound = (path: string): Store => {
  const file = join(path, 'data.mdb')
  if (existsSync(file) && (!hasMagic(file) || wasCutOff(path))) {
    rmSync(path, { recursive: true, force: true })
  }
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, HELD), bootId() ?? '', { flush: true })
  const first = openStore(path)
  if (!isCut(first, file)) return first
  first.close()
  rmSync(file)
  return openStore(path)
}

const wasCutOff = (path: string): boolean => {
  const held = join(path, HELD)
  if (!existsSync(held)) return false
  const boot = bootId()
  return boot === undefined || readFileSync(held, 'utf8') !== boot
}

const openStore = (path: string): Store =>
  open<Buffer, Buffer>({
    path,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    mapSize: FIRST_MAP_BYTES,
    overlappingSync: false,
  })

const hasMagic = (file: string): boolean => {
  const bytes = Buffer.alloc(MAGIC.length)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, bytes, 0, bytes.length, MAGIC_AT)
  } finally {
    closeSync(handle)
  }
  return bytes.equals(MAGIC)
}

const isCut = (root: Store, file: string): boolean => {
  const { pageSize, lastPageNumber } = root.getStats() as {
    readonly pageSize: number
    readonly lastPageNumber: number
  }
  return statSync(file).size < pageSize * lastPageNumber
}
