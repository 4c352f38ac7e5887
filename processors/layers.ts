/** Which block wrote something. */
interface Writing {
  readonly hash: string
  readonly height: number
  readonly timeMs: number
}

/** What one unfinalized block wrote, with whatever else must be kept for it. */
interface HotBlock<Value, Extra> extends Writing {
  readonly values: ReadonlyMap<string, Value>
  readonly extra: Extra
}

/**
 * Latest value per key over final and unfinalized blocks: final values in one map, each unfinalized block apart, so that
 * a retraction drops exactly what its block wrote (contract/kafka.md 3.8). Values must survive JSON.
 */
export interface Layers<Value, Extra> {
  get(key: string): Value | undefined
  /** Writes what a block did; one call per block. */
  apply(block: HotBlock<Value, Extra>): void
  /** Takes the block back; undefined when it is not known. */
  revert(hash: string): HotBlock<Value, Extra> | undefined
  /** Merges blocks up to this height into the final values; returns the newest of them. */
  finalize(height: number): HotBlock<Value, Extra> | undefined
  /** Changed state entries since the last call. */
  changes(): readonly (readonly [string, string | null])[]
}

const BASE = 'b/'
const HOT = 'h/'

/** Loads the layers from the entries that `changes` gave before; entries under other prefixes are left alone. */
export const makeLayers = <Value, Extra>(
  entries: Iterable<readonly [string, string]>,
): Layers<Value, Extra> => {
  const base = new Map<string, Value>()
  const latest = new Map<string, Value>()
  const changed = new Map<string, string | null>()
  let hot: HotBlock<Value, Extra>[] = []
  const keep = (block: HotBlock<Value, Extra>): void => {
    hot.push(block)
    for (const [key, value] of block.values) latest.set(key, value)
  }
  const restore = (key: string): void => {
    const before = hot.findLast(({ values }) => values.has(key))?.values.get(key) ?? base.get(key)
    if (before === undefined) latest.delete(key)
    else latest.set(key, before)
  }
  const found: HotBlock<Value, Extra>[] = []
  for (const [key, text] of entries) {
    if (key.startsWith(BASE)) base.set(key.slice(BASE.length), JSON.parse(text))
    if (key.startsWith(HOT)) {
      const parsed = JSON.parse(text)
      found.push({ ...parsed, values: new Map(parsed.values) })
    }
  }
  for (const [key, value] of base) latest.set(key, value)
  for (const block of found.toSorted((one, other) => one.height - other.height)) keep(block)
  return {
    get: (key) => latest.get(key),
    apply: (block) => {
      keep(block)
      changed.set(HOT + block.hash, JSON.stringify({ ...block, values: [...block.values] }))
    },
    revert: (hash) => {
      const block = hot.find((one) => one.hash === hash)
      if (block === undefined) return undefined
      hot = hot.filter((one) => one !== block)
      changed.set(HOT + hash, null)
      for (const key of block.values.keys()) restore(key)
      return block
    },
    finalize: (height) => {
      const done = hot.filter((block) => block.height <= height)
      hot = hot.filter((block) => block.height > height)
      for (const block of done) {
        changed.set(HOT + block.hash, null)
        for (const [key, value] of block.values) {
          base.set(key, value)
          changed.set(BASE + key, JSON.stringify(value))
        }
      }
      return done.at(-1)
    },
    changes: () => {
      const list = [...changed]
      changed.clear()
      return list
    },
  }
}
