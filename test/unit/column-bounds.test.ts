import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processorsReadiness } from '../../processors/readiness.ts'
import { toFixedPoint } from '../../processors/runtime/valuation.ts'
import {
  clampInt256,
  clampUint64,
  clampUint256,
  nullableDecimal,
  POSITION_DECIMAL,
  saturatedDecimal,
  UNITS_DECIMAL,
  VALUE_DECIMAL,
} from '../../processors/sinks/column-limits.ts'
import { blockRows } from '../../processors/sinks/columns.ts'
import { poolEventRows } from '../../processors/sinks/pool-and-token-rows.ts'
import { tradeRows } from '../../processors/sinks/trade-rows.ts'
import type { DexPoolEvents } from '../../schemas/wire.ts'
import { tapeBlockEvent, tapeMeta, tapeTradeEvent } from '../support/builders/trade-tape.ts'
import { emptyBlockOp } from '../support/stage-harness.ts'

const NINES = (whole: number, places: number) => `${'9'.repeat(whole)}.${'9'.repeat(places)}`

test('a total beyond its decimal column is clamped to the column, a single value becomes null', () => {
  const cases = [
    [VALUE_DECIMAL, 26, 12],
    [POSITION_DECIMAL, 58, 18],
    [UNITS_DECIMAL, 52, 24],
  ] as const
  for (const [shape, whole, places] of cases) {
    const most = NINES(whole, places)
    const beyond = `1${'0'.repeat(whole)}`
    assert.equal(saturatedDecimal(most, shape), most)
    assert.equal(saturatedDecimal(beyond, shape), most)
    assert.equal(saturatedDecimal(`-${beyond}`, shape), `-${most}`)
    assert.equal(nullableDecimal(most, shape), most)
    assert.equal(nullableDecimal(beyond, shape), null)
    assert.equal(saturatedDecimal(`1.${'1'.repeat(places + 3)}`, shape), `1.${'1'.repeat(places)}`)
  }
  assert.equal(saturatedDecimal('', VALUE_DECIMAL), '0')
  assert.equal(nullableDecimal('', VALUE_DECIMAL), null)
})

test('integers beyond their column are clamped instead of wrapping around', () => {
  const [last, lastSigned] = [2n ** 256n - 1n, 2n ** 255n - 1n]
  assert.equal(clampUint256(String(last + 1n)), String(last))
  assert.equal(clampUint256('-1'), '0')
  assert.equal(clampInt256(String(last)), String(lastSigned))
  assert.equal(clampInt256(`-${last}`), String(-lastSigned))
  assert.equal(clampUint64(String(2n ** 64n)), String(2n ** 64n - 1n))
  assert.equal(clampUint64(''), '0')
})

const HUGE = String(2n ** 256n - 1n)
const block = { height: 1, hash: '0xb1', parent: '', timeMs: 0 }
const trade = {
  base: '0xa',
  quote: '0xb',
  pool: '0xp',
  baseRaw: 1n,
  quoteRaw: 10n ** 60n,
  buy: true,
  baseDecimals: 18,
  quoteDecimals: 18,
  quoteUsd: '1',
  quoteNative: '1',
  suspect: false,
}

test('fees, values, gas and pool amounts are kept within their columns', () => {
  const event = tapeTradeEvent({ ...block, trades: [trade] }, 0)
  const meta = tapeMeta({ op: 'apply', seq: 1, block: { ...block, trades: [] }, finalHeight: 0 })
  const transaction = event.transaction && { ...event.transaction, fee: HUGE }
  const [row] = tradeRows({ meta, events: [{ ...event, transaction }] })
  assert.equal(row?.tx_fee, HUGE)
  assert.equal(row?.tx_fee_native, NINES(26, 12))
  assert.deepEqual([row?.tx_fee_usd, row?.buy_amount_usd], [null, null])
  const operation = tapeBlockEvent(emptyBlockOp('apply', 1, 1))
  const [blockRow] = blockRows({ ...operation, gas_limit: HUGE, base_fee: `${HUGE}0` })
  assert.equal(blockRow?.gas_limit, String(2n ** 64n - 1n))
  assert.equal(blockRow?.base_fee, HUGE)
  const pool = {
    address: '0xp',
    token_a_address: '0xa',
    token_b_address: '0xb',
    lp_wallet: '',
    token_a_decimals: 18,
    token_b_decimals: 18,
    token_a_amount: HUGE,
    token_b_amount: HUGE,
    token_a_vault_pre_amount: '',
    token_b_vault_pre_amount: '',
    token_a_vault_post_amount: `${HUGE}0`,
    token_b_vault_post_amount: '',
  }
  const events = [
    {
      ...event,
      pool,
      pool_processed: null,
      type: 'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY',
    },
  ] as unknown as DexPoolEvents['events']
  const [poolRow] = poolEventRows({ meta, events })
  assert.equal(poolRow?.base_change, String(-(2n ** 255n - 1n)))
  assert.equal(poolRow?.base_post, null)
})

test('the sum of a hundred million largest values fits its column', () => {
  const largest = toFixedPoint(9.99e17)
  assert.ok(largest !== null)
  assert.equal(toFixedPoint(1e18), null)
  assert.ok(largest * 100_000_000n < 10n ** 38n)
})

test('work that has failed for a minute makes the process not ready, like a halted lane', () => {
  const groups = { stage: [{ partition: 1, seq: 1, height: 1, blockTimeMs: 0 }] }
  const failing = { 'sink.eth.trades': [{ partition: 3, sinceMs: 1_000, error: 'away' }] }
  assert.deepEqual(processorsReadiness({ groups, failing: {} }, 1e9), { ok: true })
  assert.deepEqual(processorsReadiness({ groups, failing }, 60_999), { ok: true })
  const late = processorsReadiness({ groups, failing }, 61_000)
  assert.equal(late.ok, false)
  assert.equal(late.detail, 'sink.eth.trades/3: failing for 60 s: away')
  const halted = { stage: [{ partition: 1, seq: 1, height: 1, blockTimeMs: 0, halted: 'order' }] }
  assert.deepEqual(processorsReadiness({ groups: halted, failing: {} }, 0), {
    ok: false,
    detail: 'stage/1: order',
  })
})
