import { Fault } from '../../core/errors.ts'
import { MIN_QUERY_MILLI_UNITS } from '../../schemas/plans.ts'
import type { PlanningQueue } from '../http/planning-queue.ts'
import type { Meter, Principal, Reservation } from '../interfaces.ts'
import type { QueryLimits } from './limits.ts'
import type { GraphqlRequest, Plan, Planner } from './plan.ts'
import { createPlanningBudget, PlanningTooExpensive } from './planning-budget.ts'

/** What planning a request works with. */
export interface PlanningDeps {
  readonly planner: Pick<Planner, 'planInTurns'>
  readonly meter: Pick<Meter, 'reserve'>
  readonly limits: Pick<QueryLimits, 'maxSteps'>
  readonly turns: PlanningQueue
}

/** Steps that cost nothing when the request is refused: ordinary wrong queries take some hundred, the whole schema 10,000. */
export const FREE_STEPS = 14_000

const NO_RESERVATION: Reservation = { settle: () => {}, release: () => {} }

/** Holds the least that a query costs, or says why it cannot. */
const reserveMinimum = (
  meter: Pick<Meter, 'reserve'>,
  principal: Principal | null,
): Reservation | Fault => {
  if (!principal) return NO_RESERVATION
  try {
    return meter.reserve(principal, MIN_QUERY_MILLI_UNITS, 'graphql')
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

/**
 * Plans a request. One that is refused after much work is charged the least that a query costs; without quota for that, only
 * what is planned for nothing is planned. Throws `GraphQLError`, `InvalidDocument`, or the `Fault` of the quota.
 */
export const planWithQuota = async (
  request: GraphqlRequest,
  principal: Principal | null,
  { planner, meter, limits, turns }: PlanningDeps,
): Promise<Plan> => {
  const held = reserveMinimum(meter, principal)
  const [hold, noQuota] = held instanceof Fault ? [NO_RESERVATION, held] : [held, undefined]
  const work = createPlanningBudget(noQuota ? FREE_STEPS : limits.maxSteps)
  try {
    return await turns(principal?.orgId ?? '', (computed) =>
      planner.planInTurns(request, work, computed),
    )
  } catch (error) {
    if (noQuota && error instanceof PlanningTooExpensive) throw noQuota
    if (work.done() > FREE_STEPS) hold.settle(MIN_QUERY_MILLI_UNITS)
    throw error
  } finally {
    hold.release()
  }
}
