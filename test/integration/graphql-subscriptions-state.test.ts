/** Rows of states and buckets in subscriptions: what changed comes whole, as a query would find it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type SubscriptionStack,
  startSubscriptionStack,
  subscribeLive,
  type TestSubscription,
} from '../support/subscription-stack.ts'
import { until } from '../support/until.ts'

let stack: SubscriptionStack
before(async () => {
  stack = await startSubscriptionStack()
})
after(() => stack.stop())

const rowsOf = ({ results }: TestSubscription, cube: string): readonly object[] =>
  results.flatMap(({ data }) => data?.EVM?.[cube] ?? [])
const query = async (selection: string, cube: string): Promise<readonly object[]> => {
  const response = await fetch(`${stack.api.base}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': stack.api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ query: `{ EVM(network: eth) { ${selection} } }` }),
  })
  const { data } = (await response.json()) as { data: { EVM: Record<string, object[]> } }
  return data.EVM[cube] ?? []
}
const subscribe = (selection: string): Promise<TestSubscription> =>
  subscribeLive(stack, stack.client(), `subscription { EVM(network: eth) { ${selection} } }`)

interface TokenRow {
  readonly Interval: { readonly Time: string }
  readonly Stats: { readonly TradeCount: number }
}

describe('buckets', () => {
  const HOUR = 3_600
  const cases = {
    hours: 'Time(interval: {in: hours})',
    'days of a zone': 'Time(interval: {in: days, timezone: "Asia/Kolkata"})',
    months: 'Time(interval: {in: months})',
    'pieces of a minute': 'Time(interval: {in: seconds, count: 20})',
  }
  test('a bucket of a wider interval is delivered whole', async () => {
    for (const slot of [10, HOUR + 5, HOUR + 70])
      await stack.add({ slot, hash: `whole-${slot}` }, 2)
    const live = new Map<string, TestSubscription>()
    const selections = new Map(
      Object.entries(cases).map(([name, time]) => [
        name,
        `Tokens { Token { Address } Interval { ${time} } Stats { TradeCount } Volume { Usd } }`,
      ]),
    )
    for (const [name, selection] of selections) live.set(name, await subscribe(selection))
    await stack.add({ slot: HOUR + 1_800, hash: 'whole-new' }, 3)
    for (const [name, selection] of selections) {
      const subscription = live.get(name)
      assert.ok(subscription)
      await until(() => rowsOf(subscription, 'Tokens').length > 0, name)
      const delivered = rowsOf(subscription, 'Tokens') as readonly TokenRow[]
      const start = delivered[0]?.Interval.Time
      const all = (await query(selection, 'Tokens')) as readonly TokenRow[]
      const whole = all.filter(({ Interval }) => Interval.Time === start)
      assert.deepEqual(delivered, whole, name)
      if (name === 'months') assert.ok(whole.some(({ Stats }) => Stats.TradeCount === 9))
      await subscription.stop()
    }
  })
})
