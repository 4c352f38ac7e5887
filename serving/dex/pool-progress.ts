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

/** Operations that wait for their records; beyond, the oldest are passed over. */
const MAX_WAITING = 10_000

/** Nothing read yet. */
export const createPoolProgress = (): PoolProgress => {
  let waiting: BlockRecords[] = []
  const read = new Map<number, number>()
  let newest: BlockPlace | undefined
  let lastSeq = -1
  const advance = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if ((read.get(next.seq) ?? 0) < next.records) return
      newest = next.place
      const { seq } = next
      waiting.shift()
      for (const known of read.keys()) if (known <= seq) read.delete(known)
    }
  }
  return {
    block: (operation) => {
      if (operation.seq <= lastSeq) return
      lastSeq = operation.seq
      waiting.push(operation)
      if (waiting.length > MAX_WAITING) waiting = waiting.slice(MAX_WAITING / 2)
      advance()
    },
    record: (seq) => {
      const first = waiting[0]?.seq ?? lastSeq + 1
      if (lastSeq >= 0 && seq < first) return
      if (read.size >= MAX_WAITING) read.clear()
      read.set(seq, (read.get(seq) ?? 0) + 1)
      advance()
    },
    reset: () => {
      waiting = []
      read.clear()
      newest = undefined
    },
    get newest() {
      return newest
    },
  }
}
