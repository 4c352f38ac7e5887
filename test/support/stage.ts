import type { StageState } from '../../processors/stage.ts'

/** A stage's state as earlier flushes wrote it; a map is read as it then stands. */
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
      const found = [...map].filter(([key]) => key.startsWith(prefix))
      yield* found.sort(([one], [other]) => (one < other ? -1 : 1))
    },
  }
}
