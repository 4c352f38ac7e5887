import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogRecord, ProducerRecord } from '../../core/bus/contract.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { createOwnCommit } from '../../serving/auth/own-commit.ts'

const signer = makeRecordSigner('secret')
const recordOf = (topic: string, key: string, text: string | null = null): ProducerRecord => ({
  topic,
  partition: 0,
  key,
  value: text === null ? null : Buffer.from(text),
})
const asRead = (record: ProducerRecord | undefined): LogRecord => {
  assert.ok(record)
  return { partition: 0, offset: 0, timestampMs: 0, headers: {}, ...record }
}
const open = () => createOwnCommit(['a', 'b'], signer)

test('a commit is in the log when every record of the tailed topics was read', () => {
  const own = open()
  assert.equal(own.isInLog(), false)
  const written = own.begin([
    recordOf('a', 'x', '1'),
    recordOf('elsewhere', 'y'),
    recordOf('b', 'x'),
  ])
  assert.deepEqual(
    written.map((record) => signer.problemOf(asRead(record))),
    [undefined, undefined, undefined],
  )
  own.read(asRead(written[2]))
  assert.equal(own.isInLog(), false)
  own.read(asRead(written[0]))
  assert.equal(own.isInLog(), true)
  own.end()
  assert.equal(own.isInLog(), false)
})

test('two equal records of a commit must both be read', () => {
  const own = open()
  const [one, other] = own.begin([recordOf('a', 'x'), recordOf('a', 'x')])
  own.read(asRead(one))
  own.read(asRead(one))
  assert.equal(own.isInLog(), false)
  own.read(asRead(other))
  assert.equal(own.isInLog(), true)
})

test('equal records of another commit, of this process or another, do not count', () => {
  const own = open()
  const before = own.begin([recordOf('a', 'x')])
  own.begin([recordOf('a', 'x')])
  const foreign = open().begin([recordOf('a', 'x')])
  for (const record of [...before, ...foreign, signer.sign(recordOf('a', 'x'))]) {
    own.read(asRead(record))
  }
  assert.equal(own.isInLog(), false)
})

test('a record counts only as it was written: topic, key, value and signature', () => {
  const own = open()
  const [written] = own.begin([recordOf('a', 'x', '1')])
  const record = asRead(written)
  const { commit = '', signature = '' } = record.headers
  const changed: readonly Partial<LogRecord>[] = [
    { topic: 'b' },
    { key: 'y' },
    { value: Buffer.from('2') },
    { value: null },
    { headers: { commit } },
    { headers: { signature } },
    makeRecordSigner('another').sign(record),
    signer.sign({ ...record, value: null }),
  ]
  for (const change of changed) own.read({ ...record, ...change })
  assert.equal(own.isInLog(), false)
  own.read(record)
  assert.equal(own.isInLog(), true)
})

test('a commit of other topics only is never found in the log', () => {
  const own = open()
  const written = own.begin([recordOf('elsewhere', 'x')])
  own.read(asRead(written[0]))
  assert.equal(own.isInLog(), false)
})
