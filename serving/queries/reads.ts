import type {
  Answer,
  Query,
  ReadOptions,
  TextAnswer,
  Warehouse,
} from '../../core/clickhouse/client.ts'
import type { ReadShare } from '../../core/clickhouse/engine.ts'
import { isRejectedStatement } from '../../core/clickhouse/errors.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { StatementBudget } from '../../schemas/plans.ts'
import { MIN_QUERY_MILLI_UNITS, PLANS, type PlanName } from '../../schemas/plans.ts'
import { type GateLimits, makeGate } from './gate.ts'

/** What the engine did for one request. */
export interface Work {
  /** Statements that the engine began. */
  statements: number
  /** Their time together, those under way left out. */
  elapsedMs: number
}

/** On whose behalf a statement is run. */
export interface Caller {
  readonly orgId: string
  readonly plan: PlanName
  /** Aborts when the client has left, or when the request has taken too long. */
  readonly signal: AbortSignal
  /** Added to as statements run. */
  readonly work: Work
}

/** The part of the warehouse that surfaces read from. */
export type ReadStore = Pick<Warehouse, 'query' | 'queryText' | 'places'>

/** Reads on behalf of callers: within the budget of their plan, in their turn, and given up with them. */
export interface Reads {
  /** Statements of one organization that run at the same time; more wait. */
  readonly perOrg: number
  query<Row>(query: Query, caller: Caller): Promise<Answer<Row>>
  queryText(query: Query, caller: Caller): Promise<TextAnswer>
}

/** Work of a request that has not begun. */
export const noWork = (): Work => ({ statements: 0, elapsedMs: 0 })

/**
 * Least charge for what the engine did, in thousandths of a CU: for every second that it began, whatever came of it; nothing
 * where it was not asked.
 */
export const workMilliUnits = ({ statements, elapsedMs }: Work): number =>
  statements === 0 ? 0 : MIN_QUERY_MILLI_UNITS * Math.max(1, Math.ceil(elapsedMs / 1_000))

/** Longest time that a statement waits for its turn. */
const WAIT_MS = 10_000
/** Statements of a surface that wait; half of them may be one organization's. */
const WAITING = 256

/** Limits of a surface with so many places. */
export const gateLimits = (places: number): GateLimits => ({
  running: places,
  runningPerOrg: Math.max(1, places - Math.ceil(places / 4)),
  waiting: WAITING,
  waitingPerOrg: WAITING / 2,
  waitMs: WAIT_MS,
})

/** Counts the statements of a surface that the engine refused as wrong. */
const countingRejected = (
  metrics: Pick<Metrics, 'queryRejected'>,
  surface: string,
): ((error: unknown) => never) => {
  const counter = metrics.queryRejected
  return (error) => {
    if (isRejectedStatement(error)) counter.inc({ surface })
    throw error
  }
}

/** Reads of one surface, over its share of the engine. */
export const makeReads = (
  store: ReadStore,
  {
    share,
    surface,
    metrics,
    limits = gateLimits(store.places[share]),
  }: {
    readonly share: ReadShare
    readonly surface: string
    readonly metrics: Pick<Metrics, 'queryRejected'>
    readonly limits?: GateLimits
  },
): Reads => {
  const gate = makeGate(limits)
  const rejected = countingRejected(metrics, surface)
  const run = <T>(caller: Caller, read: (options: ReadOptions) => Promise<T>): Promise<T> => {
    const { orgId, plan, signal, work } = caller
    const budget: StatementBudget = PLANS[plan].budget
    return gate.run(
      orgId,
      async () => {
        const startedMs = performance.now()
        work.statements += 1
        try {
          return await read({ signal, budget, share }).catch(rejected)
        } finally {
          work.elapsedMs += performance.now() - startedMs
        }
      },
      signal,
    )
  }
  return {
    perOrg: limits.runningPerOrg,
    query: (query, caller) => run(caller, (options) => store.query(query, options)),
    queryText: (query, caller) => run(caller, (options) => store.queryText(query, options)),
  }
}
