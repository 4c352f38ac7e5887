import { createHash } from 'node:crypto'
import type { WebhookChannel } from '../../schemas/webhooks.ts'
import { crockfordText } from './crockford.ts'

/** Value of a key of a webhook body. */
export type BodyValue = string | number | Readonly<Record<string, string>>

/** What `data` of a webhook says, by short key. */
export type BodyData = Readonly<Record<string, BodyValue>>

/** What a webhook says, before it has its place in the channel. */
export interface WebhookEvent {
  /** `msg_...`: the same for ever, on every endpoint, attempt, replay and branch of the chain. */
  readonly id: string
  readonly channel: WebhookChannel
  /** When it happened, epoch milliseconds: the block's time, of a candle its end. */
  readonly timeMs: number
  /** When it could be known, epoch milliseconds; what was known long ago is not delivered. */
  readonly knownMs: number
  readonly data: BodyData
  /** What an endpoint can name to get the event. */
  readonly subjects: readonly string[]
  readonly chain: string
  readonly tokenAddress: string
  readonly slot: number
  readonly tx: string
  readonly path: string
  readonly commitment: string
}

/** Place of an event: counts events of a channel within a lane, so that a gap shows. */
export interface ChannelSequence {
  readonly lane: number
  readonly seq: number
}

const ID_LENGTH = 26

/** `msg_` and the first 26 Crockford base32 characters of SHA-256 over the subject. */
export const messageId = (
  channel: string,
  tokenAddress: string,
  tx: string,
  path: string,
): string => {
  const subject = `${channel}|${tokenAddress}|${tx}|${path}`
  return `msg_${crockfordText(createHash('sha256').update(subject).digest(), ID_LENGTH)}`
}

/** The body as it is signed and sent, once and for all attempts. `reference` leaves our own fields out. */
export const webhookBody = (
  event: Omit<WebhookEvent, 'subjects' | 'tokenAddress' | 'knownMs'>,
  { lane, seq }: ChannelSequence,
  payload: 'full' | 'reference',
): string => {
  const { id, channel, timeMs: timestamp, data, chain, slot, tx, path: ix, commitment } = event
  if (payload === 'reference') return JSON.stringify({ channel, timestamp, data })
  const meta = { chain, slot, tx, ix, commitment, lane, seq }
  return JSON.stringify({ channel, timestamp, data, id, type: channel, meta })
}
