/**
 * The drill of lists, `npm run drill -- list-rows [ROWS [ROUNDS [PART [FOLDER]]]]`: ROWS (1,000,000) generated rows in each table behind the paged lists of the REST
 * API, in the embedded engine, then every list over HTTP: its first page, one in its middle and one close to its end, at most ROUNDS (20) times
 * each. PART, a regular expression, narrows it to paths that fit, and to the tables that they read. FOLDER keeps the filled tables for a next run with as many ROWS. Progress on standard error, a JSON line per list and one for all on standard output; status 1
 * where a page took longer than allowed, was refused, or was not reached in time.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  openWarehouse,
  type Query,
  type ReadOptions,
  type Warehouse,
} from '../../../core/clickhouse/client.ts'
import { migrate } from '../../../core/clickhouse/migrate.ts'
import { DAY_MS, HOUR_MS } from '../../../core/time.ts'
import { FINAL_TRADE_COLUMNS } from '../../../processors/rollups/finalizer.ts'
import { callApi, startApi, type TestApi } from '../api-stack.ts'
import { pagedPaths, withCursor } from '../page-walk.ts'
import { ASKED, HEAD_MS, STORED_LISTS } from '../paged-lists.ts'
import { generatedBlocksSql, generatedTables, insertGeneratedSql } from './list-tables.ts'

const ALLOWED_MS = 100
const LIMIT = 20
/** Longest time of filling, of measuring, and of one page's rounds once it was asked this often. */
const TIME_LIMIT_MS = 60 * 60_000
const PAGE_TIME_MS = 3_000
const MIN_ROUNDS = 3
const ROWS_PER_INSERT = 250_000
const MERGE_WAIT_MS = 120_000
/** Lists that no table holds: accounts, endpoints and what the program knows. */
const LISTS_IN_MEMORY = ['/account/keys', '/account/wallets', '/webhook/endpoint', '/dex']

const positive = (words: string | undefined, standard: number): number => {
  const value = Number(words ?? standard)
  if (!Number.isSafeInteger(value) || value < 1) {
    console.error(
      'npm run drill -- list-rows [ROWS [ROUNDS [PART [FOLDER]]]], the first two positive numbers',
    )
    process.exit(2)
  }
  return value
}

const rowCount = positive(process.argv[2], 1_000_000)
const rounds = positive(process.argv[3], 20)
const part = new RegExp(process.argv[4] ?? '')
const keptFolder = process.argv[5]
const startedMs = performance.now()
let phaseMs = startedMs
const isLate = (): boolean => performance.now() - phaseMs > TIME_LIMIT_MS
const log = (line: string): void =>
  console.error(`${((performance.now() - startedMs) / 1_000).toFixed(0)} s: ${line}`)

const folder = keptFolder ?? mkdtempSync(join(tmpdir(), 'sluice-list-rows-'))
const store = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })

/** While a place is looked up: how many rows the statements of a list pass over, and which they were. */
const lookup: { skip?: number | undefined; readonly statements: Query[] } = { statements: [] }
/** More than there are. */
const ALL_ROWS = 4_000_000_000
const END_OF_LIST = /LIMIT \{rows:UInt32\}$/

/** The store, whose lists begin further down while a place is looked up. */
const warehouse: Warehouse = {
  ...store,
  query: <Row>(query: Query, options?: ReadOptions) => {
    if (lookup.skip === undefined || !END_OF_LIST.test(query.sql)) {
      return store.query<Row>(query, options)
    }
    lookup.statements.push(query)
    // Without the caller's budget: passing over many rows is the drill's own work.
    const rows = Number(query.params?.rows)
    return store.query<Row>({
      sql: query.sql.replace(END_OF_LIST, `LIMIT ${rows} OFFSET ${lookup.skip}`),
      // Each of several statements of a list is cut to a page by itself.
      params: { ...query.params, rows: Math.min(ALL_ROWS, rows + lookup.skip) },
    })
  },
}

const WHOLE_MARKET = ['eth_tokens', 'eth_token_prices', 'eth_wallet_token_pnl', 'eth_token_holders']

/** Tables that a route joins to those of its rows. */
const joinedTables = (route: string): readonly string[] => {
  if (/^\/(prediction|redpacket)/.test(route)) return []
  return route.startsWith('/trade/') ? ['eth_tokens'] : [...WHOLE_MARKET, 'eth_dex_pools']
}

/** Tables of the lists that are asked. */
const neededTables = (): ReadonlySet<string> =>
  new Set([
    ...(part.test('/webhook') ? ['webhook_attempts'] : []),
    ...Object.entries(STORED_LISTS).flatMap(([route, { paths, setup = [], row }]) =>
      paths.some((path) => part.test(path))
        ? [
            ...[...setup, ...row(0).tables, ...row(1).tables].map(({ table }) => table),
            ...joinedTables(route),
          ]
        : [],
    ),
  ])

/** Names the tables that are filled in a kept folder. */
const FILLED_TABLES = 'filled-tables.json'
/** What only the run that fills it asks for: attempts of its own endpoint. */
const TABLES_OF_ONE_RUN = ['webhook_attempts']

const readFilledTables = (): string[] => {
  const path = join(folder, FILLED_TABLES)
  if (!existsSync(path)) return []
  const kept: { readonly rowCount: number; readonly tables: string[] } = JSON.parse(
    readFileSync(path, 'utf8'),
  )
  if (kept.rowCount !== rowCount) throw new Error(`${folder} has ${kept.rowCount} rows in a table`)
  return kept.tables
}

const keepFilledTables = (tables: readonly string[]): void => {
  if (keptFolder === undefined) return
  writeFileSync(join(folder, FILLED_TABLES), JSON.stringify({ rowCount, tables }))
}

const fill = async (endpoint: string): Promise<number> => {
  const fillStart = performance.now()
  const needed = neededTables()
  const filled = readFilledTables()
  for (const table of generatedTables(rowCount, endpoint)) {
    if (!needed.has(table.table) || filled.includes(table.table)) continue
    for (let at = 0; at < rowCount; at += ROWS_PER_INSERT) {
      if (isLate()) throw new Error(`tables were not filled within ${TIME_LIMIT_MS / 60_000} min`)
      await store.command(insertGeneratedSql(table, at, Math.min(ROWS_PER_INSERT, rowCount - at)))
    }
    log(`${table.table} has ${rowCount} rows`)
    if (TABLES_OF_ONE_RUN.includes(table.table)) continue
    filled.push(table.table)
    keepFilledTables(filled)
  }
  if (!filled.includes(ROLLUPS)) await fillRollups()
  keepFilledTables([...new Set([...filled, ROLLUPS])])
  await mergesEnd()
  return Math.round((performance.now() - fillStart) / 1_000)
}

const ROLLUPS = 'rollups'

const fillRollups = async (): Promise<void> => {
  await store.command(generatedBlocksSql('eth_blocks', rowCount))
  await store.command(generatedBlocksSql('polygon_blocks', rowCount))
  const columns = FINAL_TRADE_COLUMNS.join(', ')
  const hotFrom = HEAD_MS - HOUR_MS
  for (let from = HEAD_MS - 31 * DAY_MS; from < hotFrom; from += DAY_MS) {
    const until = Math.min(from + DAY_MS, hotFrom)
    await store.command(`INSERT INTO eth_trades_final (${columns}) SELECT ${columns} FROM eth_dex_trades_enriched
      WHERE token_address = '${ASKED.token}' AND block_time >= fromUnixTimestamp64Milli(toInt64(${from})) AND block_time < fromUnixTimestamp64Milli(toInt64(${until}))`)
  }
  await store.insert('eth_chain_state', [{ key: 'rollup', hot_from: hotFrom / 1_000, _ver: 1 }])
  const setup = STORED_LISTS['/prediction/events/{eventSlug}/activities']?.setup ?? []
  for (const { table, rows } of setup) await store.insert(table, rows)
  log('rollups of the asked token are filled')
}

const mergesEnd = async (): Promise<void> => {
  const untilMs = performance.now() + MERGE_WAIT_MS
  const count = { sql: 'SELECT toFloat64(count()) AS merges FROM system.merges' }
  for (let merges = 1; merges > 0 && performance.now() < untilMs; await sleep(1_000)) {
    merges = (await store.query<{ readonly merges: number }>(count)).rows[0]?.merges ?? 0
  }
  log('merges have ended, or were waited for long enough')
}

interface AnsweredPage {
  readonly status: number
  readonly ms: number
  readonly nextCursor: string
}

const ask = async (api: TestApi, path: string): Promise<AnsweredPage> => {
  const atMs = performance.now()
  const { status, body } = await callApi(api, `/v2${path}`)
  const ms = performance.now() - atMs
  const page = (body ?? {}) as Readonly<Record<string, unknown>>
  return { status, ms, nextCursor: String(page.cursor ?? page.nextCursor ?? '') }
}

/** The cursor behind so many rows of a list. */
const cursorBehind = async (api: TestApi, path: string, skip: number): Promise<string> => {
  lookup.skip = Math.max(0, skip - LIMIT)
  try {
    return (await ask(api, path)).nextCursor
  } finally {
    lookup.skip = undefined
  }
}

/** Rows of a list, by its statement without an end. */
const countRows = async (api: TestApi, path: string): Promise<number> => {
  lookup.statements.length = 0
  await cursorBehind(api, path, ALL_ROWS)
  const statement = lookup.statements.at(-1)
  if (statement === undefined) throw new Error(`${path}: no statement of a list was seen`)
  const { rows } = await store.query<{ readonly total: number }>({
    ...statement,
    sql: `SELECT toFloat64(count()) AS total FROM (${statement.sql.replace(END_OF_LIST, '')})`,
    params: { ...statement.params, rows: ALL_ROWS },
  })
  return rows[0]?.total ?? 0
}

interface MeasuredPage {
  readonly page: 'first' | 'middle' | 'deep'
  readonly asked: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Statuses other than 200. */
  readonly refused: readonly number[]
}

const quantile = (sorted: readonly number[], level: number): number =>
  sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * level) - 1)] ?? 0

const measure = async (
  api: TestApi,
  page: MeasuredPage['page'],
  path: string,
): Promise<MeasuredPage> => {
  const times: number[] = []
  const refused = new Set<number>()
  await ask(api, path)
  const untilMs = performance.now() + PAGE_TIME_MS
  while (times.length < rounds && (times.length < MIN_ROUNDS || performance.now() < untilMs)) {
    const { status, ms } = await ask(api, path)
    times.push(ms)
    if (status !== 200) refused.add(status)
  }
  const sorted = times.toSorted((one, other) => one - other)
  const [p50Ms, p99Ms] = [0.5, 0.99].map((level) => Math.round(quantile(sorted, level) * 10) / 10)
  return { page, asked: times.length, p50Ms: p50Ms ?? 0, p99Ms: p99Ms ?? 0, refused: [...refused] }
}

interface MeasuredList {
  readonly path: string
  readonly rows: number
  readonly pages: readonly MeasuredPage[]
  /** Pages whose cursor was not found: the engine refused to pass over so many rows. */
  readonly unreached: readonly MeasuredPage['page'][]
}

const measureList = async (api: TestApi, path: string): Promise<MeasuredList> => {
  const rows = await countRows(api, path)
  const pages = [await measure(api, 'first', path)]
  const unreached: MeasuredPage['page'][] = []
  for (const [page, skip] of [
    ['middle', Math.floor(rows / 2)],
    ['deep', rows - 2 * LIMIT],
  ] as const) {
    if (rows < 4 * LIMIT || isLate()) continue
    const cursor = await cursorBehind(api, path, skip)
    if (cursor === '') unreached.push(page)
    else pages.push(await measure(api, page, withCursor(path, cursor)))
  }
  return { path, rows, pages, unreached }
}

const pathsOf = (endpoint: string): readonly string[] => {
  const message = `msg_${'0'.repeat(26)}`
  const stored = Object.values(STORED_LISTS).flatMap(({ paths }) => paths)
  const all = [
    ...stored,
    `/webhook/endpoint/${endpoint}/attempt?limit=7`,
    `/webhook/endpoint/${endpoint}/message?limit=7`,
    `/webhook/message/${message}/attempt?limit=7`,
  ]
  // Some routes have two spellings.
  const bySpelling = new Map(all.map((path) => [path.toLowerCase(), path]))
  return [...bySpelling.values()]
    .filter((path) => part.test(path))
    .map((path) => path.replace(/limit=\d+/, `limit=${path.includes('/gainers') ? 10 : LIMIT}`))
}

/** Every list of the API document is asked, or is known to be held in memory. */
const checkComplete = async (api: TestApi): Promise<void> => {
  const { body } = await callApi(api, '/openapi.json')
  const known = new Set([
    ...[...Object.keys(STORED_LISTS), ...LISTS_IN_MEMORY],
    ...['/webhook/endpoint/{id}/attempt', '/webhook/endpoint/{id}/message'],
    '/webhook/message/{msgId}/attempt',
  ])
  const missing = pagedPaths(body).filter((path) => !known.has(path.replace(/^\/v\d+/, '')))
  if (missing.length > 0) throw new Error(`lists without rows: ${missing.join(', ')}`)
}

const createEndpoint = async (api: TestApi): Promise<string> => {
  const { body, text } = await callApi(api, '/v2/webhook/endpoint', {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://receiver.example.com/' }),
  })
  const { id } = (body ?? {}) as { readonly id?: unknown }
  if (typeof id !== 'string') throw new Error(text)
  return id
}

let isWithin = false
log(
  `${rowCount} rows in each table, ${rounds} rounds; at most ${TIME_LIMIT_MS / 60_000} minutes to fill and as long to measure`,
)
await migrate(store, ['eth', 'polygon'])
const api = await startApi({ warehouse, chains: ['eth', 'polygon'] })
try {
  await checkComplete(api)
  const endpoint = await createEndpoint(api)
  const fillSeconds = await fill(endpoint)
  phaseMs = performance.now()
  const paths = pathsOf(endpoint)
  const lists: MeasuredList[] = []
  const failed: string[] = []
  for (const path of paths) {
    if (isLate()) break
    try {
      const list = await measureList(api, path)
      lists.push(list)
      console.log(JSON.stringify(list))
      const pages = list.pages.map(({ page, p99Ms }) => `${page} ${p99Ms}`).join(', ')
      log(`${lists.length} of ${paths.length}: ${path}: ${list.rows} rows, p99 ms: ${pages}`)
    } catch (error) {
      failed.push(path)
      log(`${path}: ${error instanceof Error ? error.message : error}`)
    }
  }
  const all = lists.flatMap(({ path, pages }) => pages.map((page) => ({ path, ...page })))
  const over = all.filter(({ p99Ms }) => p99Ms > ALLOWED_MS)
  const refused = all.filter((page) => page.refused.length > 0)
  const unreached = lists.flatMap((list) => list.unreached.map((page) => [list.path, page]))
  const missed = over.length + refused.length + failed.length + unreached.length
  isWithin = missed === 0 && lists.length === paths.length
  const line = {
    drill: 'list-rows',
    rows: rowCount,
    rounds,
    fillSeconds,
    lists: lists.length,
    pages: all.length,
    over100ms: over.length,
    refused: refused.map(({ path, page, refused: statuses }) => [path, page, ...statuses]),
    failed,
    unreached,
    notReached: paths.length - lists.length - failed.length,
  }
  console.log(JSON.stringify(line))
  console.log(`over ${ALLOWED_MS} ms: ${over.length} of ${all.length} pages`)
  for (const { path, page, p50Ms, p99Ms } of over.toSorted((one, two) => two.p99Ms - one.p99Ms)) {
    console.log(`${String(p50Ms).padStart(9)} ${String(p99Ms).padStart(9)} ${page} ${path}`)
  }
} finally {
  await api.stop()
  if (keptFolder === undefined) rmSync(folder, { recursive: true, force: true })
}
process.exit(isWithin ? 0 : 1)
