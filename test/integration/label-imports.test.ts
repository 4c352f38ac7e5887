import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { importLabels } from '../../core/clickhouse/label-store.ts'
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
