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
  /** Running sums and newest values of what was dropped, or came before everything. */
  #dropped = NO_TOTALS
  #earlier: KnownValues

  constructor(earlier: KnownValues) {
    this.#earlier = earlier
  }

  /** What is held, oldest first. To be read only. */
  get cells(): readonly { readonly second: number }[] {
    return this.#cells
  }

  /** Newest prices and liquidity of before everything that is held. */
  get earlier(): KnownValues {
    return this.#earlier
  }

  /** Adds what came after everything that is held, in the newest second or a later one. */
  append(bucket: StatsBucket): void {
    const { second } = bucket
    const before = this.#cells.at(-1)
    const known = before?.known ?? this.#earlier
    const isSame = before?.second === second
    if (isSame) this.#cells.pop()
    this.#cells.push({
      second,
      ...addTotals(before ?? this.#dropped, bucket),
      ...joinPriceRanges(isSame ? before : NO_PRICES, bucket),
      known: {
        usd: bucket.usd?.close ?? known.usd,
        native: bucket.native?.close ?? known.native,
        liquidityUsd: bucket.liquidityUsd ?? known.liquidityUsd,
      },
    })
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

  /** Of the cells of these indexes. They may be hundreds, and this is asked for in each flush: it makes no object per cell. */
  #range(unit: 'usd' | 'native', first: number, end: number): PriceRange | null {
    let oldest: PriceRange | null = null
    let newest: PriceRange | null = null
    let [high, low] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (let at = first; at < end; at += 1) {
      const range = this.#cells[at]?.[unit] ?? null
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
    const gone = this.#cells.splice(0, firstIndexFrom(this.#cells, before))
    const newest = gone.at(-1)
    if (newest === undefined) return []
    this.#earlier = newest.known
    this.#dropped = this.#cells.length > 0 ? newest : NO_TOTALS
    return gone.map(({ second }) => second)
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
    return merged
  }
}
