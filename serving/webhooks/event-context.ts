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

/** Context of the mappers of one record. */
export interface MapContext {
  readonly meta: EventMeta
  /** False: no endpoint names any of the subjects, so the event need not be made. */
  readonly hasSubject: (kind: WebhookKind, subjects: readonly string[]) => boolean
  /** True: an endpoint has a price level of the token. */
  readonly hasPriceLevel: (token: string) => boolean
  /** Price levels of all endpoints that a price crossed, US dollars, ascending. */
  readonly crossedLevels: (token: string, before: number, now: number) => readonly number[]
  /** Stores a token's price and returns the previous one; undefined: none is known. */
  readonly swapPrice: (token: string, price: string) => string | undefined
}

/** How a price level is named as a subject. */
export const levelSubject = (token: string, level: number): string => `${token}@${level}`
