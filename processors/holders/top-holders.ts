/** An owner with what it holds, in base units. */
interface Holding {
  readonly owner: string
  readonly raw: bigint
}

/**
 * Owners kept in order: far more than are asked for, so that many may leave before all are read again. Of a token with
 * many owners it is one of so many, so that whoever makes us read them all has paid for a fixed share of them.
 */
const MIN_TRACKED = 400
const MAX_TRACKED = 65_536
const OWNERS_PER_TRACKED = 8

/** Negative: `one` stands before `other`. Larger holdings first, on a tie the smaller address. */
const compareHoldings = (one: Holding, other: Holding): number => {
  if (one.raw !== other.raw) return one.raw > other.raw ? -1 : 1
  return one.owner < other.owner ? -1 : one.owner > other.owner ? 1 : 0
}

/**
 * The largest holders of one token, without all the others: every owner outside stands behind `#behind`, every one inside
 * before it. Where too many left, the caller fills it again from all owners.
 */
export class TopHolders {
  #kept: Holding[] = []
  readonly #raws = new Map<string, bigint>()
  /** The first of those that may be outside; undefined: none is. */
  #behind: Holding | undefined
  #most = MIN_TRACKED

  /** What the owner holds now; 0: it is not a holder. */
  set(owner: string, raw: bigint): void {
    this.#remove(owner)
    if (raw <= 0n) return
    const holding = { owner, raw }
    if (this.#behind !== undefined && compareHoldings(holding, this.#behind) >= 0) return
    this.#kept.splice(this.#indexOf(holding), 0, holding)
    this.#raws.set(owner, raw)
    if (this.#kept.length <= this.#most) return
    this.#behind = this.#kept.pop()
    if (this.#behind !== undefined) this.#raws.delete(this.#behind.owner)
  }

  /** The largest `count`, or all where there are fewer; undefined: it must be filled again. */
  best(count: number): readonly Holding[] | undefined {
    if (this.#behind !== undefined && this.#kept.length < count) return undefined
    return this.#kept.slice(0, count)
  }

  /** Begins anew from all owners, of whom there are about `count`. */
  fill(owners: Iterable<readonly [owner: string, raw: bigint]>, count: number): void {
    this.#most = Math.min(Math.max(MIN_TRACKED, Math.ceil(count / OWNERS_PER_TRACKED)), MAX_TRACKED)
    this.#kept = []
    this.#raws.clear()
    this.#behind = undefined
    for (const [owner, raw] of owners) {
      const holding = { owner, raw }
      if (raw <= 0n || (this.#behind && compareHoldings(holding, this.#behind) >= 0)) continue
      this.#kept.push(holding)
      if (this.#kept.length >= 2 * this.#most) this.#cut()
    }
    this.#cut()
    for (const { owner, raw } of this.#kept) this.#raws.set(owner, raw)
  }

  /** Orders what is kept and lets go of what is too much. */
  #cut(): void {
    this.#kept.sort(compareHoldings)
    this.#behind = this.#kept[this.#most] ?? this.#behind
    this.#kept.length = Math.min(this.#kept.length, this.#most)
  }

  #remove(owner: string): void {
    const raw = this.#raws.get(owner)
    if (raw === undefined) return
    this.#kept.splice(this.#indexOf({ owner, raw }), 1)
    this.#raws.delete(owner)
  }

  /** Index of the first that does not stand before it. */
  #indexOf(holding: Holding): number {
    let [low, high] = [0, this.#kept.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const kept = this.#kept[middle]
      if (kept !== undefined && compareHoldings(kept, holding) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
