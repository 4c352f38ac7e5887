import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { importLabels } from '../../core/clickhouse/label-store.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { DAY_MS, MINUTE_MS } from '../../core/time.ts'
import { runTransferEdges } from '../../processors/rollups/transfer-edges.ts'
import { type AssessmentRequest, afterScreening, isDue } from '../../serving/risk/assessment.ts'
import { parseLabels } from '../../serving/risk/label-formats.ts'
import { screen } from '../../serving/risk/screen.ts'
import { addressOf, finalUpTo, moved, txOf } from '../support/moved-money.ts'
import { riskRecord } from '../support/risk-record.ts'

const START_MS = Date.UTC(2026, 0, 1)
const minute = (n: number): number => START_MS + n * MINUTE_MS
const folder = mkdtempSync(join(tmpdir(), 'sluice-risk-sums-'))
let warehouse: Warehouse

before(async () => {
  warehouse = await openWarehouse({ kind: 'embedded', path: folder })
  await migrate(warehouse, ['eth'])
  const text = `address,category\n${addressOf('S')},sanctions\n`
  const labels = parseLabels('csv', text)
  await importLabels(warehouse, { source: 'list', format: 'csv', labels, nowMs: START_MS - DAY_MS })
})
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

const store = (...rows: readonly ReturnType<typeof moved>[]) =>
  warehouse.insert('eth_transfers', rows)

const empty = async (): Promise<void> => {
  for (const table of ['transfers', 'transfer_edges', 'edge_minutes', 'chain_state'])
    await warehouse.command(`TRUNCATE TABLE eth_${table}`)
}

/** Blocks up to the minute become final, and what is stored of them is summed. */
const finalize = async (n: number): Promise<number | null> => {
  await finalUpTo(warehouse, minute(n))
  return runTransferEdges(warehouse, 'eth', minute(n))
}

const screened = async (request: AssessmentRequest, nowMs: number, askedMs?: number) => {
  const screening = await screen({ warehouse, nowMs: () => nowMs, chains: ['eth'] }, request, [], {
    askedMs,
  })
  assert.ok(screening.outcome === 'done')
  return screening
}

const received = (n: number): AssessmentRequest => ({
  kind: 'transfer',
  network: 'ethereum',
  chain: 'eth',
  asset: addressOf('T'),
  transferReference: txOf(n),
  direction: 'received',
})
const withdrawal = (letter: string): AssessmentRequest => ({
  kind: 'withdrawal',
  network: 'ethereum',
  chain: 'eth',
  asset: 'ETH',
  address: addressOf(letter),
  assetAmount: '1',
  attemptTimestamp: '1767225600',
  assetPrice: null,
  assetDenomination: null,
  assetId: null,
  memo: null,
})

for (const [name, request, end, level] of [
  ['a transfer', received(2), 6, 'Severe'],
  ['a withdrawal', withdrawal('Y'), 8, 'High'],
] as const) {
  test(`${name} whose money is not final yet is marked, and due when that is summed`, async () => {
    await empty()
    await store(
      moved(['P', 'Q', 100], { n: 9, atMs: minute(0) }),
      moved(['S', 'B', 90_000], { n: 1, atMs: minute(5) }),
      moved(['B', 'Y', 90_000], { n: 2, atMs: minute(6) }),
      moved(['P', 'Q', 100], { n: 10, atMs: minute(10) }),
    )
    await finalize(2)
    const askedMs = minute(8)
    const early = await screened(request, askedMs, askedMs)
    assert.deepEqual([early.result.level, early.result.truncated], ['Low', true])
    assert.match(early.result.reason, /; transfers that are not final yet are missing$/)
    const facts = { nowMs: askedMs, labelsVersion: early.result.labelsVersion }
    const record = afterScreening(riskRecord(askedMs), early, facts)
    assert.equal(record.status, 'COMPLETE')
    // Sums are six minutes behind the clock, so they have the minute of the money six minutes after it is over.
    const dueMs = minute(end + 7)
    assert.equal(record.next_at, dueMs)
    assert.equal(isDue(record, facts.labelsVersion, dueMs), true)
    await finalize(end + 1)
    const late = await screened(request, dueMs, askedMs)
    assert.deepEqual(
      [late.result.level, late.result.truncated, late.againAtMs],
      [level, false, undefined],
    )
  })
}

test('sums that are halted are looked for ever more rarely, and at least once in the period of the level', async () => {
  const askedMs = minute(100)
  const early = await screened(withdrawal('Z'), askedMs, askedMs)
  const pauses = [1, 4, 40].map(async (days) => {
    const nowMs = askedMs + days * DAY_MS
    return ((await screened(withdrawal('Z'), nowMs, askedMs)).againAtMs ?? 0) - nowMs
  })
  assert.deepEqual(await Promise.all(pauses), [DAY_MS / 4, DAY_MS, 10 * DAY_MS])
  const facts = { nowMs: askedMs, labelsVersion: early.result.labelsVersion }
  const never = { ...early, againAtMs: askedMs + 400 * DAY_MS }
  assert.equal(afterScreening(riskRecord(askedMs), never, facts).next_at, askedMs + 30 * DAY_MS)
})

/** Transfers that are summed, by minute and letters. */
const sums = async (): Promise<readonly string[]> => {
  const { rows } = await warehouse.query<Record<'minute' | 'address' | 'counterparty', string>>({
    sql: `SELECT toString(minute) AS minute, address, counterparty FROM eth_transfer_edges FINAL
WHERE side = 'received' ORDER BY eth_transfer_edges.minute`,
  })
  const letter = (address: string): string => String.fromCharCode(Number(BigInt(address)))
  return rows.map(
    (row) => `${row.minute.slice(11, 16)} ${letter(row.counterparty)}${letter(row.address)}`,
  )
}

test('transfers that are stored long after their blocks became final are summed', async () => {
  await empty()
  await store(moved(['P', 'Q', 100], { n: 1, atMs: minute(0) }))
  const reached: (number | null)[] = []
  for (const n of [2, 20, 32, 50]) reached.push(await finalize(n))
  // Where no transfers come, the sums wait for them, but no more than half an hour.
  assert.deepEqual(
    reached,
    [1, 1, 2, 20].map((n) => minute(n) / 1_000),
  )
  await store(
    moved(['S', 'A', 90_000], { n: 2, atMs: minute(5) }),
    moved(['A', 'Z', 90_000], { n: 3, atMs: minute(6) }),
    moved(['P', 'Q', 100], { n: 4, atMs: minute(51) }),
  )
  assert.equal(await finalize(51), minute(51) / 1_000)
  assert.deepEqual(await sums(), ['00:00 PQ', '00:05 SA', '00:06 AZ'])
  const { result } = await screened(received(3), minute(60))
  assert.deepEqual([result.level, result.truncated], ['Severe', false])
})

test('transfers that come within a day are summed with the next hour, and a minute without new ones is left alone', async () => {
  await empty()
  await store(
    moved(['P', 'Q', 100], { n: 1, atMs: minute(0) }),
    moved(['P', 'Q', 100], { n: 2, atMs: minute(1_300) }),
  )
  await finalize(1_250)
  await store(moved(['S', 'A', 100], { n: 3, atMs: minute(5) }))
  await finalize(1_251)
  assert.deepEqual(await sums(), ['00:00 PQ'])
  await finalize(1_260)
  assert.deepEqual(await sums(), ['00:00 PQ', '00:05 SA'])
  const { rows } = await warehouse.query<{ readonly versions: number }>({
    sql: `SELECT toUInt32(uniqExact(_ver)) AS versions FROM eth_transfer_edges WHERE minute = fromUnixTimestamp(${START_MS / 1_000})`,
  })
  assert.equal(rows[0]?.versions, 1)
})
