import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { createCursors, createPage, pageEnvelope } from '../../serving/queries/cursors-and-pages.ts'

const Place = Type.Object({ at: Type.Integer() }, { additionalProperties: false })
const cursors = createCursors('a pepper')
const codec = cursors(Place, ['list', 'abc'])

const refused = (text: string): void => {
  assert.throws(
    () => codec.decode(text),
    (error: unknown) => error instanceof Fault && error.code === 40027,
    text.slice(0, 60),
  )
}
const textOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a cursor returns to its place', () => {
  assert.deepEqual(codec.decode(codec.encode({ at: 7 })), { at: 7 })
})

test('anything else is refused', () => {
  const wrong = [
    '',
    'a',
    'not base64!',
    '%00',
    textOf(7),
    textOf([]),
    textOf([1, 'abc']),
    textOf([2, 'abc', { at: 7 }]),
    textOf([1, 'other', { at: 7 }]),
    textOf([1, 'abc', { at: '7' }]),
    textOf([1, 'abc', { at: 7, more: 1 }]),
    textOf([1, 'abc', { at: 7 }]).padEnd(2_000, 'A'),
    codec.encode({ at: 7 }).slice(0, -3),
  ]
  for (const text of wrong) refused(text)
})

test('a page reports whether there are rows before and after it, in both directions', () => {
  const page = (rows: number[], direction: 'next' | 'prev', hasCursor: boolean) =>
    createPage(rows, { limit: 2, direction, hasCursor }, String)
  assert.deepEqual(page([1, 2, 3], 'next', false), {
    data: [1, 2],
    hasNext: true,
    hasPrev: false,
    startCursor: '1',
    endCursor: '2',
  })
  assert.deepEqual(page([3], 'next', true), {
    data: [3],
    hasNext: false,
    hasPrev: true,
    startCursor: '3',
    endCursor: '3',
  })
  assert.deepEqual(page([5, 4, 3], 'prev', true).data, [4, 5])
  assert.equal(page([5, 4, 3], 'prev', true).hasPrev, true)
  assert.equal(page([5, 4], 'prev', true).hasPrev, false)
  assert.equal(page([5, 4], 'prev', true).hasNext, true)
})

test('the page envelope has the fields of both API families', () => {
  const more = pageEnvelope(
    createPage([1, 2, 3], { limit: 2, direction: 'next', hasCursor: false }, String),
    (n) => [n * 10],
  )
  assert.deepEqual(more, {
    data: [10, 20],
    items: [10, 20],
    nextCursor: '2',
    hasMore: true,
    hasNext: true,
    hasPrev: false,
    startCursor: '1',
    endCursor: '2',
  })
  const empty = pageEnvelope(
    createPage([], { limit: 2, direction: 'next', hasCursor: false }, String),
    (n) => [n],
  )
  assert.deepEqual(empty, {
    data: [],
    items: [],
    nextCursor: '',
    hasMore: false,
    hasNext: false,
    hasPrev: false,
    startCursor: null,
    endCursor: null,
  })
})
