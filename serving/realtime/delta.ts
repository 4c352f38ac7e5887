import { createStringDelta } from 'fossil-delta'
import type { PublicationFrame } from './protocol.ts'

/** Publications of subscriptions that take Fossil deltas. Deltas cut at bytes, so payloads are ASCII: others are escaped. */

const NON_ASCII = /[\u0080-\uffff]/g

/** The same JSON in ASCII. */
const toAscii = (json: string): string =>
  json.replace(NON_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The publication without a base. */
export const toWhole = ({ data, offset }: PublicationFrame): PublicationFrame => ({
  data: toAscii(data),
  offset,
  kind: 'whole',
})

/** The publications as deltas, each to the one before, the first to `base` ("" = none); whole where a delta is not shorter. */
export const diffPublications = (
  base: string,
  publications: readonly PublicationFrame[],
): { readonly base: string; readonly publications: readonly PublicationFrame[] } => {
  let before = base
  const patched = publications.map((publication): PublicationFrame => {
    const whole = toWhole(publication)
    const patch = before === '' ? whole.data : createStringDelta(before, whole.data)
    before = whole.data
    return patch.length < whole.data.length ? { ...whole, data: patch, kind: 'patch' } : whole
  })
  return { base: before, publications: patched }
}
