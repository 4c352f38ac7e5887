/** Labels from events of listed contracts: taken at finality, once, and ended by the events that end them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { importLabels } from '../../core/clickhouse/label-store.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import {
  type EventFingerprints,
  startChainLabels,
  updateChainLabels,
} from '../../processors/labels/chain-labels.ts'
import { readLabelsVersion } from '../../serving/risk/screen.ts'
import { createSevereLabelCheck } from '../../serving/risk/severe-labels.ts'
import { addressOf, txOf } from '../support/moved-money.ts'
import { until } from '../support/until.ts'

const START_MS = Date.UTC(2026, 0, 1)
const NOW_MS = START_MS + 3_600_000
const ORACLE = '0x40c57923924b5c5c5455c48d93317139addac8fb'
const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7'
const folder = mkdtempSync(join(tmpdir(), 'sluice-chain-labels-'))
let warehouse: Warehouse

before(async () => {
  warehouse = await openWarehouse({ kind: 'embedded', path: folder })
  await migrate(warehouse, ['eth'])
})
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  for (const table of ['eth_address_label_events', 'eth_blocks', 'eth_chain_state'])
    await warehouse.command(`TRUNCATE TABLE ${table}`)
  for (const table of ['address_labels', 'label_imports'])
    await warehouse.command(`TRUNCATE TABLE ${table}`)
})

const timeOf = (height: number): number => START_MS + height * 12_000

/** A block of that height and branch is stored. */
const store = (height: number, branch = '', isReverted = false) =>
  warehouse.insert('eth_blocks', [
    {
      block_time: timeOf(height),
      block_slot: height,
      block_height: height,
      block_hash: `h${height}${branch}`,
      _ver: isReverted ? 2 : 1,
      _del: isReverted ? 1 : 0,
    },
  ])
const finalize = (height: number) =>
  warehouse.insert('eth_chain_state', [
    {
      key: 'final',
      final_slot: height,
      final_time: timeOf(height),
      hot_from: 0,
      seq: 1,
      _ver: height,
    },
  ])

interface Said {
  readonly action?: 'added' | 'removed' | 'seized'
  readonly contract?: string
  readonly at: number
  readonly branch?: string
  readonly index?: number
  readonly timeMs?: number
  readonly ver?: number
}
/** A listed contract said something of the letter's address. */
const say = (
  letter: string,
  { action = 'added', contract = USDT, at, branch = '', index = 0, timeMs = timeOf(at), ver }: Said,
  isReverted = false,
) =>
  warehouse.insert('eth_address_label_events', [
    {
      block_time: timeMs,
      block_slot: at,
      block_height: at,
      block_hash: `h${at}${branch}`,
      tx_hash: txOf(at),
      tx_index: 0,
      event_index: index,
      log_index: index,
      contract,
      protocol: contract === ORACLE ? 'chainalysis_oracle' : 'usdt_freezes',
      action,
      address: addressOf(letter),
      _ver: ver ?? (isReverted ? 2 : 1),
      _del: isReverted ? 1 : 0,
    },
  ])

const PLACE = { chain: 'eth', explorerUrl: 'https://etherscan.io' }
const update = (known?: EventFingerprints, into: Pick<Warehouse, 'query' | 'insert'> = warehouse) =>
  updateChainLabels({ ...PLACE, warehouse: into }, NOW_MS, known)

/** Labels as they are stored: letter, category, chain, first and last height. */
const labels = async (): Promise<readonly string[]> => {
  const { rows } = await warehouse.query<{
    readonly text: string
    readonly from: number
    readonly to: number | null
  }>({
    sql: `SELECT concat(char(reinterpretAsUInt8(unhex(right(address, 2)))), ' ', category, ' ', chain) AS text,
  toFloat64(toUnixTimestamp64Milli(valid_from)) AS from, toFloat64(toUnixTimestamp64Milli(valid_to)) AS to
FROM address_labels FINAL ORDER BY address, valid_from, category`,
  })
  const height = (ms: number): number => (ms - START_MS) / 12_000
  return rows.map(
    ({ text, from, to }) => `${text} ${height(from)} ${to === null ? 'open' : height(to)}`,
  )
}

test('a label begins at its event and names contract, transaction and block; nothing of a block that is not final counts', async () => {
  for (const height of [1, 2, 3]) await store(height)
  await say('A', { at: 2 })
  await say('B', { at: 3 })
  await say('C', { at: 2, contract: ORACLE, index: 1 })
  await update()
  assert.deepEqual(await labels(), [])
  await finalize(1)
  await update()
  assert.deepEqual([await labels(), await readLabelsVersion(warehouse)], [[], 0])
  await finalize(2)
  await update()
  assert.deepEqual(await labels(), ['A issuer_frozen eth 2 open', 'C sanctions  2 open'])
  const { rows } = await warehouse.query({
    sql: `SELECT source, evidence_url, entity, confidence FROM address_labels FINAL WHERE category = 'issuer_frozen'`,
  })
  assert.deepEqual(rows, [
    {
      source: `chain:eth:usdt_freezes:${USDT}`,
      evidence_url: `https://etherscan.io/tx/${txOf(2)}#block=2`,
      entity: '',
      confidence: 1,
    },
  ])
})

test('what a reorg took back gives no label, though its rows are taken back later than finality is known', async () => {
  await store(1)
  await store(2, 'old')
  await say('A', { at: 2, branch: 'old' })
  await say('B', { at: 2, branch: 'old', index: 1 })
  await store(2, 'old', true)
  await store(2, 'new')
  await say('B', { at: 2, branch: 'new', index: 1 })
  await finalize(2)
  await update()
  assert.deepEqual(await labels(), ['B issuer_frozen eth 2 open'])
  await say('A', { at: 2, branch: 'old' }, true)
  await update()
  assert.deepEqual(await labels(), ['B issuer_frozen eth 2 open'])
})

test('an event whose block is stored after its finality is labelled then, and one whose block never comes has nothing written', async () => {
  await store(1)
  await say('A', { at: 2 })
  await say('B', { at: 2, branch: 'never', index: 1 })
  await finalize(2)
  const first = await update()
  assert.deepEqual(await labels(), [])
  await store(2)
  const second = await update(first)
  assert.deepEqual(await labels(), ['A issuer_frozen eth 2 open'])
  const statements: string[] = []
  const into = {
    query: (async (...args: Parameters<Warehouse['query']>) => {
      statements.push(args[0].sql)
      return warehouse.query(...args)
    }) as Warehouse['query'],
    insert: async (): Promise<never> => assert.fail('nothing changed'),
  }
  await store(3)
  await finalize(3)
  const third = await update(second, into)
  assert.deepEqual([third, statements.length], [second, 3], 'finality and two fingerprints')
  await say('B', { at: 2, branch: 'never', index: 1 }, true)
  const fourth = await update(third, into)
  statements.length = 0
  assert.deepEqual(await update(fourth, into), fourth)
  assert.equal(statements.length, 2, 'no block is looked up where none is missing')
  assert.deepEqual(await labels(), ['A issuer_frozen eth 2 open'])
})

test('a removal ends a label, a later addition begins another, and destroyed funds show that an account is listed', async () => {
  for (const height of [1, 2, 3, 4]) await store(height)
  await finalize(4)
  await say('A', { at: 1 })
  await say('A', { at: 2, action: 'seized' })
  await say('A', { at: 3, action: 'removed' })
  await say('A', { at: 4 })
  await say('B', { at: 2, action: 'seized', index: 1 })
  await say('C', { at: 2, action: 'removed', index: 2 })
  await say('D', { at: 2, index: 3 })
  await say('D', { at: 2, action: 'removed', index: 4 })
  await say('D', { at: 2, index: 5 })
  await update()
  assert.deepEqual(await labels(), [
    'A issuer_frozen eth 1 3',
    'A issuer_frozen eth 4 open',
    'B issuer_frozen eth 2 open',
    'D issuer_frozen eth 2 open',
  ])
})

test('a removal that becomes final later ends the label that is stored, and screening knows it no more', async () => {
  for (const height of [1, 2]) await store(height)
  await finalize(1)
  await say('A', { at: 1, contract: ORACLE })
  await say('A', { at: 2, contract: ORACLE, action: 'removed' })
  const first = await update()
  const isSevere = () => createSevereLabelCheck(warehouse, () => NOW_MS)(addressOf('A'))
  assert.equal(await isSevere(), true)
  const version = await readLabelsVersion(warehouse)
  await finalize(2)
  assert.notDeepEqual(await update(first), first)
  assert.deepEqual(await labels(), ['A sanctions  1 2'])
  assert.equal(await isSevere(), false)
  assert.ok((await readLabelsVersion(warehouse)) > version, 'stored results are screened again')
})

test('an event behind later ones leaves no label open after its removal, and touches no other list or address', async () => {
  for (const height of [1, 5, 7, 9]) await store(height)
  await finalize(9)
  for (const letter of ['A', 'B', 'C']) await say(letter, { at: 5, action: 'seized' })
  await say('A', { at: 5, contract: ORACLE, index: 1 })
  const list = { chain: 'eth', category: 'issuer_frozen', entity: '', confidence: 1 } as const
  const listed = { ...list, evidenceUrl: '', validFromMs: timeOf(6), validToMs: null }
  await importLabels(warehouse, {
    source: 'other',
    format: 'csv',
    labels: [{ ...listed, address: addressOf('A') }],
    nowMs: NOW_MS,
  })
  await update()
  await say('A', { at: 1 })
  await say('A', { at: 9, action: 'removed' })
  await say('B', { at: 1 })
  await say('C', { at: 1 })
  await say('C', { at: 5, action: 'removed', index: 2 })
  await say('C', { at: 7 })
  await update()
  const after = await labels()
  assert.deepEqual(after, [
    'A issuer_frozen eth 1 9',
    'A issuer_frozen eth 5 5',
    'A sanctions  5 open',
    'A issuer_frozen eth 6 open',
    'B issuer_frozen eth 1 open',
    'B issuer_frozen eth 5 5',
    'C issuer_frozen eth 1 5',
    'C issuer_frozen eth 5 5',
    'C issuer_frozen eth 7 open',
  ])
  const version = await readLabelsVersion(warehouse)
  await update()
  assert.deepEqual([await labels(), await readLabelsVersion(warehouse)], [after, version])
})

test('a label whose events are lost ends by a later removal, and not by what was known before it', async () => {
  for (const height of [1, 2, 3, 5, 6]) await store(height)
  await finalize(6)
  await say('A', { at: 5 })
  await say('B', { at: 2 })
  await say('C', { at: 1 })
  await update()
  await warehouse.command('TRUNCATE TABLE eth_address_label_events')
  await say('A', { at: 1 })
  await say('A', { at: 3, action: 'removed' })
  await say('B', { at: 3 })
  await say('B', { at: 6, action: 'removed' })
  await say('C', { at: 3, action: 'seized' })
  await update()
  assert.deepEqual(await labels(), [
    'A issuer_frozen eth 1 3',
    'A issuer_frozen eth 5 open',
    'B issuer_frozen eth 2 6',
    'B issuer_frozen eth 3 6',
    'C issuer_frozen eth 1 open',
    'C issuer_frozen eth 3 open',
  ])
})

test('the same events again, after a restart or rows that come twice, change nothing', async () => {
  await store(1)
  await finalize(1)
  await say('A', { at: 1 })
  const fingerprints = await update()
  const [before, version] = [await labels(), await readLabelsVersion(warehouse)]
  await say('A', { at: 1 })
  assert.deepEqual(await update(fingerprints), fingerprints)
  assert.deepEqual(await update(), fingerprints, 'a restart knows no fingerprint')
  assert.deepEqual([await labels(), await readLabelsVersion(warehouse)], [before, version])
})

test('what was interrupted between labels and their version is completed with a version', async () => {
  await store(1)
  await finalize(1)
  await say('A', { at: 1 })
  const into = {
    query: warehouse.query,
    insert: async (...args: Parameters<Warehouse['insert']>) => {
      if (args[0] === 'label_imports') throw new Outage('warehouse', 'away')
      return warehouse.insert(...args)
    },
  }
  await assert.rejects(update(undefined, into), Outage)
  assert.equal(await readLabelsVersion(warehouse), 0)
  await update()
  assert.deepEqual(await labels(), ['A issuer_frozen eth 1 open'])
  assert.ok((await readLabelsVersion(warehouse)) > 0)
})

test('a label whose event is taken back after its finality never was one, and is screened no more', async () => {
  for (const height of [1, 2, 3]) await store(height)
  await finalize(3)
  await say('A', { at: 1, contract: ORACLE })
  await say('B', { at: 1, index: 1 })
  await say('B', { at: 2, action: 'removed', index: 1 })
  await say('C', { at: 2, index: 2 })
  await say('C', { at: 3, action: 'seized', index: 2 })
  const first = await update()
  const isSevere = () => createSevereLabelCheck(warehouse, () => NOW_MS)(addressOf('A'))
  assert.equal(await isSevere(), true)
  const version = await readLabelsVersion(warehouse)
  for (const height of [1, 2]) await store(height, '', true)
  await say('A', { at: 1, contract: ORACLE }, true)
  await say('B', { at: 1, index: 1 }, true)
  await say('B', { at: 2, action: 'removed', index: 1 }, true)
  await say('C', { at: 2, index: 2 }, true)
  await warehouse.command('OPTIMIZE TABLE eth_address_label_events FINAL')
  const second = await update(first)
  const voided = [
    'A sanctions  1 1',
    'B issuer_frozen eth 1 1',
    'C issuer_frozen eth 2 2',
    'C issuer_frozen eth 3 open',
  ]
  assert.deepEqual([await labels(), await isSevere()], [voided, false])
  const after = await readLabelsVersion(warehouse)
  assert.ok(after > version, 'stored results are screened again')
  for (const known of [second, undefined]) await update(known)
  assert.deepEqual([await labels(), await readLabelsVersion(warehouse)], [voided, after])
  await store(1, 'again')
  await say('A', { at: 1, contract: ORACLE, branch: 'again', ver: 3 })
  await update(second)
  assert.equal((await labels())[0], 'A sanctions  1 open')
})

test('a block that took the place of another one gives the label its own time', async () => {
  await store(4)
  await finalize(4)
  await say('A', { at: 4 })
  const known = await update()
  await store(4, '', true)
  await store(4, 'later')
  await say('A', { at: 4, branch: 'later', timeMs: timeOf(5), ver: 3 })
  await update(known)
  assert.deepEqual(await labels(), ['A issuer_frozen eth 4 4', 'A issuer_frozen eth 5 open'])
})

test('a label ends by an event alone: lost events end none', async () => {
  await store(1)
  await finalize(1)
  await say('A', { at: 1 })
  await say('B', { at: 1, index: 1 })
  await update()
  await warehouse.command('TRUNCATE TABLE eth_address_label_events')
  await say('B', { at: 1, index: 1 })
  await update()
  assert.deepEqual(await labels(), ['A issuer_frozen eth 1 open', 'B issuer_frozen eth 1 open'])
})

test('events of a month ago stand without their blocks; those of today do not', async () => {
  const monthInBlocks = (31 * 86_400) / 12
  await say('A', { at: 1 })
  await say('B', { at: 1 + monthInBlocks })
  await finalize(2 + monthInBlocks)
  await update()
  assert.deepEqual(await labels(), ['A issuer_frozen eth 1 open'])
})

test('a list that is imported cannot have the name of a contract', async () => {
  const source = `chain:eth:usdt_freezes:${USDT}`
  const list = { source, format: 'csv', labels: [], nowMs: NOW_MS }
  await assert.rejects(importLabels(warehouse, list), InvalidInput)
})

test('a running writer follows finality, waits between versions, and writes where it may', async () => {
  for (const height of [1, 3]) await store(height)
  await finalize(1)
  await say('A', { at: 1 })
  const log = makeSilentLogger()
  let isOwner = false
  const deps = { ...PLACE, warehouse, log, mayWrite: () => isOwner, idleMs: 20 }
  const writer = startChainLabels({ ...deps, versionMs: 60_000 })
  try {
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.deepEqual(await labels(), [])
    isOwner = true
    await until(async () => (await labels()).length === 1, 'the first label')
    await say('B', { at: 2 })
    await finalize(2)
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal((await labels()).length, 1, 'its block is not stored')
    await store(2)
    await until(async () => (await labels()).length === 2, 'the second label')
    await say('C', { at: 3 })
    await finalize(3)
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.equal((await labels()).length, 2, 'the next version waits')
    assert.deepEqual(writer.failing(), [])
  } finally {
    await writer.stop()
  }
})

test('a writer that fails says so, and continues when the warehouse is back', async () => {
  await store(1)
  await finalize(1)
  await say('A', { at: 1 })
  let isAway = true
  const query = (async (...args: Parameters<Warehouse['query']>) => {
    if (isAway) throw new Outage('warehouse', 'away')
    return warehouse.query(...args)
  }) as Warehouse['query']
  const log = makeSilentLogger()
  const into = { query, insert: warehouse.insert }
  const writer = startChainLabels({
    ...PLACE,
    warehouse: into,
    log,
    mayWrite: () => true,
    idleMs: 20,
  })
  try {
    await until(() => writer.failing().length > 0, 'it fails')
    isAway = false
    await until(async () => (await labels()).length === 1, 'the label')
    await until(() => writer.failing().length === 0, 'it works')
  } finally {
    await writer.stop()
  }
})
