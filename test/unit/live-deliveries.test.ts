/** Deliveries of many subscriptions share the places of the store with queries, and none ends because there is much to do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pLimit from 'p-limit'
import type { TextQueryResult } from '../../core/clickhouse/client.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { CUBES } from '../../schemas/cubes/all.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { type BlockFeed, createBlockFeed } from '../../serving/graphql/live/block-feed.ts'
import type { BlockOperation } from '../../serving/graphql/live/block-reader.ts'
import {
  createDeliveries,
  type Deliveries,
  type DeliveryDeps,
  type SubscriptionSource,
} from '../../serving/graphql/live/deliveries.ts'
import { createDeliveryTurns } from '../../serving/graphql/live/delivery-turns.ts'
import { LIVE_LIMITS } from '../../serving/graphql/live/limits.ts'
import { blockTip, EMPTY_TIP } from '../../serving/graphql/live/resume-cursor.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { createLimitedReads, emptyWork } from '../../serving/queries/limited-reads.ts'
import type { QueryQueueLimits } from '../../serving/queries/query-queue.ts'
import { until } from '../support/until.ts'

const PLAN = createPlanner(buildCubeSchema(CUBES, ['eth']), QUERY_LIMITS).plan({
  query: 'subscription { EVM(network: eth) { Blocks { Block { Slot } } } }',
  kind: 'subscription',
})

const blockAt = (seq: number): BlockOperation => ({
  seq,
  removed: false,
  slot: seq,
  height: seq,
  hash: `b${seq}`,
  parentSlot: seq - 1,
  parentHash: `b${seq - 1}`,
  timeMs: seq * 1_000,
})

/** A chain of which every row is stored at once. */
const openChain = () => {
  let newest = 1
  const feed = createBlockFeed({
    chain: 'eth',
    reader: {
      after: async (_chain, { afterSeq }) =>
        Array.from({ length: newest - afterSeq }, (_, index) => blockAt(afterSeq + 1 + index)),
      last: async () => ({ seq: newest, slot: newest }),
      tipAfter: async (_chain, seq) => blockTip(blockAt(seq)),
      inSlots: async (_chain, { fromSlot, toSlot }) =>
        Array.from({ length: newest }, (_, index) => blockAt(index + 1)).filter(
          ({ slot }) => slot >= fromSlot && slot <= toSlot,
        ),
    },
    progress: { storedSeq: async () => newest },
    onError: (error) => assert.fail(String(error)),
  })
  const addBlock = (): void => {
    newest += 1
    feed.announce(newest)
  }
  return { feed, addBlock }
}

/** Two places of the store, one for an organization; statements end when the test says so. */
const openStore = (queue: Partial<QueryQueueLimits> = {}) => {
  const held: (() => void)[] = []
  const metrics = makeMetrics()
  let running = 0
  let most = 0
  const statement = async (): Promise<void> => {
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve) => held.push(resolve))
    running -= 1
  }
  const reads = createLimitedReads(
    {
      places: { point: 2, scan: 2 } as never,
      query: async () => {
        await statement()
        return { rows: [], rowsRead: 0 } as never
      },
      queryText: async () => {
        await statement()
        return { body: Buffer.from('[{}]'), rowCount: 1, rowsRead: 1 } as TextQueryResult
      },
    },
    {
      share: 'scan',
      surface: 'graphql',
      metrics,
      limits: {
        running: 2,
        runningPerOrg: 1,
        waiting: 8,
        waitingPerOrg: 4,
        waitMs: 60_000,
        ...queue,
      },
    },
  )
  return { reads, metrics, held, running: () => running, most: () => most }
}

const openSubscriber = (
  { reads, metrics }: Pick<ReturnType<typeof openStore>, 'reads' | 'metrics'>,
  feed: BlockFeed,
) => {
  const deps: DeliveryDeps = {
    engine: { reads, limits: QUERY_LIMITS },
    meter: createMeter(),
    freshness: { of: async () => undefined } as never,
    metrics,
    nowMs: () => 0,
    limits: { ...LIVE_LIMITS, busyPauseMs: 20 },
    turns: createDeliveryTurns(reads, LIVE_LIMITS),
    catchUp: async ({ chain, stored }, tip, caller) => {
      await reads.query({ sql: 'SELECT 1' } as never, caller)
      const { seq } = stored()
      const { slot, height, hash } = blockAt(seq)
      const scope = { chain, added: [{ slot, height, hash }], removed: [], fromMs: 0, fromSeq: seq }
      return { seq, tip, isLast: true, scope }
    },
  }
  const ended: unknown[] = []
  const subscribe = (orgId: string, more: Partial<SubscriptionSource> = {}): Deliveries =>
    createDeliveries(
      {
        plan: PLAN,
        principal: {
          kind: 'api-key',
          orgId,
          appId: 'app',
          credentialId: 'key',
          plan: 'selfhost',
          scopes: [],
          expiresAtMs: null,
        },
        feeds: [feed],
        catchUpTurns: pLimit(LIVE_LIMITS.catchUpsPerOrg),
        backlog: () => undefined,
        onBegin: () => undefined,
        onEnd: (error) => ended.push(error),
        ...more,
      },
      deps,
    )
  return { subscribe, ended }
}

const bodyOf = async (delivery: Promise<IteratorResult<Buffer>>) => {
  const { value, done } = await delivery
  assert.notEqual(done, true)
  return JSON.parse(String(value)) as {
    readonly extensions: { readonly delivery: { readonly blocks: readonly { slot: number }[] } }
  }
}
const slotsOf = async (delivery: Promise<IteratorResult<Buffer>>): Promise<readonly number[]> =>
  (await bodyOf(delivery)).extensions.delivery.blocks.map(({ slot }) => slot)

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('all subscriptions of two organizations get a block, and the queue of queries stays open for a third', async () => {
  const { feed, addBlock } = openChain()
  const store = openStore()
  const { subscribe, ended } = openSubscriber(store, feed)
  const subscriptions = ['a', 'b'].flatMap((org) =>
    Array.from({ length: LIVE_LIMITS.subscriptionsPerOrg }, () => subscribe(org)),
  )
  const deliveries = subscriptions.map((each) => bodyOf(each.next()))
  await settled()
  addBlock()
  await until(() => store.running() === 2)
  const signal = new AbortController().signal
  const caller = { orgId: 'c', plan: 'selfhost', signal, work: emptyWork() } as const
  const query = store.reads.query({ sql: 'SELECT 1' } as never, caller)
  const ending = setInterval(() => {
    for (const end of store.held.splice(0)) end()
  }, 1)
  await query
  for (const { extensions } of await Promise.all(deliveries))
    assert.deepEqual(
      extensions.delivery.blocks.map(({ slot }) => slot),
      [2],
    )
  clearInterval(ending)
  assert.deepEqual(ended, [])
  assert.equal(store.most(), 2)
  for (const each of subscriptions) await each.return()
})

for (const [name, resume] of [
  ['a live subscription', undefined],
  ['a resumed subscription', new Map([['eth', EMPTY_TIP]])],
] as const)
  for (const [overload, orgId] of [
    ['statements of its own organization', 'a'],
    ['statements of another one', 'b'],
  ] as const)
    test(`${name} outlives ${overload} and gets what it could not ask for`, async () => {
      const { feed, addBlock } = openChain()
      const store = openStore({ running: 1, waitMs: 5 })
      const { subscribe, ended } = openSubscriber(store, feed)
      const signal = new AbortController().signal
      const caller = { orgId, plan: 'selfhost', signal, work: emptyWork() } as const
      const other = store.reads.query({ sql: 'SELECT 1' } as never, caller)
      const subscription = subscribe('a', resume && { resume })
      const delivery = slotsOf(subscription.next())
      await settled()
      addBlock()
      const delayed = async (): Promise<number> => {
        const { values } = await store.metrics.graphqlDeliveries.get()
        return values.find(({ labels }) => labels.outcome === 'delayed')?.value ?? 0
      }
      await until(async () => (await delayed()) >= 3, 'it is tried again')
      assert.deepEqual(ended, [])
      const ending = setInterval(() => {
        for (const end of store.held.splice(0)) end()
      }, 1)
      await other
      assert.deepEqual(await delivery, [2])
      clearInterval(ending)
      await subscription.return()
      assert.deepEqual(ended, [undefined])
    })

test('a subscription that is left during its pause, or while it waits for its turn, ends at once', async () => {
  const { feed, addBlock } = openChain()
  const store = openStore()
  const { subscribe } = openSubscriber(store, feed)
  const [first, second] = [subscribe('a'), subscribe('a')]
  const deliveries = [first.next(), second.next()]
  await settled()
  addBlock()
  await until(() => store.running() === 1)
  await second.return()
  assert.deepEqual(await deliveries[1], { done: true, value: undefined })
  for (const end of store.held.splice(0)) end()
  assert.equal((await deliveries[0])?.done, false)
  await first.return()
})

test('nothing runs for a client that has yet to read, and what came meanwhile is one delivery', async () => {
  const { feed, addBlock } = openChain()
  const store = openStore()
  const { subscribe } = openSubscriber(store, feed)
  let read = (): void => undefined
  let backlog: Promise<unknown> | undefined
  const fill = (): void => {
    backlog = new Promise<void>((resolve) => {
      read = () => {
        backlog = undefined
        resolve()
      }
    })
  }
  const other = subscribe('a')
  const subscription = subscribe('a', { backlog: () => backlog })
  const [first, delivery] = [slotsOf(other.next()), slotsOf(subscription.next())]
  await settled()
  addBlock()
  await until(() => store.running() === 1)
  // It waits for its turn behind the other one, whose delivery fills the connection.
  fill()
  for (const end of store.held.splice(0)) end()
  assert.deepEqual(await first, [2])
  await settled()
  assert.equal(store.running(), 0)
  addBlock()
  await settled()
  assert.equal(store.running(), 0)
  read()
  await until(() => store.running() === 1)
  for (const end of store.held.splice(0)) end()
  assert.deepEqual(await delivery, [2, 3])
  for (const each of [other, subscription]) await each.return()
})
