/** Streams as the Go client of Centrifuge reads them: both encodings, with deltas and without, over a cut connection. */
import assert from 'node:assert/strict'
import { createConnection, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import { buildGoClient, type GoClient, type GoEvent, startGoClient } from '../support/go-client.ts'
import {
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
} from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const TRADES = `dex-trade:eth_${TOKEN}`
const NAME = 'Ålpha 🚀 日本'

const named = ({ events }: GoClient, event: string): GoEvent[] =>
  events.filter((each) => each.event === event)
const times = (events: readonly { readonly data?: unknown }[]): unknown[] =>
  events.map(({ data }) => (data as { readonly t: number }).t)
const timesOf = (indexes: readonly number[]): unknown[] =>
  indexes.map((index) => buildTradeEvent(index).block?.timestamp)

await buildGoClient()

for (const transport of TRANSPORTS) {
  describe(`Go client of Centrifuge over ${transport}`, () => {
    let stack: RealtimeStack
    let server: RealtimeServer
    const inbound = new Set<Socket>()
    /** Clients dial it, so that a test can cut their connection without a close frame. */
    const front = createServer((client) => {
      inbound.add(client)
      const upstream = createConnection(server.port, '127.0.0.1')
      client.on('error', () => upstream.destroy()).pipe(upstream)
      upstream.on('error', () => client.destroy()).pipe(client)
      client.on('close', () => {
        inbound.delete(client)
        upstream.destroy()
      })
    })
    before(async () => {
      stack = await startRealtimeStack()
      await stack.commit([{ token: { address: TOKEN, name: NAME, symbol: 'ÅLP' } }])
      server = await stack.serve({ transport, env: { WS_DELTA: 'auto' } })
      await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    })
    after(async () => {
      await stack.close()
      front.close()
    })
    const start = (
      encoding: 'json' | 'protobuf',
      delta: 'fossil' | 'none',
      more: { readonly channel?: string; readonly token?: string } = {},
    ): GoClient => {
      const bound = front.address()
      assert.ok(typeof bound === 'object' && bound !== null)
      const url = `ws://127.0.0.1:${bound.port}/connection/websocket`
      return startGoClient({
        url,
        encoding,
        delta,
        token: stack.key.apiKey,
        channel: TRADES,
        ...more,
      })
    }

    let next = 1
    for (const encoding of ['json', 'protobuf'] as const) {
      for (const delta of ['none', 'fossil'] as const) {
        test(`${encoding}, delta ${delta}: publications, history, a refused call, recovery after a cut`, async () => {
          const first = next
          next += 10
          const commit = async (from: number, to: number): Promise<void> => {
            for (let index = from; index <= to; index += 1)
              await stack.commit([{ trade: buildTradeEvent(index) }])
          }
          const client = start(encoding, delta)
          await until(() => named(client, 'subscribed').length === 1)
          const [connected] = named(client, 'connected')
          const data = connected?.data as { readonly chains: { eth: { readonly head: number } } }
          assert.equal(data.chains.eth.head, 120)
          await commit(first, first + 2)
          await until(() => named(client, 'publication').length === 3)

          client.ask('history')
          const [history] = await until(() => {
            const found = named(client, 'history')
            return found.length > 0 ? found : undefined
          })
          assert.deepEqual(
            history?.publications?.slice(-3),
            named(client, 'publication').map(({ offset, data: value }) => ({
              offset,
              data: value,
            })),
          )
          client.ask('rpc')
          await until(() => named(client, 'rpc').length === 1)
          assert.equal(named(client, 'rpc')[0]?.code, 108)

          for (const socket of inbound) socket.resetAndDestroy()
          await commit(first + 3, first + 5)
          await until(() => named(client, 'publication').length === 6)
          const again = named(client, 'subscribed').at(-1)
          assert.deepEqual([again?.recoverable, again?.recovered], [true, true])
          await commit(first + 6, first + 7)
          await until(() => named(client, 'publication').length === 8)

          const heard = named(client, 'publication')
          assert.deepEqual(times(heard), timesOf([0, 1, 2, 3, 4, 5, 6, 7].map((at) => first + at)))
          for (const { data: value } of heard)
            assert.equal((value as { readonly stn: string }).stn, NAME)
          assert.deepEqual(named(client, 'subscription-error'), [])
          assert.equal(await client.close(), 0)
        })
      }

      test(`${encoding}: an unknown channel ends the subscription with 102, a wrong key the connection with 3500`, async () => {
        const lost = start(encoding, 'none', { channel: `nope:eth_${TOKEN}` })
        await until(() => named(lost, 'unsubscribed').length === 1)
        assert.equal(named(lost, 'unsubscribed')[0]?.code, 102)
        const stranger = start(encoding, 'none', { token: 'wrong' })
        await until(() => named(stranger, 'disconnected').length === 1)
        assert.equal(named(stranger, 'disconnected')[0]?.code, 3500)
        assert.deepEqual([await lost.close(), await stranger.close()], [0, 0])
      })
    }
  })
}
