import { createHash } from 'node:crypto'
import type { ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { Fault } from '../../core/errors.ts'
import { DAY_MS } from '../../core/time.ts'
import type { WebhookEndpointBody } from '../../schemas/api/webhook.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { WebhookRequest } from '../../schemas/wire.ts'

/** Control topic of answered create calls. */
export const REQUESTS_TOPIC = globalTopic('controlWebhookRequests')

/** How long an idempotency key is good. */
const IDEMPOTENCY_TTL_MS = DAY_MS
/** Keys of one organization; then the oldest are forgotten. */
const MAX_KEYS_PER_ORG = 1_000
const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{8,255}$/

/** Create calls that carried an idempotency key, with what they were answered. */
export interface IdempotencyStore {
  put(recordKey: string, request: WebhookRequest | null): void
  find(orgId: string, keyHash: string): WebhookRequest | undefined
  /** Records that keep a request, and end those of its organization that are too old or too many. */
  recordsOf(request: WebhookRequest): readonly ProducerRecord[]
}

/** A create call under its idempotency key. */
export type IdempotentRequest = Pick<WebhookRequest, 'org_id' | 'key_hash' | 'body_hash'>

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The call as it is remembered; undefined = without a key. Throws `Fault` for an invalid key. */
export const parseIdempotencyKey = (
  orgId: string,
  key: string | undefined,
  body: unknown,
): IdempotentRequest | undefined => {
  if (key === undefined) return undefined
  if (!IDEMPOTENCY_KEY_PATTERN.test(key)) {
    throw new Fault('INVALID_PARAMETER', 'Idempotency-Key has 8 to 255 printable characters', {
      parameter: 'Idempotency-Key',
    })
  }
  return { org_id: orgId, key_hash: sha256Hex(key), body_hash: sha256Hex(JSON.stringify(body)) }
}

/** What the call was answered when it came first. Throws `Fault` IDEMPOTENCY_CONFLICT when that was another call. */
export const findStoredResponse = (
  { find }: Pick<IdempotencyStore, 'find'>,
  call: IdempotentRequest | undefined,
): WebhookEndpointBody | undefined => {
  const before = call && find(call.org_id, call.key_hash)
  if (!before) return undefined
  if (before.body_hash !== call.body_hash) throw new Fault('IDEMPOTENCY_CONFLICT')
  return JSON.parse(before.response)
}

/** Empty. Records are put in the order of the log, so that each organization's oldest comes first. */
export const createIdempotencyStore = (codec: Codec, nowMs: () => number): IdempotencyStore => {
  const byOrg = new Map<string, Map<string, WebhookRequest>>()
  const isOld = ({ created_at }: WebhookRequest): boolean =>
    created_at <= nowMs() - IDEMPOTENCY_TTL_MS
  return {
    put: (recordKey, request) => {
      const [orgId = '', keyHash = ''] = recordKey.split('/')
      const own = byOrg.get(orgId) ?? new Map<string, WebhookRequest>()
      own.delete(keyHash)
      if (request) own.set(keyHash, request)
      if (own.size > 0) byOrg.set(orgId, own)
      else byOrg.delete(orgId)
    },
    find: (orgId, keyHash) => {
      const request = byOrg.get(orgId)?.get(keyHash)
      return request && !isOld(request) ? request : undefined
    },
    recordsOf: (request) => {
      const held = [...(byOrg.get(request.org_id)?.values() ?? [])]
      const tooMany = Math.max(0, held.length + 1 - MAX_KEYS_PER_ORG)
      const ended = held.filter((each, place) => place < tooMany || isOld(each))
      return [
        ...ended
          .filter(({ key_hash }) => key_hash !== request.key_hash)
          .map((each) => requestRecord(each, null)),
        requestRecord(request, codec.encode('control.WebhookRequest', request)),
      ]
    },
  }
}

const requestRecord = (
  { org_id, key_hash }: IdempotentRequest,
  value: Uint8Array | null,
): ProducerRecord => ({
  topic: REQUESTS_TOPIC,
  partition: 0,
  key: `${org_id}/${key_hash}`,
  value,
})
