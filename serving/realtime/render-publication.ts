import type { ChannelRow } from '../../schemas/channels.ts'
import { type FilterView, filterViewOf, type Payload, serializePayload } from './payload.ts'
import type { PublicationFrame } from './protocol.ts'
import type { SubscriptionView } from './subscription-view.ts'

/** Publications of one event, and the bytes of their payloads. */
export interface RenderedPublications {
  readonly publications: readonly PublicationFrame[]
  readonly payloadBytes: number
}

/** Makes the publications of a view: those of equal forms are the same object, made once. */
export type PublicationRenderer = (view: SubscriptionView) => RenderedPublications

/** Bytes of one payload: an array that is longer goes out in parts, each an array. */
export const MAX_PAYLOAD_BYTES = 100 * 1_024

/** Payloads of one family, and their position. */
interface UnrenderedPublications {
  readonly row: ChannelRow
  readonly payloads: readonly Payload[]
  readonly offset: number
}

/** Renders payloads of one family: an array of them all where the family sends arrays, else one publication each. */
export const createRenderer = (
  unrendered: UnrenderedPublications,
  numbers: 'string' | 'number',
): PublicationRenderer => {
  // Most publications have subscriptions of one form.
  let firstForm: string | undefined
  let first: RenderedPublications | undefined
  let others: Map<string, RenderedPublications> | undefined
  let filterViews: readonly FilterView[] | undefined
  return (view) => {
    const { form, filter } = view
    const cached = form === firstForm ? first : others?.get(form)
    if (cached !== undefined) return cached
    if (filter !== null) filterViews ??= filterViewsOf(unrendered)
    const rendered = renderForm(unrendered, { view, numbers, filterViews })
    if (first === undefined) {
      firstForm = form
      first = rendered
    } else {
      others ??= new Map()
      others.set(form, rendered)
    }
    return rendered
  }
}

const filterViewsOf = ({ row, payloads }: UnrenderedPublications): readonly FilterView[] =>
  payloads.map((payload) => filterViewOf(payload, row.keys))

/** Publications of one form. `filterViews`: the payloads as filters see them, where the form has a filter. */
const renderForm = (
  { row, payloads, offset }: UnrenderedPublications,
  {
    view: { filter, longNames },
    numbers,
    filterViews,
  }: {
    readonly view: SubscriptionView
    readonly numbers: 'string' | 'number'
    readonly filterViews: readonly FilterView[] | undefined
  },
): RenderedPublications => {
  const format = { numbers, longNames }
  const elements: string[] = []
  for (const [index, payload] of payloads.entries()) {
    const filterView = filterViews?.[index]
    if (filter !== null && (filterView === undefined || !filter.matches(filterView))) continue
    elements.push(serializePayload(payload, row.keys, format))
  }
  const texts = row.shape === 'array' ? arrayTexts(elements, payloads.length === 0) : elements
  let payloadBytes = 0
  for (const text of texts) payloadBytes += Buffer.byteLength(text)
  return { publications: texts.map((data) => ({ data, offset, kind: 'value' })), payloadBytes }
}

/** Arrays of the elements in order, each within the bytes of one payload where its elements are; a list that is empty says so. */
const arrayTexts = (elements: readonly string[], isEmpty: boolean): readonly string[] => {
  if (isEmpty) return ['[]']
  const arrays: string[] = []
  let part: string[] = []
  let bytes = 0
  const flush = (): void => {
    if (part.length > 0) arrays.push(`[${part.join(',')}]`)
    part = []
    bytes = 0
  }
  for (const element of elements) {
    const size = Buffer.byteLength(element) + 1
    if (bytes + size >= MAX_PAYLOAD_BYTES) flush()
    part.push(element)
    bytes += size
  }
  flush()
  return arrays
}
