import pLimit from 'p-limit'
import { Outage } from '../../core/fault.ts'
import type { Answer, Query, Warehouse } from '../../core/warehouse.ts'

/** How much of the warehouse REST may take. */
export interface QueryBounds {
  /** Statements at the same time. */
  readonly running: number
  /** Statements that wait for a place; one more is refused. */
  readonly waiting: number
  /** Longest run of one statement, enforced by the engine. */
  readonly seconds: number
}

const BOUNDS: QueryBounds = { running: 8, waiting: 256, seconds: 20 }

/** Answers of the engine that say it is too busy or the work too big: time 159, 160; rows 158, 307, 396; memory 241. */
const EXHAUSTED: ReadonlySet<unknown> = new Set(['158', '159', '160', '241', '307', '396'])

/** The part of the warehouse that routes read from. */
export type Reader = Pick<Warehouse, 'query'>

/** A reader with bounds: what does not fit is an `Outage`, so that callers are told to come back instead of queueing. */
export const boundedReader = (
  warehouse: Reader,
  { running, waiting, seconds }: QueryBounds = BOUNDS,
): Reader => {
  const places = pLimit(running)
  const run = async <Row>(query: Query): Promise<Answer<Row>> => {
    const sql = `${query.sql}\nSETTINGS max_execution_time = ${seconds}`
    try {
      return await warehouse.query<Row>({ ...query, sql })
    } catch (error) {
      const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
      if (!EXHAUSTED.has(code)) throw error
      throw new Outage('warehouse', 'a statement took too much', { cause: error })
    }
  }
  return {
    query: async <Row>(query: Query) => {
      if (places.pendingCount >= waiting) throw new Outage('warehouse', 'too many statements wait')
      return places(() => run<Row>(query))
    },
  }
}
