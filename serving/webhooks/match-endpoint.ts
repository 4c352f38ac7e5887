import type { Org, WebhookEndpoint } from '../../schemas/wire.ts'
import { matchesEventType } from './endpoint.ts'
import type { Filter } from './filter.ts'
import type { WebhookEvent } from './message.ts'

/** `other`: not asked for; `filtered` and `filter-error`: asked for, but the filter did not let it through. */
export type MatchResult = 'match' | 'other' | 'filtered' | 'filter-error'

/** What an endpoint is matched with beside the event. */
export interface MatchContext {
  /** Its organization; undefined = there is none. */
  readonly org: Pick<Org, 'suspended'> | undefined
  readonly filterOf: (source: string) => Filter
}

/**
 * Whether an endpoint gets an event: enabled, channel, type, filter, in that order. An
 * organization owns its webhooks: one that is gone or suspended gets nothing.
 */
export const matchEndpoint = (
  endpoint: WebhookEndpoint,
  event: WebhookEvent,
  { org, filterOf }: MatchContext,
): MatchResult => {
  if (!org || org.suspended) return 'other'
  const { disabled, channels, filter_types: types, filter } = endpoint
  if (disabled) return 'other'
  if (channels && !channels.includes(event.channel)) return 'other'
  if (types && !types.some((wanted) => matchesEventType(wanted, event.channel))) return 'other'
  if (filter === null) return 'match'
  const answer = filterOf(filter)(event)
  if (answer === 'match') return 'match'
  return answer === 'error' ? 'filter-error' : 'filtered'
}
