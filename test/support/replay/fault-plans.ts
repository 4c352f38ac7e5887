import { type FaultPlan, REPLAY_FAULTS, type ReplayFault } from './faults.ts'

/** A server that behaves. */
export const noFaults: FaultPlan = () => undefined

/** The fault on every answer. */
export const alwaysFault =
  (fault: ReplayFault): FaultPlan =>
  () =>
    fault

/**
 * Each of the faults in turn, on every `every`th answer; where methods are named only on theirs. A node that once said it was of
 * another chain is never asked again, so that fault has to be asked for.
 */
export const faultsInTurn = (
  every: number,
  {
    faults = REPLAY_FAULTS.filter((fault) => fault !== 'wrong-chain'),
    methods,
  }: FaultsInTurnOptions = {},
): FaultPlan => {
  let asked = 0
  let given = 0
  return (method) => {
    if (methods !== undefined && !methods.includes(method)) return undefined
    asked += 1
    if (asked % every !== 0) return undefined
    given += 1
    return faults[(given - 1) % faults.length]
  }
}

/** Which faults, and on which methods. */
export interface FaultsInTurnOptions {
  readonly faults?: readonly ReplayFault[]
  readonly methods?: readonly string[]
}
