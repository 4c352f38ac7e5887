/** Up to where the pool records of a chain have been read. */
export interface PoolProgress {
  /** The next block operation, in the order of the log; one that is not newer than the last changes nothing. */
  block(operation: BlockRecords): void
  /** A pool record of a block operation was read. */
  record(seq: number): void
  /** Nothing is known any more, until the next block. */
  reset(): void
  /** The newest block of which every pool record was read, also where it has none; undefined: none yet. */
  readonly newest: BlockPlace | undefined
}

/** Where a block is. */
export interface BlockPlace {
  readonly height: number
  readonly slot: number
}

/** A block operation, and how many pool records it has. */
export interface BlockRecords {
  readonly seq: number
  /** The newest block after it. */
  readonly place: BlockPlace
  readonly records: number
}

/** Operations that wait for their records, and operations of which records came first; beyond, the oldest are passed over. */
const MAX_WAITING = 10_000
/** Later operations that are read whole before one is passed over: what is missing of it then is a dead letter and does not come. */
const MAX_AHEAD = 100

/** Nothing read yet. */
export const createPoolProgress = (): PoolProgress => {
  /** In the order of the log, with how many of its records have not been read. */
  const waiting = new Map<
    number,
    { readonly place: BlockPlace; readonly records: number; missing: number }
  >()
  /** Records that were read before their block operation. */
  const early = new Map<number, number>()
  let newest: BlockPlace | undefined
  let lastSeq = -1
  /** Operations that had records to wait for and are read whole behind one that is not. */
  let ahead = 0
  const advance = (): void => {
    for (const [seq, { place, records, missing }] of waiting) {
      if (missing > 0 && ahead <= MAX_AHEAD && waiting.size <= MAX_WAITING) return
      waiting.delete(seq)
      if (missing === 0 && records > 0) ahead -= 1
      newest = place
    }
  }
  return {
    block: ({ seq, place, records }) => {
      if (seq <= lastSeq) return
      lastSeq = seq
      const missing = Math.max(0, records - (early.get(seq) ?? 0))
      for (const known of early.keys()) if (known <= seq) early.delete(known)
      waiting.set(seq, { place, records, missing })
      if (missing === 0 && records > 0) ahead += 1
      advance()
    },
    record: (seq) => {
      const operation = waiting.get(seq)
      if (operation === undefined) {
        if (seq <= lastSeq) return
        if (early.size >= MAX_WAITING) early.clear()
        early.set(seq, (early.get(seq) ?? 0) + 1)
        return
      }
      if (operation.missing === 0) return
      operation.missing -= 1
      if (operation.missing === 0) ahead += 1
      advance()
    },
    reset: () => {
      waiting.clear()
      early.clear()
      ahead = 0
      newest = undefined
    },
    get newest() {
      return newest
    },
  }
}
