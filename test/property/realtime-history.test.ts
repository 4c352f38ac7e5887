import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  eventPosition,
  PublicationHistory,
  recordPosition,
} from '../../serving/realtime/publication-history.ts'

const BOUNDS = { perSubject: 3, maxAgeMs: 1_000, entries: 6, subjects: 2 }

const tape = fc.array(
  fc.record({
    subject: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    gap: fc.integer({ min: 1, max: 5 }),
    waitMs: fc.constantFrom(0, 10, 600),
    foreign: fc.integer({ min: 0, max: 19 }).map((face) => face === 0),
  }),
  { maxLength: 40, size: 'max' },
)

test('a recovery returns exactly the missed publications, or reports that it cannot', () => {
  fc.assert(
    fc.property(tape, fc.integer({ min: 0, max: 220 }), (records, seen) => {
      const history = new PublicationHistory(BOUNDS, recordPosition(10))
      const all: { subject: string; offset: number; foreign: boolean; top: number }[] = []
      let record = 10
      let atMs = 0
      for (const { subject, gap, waitMs, foreign } of records) {
        atMs += waitMs
        if (foreign) {
          all.push({ subject, offset: 0, foreign: true, top: history.top })
          history.invalidate(subject)
          continue
        }
        record += gap
        const offset = eventPosition(record, 0)
        all.push({ subject, offset, foreign: false, top: history.top })
        history.append(subject, { offset, payload: {}, retraction: false, atMs })
        history.advance(recordPosition(record + 1))
      }
      const position = recordPosition(seen)
      for (const subject of ['a', 'b', 'c', 'd', 'e', 'f', 'never']) {
        const own = all.filter((one) => one.subject === subject)
        const found = history.since(subject, position)
        if (found === undefined) continue
        const missed = own.filter((one) => !one.foreign && one.offset > position)
        assert.deepEqual(
          found.map(({ offset }) => offset),
          missed.map(({ offset }) => offset),
        )
        assert.ok(position >= recordPosition(10), 'nothing before the start is known')
        assert.ok(!own.some((one) => one.foreign && one.top >= position), 'a foreign one is missed')
      }
    }),
    { numRuns: 300 },
  )
})

test('a subject with few publications is whole from the start', () => {
  const history = new PublicationHistory(BOUNDS, recordPosition(10))
  history.append('a', { offset: eventPosition(12, 0), payload: {}, retraction: false, atMs: 0 })
  assert.equal(history.since('a', recordPosition(10))?.length, 1)
  assert.equal(history.since('never', recordPosition(10))?.length, 0)
  assert.equal(history.since('a', recordPosition(9)), undefined)
})

test('positions grow with record and event, start above 0 and stay below 2^53', () => {
  const at = fc.tuple(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: 0, max: 4_095 }))
  fc.assert(
    fc.property(at, at, ([offset, index], [offset2, index2]) => {
      const one = eventPosition(offset, index)
      const two = eventPosition(offset2, index2)
      assert.equal(Math.sign(one - two), Math.sign(offset - offset2 || index - index2))
      assert.ok(one > recordPosition(offset) && one <= recordPosition(offset + 1))
      assert.ok(one > 0 && Number.isSafeInteger(one))
    }),
  )
})
