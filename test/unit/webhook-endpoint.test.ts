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

const sealer = makeSecretCipher('pepper', 'webhooks')
const NOW = 1_763_640_000_000
const DAY = 86_400_000

const endpoint = (change: Partial<WebhookEndpoint> = {}): WebhookEndpoint => ({
  subjects: [],
  price_levels: [],
  endpoint_id: 'ep_1',
  org_id: 'org_1',
  app_id: 'app_1',
  uid: '',
  url: 'https://good.example/hook',
  user_enc: '',
  channels: null,
  description: null,
  disabled: false,
  disabled_reason: '',
  disabled_at: 0,
  filter: null,
  filter_types: null,
  metadata: null,
  headers: {},
  rate_limit: null,
  secrets: [],
  first_failure_at: 5,
  enabled_at: 7,
  created_at: 1,
  updated_at: 1,
  version: 1,
  ...change,
})

const changed = async (
  body: UpdateWebhookById,
  known: WebhookEndpoint = endpoint(),
): Promise<WebhookEndpoint> => {
  const deps = { sealer, rulesOf: () => addressRules([]), nowMs: () => NOW }
  return (await prepareUpdate({ ...deps, resolve: async () => ['93.184.216.34'] }, 'org_1', body))(
    known,
  )
}

test('a change of an endpoint that is on leaves what waits for it good', async () => {
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

test('an endpoint that was off is on from now, with a clean record', async () => {
  const off = endpoint({ disabled: true, disabled_reason: 'failing', disabled_at: 3 })
  const on = await changed({ disabled: false }, off)
  assert.deepEqual(on, { ...endpoint(), first_failure_at: 0, enabled_at: NOW })
  assert.deepEqual(await changed({ disabled: true }, off), off)
  const stopped = await changed({ disabled: true })
  assert.deepEqual([stopped.disabled_reason, stopped.disabled_at], ['user', NOW])
})

test('the mask of a user stands for it where it was given, and nowhere else', async () => {
  const known = endpoint({ user_enc: sealer.seal('me:secret', 'ep_1') })
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
  assert.equal(sealer.open(named.user_enc, 'ep_1'), 'you:new')
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

test('an answered call is kept a day for its organization, then it ends with the next one', () => {
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

test('a thousand keys of one organization are kept, the oldest make room', () => {
  const clock = { nowMs: NOW }
  const { book, keep } = bookAt(clock)
  const ended = Array.from({ length: 1_003 }, (_, index) => keep(request(`k${index}`, NOW))).flat()
  assert.deepEqual(ended, ['org_1/k0', 'org_1/k1', 'org_1/k2'])
  assert.equal(book.find('org_1', 'k2'), undefined)
  assert.ok(book.find('org_1', 'k3'))
})

test('a call is the same with its key and body; its text is nowhere', () => {
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
