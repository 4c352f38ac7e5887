import { createHash } from 'node:crypto'
import {
  type LAUNCH_KEYS,
  WEBHOOK_CHANNELS,
  type WebhookChannel,
  type WebhookKey,
} from '../../schemas/webhooks.ts'
import type { EventMeta, Instruction, Launch, TokenEvent, TokenEvents } from '../../schemas/wire.ts'

/** Value of a key of a webhook body. */
type BodyValue = string | number | Readonly<Record<keyof typeof LAUNCH_KEYS, string>>

/** What a webhook says, before it has its place in the channel. */
export interface WebhookEvent {
  /** `msg_...`: the same for ever, on every endpoint, attempt, replay and branch of the chain. */
  readonly id: string
  readonly channel: WebhookChannel
  /** Block time, epoch milliseconds. */
  readonly timeMs: number
  readonly data: Readonly<Partial<Record<WebhookKey, BodyValue>>>
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

const CROCKFORD_ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CROCKFORD_BITS = 5
const ID_LENGTH = 26

/** Longest name or symbol, UTF-8 bytes. */
const MAX_TEXT_BYTES = 256

/** `msg_` and the first 26 Crockford base32 characters of SHA-256 over the subject. */
export const messageId = (
  channel: string,
  tokenAddress: string,
  tx: string,
  path: string,
): string => {
  const digest = createHash('sha256').update(`${channel}|${tokenAddress}|${tx}|${path}`).digest()
  let text = 'msg_'
  for (let bit = 0; bit < ID_LENGTH * CROCKFORD_BITS; bit += CROCKFORD_BITS) {
    const sixteen = digest.readUInt16BE(bit >> 3)
    text += CROCKFORD_ALPHABET.charAt((sixteen >> (16 - CROCKFORD_BITS - (bit & 7))) & 31)
  }
  return text
}

/** Where in its transaction an event happened: `3`, or `3.1` inside another instruction. */
const instructionPath = (instruction: Instruction | null): string => {
  if (instruction === null) return ''
  const { index, is_inner_instruction: isInner, inner_instruction_index: inner } = instruction
  return isInner ? `${index}.${inner}` : String(index)
}

/** Cut between characters, so that what is left is text. */
const truncateUtf8 = (text: string): string => {
  if (Buffer.byteLength(text) <= MAX_TEXT_BYTES) return text
  let bytes = 0
  let kept = ''
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > MAX_TEXT_BYTES) break
    kept += character
  }
  return kept
}

const launchBody = (launch: Launch | null): BodyValue | undefined =>
  launch === null
    ? undefined
    : { pa: launch.program_address, pf: launch.protocol_family, pn: launch.protocol_name }

const VALUE_BY_KEY: Readonly<Record<WebhookKey, (event: TokenEvent) => BodyValue | undefined>> = {
  a: ({ token }) => token?.address ?? '',
  n: ({ token }) => truncateUtf8(token?.name ?? ''),
  s: ({ token }) => truncateUtf8(token?.symbol ?? ''),
  dec: ({ token }) => (token === null || token.decimals < 0 ? undefined : token.decimals),
  cts: ({ created_at }) => created_at,
  lf: ({ launch_from }) => launchBody(launch_from),
  mt: ({ migrated_to }) => launchBody(migrated_to),
}

/** Webhook events of a record; a retraction gives none, because a webhook is never taken back. */
export const webhookEvents = (
  channel: WebhookChannel,
  { meta, events }: TokenEvents,
): readonly WebhookEvent[] =>
  meta === null || meta.op !== 'OP_APPLY'
    ? []
    : events.map((event) => webhookEvent(channel, meta, event))

const webhookEvent = (
  channel: WebhookChannel,
  meta: EventMeta,
  event: TokenEvent,
): WebhookEvent => {
  const tokenAddress = event.token?.address ?? ''
  const tx = event.transaction?.signature || event.created_tx
  const path = instructionPath(event.instruction)
  const entries = WEBHOOK_CHANNELS[channel].keys.flatMap((key) => {
    const value = VALUE_BY_KEY[key](event)
    return value === undefined ? [] : [[key, value] as const]
  })
  return {
    id: messageId(channel, tokenAddress, tx, path),
    channel,
    timeMs: event.block?.timestamp || meta.block_time,
    data: Object.fromEntries(entries),
    chain: meta.chain,
    tokenAddress,
    slot: meta.slot,
    tx,
    path,
    commitment: meta.commitment.replace('COMMITMENT_', '').toLowerCase(),
  }
}

/** The body as it is signed and sent, once and for all attempts. `reference` leaves our own fields out. */
export const webhookBody = (
  event: WebhookEvent,
  { lane, seq }: ChannelSequence,
  payload: 'full' | 'reference',
): string => {
  const { id, channel, timeMs: timestamp, data, chain, slot, tx, path: ix, commitment } = event
  if (payload === 'reference') return JSON.stringify({ channel, timestamp, data })
  const meta = { chain, slot, tx, ix, commitment, lane, seq }
  return JSON.stringify({ channel, timestamp, data, id, type: channel, meta })
}
