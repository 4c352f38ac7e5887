/** Reads one place of a state, of now or of some block. */
export type StateReader = (place: number) => bigint

/** The state that the generator writes. Writes of a transaction can be taken back, those of a block are listed. */
export class State {
  readonly values: bigint[]
  #touched = new Set<number>()
  #undo: (readonly [number, bigint])[] = []

  constructor(values: bigint[]) {
    this.values = values
  }

  get(place: number): bigint {
    return this.values[place] ?? 0n
  }

  set(place: number, value: bigint): void {
    this.#undo.push([place, this.values[place] ?? 0n])
    this.values[place] = value
    this.#touched.add(place)
  }

  add(place: number, amount: bigint): void {
    this.set(place, this.get(place) + amount)
  }

  /** Places written since the last commit or rollback, with what stood there before. */
  changes(): ReadonlyMap<number, bigint> {
    const before = new Map<number, bigint>()
    for (const [place, value] of this.#undo) if (!before.has(place)) before.set(place, value)
    return before
  }

  /** Keeps what was written since the last commit or rollback. */
  commit(): void {
    this.#undo = []
  }

  /** Takes back what was written since the last commit. */
  rollback(): void {
    for (const [place, before] of this.#undo.toReversed()) this.values[place] = before
    this.#undo = []
  }

  /** Every place written since the last call, with its value now. */
  drainWrites(): ReadonlyMap<number, bigint> {
    const writes = new Map<number, bigint>()
    for (const place of this.#touched) writes.set(place, this.get(place))
    this.#touched = new Set()
    return writes
  }
}
