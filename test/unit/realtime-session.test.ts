import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { runCommand } from '../../serving/realtime/dispatch-command.ts'
import {
  initialHeartbeat,
  nextHeartbeatAction,
  withPingSent,
} from '../../serving/realtime/heartbeat.ts'
import { JSON_FRAMES } from '../../serving/realtime/json-frames.ts'
import { createMeteredFilters } from '../../serving/realtime/metered-filters.ts'
import type { Command } from '../../serving/realtime/protocol.ts'
import { createFilterCompiler } from '../../serving/realtime/publication-filter.ts'
import { createSession, type Session, type SessionEnv } from '../../serving/realtime/session.ts'

const TRADES = 'dex-trade:eth_0x00000000000000000000000000000000000000a1'
const CANDLES = 'dex-candle:eth_0x00000000000000000000000000000000000000a1_1m'
const PRINCIPAL: Principal = {
  kind: 'api-key',
  orgId: 'org',
  appId: 'app',
  credentialId: 'key',
  plan: 'free',
  scopes: [],
  expiresAtMs: null,
}
const filterOf = createMeteredFilters(createFilterCompiler(), () => 0)
const world = (more: Partial<SessionEnv> = {}): SessionEnv => ({
  nowMs: 1_000_000,
  chains: new Set(['eth']),
  freshness: {},
  hasRoomFor: () => true,
  authenticate: () => PRINCIPAL,
  positionOf: (channel) => (channel.row.recoverable ? { epoch: 'E1', offset: 8_192 } : null),
  recover: () => ({
    recovered: true,
    publications: [{ data: '{}', offset: 5_000, kind: 'value' }],
    bytes: 2,
    filterSteps: 0,
  }),
  historyOf: () => ({ publications: [{ data: '{}', offset: 4_097, kind: 'value' }], bytes: 2 }),
  hasRoomForSubscription: () => true,
  filterOf,
  longNames: true,
  deltas: true,
  ...more,
})
const NOTHING_MISSED = { recovered: true, publications: [], bytes: 0, filterSteps: 0 } as const
const command = (text: string): Command => {
  const [first] = JSON_FRAMES.parse(Buffer.from(text)) ?? []
  assert.ok(first, text)
  return first
}
/** Runs a command; its reply as text. */
const run = (session: Session, asked: Command, env: SessionEnv) => {
  const { reply, ...outcome } = runCommand(session, asked, env)
  return { ...outcome, ...(reply && { reply: String(JSON_FRAMES.formatReply(reply)) }) }
}
const fresh = (): Session =>
  createSession(
    'client',
    {},
    {
      encoding: 'json',
      framePings: false,
      nowMs: 1_000_000,
    },
  )
const connected = (more: Partial<Session> = {}): Session => ({
  ...fresh(),
  phase: 'connected',
  principal: PRINCIPAL,
  ...more,
})
const fault = (
  name: 'UNAUTHORIZED' | 'FORBIDDEN' | 'DATABASE_ERROR' | 'RATE_LIMIT',
  reason: string,
) => new Fault(name, undefined, { reason })

test('connect replies and close codes for each credential', () => {
  const connect = command('{"connect":{"token":"T","name":"js"},"id":1}')
  const cases: readonly (readonly [Partial<SessionEnv>, string | number])[] = [
    [{}, '{"id":1,"connect":{"client":"client","version":"1.0.0","ping":25,"pong":true}}'],
    [
      { authenticate: () => ({ ...PRINCIPAL, expiresAtMs: 1_000_000 + 86_002_400 }) },
      '{"id":1,"connect":{"client":"client","version":"1.0.0","expires":true,"ttl":86002,"ping":25,"pong":true}}',
    ],
    [
      {
        freshness: {
          eth: { head: 9, headTimeMs: 90, headSlot: 9, since: 1, sinceTimeMs: 10, sinceSlot: 1 },
        },
      },
      '{"id":1,"connect":{"client":"client","version":"1.0.0","data":{"chains":{"eth":{"head":9,"head_time":90,"since":1,"since_time":10}}},"ping":25,"pong":true}}',
    ],
    [
      { authenticate: () => ({ ...PRINCIPAL, expiresAtMs: 1_000_000 }) },
      '{"id":1,"error":{"code":109,"message":"token expired"}}',
    ],
    [
      { authenticate: () => fault('UNAUTHORIZED', 'expired_token') },
      '{"id":1,"error":{"code":109,"message":"token expired"}}',
    ],
    [
      { authenticate: () => fault('DATABASE_ERROR', 'stale') },
      '{"id":1,"error":{"code":100,"message":"internal server error","temporary":true}}',
    ],
    [
      { authenticate: () => fault('RATE_LIMIT', 'wrong_signatures') },
      '{"id":1,"error":{"code":111,"message":"too many requests","temporary":true}}',
    ],
    [{ authenticate: () => undefined }, 3501],
    [{ authenticate: () => fault('UNAUTHORIZED', 'invalid_api_key') }, 3500],
    [{ authenticate: () => fault('FORBIDDEN', 'suspended') }, 3500],
    [{ authenticate: () => fault('FORBIDDEN', 'quota_exhausted') }, 4503],
    [{ hasRoomFor: () => false }, 3504],
  ]
  for (const [more, expected] of cases) {
    const { reply, close } = run(fresh(), connect, world(more))
    assert.equal(close?.code ?? reply, expected)
  }
})

test('the credential of the connect command takes precedence over that of the upgrade', () => {
  const seen: unknown[] = []
  const address = '192.0.2.1'
  const asking = world({
    authenticate: (credentials) => {
      seen.push(credentials)
      return PRINCIPAL
    },
  })
  const opened = createSession(
    'c',
    { token: 'url', address },
    {
      encoding: 'json',
      framePings: false,
      nowMs: 1_000_000,
    },
  )
  run(opened, command('{"connect":{"token":"own"},"id":1}'), asking)
  run(
    opened,
    command('{"connect":{"headers":{"AUTHORIZATION":"Bearer B","X-Api-Key":"K"}},"id":1}'),
    asking,
  )
  run(opened, command('{"connect":{"token":"","headers":{"other":"x"}},"id":1}'), asking)
  run(opened, command('{"connect":{"token":null,"headers":{}},"id":1}'), asking)
  assert.deepEqual(seen, [
    { token: 'own', address },
    { authorization: 'Bearer B', apiKey: 'K', address },
    { token: 'url', address },
    { token: 'url', address },
  ])
})

test('after error 109 no further command is answered', () => {
  const expired = world({ authenticate: () => fault('UNAUTHORIZED', 'expired_token') })
  const { session } = run(fresh(), command('{"connect":{"token":"T"},"id":1}'), expired)
  const after = run(session, command(`{"subscribe":{"channel":"${TRADES}"},"id":2}`), expired)
  assert.deepEqual(after, { session })
})

test('subscribe replies: plain, recoverable, recovered, lost', () => {
  const state = '"recoverable":true,"positioned":true,"epoch":"E1"'
  const lost = { recover: () => ({ recovered: false, bytes: 0, filterSteps: 0 }) as const }
  const none = { recover: () => NOTHING_MISSED }
  const recover = '"recover":true,"epoch":"E1"'
  const cases: readonly (readonly [string, Partial<SessionEnv>, string])[] = [
    [`"channel":"${CANDLES}"`, {}, '"subscribe":{}'],
    [`"channel":"${CANDLES}",${recover},"offset":9`, {}, '"subscribe":{}'],
    [`"channel":"${TRADES}"`, {}, `"subscribe":{${state},"offset":8192}`],
    [
      `"channel":"${TRADES}",${recover},"offset":4097`,
      {},
      `"subscribe":{${state},"offset":4097,"was_recovering":true,"recovered":true,"publications":[{"data":{},"offset":5000}]}`,
    ],
    [
      `"channel":"${TRADES}",${recover},"offset":4097`,
      none,
      `"subscribe":{${state},"offset":8192,"was_recovering":true,"recovered":true}`,
    ],
    [
      `"channel":"${TRADES}",${recover},"offset":9000`,
      none,
      `"subscribe":{${state},"offset":9000,"was_recovering":true,"recovered":true}`,
    ],
    [
      `"channel":"${TRADES}",${recover},"offset":4097`,
      lost,
      `"subscribe":{${state},"offset":8192,"was_recovering":true,"recovered":false}`,
    ],
    [
      `"channel":"${TRADES}","recover":true`,
      {},
      `"subscribe":{${state},"offset":8192,"was_recovering":true,"recovered":false}`,
    ],
    [
      `"channel":"${TRADES}",${recover},"offset":4097,"flag":2`,
      lost,
      '"error":{"code":112,"message":"unrecoverable position"}',
    ],
    [`"channel":"${CANDLES}","filter":"meta.v > 1","delta":"fossil"`, {}, '"subscribe":{}'],
    [`"channel":"${CANDLES}","data":{"filter":"v > 1"}`, {}, '"subscribe":{}'],
    [`"channel":"${CANDLES}","tf":{"key":"v","cmp":"gt","val":"1"}`, {}, '"subscribe":{}'],
    ...[
      ...[`"filter":"meta.v >"`, `"filter":"nothing > 1"`, `"filter":7`, `"data":{"filter":[]}`],
      ...[`"filter":"v > 1","data":{"filter":"v > 1"}`, `"data":{"commitment":"processed"}`],
    ].map(
      (wish) =>
        [
          `"channel":"${CANDLES}",${wish}`,
          {},
          '"error":{"code":107,"message":"bad request"}',
        ] as const,
    ),
    [`"channel":"${TRADES}","tf":{}`, {}, '"error":{"code":107,"message":"bad request"}'],
  ]
  for (const [body, more, expected] of cases) {
    const { reply } = run(connected(), command(`{"subscribe":{${body}},"id":2}`), world(more))
    assert.equal(reply, `{"id":2,${expected}}`, body)
  }
})

test('a subscription keeps its options: filter, retractions, pre-confirmed trades, field names', () => {
  const viewOf = (body: string, session = connected()) => {
    const [effect] = run(session, command(`{"subscribe":{${body}},"id":2}`), world()).effects ?? []
    assert.ok(effect?.type === 'join', body)
    return effect.view
  }
  const trades = viewOf(`"channel":"${TRADES}","filter":"ba > 1"`)
  assert.deepEqual(
    [trades.filter?.text, trades.retractions, trades.pending, trades.longNames],
    ['ba > 1', false, false, false],
  )
  assert.equal(viewOf(`"channel":"${TRADES}","filter":"ba > 1"`).name, trades.name)
  assert.notEqual(viewOf(`"channel":"${TRADES}"`).name, trades.name)
  const early = viewOf(`"channel":"${TRADES}","data":{"commitment":"processed"}`)
  assert.deepEqual([early.retractions, early.pending], [true, true])
  const supply = '"channel":"dex-token-supply:eth_0x00000000000000000000000000000000000000a1"'
  assert.equal(viewOf(supply).longNames, true)
  assert.equal(viewOf(supply, connected({ name: 'js' })).longNames, false)
  assert.equal(viewOf(`"channel":"${CANDLES}"`).longNames, false)
})

test('a client ahead of its node receives no publication up to its own offset', () => {
  const none = world({ recover: () => NOTHING_MISSED })
  const asked = `{"subscribe":{"channel":"${TRADES}","recover":true,"epoch":"E1","offset":9000},"id":2}`
  const [effect] = run(connected(), command(asked), none).effects ?? []
  assert.equal(effect?.type === 'join' && effect.after, 9_000)
})

test('refresh: the same account continues, any other credential closes the connection', () => {
  const refresh = command('{"refresh":{"token":"N"},"id":3}')
  const cases: readonly (readonly [SessionEnv['authenticate'], string | number])[] = [
    [() => PRINCIPAL, '{"id":3,"refresh":{"client":"client","version":"1.0.0"}}'],
    [
      () => ({ ...PRINCIPAL, expiresAtMs: 1_060_000 }),
      '{"id":3,"refresh":{"client":"client","version":"1.0.0","expires":true,"ttl":60}}',
    ],
    [() => ({ ...PRINCIPAL, orgId: 'other' }), 3500],
    [() => fault('UNAUTHORIZED', 'invalid_token'), 3500],
    [() => undefined, 3500],
    [
      () => fault('RATE_LIMIT', 'wrong_signatures'),
      '{"id":3,"error":{"code":111,"message":"too many requests","temporary":true}}',
    ],
    [() => fault('UNAUTHORIZED', 'expired_token'), 3005],
    [() => fault('FORBIDDEN', 'quota_exhausted'), 4503],
    [() => ({ ...PRINCIPAL, expiresAtMs: 999_999 }), 3005],
  ]
  for (const [authenticate, expected] of cases) {
    const { reply, close } = run(connected(), refresh, world({ authenticate }))
    assert.equal(close?.code ?? reply, expected)
  }
})

test('command rate: 300 at once, then 50 a second, then 111 and 3013', () => {
  const ping = command('{"ping":{},"id":2}')
  let session = connected()
  const send = (count: number, nowMs: number) => {
    const replies: string[] = []
    for (let at = 0; at < count; at += 1) {
      const outcome = run(session, ping, world({ nowMs }))
      session = outcome.session
      replies.push(outcome.close ? String(outcome.close.code) : (outcome.reply ?? ''))
    }
    return replies
  }
  assert.equal(send(300, 1_000_000).filter((text) => text.includes('"ping"')).length, 300)
  assert.match(send(1, 1_000_000).at(-1) ?? '', /"code":111/)
  assert.equal(send(50, 1_001_020).filter((text) => text.includes('"ping"')).length, 50)
  assert.equal(send(102, 1_001_020).at(-1), '3013')
})

test('heartbeats: regular pings, and close codes for stale, silent, expired and refused connections', () => {
  const start = initialHeartbeat(0, () => 0)
  assert.equal(start.nextPingMs, 12_500)
  assert.equal(initialHeartbeat(0, () => 0.999_999).nextPingMs, 25_000 - 0.0125)
  const live = connected()
  assert.equal(nextHeartbeatAction(start, live, 12_499), undefined)
  assert.equal(nextHeartbeatAction(start, live, 12_500), 'ping')
  assert.equal(withPingSent(start, 12_600).nextPingMs, 37_500)
  assert.equal(withPingSent(start, 900_000).nextPingMs, 912_500)
  const later = { ...start, seenMs: 900_000, nextPingMs: 912_500 }
  assert.equal(nextHeartbeatAction(later, live, 890_000), undefined)
  assert.equal(nextHeartbeatAction(later, live, 800_000), 'ping', 'the clock was set back')
  assert.equal(withPingSent(later, 800_000).nextPingMs, 825_000)
  assert.deepEqual(nextHeartbeatAction(start, live, 60_000), { code: 3012, reason: 'no pong' })
  assert.deepEqual(nextHeartbeatAction(start, fresh(), 10_000), { code: 3502, reason: 'stale' })
  const expiring = connected({ principal: { ...PRINCIPAL, expiresAtMs: 1_000 } })
  assert.equal(nextHeartbeatAction({ ...start, nextPingMs: 50_000 }, expiring, 25_999), undefined)
  assert.deepEqual(nextHeartbeatAction(start, expiring, 26_000), {
    code: 3005,
    reason: 'connection expired',
  })
  const refused = { ...fresh(), phase: 'rejected' } as const
  assert.equal(nextHeartbeatAction({ ...start, rejectedMs: 9_000 }, refused, 13_999), undefined)
  assert.equal(
    nextHeartbeatAction({ ...start, rejectedMs: 9_000 }, refused, 14_000) !== undefined,
    true,
  )
})

test('fields of a wrong type are refused, never converted', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['subscribe', '"channel":7'],
    ['subscribe', `"channel":["${TRADES}"]`],
    ['subscribe', `"channel":"${TRADES}","recover":"true"`],
    ['subscribe', `"channel":"${TRADES}","recover":true,"epoch":7,"offset":1`],
    ['subscribe', `"channel":"${TRADES}","recover":true,"epoch":"E1","offset":"1"`],
    ['subscribe', `"channel":"${TRADES}","recover":true,"epoch":"E1","offset":-1`],
    ['subscribe', `"channel":"${TRADES}","recover":true,"epoch":"E1","offset":1e300`],
    ['subscribe', `"channel":"${TRADES}","recover":true,"epoch":"E1","flag":"2"`],
    ['subscribe', `"channel":"${TRADES}","recover":true,"epoch":"E1","flag":[[2]]`],
    ['unsubscribe', '"channel":{}'],
    ['history', `"channel":"${TRADES}","limit":"1"`],
    ['history', `"channel":"${TRADES}","limit":1.5`],
    ['history', `"channel":"${TRADES}","since":[]`],
    ['history', `"channel":"${TRADES}","since":{"offset":"5"}`],
    ['history', `"channel":"${TRADES}","since":{"epoch":{}}`],
    ['history', `"channel":"${TRADES}","reverse":1`],
  ]
  for (const [method, body] of refused) {
    const { reply, effects } = run(connected(), command(`{"${method}":{${body}},"id":2}`), world())
    assert.equal(reply, '{"id":2,"error":{"code":107,"message":"bad request"}}', body)
    assert.equal(effects, undefined)
  }
  for (const body of [
    '"token":7',
    '"token":["T"]',
    '"headers":[]',
    '"headers":{"x-api-key":[1]}',
  ]) {
    const { close } = run(fresh(), command(`{"connect":{${body}},"id":1}`), world())
    assert.equal(close?.code, 3501, body)
  }
})

test('a null field counts as absent', () => {
  const nulls = '"recover":null,"epoch":null,"offset":null,"flag":null,"token":null'
  const asked = command(`{"subscribe":{"channel":"${TRADES}",${nulls}},"id":2}`)
  const { reply } = run(connected(), asked, world())
  assert.match(reply ?? '', /"subscribe":\{"recoverable":true/)
  const history = `{"history":{"channel":"${TRADES}","limit":1,"since":{"offset":null,"epoch":null}},"id":3}`
  assert.match(run(connected(), command(history), world()).reply ?? '', /"offset":4097/)
})

test('history and recovery share one byte budget, which refills with time', () => {
  const page = {
    publications: [{ data: '{}', offset: 0, kind: 'value' as const }],
    bytes: 600 * 1_024,
  }
  const reading = (nowMs: number): SessionEnv =>
    world({
      nowMs,
      historyOf: () => page,
      recover: () => ({ recovered: false, bytes: page.bytes, filterSteps: 0 }),
    })
  const history = command(`{"history":{"channel":"${TRADES}","limit":1},"id":2}`)
  const recover = command(
    `{"subscribe":{"channel":"${TRADES}","recover":true,"epoch":"E1","offset":1,"flag":2},"id":3}`,
  )
  const first = run(connected(), history, reading(1_000_000))
  assert.deepEqual(first.effects, [{ type: 'bill', bytes: page.bytes }])
  const second = run(first.session, recover, reading(1_000_000))
  assert.match(second.reply ?? '', /"code":112/)
  const third = run(second.session, history, reading(1_000_000))
  assert.match(third.reply ?? '', /"code":111.*"temporary":true/)
  assert.equal(third.effects, undefined)
  const plain = command(`{"subscribe":{"channel":"${TRADES}"},"id":4}`)
  assert.match(run(third.session, plain, reading(1_000_000)).reply ?? '', /"subscribe"/)
  const later = run(third.session, history, reading(1_002_000))
  assert.match(later.reply ?? '', /"history"/)
})

test('a recovery whose filter lets nothing through takes of the byte budget what its filter took', () => {
  const subscribe = command(
    `{"subscribe":{"channel":"${TRADES}","recover":true,"epoch":"E1","offset":1},"id":2}`,
  )
  const unsubscribe = command(`{"unsubscribe":{"channel":"${TRADES}"},"id":3}`)
  /** 300 publications of a filter of 100 steps. */
  let recoveries = 0
  const env = world({
    recover: () => {
      recoveries += 1
      return { ...NOTHING_MISSED, filterSteps: 30_000 }
    },
  })
  let session = connected()
  const replies: (string | undefined)[] = []
  for (let at = 0; at < 100; at += 1) {
    const answer = run(session, subscribe, env)
    replies.push(answer.reply)
    assert.deepEqual(
      (answer.effects ?? []).map((effect) => effect.type === 'join' && effect.recoveredBytes),
      answer.reply?.includes('"error"') ? [] : [0],
      'what is read for nobody is not billed',
    )
    session = run(answer.session, unsubscribe, env).session
  }
  assert.equal(recoveries, 3)
  assert.match(replies[2] ?? '', /"recovered":true/)
  for (const reply of replies.slice(3)) assert.match(reply ?? '', /"code":111.*"temporary":true/)
  const later = run(session, subscribe, { ...env, nowMs: env.nowMs + 10_000 })
  assert.match(later.reply ?? '', /"recovered":true/)
})

test('a client name that is too long is stored empty', () => {
  const connect = command(`{"connect":{"token":"T","name":"${'x'.repeat(90_000)}"},"id":1}`)
  assert.equal(run(fresh(), connect, world()).session.name, '')
})

test('a filter is not compiled for a subscription that does not fit', () => {
  const names = Array.from(
    { length: 100 },
    (_, at) => `dex-trade:eth_0x${String(at).padStart(40, '0')}`,
  )
  let session = connected()
  for (const name of names)
    session = run(
      session,
      command(`{"subscribe":{"channel":"${name}"},"id":2}`),
      world({ nowMs: 2_000_000 + session.channels.size * 1_000 }),
    ).session
  assert.equal(session.channels.size, 100)
  let compiled = 0
  const env = world({
    nowMs: 3_000_000,
    filterOf: (...asked) => {
      compiled += 1
      return filterOf(...asked)
    },
  })
  const one = command(`{"subscribe":{"channel":"${CANDLES}","filter":"v > 1"},"id":3}`)
  assert.match(run(session, one, env).reply ?? '', /"code":106/)
  assert.equal(compiled, 0)
  assert.match(run(connected(), one, env).reply ?? '', /"subscribe"/)
  assert.equal(compiled, 1)
})

test('one stream has four names at most on a connection, and others have theirs', () => {
  const address = '00000000000000000000000000000000abcdef'
  const spelled = (at: number): string =>
    [...address]
      .map((letter, index) =>
        /[a-f]/.test(letter) && (at >> (index % 6)) & 1 ? letter.toUpperCase() : letter,
      )
      .join('')
  const names = Array.from({ length: 8 }, (_, at) => `dex-trade:eth_0x00${spelled(at)}`)
  assert.equal(new Set(names).size, 8)
  let session = connected()
  const replies = names.map((name) => {
    const answer = run(session, command(`{"subscribe":{"channel":"${name}"},"id":2}`), world())
    session = answer.session
    return answer.reply?.includes('"code":105') ? 'refused' : 'joined'
  })
  assert.deepEqual(replies, [...Array(4).fill('joined'), ...Array(4).fill('refused')])
  const given = run(session, command(`{"unsubscribe":{"channel":"${names[0]}"},"id":3}`), world())
  const again = command(`{"subscribe":{"channel":"${names[7]}"},"id":4}`)
  assert.match(run(given.session, again, world()).reply ?? '', /"recoverable":true/)
  const other = command(`{"subscribe":{"channel":"dex-candle:eth_0x00${address}_1m"},"id":5}`)
  assert.match(run(session, other, world()).reply ?? '', /"subscribe"/)
})
