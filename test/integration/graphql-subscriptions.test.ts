/** Subscriptions by the stock client `graphql-ws`, against the same rows by HTTP. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  countsByReason,
  openSubscriptions,
  type SubscriptionStack,
  startSubscriptionStack,
  subscribeLive,
  type TestSubscription,
} from '../support/subscription-stack.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const FIELDS =
  '{ Block { Slot Hash } Transaction { Hash Index } Trade { Buy { Amount AmountInUSD } Sell { Amount AmountRaw } } }'
const live = (more = ''): string =>
  `subscription { EVM(network: eth) { DEXTrades(limit: {count: 100}${more}) ${FIELDS} } }`

let stack: SubscriptionStack
let slot = 100
const nextBlock = (hash = `h${slot + 1}`) => {
  slot += 1
  return { slot, hash }
}
const rowsOf = ({ results }: TestSubscription): readonly object[] =>
  results.flatMap(({ data }) => data?.EVM?.DEXTrades ?? [])
const queried = async (where: string): Promise<readonly object[]> => {
  const query = `{ EVM(network: eth) { DEXTrades(limit: {count: 1000}, where: ${where}) ${FIELDS} } }`
  const response = await fetch(`${stack.api.base}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': stack.api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  const { data } = (await response.json()) as { data: { EVM: { DEXTrades: object[] } } }
  return data.EVM.DEXTrades
}
const begin = async (query: string, client = stack.client()): Promise<TestSubscription> => {
  return subscribeLive(stack, client, query)
}

for (const transport of TRANSPORTS) {
  describe(transport, () => {
    before(async () => {
      stack = await startSubscriptionStack({ transport })
      await stack.add(nextBlock(), 2)
    })
    after(() => stack.stop())

    test('subscription deliveries hold the same rows as the query for those blocks', async () => {
      const subscription = await begin(live())
      const first = nextBlock()
      await stack.add(first, 3)
      await stack.add(nextBlock(), 0)
      const last = nextBlock()
      await stack.add(last, 2)
      await until(() => rowsOf(subscription).length >= 5)
      const expected = await queried(`{Block: {Slot: {ge: ${first.slot}}}}`)
      const bySlot = (row: object) => JSON.stringify(row)
      assert.deepEqual(rowsOf(subscription).map(bySlot).toSorted(), expected.map(bySlot).toSorted())
      const blocks = subscription.results.flatMap(({ extensions }) => extensions?.delivery.blocks)
      assert.ok(blocks.some((block) => block?.hash === last.hash))
      assert.ok(
        subscription.results.every(({ extensions }) => (extensions?.credits?.total ?? 0) > 0),
      )
      await subscription.stop()
    })

    test('filters, variables, aliases and aggregates hold for each delivery', async () => {
      const client = stack.client()
      const query = `subscription($w: String!) { EVM(network: eth) {
        mine: DEXTrades(walletAddress: {is: $w}) { Transaction { Index } }
        all: DEXTrades { count }
      } }`
      const subscription = await subscribeLive(stack, client, query, { variables: { w: 'w1' } })
      await stack.add(nextBlock(), 5)
      await until(() => subscription.results.length > 0)
      const [result] = subscription.results
      assert.deepEqual(
        result?.data?.EVM?.mine
          ?.map((row) => (row as { Transaction: { Index: number } }).Transaction.Index)
          .toSorted(),
        [1, 4],
      )
      assert.deepEqual(result?.data?.EVM?.all, [{ count: 5 }])
      await subscription.stop()
    })

    test('a reorg delivers the removed blocks and the rows of the new ones', async () => {
      const subscription = await begin(live())
      const old = nextBlock()
      await stack.add(old, 2)
      await until(() => rowsOf(subscription).length === 2)
      await stack.remove(old, 2)
      const fresh = { slot: old.slot, hash: `${old.hash}-b` }
      await stack.add(fresh, 1)
      await until(() => rowsOf(subscription).length === 3)
      const removed = subscription.results.flatMap(
        ({ extensions }) => extensions?.delivery.removed ?? [],
      )
      assert.deepEqual(removed, [{ slot: old.slot, height: old.slot - 1, hash: old.hash }])
      const hashes = rowsOf(subscription).map(
        (row) => (row as { Block: { Hash: string } }).Block.Hash,
      )
      assert.deepEqual(hashes, [old.hash, old.hash, fresh.hash])
      assert.deepEqual(
        await queried(`{Block: {Slot: {eq: ${old.slot}}}}`),
        rowsOf(subscription).slice(2),
      )
      await subscription.stop()
    })

    test('a reorg of several blocks names the removed ones in one delivery, newest first', async () => {
      const subscription = await begin(live())
      const [low, high] = [nextBlock(), nextBlock()]
      await stack.addMany([low, high], 1)
      await until(() => rowsOf(subscription).length === 2)
      stack.storedUpTo(stack.seq())
      await stack.remove(high, 1)
      await stack.remove(low, 1)
      stack.storedUpTo(Number.POSITIVE_INFINITY)
      await stack.add({ slot: low.slot, hash: `${low.hash}-b` }, 1)
      await until(() => rowsOf(subscription).length === 3)
      const removed = subscription.results.map(({ extensions }) =>
        extensions?.delivery.removed?.map(({ hash }) => hash),
      )
      assert.deepEqual(removed.filter(Boolean), [[high.hash, low.hash]])
      await subscription.stop()
    })

    test('a block is delivered once all of its rows are stored', async () => {
      const subscription = await begin(live())
      stack.storedUpTo(stack.seq())
      const block = nextBlock()
      await stack.add(block, 2)
      const before = stack.storedReads()
      await until(() => stack.storedReads() > before + 3, 'what is stored was asked several times')
      assert.deepEqual(subscription.results, [])
      stack.storedUpTo(Number.POSITIVE_INFINITY)
      await until(() => rowsOf(subscription).length === 2)
      await subscription.stop()
    })

    test('several subscriptions share a connection; after complete no statement runs', async () => {
      const client = stack.client()
      const one = await begin(live(), client)
      const two = await begin(live(', where: {Trade: {Buy: {AmountInUSD: {gt: 1}}}}'), client)
      await stack.add(nextBlock(), 4)
      await until(() => rowsOf(one).length === 4 && rowsOf(two).length === 2)
      const connections = await stack.metrics.graphqlConnections.get()
      assert.equal(connections.values[0]?.value, 1)
      await one.stop()
      await two.stop()
      await until(async () => (await openSubscriptions(stack.metrics)) === 0)
      const before = stack.statements.length
      await stack.add(nextBlock(), 4)
      await sleep(700)
      assert.equal(stack.statements.length, before)
      assert.equal(rowsOf(one).length, 4)
    })

    test('a delivery that a limit cuts lists it in limit_reached', async () => {
      const subscription = await begin(
        'subscription { EVM(network: eth) { few: DEXTrades(limit: {count: 2}) { Block { Slot } } } }',
      )
      await stack.add(nextBlock(), 3)
      await until(() => subscription.results.length > 0)
      const [result] = subscription.results
      assert.equal(result?.data?.EVM?.few?.length, 2)
      assert.deepEqual(result?.extensions?.delivery.limit_reached, ['few'])
      await subscription.stop()
    })

    test('a query that is not a subscription, or is invalid, gets a typed error with its location', async () => {
      const cases: readonly (readonly [string, RegExp])[] = [
        ['{ EVM(network: eth) { DEXTrades { count } } }', /Only subscriptions/],
        ['subscription { __typename }', /group of cubes/],
        ['subscription { EVM(network: eth) { DEXTrades { Nope } } }', /Unknown field 'Nope'/],
        [
          'subscription { a: EVM(network: eth) { DEXTrades { count } } b: EVM(network: bsc) { DEXTrades { count } } }',
          /one root field/,
        ],
        ['subscription { EVM(network: eth, dataset: archive) { DEXTrades { count } } }', /archive/],
        ['subscription {', /Syntax Error/],
      ]
      for (const [query, message] of cases) {
        const { ended } = await subscribeLive(stack, stack.client(), query)
        const error = (ended()?.error ?? []) as readonly Record<string, unknown>[]
        assert.match(String(error[0]?.message), message, query)
        assert.ok(Array.isArray(error[0]?.locations), query)
        assert.ok((error[0]?.extensions as { code: string } | undefined)?.code, query)
      }
      assert.equal(await openSubscriptions(stack.metrics), 0)
      const { graphqlSubscriptionsEnded, graphqlSubscriptionsRefused } = stack.metrics
      assert.deepEqual(await countsByReason(graphqlSubscriptionsRefused), { request: cases.length })
      assert.deepEqual(await countsByReason(graphqlSubscriptionsEnded), {})
    })

    test('a GraphQL subscription without a valid credential is closed', async () => {
      const closed = async (params: Record<string, unknown>): Promise<number | undefined> => {
        const { ended } = await subscribeLive(stack, stack.client(params), live())
        return (ended()?.error as { code: number } | undefined)?.code
      }
      assert.equal(await closed({}), 4401)
      assert.equal(await closed({ 'X-API-KEY': 'cs_live_wrong' }), 4401)
      const { key } = {
        key: await stack.api.organizations.createKey({ name: 'few', plan: 'free' }),
      }
      const cheap = await begin(
        'subscription { EVM(network: eth) { DEXTrades(limit: {count: 1}) { Block { Slot } } } }',
        stack.client({ headers: { 'x-api-key': key.apiKey } }),
      )
      await until(async () => {
        await stack.add(nextBlock(), 1)
        await sleep(50)
        return cheap.ended()
      })
      const [error] = (cheap.ended()?.error ?? []) as readonly { extensions: { code: string } }[]
      assert.equal(error?.extensions.code, 'FORBIDDEN')
      const { graphqlSubscriptionsEnded, graphqlSubscriptionsRefused } = stack.metrics
      assert.deepEqual(await countsByReason(graphqlSubscriptionsEnded), { quota: 1 })
      const again = await begin(live(), stack.client({ headers: { 'x-api-key': key.apiKey } }))
      assert.ok(again.ended()?.error)
      assert.equal((await countsByReason(graphqlSubscriptionsRefused)).quota, 1)
      assert.deepEqual(await countsByReason(graphqlSubscriptionsEnded), { quota: 1 })
    })
  })
}
