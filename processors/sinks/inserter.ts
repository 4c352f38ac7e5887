import { createHash } from 'node:crypto'
import type { JsonLines, Warehouse } from '../../core/clickhouse/client.ts'
import { classifyInsertError } from '../../core/clickhouse/insert-errors.ts'
import type { Metrics } from '../../core/ops/metrics.ts'

/** Rows of one lane for one table, and the token of their insert. */
export interface InsertBatch extends JsonLines {
  readonly token: string
}

/** Inserts of a process: what its lanes write to one table at the same time becomes one statement. */
export interface Inserter {
  /**
   * Resolves once the rows are stored. Throws what the engine said: of a refused statement each part is inserted apart, so that
   * a part is refused for its own rows only. A signal takes out rows whose statement has not begun.
   */
  insert(table: string, part: InsertBatch, signal?: AbortSignal): Promise<void>
}

/** What an inserter works with. */
export interface InserterDeps {
  readonly warehouse: Pick<Warehouse, 'insert'>
  readonly metrics: Pick<Metrics, 'insertSeconds'>
}

/** How long the first rows wait for those of other lanes. */
const BATCH_DELAY_MS = 100
/** Text that is inserted without waiting for more, and the most of one statement; a part that is longer stands alone. */
const FLUSH_BYTES = 1_048_576
const MAX_STATEMENT_BYTES = 16_777_216

interface PendingInsert {
  readonly part: InsertBatch
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Token of a statement: the same parts have the same one, in whatever order they came. */
const statementToken = (parts: readonly PendingInsert[]): string => {
  const [first] = parts
  if (parts.length === 1 && first) return first.part.token
  const tokens = parts.map(({ part }) => part.token).toSorted()
  return createHash('sha1').update(tokens.join()).digest('hex')
}

const batchSize = ({ part }: PendingInsert): number => part.text.length

/** Parts of one table: one statement under way, the next one gathering. */
class TableInsertQueue {
  readonly #table: string
  readonly #deps: InserterDeps
  #waiting: PendingInsert[] = []
  #timer: NodeJS.Timeout | undefined
  #isRunning = false

  constructor(table: string, deps: InserterDeps) {
    this.#table = table
    this.#deps = deps
  }

  add(waiting: PendingInsert): void {
    this.#waiting.push(waiting)
    this.#plan()
  }

  /** Whether the part was still waiting. */
  remove(waiting: PendingInsert): boolean {
    const index = this.#waiting.indexOf(waiting)
    if (index !== -1) this.#waiting.splice(index, 1)
    return index !== -1
  }

  #plan(): void {
    if (this.#isRunning || this.#waiting.length === 0) return
    const bytes = this.#waiting.reduce((sum, each) => sum + batchSize(each), 0)
    if (bytes >= FLUSH_BYTES) {
      void this.#flush()
      return
    }
    this.#timer ??= setTimeout(() => void this.#flush(), BATCH_DELAY_MS)
  }

  /** What waited while a statement ran is sent at once: it has been gathering all that time. */
  async #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isRunning = true
    while (this.#waiting.length > 0) await this.#store(this.#take())
    this.#isRunning = false
  }

  #take(): readonly PendingInsert[] {
    let bytes = 0
    const beyond = this.#waiting.findIndex((each) => {
      bytes += batchSize(each)
      return bytes > MAX_STATEMENT_BYTES
    })
    return this.#waiting.splice(0, beyond === -1 ? this.#waiting.length : Math.max(1, beyond))
  }

  async #store(parts: readonly PendingInsert[]): Promise<void> {
    try {
      await this.#insert(parts)
    } catch (error) {
      if (parts.length > 1 && classifyInsertError(error) !== 'passing') {
        for (const each of parts) await this.#store([each])
        return
      }
      for (const { reject } of parts) reject(error)
      return
    }
    for (const { resolve } of parts) resolve()
  }

  async #insert(parts: readonly PendingInsert[]): Promise<void> {
    const { warehouse, metrics } = this.#deps
    const table = this.#table
    const end = metrics.insertSeconds.startTimer({ table })
    const rows = {
      text: parts.map(({ part }) => part.text).join('\n'),
      count: parts.reduce((sum, { part }) => sum + part.count, 0),
    }
    try {
      await warehouse.insert(table, rows, { token: statementToken(parts) })
    } finally {
      end()
    }
  }
}

/** The inserter of a process. It holds only what lanes wait for; lanes bound that. */
export const createInserter = (deps: InserterDeps): Inserter => {
  const tables = new Map<string, TableInsertQueue>()
  const inserts = (table: string): TableInsertQueue => {
    const known = tables.get(table) ?? new TableInsertQueue(table, deps)
    tables.set(table, known)
    return known
  }
  return {
    insert: async (table, part, signal) => {
      signal?.throwIfAborted()
      const queue = inserts(table)
      let leave: (() => void) | undefined
      try {
        await new Promise<void>((resolve, reject) => {
          const waiting = { part, resolve, reject }
          leave = () => {
            if (queue.remove(waiting)) reject(signal?.reason)
          }
          signal?.addEventListener('abort', leave, { once: true })
          queue.add(waiting)
        })
      } finally {
        if (leave) signal?.removeEventListener('abort', leave)
      }
    },
  }
}
