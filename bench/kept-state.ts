import type { FlushResult, StageState } from '../processors/runtime/stage.ts'

/** First index whose key is not before `key`. */
const placeOf = (keys: readonly string[], key: string): number => {
  let [low, high] = [0, keys.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] ?? '') < key) low = middle + 1
    else high = middle
  }
  return low
}

/** Both lists of keys as one, in order; a key that is in both, or twice in one, is there once. */
const joined = (one: readonly string[], other: readonly string[]): string[] => {
  const keys: string[] = []
  let [left, right] = [0, 0]
  while (left < one.length || right < other.length) {
    const [a, b] = [one[left], other[right]]
    const key = b === undefined || (a !== undefined && a <= b) ? (a ?? '') : b
    if (key === a) left += 1
    else right += 1
    if (keys.at(-1) !== key) keys.push(key)
  }
  return keys
}

/** A stage's state that keeps what flushes give, its keys in order, as a lane's store does; only in memory. */
export class KeptState implements StageState {
  readonly #values = new Map<string, string>()
  #keys: string[] = []
  /** Keys that came since the keys were put in order. */
  #added: string[] = []
  #removed = false

  take({ changes }: FlushResult): void {
    for (const [key, value] of changes) {
      if (value === null) this.#removed = this.#values.delete(key) || this.#removed
      else {
        if (!this.#values.has(key)) this.#added.push(key)
        this.#values.set(key, value)
      }
    }
  }

  get(key: string): string | undefined {
    return this.#values.get(key)
  }

  *entries(prefix: string): Iterable<readonly [string, string]> {
    this.#order()
    for (let index = placeOf(this.#keys, prefix); index < this.#keys.length; index += 1) {
      const key = this.#keys[index] ?? ''
      if (!key.startsWith(prefix)) return
      yield [key, this.#values.get(key) ?? '']
    }
  }

  #order(): void {
    if (this.#removed) this.#keys = this.#keys.filter((key) => this.#values.has(key))
    if (this.#added.length > 0) {
      const added = this.#added.filter((key) => this.#values.has(key)).sort()
      this.#keys = joined(this.#keys, added)
    }
    this.#added = []
    this.#removed = false
  }
}
