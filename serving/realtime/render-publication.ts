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

/** Renders payloads of one family: an array of them all where the family sends arrays, else one publication each. */
export const createRenderer = (
  {
    row,
    payloads,
    offset,
  }: {
    readonly row: ChannelRow
    readonly payloads: readonly Payload[]
    readonly offset: number
  },
  numbers: 'string' | 'number',
): PublicationRenderer => {
  const renderedByForm = new Map<string, RenderedPublications>()
  let filterViews: readonly FilterView[] | undefined
  const matching = ({ filter }: SubscriptionView): readonly Payload[] => {
    if (filter === null) return payloads
    filterViews ??= payloads.map((payload) => filterViewOf(payload, row.keys))
    const views = filterViews
    return payloads.filter((_, index) => {
      const view = views[index]
      return view !== undefined && filter.matches(view)
    })
  }
  return (view) => {
    const cached = renderedByForm.get(view.form)
    if (cached !== undefined) return cached
    const { longNames } = view
    const elements = matching(view).map((one) =>
      serializePayload(one, row.keys, { numbers, longNames }),
    )
    const texts = row.shape === 'array' ? arrayTexts(elements, payloads.length === 0) : elements
    const rendered = {
      publications: texts.map((data) => ({ data, offset, kind: 'value' as const })),
      payloadBytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    }
    renderedByForm.set(view.form, rendered)
    return rendered
  }
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
