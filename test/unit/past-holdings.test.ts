import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  holdingsAtHour,
  holdingsBeyond,
  type TokenHistory,
  worthByHour,
} from '../../serving/http/past-holdings.ts'

class CountingMap<Value> extends Map<number, Value> {
  static reads = 0
  override get(key: number): Value | undefined {
    CountingMap.reads += 1
    return super.get(key)
  }
}

const HOURS = 720

test('the course of a wallet with many tokens looks at each hour of each token once', async () => {
  const tokens = 50
  const histories = Array.from({ length: tokens }, (_, index): TokenHistory => {
    const balances = new CountingMap<string>()
    balances.set(HOURS, '5')
    const prices = new CountingMap<number>()
    prices.set(HOURS, 2)
    return { token: `t${index}`, decimals: 0, balances, prices }
  })
  CountingMap.reads = 0
  const worth = await worthByHour(histories, HOURS)
  assert.deepEqual(new Set(worth), new Set([tokens * 10]))
  assert.equal(worth.length, HOURS)
  assert.ok(CountingMap.reads <= 2 * tokens * (HOURS + 1), `${CountingMap.reads} reads`)
})

test('worth is that of the last known balances at the last known prices', async () => {
  const values = (value: fc.Arbitrary<number>) =>
    fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), value), { maxLength: 5 })
  const history = fc.record({
    balances: values(fc.nat({ max: 9 })),
    prices: values(fc.nat({ max: 9 })),
  })
  const lastOf = (map: ReadonlyMap<number, unknown>, hour: number): number | undefined => {
    const known = [...map.keys()].filter((key) => key >= hour)
    return known.length === 0 ? undefined : Number(map.get(Math.min(...known)))
  }
  await fc.assert(
    fc.asyncProperty(fc.array(history, { maxLength: 4 }), async (given) => {
      const histories = given.map(({ balances, prices }, index) => ({
        token: `t${index}`,
        decimals: 0,
        balances: new Map(balances.map(([hour, amount]) => [hour, String(amount)])),
        prices: new Map(prices),
      }))
      const expected = [5, 4, 3, 2, 1, 0].map((hour) => {
        const held = histories.filter(({ balances }) => lastOf(balances, hour) !== undefined)
        if (held.length === 0) return undefined
        return held.reduce(
          (sum, { balances, prices }) =>
            sum + (lastOf(balances, hour) ?? 0) * (lastOf(prices, hour) ?? 0),
          0,
        )
      })
      assert.deepEqual(await worthByHour(histories, 6), expected)
    }),
  )
})

test('pages go on behind their place, also when what stood there is gone or others are worth the same', () => {
  const HOUR = 5
  const historyOf = (token: string, amount: number): TokenHistory => ({
    token,
    decimals: 0,
    balances: new Map([[HOUR, String(amount)]]),
    prices: new Map([[HOUR, 1]]),
  })
  const all = holdingsAtHour(
    [historyOf('b', 7), historyOf('a', 7), historyOf('d', 1), historyOf('c', 9), historyOf('e', 0)],
    HOUR,
  )
  const names = (some: typeof all) => some.map(({ token }) => token).join('')
  assert.equal(names(all), 'cabd')
  const [, place] = all
  const fewer = all.filter((holding) => holding !== place)
  assert.equal(names(holdingsBeyond(all, place, 'next')), 'bd')
  assert.equal(names(holdingsBeyond(fewer, place, 'next')), 'bd')
  assert.equal(names(holdingsBeyond(all, place, 'prev')), 'c')
  assert.equal(names(holdingsBeyond(fewer, undefined, 'prev')), 'dbc')
})
