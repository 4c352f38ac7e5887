import type { ChannelRow } from '../../schemas/channels.ts'
import type { Channel } from './channel-name.ts'
import type { PublicationFilter } from './publication-filter.ts'
import type { Subscription } from './session.ts'

/** Different filters of an organization on one stream: each is evaluated for every publication of it. */
const MAX_FILTERS_PER_SUBJECT = 100
/** Different filters of an organization: each is kept compiled as long as it has a subscription, in some ten KiB. */
const MAX_FILTERS = 500

/** A filter at work, and its subscriptions. */
interface HeldFilter {
  readonly filter: PublicationFilter
  subscriptions: number
}

/** What the subscriptions of one organization have a process do, whatever is sent to them. */
interface OrgUse {
  /** By family and text. */
  readonly filters: Map<string, HeldFilter>
  /** Subscriptions by text, by subject. */
  readonly textsBySubject: Map<string, Map<string, number>>
}

/** Counts what the subscriptions of an organization cost, over its connections in this process. */
export class SubscriptionLimits {
  readonly #orgs = new Map<string, OrgUse>()

  /** Organizations with a subscription that is counted. */
  get organizations(): number {
    return this.#orgs.size
  }

  /** False where another subscription with a filter of that text is too many for the organization; "" = without one. */
  hasRoomFor(orgId: string, { subject, row }: Channel, filterText: string): boolean {
    const use = this.#orgs.get(orgId)
    if (use === undefined || filterText === '') return true
    const texts = use.textsBySubject.get(subject)
    if (texts?.has(filterText)) return true
    if (texts !== undefined && texts.size >= MAX_FILTERS_PER_SUBJECT) return false
    return use.filters.has(filterKey(row, filterText)) || use.filters.size < MAX_FILTERS
  }

  /** The filter of a text that the organization has a subscription with: what it holds it holds once. */
  filterOf(orgId: string, row: ChannelRow, text: string): PublicationFilter | undefined {
    return this.#orgs.get(orgId)?.filters.get(filterKey(row, text))?.filter
  }

  /** Counts a subscription of the organization until it is removed. */
  add(orgId: string, { subject, row, filter }: Subscription): void {
    if (filter === null) return
    const use = this.#orgs.get(orgId) ?? { filters: new Map(), textsBySubject: new Map() }
    this.#orgs.set(orgId, use)
    const key = filterKey(row, filter.text)
    const held = use.filters.get(key) ?? { filter, subscriptions: 0 }
    held.subscriptions += 1
    use.filters.set(key, held)
    const texts = use.textsBySubject.get(subject) ?? new Map<string, number>()
    use.textsBySubject.set(subject, texts.set(filter.text, (texts.get(filter.text) ?? 0) + 1))
  }

  /** Takes back what `add` has counted. */
  remove(orgId: string, { subject, row, filter }: Subscription): void {
    const use = this.#orgs.get(orgId)
    if (use === undefined || filter === null) return
    const key = filterKey(row, filter.text)
    const held = use.filters.get(key)
    if (held !== undefined) held.subscriptions -= 1
    if (held?.subscriptions === 0) use.filters.delete(key)
    const texts = use.textsBySubject.get(subject)
    const left = (texts?.get(filter.text) ?? 0) - 1
    if (left > 0) texts?.set(filter.text, left)
    else texts?.delete(filter.text)
    if (texts?.size === 0) use.textsBySubject.delete(subject)
    if (use.filters.size === 0) this.#orgs.delete(orgId)
  }
}

const filterKey = ({ prefix }: ChannelRow, text: string): string => `${prefix} ${text}`
