import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  eventPosition,
  HISTORY_LIMITS,
  HistoryBudget,
  PARTITION_SKEW_MS,
  PublicationHistory,
  recordPosition,
} from '../../serving/realtime/publication-history.ts'

const BOUNDS = { perSubject: 3, maxAgeMs: 1_000, entries: 6, bytes: 1_000_000, subjects: 2 }

const tape = fc.array(
  fc.record({
    subject: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    gap: fc.integer({ min: 1, max: 5 }),
    waitMs: fc.constantFrom(0, 10, 600),
    foreign: fc.integer({ min: 0, max: 19 }).map((face) => face === 0),
  }),
  { maxLength: 40, size: 'max' },
)

const SUBJECTS = ['a', 'b', 'c', 'd', 'e', 'f']
const PARTITIONS = ['p', 'q']

interface Published {
  readonly subject: string
  readonly offset: number
  readonly foreign: boolean
  readonly top: number
}

test('a recovery returns exactly the missed publications, or reports that it cannot, and all partitions keep no more than one budget', () => {
  fc.assert(
    fc.property(tape, fc.integer({ min: 0, max: 220 }), (records, seen) => {
      const budget = new HistoryBudget(BOUNDS)
      const histories = PARTITIONS.map((name) => ({
        name,
        history: new PublicationHistory(budget, recordPosition(10)),
        all: [] as Published[],
      }))
      let record = 10
      let atMs = 0
      for (const [index, { subject, gap, waitMs, foreign }] of records.entries()) {
        const lane = histories[index % histories.length]
        assert.ok(lane)
        const { history, all, name } = lane
        const own = `${name}${subject}`
        const { top } = history
        atMs += waitMs
        if (foreign) {
          all.push({ subject: own, offset: 0, foreign: true, top })
          history.invalidate(own, atMs)
          continue
        }
        record += gap
        const offset = eventPosition(record, 0)
        all.push({ subject: own, offset, foreign: false, top })
        history.append(own, { offset, payload: {}, retraction: false, atMs })
        history.advance(recordPosition(record + 1))
        const kept = histories.flatMap((each) =>
          SUBJECTS.flatMap((one) => each.history.all(`${each.name}${one}`)),
        )
        assert.ok(kept.length <= BOUNDS.entries)
        assert.ok(kept.some((one) => one.offset === offset))
      }
      for (const { name, history, all } of histories) {
        const position = recordPosition(seen)
        for (const subject of [...SUBJECTS, 'never'].map((one) => `${name}${one}`)) {
          const own = all.filter((one) => one.subject === subject)
          const found = history.since(subject, position)
          if (found === undefined) continue
          const missed = own.filter((one) => !one.foreign && one.offset > position)
          assert.deepEqual(
            found.map(({ offset }) => offset),
            missed.map(({ offset }) => offset),
          )
          assert.ok(position >= recordPosition(10), 'nothing before the start is known')
          assert.ok(
            !own.some((one) => one.foreign && one.top >= position),
            'a foreign one is missed',
          )
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('the bytes of all partitions are bounded; what was quiet for longest leaves first, whole', () => {
  const budget = new HistoryBudget({ ...HISTORY_LIMITS, bytes: 100_000 })
  const histories = PARTITIONS.map(() => new PublicationHistory(budget, 0))
  const append = (index: number, subject: string, length: number): void => {
    const payload = { h: 'x'.repeat(length) }
    const offset = eventPosition(index, 0)
    histories[index % 2]?.append(subject, { offset, payload, retraction: false, atMs: 0 })
  }
  append(0, 'a', 30_000)
  append(1, 'b', 30_000)
  append(2, 'a', 30_000)
  append(3, 'c', 30_000)
  const [even, odd] = histories
  assert.deepEqual([even?.all('a').length, odd?.all('b').length, odd?.all('c').length], [2, 0, 1])
  assert.equal(odd?.since('b', eventPosition(0, 0)), undefined, 'what was evicted is not whole')
  assert.equal(odd?.since('b', eventPosition(1, 0))?.length, 0)
  append(4, 'd', 200_000)
  assert.deepEqual(
    [even?.all('a').length, odd?.all('c').length, even?.all('d').length],
    [0, 0, 0],
    'one that is larger than all that may be kept is not kept either',
  )
  append(5, 'c', 30_000)
  assert.equal(odd?.all('c').length, 1)
})

test('a subject with few publications is whole from the start', () => {
  const history = new PublicationHistory(new HistoryBudget(BOUNDS), recordPosition(10))
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

test('a process that is behind in a partition refuses whoever may have missed what came in another one', () => {
  const history = new PublicationHistory(new HistoryBudget(HISTORY_LIMITS), 0)
  const append = (index: number, atMs: number): void => {
    const offset = eventPosition(index, 0)
    history.append('x', { offset, payload: {}, retraction: false, atMs })
    history.advance(recordPosition(index + 1))
  }
  const foundFrom = (index: number): number | undefined =>
    history.since('x', eventPosition(index, 0))?.length
  const foreignMs = 100_000
  for (let index = 0; index < 5; index += 1) append(index, foreignMs - 1_000 + index)
  assert.equal(foundFrom(4), 0)
  assert.equal(foundFrom(9), 0, 'ahead of this process, and nothing came elsewhere')
  history.invalidate('x', foreignMs)
  assert.equal(foundFrom(9), undefined, 'sent by a process that was ahead, before the foreign one')
  for (let index = 5; index < 12; index += 1) append(index, foreignMs + index)
  assert.equal(foundFrom(9), undefined)
  append(12, foreignMs + PARTITION_SKEW_MS + 1)
  append(13, foreignMs + PARTITION_SKEW_MS + 2)
  assert.equal(foundFrom(11), undefined)
  assert.equal(foundFrom(12), 1)
  assert.equal(foundFrom(13), 0)
})

test('publications older than the limit are not kept, of a quiet subject or of an active one', () => {
  const history = new PublicationHistory(new HistoryBudget({ ...BOUNDS, perSubject: 5 }), 0)
  const append = (subject: string, record: number, atMs: number): void =>
    history.append(subject, {
      offset: eventPosition(record, 0),
      payload: {},
      retraction: false,
      atMs,
    })
  const times = (subject: string) => history.all(subject).map(({ atMs }) => atMs)
  append('quiet', 1, 0)
  append('busy', 2, 0)
  append('busy', 3, 600)
  append('busy', 4, 1_000)
  assert.deepEqual([times('quiet'), times('busy')], [[0], [0, 600, 1_000]])
  append('busy', 5, 1_600)
  assert.deepEqual([times('quiet'), times('busy')], [[], [600, 1_000, 1_600]])
  assert.equal(history.since('quiet', recordPosition(1)), undefined)
  assert.equal(history.since('busy', recordPosition(2)), undefined)
  assert.equal(history.since('busy', eventPosition(2, 0))?.length, 3)
  append('busy', 6, 10_000)
  assert.deepEqual(times('busy'), [10_000])
})
