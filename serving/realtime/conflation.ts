import type { Push } from './fanout.ts'

/** Buckets of one candle channel whose newest state is kept for a slow reader; the oldest beyond them is dropped. */
const MAX_BUCKETS = 8

/**
 * What a slow reader gets later of the channels that send latest values: the newest push of each facet, and of candles the newest of
 * each of the last buckets, so that the final state of a bucket is not replaced by the next bucket.
 */
export class ConflatedPushes {
  /** By literal name and facet, in the order of the last push; the pushes by the start of their bucket. */
  readonly #series = new Map<string, Map<number, Push>>()

  /** True where nothing waits. */
  get empty(): boolean {
    return this.#series.size === 0
  }

  /** True where something of the push's channel and facet waits. */
  has(push: Push): boolean {
    return this.#series.has(seriesKey(push))
  }

  put(push: Push): void {
    const key = seriesKey(push)
    const buckets = this.#series.get(key) ?? new Map<number, Push>()
    buckets.set(push.bucketMs, push)
    if (buckets.size > MAX_BUCKETS) buckets.delete(Math.min(...buckets.keys()))
    this.#series.delete(key)
    this.#series.set(key, buckets)
  }

  /** Takes the next push: series by series, oldest bucket first. */
  take(): Push | undefined {
    for (const [key, buckets] of this.#series) {
      const oldestMs = Math.min(...buckets.keys())
      const push = buckets.get(oldestMs)
      buckets.delete(oldestMs)
      if (buckets.size === 0) this.#series.delete(key)
      return push
    }
    return undefined
  }

  /** Drops what waits of a channel. */
  discard(literal: string): void {
    for (const [key, buckets] of this.#series) {
      const [push] = buckets.values()
      if (push?.literal === literal) this.#series.delete(key)
    }
  }

  clear(): void {
    this.#series.clear()
  }
}

const seriesKey = ({ literal, facet }: Push): string => `${literal}\n${facet}`
