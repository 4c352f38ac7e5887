import type {
  Query,
  QueryResult,
  ReadOptions,
  TextQuery,
  TextQueryResult,
  Warehouse,
} from '../../core/clickhouse/client.ts'
import type { ReadWorkload } from '../../core/clickhouse/engine.ts'
import { isRejectedStatement } from '../../core/clickhouse/read-errors.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { StatementBudget } from '../../schemas/plans.ts'
import { MIN_QUERY_MILLI_UNITS, PLANS, type PlanName } from '../../schemas/plans.ts'
import { createQueryQueue, type QueryQueue, type QueryQueueLimits } from './query-queue.ts'

/** What the engine did for one request. */
export interface QueryWork {
  /** Statements that the engine began. */
  statements: number
  /** Their time together, those under way left out. */
  elapsedMs: number
}

/** On whose behalf a statement is run. */
export interface QueryCaller {
  readonly orgId: string
  readonly plan: PlanName
  /** Aborts when the client has left, or when the request has taken too long. */
  readonly signal: AbortSignal
  /** Added to as statements run. */
  readonly work: QueryWork
}

/** The part of the warehouse that surfaces read from. */
export type ReadStore = Pick<Warehouse, 'query' | 'queryText' | 'places'>

/** Reads on behalf of callers: within the budget of their plan, in their turn, and given up with them. */
export interface LimitedReads {
  /** Statements of one organization that run at the same time; more wait. */
  readonly perOrg: number
  query<Row>(query: Query, caller: QueryCaller): Promise<QueryResult<Row>>
  queryText(query: TextQuery, caller: QueryCaller): Promise<TextQueryResult>
}

/** Work of a request that has not begun. */
export const emptyWork = (): QueryWork => ({ statements: 0, elapsedMs: 0 })

/**
 * Least charge for what the engine did, in thousandths of a CU: for every second that it began, whatever came of it; nothing
 * where it was not asked.
 */
export const queryWorkMilliUnits = ({ statements, elapsedMs }: QueryWork): number =>
  statements === 0 ? 0 : MIN_QUERY_MILLI_UNITS * Math.max(1, Math.ceil(elapsedMs / 1_000))

/** Longest time that a statement waits for its turn. */
const MAX_WAIT_MS = 10_000
/** Statements of a surface that wait; half of them may be one organization's. */
const MAX_WAITING = 256

/** Limits of a surface with so many places. */
export const queueLimits = (places: number): QueryQueueLimits => ({
  running: places,
  runningPerOrg: Math.max(1, places - Math.ceil(places / 4)),
  waiting: MAX_WAITING,
  waitingPerOrg: MAX_WAITING / 2,
  waitMs: MAX_WAIT_MS,
})

/** What the reads of a surface are measured with. */
export type QueryMetrics = Pick<Metrics, 'queryRejected' | 'observe'>

/** Counts the statements of a surface that the engine refused as wrong. */
const createRejectionCounter = (
  metrics: Pick<Metrics, 'queryRejected'>,
  surface: string,
): ((error: unknown) => never) => {
  const counter = metrics.queryRejected
  return (error) => {
    if (isRejectedStatement(error)) counter.inc({ surface })
    throw error
  }
}

/** The same store for reads of no caller: statements that the engine refused as wrong are counted under `surface`. */
export const countRejectedReads = <Store extends Pick<Warehouse, 'query'>>(
  store: Store,
  metrics: Pick<Metrics, 'queryRejected'>,
  surface: string,
): Store => {
  const onError = createRejectionCounter(metrics, surface)
  return { ...store, query: (query, options) => store.query<never>(query, options).catch(onError) }
}

const observeQueue = (
  metrics: Pick<Metrics, 'observe'>,
  surface: string,
  { gate, limits }: { readonly gate: QueryQueue; readonly limits: QueryQueueLimits },
): void => {
  const labels = { surface }
  metrics.observe('queriesRunning', () => [{ labels, value: gate.depth().running }], 'sole')
  metrics.observe('queriesWaiting', () => [{ labels, value: gate.depth().waiting }], 'sole')
  metrics.observe('queriesWaitingLimit', () => [{ labels, value: limits.waiting }], 'sole')
}

/** Reads of one surface, over its share of the engine. Throws where the process has them already: their limit would hold twice. */
export const createLimitedReads = (
  store: ReadStore,
  {
    share,
    surface,
    metrics,
    limits = queueLimits(store.places[share]),
  }: {
    readonly share: ReadWorkload
    readonly surface: string
    readonly metrics: QueryMetrics
    readonly limits?: QueryQueueLimits
  },
): LimitedReads => {
  const gate = createQueryQueue(limits)
  const rejected = createRejectionCounter(metrics, surface)
  observeQueue(metrics, surface, { gate, limits })
  const run = <T>(caller: QueryCaller, read: (options: ReadOptions) => Promise<T>): Promise<T> => {
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
