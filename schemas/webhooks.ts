import type { Topic } from './topics.ts'

/** Key of a webhook body with the name that filters and SDKs use for it. */
export const WEBHOOK_KEYS = {
  a: 'tokenAddress',
  n: 'name',
  s: 'symbol',
  dec: 'decimals',
  cts: 'createdAtMs',
  lf: 'launchFrom',
  mt: 'migratedTo',
} as const

/** Short key of a body. */
export type WebhookKey = keyof typeof WEBHOOK_KEYS

/** Keys of a launch place inside `lf` and `mt`. */
export const LAUNCH_KEYS = {
  pa: 'programAddress',
  pf: 'protocolFamily',
  pn: 'protocolName',
} as const

/** One webhook channel: where its events come from and which keys its body has, in order. */
export interface WebhookChannelRow {
  readonly chain: string
  readonly topic: Topic
  readonly keys: readonly WebhookKey[]
}

/** Every webhook channel, by the name that is also the event type. Endpoints without a list get a new one at once. */
export const WEBHOOK_CHANNELS = {
  'sol.token.created': {
    chain: 'sol',
    topic: 'tokensCreated',
    keys: ['a', 'n', 's', 'dec', 'cts', 'lf'],
  },
  'sol.token.migrated': {
    chain: 'sol',
    topic: 'tokensMigrated',
    keys: ['a', 'n', 's', 'cts', 'lf', 'mt'],
  },
} as const satisfies Record<string, WebhookChannelRow>

/** Name of a webhook channel. */
export type WebhookChannel = keyof typeof WEBHOOK_CHANNELS

/** Every channel name, in the table's order. */
export const WEBHOOK_CHANNEL_NAMES = Object.keys(WEBHOOK_CHANNELS) as readonly WebhookChannel[]
