/**
 * The screening drill, `npm run drill -- screening [EDGES [SCREENINGS [SEED]]]`: EDGES transfers (10,000,000) among random addresses, a
 * twentieth of them with one end at a hub, and labels of some addresses, in the embedded engine; summed by the product's own rounds, then
 * SCREENINGS (200) addresses and transfers screened by the product's engine, one after the other as its worker does. Progress on standard error, one
 * JSON line on standard output; status 1 where one took longer than allowed.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWarehouse, type Warehouse } from '../../../core/clickhouse/client.ts'
import { migrate } from '../../../core/clickhouse/migrate.ts'
import { DAY_MS } from '../../../core/time.ts'
import { runTransferEdges } from '../../../processors/rollups/transfer-edges.ts'
import type { AssessmentRequest } from '../../../serving/risk/assessment.ts'
import { importLabels } from '../../../serving/risk/label-store.ts'
import { screen } from '../../../serving/risk/screen.ts'

const CHAIN = 'eth'
const ALLOWED_MS = 30_000
const START_MS = Date.UTC(2026, 0, 1)
const DAYS = 10
const TOKEN = `0x${'70'.repeat(20)}`
const HUBS = 20
const LABELLED = 500
const TRANSFERS_PER_ADDRESS = 5
const ROWS_PER_INSERT = 500_000
/** Screenings per line of progress. */
const SCREENINGS_PER_LINE = 10
const CATEGORIES = ['sanctions', 'mixer', 'scam', 'exchange', 'gambling'] as const

const positive = (text: string | undefined, standard: number): number => {
  const value = Number(text ?? standard)
  if (!Number.isSafeInteger(value) || value < 1) {
    console.error('npm run drill -- screening [EDGES [SCREENINGS [SEED]]], each a positive number')
    process.exit(2)
  }
  return value
}

const [edges, screenings, seed] = [10_000_000, 200, 17].map((standard, index) =>
  positive(process.argv[index + 2], standard),
) as [number, number, number]
const addresses = Math.max(1_000, Math.ceil(edges / TRANSFERS_PER_ADDRESS))

/** The address of a number. Hubs are the first, labelled addresses follow. */
const addressSql = (n: string): string =>
  `concat('0x', lower(hex(MD5(concat('${seed}/', toString(${n}))))), '00000000')`
const txSql = (n: string): string =>
  `concat('0x', lower(hex(SHA256(concat('${seed}/', toString(${n}))))))`
const randomSql = (n: string, purpose: string): string => `sipHash64(${seed}, '${purpose}', ${n})`

/** A fortieth of the ends is at hubs, drawn so that the first hub has half of them, the second a quarter and so on. */
const endSql = (
  purpose: string,
): string => `if(${randomSql('number', `${purpose}-is-hub`)} % 40 = 0,
  least(${HUBS - 1}, toUInt64(floor(-log2((${randomSql('number', `${purpose}-hub`)} % 1000000 + 1) / 1000001.)))),
  ${HUBS} + ${randomSql('number', purpose)} % ${addresses})`

const fillSql = (from: number, count: number): string => `INSERT INTO ${CHAIN}_transfers
  (block_time, block_slot, block_height, block_hash, tx_hash, tx_status, event_index, token_address, decimals, sender, receiver,
   amount, amount_usd, success, _ver)
SELECT fromUnixTimestamp64Milli(toInt64(${START_MS} + intDiv(number * ${DAYS * DAY_MS}, ${edges}))), intDiv(number, 200), intDiv(number, 200),
  toString(intDiv(number, 200)), ${txSql('number')}, 'SUCCESS', number % 200, '${TOKEN}', 6,
  ${addressSql(endSql('sender'))}, ${addressSql(endSql('receiver'))}, toUInt256(1000000),
  toDecimal128(exp(${randomSql('number', 'usd')} % 1000 / 100.), 12), 1, 1
FROM numbers(${from}, ${count})`

const addressList = async (warehouse: Warehouse, sql: string): Promise<readonly string[]> =>
  (await warehouse.query<{ readonly text: string }>({ sql })).rows.map(({ text }) => text)

const numbered = (warehouse: Warehouse, from: number, count: number) =>
  addressList(warehouse, `SELECT ${addressSql('number')} AS text FROM numbers(${from}, ${count})`)

/** Transfers, labels, and the sums of all their minutes. */
const fill = async (warehouse: Warehouse): Promise<void> => {
  for (let at = 0; at < edges; at += ROWS_PER_INSERT) {
    const count = Math.min(ROWS_PER_INSERT, edges - at)
    await warehouse.command(fillSql(at, count))
    console.error(`${at + count} of ${edges} transfers inserted`)
  }
  const labels = (await numbered(warehouse, HUBS, LABELLED)).map((address, index) => ({
    chain: '',
    address,
    category: CATEGORIES[index % CATEGORIES.length] ?? 'mixer',
    entity: `Entity ${index}`,
    confidence: 1,
    evidenceUrl: '',
    validFromMs: START_MS,
    validToMs: null,
  }))
  await importLabels(warehouse, { source: 'drill', format: 'csv', labels, nowMs: START_MS })
  const finalMs = START_MS + DAYS * DAY_MS
  await warehouse.insert(`${CHAIN}_chain_state`, [
    { key: 'final', final_slot: 1, final_time: finalMs, hot_from: 0, seq: 1, _ver: 1 },
  ])
  let summed: number | null = null
  for (let round = 1; ; round++) {
    const reached = await runTransferEdges(warehouse, CHAIN, round)
    if (reached === summed) break
    summed = reached
    console.error(`round ${round}: summed up to ${new Date((reached ?? 0) * 1_000).toISOString()}`)
  }
  assert.equal(summed, finalMs / 1_000)
}

/** What is asked: every fifth address a hub or a labelled one, and transfers from the whole range. */
const requests = async (warehouse: Warehouse): Promise<readonly AssessmentRequest[]> => {
  const half = Math.ceil(screenings / 2)
  const known = await numbered(warehouse, 0, Math.min(HUBS + LABELLED, Math.ceil(half / 5)))
  const ordinary = await addressList(
    warehouse,
    `SELECT ${addressSql(`${HUBS + LABELLED} + ${randomSql('number', 'question')} % ${addresses - LABELLED}`)} AS text FROM numbers(${half - known.length})`,
  )
  const transfers = await addressList(
    warehouse,
    `SELECT ${txSql(`${randomSql('number', 'transfer')} % ${edges}`)} AS text FROM numbers(${screenings - half})`,
  )
  return [
    ...[...known, ...ordinary].map(
      (address): AssessmentRequest => ({ kind: 'address', address, chains: [CHAIN] }),
    ),
    ...transfers.map(
      (tx, index): AssessmentRequest => ({
        kind: 'transfer',
        chain: CHAIN,
        network: 'ethereum',
        asset: TOKEN,
        transferReference: tx,
        direction: index % 2 === 0 ? 'received' : 'sent',
      }),
    ),
  ]
}

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? 0

const timesOf = (values: readonly number[]) => {
  const sorted = values.toSorted((one, other) => one - other)
  const [p50Ms, p99Ms, slowestMs] = [0.5, 0.99, 1].map((part) => Math.round(quantile(sorted, part)))
  return { screened: sorted.length, p50Ms, p99Ms, slowestMs }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-screening-'))
const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
let isWithin = false
try {
  await migrate(warehouse, [CHAIN])
  const fillStart = performance.now()
  await fill(warehouse)
  const fillSeconds = Math.round((performance.now() - fillStart) / 100) / 10
  const answers: { readonly kind: string; readonly ms: number; readonly cut: boolean }[] = []
  let exposed = 0
  for (const request of await requests(warehouse)) {
    const start = performance.now()
    const nowMs = () => START_MS + (DAYS + 1) * DAY_MS + Math.round(performance.now() - start)
    const screening = await screen({ warehouse, nowMs }, request, [])
    assert.ok(screening.outcome === 'done', `${JSON.stringify(request)}: ${screening.outcome}`)
    answers.push({
      kind: request.kind,
      ms: performance.now() - start,
      cut: screening.result.truncated,
    })
    exposed += screening.result.exposures.length > 0 ? 1 : 0
    if (answers.length % SCREENINGS_PER_LINE === 0) {
      const last = answers.slice(-SCREENINGS_PER_LINE).map(({ ms }) => Math.round(ms))
      console.error(`${answers.length} screened; milliseconds: ${last.join(' ')}`)
    }
  }
  const times = (kind: string) =>
    timesOf(answers.flatMap((each) => (each.kind === kind ? [each.ms] : [])))
  const over = answers.filter(({ ms }) => ms > ALLOWED_MS).length
  const { screened, ...all } = timesOf(answers.map(({ ms }) => ms))
  isWithin = over === 0
  const line = {
    drill: 'screening',
    edges,
    fillSeconds,
    screened,
    ...all,
    isEachWithin30s: isWithin,
    over30s: over,
    cut: answers.filter(({ cut }) => cut).length,
    exposed,
    addresses: times('address'),
    transfers: times('transfer'),
  }
  console.log(JSON.stringify(line))
} finally {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(isWithin ? 0 : 1)
