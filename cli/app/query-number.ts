import { InvalidOpsRequest } from '../../core/ops/server.ts'

/** Longest part of a wrong value that is shown. */
const MAX_SHOWN_LENGTH = 40

/** A whole number of a request to the ops server. Throws `InvalidOpsRequest`. */
export const parseQueryNumber = (name: string, text: string, maxDigits: 9 | 15): number => {
  if (/^\d+$/.test(text) && text.length <= maxDigits) return Number(text)
  throw new InvalidOpsRequest(
    `${name} is ${JSON.stringify(text.slice(0, MAX_SHOWN_LENGTH))}; expected a whole number of at most ${maxDigits} digits`,
  )
}
