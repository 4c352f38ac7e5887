import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogRecord } from '../../core/bus/contract.ts'
import {
  estimateRecordBytes,
  makeRecentRecords,
  type RecentRecords,
} from '../../core/bus/embedded/recent-records.ts'

const record = (topic: string, offset: number, partition = 0): LogRecord => ({
  topic,
  partition,
  offset,
  key: 'k',
  value: Buffer.alloc(36),
  headers: {},
  timestampMs: 0,
})

const offsets = (recent: RecentRecords, topic: string, from: number, to: number) => {
  const held = recent.range({ topic, partition: 0, from, to })
  return held && [...held].map((one) => one.record.offset)
}

test('the record cache holds the newest records across both halves, older ones not', () => {
  // Of 101 bytes each, three fill a half of 250.
  const recent = makeRecentRecords(500)
  for (let offset = 40; offset < 48; offset += 1) recent.add(record('t', offset))
  assert.equal(estimateRecordBytes(record('t', 0)), 101)
  assert.equal(offsets(recent, 't', 42, 48), undefined)
  assert.deepEqual(offsets(recent, 't', 43, 48), [43, 44, 45, 46, 47])
  assert.deepEqual(offsets(recent, 't', 45, 47), [45, 46])
  assert.deepEqual(offsets(recent, 't', 47, 48), [47])
})

test('the record cache holds nothing beyond the end or of another partition or topic', () => {
  const recent = makeRecentRecords(10_000)
  recent.add(record('t', 5))
  recent.add(record('t', 9, 1))
  recent.add(record('u', 0))
  assert.equal(offsets(recent, 't', 5, 7), undefined)
  assert.deepEqual(offsets(recent, 't', 5, 6), [5])
  assert.deepEqual(offsets(recent, 'u', 0, 1), [0])
  assert.equal(offsets(recent, 'v', 0, 1), undefined)
})

test('a cleared record cache holds only records added since', () => {
  const recent = makeRecentRecords(10_000)
  recent.add(record('t', 0))
  recent.clear()
  recent.add(record('t', 1))
  assert.equal(offsets(recent, 't', 0, 2), undefined)
  assert.deepEqual(offsets(recent, 't', 1, 2), [1])
})
