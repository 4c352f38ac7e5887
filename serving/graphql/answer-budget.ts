import { QueryTooExpensive } from './errors.ts'

/** Bytes that the records of one request may still take, over all of its selections. */
export interface AnswerBudget {
  readonly left: () => number
  /** Throws `QueryTooExpensive` once nothing is left. */
  readonly spend: (bytes: number) => void
}

/** A budget of `maxBytes`. */
export const createAnswerBudget = (maxBytes: number): AnswerBudget => {
  let left = maxBytes
  return {
    left: () => left,
    spend: (bytes) => {
      left -= bytes
      if (left < 0) throw new QueryTooExpensive(`The answer has more than ${maxBytes} bytes`, [])
    },
  }
}
