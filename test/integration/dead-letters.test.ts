import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  type DeadLetterEntry,
  listDeadLetters,
  replayDeadLetters,
} from '../../cli/app/dead-letters.ts'
import type { Bus, LogRecord, RecordHeaders } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-letters-'))
const spec = (topic: string) => ({
  topic,
  partitions: 1,
  cleanup: 'delete' as const,
  retentionMs: null,
})
const bus: Bus = await openEmbeddedBus({
  path: folder,
  mapSizeBytes: 64 * 1_048_576,
  retention: 'off',
  log: makeSilentLogger(),
})
after(async () => {
  await bus.close()
  rmSync(folder, { recursive: true, force: true })
})

const SOURCE: RecordHeaders = {
  'dlq.topic': 'eth.transfers.processed',
  'dlq.partition': '0',
  'dlq.offset': '7',
  'dlq.error.class': 'Malformed.bad-magic',
  'dlq.error.message': 'no schema',
}

const letters = async (group?: string): Promise<readonly DeadLetterEntry[]> => {
  const found: DeadLetterEntry[] = []
  const request = { bus, limit: 100, ...(group !== undefined && { group }) }
  for await (const letter of listDeadLetters(request)) found.push(letter)
  return found
}

const published = async (): Promise<readonly LogRecord[]> => {
  const records: LogRecord[] = []
  for await (const record of bus.read('eth.transfers.processed', 0, 0)) records.push(record)
  return records
}

test('dead letters are listed and published again once; those without a log position stay', async () => {
  await bus.createTopics([
    spec('eth.transfers.processed'),
    spec('dlq.sink.eth.transfers.processed'),
    spec('dlq.other'),
  ])
  const writer = await bus.writer('tests')
  const letter = (key: string, headers: RecordHeaders) => ({
    topic: 'dlq.sink.eth.transfers.processed',
    key,
    value: Buffer.from(key),
    headers: { ...SOURCE, ...headers },
  })
  await writer.commit({
    records: [
      letter('good', { seq: '12', part: '0/1', op: 'A' }),
      letter('no place', {}),
      letter('no record', { 'dlq.offset': '-1', seq: '12', part: '0/1' }),
    ],
  })
  const before = await letters()
  assert.deepEqual(
    before.map(({ stays, replayed }) => [stays === null, replayed]),
    [
      [true, false],
      [false, false],
      [false, false],
    ],
  )
  assert.equal(before[0]?.error, 'Malformed.bad-magic')
  assert.deepEqual(await letters('other'), [])

  const { published: count, notReplayed: stayed } = await replayDeadLetters({ bus, limit: 100 })
  assert.deepEqual([count, stayed.length], [1, 2])
  const again = await replayDeadLetters({ bus, limit: 100 })
  assert.deepEqual(
    [again.published, again.notReplayed.length],
    [0, 2],
    'one once, the others tried',
  )
  const [record, ...others] = await published()
  assert.deepEqual(others, [])
  assert.deepEqual(record?.headers, { seq: '12', part: '0/1', op: 'A', 'dlq.replay': '1' })
  assert.equal(Buffer.from(record?.value ?? []).toString(), 'good')
  assert.deepEqual(
    (await letters()).map(({ stays, replayed }) => [stays === null, replayed]),
    [
      [true, true],
      [false, false],
      [false, false],
    ],
  )
})

test('a dead letter that stayed is published by a later replay, once, and behind new ones', async () => {
  const topic = 'dlq.sink.eth.token-documents'
  await bus.createTopics([spec('eth.token-documents'), spec(topic)])
  const writer = await bus.writer('tests')
  const headers = { ...SOURCE, 'dlq.topic': 'eth.token-documents' }
  const value = Buffer.from('late')
  await writer.commit({ records: [{ topic, key: 'late', value, headers }] })
  // As an earlier build left it, which could not publish this letter.
  const group = `replay.${topic}`
  const { end = 0 } = (await bus.ends(topic))[0] ?? {}
  const next = [{ topic, partition: 0, offset: end, metadata: `${end - 1}` }]
  await writer.commit({ offsets: { group, next } })
  await writer.commit({ records: [{ topic, key: 'new', value, headers }] })
  const sink = 'sink.eth.token-documents'
  const states = async () => (await letters(sink)).map(({ replayed }) => replayed)
  assert.deepEqual(await states(), [false, false])
  const replay = async (limit: number) =>
    (await replayDeadLetters({ bus, group: sink, limit })).published
  assert.equal(await replay(1), 1)
  assert.deepEqual(await states(), [false, true])
  assert.equal(await replay(100), 1)
  assert.deepEqual(await states(), [true, true])
  assert.equal(await replay(100), 0)
})

test('a replay publishes no more dead letters than its limit', async () => {
  const writer = await bus.writer('tests')
  const records = Array.from({ length: 5 }, (_, index) => ({
    topic: 'dlq.sink.eth.transfers.processed',
    key: `${index}`,
    value: null,
    headers: { ...SOURCE, seq: '13', part: `${index}/5` },
  }))
  await writer.commit({ records })
  assert.equal((await replayDeadLetters({ bus, limit: 2 })).published, 2)
  assert.equal((await replayDeadLetters({ bus, limit: 100 })).published, 3)
})

test('a document, which belongs to no block operation, can be replayed without a place', async () => {
  await bus.createTopics([spec('eth.token-documents'), spec('dlq.sink.eth.token-documents')])
  const writer = await bus.writer('tests')
  const headers = { ...SOURCE, 'dlq.topic': 'eth.token-documents' }
  const value = Buffer.from('document')
  await writer.commit({
    records: [{ topic: 'dlq.sink.eth.token-documents', key: 'token', value, headers }],
  })
  const group = 'sink.eth.token-documents'
  const { published: count } = await replayDeadLetters({ bus, group, limit: 100 })
  assert.equal(count, 1)
})

test('a dead letter that names a topic that its group does not read stays, with that reason', async () => {
  await bus.createTopics([spec('eth.blocks'), spec('control.api-keys')])
  const writer = await bus.writer('tests')
  const group = 'sink.eth.transfers.processed'
  const names = ['eth.blocks', 'control.api-keys', 'sol.transfers', '']
  await writer.commit({
    records: names.map((name) => ({
      topic: `dlq.${group}`,
      key: name,
      value: Buffer.from('forged'),
      headers: { ...SOURCE, 'dlq.topic': name, seq: '14', part: '0/1' },
    })),
  })
  const { published: count, notReplayed: stayed } = await replayDeadLetters({
    bus,
    group,
    limit: 100,
  })
  assert.equal(count, 0)
  assert.deepEqual(
    stayed.slice(0, names.length).map(({ stays }) => stays),
    names.map(() => 'it names a topic that its group does not read'),
  )
  for (const topic of ['eth.blocks', 'control.api-keys'])
    assert.equal((await bus.ends(topic))[0]?.end, 0, topic)
})
