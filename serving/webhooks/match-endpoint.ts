import type { Org, WebhookEndpoint } from '../../schemas/wire.ts'
import type { Filter } from './filter.ts'
import type { WebhookEvent } from './message.ts'

/** `other`: the endpoint is disabled or its organization suspended; `filtered` and `filter-error`: rejected by the filter. */
export type MatchResult = 'match' | 'other' | 'filtered' | 'filter-error'

/** What an endpoint is matched with besides the event. */
export interface MatchContext {
  /** Its organization; undefined = there is none. */
  readonly org: Pick<Org, 'suspended'> | undefined
  readonly filterOf: (source: string) => Filter
}

/**
 * Whether an endpoint that has the event's channel and subject gets it. An organization owns its webhooks: one that is gone or
 * suspended gets nothing.
 */
export const matchEndpoint = (
  endpoint: WebhookEndpoint,
  event: Pick<WebhookEvent, 'channel' | 'timeMs' | 'data'>,
  { org, filterOf }: MatchContext,
): MatchResult => {
  if (!org || org.suspended) return 'other'
  const { disabled, filter } = endpoint
  if (disabled) return 'other'
  if (filter === null) return 'match'
  const result = filterOf(filter)(event)
  if (result === 'match') return 'match'
  return result === 'error' ? 'filter-error' : 'filtered'
}
