import { CUBES } from '../../schemas/cubes/all.ts'
import { createPlanningQueue, type PlanningQueue } from '../http/planning-queue.ts'
import type { ReadStore } from '../queries/limited-reads.ts'
import {
  createLimitedReads,
  type LimitedReads,
  type QueryMetrics,
} from '../queries/limited-reads.ts'
import { QUERY_LIMITS, type QueryLimits } from './limits.ts'
import { createPlanner, type Planner } from './plan.ts'
import { buildCubeSchema } from './schema.ts'

/** What queries and subscriptions of one process share: the plans they keep, their turns, and their share of the store. */
export interface GraphqlEngine {
  readonly planner: Planner
  readonly turns: PlanningQueue
  readonly reads: LimitedReads
  readonly limits: QueryLimits
}

/** What an engine is made of. */
export interface GraphqlEngineDeps {
  readonly warehouse: ReadStore
  /** Chains that this installation holds data of, by internal id. */
  readonly chains: readonly string[]
  readonly metrics: QueryMetrics
  readonly limits?: Partial<QueryLimits>
}

/** Makes the engine of a process. */
export const createGraphqlEngine = (deps: GraphqlEngineDeps): GraphqlEngine => {
  const limits = { ...QUERY_LIMITS, ...deps.limits }
  const { metrics } = deps
  return {
    planner: createPlanner(buildCubeSchema(CUBES, deps.chains), limits),
    turns: createPlanningQueue(),
    reads: createLimitedReads(deps.warehouse, { share: 'scan', surface: 'graphql', metrics }),
    limits,
  }
}
