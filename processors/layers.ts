import { LRUCache } from 'lru-cache'
import type { StageState } from './stage.ts'

/** Which block wrote something. */
interface Writing {
  readonly hash: string
  readonly height: number
  readonly timeMs: number
}

/** What one unfinalized block wrote. */
interface Written<Value> extends Writing {
  /** null: the key is gone. */
  readonly values: ReadonlyMap<string, Value | null>
}

/** The same with whatever else must be kept for it. */
interface HotBlock<Value, Extra> extends Written<Value> {
  readonly extra: Extra
}

/**
 * Latest value per key over final and unfinalized blocks: final values in one map, each unfinalized block apart, so that
 * a retraction drops exactly what its block wrote (contract/kafka.md 3.8). Values must survive JSON. What is kept beside them
 * is asked for by retractions only, so it lies in the state and not in memory.
 */
export interface Layers<Value, Extra> {
  get(key: string): Value | undefined
  /** Keys with this prefix and their values, in no order. Looks at every unfinalized key: for rare use. */
  entries(prefix: string): Iterable<readonly [key: string, value: Value]>
  /** Writes what a block did; one call per block. */
  apply(block: HotBlock<Value, Extra>): void
  /** What was kept beside a block that is not final. */
  extra(hash: string): Extra | undefined
  /** Takes the block back; undefined when it is not known. */
  revert(hash: string): HotBlock<Value, Extra> | undefined
  /** Merges blocks up to this height into the final values; returns the newest of them. */
  finalize(height: number): Written<Value> | undefined
  /** Changed state entries since the last call. */
  changes(): readonly (readonly [string, string | null])[]
}

const BASE = 'b/'
const HOT = 'h/'
/** Final values held in memory beside those of the log's own store. */
const CACHED = 16_384

/** A retraction asks for what is kept, and takes the block back after that: it is read and parsed once. */
const extraReader = <Extra>(read: (hash: string) => string | null | undefined) => {
  let asked: { readonly hash: string; readonly extra: Extra } | undefined
  return {
    of: (hash: string): Extra => {
      if (asked?.hash === hash) return asked.extra
      const text = read(hash)
      if (typeof text !== 'string') throw new Error(`what was kept for block ${hash} is gone`)
      const { extra }: { readonly extra: Extra } = JSON.parse(text)
      asked = { hash, extra }
      return extra
    },
    forget: (): void => {
      asked = undefined
    },
  }
}

/** Opens the layers of a state that `changes` wrote; entries under other prefixes are left alone. */
export const makeLayers = <Value extends object, Extra>(
  state: StageState,
): Layers<Value, Extra> => {
  const cached = new LRUCache<string, Value>({ max: CACHED })
  /** Final values that no flush has handed out yet. */
  const unsaved = new Map<string, Value | null>()
  /** Newest unfinalized value per key. */
  const latest = new Map<string, Value | null>()
  const changed = new Map<string, string | null>()
  let hot: Written<Value>[] = []
  const final = (key: string): Value | undefined => {
    const held = unsaved.has(key) ? unsaved.get(key) : cached.get(key)
    if (held !== undefined) return held ?? undefined
    const text = state.get(BASE + key)
    if (text === undefined) return undefined
    const value: Value = JSON.parse(text)
    cached.set(key, value)
    return value
  }
  const keep = ({ hash, height, timeMs, values }: Written<Value>): void => {
    hot.push({ hash, height, timeMs, values })
    for (const [key, value] of values) latest.set(key, value)
  }
  const extras = extraReader<Extra>((hash) => changed.get(HOT + hash) ?? state.get(HOT + hash))
  const restore = (key: string): void => {
    const before = hot.findLast(({ values }) => values.has(key))?.values.get(key)
    if (before === undefined) latest.delete(key)
    else latest.set(key, before)
  }
  const found: Written<Value>[] = []
  for (const [, text] of state.entries(HOT)) {
    const parsed = JSON.parse(text)
    found.push({ ...parsed, values: new Map(parsed.values) })
  }
  for (const block of found.toSorted((one, other) => one.height - other.height)) keep(block)
  return {
    get: (key) => {
      const held = latest.get(key)
      return held === undefined ? final(key) : (held ?? undefined)
    },
    *entries(prefix) {
      const newer = new Map<string, Value | null>()
      for (const values of [unsaved, latest]) {
        for (const [key, value] of values) if (key.startsWith(prefix)) newer.set(key, value)
      }
      for (const [key, value] of newer) if (value !== null) yield [key, value] as const
      for (const [key, text] of state.entries(BASE + prefix)) {
        const name = key.slice(BASE.length)
        if (!newer.has(name)) yield [name, JSON.parse(text)] as const
      }
    },
    apply: (block) => {
      extras.forget()
      keep(block)
      changed.set(HOT + block.hash, JSON.stringify({ ...block, values: [...block.values] }))
    },
    extra: (hash) => (hot.some((one) => one.hash === hash) ? extras.of(hash) : undefined),
    revert: (hash) => {
      const block = hot.find((one) => one.hash === hash)
      if (block === undefined) return undefined
      const extra = extras.of(hash)
      extras.forget()
      hot = hot.filter((one) => one !== block)
      changed.set(HOT + hash, null)
      for (const key of block.values.keys()) restore(key)
      return { ...block, extra }
    },
    finalize: (height) => {
      extras.forget()
      const done = hot.filter((block) => block.height <= height)
      hot = hot.filter((block) => block.height > height)
      for (const block of done) {
        changed.set(HOT + block.hash, null)
        for (const [key, value] of block.values) unsaved.set(key, value)
      }
      for (const { values } of done) for (const key of values.keys()) restore(key)
      return done.at(-1)
    },
    changes: () => {
      for (const [key, value] of unsaved) {
        if (value === null) cached.delete(key)
        else cached.set(key, value)
        changed.set(BASE + key, value === null ? null : JSON.stringify(value))
      }
      unsaved.clear()
      const list = [...changed]
      changed.clear()
      return list
    },
  }
}
