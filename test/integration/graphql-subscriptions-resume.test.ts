/** Subscriptions that the stock client `graphql-ws` resumes after a lost connection. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { blockTip, encodeCursor } from '../../serving/graphql/live/resume-cursor.ts'
import {
  countsByReason,
  type Extensions,
  openSubscriptions,
  type SubscriptionServer,
  type SubscriptionStack,
  startSubscriptionStack,
  subscribeLive,
  type TestBlock,
  type TestSubscription,
} from '../support/subscription-stack.ts'
import { until } from '../support/until.ts'

const MAX_SLOTS = 1_500
const QUIET_BLOCKS = 40
const QUERY = `subscription {
  EVM(network: eth) { DEXTrades(limit: {count: 1000}) { Block { Slot Hash } Transaction { Hash } } }
}`
const NO_ROWS = `subscription {
  EVM(network: eth) { DEXTrades(walletAddress: {is: "nobody"}) { Block { Slot } } }
}`

let stack: SubscriptionStack
let slot = 100
const nextBlock = (hash = `h${slot + 1}`): TestBlock => {
  slot += 1
  return { slot, hash }
}
const nextBlocks = (count: number): readonly TestBlock[] =>
  Array.from({ length: count }, () => nextBlock())
const hashesOf = (blocks: readonly TestBlock[]): readonly string[] => blocks.map(({ hash }) => hash)

before(async () => {
  const limits = { maxResumeSlots: MAX_SLOTS, maxQuietBlocks: QUIET_BLOCKS, catchUpsPerOrg: 1 }
  stack = await startSubscriptionStack({ limits, chains: ['eth', 'bsc'] })
})
// A first block: what a test removes has a parent.
beforeEach(() => stack.add(nextBlock(), 1))
after(() => stack.stop())

const subscribe = (
  extensions: Record<string, unknown> = {},
  { server = stack, query = QUERY }: { server?: SubscriptionServer; query?: string } = {},
): Promise<TestSubscription> => subscribeLive(server, server.client(), query, { extensions })
const delivered = ({ results }: TestSubscription): readonly string[] =>
  results.flatMap(({ extensions }) => hashesOf(extensions?.delivery.blocks ?? []))
const removed = ({ results }: TestSubscription): readonly string[] =>
  results.flatMap(({ extensions }) => hashesOf(extensions?.delivery.removed ?? []))
const rowHashes = ({ results }: TestSubscription): readonly string[] =>
  results.flatMap(({ data }) =>
    (data?.EVM?.DEXTrades ?? []).map(
      (row) => (row as { Transaction: { Hash: string } }).Transaction.Hash,
    ),
  )
const cursorOf = ({ results }: TestSubscription): string => {
  const cursor = results.at(-1)?.extensions?.delivery.cursor
  assert.ok(cursor)
  return cursor
}
const errorOf = ({ ended }: TestSubscription): { message: string; code: string } | undefined => {
  const [error] = (ended()?.error ?? []) as readonly {
    message: string
    extensions: { code: string }
  }[]
  return error && { message: error.message, code: error.extensions.code }
}

/** A subscription that lost its connection after these blocks. */
const lostAfter = async (blocks: readonly TestBlock[]): Promise<TestSubscription> => {
  const client = stack.client()
  const subscription = await subscribeLive(stack, client, QUERY)
  await stack.addMany(blocks, 1)
  await until(() => delivered(subscription).length >= blocks.length)
  client.terminate()
  await until(async () => (await openSubscriptions(stack.metrics)) === 0)
  return subscription
}

/** The connection is lost when the first delivery has come. */
const firstDelivery = async (resume: string): Promise<readonly Extensions['delivery'][]> => {
  const client = stack.client()
  const deliveries: Extensions['delivery'][] = []
  client.subscribe<Record<string, unknown>, Extensions>(
    { query: QUERY, extensions: { resume } },
    {
      next: ({ extensions }) => {
        if (deliveries.length > 0 || !extensions) return
        deliveries.push(extensions.delivery)
        client.terminate()
      },
      error: () => undefined,
      complete: () => undefined,
    },
  )
  await until(() => deliveries.length > 0)
  await until(async () => (await openSubscriptions(stack.metrics)) === 0)
  return deliveries
}

test('a resumed subscription delivers what came meanwhile, then new blocks, each once and in order', async () => {
  const known = nextBlocks(3)
  const lost = await lostAfter(known)
  assert.deepEqual(delivered(lost), hashesOf(known))
  const missed = nextBlocks(5)
  await stack.addMany(missed.slice(0, 2), 2)
  await stack.addMany(missed.slice(2, 3), 0)
  await stack.addMany(missed.slice(3), 2)
  const resumed = await subscribe({ resume: cursorOf(lost) })
  await until(() => delivered(resumed).length >= missed.length)
  const fresh = nextBlocks(2)
  for (const block of fresh) await stack.add(block, 1)
  await until(() => delivered(resumed).length >= missed.length + fresh.length)
  assert.deepEqual(delivered(resumed), hashesOf([...missed, ...fresh]))
  assert.deepEqual(removed(resumed), [])
  const rows = rowHashes(resumed)
  assert.equal(rows.length, 4 * 2 + 2)
  assert.equal(new Set(rows).size, rows.length)
  assert.ok(resumed.results.every(({ extensions }) => (extensions?.credits?.total ?? 0) > 0))
  await resumed.stop()
})

test('the stock client resumes by its own retries where its extensions have a getter', async () => {
  const client = stack.client(undefined, 5)
  const deliveries: Extensions['delivery'][] = []
  const extensions = {
    get resume() {
      return deliveries.at(-1)?.cursor
    },
  }
  const unsubscribe = client.subscribe<Record<string, unknown>, Extensions>(
    { query: QUERY, extensions },
    {
      next: (result) => {
        if (result.extensions) deliveries.push(result.extensions.delivery)
      },
      error: () => undefined,
      complete: () => undefined,
    },
  )
  await until(async () => (await openSubscriptions(stack.metrics)) === 1)
  const blocks = nextBlocks(12)
  for (const [index, block] of blocks.entries()) {
    if (index % 4 === 3) client.terminate()
    await stack.add(block, 1)
    await until(() => index % 4 !== 2 || deliveries.at(-1)?.blocks.at(-1)?.hash === block.hash)
  }
  const seen = () => deliveries.flatMap((delivery) => hashesOf(delivery.blocks))
  await until(() => seen().length >= blocks.length)
  assert.deepEqual(seen(), hashesOf(blocks))
  unsubscribe()
  await until(async () => (await openSubscriptions(stack.metrics)) === 0)
})

test('a long absence comes in several deliveries while new blocks come, and may be interrupted after each', async () => {
  const lost = await lostAfter(nextBlocks(1))
  const missed = [...nextBlocks(700)]
  await stack.addMany(missed, 1)
  let cursor = cursorOf(lost)
  const seen: string[] = []
  for (let connection = 0; connection < 2; connection += 1) {
    const [first] = await firstDelivery(cursor)
    assert.equal(first?.blocks.length, 256)
    seen.push(...hashesOf(first?.blocks ?? []))
    cursor = first?.cursor ?? ''
  }
  const resumed = await subscribe({ resume: cursor })
  for (const block of nextBlocks(20)) {
    missed.push(block)
    await stack.add(block, 1)
  }
  await until(() => seen.length + delivered(resumed).length >= missed.length)
  assert.deepEqual([...seen, ...delivered(resumed)], hashesOf(missed))
  await resumed.stop()
})

test('subscriptions of an organization that catch up take turns', async () => {
  const lost = await lostAfter(nextBlocks(1))
  const missed = nextBlocks(700)
  await stack.addMany(missed, 1)
  stack.mostAtOnce()
  const resume = cursorOf(lost)
  const resumed = await Promise.all(Array.from({ length: 6 }, () => subscribe({ resume })))
  await until(() => resumed.every((each) => delivered(each).length >= missed.length))
  assert.equal(stack.mostAtOnce(), 1)
  for (const each of resumed) {
    assert.deepEqual(delivered(each), hashesOf(missed))
    await each.stop()
  }
})

for (const isMerged of [false, true]) {
  test(`a reorg during the absence names the removed blocks, newest first, ${isMerged ? 'after' : 'before'} the store merged its versions`, async () => {
    const [root, ...fork] = nextBlocks(3)
    assert.ok(root)
    const lost = await lostAfter([root, ...fork])
    const [low, high] = fork
    assert.ok(low && high)
    await stack.remove(high, 1)
    await stack.remove(low, 1)
    // Came and went: the client never had it.
    const brief = { slot: low.slot, hash: `${low.hash}-brief` }
    await stack.add(brief, 1)
    await stack.remove(brief, 1)
    const standing = [low, high].map((block) => ({ ...block, hash: `${block.hash}-b` }))
    await stack.addMany([...standing, nextBlock()], 1)
    if (isMerged) await stack.merge()
    const resumed = await subscribe({ resume: cursorOf(lost) })
    await until(() => delivered(resumed).length >= 3)
    assert.deepEqual(removed(resumed), [high.hash, low.hash])
    assert.deepEqual(delivered(resumed).slice(0, 2), hashesOf(standing))
    assert.equal(rowHashes(resumed).length, 3)
    await resumed.stop()
  })
}

test('a block that was removed and came back is not delivered again', async () => {
  const [low, high] = nextBlocks(2)
  assert.ok(low && high)
  const lost = await lostAfter([low, high])
  await stack.remove(high, 1)
  const other = { ...high, hash: `${high.hash}-b` }
  await stack.add(other, 1)
  await stack.remove(other, 1)
  await stack.add(high, 1)
  const next = nextBlock()
  await stack.add(next, 1)
  await stack.merge()
  const resumed = await subscribe({ resume: cursorOf(lost) })
  await until(() => delivered(resumed).length > 0)
  assert.deepEqual(delivered(resumed), [next.hash])
  assert.deepEqual(removed(resumed), [])
  await resumed.stop()
})

test('a reorg of which not every row is stored is waited for', async () => {
  const [low, high] = nextBlocks(2)
  assert.ok(low && high)
  const lost = await lostAfter([low, high])
  stack.storedUpTo(stack.seq())
  await stack.remove(high, 1)
  const other = { ...high, hash: `${high.hash}-b` }
  await stack.add(other, 1)
  await stack.merge()
  const resumed = await subscribe({ resume: cursorOf(lost) })
  const reads = stack.storedReads()
  await until(() => stack.storedReads() > reads + 2, 'what is stored was asked again')
  assert.deepEqual(resumed.results, [])
  stack.storedUpTo(Number.POSITIVE_INFINITY)
  await until(() => delivered(resumed).length > 0)
  assert.deepEqual([removed(resumed), delivered(resumed)], [[high.hash], [other.hash]])
  await resumed.stop()
})

test('a cursor of one server resumes on another over the same log and store, in the middle of a reorg too', async () => {
  const [low, high] = nextBlocks(2)
  assert.ok(low && high)
  const another = await stack.another()
  const lost = await lostAfter([low, high])
  await stack.remove(high, 1)
  const standing = [{ ...high, hash: `${high.hash}-b` }, nextBlock()]
  await stack.addMany(standing, 1)
  const there = await subscribe({ resume: cursorOf(lost) }, { server: another })
  await until(() => delivered(there).length >= standing.length)
  assert.deepEqual([removed(there), delivered(there)], [[high.hash], hashesOf(standing)])
  const back = await subscribe({ resume: cursorOf(there) })
  const next = nextBlock()
  await stack.add(next, 1)
  await until(() => delivered(back).length > 0 && delivered(there).length > standing.length)
  assert.deepEqual(delivered(back), [next.hash])
  // The same block has the same cursor, whichever server says it.
  assert.equal(cursorOf(back), cursorOf(there))
  await back.stop()
  await there.stop()
})

test('a subscription of several chains resumes on each of them', async () => {
  const query = 'subscription { Trading { Trades(limit: {count: 1000}) { Block { Hash } } } }'
  const nextOf = (chain: 'eth' | 'bsc', count: number): readonly TestBlock[] =>
    nextBlocks(count).map((block) => ({ ...block, hash: `${chain}${block.slot}`, chain }))
  const client = stack.client()
  const lost = await subscribeLive(stack, client, query)
  const [eth, bsc] = [nextOf('eth', 2), nextOf('bsc', 2)]
  await stack.addMany(eth, 1)
  await stack.addMany(bsc, 1)
  await until(() => delivered(lost).length >= 4)
  client.terminate()
  await until(async () => (await openSubscriptions(stack.metrics)) === 0)
  const [top] = eth.slice(-1)
  assert.ok(top)
  await stack.remove(top, 1)
  const missed = [
    [{ ...top, hash: `${top.hash}-b` }, ...nextOf('eth', 300)],
    [...nextOf('bsc', 300)],
  ] as const
  for (const blocks of missed) await stack.addMany(blocks, 1)
  const resumed = await subscribe({ resume: cursorOf(lost) }, { query })
  const fresh = [nextOf('eth', 1), nextOf('bsc', 1)] as const
  for (const blocks of fresh) await stack.addMany(blocks, 1)
  await until(() => delivered(resumed).length >= 603)
  for (const [index, chain] of (['eth', 'bsc'] as const).entries()) {
    const expected = [...(missed[index] ?? []), ...(fresh[index] ?? [])]
    const seen = resumed.results.flatMap(({ extensions }) =>
      extensions?.delivery.chain === chain ? hashesOf(extensions.delivery.blocks) : [],
    )
    assert.deepEqual(seen, hashesOf(expected))
  }
  assert.deepEqual(removed(resumed), [top.hash])
  await resumed.stop()
  const other = await subscribe({ resume: cursorOf(resumed) })
  await until(() => other.ended())
  assert.match(errorOf(other)?.message ?? '', /is of bsc, eth; the subscription is of eth/)
})

test('a cursor that is unreadable, of another chain or of an unknown block ends with INVALID_CURSOR', async () => {
  const lost = await lostAfter(nextBlocks(1))
  const good = cursorOf(lost)
  const tip = blockTip({ slot, hash: 'of another installation' })
  const endedBefore = await countsByReason(stack.metrics.graphqlSubscriptionsEnded)
  const refusedBefore =
    (await countsByReason(stack.metrics.graphqlSubscriptionsRefused)).cursor ?? 0
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ['', /not one that a delivery had/],
    [`${good}x`, /not one that a delivery had/],
    [good.slice(2), /not one that a delivery had/],
    ['x'.repeat(50_000), /not one that a delivery had/],
    [7, /must be a text/],
    [null, /must be a text/],
    [{ cursor: good }, /must be a text/],
    [encodeCursor(new Map([['bsc', tip]])), /is of bsc; the subscription is of eth/],
    [encodeCursor(new Map([['eth', tip]])), /a block that is not stored here/],
    [encodeCursor(new Map([['eth', { ...tip, slot: slot + 9 }]])), /a block that is not stored/],
  ]
  for (const [resume, message] of cases) {
    const refused = await subscribe({ resume })
    await until(() => refused.ended())
    const error = errorOf(refused)
    assert.equal(error?.code, 'INVALID_CURSOR', String(resume).slice(0, 40))
    assert.match(error?.message ?? '', message)
  }
  assert.equal(await openSubscriptions(stack.metrics), 0)
  const { graphqlSubscriptionsEnded, graphqlSubscriptionsRefused } = stack.metrics
  const refusals = (await countsByReason(graphqlSubscriptionsRefused)).cursor ?? 0
  assert.equal(refusals - refusedBefore, cases.length)
  assert.deepEqual(await countsByReason(graphqlSubscriptionsEnded), endedBefore)
  const defects = await stack.metrics.edgeErrors.get()
  assert.deepEqual(defects.values, [])
})

test('a cursor too many slots back ends with CURSOR_EXPIRED, one just near enough does not', async () => {
  const lost = await lostAfter(nextBlocks(1))
  await stack.addMany(nextBlocks(MAX_SLOTS), 0)
  const last = await subscribe({ resume: cursorOf(lost) })
  await until(() => last.results.length > 0)
  assert.equal(last.ended(), undefined)
  await last.stop()
  await stack.add(nextBlock(), 1)
  const late = await subscribe({ resume: cursorOf(lost) })
  await until(() => late.ended())
  assert.equal(errorOf(late)?.code, 'CURSOR_EXPIRED')
  assert.match(errorOf(late)?.message ?? '', /more than 1500 slots behind/)
  assert.deepEqual(late.results, [])
})

test('after many blocks without rows a delivery without rows takes the cursor along', async () => {
  const quiet = await subscribe({}, { query: NO_ROWS })
  const blocks = nextBlocks(QUIET_BLOCKS)
  await stack.addMany(blocks, 1)
  await until(() => quiet.results.length > 0)
  assert.deepEqual(quiet.results[0]?.data?.EVM?.DEXTrades, [])
  await quiet.stop()
  const next = nextBlock()
  await stack.add(next, 1)
  const resumed = await subscribe({ resume: cursorOf(quiet) })
  await until(() => delivered(resumed).length > 0)
  assert.deepEqual(delivered(resumed), [next.hash])
  await resumed.stop()
})

test('what a resume delivers is charged: without quota it ends with FORBIDDEN, and its last cursor holds', async () => {
  const lost = await lostAfter(nextBlocks(1))
  const missed = nextBlocks(1_200)
  await stack.addMany(missed, 1)
  const { apiKey } = await stack.api.organizations.createKey({ name: 'few', plan: 'free' })
  const few = stack.client({ 'X-API-KEY': apiKey })
  const poor = await subscribeLive(stack, few, QUERY, {
    extensions: { resume: cursorOf(lost) },
  })
  await until(() => poor.ended())
  assert.equal(errorOf(poor)?.code, 'FORBIDDEN')
  const count = delivered(poor).length
  assert.ok(count < missed.length, `${count} blocks`)
  const cursor = count > 0 ? cursorOf(poor) : cursorOf(lost)
  const resumed = await subscribe({ resume: cursor })
  await until(() => delivered(resumed).length >= missed.length - count)
  assert.deepEqual([...delivered(poor), ...delivered(resumed)], hashesOf(missed))
  await resumed.stop()
})
