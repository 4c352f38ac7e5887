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

/** Lifetime of an idempotency key. */
const IDEMPOTENCY_TTL_MS = DAY_MS
/** Keys of one organization; beyond that the oldest are removed. */
const MAX_KEYS_PER_ORG = 1_000
const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{8,255}$/

/** Create calls with an idempotency key, and their responses. */
export interface IdempotencyStore {
  put(recordKey: string, request: WebhookRequest | null): void
  find(orgId: string, keyHash: string): WebhookRequest | undefined
  /** Records that store a request, and tombstones of expired or surplus ones of its organization. */
  recordsOf(request: WebhookRequest): readonly ProducerRecord[]
}

/** A create call under its idempotency key. */
export type IdempotentRequest = Pick<WebhookRequest, 'org_id' | 'key_hash' | 'body_hash'>

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The key and hash of a call; undefined = without a key. Throws `Fault` for an invalid key. */
export const parseIdempotencyKey = (
  orgId: string,
  key: string | undefined,
  body: unknown,
): IdempotentRequest | undefined => {
  if (key === undefined) return undefined
  if (!IDEMPOTENCY_KEY_PATTERN.test(key)) {
    throw new Fault(
      'INVALID_PARAMETER',
      'Idempotency-Key must have 8 to 255 printable characters',
      {
        parameter: 'Idempotency-Key',
      },
    )
  }
  return { org_id: orgId, key_hash: sha256Hex(key), body_hash: sha256Hex(JSON.stringify(body)) }
}

/** The stored response of the key. Throws `Fault` IDEMPOTENCY_CONFLICT when the key was used with another body. */
export const findStoredResponse = (
  { find }: Pick<IdempotencyStore, 'find'>,
  call: IdempotentRequest | undefined,
): WebhookEndpointBody | undefined => {
  const stored = call && find(call.org_id, call.key_hash)
  if (!stored) return undefined
  if (stored.body_hash !== call.body_hash) throw new Fault('IDEMPOTENCY_CONFLICT')
  return JSON.parse(stored.response)
}

/** Starts empty. Records are put in the order of the log, so that each organization's oldest comes first. */
export const createIdempotencyStore = (codec: Codec, nowMs: () => number): IdempotencyStore => {
  const byOrg = new Map<string, Map<string, WebhookRequest>>()
  const isOld = ({ created_at }: WebhookRequest): boolean =>
    created_at <= nowMs() - IDEMPOTENCY_TTL_MS
  return {
    put: (recordKey, request) => {
      const [orgId = '', keyHash = ''] = recordKey.split('/')
      const requests = byOrg.get(orgId) ?? new Map<string, WebhookRequest>()
      requests.delete(keyHash)
      if (request) requests.set(keyHash, request)
      if (requests.size > 0) byOrg.set(orgId, requests)
      else byOrg.delete(orgId)
    },
    find: (orgId, keyHash) => {
      const request = byOrg.get(orgId)?.get(keyHash)
      return request && !isOld(request) ? request : undefined
    },
    recordsOf: (request) => {
      const requests = [...(byOrg.get(request.org_id)?.values() ?? [])]
      const tooMany = Math.max(0, requests.length + 1 - MAX_KEYS_PER_ORG)
      const expired = requests.filter((each, index) => index < tooMany || isOld(each))
      return [
        ...expired
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
