import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Fault } from '../../core/errors.ts'
import { makeSecretCipher } from '../../core/security/encryption.ts'
import type { TokenEvents } from '../../schemas/wire.ts'
import { decideEndpointAction, updateHealth } from '../../serving/webhooks/attempt.ts'
import { matchesEventType, rotateSecrets } from '../../serving/webhooks/endpoint.ts'
import {
  activeSecrets,
  createCredentialCache,
} from '../../serving/webhooks/endpoint-credentials.ts'
import { EndpointQueue } from '../../serving/webhooks/endpoint-queue.ts'
import { webhookEvents } from '../../serving/webhooks/event-mappers.ts'
import { compileFilter } from '../../serving/webhooks/filter.ts'
import { messageId, webhookBody } from '../../serving/webhooks/message.ts'
import {
  type AttemptResult,
  decideRetry,
  parseRetryAfter,
  type RetryDecision,
} from '../../serving/webhooks/retry-policy.ts'
import { generateSecret, parseSecret, signatureHeaders } from '../../serving/webhooks/signature.ts'
import { buildTokenEvent, buildTokenRecord } from '../support/webhook-stack.ts'

const codec = localCodec()
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** A published vector: id, time, secret, body and the signatures of every scheme. */
const VECTOR = {
  id: 'msg_01JD0000000000000000000000',
  secrets: ['whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY'],
  nowMs: 1_763_640_000_000,
  body: '{"channel":"sol.token.created","timestamp":1763640000000,"data":{"a":"6p6xgHyF7AeE6TZkSmFsko444wqoP15icUSqi2jfGiPN","n":"Example Token","s":"EXT","dec":9,"cts":1763640000000,"lf":{"pa":"6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P","pf":"pump_fun","pn":"Pump.fun"}}}',
}

test('the webhook signature vector is valid in every family of headers', () => {
  const headers = signatureHeaders({ ...VECTOR, legacy: true, svix: true })
  const signature = 'v1,ThHzTebIu5R/GibsI9zaH6bYjKyd+w9oMisJLkbhV7o='
  assert.deepEqual(headers, {
    'webhook-id': VECTOR.id,
    'webhook-timestamp': '1763640000',
    'webhook-signature': signature,
    'svix-id': VECTOR.id,
    'svix-timestamp': '1763640000',
    'svix-signature': signature,
    'x-webhook-timestamp': '1763640000000',
    'x-webhook-signature': '36345b884f70858ab470bd40c49960f2095831b9e3f1467fdc91a78ab6b6bf09',
  })
  assert.deepEqual(Object.keys(signatureHeaders({ ...VECTOR, legacy: false, svix: false })), [
    ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  ])
})

test('the body of the webhook signature vector equals a created event byte for byte', () => {
  const mint = '6p6xgHyF7AeE6TZkSmFsko444wqoP15icUSqi2jfGiPN'
  const [event] = eventsOf(createdRecord(mint, 'OP_APPLY'))
  assert.ok(event)
  const place = { lane: 0, seq: 1 }
  assert.equal(webhookBody(event, place, 'reference'), VECTOR.body)
  const full = JSON.parse(webhookBody(event, place, 'full'))
  assert.deepEqual(Object.keys(full), ['channel', 'timestamp', 'data', 'id', 'type', 'meta'])
  assert.equal(full.id, messageId('sol.token.created', mint, 'sig', '4'))
  assert.deepEqual(eventsOf(createdRecord(mint, 'OP_REVERT')), [])
})

const eventsOf = (record: TokenEvents) => [
  ...webhookEvents(['token.created'], 'tokensCreated', record, {
    chain: 'sol',
    hasSubject: () => true,
    hasPriceLevel: () => false,
    crossedLevels: () => [],
    swapPrice: () => undefined,
  }),
]

const createdRecord = (
  mint: string,
  op: 'OP_APPLY' | 'OP_REVERT',
  name = 'Example Token',
): TokenEvents => {
  const event = buildTokenEvent(mint, {
    instruction: { index: 4 },
    transaction: { signature: 'sig' },
    token: { address: mint, name, symbol: 'EXT', decimals: 9 },
  })
  const record = buildTokenRecord([event], { op, timeMs: 1_763_640_000_000 })
  return codec.decode('token.TokenEvents', codec.encode('token.TokenEvents', record))
}

test("a webhook message id is 130 bits of the subject's hash in Crockford base32", () => {
  const digest = createHash('sha256').update('c|m|t|1.2').digest('hex')
  const bits = BigInt(`0x${digest}`).toString(2).padStart(256, '0').slice(0, 130)
  const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  const text = (bits.match(/.{5}/g) ?? []).map((five) => letters[Number.parseInt(five, 2)]).join('')
  assert.equal(messageId('c', 'm', 't', '1.2'), `msg_${text}`)
  assert.notEqual(messageId('c', 'm', 't', '1.3'), `msg_${text}`)
})

test('long names in webhook payloads are cut between characters', () => {
  const record = createdRecord('m', 'OP_APPLY', '😀'.repeat(100))
  const [event] = eventsOf(record)
  assert.equal(event?.data.n, '😀'.repeat(64))
})

test('webhook secrets: generated ones are valid, and given ones are checked', () => {
  assert.match(generateSecret(), /^whsec_[A-Za-z0-9+/]{43}=$/)
  const bytes = Buffer.alloc(24, 7).toString('base64')
  assert.equal(parseSecret(bytes), `whsec_${bytes}`)
  assert.equal(parseSecret(`whsec_${bytes}`), `whsec_${bytes}`)
  for (const wrong of [
    '',
    'whsec_',
    'short',
    'x'.repeat(200),
    `${'a'.repeat(32)}!`,
    'A'.repeat(33),
  ])
    assert.throws(() => parseSecret(wrong), { name: 'Fault', code: 52012 }, wrong)
})

test('a rotated webhook secret signs until its grace period ends, and the stock verifier accepts it', () => {
  const sealer = makeSecretCipher('pepper', 'webhooks')
  const [old, fresh] = [generateSecret(), generateSecret()]
  const first = [{ sealed: sealer.seal(old, 'ep'), created_at: 0, expires_at: 0 }]
  const nowMs = Date.now()
  const secrets = rotateSecrets(first, sealer.seal(fresh, 'ep'), { nowMs, graceMs: HOUR })
  const at = (time: number) => activeSecrets({ endpoint_id: 'ep', secrets }, sealer, time)
  assert.deepEqual(at(nowMs + HOUR - 1), [fresh, old])
  assert.deepEqual(at(nowMs + HOUR), [fresh])
  assert.throws(() => activeSecrets({ endpoint_id: 'other', secrets }, sealer, nowMs))
  const credentialsOf = createCredentialCache(sealer)
  const kept = { endpoint_id: 'ep', user_enc: sealer.seal('me:pass', 'ep'), secrets }
  const isUser = { user: 'me:pass' }
  assert.deepEqual(credentialsOf(kept, nowMs), { ...isUser, secrets: [fresh, old] })
  assert.equal(credentialsOf(kept, nowMs), credentialsOf(kept, nowMs + HOUR - 1), 'opened once')
  assert.deepEqual(credentialsOf(kept, nowMs + HOUR), { ...isUser, secrets: [fresh] })
  assert.deepEqual(credentialsOf({ ...kept, user_enc: '', secrets: first }, nowMs), {
    user: '',
    secrets: [old],
  })
  assert.throws(() => credentialsOf({ ...kept, endpoint_id: 'other' }, nowMs), {
    name: 'InvalidInput',
  })
  const signed = (list: readonly string[]) =>
    signatureHeaders({ id: 'msg_1', body: '{}', secrets: list, nowMs, legacy: false, svix: false })
  for (const secret of [old, fresh]) new Webhook(secret).verify('{}', signed(at(nowMs)))
  assert.throws(() => new Webhook(old).verify('{}', signed(at(nowMs + HOUR))))
  const many = Array.from({ length: 20 }).reduce<ReturnType<typeof rotateSecrets>>(
    (list) => rotateSecrets(list, 'x', { nowMs, graceMs: HOUR }),
    first,
  )
  assert.equal(many.length, 11, 'ten old ones at most')
})

const SCHEDULE = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map((s) => s * 1_000)
const outcome = (change: Partial<AttemptResult> = {}): AttemptResult => ({
  status: 500,
  errorKind: 'status',
  error: '',
  response: '',
  durationMs: 1,
  retryAfterMs: null,
  directive: null,
  ...change,
})
const decisionAt = (
  attempt: number,
  change: Partial<AttemptResult> = {},
  random = 0.5,
): RetryDecision =>
  decideRetry(outcome(change), {
    attempt,
    trigger: 'scheduled',
    scheduleMs: SCHEDULE,
    nowMs: 0,
    random: () => random,
  })

test('a webhook message has eight attempts with the documented delays and a jitter of a fifth', () => {
  const pauses = Array.from({ length: 7 }, (_, index) => decisionAt(index + 1).nextAtMs)
  assert.deepEqual(pauses, SCHEDULE.slice(1))
  assert.deepEqual(decisionAt(8), {
    status: 'fail',
    nextAtMs: null,
    disable: null,
    exhausted: true,
  })
  assert.equal(decisionAt(3, {}, 0).nextAtMs, 1_440_000)
  assert.equal(decisionAt(3, {}, 1).nextAtMs, 2_160_000)
})

test('the response to a webhook decides about the next attempt', () => {
  const table: readonly (readonly [string, Partial<AttemptResult>, Partial<RetryDecision>])[] = [
    ['2xx', { status: 204, errorKind: null }, { status: 'success', nextAtMs: null }],
    ['redirect', { status: 302 }, { status: 'pending', nextAtMs: 5_000 }],
    ['gone', { status: 410 }, { status: 'fail', disable: 'gone', nextAtMs: null }],
    ['429', { status: 429 }, { nextAtMs: MINUTE }],
    ['timeout', { status: 0, errorKind: 'timeout' }, { nextAtMs: MINUTE }],
    ['retry-after short', { status: 503, retryAfterMs: 1_000 }, { nextAtMs: 5_000 }],
    ['retry-after', { status: 503, retryAfterMs: 7_000 }, { nextAtMs: 7_000 }],
    ['retry-after long', { status: 503, retryAfterMs: HOUR }, { nextAtMs: 10_000 }],
    ['abort', { directive: 'abort-message' }, { status: 'fail', exhausted: false, disable: null }],
    [
      'disable',
      { status: 200, errorKind: null, directive: 'disable' },
      { status: 'success', disable: 'receiver' },
    ],
    ['disable in a failure', { directive: 'disable' }, { status: 'fail', disable: 'receiver' }],
  ]
  for (const [name, change, expected] of table) {
    const decision = decisionAt(1, change)
    assert.deepEqual({ ...decision, ...expected }, decision, name)
  }
  const manual = {
    attempt: 1,
    trigger: 'manual',
    scheduleMs: SCHEDULE,
    nowMs: 0,
    random: () => 0,
  } as const
  assert.equal(decideRetry(outcome(), manual).nextAtMs, null)
})

test('Retry-After is parsed in seconds and as a date', () => {
  const nowMs = Date.UTC(2026, 10, 20, 12)
  assert.equal(parseRetryAfter('120', nowMs), 120_000)
  assert.equal(parseRetryAfter('Fri, 20 Nov 2026 12:01:00 GMT', nowMs), MINUTE)
  assert.equal(parseRetryAfter('Fri, 20 Nov 2026 11:00:00 GMT', nowMs), 0)
  for (const wrong of [undefined, '', '-1', '1e9', 'soon', '2026-11-20']) {
    assert.equal(parseRetryAfter(wrong, nowMs), null)
  }
})

test('a webhook endpoint is disabled after five days of exhausted messages, never by one failing message', () => {
  const exhausted: RetryDecision = {
    status: 'fail',
    nextAtMs: null,
    disable: null,
    exhausted: true,
  }
  const day = 24 * HOUR
  const sick = { first_failed_at: 1, last_failed_at: 5 * day + 1, failed_attempts: 10 }
  const fate = (first_failure_at: number, nowMs: number, health = sick) =>
    decideEndpointAction({ first_failure_at }, exhausted, { health, nowMs })
  assert.deepEqual(fate(0, day), { kind: 'start-clock' })
  assert.deepEqual(fate(1, 5 * day), { kind: 'none' })
  assert.deepEqual(fate(1, 5 * day + 1), { kind: 'disable', reason: 'failing' })
  assert.deepEqual(fate(1, 9 * day, { ...sick, failed_attempts: 9 }), { kind: 'none' })
  assert.deepEqual(fate(1, 9 * day, { ...sick, last_failed_at: 11 * HOUR }), { kind: 'none' })
  const success: RetryDecision = { ...exhausted, status: 'success', exhausted: false }
  assert.deepEqual(
    decideEndpointAction({ first_failure_at: 1 }, success, { health: sick, nowMs: 2 }),
    {
      kind: 'stop-clock',
    },
  )
  assert.equal(updateHealth(sick, success, 3).failed_attempts, 0)
  assert.equal(updateHealth(sick, exhausted, 3).failed_attempts, 11)
})

const EVENT = {
  channel: 'sol.token.created' as const,
  timeMs: 1_763_640_000_000,
  data: {
    a: 'Mint',
    n: 'USDC',
    s: 'USDC',
    dec: 6,
    cts: 1_763_640_000_000,
    lf: { pa: 'p', pf: 'pump_fun', pn: 'Pump.fun' },
  },
}

test('webhook filters accept short and long names; an absent field matches nothing', () => {
  const table: Readonly<Record<string, string>> = {
    'name == "USDC"': 'match',
    'launchFrom.protocolFamily == "pump_fun"': 'match',
    'data.lf.pf.startsWith("meteora")': 'no-match',
    'decimals == 6 && data.dec < 7.0': 'match',
    'data.cts > 1763639999999': 'match',
    'type == "sol.token.created"': 'match',
    'type(data.dec) == double && channel == type': 'match',
    'timestamp == 1763640000000': 'match',
    'symbol in ["USDC", "USDT"]': 'match',
    '["a", "USDC"].exists(x, x == symbol)': 'match',
    '[1, 2, 3].all(x, [4, 5, 6].all(y, x < y))': 'match',
    '["pump_fun", "moonit_fun"].exists(f, ["USDC"].exists(s, data.lf.pf == f && name == s))':
      'match',
    'migratedTo.protocolFamily == "raydium"': 'error',
    'has(data.mt) && data.mt.pf == "raydium"': 'no-match',
    'data.nothing == 1': 'error',
    'tokenAddress == "type"': 'no-match',
  }
  for (const [source, expected] of Object.entries(table)) {
    assert.equal(compileFilter(source)(EVENT), expected, source)
  }
})

test('invalid webhook filters are refused with the position of the mistake', () => {
  const table: readonly (readonly [string, number | undefined])[] = [
    ['name ==', 7],
    ['name == "a" && unknown == 1', 15],
    ['1 + 1', 0],
    ['name.matches("(a+)+$")', undefined],
    ['data.list.exists(x, x == 1)', undefined],
    ['data.list.map(x, x * 2).size() > 1', undefined],
    [Array.from({ length: 120 }, () => 'true').join(' && '), undefined],
    [`"${'x'.repeat(2_050)}" == name`, undefined],
    [`${'['.repeat(30)}1${']'.repeat(30)} == name`, undefined],
  ]
  for (const [source, position] of table) {
    assert.throws(
      () => compileFilter(source),
      (error: unknown) => {
        assert.ok(error instanceof Fault, source)
        assert.equal(error.code, 52011)
        assert.equal(typeof error.details?.position, 'number')
        if (position !== undefined) assert.equal(error.details?.position, position, source)
        return true
      },
      source,
    )
  }
})

test('a webhook filter above the cost limit is refused at any nesting', () => {
  const digits = '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]'
  const nested = (levels: number): string =>
    Array.from({ length: levels }, (_, level) => level).reduceRight(
      (inner, level) => `${digits}.all(x${level}, ${inner})`,
      'data.dec < 7',
    )
  assert.equal(compileFilter(nested(2))(EVENT), 'match')
  const doubled = Array.from({ length: 6 }, (_, level) => 6 - level).reduce((inner, level) => {
    const before = level === 1 ? 'name' : `k${level - 1}`
    const many = Array.from({ length: 5 }, () => before).join(', ')
    return `cel.bind(k${level}, [${many}], ${inner})`
  }, '[k6, 1] == [k6, 2]')
  const zones = `${digits}.all(x, ${digits}.all(y, timestamp(1).getHours("Asia/Tokyo") < x + y))`
  const joined = 'name.split("").join(name).split("").join(name).size() > 1'
  for (const source of [nested(4), nested(6), doubled, zones, joined]) {
    assert.throws(() => compileFilter(source), { name: 'Fault', code: 52011 }, source)
  }
})

test('a filter may read the time in a named zone nine times at most', () => {
  const zones = (count: number): string =>
    Array.from({ length: count }, () => 'timestamp(1).getHours("Asia/Tokyo") >= 0').join(' && ')
  assert.equal(compileFilter(zones(9))(EVENT), 'match')
  assert.throws(() => compileFilter(zones(10)), { name: 'Fault', code: 52011 })
})

test('the heaviest accepted webhook filters are evaluated within the time limit', () => {
  const names = Array.from({ length: 90 }, (_, index) => `"name${index}"`).join(', ')
  const heavy = [
    `[${names}].exists(x, name.contains(x) && symbol.startsWith(x))`,
    `[${names}].exists(x, ["pump", "moon"].exists(y, x + y == data.lf.pf))`,
  ]
  for (const source of heavy) {
    const filter = compileFilter(source)
    for (let round = 0; round < 50; round += 1) filter(EVENT)
    const startedMs = performance.now()
    for (let round = 0; round < 100; round += 1) filter(EVENT)
    const eachMs = (performance.now() - startedMs) / 100
    assert.ok(eachMs < 25, `${eachMs} ms: ${source}`)
  }
})

test('a star in a webhook event type stands for the last segment only', () => {
  assert.ok(matchesEventType('sol.token.*', 'sol.token.created'))
  assert.ok(!matchesEventType('sol.*', 'sol.token.created'))
  assert.ok(!matchesEventType('*', 'sol.token.created'))
  assert.ok(!matchesEventType('sol.token.cre*', 'sol.token.created'))
  assert.ok(matchesEventType('sol.token.created', 'sol.token.created'))
})

test('a webhook queue starts due messages in order of due time, within its pace', () => {
  const queue = new EndpointQueue()
  for (const [key, dueAtMs] of [
    ['c', 30],
    ['a', 10],
    ['b', 20],
    ['d', 500],
  ] as const) {
    queue.add({ key, dueAtMs, queuedAtMs: 0 })
  }
  const pace = { inFlight: 2, perSecond: null }
  const started = (nowMs: number): string => {
    const next = queue.next(nowMs, pace)
    return next.kind === 'start' ? next.delivery.key : next.kind
  }
  assert.deepEqual([started(5), started(40), started(40), started(40)], ['wait', 'a', 'b', 'idle'])
  queue.answered()
  assert.deepEqual([started(40), queue.size, queue.busy], ['c', 1, 3])
  queue.answered()
  queue.recorded()
  queue.recorded()
  queue.reduceRate(40)
  assert.equal(started(600), 'idle', 'eased: one at a time')
  assert.deepEqual(queue.clear(), [{ key: 'd', dueAtMs: 500, queuedAtMs: 0 }])
})

test('webhook rate limit: a full bucket at first, then the rate per second', () => {
  const queue = new EndpointQueue()
  for (let index = 0; index < 20; index += 1)
    queue.add({ key: String(index), dueAtMs: 0, queuedAtMs: 0 })
  const times: number[] = []
  for (let nowMs = 1_000; queue.size > 0; ) {
    const next = queue.next(nowMs, { inFlight: 100, perSecond: 2 })
    if (next.kind === 'start') times.push(nowMs)
    else nowMs = next.kind === 'wait' ? next.untilMs : nowMs + 1
  }
  assert.deepEqual(times.slice(0, 4), [1_000, 1_000, 1_500, 2_000])
  assert.equal(times.at(-1), 10_000)
})

test('webhook rate limit: a clock that goes back an hour delays nothing beyond the rate', () => {
  const queue = new EndpointQueue()
  for (let index = 0; index < 8; index += 1)
    queue.add({ key: String(index), dueAtMs: 0, queuedAtMs: 0 })
  const limits = { inFlight: 100, perSecond: 5 }
  const nowMs = 10_000_000
  for (let index = 0; index < 5; index += 1) {
    assert.equal(queue.next(nowMs, limits).kind, 'start')
  }
  const backMs = nowMs - 3_600_000
  assert.deepEqual(queue.next(backMs, limits), { kind: 'wait', untilMs: backMs + 200 })
  assert.equal(queue.next(backMs + 200, limits).kind, 'start')
})
