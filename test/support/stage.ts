import type { StageState } from '../../processors/stage.ts'

/** A stage's state as earlier flushes wrote it; entries may be a live map. */
export const stageState = (
  entries: Iterable<readonly [string, string]> = [],
): StageState & { readonly size: number } => {
  const map = entries instanceof Map ? entries : new Map(entries)
  return {
    get size() {
      return map.size
    },
    get: (key) => map.get(key),
    *entries(prefix) {
      for (const [key, value] of map) if (key.startsWith(prefix)) yield [key, value]
    },
  }
}
