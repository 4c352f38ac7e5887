import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openWarehouse } from '../../core/clickhouse/client.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-warehouse-'))
const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

const SLOW = 'SELECT sleep(0.5) FORMAT Null'

/** Names in the order in which their work ended. */
const orderOf = async (works: Readonly<Record<string, Promise<unknown>>>) => {
  const ended: string[] = []
  await Promise.all(Object.entries(works).map(([name, work]) => work.then(() => ended.push(name))))
  return ended
}

test('inserted rows are read by every connection that reads', async () => {
  await warehouse.command('CREATE TABLE rows (n UInt8) ENGINE = MergeTree ORDER BY n')
  await warehouse.insert('rows', [{ n: 1 }, { n: 2 }])
  const reads = Array.from({ length: 8 }, () =>
    warehouse.query<{ n: number }>({ sql: 'SELECT n FROM rows ORDER BY n' }),
  )
  for (const { rows } of await Promise.all(reads)) assert.deepEqual(rows, [{ n: 1 }, { n: 2 }])
})

test('the token of one insert is not that of the next ones', async () => {
  await warehouse.command(
    'CREATE TABLE tokens (n UInt8) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100',
  )
  await warehouse.insert('tokens', [{ n: 1 }], { token: 'first' })
  await warehouse.insert('tokens', [{ n: 2 }])
  await warehouse.insert('tokens', [{ n: 3 }])
  await warehouse.command('INSERT INTO tokens SELECT 4')
  const { rows } = await warehouse.query<{ n: number }>({ sql: 'SELECT n FROM tokens ORDER BY n' })
  assert.deepEqual(
    rows.map(({ n }) => n),
    [1, 2, 3, 4],
  )
})

test('a read does not wait for writes, nor does a file read wait for either', async () => {
  const ended = await orderOf({
    ...Object.fromEntries(
      Array.from({ length: 6 }, (_, index) => [`write ${index}`, warehouse.command(SLOW)]),
    ),
    read: warehouse.query({ sql: 'SELECT 1' }),
    file: readFile(new URL(import.meta.url)),
  })
  assert.deepEqual(ended.slice(0, 2).toSorted(), ['file', 'read'])
  assert.equal(ended.length, 8)
})

test('a slow read leaves a slot for another; a read that is aborted before its turn is not run', async () => {
  const giveUp = new AbortController()
  const reads = {
    slow: warehouse.query({ sql: 'SELECT sleep(0.5)' }),
    quick: warehouse.query({ sql: 'SELECT 1' }),
    slower: warehouse.query({ sql: 'SELECT sleep(1)' }),
  }
  const given = assert.rejects(
    warehouse.query({ sql: 'SELECT sleep(3)' }, { signal: giveUp.signal }),
    { name: 'AbortError' },
  )
  giveUp.abort()
  assert.deepEqual(await orderOf(reads), ['quick', 'slow', 'slower'])
  await given
})
