import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RiskLevel } from '../../schemas/risk.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import {
  type AssessmentRequest,
  type AssessmentResult,
  afterRepeat,
  afterScreening,
  isDue,
  type Screening,
} from '../../serving/risk/assessment.ts'
import { riskRecord } from '../support/risk-record.ts'

const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const VERSION = 3

const PENDING = riskRecord(START_MS)

const done = (level: RiskLevel, labelsVersion = VERSION): Screening => {
  const result: AssessmentResult = {
    level,
    score: 0,
    reason: '',
    truncated: false,
    labelsVersion,
    engineVersion: '1',
    exposures: [],
    formerLabels: [],
    ownLabels: [],
    profile: [],
    firstSeenMs: null,
    transfer: null,
    lookAlikes: [],
  }
  return { outcome: 'done', result }
}
const REQUEST: AssessmentRequest = { kind: 'address', address: 'an address', chains: ['eth'] }
const ERROR: Screening = { outcome: 'error' }
const NOT_FOUND: Screening = { outcome: 'not found', reason: 'tx_not_found' }
const MISMATCHES = ['asset_mismatch', 'address_mismatch'] as const
const failed = (reason: string) => ({ outcome: 'failed', reason }) as const

const after = (
  record: RiskAssessment,
  screening: Screening,
  nowMs = START_MS,
  labelsVersion = VERSION,
): RiskAssessment => afterScreening(record, screening, { nowMs, labelsVersion })

const PERIODS: readonly (readonly [RiskLevel, days: number])[] = [
  ['Severe', 1],
  ['High', 1],
  ['Medium', 7],
  ['Low', 30],
]

for (const [level, days] of PERIODS) {
  test(`a record of level ${level} is due again after ${days} days`, () => {
    const record = after(PENDING, done(level))
    assert.deepEqual([record.status, record.labels_version], ['COMPLETE', VERSION])
    const dueMs = START_MS + days * DAY_MS
    assert.equal(isDue(record, VERSION, dueMs - 1), false)
    assert.equal(isDue(record, VERSION, dueMs), true)
  })
}

test('the price of a withdrawal stays that of its first screening that had one', () => {
  const priced = (assetPriceUsd: string | null): Screening => {
    const screening = done('Low')
    assert.ok(screening.outcome === 'done')
    return { outcome: 'done', result: { ...screening.result, assetPriceUsd } }
  }
  let record = PENDING
  const prices = ([null, '2', '3', null] as const).map((price) => {
    record = after(record, priced(price))
    return JSON.parse(record.result ?? '').assetPriceUsd
  })
  assert.deepEqual(prices, [null, '2', '2', '2'])
})

test('an import of labels makes a finished record due, and a screening with them ends that', () => {
  const record = after(PENDING, done('Low'))
  assert.equal(isDue(record, VERSION + 1, START_MS), true)
  const again = after(record, done('Low', VERSION + 1), START_MS + 1, VERSION + 1)
  assert.equal(isDue(again, VERSION + 1, START_MS + 1), false)
})

for (const screening of [failed('internal'), failed('chain_not_supported')]) {
  test(`a finished record whose next screening fails with ${screening.reason} keeps its result and is due once for an import, then by its period`, () => {
    for (const [level, days] of PERIODS) {
      const record = after(PENDING, done(level))
      const nowMs = START_MS + MINUTE_MS
      assert.equal(isDue(record, VERSION + 1, nowMs), true)
      const again = after(record, screening, nowMs, VERSION + 1)
      assert.deepEqual([again.status, again.result], ['COMPLETE', record.result])
      assert.equal(isDue(again, VERSION + 1, nowMs), false, 'screened for this import')
      assert.equal(isDue(again, VERSION + 1, nowMs + days * DAY_MS - 1), false, level)
      assert.equal(isDue(again, VERSION + 1, nowMs + days * DAY_MS), true, level)
      assert.equal(isDue(again, VERSION + 2, nowMs), true, 'the next import')
    }
  })
}

test('a transaction that is not there is looked for every 30 seconds for half an hour, then the record fails', () => {
  const early = after(PENDING, NOT_FOUND, START_MS + 30 * MINUTE_MS - 1)
  assert.deepEqual([early.status, early.result], ['PENDING', null])
  assert.equal(early.next_at, START_MS + 30 * MINUTE_MS - 1 + 30_000)
  assert.equal(isDue(early, VERSION, early.next_at - 1), false)
  assert.equal(isDue(early, VERSION, early.next_at), true)
  assert.equal(
    isDue(early, VERSION + 1, early.next_at - 1),
    false,
    'labels do not bring it forward',
  )
  const late = after(early, NOT_FOUND, START_MS + 30 * MINUTE_MS)
  assert.deepEqual([late.status, late.result], ['FAILED', '{"reason":"tx_not_found"}'])
  assert.equal(isDue(late, VERSION + 1, START_MS + 400 * DAY_MS), false)
})

test('a transaction without the transfer is looked at for two minutes from when it is first there, then the record fails with what does not match', () => {
  for (const reason of MISMATCHES) {
    const mismatch: Screening = { outcome: 'not found', reason }
    const waiting = after(PENDING, NOT_FOUND, START_MS + 5 * MINUTE_MS)
    const first = after(waiting, mismatch, waiting.next_at)
    assert.equal(first.status, 'PENDING')
    const early = after(first, mismatch, waiting.next_at + 2 * MINUTE_MS - 1)
    assert.deepEqual(
      [early.status, early.next_at - waiting.next_at],
      ['PENDING', 2 * MINUTE_MS + 29_999],
    )
    const late = after(early, mismatch, early.next_at)
    assert.deepEqual([late.status, late.result], ['FAILED', JSON.stringify({ reason })])
    assert.equal(isDue(late, VERSION + 1, START_MS + 400 * DAY_MS), false)
    assert.equal(afterRepeat(late, REQUEST, START_MS + DAY_MS).status, 'PENDING')
  }
})

test('a finished record whose transfer was taken back waits for it like a new one, then fails', () => {
  const finished = after(PENDING, done('Low'))
  const lostMs = START_MS + DAY_MS
  const lost = after(finished, NOT_FOUND, lostMs)
  assert.deepEqual([lost.status, lost.result, lost.next_at], ['PENDING', null, lostMs + 30_000])
  assert.equal(after(lost, NOT_FOUND, lostMs + 30 * MINUTE_MS - 1).status, 'PENDING')
  const { status, result } = after(lost, NOT_FOUND, lostMs + 30 * MINUTE_MS)
  assert.deepEqual([status, result], ['FAILED', '{"reason":"tx_not_found"}'])
  assert.equal(after(lost, done('High'), lostMs + MINUTE_MS).status, 'COMPLETE', 'in another block')
  for (const reason of MISMATCHES) {
    const mismatch: Screening = { outcome: 'not found', reason }
    const changed = after(finished, mismatch, lostMs)
    assert.equal(changed.status, 'PENDING')
    assert.equal(after(changed, mismatch, lostMs + 2 * MINUTE_MS - 1).status, 'PENDING')
    const late = after(changed, mismatch, lostMs + 2 * MINUTE_MS)
    assert.deepEqual([late.status, late.result], ['FAILED', JSON.stringify({ reason })])
  }
  const ambiguous = after(finished, failed('ambiguous_reference'), lostMs)
  assert.deepEqual([ambiguous.status, ambiguous.next_at], ['FAILED', 0])
})

test('an unexpected error is tried again with growing pauses for half an hour, then the record fails', () => {
  let record = PENDING
  let nowMs = START_MS
  const pauses: number[] = []
  while (record.status === 'PENDING' && pauses.length < 20) {
    record = after(record, ERROR, nowMs)
    pauses.push(record.next_at - nowMs)
    nowMs = record.next_at
  }
  assert.deepEqual([record.status, record.result], ['FAILED', '{"reason":"internal"}'])
  const seconds = pauses.slice(0, -1).map((ms) => ms / 1_000)
  assert.deepEqual(seconds, [30, 30, 60, 120, 240, 480, 960])
  assert.equal(record.updated_at - START_MS, 32 * MINUTE_MS)
})

test('a finished record whose next screening meets an unexpected error keeps its result and is tried after an hour', () => {
  const record = after(PENDING, done('Low'))
  const again = after(record, ERROR, START_MS + MINUTE_MS, VERSION + 1)
  assert.deepEqual([again.status, again.result], ['COMPLETE', record.result])
  assert.equal(isDue(again, VERSION + 1, START_MS + 61 * MINUTE_MS - 1), false)
  assert.equal(isDue(again, VERSION + 1, START_MS + 61 * MINUTE_MS), true)
})

test('the same request makes a failed record pending for another half an hour, where that can help', () => {
  const laterMs = START_MS + DAY_MS
  for (const screening of [NOT_FOUND, ERROR, failed('internal')]) {
    const record = after(PENDING, screening, START_MS + 30 * MINUTE_MS)
    assert.equal(record.status, 'FAILED')
    const repeated = afterRepeat(record, REQUEST, laterMs)
    assert.deepEqual(
      [repeated.status, repeated.result, repeated.id, repeated.created_at],
      ['PENDING', null, record.id, START_MS],
    )
    assert.equal(isDue(repeated, VERSION, laterMs), true)
    assert.equal(after(repeated, NOT_FOUND, laterMs + 29 * MINUTE_MS).status, 'PENDING')
    assert.equal(after(repeated, NOT_FOUND, laterMs + 30 * MINUTE_MS).status, 'FAILED')
  }
  for (const record of [
    PENDING,
    after(PENDING, done('Low')),
    after(PENDING, failed('ambiguous_reference')),
  ])
    assert.equal(afterRepeat(record, REQUEST, laterMs), record)
})

test('a reference that fits several transfers fails at once', () => {
  const record = after(PENDING, failed('ambiguous_reference'))
  assert.deepEqual([record.status, record.result], ['FAILED', '{"reason":"ambiguous_reference"}'])
  assert.equal(isDue(record, VERSION + 1, START_MS + 400 * DAY_MS), false)
})

test('a finished record whose result cannot be read fails with its next screening', () => {
  for (const result of ['{', '{"level":"none"}', 'null']) {
    const record = { ...after(PENDING, done('Low')), result }
    const { status, result: told } = after(record, failed('internal'))
    assert.deepEqual([status, told], ['FAILED', '{"reason":"internal"}'], result)
  }
})
