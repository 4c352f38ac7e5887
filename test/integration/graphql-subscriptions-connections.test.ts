/** Streams and subscriptions share a port, so their connections are counted together. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { type SubscriptionStack, startSubscriptionStack } from '../support/subscription-stack.ts'
import { until } from '../support/until.ts'

let stack: SubscriptionStack
before(async () => {
  stack = await startSubscriptionStack({
    env: { WS_CONNECTIONS: '3', WS_CONNECTIONS_PER_ACCOUNT: '2' },
  })
})
after(() => stack.stop())

type Surface = 'streams' | 'subscriptions'

/** Opens a socket; the status where the upgrade is refused. */
const open = async (surface: Surface): Promise<WebSocket | number> => {
  const path = surface === 'streams' ? '/connection/websocket' : '/graphql'
  const protocols = surface === 'streams' ? [] : ['graphql-transport-ws']
  const socket = new WebSocket(new URL(path, stack.url), protocols)
  socket.on('error', () => undefined)
  return new Promise((resolve) => {
    socket.once('open', () => resolve(socket))
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
  })
}

/** Shows the credential of the one organization; the code where the connection is closed for it. */
const connect = async (surface: Surface): Promise<WebSocket | number> => {
  const socket = await open(surface)
  if (typeof socket === 'number') return socket
  const { apiKey } = stack.api
  const hello =
    surface === 'streams'
      ? { id: 1, connect: { token: apiKey } }
      : { type: 'connection_init', payload: { apiKey } }
  const answered = new Promise<WebSocket | number>((resolve) => {
    socket.once('message', () => resolve(socket))
    socket.once('close', resolve)
  })
  socket.send(JSON.stringify(hello))
  return answered
}
const closed = async (socket: WebSocket | number): Promise<void> => {
  assert.ok(typeof socket !== 'number')
  socket.close()
  await new Promise((resolve) => socket.once('close', resolve))
}

test('connections of an organization, and of the process, are counted over both surfaces', async () => {
  const [stream, subscriber] = [await connect('streams'), await connect('subscriptions')]
  assert.equal(await connect('streams'), 3504)
  assert.equal(await connect('subscriptions'), 4429)
  const third = await open('streams')
  assert.deepEqual([await open('streams'), await open('subscriptions')], [503, 503])
  await closed(third)
  await closed(subscriber)
  const again = await until(async () => {
    const found = await connect('streams')
    return typeof found === 'number' ? undefined : found
  })
  assert.equal(await connect('subscriptions'), 4429)
  await closed(again)
  await closed(stream)
})
