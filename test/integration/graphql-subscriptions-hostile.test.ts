/** Frames that no client of good will sends, and the bounds of one connection and one organization. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import {
  countsByReason,
  openSubscriptions,
  type SubscriptionStack,
  startSubscriptionStack,
} from '../support/subscription-stack.ts'
import { until } from '../support/until.ts'

let stack: SubscriptionStack
before(async () => {
  const limits = {
    subscriptionsPerConnection: 2,
    subscriptionsPerOrg: 3,
    initTimeoutMs: 1_000,
    messagesInHand: 16,
  }
  stack = await startSubscriptionStack({ limits })
  await stack.add({ slot: 1, hash: 'h1' }, 1)
})
after(() => stack.stop())

interface RawClient {
  readonly socket: WebSocket
  readonly messages: readonly Record<string, unknown>[]
  readonly closed: Promise<number>
}

const connect = async (headers: Record<string, string> = {}): Promise<RawClient> => {
  const socket = new WebSocket(stack.url, 'graphql-transport-ws', { headers })
  const messages: Record<string, unknown>[] = []
  socket.on('message', (data) => messages.push(JSON.parse(String(data))))
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return { socket, messages, closed }
}
const send = ({ socket }: RawClient, message: unknown): void => socket.send(JSON.stringify(message))
const init = async (): Promise<RawClient> => {
  const client = await connect({ 'x-api-key': stack.api.apiKey })
  send(client, { type: 'connection_init' })
  await until(() => client.messages.some(({ type }) => type === 'connection_ack'))
  return client
}
const QUERY = 'subscription { EVM(network: eth) { DEXTrades { Block { Slot } } } }'
const subscribe = (client: RawClient, id: string, query = QUERY): void =>
  send(client, { id, type: 'subscribe', payload: { query } })

test('the protocol closes with its own codes', async () => {
  const silent = await connect()
  assert.equal(await silent.closed, 4408)
  const early = await connect({ 'x-api-key': stack.api.apiKey })
  subscribe(early, '1')
  assert.equal(await early.closed, 4401)
  const twice = await init()
  send(twice, { type: 'connection_init' })
  assert.equal(await twice.closed, 4429)
  const same = await init()
  subscribe(same, 'a')
  await until(async () => (await openSubscriptions(stack.metrics)) === 1)
  subscribe(same, 'a')
  assert.equal(await same.closed, 4409)
  await until(async () => (await openSubscriptions(stack.metrics)) === 0)
  const pinged = await init()
  send(pinged, { type: 'ping' })
  await until(() => pinged.messages.some(({ type }) => type === 'pong'))
  pinged.socket.close()
})

test('frames that are not messages close with 4400 and nothing else', async () => {
  const deep = `{"type":"ping","payload":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`
  const frames: readonly (string | Buffer)[] = [
    ...[
      '',
      '{',
      '[]',
      'null',
      '1',
      '{}',
      '{"type":1}',
      '{"type":"next","id":"1","payload":{}}',
      deep,
    ],
    ...[
      '{"type":"subscribe"}',
      '{"type":"subscribe","id":"1"}',
      '{"type":"subscribe","id":1,"payload":{"query":"{"}}',
    ],
    '{"type":"subscribe","id":"1","payload":{"query":7}}',
    '{"type":"connection_ack"}',
    '{"type":"error","id":"1","payload":[]}',
    `{"type":"complete","id":"${'x'.repeat(200)}"}`,
    '{"type":"__proto__"}',
    Buffer.from([0xff, 0xfe, 0x00]),
  ]
  for (const frame of frames) {
    const client = await init()
    client.socket.send(frame)
    assert.equal(await client.closed, 4400, String(frame).slice(0, 60))
  }
  const large = await init()
  large.socket.send(`{"type":"ping","payload":{"a":"${'x'.repeat(200_000)}"}}`)
  assert.notEqual(await large.closed, 1000)
  const flood = await init()
  for (let index = 0; index < 200; index += 1) subscribe(flood, `f${index}`)
  await until(() => flood.messages.length > 50 || flood.socket.readyState === WebSocket.CLOSED)
  flood.socket.close()
  const text = await stack.metrics.edgeErrors.get()
  assert.deepEqual(text.values, [])
  await until(async () => (await openSubscriptions(stack.metrics)) === 0)
})

test('an anonymous connection that sends many WebSocket pings is closed with 4429', async () => {
  const client = await connect()
  for (let sent = 0; sent < 150; sent += 1) client.socket.ping()
  assert.equal(await client.closed, 4429)
})

test('upgrades without the subprotocol, or with a wrong credential, are refused', async () => {
  const status = async (
    protocol: string | undefined,
    headers: Record<string, string>,
  ): Promise<unknown> =>
    new Promise((resolve) => {
      const socket = new WebSocket(stack.url, protocol === undefined ? [] : [protocol], { headers })
      socket.on('error', () => undefined)
      socket.on('unexpected-response', (_request, response) => {
        resolve(response.statusCode)
        response.resume()
      })
    })
  assert.equal(await status(undefined, {}), 400)
  assert.equal(await status('graphql-ws', {}), 400)
  assert.equal(await status('graphql-transport-ws', { 'x-api-key': 'cs_live_wrong' }), 401)
})

test('subscriptions of a connection and of an organization are bounded', async () => {
  const { graphqlSubscriptionsEnded, graphqlSubscriptionsRefused } = stack.metrics
  const refusedBefore = (await countsByReason(graphqlSubscriptionsRefused)).limit ?? 0
  const [one, two] = [await init(), await init()]
  subscribe(one, 'a')
  subscribe(one, 'b')
  await until(async () => (await openSubscriptions(stack.metrics)) === 2)
  const errorOf = async (client: RawClient, id: string): Promise<string> => {
    subscribe(client, id)
    const message = await until(() =>
      client.messages.find((each) => each.type === 'error' && each.id === id),
    )
    const [error] = message.payload as readonly { message: string; extensions: { code: string } }[]
    assert.equal(error?.extensions.code, 'RATE_LIMIT')
    return error.message
  }
  assert.match(await errorOf(one, 'c'), /2 subscriptions of one connection/)
  subscribe(two, 'a')
  await until(async () => (await openSubscriptions(stack.metrics)) === 3)
  assert.match(await errorOf(two, 'b'), /3 subscriptions of one organization/)
  one.socket.terminate()
  await until(async () => (await openSubscriptions(stack.metrics)) === 1)
  subscribe(two, 'b')
  await until(async () => (await openSubscriptions(stack.metrics)) === 2)
  two.socket.terminate()
  await until(async () => (await openSubscriptions(stack.metrics)) === 0)
  assert.deepEqual(await countsByReason(graphqlSubscriptionsRefused), { limit: refusedBefore + 2 })
  assert.deepEqual(await countsByReason(graphqlSubscriptionsEnded), {})
})

test('a revoked key ends its connections', async () => {
  const { keyId, apiKey } = await stack.api.organizations.createKey({
    name: 'gone',
    plan: 'selfhost',
  })
  const client = await connect()
  send(client, { type: 'connection_init', payload: { apiKey } })
  await until(() => client.messages.length > 0)
  await stack.api.organizations.revokeKey(keyId)
  assert.equal(await client.closed, 4403)
})
