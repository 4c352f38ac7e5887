import type { WebhookKind } from '../../schemas/webhooks.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import type { BodyData } from './message.ts'

/** An event as its mapper makes it; the record that it came in gives the rest. */
export interface EventDraft {
  readonly kind: WebhookKind
  readonly timeMs: number
  readonly data: BodyData
  readonly subjects: readonly string[]
  readonly tokenAddress: string
  /** Transaction; with channel, token and path it makes one event. */
  readonly tx: string
  readonly path: string
}

/** What mappers ask while they read a record. */
export interface MapContext {
  readonly meta: EventMeta
  /** False: no endpoint names any of the subjects, so the event need not be made. */
  readonly wanted: (kind: WebhookKind, subjects: readonly string[]) => boolean
  /** Levels that endpoints wait for, US dollars. */
  readonly levelsOf: (token: string) => readonly number[]
  /** Notes a token's price and gives the one before it; undefined: none is known. */
  readonly swapPrice: (token: string, price: string) => string | undefined
}

/** How a price level is named as a subject. */
export const levelSubject = (token: string, level: number): string => `${token}@${level}`
