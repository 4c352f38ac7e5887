import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import { openWarehouse, type Query, type Warehouse } from '../core/clickhouse/client.ts'
import { migrate } from '../core/clickhouse/migrate.ts'
import { CHAINS } from '../schemas/chains.ts'
import { freshnessQuery } from '../serving/queries/chain-freshness.ts'
import { startApi, type TestApi } from '../test/support/api-stack.ts'
import {
  generatedBlocksSql,
  generatedTables,
  insertGeneratedSql,
} from '../test/support/drills/list-tables.ts'
import { ASKED, HEAD_MS } from '../test/support/paged-lists.ts'
import { quantile } from './quantile.ts'

const STORED = 200_000
const TABLES = [
  ...['eth_dex_trades', 'eth_dex_pool_events_enriched', 'eth_dex_pools', 'eth_tokens'],
  ...['eth_token_stats', 'eth_token_prices', 'eth_token_holders', 'eth_wallet_token_pnl'],
]
const ROUNDS = 9
const WARM_UP_ROUNDS = 1
const REQUESTS = 20
const CONCURRENT = 4

/** The reads that clients make most, behind the version. */
const READS: Readonly<Record<string, string>> = {
  'last-trades': `/trade/eth?tokenAddress=${ASKED.token}&limit=20`,
  candles: `/token/eth/${ASKED.token}/candles?resolution=1h&to=${HEAD_MS}&limit=100`,
  token: `/token/eth/${ASKED.token}`,
  holders: `/token/eth/${ASKED.token}/holders?limit=20`,
  'wallet-activities': `/trade/eth/activities?walletAddress=${ASKED.wallet}&limit=20`,
}

/** One line of the bench: requests per second of the API by those of a bare route, each round both in turn. */
interface RestLine {
  readonly bench: string
  readonly node: string
  readonly rounds: number
  readonly statements: number
  /** Ours divided by bare, median, least and largest of the rounds. */
  readonly ratio: number
  readonly lowestRatio: number
  readonly highestRatio: number
  readonly bare: string
}

/** Statements that a request waited for, those together that ran at one time. */
type Waves = readonly (readonly Query[])[]

const FRESHNESS = freshnessQuery(CHAINS.eth).sql

/** A store that notes its statements. The ends of the chain, which are read once a second, are left out. */
const noteStatements = (store: Warehouse) => {
  const noted: { waves: Query[][]; running: number } = { waves: [], running: 0 }
  const warehouse: Warehouse = {
    ...store,
    query: async (query, options) => {
      if (query.sql === FRESHNESS) return store.query(query, options)
      if (noted.running === 0) noted.waves.push([])
      noted.waves.at(-1)?.push(query)
      noted.running += 1
      try {
        return await store.query(query, options)
      } finally {
        noted.running -= 1
      }
    },
  }
  const statementsOf = async (request: () => Promise<unknown>): Promise<Waves> => {
    noted.waves = []
    await request()
    // What is measured later is noted elsewhere.
    const { waves } = noted
    noted.waves = []
    return waves
  }
  return { warehouse, statementsOf }
}

const fill = async (store: Warehouse): Promise<void> => {
  for (const table of generatedTables(STORED, '')) {
    if (!TABLES.includes(table.table)) continue
    await store.command(insertGeneratedSql(table, 0, STORED))
  }
  await store.command(generatedBlocksSql('eth_blocks', STORED))
}

/** A route without anything else: its statements, and the rows as JSON. */
const startBareServer = async (store: Warehouse, waves: ReadonlyMap<string, Waves>) => {
  const app = Fastify()
  app.get<{ readonly Params: { readonly name: string } }>('/:name', async ({ params }) => {
    const answers: unknown[] = []
    for (const wave of waves.get(params.name) ?? []) {
      const found = await Promise.all(wave.map((query) => store.query(query, { share: 'point' })))
      answers.push(...found.map(({ rows }) => rows))
    }
    return answers
  })
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  return { base, stop: () => app.close() }
}

/** Requests per second, so many of them at a time. */
const measure = async (url: string, headers: Readonly<Record<string, string>>): Promise<number> => {
  let left = REQUESTS
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const response = await fetch(url, { headers })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${url}: ${text.slice(0, 200)}`)
    }
  }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: CONCURRENT }, worker))
  return (REQUESTS * 1_000) / (performance.now() - startedMs)
}

const rounded = (value: number): number => Number(value.toFixed(3))

const compare = async (
  name: string,
  {
    ours,
    bare,
    waves,
  }: {
    readonly ours: () => Promise<number>
    readonly bare: () => Promise<number>
    readonly waves: Waves
  },
): Promise<RestLine> => {
  const ratios: number[] = []
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    // Who is first changes, so that what else the machine does meets both.
    const isOursFirst = round % 2 === 0
    const first = await (isOursFirst ? ours : bare)()
    const second = await (isOursFirst ? bare : ours)()
    if (round >= 0) ratios.push(isOursFirst ? first / second : second / first)
  }
  return {
    bench: `rest-${name}`,
    node: process.version,
    rounds: ROUNDS,
    statements: waves.flat().length,
    ratio: rounded(quantile(ratios, 0.5)),
    lowestRatio: rounded(Math.min(...ratios)),
    highestRatio: rounded(Math.max(...ratios)),
    bare: 'a Fastify route that runs the same statements on the same engine and sends their rows',
  }
}

const readWaves = async (
  api: TestApi,
  statementsOf: ReturnType<typeof noteStatements>['statementsOf'],
): Promise<ReadonlyMap<string, Waves>> => {
  const waves = new Map<string, Waves>()
  const headers = { 'x-api-key': api.apiKey }
  for (const [name, path] of Object.entries(READS)) {
    const read = async () => {
      const response = await fetch(`${api.base}/v2${path}`, { headers })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${path}: ${text.slice(0, 200)}`)
    }
    waves.set(name, await statementsOf(read))
  }
  return waves
}

/** Prints one JSON line per read: requests per second over REST, with credentials, limits and metering, against a bare route with the same statements. */
export const restBench = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const store = await openWarehouse({ kind: 'embedded', path: folder })
  const { warehouse, statementsOf } = noteStatements(store)
  await migrate(store, ['eth'])
  await fill(store)
  const api = await startApi({ warehouse })
  const waves = await readWaves(api, statementsOf)
  const bare = await startBareServer(store, waves)
  try {
    for (const [name, path] of Object.entries(READS)) {
      const line = await compare(name, {
        ours: () => measure(`${api.base}/v2${path}`, { 'x-api-key': api.apiKey }),
        bare: () => measure(`${bare.base}/${name}`, {}),
        waves: waves.get(name) ?? [],
      })
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  } finally {
    await bare.stop()
    await api.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
