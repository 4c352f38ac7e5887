import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { QueryResult } from '../../core/clickhouse/client.ts'
import { createFreshnessReader } from '../../serving/chain-freshness.ts'

interface Pending {
  readonly finish: (head: number) => void
  readonly fail: () => void
}

/** A reader over a store whose answers the test gives, and its clock. */
const readerOf = (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const reads: Pending[] = []
  const row = (position: number) => ({ position: String(position), slot: '7', time_ms: '9' })
  const query = <Row>(): Promise<QueryResult<Row>> =>
    new Promise((resolve, reject) => {
      reads.push({
        finish: (head) =>
          resolve({ rows: [row(head), row(1)] as Row[], rowsRead: 2, elapsedMs: 1 }),
        fail: () => reject(new Error('the store is away')),
      })
    })
  const { of } = createFreshnessReader({ query }, ['eth'])
  const head = async (): Promise<number | undefined> => (await of('eth'))?.head
  const pass = async (ms: number): Promise<void> => {
    t.mock.timers.tick(ms)
    await turn()
  }
  const finish = async (index: number, height: number): Promise<void> => {
    reads[index]?.finish(height)
    await turn()
  }
  return { of, head, pass, finish, reads }
}

test('askers share one reading, and have its answer for a second from its start', async (t) => {
  const { head, pass, finish, reads } = readerOf(t)
  const first = [head(), head()]
  await pass(300)
  await finish(0, 5)
  assert.deepEqual(await Promise.all(first), [5, 5])
  await pass(699)
  assert.equal(reads.length, 2, 'it was asked for by two: the next is read before it is too old')
  assert.equal(await head(), 5)
  await pass(1)
  const late = head()
  assert.equal(reads.length, 2, 'who finds it too old waits for the reading under way')
  await finish(1, 6)
  assert.equal(await late, 6)
})

test('an answer that is asked for is read again in the background; else not', async (t) => {
  const { head, pass, finish, reads } = readerOf(t)
  const first = head()
  await finish(0, 5)
  await first
  for (let round = 1; round <= 5; round++) {
    assert.equal(await head(), 4 + round, 'no asker waits')
    await pass(750)
    assert.equal(reads.length, 1 + round)
    await finish(round, 5 + round)
  }
  await pass(10_000)
  assert.equal(reads.length, 6, 'it was not asked for since')
  void head()
  assert.equal(reads.length, 7, 'and what was read is too old now')
})

test('a failed reading in the background fails no asker; one that is waited for fails for who waits', async (t) => {
  const { head, pass, finish, reads } = readerOf(t)
  const first = head()
  await finish(0, 5)
  await first
  await head()
  await pass(750)
  reads[1]?.fail()
  await turn()
  assert.equal(await head(), 5)
  await pass(250)
  const next = head()
  assert.equal(reads.length, 3)
  reads[2]?.fail()
  await assert.rejects(next, /the store is away/)
  const after = head()
  assert.equal(reads.length, 4)
  await finish(3, 8)
  assert.equal(await after, 8)
})

test('a reading that takes longer than a second is not given to who asks later', async (t) => {
  const { head, pass, finish, reads } = readerOf(t)
  const slow = head()
  await pass(1_000)
  const later = head()
  assert.equal(reads.length, 2)
  await finish(1, 9)
  await finish(0, 5)
  assert.deepEqual(await Promise.all([slow, later]), [5, 9])
  const kept = head()
  assert.equal(reads.length, 2, 'the older reading ended last, and is not kept')
  assert.equal(await kept, 9)
})

test('of a chain that is not held here nothing is read', async (t) => {
  const { of, reads } = readerOf(t)
  assert.equal(await of('sol'), null)
  assert.equal(reads.length, 0)
})
