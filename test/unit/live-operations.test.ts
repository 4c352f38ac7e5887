/** Operations of one id on a connection of GraphQL subscriptions, while their plans wait. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deliveries } from '../../serving/graphql/live/deliveries.ts'
import { ConnectionClosed, LIVE_LIMITS } from '../../serving/graphql/live/limits.ts'
import { openLiveSession } from '../../serving/graphql/live/ws-protocol.ts'
import { until } from '../support/until.ts'

const DONE = { done: true, value: undefined } as const

/** Deliveries that bring what the test gives them, until they are ended. */
const createTestDeliveries = (name: number, running: Set<number>) => {
  running.add(name)
  let wake = (): void => undefined
  let ended = false
  const bodies: Buffer[] = []
  const deliveries: Deliveries = {
    next: async () => {
      while (!ended && bodies.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      const value = ended ? undefined : bodies.shift()
      return value === undefined ? DONE : { done: false, value }
    },
    return: async () => {
      ended = true
      running.delete(name)
      wake()
      return DONE
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
  const deliver = (body: string): void => {
    bodies.push(Buffer.from(body))
    wake()
  }
  return { deliveries, deliver }
}

/** A session whose plans wait until the test lets them through. */
const startSession = async () => {
  const sent: unknown[] = []
  const closes: number[] = []
  const plans: (() => void)[] = []
  const running = new Set<number>()
  const begun: ReturnType<typeof createTestDeliveries>[] = []
  const session = openLiveSession(
    {
      send: async (text) => void sent.push(JSON.parse(text)),
      close: ({ code }) => closes.push(code),
      connect: async () => undefined,
      subscribe: async () => {
        await new Promise<void>((resolve) => plans.push(resolve))
        const created = createTestDeliveries(begun.length, running)
        begun.push(created)
        return created.deliveries
      },
      describeError: () => [],
    },
    LIVE_LIMITS,
  )
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  const send = async (message: object): Promise<void> => {
    session.message(JSON.stringify(message)).catch((error: unknown) => {
      assert.ok(error instanceof ConnectionClosed)
      closes.push(error.close.code)
    })
    await settle()
  }
  const subscribe = (id: string): Promise<void> =>
    send({ id, type: 'subscribe', payload: { query: 'subscription { x }' } })
  const complete = (id: string): Promise<void> => send({ id, type: 'complete' })
  /** Lets the next plan through. */
  const plan = async (): Promise<void> => {
    await until(() => plans.length > 0)
    plans.shift()?.()
    await settle()
  }
  await send({ type: 'connection_init' })
  sent.length = 0
  return { session, sent, closes, plans, running, begun, subscribe, complete, plan, settle }
}

test('an operation that was completed while it waited ends when it starts, and the next one of its id runs', async () => {
  const { sent, closes, running, begun, subscribe, complete, plan, settle } = await startSession()
  await subscribe('A')
  await complete('A')
  await subscribe('A')
  await plan()
  await plan()
  assert.deepEqual([...running], [1])
  begun[1]?.deliver('{"data":1}')
  await until(() => sent.length === 1)
  assert.deepEqual(sent, [{ id: 'A', type: 'next', payload: { data: 1 } }])
  await complete('A')
  await settle()
  assert.deepEqual([...running], [])
  await subscribe('A')
  await plan()
  assert.deepEqual([...running], [2])
  await complete('A')
  assert.deepEqual([sent.length, closes, [...running]], [1, [], []])
})

test('an operation that is completed while another of its id is not over does not begin', async () => {
  const { plans, running, begun, subscribe, complete, plan, closes } = await startSession()
  await subscribe('A')
  await complete('A')
  await subscribe('A')
  await complete('A')
  await subscribe('A')
  await plan()
  await plan()
  assert.deepEqual([begun.length, plans.length, [...running], closes], [2, 0, [1], []])
})

test('an id that waits for its plan, or for the end of another, is in use', async () => {
  const { closes, subscribe, complete } = await startSession()
  await subscribe('A')
  await subscribe('A')
  assert.deepEqual(closes, [4409])
  await subscribe('B')
  await complete('B')
  await subscribe('B')
  await subscribe('B')
  assert.deepEqual(closes, [4409, 4409])
})

test('nothing that waits begins once the connection is closed', async () => {
  const { session, plans, running, subscribe, complete, plan, settle } = await startSession()
  await subscribe('A')
  await complete('A')
  await subscribe('A')
  await subscribe('B')
  await session.closed(1006, '')
  await plan()
  await plan()
  await settle()
  assert.deepEqual([plans.length, [...running]], [0, []])
})
