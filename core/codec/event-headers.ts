import { eventWireFields } from '../../schemas/avro-schema.ts'
import type { Block, DApp, EventMeta, Transaction } from '../../schemas/wire.ts'
import { InvalidInput } from '../errors.ts'

/**
 * Heads of events on the wire. Events of one record share their block and often their transactions and programs. A record carries
 * each of them once and its events hold indexes of these tables; in memory an event holds the object itself.
 */
export interface EventHeaderCodec {
  /** The value as the wire has it. Fields that are left out stay so. */
  pack(value: unknown): unknown
  /** The inverse, of a whole value; events of one record share their heads. Throws `InvalidInput` for an index that does not exist. */
  unpack(value: unknown): unknown
}

type Fields = Readonly<Record<string, unknown>>

/** No head. */
const NO_INDEX = -1
/** Index of the block that `meta` names; `blocks[n]` is at n + 1. */
const META_BLOCK_INDEX = 0

/** How an event's heads are named in memory, on the wire, and the table that they lie in. */
const BLOCK_HEADER = { field: 'block', index: 'block_index' }
const HEADER_TABLES = [
  { field: 'transaction', index: 'transaction_index', table: 'transactions' },
  { field: 'd_app', index: 'd_app_index', table: 'd_apps' },
] as const

/** What a message of such events is made of. */
interface LogicalMessage {
  readonly meta?: Partial<EventMeta> | null
  readonly events?: readonly Fields[]
}

interface WireMessage {
  readonly meta: EventMeta | null
  readonly block_height: number
  readonly blocks: readonly Block[]
  readonly transactions: readonly Transaction[]
  readonly d_apps: readonly DApp[]
  readonly events: readonly Fields[]
}

const areEqualFields = (one: Fields, other: Fields): boolean => {
  if (one === other) return true
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
  )
}

/** A table that grows as events name its entries: the object that was named last is found at once, others by what they hold. */
const makeHeaderTable = (keyOf: (entry: Fields) => unknown) => {
  const entries: Fields[] = []
  const indexes = new Map<unknown, number[]>()
  let last: { readonly entry: unknown; readonly index: number } = { entry: null, index: NO_INDEX }
  const find = (entry: Fields): number => {
    const key = keyOf(entry)
    const list = indexes.get(key)
    const known = list?.find((index) => areEqualFields(entries[index] ?? {}, entry))
    if (known !== undefined) return known
    entries.push(entry)
    const index = entries.length - 1
    if (list === undefined) indexes.set(key, [index])
    else list.push(index)
    return index
  }
  return {
    entries,
    indexOf: (entry: unknown): number => {
      if (entry === null || entry === undefined) return NO_INDEX
      if (entry !== last.entry) last = { entry, index: find(entry as Fields) }
      return last.index
    },
  }
}

/** The block that `meta` and the record's `block_height` name; 0 stands for the height of `meta`. */
const blockOfMeta = (meta: Partial<EventMeta> | null | undefined, height: number): Block => ({
  timestamp: meta?.block_time ?? 0,
  hash: meta?.hash ?? '',
  height: height === 0 ? (meta?.height ?? 0) : height,
  slot: meta?.slot ?? 0,
})

const equalsBlock = (block: Fields, own: Block): boolean =>
  (block.timestamp ?? 0) === own.timestamp &&
  (block.hash ?? '') === own.hash &&
  (block.height ?? 0) === own.height &&
  (block.slot ?? 0) === own.slot

/** Indexes of events in the tables of one record. */
const makeHeaderTables = ({ meta, events = [] }: LogicalMessage) => {
  const first = events.find(({ block }) => block !== null && block !== undefined)?.block
  const statedHeight = Number((first as Fields | undefined)?.height ?? 0)
  const isOwn = first !== undefined && equalsBlock(first as Fields, blockOfMeta(meta, statedHeight))
  const height = isOwn && statedHeight !== (meta?.height ?? 0) ? statedHeight : 0
  const own = blockOfMeta(meta, height)
  const blocks = makeHeaderTable(({ hash }) => hash)
  let seen: unknown = null
  return {
    height,
    blocks,
    transactions: makeHeaderTable(({ signature }) => signature),
    d_apps: makeHeaderTable(({ program_address }) => program_address),
    blockOf: (block: unknown): number => {
      if (block === null || block === undefined) return NO_INDEX
      if (block === seen) return META_BLOCK_INDEX
      if (!equalsBlock(block as Fields, own)) return blocks.indexOf(block) + 1
      seen = block
      return META_BLOCK_INDEX
    },
  }
}

type HeaderTables = ReturnType<typeof makeHeaderTables>

/** How one field of an event is written. */
const fieldWriter = (name: string): ((event: Fields, tables: HeaderTables) => unknown) => {
  if (name === BLOCK_HEADER.index) return (event, { blockOf }) => blockOf(event.block)
  const head = HEADER_TABLES.find(({ index }) => index === name)
  if (head === undefined) return (event) => event[name]
  const { field, table } = head
  return (event, tables) => tables[table].indexOf(event[field])
}

/** How one field of an event is read: its name in memory and its value. */
const fieldReader = (
  name: string,
): {
  readonly field: string
  readonly read: (event: Fields, message: WireMessage, own: Block) => unknown
} => {
  if (name === BLOCK_HEADER.index) {
    return {
      field: BLOCK_HEADER.field,
      read: (event, { blocks }, own) => {
        const index = Number(event[name])
        return index === META_BLOCK_INDEX
          ? own
          : headerAt(blocks, index < 0 ? index : index - 1, name)
      },
    }
  }
  const head = HEADER_TABLES.find(({ index }) => index === name)
  if (head === undefined) return { field: name, read: (event) => event[name] }
  return {
    field: head.field,
    read: (event, message) => headerAt(message[head.table], Number(event[name]), name),
  }
}

const headerAt = (table: readonly unknown[], index: number, name: string): unknown => {
  if (index === NO_INDEX) return null
  const entry = table[index]
  if (entry === undefined) {
    throw new InvalidInput(
      'bad-reference',
      `${name} ${index}: the record has ${table.length} of them`,
    )
  }
  return entry
}

/** How heads of a message are written and read; undefined for messages whose events share none. */
export const eventHeaderCodec = (message: string): EventHeaderCodec | undefined => {
  const names = eventWireFields(message)
  if (names === undefined) return undefined
  const writers = names.map((name) => ({ name, write: fieldWriter(name) }))
  const readers = names.map(fieldReader)
  return {
    pack: (value) => {
      const logical = value as LogicalMessage
      const tables = makeHeaderTables(logical)
      const events = logical.events?.map((event) => {
        const out: Record<string, unknown> = {}
        for (const { name, write } of writers) out[name] = write(event, tables)
        return out
      })
      return {
        meta: logical.meta,
        block_height: tables.height,
        blocks: tables.blocks.entries,
        transactions: tables.transactions.entries,
        d_apps: tables.d_apps.entries,
        events,
      }
    },
    unpack: (value) => {
      const wire = value as WireMessage
      const own = blockOfMeta(wire.meta, wire.block_height)
      return {
        meta: wire.meta,
        events: wire.events.map((event) => {
          const out: Record<string, unknown> = {}
          for (const { field, read } of readers) out[field] = read(event, wire, own)
          return out
        }),
      }
    },
  }
}
