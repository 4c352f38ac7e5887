import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ListTurns } from '../../serving/realtime/list-turns.ts'

const waiting = (lists: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(lists).map(([name, orgIds]) => ({ name, orgIds: new Set(orgIds) }))

test('organizations take turns within a round and over rounds', () => {
  const turns = new ListTurns()
  const lists = waiting({ a1: ['a'], a2: ['a'], a3: ['a'], b1: ['b'], c1: ['c'], c2: ['c'] })
  assert.deepEqual(turns.next(lists, 5), ['a1', 'b1', 'c1', 'a2', 'c2'])
  assert.deepEqual(turns.next(lists, 2), ['a3', 'b1'])
  assert.deepEqual(turns.next(lists, 2), ['c1', 'a1'])
  assert.deepEqual(turns.next(lists, 2), ['b1', 'a2'])
  assert.deepEqual(turns.next(lists, 10).toSorted(), ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'])
})

test('a list of several organizations is read once in a round, in the turn of the first of them', () => {
  const turns = new ListTurns()
  const lists = waiting({ a1: ['a'], a2: ['a'], both: ['a', 'b'] })
  assert.deepEqual(turns.next(lists, 2), ['a1', 'both'])
  assert.deepEqual(turns.next(lists, 2), ['a2', 'both'])
  assert.deepEqual(turns.next(lists, 3).toSorted(), ['a1', 'a2', 'both'])
})

test('no lists, or none that are left, give none', () => {
  const turns = new ListTurns()
  assert.deepEqual(turns.next([], 10), [])
  assert.deepEqual(turns.next(waiting({ a1: ['a'] }), 10), ['a1'])
  assert.deepEqual(turns.next([], 10), [])
  assert.deepEqual(turns.next(waiting({ a1: ['a'], a2: ['a'] }), 1), ['a1'])
})
