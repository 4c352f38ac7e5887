import { LRUCache } from 'lru-cache'
import type { StageState } from './stage.ts'

/** Which block wrote something. */
interface BlockRef {
  readonly hash: string
  readonly height: number
  readonly timeMs: number
}

/** What one unfinalized block wrote. */
interface BlockWrites<Value> extends BlockRef {
  /** null: the key is gone. */
  readonly values: ReadonlyMap<string, Value | null>
}

/** The same with whatever else must be kept for it. */
interface UnfinalizedBlock<Value, Extra> extends BlockWrites<Value> {
  readonly extra: Extra
}

/**
 * Latest value per key over final and unfinalized blocks: final values in one map, each unfinalized block apart, so that
 * a retraction drops exactly what its block wrote. Values must survive JSON. What is kept beside them
 * is asked for by retractions only, so it lies in the state and not in memory.
 */
export interface VersionedStore<Value, Extra> {
  get(key: string): Value | undefined
  /** Keys with this prefix and their values, in no order. Looks at every unfinalized key: for rare use. */
  entries(prefix: string): Iterable<readonly [key: string, value: Value]>
  /** Writes what a block did; one call per block. */
  apply(block: UnfinalizedBlock<Value, Extra>): void
  /** What was kept beside a block that is not final. */
  extra(hash: string): Extra | undefined
  /** Takes the block back; undefined when it is not known. */
  revert(hash: string): UnfinalizedBlock<Value, Extra> | undefined
  /** Merges blocks up to this height into the final values; returns the newest of them. */
  finalize(height: number): BlockWrites<Value> | undefined
  /** Changed state entries since the last call. */
  changes(): readonly (readonly [string, string | null])[]
}

const FINAL_PREFIX = 'b/'
const UNFINALIZED_PREFIX = 'h/'
/** Final values held in memory beside those of the log's own store. */
const MAX_CACHED_VALUES = 16_384

/** A retraction asks for what is kept, and takes the block back after that: it is read and parsed once. */
const createExtraReader = <Extra>(read: (hash: string) => string | undefined) => {
  let asked: { readonly hash: string; readonly extra: Extra } | undefined
  return {
    of: (hash: string): Extra => {
      if (asked?.hash === hash) return asked.extra
      const text = read(hash)
      if (text === undefined) throw new Error(`the state of unfinalized block ${hash} is missing`)
      const { extra }: { readonly extra: Extra } = JSON.parse(text)
      asked = { hash, extra }
      return extra
    },
    clearCache: (): void => {
      asked = undefined
    },
  }
}

/** Unfinalized values: per key what each block wrote, oldest first, so that no block looks at the others'. */
const createUnfinalizedValues = <Value>() => {
  const byKey = new Map<string, { readonly hash: string; readonly value: Value | null }[]>()
  return {
    /** undefined: no unfinalized block wrote the key. */
    newest: (key: string): Value | null | undefined => byKey.get(key)?.at(-1)?.value,
    keys: (): Iterable<string> => byKey.keys(),
    add: ({ hash, values }: BlockWrites<Value>): void => {
      for (const [key, value] of values) {
        const list = byKey.get(key)
        if (list === undefined) byKey.set(key, [{ hash, value }])
        else list.push({ hash, value })
      }
    },
    /** A block that becomes final is the oldest of each key, one that is taken back the newest. */
    remove: ({ hash, values }: BlockWrites<Value>): void => {
      for (const key of values.keys()) {
        const list = byKey.get(key) ?? []
        const index = list.findIndex((one) => one.hash === hash)
        if (index !== -1) list.splice(index, 1)
        if (list.length === 0) byKey.delete(key)
      }
    },
  }
}

/** Final values: those of the log's own store, and above them what no flush has handed out yet. */
const createFinalValues = <Value extends object>(state: StageState) => {
  // Bounded by size, not by count: for a count the cache makes room for all of them at once.
  const cached = new LRUCache<string, Value>({
    maxSize: MAX_CACHED_VALUES,
    sizeCalculation: () => 1,
  })
  const unsaved = new Map<string, Value | null>()
  return {
    get: (key: string): Value | undefined => {
      const held = unsaved.has(key) ? unsaved.get(key) : cached.get(key)
      if (held !== undefined) return held ?? undefined
      const text = state.get(FINAL_PREFIX + key)
      if (text === undefined) return undefined
      const value: Value = JSON.parse(text)
      cached.set(key, value)
      return value
    },
    set: (key: string, value: Value | null): void => {
      unsaved.set(key, value)
    },
    unsaved: (): Iterable<readonly [string, Value | null]> => unsaved,
    *saved(prefix: string): Iterable<readonly [string, string]> {
      for (const [key, text] of state.entries(FINAL_PREFIX + prefix))
        yield [key.slice(FINAL_PREFIX.length), text]
    },
    flush: (changed: Map<string, string | null>): void => {
      for (const [key, value] of unsaved) {
        if (value === null) cached.delete(key)
        else cached.set(key, value)
        changed.set(FINAL_PREFIX + key, value === null ? null : JSON.stringify(value))
      }
      unsaved.clear()
    },
  }
}

/** Opens the layers of a state that `changes` wrote; entries under other prefixes are left alone. */
export const createVersionedStore = <Value extends object, Extra>(
  state: StageState,
): VersionedStore<Value, Extra> => {
  const final = createFinalValues<Value>(state)
  const writings = createUnfinalizedValues<Value>()
  const changed = new Map<string, string | null>()
  /** Blocks that no flush has handed out yet: one that is final by then, or taken back, never is. */
  const unwritten = new Map<string, UnfinalizedBlock<Value, Extra>>()
  /** Unfinalized blocks by hash, in chain order. */
  const unfinalized = new Map<string, BlockWrites<Value>>()
  const keep = ({ hash, height, timeMs, values }: BlockWrites<Value>): void => {
    const block = { hash, height, timeMs, values }
    unfinalized.set(hash, block)
    writings.add(block)
  }
  const drop = (block: BlockWrites<Value>): void => {
    unfinalized.delete(block.hash)
    if (!unwritten.delete(block.hash)) changed.set(UNFINALIZED_PREFIX + block.hash, null)
    writings.remove(block)
  }
  const stored = createExtraReader<Extra>((hash) => state.get(UNFINALIZED_PREFIX + hash))
  const extraOf = (hash: string): Extra => {
    const block = unwritten.get(hash)
    return block === undefined ? stored.of(hash) : block.extra
  }
  const found: BlockWrites<Value>[] = []
  for (const [, text] of state.entries(UNFINALIZED_PREFIX)) {
    const parsed = JSON.parse(text)
    found.push({ ...parsed, values: new Map(parsed.values) })
  }
  for (const block of found.toSorted((one, other) => one.height - other.height)) keep(block)
  return {
    get: (key) => {
      const held = writings.newest(key)
      return held === undefined ? final.get(key) : (held ?? undefined)
    },
    *entries(prefix) {
      const newer = new Map<string, Value | null>()
      for (const [key, value] of final.unsaved()) {
        if (key.startsWith(prefix)) newer.set(key, value)
      }
      for (const key of writings.keys()) {
        if (key.startsWith(prefix)) newer.set(key, writings.newest(key) ?? null)
      }
      for (const [key, value] of newer) if (value !== null) yield [key, value] as const
      for (const [key, text] of final.saved(prefix)) {
        if (!newer.has(key)) yield [key, JSON.parse(text)] as const
      }
    },
    apply: (block) => {
      stored.clearCache()
      keep(block)
      unwritten.set(block.hash, block)
    },
    extra: (hash) => (unfinalized.has(hash) ? extraOf(hash) : undefined),
    revert: (hash) => {
      const block = unfinalized.get(hash)
      if (block === undefined) return undefined
      const extra = extraOf(hash)
      stored.clearCache()
      drop(block)
      return { ...block, extra }
    },
    finalize: (height) => {
      stored.clearCache()
      let newest: BlockWrites<Value> | undefined
      for (const block of unfinalized.values()) {
        if (block.height > height) break
        for (const [key, value] of block.values) final.set(key, value)
        drop(block)
        newest = block
      }
      return newest
    },
    changes: () => {
      final.flush(changed)
      for (const block of unwritten.values()) {
        changed.set(
          UNFINALIZED_PREFIX + block.hash,
          JSON.stringify({ ...block, values: [...block.values] }),
        )
      }
      unwritten.clear()
      const list = [...changed]
      changed.clear()
      return list
    },
  }
}
