import { type ASTNode, GraphQLError } from 'graphql'

/**
 * Counts what planning one request costs, so that it ends before others wait. One step is about one node of a document that
 * is read, copied, checked or compared, or `CHARACTERS_PER_STEP` characters of text: a few microseconds.
 */
export interface PlanningBudget {
  /** Steps taken so far. */
  readonly done: () => number
  /** Adds steps. Throws `PlanningTooExpensive` once the budget is used up; `at` gives the error its place. */
  readonly spend: (steps: number, at?: ASTNode) => void
}

/** Characters of text that count as one step. */
const CHARACTERS_PER_STEP = 64

/** Steps of reading a text once. */
export const stepsOfText = (characters: number): number =>
  Math.ceil(characters / CHARACTERS_PER_STEP)

/** A request whose planning used up its budget, or whose statements grow too long. */
export class PlanningTooExpensive extends GraphQLError {
  constructor(message: string, at?: ASTNode) {
    super(message, { ...(at && { nodes: at }), extensions: { code: 'QUERY_TOO_EXPENSIVE' } })
    this.name = 'PlanningTooExpensive'
  }
}

/** A count that starts at zero. */
export const createPlanningBudget = (maxSteps: number): PlanningBudget => {
  let done = 0
  return {
    done: () => done,
    spend: (steps, at) => {
      done += steps
      if (done > maxSteps)
        throw new PlanningTooExpensive(`Planning the query takes more than ${maxSteps} steps`, at)
    },
  }
}
