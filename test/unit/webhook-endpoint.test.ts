import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { addressRules } from '../../core/http/guarded-client.ts'
import { makeSecretCipher } from '../../core/security/encryption.ts'
import type { UpdateWebhookById } from '../../schemas/api/webhook.ts'
import type { WebhookEndpoint, WebhookRequest } from '../../schemas/wire.ts'
import { prepareUpdate } from '../../serving/webhooks/endpoint-update.ts'
import {
  createIdempotencyStore,
  findStoredResponse,
  parseIdempotencyKey,
} from '../../serving/webhooks/idempotency.ts'
import { buildWebhookEndpoint } from '../support/builders/webhook-endpoint.ts'

const cipher = makeSecretCipher('pepper', 'webhooks')
const NOW = 1_763_640_000_000
const DAY = 86_400_000

const endpoint = (change: Partial<WebhookEndpoint> = {}): WebhookEndpoint =>
  buildWebhookEndpoint({ first_failure_at: 5, enabled_at: 7, ...change })

const changed = async (
  body: UpdateWebhookById,
  known: WebhookEndpoint = endpoint(),
): Promise<WebhookEndpoint> => {
  const deps = { cipher, rulesOf: () => addressRules([]), nowMs: () => NOW }
  return (await prepareUpdate({ ...deps, resolve: async () => ['93.184.216.34'] }, 'org_1', body))(
    known,
  )
}

test('webhook endpoint: an update while it is enabled keeps its waiting messages eligible', async () => {
  const elsewhere = 'https://good.example/other'
  const bodies: readonly (readonly [UpdateWebhookById, number])[] = [
    [{ disabled: false }, 0],
    [{ disabled: null }, 0],
    [{ url: 'https://good.example/hook', description: 'whole body again' }, 5],
    [{ url: elsewhere }, 0],
    [{ url: elsewhere, disabled: false }, 0],
    [{ description: 'x' }, 5],
  ]
  for (const [body, failedAt] of bodies) {
    const next = await changed(body)
    assert.deepEqual([next.enabled_at, next.first_failure_at], [7, failedAt], JSON.stringify(body))
  }
  assert.equal((await changed({ url: elsewhere })).url, elsewhere)
})

test('webhook endpoint: enabling it again sets the time and clears its failures', async () => {
  const off = endpoint({ disabled: true, disabled_reason: 'failing', disabled_at: 3 })
  const on = await changed({ disabled: false }, off)
  assert.deepEqual(on, { ...endpoint(), first_failure_at: 0, enabled_at: NOW })
  assert.deepEqual(await changed({ disabled: true }, off), off)
  const stopped = await changed({ disabled: true })
  assert.deepEqual([stopped.disabled_reason, stopped.disabled_at], ['user', NOW])
})

test('webhook endpoint: a masked user in the URL keeps the stored one only for the same target', async () => {
  const known = endpoint({ user_enc: cipher.seal('me:secret', 'ep_1') })
  const path = await changed({ url: 'https://***:***@good.example/new' }, known)
  assert.deepEqual([path.url, path.user_enc], ['https://good.example/new', known.user_enc])
  for (const url of [
    ...['https://***:***@other.example/hook', 'https://***:***@good.example:8443/hook'],
    'https://***:***@sub.good.example/hook',
  ]) {
    await assert.rejects(changed({ url }, known), { name: 'Fault', code: 52010 }, url)
  }
  const none = changed({ url: 'https://***:***@good.example/' }, endpoint({ url: '' }))
  await assert.rejects(none, { name: 'Fault', code: 52010 }, 'nothing was given yet')
  const named = await changed({ url: 'https://you:new@good.example/hook' }, known)
  assert.equal(cipher.open(named.user_enc, 'ep_1'), 'you:new')
  assert.equal((await changed({ url: 'https://good.example/hook' }, known)).user_enc, '')
})

const codec = localCodec()
const bookAt = (clock: { nowMs: number }) => {
  const book = createIdempotencyStore(codec, () => clock.nowMs)
  const keep = (request: WebhookRequest): readonly string[] => {
    const records = book.recordsOf(request)
    for (const { key, value } of records) {
      book.put(key, value && codec.decode('control.WebhookRequest', value))
    }
    return records.filter(({ value }) => value === null).map(({ key }) => key)
  }
  return { book, keep }
}
const request = (key_hash: string, created_at: number, org_id = 'org_1'): WebhookRequest => ({
  org_id,
  key_hash,
  body_hash: 'b',
  response: `{"id":"${key_hash}"}`,
  created_at,
})

test('an idempotent response is kept a day for its organization and removed with the next request', () => {
  const clock = { nowMs: NOW }
  const { book, keep } = bookAt(clock)
  assert.deepEqual(keep(request('one', NOW)), [])
  assert.equal(book.find('org_1', 'one')?.response, '{"id":"one"}')
  assert.equal(book.find('org_2', 'one'), undefined)
  clock.nowMs = NOW + DAY - 1
  assert.ok(book.find('org_1', 'one'))
  clock.nowMs = NOW + DAY
  assert.equal(book.find('org_1', 'one'), undefined)
  assert.deepEqual(keep(request('two', clock.nowMs, 'org_2')), [])
  assert.deepEqual(keep(request('one', clock.nowMs)), [], 'the same key again replaces')
  clock.nowMs += DAY
  assert.deepEqual(keep(request('three', clock.nowMs)), ['org_1/one'])
})

test('1,000 idempotency keys are kept per organization; the oldest are removed first', () => {
  const clock = { nowMs: NOW }
  const { book, keep } = bookAt(clock)
  const ended = Array.from({ length: 1_003 }, (_, index) => keep(request(`k${index}`, NOW))).flat()
  assert.deepEqual(ended, ['org_1/k0', 'org_1/k1', 'org_1/k2'])
  assert.equal(book.find('org_1', 'k2'), undefined)
  assert.ok(book.find('org_1', 'k3'))
})

test('an idempotent request is identified by key and body, and its text is not stored', () => {
  const call = parseIdempotencyKey('org_1', 'key-of-mine', { url: 'https://good.example/' })
  assert.ok(call)
  assert.deepEqual(parseIdempotencyKey('org_1', undefined, {}), undefined)
  for (const wrong of ['short', 'x'.repeat(256), 'with a space']) {
    assert.throws(() => parseIdempotencyKey('org_1', wrong, {}), { name: 'Fault', code: 40002 })
  }
  const { book, keep } = bookAt({ nowMs: NOW })
  keep({ ...call, response: '{"id":"ep_1"}', created_at: NOW })
  assert.deepEqual(findStoredResponse(book, call), { id: 'ep_1' })
  assert.equal(findStoredResponse(book, undefined), undefined)
  const other = parseIdempotencyKey('org_1', 'key-of-mine', { url: 'https://other.example/' })
  assert.throws(() => findStoredResponse(book, other), { name: 'Fault', code: 40901 })
})
