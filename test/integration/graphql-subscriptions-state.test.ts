/** Rows of states and buckets in subscriptions: what changed comes whole, as a query would find it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { rowVersion } from '../../core/event-version.ts'
import { recordVersion } from '../../processors/candles/series.ts'
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

describe('states', () => {
  const start = Date.UTC(2026, 2, 1)
  const timeOf = (slot: number): string => new Date(start + slot * 1_000).toISOString()
  /** Version of a record of the operation that the next `add` or `remove` makes, as the sinks write it. */
  const nextVersion = (): string => String(rowVersion(stack.seq() + 1, 0))
  const nextPnlVersion = (): string => String(recordVersion(stack.seq() + 1, 0))
  const writePool = (slot: number, liquidity: number) =>
    stack.api.warehouse.insert('eth_dex_pools', [
      {
        pool_address: '0xpool',
        token_a: '0xa',
        token_b: '0xb',
        base_is_a: 1,
        decimals_a: 0,
        decimals_b: 0,
        reserve_a: String(liquidity),
        liquidity_usd: liquidity,
        last_updated: timeOf(slot),
        _ver: nextVersion(),
        _del: 0,
      },
    ])
  const writeHolder = (slot: number, holder: string, balance: number) =>
    stack.api.warehouse.insert('eth_token_holders', [
      {
        token_address: '0xa',
        holder,
        decimals: 0,
        balance: String(balance),
        first_seen: timeOf(0),
        last_seen: timeOf(slot),
        _ver: nextVersion(),
        _del: 0,
      },
    ])
  const writePosition = (slot: number, buys: number) =>
    stack.api.warehouse.insert('eth_wallet_token_pnl', [
      {
        wallet: '0xw',
        token_address: '0xa',
        buys,
        sells: 0,
        first_time: timeOf(0),
        last_time: timeOf(slot),
        _ver: nextPnlVersion(),
        _del: 0,
      },
    ])
  const cubes = {
    DEXPools: 'DEXPools { Pool { Address LastUpdated } LiquidityUSD }',
    TokenHolders: 'TokenHolders { Holder { Address } LatestBalanceRaw LastSeen }',
    WalletTokenPnL: 'WalletTokenPnL { Wallet { Address } BuyCount LastTrade }',
  }
  const writeAll = async (slot: number, value: number): Promise<void> => {
    await writePool(slot, value)
    await writeHolder(slot, '0xh', value)
    await writePosition(slot, value)
  }

  test('what a reorg restored is delivered, with its older time', async () => {
    await writeAll(10_000, 1)
    await stack.add({ slot: 10_000, hash: 's0' }, 0)
    const live = new Map<string, TestSubscription>()
    const before = new Map<string, readonly object[]>()
    for (const [cube, selection] of Object.entries(cubes)) {
      const rows = await query(selection, cube)
      assert.equal(rows.length, 1, cube)
      before.set(cube, rows)
      live.set(cube, await subscribe(selection))
    }
    await writeAll(10_300, 9)
    await stack.add({ slot: 10_300, hash: 's1' }, 0)
    for (const [cube, subscription] of live)
      await until(() => rowsOf(subscription, cube).length > 0, cube, 20_000)
    await writeAll(10_000, 1)
    await stack.remove({ slot: 10_300, hash: 's1' }, 0)
    for (const [cube, subscription] of live) {
      const removed = () =>
        subscription.results.find(({ extensions }) => extensions?.delivery.removed !== undefined)
      const { data } = await until(removed, cube, 20_000)
      assert.deepEqual(data?.EVM?.[cube], before.get(cube), cube)
      await subscription.stop()
    }
  })

  test('a holder who sold everything is delivered with a balance of 0, and is in no query', async () => {
    await writeHolder(11_000, '0xseller', 5)
    await stack.add({ slot: 11_000, hash: 'e0' }, 0)
    const subscription = await subscribe(cubes.TokenHolders)
    const counted = await subscribe('TokenHolders { count }')
    await writeHolder(11_001, '0xseller', 0)
    await stack.add({ slot: 11_001, hash: 'e1' }, 0)
    await until(() => rowsOf(subscription, 'TokenHolders').length > 0, 'a row', 20_000)
    assert.deepEqual(rowsOf(subscription, 'TokenHolders'), [
      { Holder: { Address: '0xseller' }, LatestBalanceRaw: '0', LastSeen: '2026-03-01T03:03:21Z' },
    ])
    await until(() => rowsOf(counted, 'TokenHolders').length > 0, 'a count', 20_000)
    assert.deepEqual(rowsOf(counted, 'TokenHolders'), [{ count: 1 }])
    const holders = await query(cubes.TokenHolders, 'TokenHolders')
    assert.ok(!JSON.stringify(holders).includes('0xseller'))
  })
})
