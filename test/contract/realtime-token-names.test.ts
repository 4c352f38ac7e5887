import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { topicName } from '../../schemas/topics.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import { openRawWebSocket, type RawWebSocket } from '../support/raw-websocket.ts'
import {
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
} from '../support/realtime-stack.ts'

describe('names of tokens in published trades', () => {
  let stack: RealtimeStack
  let server: RealtimeServer

  before(async () => {
    stack = await startRealtimeStack()
    server = await stack.serve()
  })
  after(() => stack.close())

  const subscribed = async (token: string): Promise<RawWebSocket> => {
    const raw = await openRawWebSocket(
      `ws://127.0.0.1:${server.port}/connection/websocket?token=${stack.key.apiKey}`,
    )
    raw.send(`{"connect":{},"id":1}\n{"subscribe":{"channel":"dex-trade:eth_${token}"},"id":2}`)
    await raw.frame('"id":2')
    return raw
  }
  const commitToken = (topic: 'tokens' | 'tokenMetadata', address: string, name: string) =>
    stack.publishBytes(
      topicName(topic, 'eth'),
      address,
      stack.codec.encode('token.TokenEvents', {
        meta: { chain: 'eth', op: 'OP_APPLY', seq: 1 },
        events: [{ token: { address, name, symbol: name.slice(0, 4) } }],
      }),
    )
  /** Names of the token that is sold, in the order of the trades. */
  const soldNames = ({ frames }: RawWebSocket): readonly unknown[] =>
    frames.flatMap((frame) => {
      const data = JSON.parse(frame).push?.pub?.data
      return data === undefined ? [] : [[data.stn, data.sts]]
    })

  for (const [index, topic] of (['tokens', 'tokenMetadata'] as const).entries()) {
    test(`a trade that arrives before its token is in tokens.processed has the name that the ingestor committed (${topic})`, async () => {
      const token = `${TOKEN.slice(0, -2)}d${index}`
      const raw = await subscribed(token)
      await commitToken(topic, token, 'Fresh Token')
      await stack.commit([{ trade: buildTradeEvent(1, { token_a_address: token }), key: token }])
      await raw.frame('"push"')
      assert.deepEqual(soldNames(raw), [['Fresh Token', 'Fres']])
    })
  }

  test('a trade of a token without a name is published once, without a name; its name is used once it is known', async () => {
    const token = `${TOKEN.slice(0, -2)}e0`
    const raw = await subscribed(token)
    const trade = (index: number) => ({
      trade: buildTradeEvent(index, { token_a_address: token }),
      key: token,
    })
    await stack.commit([trade(1)])
    await raw.frame('"push"')
    await stack.commit([trade(2)])
    await raw.frame(`${'0'.repeat(63)}2`)
    await stack.commit([{ token: { address: token, name: 'Named Late', symbol: 'LATE' } }])
    const named = async (index: number): Promise<void> => {
      await stack.commit([trade(index)])
      await raw.frame(index.toString(16).padStart(64, '0'))
      if (soldNames(raw).at(-1)?.toString() !== 'Named Late,LATE' && index < 200)
        await named(index + 1)
    }
    await named(3)
    assert.deepEqual(soldNames(raw).slice(0, 2), [
      ['', ''],
      ['', ''],
    ])
    assert.deepEqual(soldNames(raw).at(-1), ['Named Late', 'LATE'])
  })
})
