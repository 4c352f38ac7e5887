import {
  channelChain,
  channelKind,
  DEFAULT_WEBHOOK_CHANNELS,
  isWebhookChannel,
  kindRow,
  type WebhookChannel,
} from '../../schemas/webhooks.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import { matchesEventType } from './endpoint.ts'
import { levelSubject } from './event-context.ts'
import { createPriceLevelIndex, type PriceLevelIndex } from './price-level-index.ts'

/** Fields of an endpoint that select its events. */
export type EndpointSelectors = Pick<
  WebhookEndpoint,
  'channels' | 'filter_types' | 'subjects' | 'price_levels'
>

/** Enabled endpoints by channel and subject: an event is compared with those that name it, not with all. */
export interface EndpointIndex {
  /** Replaces an endpoint; null or disabled = it gets no events. */
  put(endpointId: string, endpoint: WebhookEndpoint | null): void
  has(channel: WebhookChannel): boolean
  /** True when an endpoint has the whole channel or names one of the subjects. */
  hasSubject(channel: WebhookChannel, subjects: readonly string[]): boolean
  /** Each endpoint once. */
  candidates(channel: WebhookChannel, subjects: readonly string[]): Iterable<WebhookEndpoint>
  /** Price levels of all enabled endpoints, US dollars, by `priceLevelKey`. */
  readonly priceLevels: Omit<PriceLevelIndex, 'count'>
}

/** Under which a token's price levels are found. */
export const priceLevelKey = (chain: string, token: string): string => `${chain}/${token}`

/** The channels that an endpoint gets: its list, or what needs nothing to be named, as far as its event types let them. */
export const endpointChannels = ({
  channels,
  filter_types: types,
}: Pick<EndpointSelectors, 'channels' | 'filter_types'>): readonly WebhookChannel[] =>
  (channels?.filter(isWebhookChannel) ?? DEFAULT_WEBHOOK_CHANNELS).filter(
    (channel) => !types || types.some((wanted) => matchesEventType(wanted, channel)),
  )

/** Subjects under which an endpoint gets a channel; null = it gets the whole channel. */
export const channelSubjects = (
  channel: WebhookChannel,
  { subjects, price_levels: levels }: Pick<EndpointSelectors, 'subjects' | 'price_levels'>,
): readonly string[] | null => {
  const { needs } = kindRow(channelKind(channel))
  if (needs === 'nothing') return null
  if (needs === 'price-levels') return levels.map(({ token, usd }) => levelSubject(token, usd))
  return needs === 'subjects-or-filter' && subjects.length === 0 ? null : subjects
}

type Endpoints = Map<string, WebhookEndpoint>

interface ChannelEntries {
  readonly whole: Endpoints
  readonly bySubject: Map<string, Endpoints>
}

/** An empty index. */
export const createEndpointIndex = (): EndpointIndex => {
  const byChannel = new Map<WebhookChannel, ChannelEntries>()
  const byId = new Map<string, WebhookEndpoint>()
  const priceLevels = createPriceLevelIndex()
  const countLevels = (endpoint: WebhookEndpoint, channel: WebhookChannel, by: 1 | -1): void => {
    if (kindRow(channelKind(channel)).needs !== 'price-levels') return
    for (const { token, usd } of endpoint.price_levels) {
      priceLevels.count(priceLevelKey(channelChain(channel), token), usd, by)
    }
  }
  const add = (endpointId: string, endpoint: WebhookEndpoint): void => {
    for (const channel of endpointChannels(endpoint)) {
      const entries = byChannel.get(channel) ?? { whole: new Map(), bySubject: new Map() }
      byChannel.set(channel, entries)
      const subjects = channelSubjects(channel, endpoint)
      if (subjects === null) entries.whole.set(endpointId, endpoint)
      for (const subject of subjects ?? []) {
        const own = entries.bySubject.get(subject) ?? new Map()
        entries.bySubject.set(subject, own.set(endpointId, endpoint))
      }
      countLevels(endpoint, channel, 1)
    }
  }
  const remove = (endpointId: string, endpoint: WebhookEndpoint): void => {
    for (const channel of endpointChannels(endpoint)) {
      const entries = byChannel.get(channel)
      entries?.whole.delete(endpointId)
      for (const subject of channelSubjects(channel, endpoint) ?? []) {
        const own = entries?.bySubject.get(subject)
        own?.delete(endpointId)
        if (own?.size === 0) entries?.bySubject.delete(subject)
      }
      if (entries?.whole.size === 0 && entries.bySubject.size === 0) byChannel.delete(channel)
      countLevels(endpoint, channel, -1)
    }
  }
  return {
    put: (endpointId, endpoint) => {
      const previous = byId.get(endpointId)
      if (previous) remove(endpointId, previous)
      byId.delete(endpointId)
      if (!endpoint || endpoint.disabled) return
      byId.set(endpointId, endpoint)
      add(endpointId, endpoint)
    },
    has: (channel) => byChannel.has(channel),
    hasSubject: (channel, subjects) => {
      const entries = byChannel.get(channel)
      if (!entries) return false
      return entries.whole.size > 0 || subjects.some((subject) => entries.bySubject.has(subject))
    },
    candidates: (channel, subjects) => {
      const entries = byChannel.get(channel)
      if (!entries) return []
      const named = subjects.filter((subject) => entries.bySubject.has(subject))
      // A copy: endpoints may change while the caller goes through them.
      if (named.length === 0) return [...entries.whole.values()]
      const found = new Map(entries.whole)
      for (const subject of named) {
        for (const [id, endpoint] of entries.bySubject.get(subject) ?? []) found.set(id, endpoint)
      }
      return found.values()
    },
    priceLevels,
  }
}
