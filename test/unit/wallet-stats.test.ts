import assert from 'node:assert/strict'
import { test } from 'node:test'
import { walletStatBodies } from '../../serving/http/wallet-stats.ts'
import { walletStatsQuery } from '../../serving/queries/wallet-stats.ts'

const row = (index: number) => ({
  token_address: `0x${index}`,
  price_usd: 2,
  open_ms: '1',
  close_ms: '2',
  last_ms: '3',
  balance: '1000',
  decimals: 3,
  position_amount: '1',
  position_cost_usd: '1',
  valued_bought: '2',
  valued_sold: '1',
  buy_amount: '2',
  buy_usd: '4',
  buys: '1',
  sell_amount: '1',
  sell_usd: '2',
  sells: '1',
  realized_usd: '0',
  total_realized_usd: '0',
})

test('wallet statistics hold the 1,000 tokens that the wallet traded last', () => {
  const { sql } = walletStatsQuery('eth', '0x1', undefined)
  assert.match(sql, /ORDER BY p\.last_time DESC, p\.token_address LIMIT 1000$/)
})

test('building the bodies of many wallet statistics yields to timers and keeps their order', async () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => row(index))
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 1)
  const bodies = await walletStatBodies(rows, { chain: 'eth', wallet: '0x1', word: 'eth' })
  const seen = turns
  clearInterval(timer)
  assert.ok(seen > 0, 'no timer ran')
  assert.deepEqual(
    bodies.map(({ tokenAddress }) => tokenAddress),
    rows.map(({ token_address }) => token_address),
  )
  assert.equal(bodies[0]?.unrealizedProfitInUsd, '1')
})
