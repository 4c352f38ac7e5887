import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RiskAssessment } from '../../schemas/wire.ts'
import { type AssessmentRow, isDue } from '../../serving/risk/assessment.ts'
import { createDueRecords, type DueRecords } from '../../serving/risk/due-records.ts'
import { riskRecord } from '../support/risk-record.ts'

const ORGS = ['a', 'b', 'c'] as const

const fresh = (org_id: string, id: string, atMs: number): RiskAssessment =>
  riskRecord(atMs, { org_id, id })
const finished = (
  org_id: string,
  id: string,
  next_at: number,
  labels_version = 1,
): RiskAssessment => riskRecord(0, { org_id, id, status: 'COMPLETE', next_at, labels_version })

const filled = (records: readonly RiskAssessment[]): DueRecords => {
  const due = createDueRecords()
  for (const record of records) due.set(record)
  return due
}

const takeAll = (due: DueRecords, version: number, nowMs: number): readonly AssessmentRow[] => {
  const taken: AssessmentRow[] = []
  for (let next = due.take(version, nowMs); next; next = due.take(version, nowMs)) taken.push(next)
  return taken
}
const idsOf = (records: readonly AssessmentRow[]): readonly string[] =>
  records.map(({ org_id, id }) => `${org_id}${id}`)

test('organizations take turns, and each starts with what is due for the longest time', () => {
  const many = Array.from({ length: 100 }, (_, index) => fresh('a', String(index), 100 - index))
  const due = filled([...many, fresh('b', '0', 200), fresh('c', '0', 150), fresh('b', '1', 190)])
  assert.deepEqual(idsOf(takeAll(due, 0, 1_000)).slice(0, 7), [
    'a99',
    'b1',
    'c0',
    'a98',
    'b0',
    'a97',
    'a96',
  ])
})

test('records of one millisecond are taken in the order in which they came', () => {
  const ids = Array.from({ length: 20 }, (_, index) => String(index))
  const due = filled(ids.map((id) => fresh('a', id, 1)))
  assert.deepEqual(
    takeAll(due, 0, 9).map(({ id }) => id),
    ids,
  )
})

test('an organization whose record was taken stands behind the others also for records that come later', () => {
  const due = filled([fresh('a', '0', 1), fresh('a', '1', 2), fresh('b', '0', 3)])
  assert.deepEqual(idsOf([due.take(0, 9)].flatMap((one) => one ?? [])), ['a0'])
  due.set(fresh('c', '0', 4))
  assert.deepEqual(idsOf(takeAll(due, 0, 9)), ['b0', 'a1', 'c0'])
})

test('records that were never screened come before all others', () => {
  const due = filled([
    finished('a', 'overdue', 1),
    finished('b', 'labels', 9_999),
    finished('b', 'overdue', 5),
    fresh('a', 'new', 900),
    fresh('b', 'later', 1_001),
  ])
  assert.deepEqual(idsOf(takeAll(due, 2, 1_000)), ['anew', 'boverdue', 'aoverdue', 'blabels'])
})

test('a record that is taken is not taken again before it is given back; what was set meanwhile stands', () => {
  const record = fresh('a', '0', 1)
  const due = filled([record])
  assert.equal(due.take(0, 1), record)
  assert.equal(due.take(0, 1), undefined)
  due.giveBack(record)
  assert.equal(due.take(0, 1), record)
  due.set({ ...record, next_at: 50 })
  due.giveBack(record)
  assert.deepEqual([due.take(0, 49), due.take(0, 50)?.next_at], [undefined, 50])
  due.remove('a', '0')
  due.giveBack(record)
  assert.equal(due.take(0, 99), undefined)
})

test('ages are those of the oldest due record of each kind, what is taken and what labels made due included', () => {
  const due = filled([finished('a', 'later', 90_000), fresh('a', '0', 40_000)])
  assert.deepEqual(due.ages(30_000), { first: 0, again: 0 })
  assert.deepEqual(due.ages(50_000), { first: 10, again: 0 })
  assert.deepEqual(idsOf([due.take(1, 50_000)].flatMap((one) => one ?? [])), ['a0'])
  assert.deepEqual(due.ages(60_000), { first: 20, again: 0 })
  due.set(finished('a', '0', 99_000, 2))
  assert.deepEqual(due.ages(60_000), { first: 0, again: 0 })
  assert.equal(due.take(2, 60_000)?.id, 'later')
  assert.deepEqual(due.ages(65_000), { first: 0, again: 5 })
  assert.deepEqual(due.ages(100_000), { first: 0, again: 40 })
})

const change = fc.record({
  org: fc.constantFrom(...ORGS),
  id: fc.constantFrom('0', '1', '2', '3'),
  status: fc.constantFrom('PENDING', 'COMPLETE', 'FAILED', 'removed', 'taken', 'given back'),
  nextAt: fc.integer({ min: 0, max: 20 }),
  version: fc.integer({ min: 0, max: 3 }),
})

test('what is taken at the end of any changes is exactly what is due', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), fc.nat(20), (changes, nowMs) => {
      const due = createDueRecords()
      const known = new Map<string, RiskAssessment>()
      const out = new Map<string, AssessmentRow>()
      for (const { org, id, status, nextAt, version } of changes) {
        const key = `${org}${id}`
        if (status === 'taken') {
          const taken = due.take(3, nextAt)
          if (taken) out.set(`${taken.org_id}${taken.id}`, taken)
        } else if (status === 'given back') {
          const record = out.get(key)
          if (record) due.giveBack(record)
          out.delete(key)
        } else {
          out.delete(key)
          const record = { ...finished(org, id, nextAt, version), status }
          if (status === 'removed') due.remove(org, id)
          else due.set(record)
          if (status === 'removed') known.delete(key)
          else known.set(key, record)
        }
      }
      const wanted = [...known].filter(([key, record]) => !out.has(key) && isDue(record, 3, nowMs))
      assert.deepEqual(
        idsOf(takeAll(due, 3, nowMs)).toSorted(),
        wanted.map(([key]) => key).toSorted(),
      )
    }),
    { numRuns: 500 },
  )
})
