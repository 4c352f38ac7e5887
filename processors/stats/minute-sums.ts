import {
  addSideTotals,
  EMPTY_SIDE,
  mergeBuckets,
  type PriceRange,
  type SideTotals,
  type StatsBucket,
} from './bucket.ts'
import type { PriorValues } from './windows.ts'

/** Sums of all minutes up to one, that one included. */
interface RunningTotals {
  readonly minute: number
  readonly buy: SideTotals
  readonly sell: SideTotals
}

interface MinuteValue<Value> {
  readonly minute: number
  readonly value: Value
}

const NO_TOTALS: Pick<RunningTotals, 'buy' | 'sell'> = { buy: EMPTY_SIDE, sell: EMPTY_SIDE }

/** Index of the first entry after this minute. Entries are in order. */
export const firstIndexAfter = (
  entries: readonly { readonly minute: number }[],
  minute: number,
): number => {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle]?.minute ?? 0) > minute) high = middle
    else low = middle + 1
  }
  return low
}

const dropUpTo = (entries: { readonly minute: number }[], upTo: number): void => {
  const count = firstIndexAfter(entries, upTo)
  if (count > 0) entries.splice(0, count)
}

const subtractSideTotals = (later: SideTotals, earlier: SideTotals): SideTotals => ({
  count: later.count - earlier.count,
  raw: later.raw - earlier.raw,
  usdRaw: later.usdRaw - earlier.usdRaw,
  nativeRaw: later.nativeRaw - earlier.nativeRaw,
})

/**
 * Prices by minute. The largest price from a minute on is the first of a list that holds only those that no later price reaches;
 * the smallest likewise.
 */
class PriceSeries {
  readonly #spans: MinuteValue<PriceRange>[] = []
  readonly #highs: MinuteValue<number>[] = []
  readonly #lows: MinuteValue<number>[] = []

  /** The newest minute's span as it stands now: it takes the place of what was there of the same minute. */
  set(minute: number, span: PriceRange): void {
    if (this.#spans.at(-1)?.minute === minute) this.#spans.pop()
    this.#spans.push({ minute, value: span })
    const { high, low } = span
    while ((this.#highs.at(-1)?.value ?? Number.POSITIVE_INFINITY) <= high) this.#highs.pop()
    while ((this.#lows.at(-1)?.value ?? Number.NEGATIVE_INFINITY) >= low) this.#lows.pop()
    this.#highs.push({ minute, value: high })
    this.#lows.push({ minute, value: low })
  }

  /** All minutes after this one; null = none has a price. */
  after(minute: number): PriceRange | null {
    const [first, last] = [this.#spans[firstIndexAfter(this.#spans, minute)], this.#spans.at(-1)]
    const high = this.#highs[firstIndexAfter(this.#highs, minute)]
    const low = this.#lows[firstIndexAfter(this.#lows, minute)]
    if (!first || !last || !high || !low) return null
    return { open: first.value.open, close: last.value.close, high: high.value, low: low.value }
  }

  /** The newest price up to this minute; null = there is none. */
  upTo(minute: number): number | null {
    return this.#spans[firstIndexAfter(this.#spans, minute) - 1]?.value.close ?? null
  }

  drop(upTo: number): void {
    dropUpTo(this.#spans, upTo)
    dropUpTo(this.#highs, upTo)
    dropUpTo(this.#lows, upTo)
  }
}

/**
 * Trades of a token minute by minute, so that a window that ends with the newest of them costs the same however many minutes
 * it spans: sums are differences of running sums, and prices are looked up. Minutes come in order.
 */
export class MinuteSums {
  readonly #running: RunningTotals[] = []
  readonly #usd = new PriceSeries()
  readonly #native = new PriceSeries()
  readonly #liquidity: MinuteValue<number>[] = []
  /** Running sums of what was dropped. */
  #dropped = NO_TOTALS
  #last: StatsBucket | undefined

  /** The minutes that are held, oldest first. To be read only. */
  get minutes(): readonly { readonly minute: number }[] {
    return this.#running
  }

  /** The newest minute as a whole. */
  get last(): StatsBucket | undefined {
    return this.#last
  }

  /** Adds what came after everything that is held, in the newest minute or a later one. */
  append(bucket: StatsBucket): void {
    const { minute } = bucket
    const newest = this.#running.at(-1)
    const isSame = newest !== undefined && newest.minute === minute
    const joined = isSame && this.#last !== undefined ? mergeBuckets(this.#last, bucket) : bucket
    const before = newest ?? this.#dropped
    if (isSame) this.#running.pop()
    const [buy, sell] = [
      addSideTotals(before.buy, bucket.buy),
      addSideTotals(before.sell, bucket.sell),
    ]
    this.#running.push({ minute, buy, sell })
    this.#last = joined
    if (bucket.usd !== null && joined.usd !== null) this.#usd.set(minute, joined.usd)
    if (bucket.native !== null && joined.native !== null) this.#native.set(minute, joined.native)
    if (bucket.liquidityUsd === null) return
    if (this.#liquidity.at(-1)?.minute === minute) this.#liquidity.pop()
    this.#liquidity.push({ minute, value: bucket.liquidityUsd })
  }

  #upTo(minute: number): Pick<RunningTotals, 'buy' | 'sell'> {
    return this.#running[firstIndexAfter(this.#running, minute) - 1] ?? this.#dropped
  }

  /** Both sides of the minutes after `from` up to `to`. */
  between(from: number, to: number): { readonly buy: SideTotals; readonly sell: SideTotals } {
    const [later, earlier] = [this.#upTo(to), this.#upTo(from)]
    return {
      buy: subtractSideTotals(later.buy, earlier.buy),
      sell: subtractSideTotals(later.sell, earlier.sell),
    }
  }

  /** Prices of all minutes after this one. */
  pricesAfter(minute: number): {
    readonly usd: PriceRange | null
    readonly native: PriceRange | null
  } {
    return { usd: this.#usd.after(minute), native: this.#native.after(minute) }
  }

  /** Newest prices and liquidity up to a minute, else what was known before everything that is held. */
  newestUpTo(minute: number, earlier: PriorValues): PriorValues {
    const liquidity = this.#liquidity[firstIndexAfter(this.#liquidity, minute) - 1]
    return {
      usd: this.#usd.upTo(minute) ?? earlier.usd,
      native: this.#native.upTo(minute) ?? earlier.native,
      liquidityUsd: liquidity?.value ?? earlier.liquidityUsd,
    }
  }

  /** Forgets all minutes up to this one; returns them. */
  drop(upTo: number): readonly number[] {
    const count = firstIndexAfter(this.#running, upTo)
    if (count === 0) return []
    this.#dropped = this.#upTo(upTo)
    const minutes = this.#running.splice(0, count).map(({ minute }) => minute)
    this.#usd.drop(upTo)
    this.#native.drop(upTo)
    dropUpTo(this.#liquidity, upTo)
    if (this.#running.length > 0) return minutes
    this.#last = undefined
    this.#dropped = NO_TOTALS
    return minutes
  }
}
