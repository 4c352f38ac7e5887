import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StateChange } from '../../core/bus/contract.ts'
import { loadDeduplicator } from '../../serving/webhooks/deduplication.ts'

const NOW = 1_763_640_000_000
const HOUR = 3_600_000
const CHANNEL = 'sol.token.created'

const openRows = (entries: readonly (readonly [string, string])[] = []) => {
  const rows = new Map(entries.map(([key, text]) => [key, Buffer.from(text)]))
  const state = {
    *entries(prefix = '') {
      for (const key of [...rows.keys()].toSorted()) {
        if (key.startsWith(prefix)) yield [key, rows.get(key) ?? Buffer.alloc(0)] as const
      }
    },
  }
  const write = (changes: readonly StateChange[]): readonly string[] => {
    for (const { key, value } of changes) {
      if (value) rows.set(key, Buffer.from(value))
      else rows.delete(key)
    }
    return changes.map(({ key, value }) => (value ? key : `-${key}`))
  }
  const load = (forEver = false) =>
    loadDeduplicator(state, { store: 'state', partition: 1, forEver })
  return { rows, write, load }
}

test('the ids of one commit of webhook messages are one row, in the order of time, and read again with the numbers of the channels', () => {
  const { rows, write, load } = openRows()
  const first = load()
  assert.deepEqual([first.add('msg_b', CHANNEL), first.add('msg_a', CHANNEL)], [1, 2])
  assert.ok(first.has('msg_a') && !first.has('msg_c'))
  assert.deepEqual(write(first.changes(NOW)), ['ids/001763640000000/msg_b', `seq/${CHANNEL}`])
  assert.deepEqual(first.changes(NOW), [], 'nothing new')
  first.add('msg_c', CHANNEL)
  write(first.changes(NOW + 1))
  assert.equal(rows.size, 3)
  const again = load()
  assert.ok(['msg_a', 'msg_b', 'msg_c'].every((id) => again.has(id)))
  assert.equal(again.add('msg_d', CHANNEL), 4)
})

test('ids of webhook messages expire after a day with their row; rows of older versions are read and expire too', () => {
  const { rows, write, load } = openRows([
    ['id/msg_old', String(NOW - 24 * HOUR + 1)],
    ['id/msg_older', String(NOW - 24 * HOUR)],
    [`seq/${CHANNEL}`, '7'],
  ])
  const ids = load()
  assert.ok(ids.has('msg_old') && ids.has('msg_older'))
  assert.equal(ids.add('msg_new', CHANNEL), 8)
  write(ids.changes(NOW))
  assert.deepEqual(write(ids.changes(NOW + 1)), ['-id/msg_older'])
  assert.deepEqual(write(ids.changes(NOW + 2)), ['-id/msg_old'])
  assert.deepEqual([ids.has('msg_old'), ids.has('msg_new')], [false, true])
  assert.deepEqual(load(true).changes(NOW + 48 * HOUR), [], 'for ever')
  assert.deepEqual(write(load().changes(NOW + 24 * HOUR + 1)), ['-ids/001763640000000/msg_new'])
  assert.deepEqual([...rows.keys()], [`seq/${CHANNEL}`])
})

test('at most half a million ids of webhook messages are remembered, the newest ones', () => {
  const { write, load } = openRows()
  const ids = load(true)
  for (let commit = 0; commit <= 500; commit += 1) {
    for (let at = 0; at < 1_000; at += 1) ids.add(`msg_${commit}_${at}`, CHANNEL)
    write(ids.changes(NOW + commit))
  }
  assert.deepEqual(
    ['msg_0_0', 'msg_0_999', 'msg_1_0', 'msg_500_999'].map((id) => ids.has(id)),
    [false, false, true, true],
  )
})
