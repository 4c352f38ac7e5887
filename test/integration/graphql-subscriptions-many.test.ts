/** As many subscriptions as an organization may have, all of which want the same block. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIVE_LIMITS } from '../../serving/graphql/live/limits.ts'
import {
  openSubscriptions,
  startSubscriptionStack,
  subscribeLive,
} from '../support/subscription-stack.ts'
import { until } from '../support/until.ts'

const QUERY = 'subscription { EVM(network: eth) { DEXTrades { Block { Slot } } } }'
const { subscriptionsPerConnection, subscriptionsPerOrg } = LIVE_LIMITS

test('all subscriptions of an organization get every block', async (t) => {
  const stack = await startSubscriptionStack()
  t.after(() => stack.stop())
  await stack.add({ slot: 1, hash: 'h1' }, 1)
  const connections = Math.ceil(subscriptionsPerOrg / subscriptionsPerConnection)
  const clients = Array.from({ length: connections }, () => stack.client())
  const subscriptions = await Promise.all(
    Array.from({ length: subscriptionsPerConnection }, () => clients)
      .flat()
      .slice(0, subscriptionsPerOrg)
      .map((client) => subscribeLive(stack, client, QUERY)),
  )
  await until(async () => (await openSubscriptions(stack.metrics)) === subscriptionsPerOrg)
  stack.mostAtOnce()
  await stack.add({ slot: 2, hash: 'h2' }, 3)
  const answered = () =>
    subscriptions.every(({ results, ended }) => results.length > 0 || ended() !== undefined)
  await until(answered, 'every subscription has the block or is over', 60_000)
  assert.deepEqual(
    subscriptions.flatMap(({ ended }) => ended() ?? []),
    [],
  )
  for (const { results } of subscriptions)
    assert.deepEqual(
      results.map(({ data }) => data?.EVM?.DEXTrades?.length),
      [3],
    )
  assert.ok(stack.mostAtOnce() < 20, 'a few at a time')
})
