import { Fault } from '../../core/errors.ts'
import type { Meter, Principal } from '../interfaces.ts'
import { emptyWork, type QueryCaller, queryWorkMilliUnits } from '../queries/limited-reads.ts'
import { publicErrors } from './errors.ts'
import type { Plan } from './plan.ts'

/** Who pays for a run of a plan, and what ends it early. */
export interface ChargedRun {
  readonly plan: Pick<Plan, 'worstMilliUnits'>
  readonly principal: Principal
  readonly meter: Pick<Meter, 'reserve'>
  /** Aborted: the client is gone, or wants no more. */
  readonly signal: AbortSignal
}

/** What a run gave. */
export interface RunResult<Value> {
  readonly value: Value
  /** Price of the rows; undefined where no statement of the plan ran: then what was read to find that out is charged. */
  readonly milliUnits: number | undefined
}

/** Errors of a resume that the caller made: what was read to find them is charged. */
export const isCursorFault = (error: unknown): boolean =>
  error instanceof Fault &&
  (error.faultName === 'INVALID_CURSOR' || error.faultName === 'CURSOR_EXPIRED')

/**
 * Holds the worst case, runs, and settles what the rows cost. A run in vain costs what the engine did for it, at most the worst case;
 * an error that is not the caller's costs nothing. Throws `Fault` where the quota does not cover the worst case, and what `run` throws.
 */
export const runAndCharge = async <Value>(
  { plan, principal, meter, signal }: ChargedRun,
  run: (caller: QueryCaller) => Promise<RunResult<Value>>,
): Promise<Value> => {
  const reservation = meter.reserve(principal, plan.worstMilliUnits, 'graphql')
  const caller = { ...principal, signal, work: emptyWork() }
  const milliUnitsOfWork = (): number =>
    Math.min(plan.worstMilliUnits, queryWorkMilliUnits(caller.work))
  try {
    const { value, milliUnits } = await run(caller)
    reservation.settle(milliUnits ?? milliUnitsOfWork())
    return value
  } catch (error) {
    const isCallers = publicErrors(error) || isCursorFault(error) || signal.aborted
    reservation.settle(isCallers ? milliUnitsOfWork() : 0)
    throw error
  }
}
