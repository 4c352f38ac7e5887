import {
  addSideTotals,
  EMPTY_SIDE,
  mergePriceRanges,
  type PriceRange,
  type SideTotals,
  type StatsBucket,
  subtractSideTotals,
} from './bucket.ts'
import { firstIndexFrom } from './windows.ts'

/** Newest prices and liquidity at a time; null = unknown. */
export interface KnownValues {
  readonly usd: number | null
  readonly native: number | null
  readonly liquidityUsd: number | null
}

/** What is left of trades that are not held any more. */
export interface EarlierValues extends KnownValues {
  /** Second of the newest of them; null = there was none, or it was before this was recorded. */
  readonly second: number | null
}

/** Both sides. */
export interface TradeTotals {
  readonly buy: SideTotals
  readonly sell: SideTotals
}

/** Prices in both units; null = no trade has one. */
export interface PriceRanges {
  readonly usd: PriceRange | null
  readonly native: PriceRange | null
}

/** Trades of a second, or of some that were merged into their newest: sums of everything up to it, prices of its own. */
interface Cell extends TradeTotals, PriceRanges {
  readonly second: number
  readonly known: KnownValues
}

/** Cells in a row whose prices are kept as one, so that a span of thousands takes some 200 looks. */
const GROUP_CELLS = 64

const NO_TOTALS: TradeTotals = { buy: EMPTY_SIDE, sell: EMPTY_SIDE }
const NO_PRICES: PriceRanges = { usd: null, native: null }

/** The older prices with the newer behind them, in both units. */
export const joinPriceRanges = (older: PriceRanges, newer: PriceRanges): PriceRanges => ({
  usd: mergePriceRanges(older.usd, newer.usd),
  native: mergePriceRanges(older.native, newer.native),
})

/** Totals together. */
export const addTotals = (one: TradeTotals, other: TradeTotals): TradeTotals => ({
  buy: addSideTotals(one.buy, other.buy),
  sell: addSideTotals(one.sell, other.sell),
})

/**
 * Trades of a token second by second. What a span sums to is the difference of two running sums, so it costs the same however
 * many seconds it holds; what only windows with wider buckets still look at can be merged. Seconds come in order.
 */
export class TradeSums {
  readonly #cells: Cell[] = []
  /** Cells that are not held any more. */
  #gone = 0
  /** Prices of whole groups that were asked for, by the number of the group's first cell since the start. */
  readonly #groups = new Map<number, PriceRanges>()
  /** Running sums and newest values of what was dropped, or came before everything. */
  #dropped = NO_TOTALS
  #earlier: EarlierValues

  constructor(earlier: EarlierValues) {
    this.#earlier = earlier
  }

  /** What is held, oldest first. To be read only. */
  get cells(): readonly { readonly second: number }[] {
    return this.#cells
  }

  /** Newest prices and liquidity of before everything that is held, and when that ended. */
  get earlier(): EarlierValues {
    return this.#earlier
  }

  /** Behind everything that is held; what is at the newest second joins its cell. */
  append(bucket: StatsBucket): void {
    const newest = this.#cells.at(-1)
    const isSame = newest?.second === bucket.second
    const cell = this.#next(bucket, isSame ? newest : NO_PRICES)
    if (isSame) this.pop()
    this.#cells.push(cell)
  }

  /** Adds what came after everything that is held as a cell of its own. */
  push(bucket: StatsBucket): void {
    this.#cells.push(this.#next(bucket, NO_PRICES))
  }

  /** Takes back the newest cell. */
  pop(): void {
    this.#cells.pop()
    const number = this.#gone + this.#cells.length
    this.#groups.delete(number - (number % GROUP_CELLS))
  }

  #next(bucket: StatsBucket, older: PriceRanges): Cell {
    const before = this.#cells.at(-1)
    const known = before?.known ?? this.#earlier
    return {
      second: bucket.second,
      ...addTotals(before ?? this.#dropped, bucket),
      ...joinPriceRanges(older, bucket),
      known: {
        usd: bucket.usd?.close ?? known.usd,
        native: bucket.native?.close ?? known.native,
        liquidityUsd: bucket.liquidityUsd ?? known.liquidityUsd,
      },
    }
  }

  #before(second: number): Cell | undefined {
    return this.#cells[firstIndexFrom(this.#cells, second) - 1]
  }

  /** Both sides from a second on and before another. */
  totals(from: number, to: number): TradeTotals {
    const [later, earlier] = [
      this.#before(to) ?? this.#dropped,
      this.#before(from) ?? this.#dropped,
    ]
    return {
      buy: subtractSideTotals(later.buy, earlier.buy),
      sell: subtractSideTotals(later.sell, earlier.sell),
    }
  }

  /** Prices from a second on and before another. */
  prices(from: number, to: number): PriceRanges {
    const [first, end] = [firstIndexFrom(this.#cells, from), firstIndexFrom(this.#cells, to)]
    return { usd: this.#range('usd', first, end), native: this.#range('native', first, end) }
  }

  /** Of the cells of these indexes. They may be thousands, and this is asked for in each flush: it makes no object per cell. */
  #range(unit: 'usd' | 'native', first: number, end: number): PriceRange | null {
    let oldest: PriceRange | null = null
    let newest: PriceRange | null = null
    let [high, low] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
    let at = first
    while (at < end) {
      const isStart = (this.#gone + at) % GROUP_CELLS === 0
      const isGroup = isStart && at + GROUP_CELLS <= end && end - first > GROUP_CELLS
      const range = (isGroup ? this.#group(at) : this.#cells[at])?.[unit] ?? null
      at += isGroup ? GROUP_CELLS : 1
      if (range === null) continue
      oldest ??= range
      newest = range
      if (range.high > high) high = range.high
      if (range.low < low) low = range.low
    }
    return oldest === null || newest === null
      ? null
      : { open: oldest.open, close: newest.close, high, low }
  }

  /** Prices of the group whose first cell has this index. */
  #group(first: number): PriceRanges {
    const end = first + GROUP_CELLS
    const held = this.#groups.get(this.#gone + first)
    const group = held ?? {
      usd: this.#range('usd', first, end),
      native: this.#range('native', first, end),
    }
    if (held === undefined) this.#groups.set(this.#gone + first, group)
    return group
  }

  /** Newest prices and liquidity before a second; `otherwise` where nothing that is held or was dropped tells. */
  knownBefore(second: number, otherwise: KnownValues = this.#earlier): KnownValues {
    const known = this.#before(second)?.known ?? this.#earlier
    return {
      usd: known.usd ?? otherwise.usd,
      native: known.native ?? otherwise.native,
      liquidityUsd: known.liquidityUsd ?? otherwise.liquidityUsd,
    }
  }

  /** Forgets everything before a second but the newest values; returns the seconds that went. */
  drop(before: number): readonly number[] {
    const gone = this.shift(firstIndexFrom(this.#cells, before))
    const newest = gone.at(-1)
    if (newest !== undefined) this.#earlier = { ...newest.known, second: newest.second }
    return gone.map(({ second }) => second)
  }

  /** Forgets so many of the oldest cells, and the values that were known then. */
  shift(count: number): readonly Pick<Cell, 'second' | 'known'>[] {
    const gone = this.#cells.splice(0, count)
    const newest = gone.at(-1)
    const end = this.#gone + gone.length
    for (let at = this.#gone - (this.#gone % GROUP_CELLS); at < end; at += GROUP_CELLS) {
      this.#groups.delete(at)
    }
    this.#gone = end
    if (newest !== undefined) this.#dropped = this.#cells.length > 0 ? newest : NO_TOTALS
    return gone
  }

  /** Merges neighbours of the same number into the newest of them; returns the seconds of each merge. */
  merge(numberOf: (second: number) => string): readonly (readonly number[])[] {
    const merged: number[][] = []
    const kept: Cell[] = []
    let number = ''
    let run: number[] = []
    for (const cell of this.#cells) {
      const next = numberOf(cell.second)
      const before = kept.at(-1)
      if (next === number && before !== undefined) {
        if (run.length === 1) merged.push(run)
        run.push(cell.second)
        kept.pop()
        kept.push({ ...cell, ...joinPriceRanges(before, cell) })
      } else {
        run = [cell.second]
        kept.push(cell)
      }
      number = next
    }
    this.#cells.splice(0, this.#cells.length, ...kept)
    this.#groups.clear()
    return merged
  }
}
