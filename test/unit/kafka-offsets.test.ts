import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Commit, GroupOffset, LogRecord, Writer } from '../../core/bus/contract.ts'
import { makeLaneBuffer } from '../../core/bus/kafka/lane-buffer.ts'
import { skipOffsetGaps } from '../../core/bus/kafka/offset-gaps.ts'

const AT = { topic: 't', partition: 0 }
const NOW = { maxRecords: 10, maxWaitMs: 0 }

const record = (offset: number): LogRecord => ({
  ...AT,
  offset,
  key: 'k',
  value: Buffer.from('v'),
  headers: {},
  timestampMs: 0,
})
const place = (offset: number): GroupOffset => ({ ...AT, offset, metadata: 'm' })

/** A lane that reads `t/0` from where its group stands, and the offsets that it commits. */
const laneAt = (committed: readonly GroupOffset[]) => {
  const commits: Commit[] = []
  const buffer = makeLaneBuffer(new AbortController().signal, () => undefined)
  buffer.open({ ...AT, from: committed[0]?.offset ?? 0 })
  const inner: Writer = {
    id: 'w',
    commit: async (commit) => {
      commits.push(commit)
      return []
    },
    close: async () => undefined,
  }
  const reading = { group: 'g', partition: 0, committed, buffer, writer: inner, take: buffer.take }
  const { writer, take } = skipOffsetGaps(reading)
  return {
    buffer,
    take,
    commits,
    commit: (next: readonly GroupOffset[], group = 'g') =>
      writer.commit({ offsets: { group, next } }),
    offsets: () => commits.map(({ offsets }) => offsets?.next.map(({ offset }) => offset)),
  }
}

test('an offset behind the last record advances over the transaction marker read with it', async () => {
  const { buffer, take, commit, commits } = laneAt([])
  buffer.accept([record(0), record(1)], { ...AT, next: 3 })
  assert.equal((await take(NOW)).length, 2)
  await commit([place(2)])
  assert.deepEqual(commits, [{ offsets: { group: 'g', next: [place(3)] } }])
})

test('an offset before a record that was read is kept, taken or not', async () => {
  const { buffer, take, commit, offsets } = laneAt([])
  buffer.accept([record(0), record(1), record(5)], { ...AT, next: 7 })
  await commit([place(1)])
  assert.equal((await take({ ...NOW, maxRecords: 3 })).length, 3)
  await commit([place(2)])
  await commit([place(6)])
  assert.deepEqual(offsets(), [[1], [2], [7]])
})

test('an offset that advanced without records is committed once, by an empty take', async () => {
  const { buffer, take, offsets } = laneAt([place(4)])
  await take(NOW)
  buffer.accept([], { ...AT, next: 9 })
  await take(NOW)
  await take(NOW)
  assert.deepEqual(offsets(), [[9]])
})

test('an empty take commits nothing while records are uncommitted, and nothing for a group without an offset', async () => {
  const some = laneAt([place(4)])
  some.buffer.accept([record(4)], { ...AT, next: 6 })
  await some.take(NOW)
  assert.equal((await some.take(NOW)).length, 0)
  const none = laneAt([])
  none.buffer.accept([], { ...AT, next: 9 })
  await none.take(NOW)
  assert.deepEqual([some.offsets(), none.offsets()], [[], []])
})

test('commits of other groups, other partitions and without offsets are unchanged', async () => {
  const { buffer, commit, commits } = laneAt([])
  buffer.accept([], { ...AT, next: 9 })
  const elsewhere = { topic: 't', partition: 1, offset: 3 }
  await commit([place(2)], 'other')
  await commit([elsewhere])
  assert.deepEqual(
    commits.map(({ offsets }) => offsets?.next),
    [[place(2)], [elsewhere]],
  )
})
