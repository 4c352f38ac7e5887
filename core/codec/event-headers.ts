import { eventFields } from '../../schemas/expand.ts'
import type { Block, DApp, EventMeta, Transaction } from '../../schemas/wire.ts'
import { Malformed } from '../errors.ts'

/**
 * Heads of events on the wire. Events of one record share their block and often their transactions and programs. A record carries
 * each of them once and its events hold places in these tables; in memory an event holds the object itself.
 */
export interface Heads {
  /** The value as the wire has it. Fields that are left out stay so. */
  pack(value: unknown): unknown
  /** The inverse, of a whole value; events of one record share their heads. Throws `Malformed` for a place that does not exist. */
  unpack(value: unknown): unknown
}

type Fields = Readonly<Record<string, unknown>>

/** No head. */
const NONE = -1
/** Place of the block that `meta` names; `blocks[n]` is at n + 1. */
const OWN_BLOCK = 0

/** How an event's heads are named in memory, on the wire, and the table that they lie in. */
const BLOCK = { field: 'block', index: 'block_index' }
const TABLES = [
  { field: 'transaction', index: 'transaction_index', table: 'transactions' },
  { field: 'd_app', index: 'd_app_index', table: 'd_apps' },
] as const

/** What a message of such events is made of. */
interface Message {
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

const areEqual = (one: Fields, other: Fields): boolean => {
  if (one === other) return true
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
  )
}

/** A table that grows as events name its entries: the object that was named last is found at once, others by what they hold. */
const makeTable = (keyOf: (entry: Fields) => unknown) => {
  const entries: Fields[] = []
  const places = new Map<unknown, number[]>()
  let last: { readonly entry: unknown; readonly place: number } = { entry: null, place: NONE }
  const find = (entry: Fields): number => {
    const key = keyOf(entry)
    const list = places.get(key)
    const known = list?.find((place) => areEqual(entries[place] ?? {}, entry))
    if (known !== undefined) return known
    entries.push(entry)
    const place = entries.length - 1
    if (list === undefined) places.set(key, [place])
    else list.push(place)
    return place
  }
  return {
    entries,
    placeOf: (entry: unknown): number => {
      if (entry === null || entry === undefined) return NONE
      if (entry !== last.entry) last = { entry, place: find(entry as Fields) }
      return last.place
    },
  }
}

/** The block that `meta` and the record's `block_height` name; 0 stands for the height of `meta`. */
const ownBlock = (meta: Partial<EventMeta> | null | undefined, height: number): Block => ({
  timestamp: meta?.block_time ?? 0,
  hash: meta?.hash ?? '',
  height: height === 0 ? (meta?.height ?? 0) : height,
  slot: meta?.slot ?? 0,
})

const isBlock = (block: Fields, own: Block): boolean =>
  (block.timestamp ?? 0) === own.timestamp &&
  (block.hash ?? '') === own.hash &&
  (block.height ?? 0) === own.height &&
  (block.slot ?? 0) === own.slot

/** Places of events in the tables of one record. */
const makeTables = ({ meta, events = [] }: Message) => {
  const first = events.find(({ block }) => block !== null && block !== undefined)?.block
  const told = Number((first as Fields | undefined)?.height ?? 0)
  const isOwn = first !== undefined && isBlock(first as Fields, ownBlock(meta, told))
  const height = isOwn && told !== (meta?.height ?? 0) ? told : 0
  const own = ownBlock(meta, height)
  const blocks = makeTable(({ hash }) => hash)
  let seen: unknown = null
  return {
    height,
    blocks,
    transactions: makeTable(({ signature }) => signature),
    d_apps: makeTable(({ program_address }) => program_address),
    blockOf: (block: unknown): number => {
      if (block === null || block === undefined) return NONE
      if (block === seen) return OWN_BLOCK
      if (!isBlock(block as Fields, own)) return blocks.placeOf(block) + 1
      seen = block
      return OWN_BLOCK
    },
  }
}

type Tables = ReturnType<typeof makeTables>

/** How one field of an event is written. */
const writerOf = (name: string): ((event: Fields, tables: Tables) => unknown) => {
  if (name === BLOCK.index) return (event, { blockOf }) => blockOf(event.block)
  const head = TABLES.find(({ index }) => index === name)
  if (head === undefined) return (event) => event[name]
  const { field, table } = head
  return (event, tables) => tables[table].placeOf(event[field])
}

/** How one field of an event is read: its name in memory and its value. */
const readerOf = (
  name: string,
): {
  readonly field: string
  readonly read: (event: Fields, message: WireMessage, own: Block) => unknown
} => {
  if (name === BLOCK.index) {
    return {
      field: BLOCK.field,
      read: (event, { blocks }, own) => {
        const place = Number(event[name])
        return place === OWN_BLOCK ? own : entryAt(blocks, place < 0 ? place : place - 1, name)
      },
    }
  }
  const head = TABLES.find(({ index }) => index === name)
  if (head === undefined) return { field: name, read: (event) => event[name] }
  return {
    field: head.field,
    read: (event, message) => entryAt(message[head.table], Number(event[name]), name),
  }
}

const entryAt = (table: readonly unknown[], place: number, name: string): unknown => {
  if (place === NONE) return null
  const entry = table[place]
  if (entry === undefined) {
    throw new Malformed('bad-reference', `${name} ${place}: the record has ${table.length} of them`)
  }
  return entry
}

/** How heads of a message are written and read; undefined for messages whose events share none. */
export const headsOf = (message: string): Heads | undefined => {
  const names = eventFields(message)
  if (names === undefined) return undefined
  const writers = names.map((name) => ({ name, write: writerOf(name) }))
  const readers = names.map(readerOf)
  return {
    pack: (value) => {
      const logical = value as Message
      const tables = makeTables(logical)
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
      const own = ownBlock(wire.meta, wire.block_height)
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
