import type { ChannelRow } from '../../schemas/channels.ts'
import type { Channel } from './channel-name.ts'
import { MAX_LISTS_PER_ROUND } from './list-poller.ts'
import { listSourceOf } from './polled-lists.ts'
import type { PublicationFilter } from './publication-filter.ts'
import type { Subscription } from './session.ts'

/** Different filters of an organization on one stream: each is evaluated for every publication of it. */
const MAX_FILTERS_PER_SUBJECT = 100
/** Different filters of an organization: each is kept compiled as long as it has a subscription, in some ten KiB. */
const MAX_FILTERS = 500
/** Lists of an organization that are read for it: as many as one round reads. Lists of different families may be made of one. */
const MAX_LISTS = MAX_LISTS_PER_ROUND

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
  /** Subscriptions by what their lists are read of. */
  readonly lists: Map<string, number>
}

/** Counts what the subscriptions of an organization cost, over its connections in this process. */
export class SubscriptionLimits {
  readonly #orgs = new Map<string, OrgUse>()

  /** Organizations with a subscription that is counted. */
  get organizations(): number {
    return this.#orgs.size
  }

  /** False where another subscription, with a filter of that text, is too many for the organization; "" = without one. */
  hasRoomFor(orgId: string, channel: Channel, filterText: string): boolean {
    const { subject, row } = channel
    const use = this.#orgs.get(orgId)
    if (use === undefined) return true
    const list = listNameOf(channel)
    if (list !== null && !use.lists.has(list) && use.lists.size >= MAX_LISTS) return false
    if (filterText === '') return true
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
  add(orgId: string, subscription: Subscription): void {
    const { subject, row, filter } = subscription
    const list = listNameOf(subscription)
    if (filter === null && list === null) return
    const use = this.#orgs.get(orgId) ?? newUse()
    this.#orgs.set(orgId, use)
    if (list !== null) addTo(use.lists, list, 1)
    if (filter === null) return
    const key = filterKey(row, filter.text)
    const held = use.filters.get(key) ?? { filter, subscriptions: 0 }
    held.subscriptions += 1
    use.filters.set(key, held)
    const texts = use.textsBySubject.get(subject) ?? new Map<string, number>()
    use.textsBySubject.set(subject, texts)
    addTo(texts, filter.text, 1)
  }

  /** Takes back what `add` has counted. */
  remove(orgId: string, subscription: Subscription): void {
    const { subject, row, filter } = subscription
    const list = listNameOf(subscription)
    const use = this.#orgs.get(orgId)
    if (use === undefined) return
    if (list !== null) addTo(use.lists, list, -1)
    if (filter !== null) {
      const key = filterKey(row, filter.text)
      const held = use.filters.get(key)
      if (held !== undefined) held.subscriptions -= 1
      if (held?.subscriptions === 0) use.filters.delete(key)
      const texts = use.textsBySubject.get(subject) ?? new Map<string, number>()
      addTo(texts, filter.text, -1)
      if (texts.size === 0) use.textsBySubject.delete(subject)
    }
    if (use.filters.size === 0 && use.lists.size === 0) this.#orgs.delete(orgId)
  }
}

const newUse = (): OrgUse => ({ filters: new Map(), textsBySubject: new Map(), lists: new Map() })

/** What the list of a channel is read of; null where it comes from a topic. */
const listNameOf = (channel: Channel): string | null =>
  channel.row.query === null ? null : listSourceOf(channel).name

const addTo = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const left = (counts.get(key) ?? 0) + change
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}

const filterKey = ({ prefix }: ChannelRow, text: string): string => `${prefix} ${text}`
