import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { importLabels, writeChainLabels } from '../../core/clickhouse/label-store.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { Outage } from '../../core/errors.ts'
import { parseLabels } from '../../serving/risk/label-formats.ts'
import { readLabelsVersion } from '../../serving/risk/screen.ts'
import { addressOf } from '../support/moved-money.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const folder = mkdtempSync(join(tmpdir(), 'sluice-labels-'))
let warehouse: Warehouse

before(async () => {
  warehouse = await openWarehouse({ kind: 'embedded', path: folder })
  await migrate(warehouse, ['eth'])
})
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Imports lines of `letter,category,entity,valid_from,valid_to`. */
const importLines = (
  source: string,
  lines: readonly string[],
  {
    nowMs = NOW_MS,
    into = warehouse,
  }: { nowMs?: number; into?: Pick<Warehouse, 'query' | 'insert'> } = {},
) => {
  const text = lines.map((line) => `${addressOf(line[0] ?? '')}${line.slice(1)}\n`).join('')
  const labels = parseLabels('csv', `address,category,entity,valid_from,valid_to\n${text}`)
  return importLabels(into, { source, format: 'csv', labels, nowMs })
}

/** What is stored of a source: entity, first and last day; without what was replaced. */
const stored = async (source: string): Promise<readonly string[]> => {
  const { rows } = await warehouse.query<{ readonly text: string }>({
    sql: `SELECT concat(entity, ' ', toString(toDate(valid_from)), ' ', ifNull(toString(toDate(valid_to)), 'open')) AS text
FROM address_labels FINAL WHERE source = {source:String} AND (valid_to IS NULL OR valid_to > valid_from) ORDER BY text`,
    params: { source },
  })
  return rows.map(({ text }) => text)
}

test('an import that was interrupted is completed by the same list, with a version that makes records due', async () => {
  const first = await importLines('interrupted', ['A,scam,one,,'])
  const into = {
    query: warehouse.query,
    insert: async (...args: Parameters<Warehouse['insert']>) => {
      if (args[0] === 'label_imports') throw new Outage('warehouse', 'away')
      return warehouse.insert(...args)
    },
  }
  const list = ['A,scam,one,,', 'B,scam,two,,']
  await assert.rejects(importLines('interrupted', list, { into }), Outage)
  assert.equal(await readLabelsVersion(warehouse), first.version)
  const repeated = await importLines('interrupted', list)
  assert.deepEqual([repeated.added, repeated.unchanged], [0, 2])
  assert.ok(repeated.version > first.version)
  assert.equal(await readLabelsVersion(warehouse), repeated.version)
  assert.deepEqual(await importLines('interrupted', list), repeated)
})

test('an import that ends after another has a later version, though it began before', async () => {
  let inner = 0
  const into = {
    query: warehouse.query,
    insert: async (...args: Parameters<Warehouse['insert']>) => {
      if (args[0] === 'address_labels' && inner === 0)
        inner = (await importLines('inner', ['A,scam,inner,,'])).version
      return warehouse.insert(...args)
    },
  }
  const outer = await importLines('outer', ['A,scam,outer,,'], { into })
  assert.ok(inner > 0 && outer.version > inner, `${inner} ${outer.version}`)
  assert.equal(await readLabelsVersion(warehouse), outer.version)
})

/** Who comes waits until so many have come. */
const gate = (count: number): (() => Promise<void>) => {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  let waiting = 0
  return () => {
    waiting += 1
    if (waiting === count) open()
    return opened
  }
}

/** Writers of labels that read one version before any of them writes its own: a list and two chains. */
const writeAtOnce = async (into: Pick<Warehouse, 'query' | 'insert'>, lists: readonly string[]) => {
  const ofChain = (chain: string) =>
    writeChainLabels(into, {
      chain,
      protocol: 'usdt_freezes',
      contract: '0x01',
      labels: parseLabels(
        'csv',
        `address,category,valid_from\n${addressOf('A')},scam,2025-01-01\n`,
      ),
      retracted: [],
      nowMs: NOW_MS,
    })
  return Promise.all([
    ...['eth', 'bsc'].map(ofChain),
    ...lists.map((source) => importLines(source, ['A,scam,one,,'], { into })),
  ])
}

test('writers that end at once share a version, and the same labels again make no other one', async () => {
  const atOnce = { address_labels: gate(3), label_imports: gate(3) }
  const into = {
    query: warehouse.query,
    insert: async (...args: Parameters<Warehouse['insert']>) => {
      const [table] = args
      if (table === 'address_labels' || table === 'label_imports') await atOnce[table]()
      return warehouse.insert(...args)
    },
  }
  const first = await writeAtOnce(into, ['at-once'])
  const versions = new Set(first.map(({ version }) => version))
  assert.deepEqual([versions.size, first.map(({ added }) => added)], [1, [1, 1, 1]])
  await warehouse.command('OPTIMIZE TABLE label_imports FINAL')
  const again = await writeAtOnce(warehouse, ['at-once'])
  const unchanged = first.map((result) => ({ ...result, added: 0, unchanged: 1 }))
  assert.deepEqual(again, unchanged)
  assert.deepEqual(versions, new Set([await readLabelsVersion(warehouse)]))
})

/** Sources that have a row of the version, after a merge. */
const sourcesOf = async (version: number): Promise<readonly string[]> => {
  await warehouse.command('OPTIMIZE TABLE label_imports FINAL')
  const { rows } = await warehouse.query<{ readonly source: string }>({
    sql: 'SELECT DISTINCT source FROM label_imports WHERE version = {version:UInt64} ORDER BY source',
    params: { version },
  })
  return rows.map(({ source }) => source)
}

test('rows from before the key had the source are kept, however often the migration is begun', async () => {
  const name = '0035_label_import_key.sql'
  const statements = readFileSync(new URL(`../../schemas/tables/${name}`, import.meta.url), 'utf8')
  const forget = () =>
    warehouse.command(
      `ALTER TABLE migrations DELETE WHERE name = '${name}' SETTINGS mutations_sync = 1`,
    )
  await warehouse.command('DROP TABLE label_imports SYNC')
  await warehouse.command(
    'CREATE TABLE label_imports (version UInt64, source LowCardinality(String), format LowCardinality(String), added UInt64, closed UInt64, imported_at DateTime64(3)) ENGINE=ReplacingMergeTree() ORDER BY version',
  )
  await warehouse.command('SYSTEM STOP MERGES label_imports')
  const row = {
    version: 900,
    format: 'csv',
    added: 1,
    closed: 0,
    imported_at: '2026-01-01 00:00:00',
  }
  for (const source of ['one', 'two']) await warehouse.insert('label_imports', [{ ...row, source }])
  await forget()
  // As where a process ended behind the first statement.
  await warehouse.command(statements.split(/;\s*$/m)[0] ?? '')
  for (const _ of [1, 2]) {
    await migrate(warehouse, ['eth'])
    await forget()
  }
  await Promise.all([migrate(warehouse, ['eth']), migrate(warehouse, ['eth'])])
  await warehouse.command('SYSTEM START MERGES label_imports')
  assert.deepEqual(await sourcesOf(900), ['one', 'two'])
  const next = await importLines('after-migration', ['A,scam,one,,'])
  assert.equal(next.version, 901)
  assert.deepEqual(await sourcesOf(901), ['after-migration'])
})

test('labels that are over change nothing when they are imported again', async () => {
  const list = ['A,sanctions,dated,2022-08-08,2025-03-21', 'B,sanctions,undated,,2025-03-21']
  const first = await importLines('over', list)
  assert.equal(first.added, 2)
  for (const days of [1, 2]) {
    const again = await importLines('over', list, { nowMs: NOW_MS + days * 86_400_000 })
    assert.deepEqual(again, { ...first, added: 0, unchanged: 2 })
  }
  assert.deepEqual(await stored('over'), [
    'dated 2022-08-08 2025-03-21',
    'undated 2025-03-20 2025-03-21',
  ])
})

test('a label of which the list says other moments or words is replaced', async () => {
  const open = ['A,sanctions,dated,,', 'B,sanctions,ended,,', 'C,sanctions,named,,']
  await importLines('moments', open, { nowMs: Date.UTC(2024, 0, 1) })
  const list = [
    'A,sanctions,dated,2022-08-08,2025-03-21',
    'B,sanctions,ended,,2025-03-21',
    'C,sanctions,renamed,,',
  ]
  const changed = await importLines('moments', list)
  assert.deepEqual([changed.added, changed.closed, changed.unchanged], [3, 1, 0])
  assert.deepEqual(await stored('moments'), [
    'dated 2022-08-08 2025-03-21',
    'ended 2024-01-01 2025-03-21',
    'renamed 2024-01-01 open',
  ])
  assert.equal((await importLines('moments', list)).unchanged, 3)
})
