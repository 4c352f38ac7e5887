import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { MAX_INBOUND_BYTES } from '../../serving/realtime/protocol.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import { buildUpgradeRequest, sendRawRequest } from '../support/raw-http.ts'
import { openRawWebSocket, type RawWebSocket } from '../support/raw-websocket.ts'
import {
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
} from '../support/realtime-stack.ts'
import { until, withTimeout } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const SEED = 20_261_122
const CONNECTIONS = 100
const FRAMES_EACH = 7
const HANDSHAKES = 120
/** Longest that a well-behaved client may wait meanwhile; a slow machine is not a defect. */
const FRAME_TIMEOUT_MS = 5_000

const TRADES = `dex-trade:eth_${TOKEN}`
const CHANNELS = [
  TRADES,
  `dex-candle:eth_${TOKEN}_1m`,
  'dex-trade:eth_',
  ':',
  '__proto__',
  'x:y_z_1',
]
const METHODS = [
  ...['connect', 'ping', 'subscribe', 'unsubscribe', 'publish', 'presence', 'presence_stats'],
  ...['history', 'rpc', 'send', 'refresh', 'sub_refresh', 'method', '__proto__', 'toString'],
]
const FIELDS = [
  ...[
    'channel',
    'token',
    'recover',
    'epoch',
    'offset',
    'data',
    'positioned',
    'recoverable',
    'flag',
  ],
  ...['delta', 'filter', 'tf', 'limit', 'since', 'reverse', 'headers', 'name', 'subs', '__proto__'],
]

const nested = (depth: number, open: string, close: string): string =>
  `${open.repeat(depth)}1${close.repeat(depth)}`
const deep = fc
  .tuple(fc.constantFrom(3, 60, 70, 1_000, 16_000, 49_000), fc.boolean())
  .map(([depth, list]) => (list ? nested(depth, '[', ']') : nested(depth, '{"a":', '}')))
/** JSON text of a value of any kind. */
const value = fc.oneof(
  fc.constantFrom(
    '1e300',
    '-1',
    '0',
    '2',
    '1.5',
    '9007199254740993',
    'true',
    'null',
    '""',
    '{}',
    '[]',
  ),
  fc.constantFrom(...CHANNELS, 'fossil', 'zip').map((text) => JSON.stringify(text)),
  fc.constantFrom('{"offset":-5}', '{"epoch":[],"offset":{}}', '{"offset":1,"epoch":"x"}'),
  fc.string({ maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc.jsonValue({ maxDepth: 3 }).map((one) => JSON.stringify(one)),
  deep,
)
const body = fc
  .array(fc.tuple(fc.constantFrom(...FIELDS), value), { maxLength: 6 })
  .map((fields) => `{${fields.map(([name, text]) => `"${name}":${text}`).join(',')}}`)
const command = fc
  .tuple(
    fc.constantFrom(...METHODS),
    fc.oneof({ weight: 6, arbitrary: body }, { weight: 1, arbitrary: value }),
    fc.oneof({ weight: 6, arbitrary: fc.nat(1_000).map(String) }, { weight: 1, arbitrary: value }),
  )
  .map(([method, text, id]) => `{"${method}":${text},"id":${id}}`)
/** Mostly well-formed, so that the handlers are reached; a subscription that reads what is kept among them. */
const useful = fc.oneof(
  fc.constantFrom(
    `{"subscribe":{"channel":"${TRADES}"},"id":6}`,
    `{"unsubscribe":{"channel":"${TRADES}"},"id":8}`,
    `{"history":{"channel":"${TRADES}","limit":-1,"reverse":true},"id":9}`,
  ),
  value.map(
    (flag) =>
      `{"subscribe":{"channel":"${TRADES}","recover":true,"epoch":"x","offset":1,"flag":${flag}},"id":7}`,
  ),
)
const frame: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 8, arbitrary: command },
  { weight: 2, arbitrary: useful },
  { weight: 1, arbitrary: fc.array(command, { maxLength: 8 }).map((all) => all.join('\n')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{}\n'.repeat(30_000), '{}\n'.repeat(500), '\n'.repeat(99)),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
)
const HEADERS = [
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol', 'connection'],
  ...['upgrade', 'sec-websocket-extensions', 'x-forwarded-for', 'authorization', 'x-api-key'],
]
const header = fc.oneof(
  fc.constantFrom('', ' ', ',', 'a,,b', '13, 13', 'Bearer ', 'Bearer a.b.c', '::1', '1.2.3.4:x'),
  fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, '?')),
  fc.nat(3_000).map((length) => 'A'.repeat(length)),
)
const mostly = (usual: string, others: readonly string[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, fc.constantFrom(...others))
const handshake = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...HEADERS), fc.option(header, { nil: undefined }), {
      maxKeys: 4,
    }),
    mostly('/connection/websocket', ['//', '/%', '/connection/websocket?token=%ff&format=']),
    mostly('GET', ['HEAD', 'POST', 'OPTIONS', 'PRI']),
    fc.uint8Array({ maxLength: 300 }),
  )
  .map(([headers, path, method, rest]) => {
    const head = buildUpgradeRequest(headers, `${method} ${path} HTTP/1.1`)
    return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(rest)])
  })

for (const transport of TRANSPORTS) {
  describe(`fuzz over ${transport}`, () => {
    let stack: RealtimeStack
    let server: RealtimeServer
    let good: RawWebSocket
    let asked = 0

    before(async () => {
      stack = await startRealtimeStack()
      server = await stack.serve({ transport, env: { WS_CONNECTIONS_PER_ACCOUNT: '10000' } })
      good = await connected()
      good.send(`{"subscribe":{"channel":"${TRADES}"},"id":2}`)
      await good.frame('"id":2')
      await stack.commit(Array.from({ length: 50 }, (_, at) => ({ trade: buildTradeEvent(at) })))
    })
    after(() => stack.close())

    const connected = async (): Promise<RawWebSocket> => {
      const { apiKey } = stack.key
      const raw = await openRawWebSocket(
        `ws://127.0.0.1:${server.port}/connection/websocket?token=${apiKey}`,
      )
      raw.send('{"connect":{"name":"js"},"id":1}')
      await raw.frame('"connect"')
      return raw
    }
    /** The well-behaved client is answered, however the others behave. */
    const goodIsServed = async (): Promise<void> => {
      asked += 1
      const from = good.frames.length
      good.send(`{"ping":{},"id":${1_000_000 + asked}}`)
      const part = `{"id":${1_000_000 + asked},"ping":{}}`
      await withTimeout(good.frame(part, from), 'the well-behaved client', FRAME_TIMEOUT_MS)
    }
    const gauge = async (name: 'socketConnections' | 'socketSubscriptions'): Promise<number> =>
      (await stack.metrics[name].get()).values[0]?.value ?? 0
    const containedErrors = async (): Promise<unknown> =>
      (await stack.metrics.edgeErrors.get()).values

    test(`${CONNECTIONS * FRAMES_EACH} hostile frames: each is answered or ends its connection`, async () => {
      const batches = fc.sample(
        fc.array(frame, { minLength: FRAMES_EACH, maxLength: FRAMES_EACH }),
        { seed: SEED, numRuns: CONNECTIONS },
      )
      for (const [at, frames] of batches.entries()) {
        const raw = await connected()
        const end = raw.closed().catch(() => undefined)
        for (const one of frames) if (raw.ws.readyState === raw.ws.OPEN) raw.send(one)
        if (raw.ws.readyState === raw.ws.OPEN) raw.send('{"ping":{},"id":4000000}')
        const answered = raw.frame('{"id":4000000,').catch(() => undefined)
        const outcome = await Promise.race([answered, end])
        assert.ok(outcome, `connection ${at} of seed ${SEED} is neither answered nor closed`)
        if (typeof outcome === 'object') {
          const tooLong = frames.some((one) => Buffer.byteLength(one) > MAX_INBOUND_BYTES)
          const known = [3013, 3500, 3501, ...(tooLong ? [1006] : [])]
          assert.ok(
            known.includes(outcome.code),
            `connection ${at} of seed ${SEED}: ${outcome.code}`,
          )
        }
        raw.ws.terminate()
        if (at % 10 === 0) await goodIsServed()
      }
      await goodIsServed()
      assert.deepEqual(await containedErrors(), [])
      await until(async () => (await gauge('socketConnections')) === 1, 'all others are gone')
      assert.equal(await gauge('socketSubscriptions'), 1)
    })

    test(`${HANDSHAKES} hostile handshakes, and bytes that are not frames behind them`, async () => {
      for (const bytes of fc.sample(handshake, { seed: SEED, numRuns: HANDSHAKES })) {
        await sendRawRequest(server.port, bytes)
      }
      await goodIsServed()
      assert.deepEqual(await containedErrors(), [])
      await until(async () => (await gauge('socketConnections')) === 1, 'all others are gone')
    })
  })
}
