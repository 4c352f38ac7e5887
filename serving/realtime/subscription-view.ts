import type { Encoding } from './frame-codec.ts'
import type { PublicationFilter } from './publication-filter.ts'

/** What a subscription wants of its channel. Subscriptions with equal views share what is made for them. */
export interface SubscriptionView {
  /** Part of the channel's publications that it tells apart; "" = as the channel is. */
  readonly name: string
  /** What payloads look like in it: equal forms have equal bytes. */
  readonly form: string
  readonly retractions: boolean
  /** Trades of blocks that are not confirmed yet, too. */
  readonly pending: boolean
  readonly longNames: boolean
  readonly filter: PublicationFilter | null
  readonly encoding: Encoding
  /** Payloads come as Fossil deltas to the ones before. */
  readonly delta: boolean
}

/** A view by what it wants. */
export const createSubscriptionView = ({
  retractions = false,
  pending = false,
  longNames = false,
  filter = null,
  encoding = 'json',
  delta = false,
}: Partial<Omit<SubscriptionView, 'name' | 'form'>>): SubscriptionView => {
  const form = `${longNames ? '\nlong names' : ''}${filter === null ? '' : `\nfilter ${filter.text}`}`
  const wire = `${encoding === 'json' ? '' : `\n${encoding}`}${delta ? '\ndelta' : ''}`
  const name = `${retractions ? '\nretractions' : ''}${pending ? '\npending' : ''}${wire}${form}`
  return { name, form, retractions, pending, longNames, filter, encoding, delta }
}

/** A channel as it is. */
export const PLAIN_VIEW: SubscriptionView = createSubscriptionView({})

/** True where the view takes publications of that kind; its filter is another matter. */
export const takesKind = (
  view: SubscriptionView,
  { retraction, pending }: { readonly retraction: boolean; readonly pending: boolean },
): boolean => (view.retractions || !retraction) && (view.pending || !pending)
