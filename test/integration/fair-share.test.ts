import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MIN_QUERY_MILLI_UNITS } from '../../schemas/plans.ts'
import { queueLimits } from '../../serving/queries/limited-reads.ts'
import { buildTrades, storeTrades } from '../support/builders/stored-trades.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'
import { until } from '../support/until.ts'

const START = Date.UTC(2026, 2, 1)
const NOW = START + 86_400_000
const TRADES = 1_000
/** Times that every trade is stored again, each with blocks of its own. */
const COPIES = 200
const TIMEOUT_MS = 4_000

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth'], NOW, { timeoutMs: TIMEOUT_MS })
  await storeTrades(api.warehouse, 'eth', buildTrades(TRADES, START))
  await api.warehouse.command(
    `INSERT INTO eth_dex_trades SELECT t.* REPLACE (t.block_slot + n.number * 100000 AS block_slot)
    FROM eth_dex_trades AS t, numbers(1, ${COPIES}) AS n`,
  )
})
after(() => api.stop())

/** Groups of nearly every trade, with what each metric must keep of all of them: seconds of work. */
const HEAVY_CUBE = `DEXTrades(limit: {count: 10}, orderBy: {descendingByField: "a"}) {
  Block { Slot } Trade { Index } a: quantile(of: Trade_Buy_AmountInUSD) b: uniq(of: Transaction_Hash)
  c: uniq(of: Trade_Buy_Account_Owner) d: quantile(of: Trade_Buy_PriceInUSD) }`
const HEAVY = `{ EVM(network: eth) { ${HEAVY_CUBE} } }`

const keyOf = async (name: string, plan: 'free' | 'selfhost') =>
  (await api.organizations.createKey({ name, plan })).apiKey

const ask = (apiKey: string, query: string, signal?: AbortSignal): Promise<Response> =>
  fetch(api.url, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    ...(signal && { signal }),
  })

/** Composed queries that the engine works on. */
const scans = async (): Promise<number> => {
  const { rows } = await api.warehouse.query<{ n: number }>({
    sql: `SELECT toUInt32(count()) AS n FROM system.processes WHERE query LIKE '%quantile%' AND query NOT LIKE '%system.processes%'`,
  })
  return rows[0]?.n ?? 0
}

const noScans = (): Promise<true> =>
  until(async () => (await scans()) === 0, 'the scans have ended')

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const SEARCHES = 9
/** Milliseconds of a search, the middle one of several. */
const searchMs = async (apiKey: string): Promise<number> => {
  const spent: number[] = []
  while (spent.length < SEARCHES) {
    const startedMs = performance.now()
    const answer = await fetch(`${api.base}/v2/token/search?keyword=test`, {
      headers: { 'x-api-key': apiKey },
    })
    assert.equal(answer.status, 200)
    await answer.arrayBuffer()
    spent.push(performance.now() - startedMs)
  }
  return median(spent)
}

/** Keeps as many heavy queries of one key under way as its places and more; the answer ends them. */
const keepBusy = (apiKey: string): (() => Promise<void>) => {
  const left = new AbortController()
  const one = async (): Promise<void> => {
    while (!left.signal.aborted) {
      await ask(apiKey, HEAVY, left.signal).then(
        (answer) => answer.arrayBuffer(),
        () => undefined,
      )
    }
  }
  const all = Promise.allSettled(Array.from({ length: 6 }, one))
  return async () => {
    left.abort()
    await all
  }
}

test('a search of one key stays within 3x while another key runs its heaviest queries', async (t) => {
  const scanner = await keyOf('scanner', 'selfhost')
  const searcher = await keyOf('searcher', 'selfhost')
  await searchMs(searcher)
  const ratios: number[] = []
  while (ratios.length < 4 && !ratios.some((ratio) => ratio < 3)) {
    const alone = await searchMs(searcher)
    const end = keepBusy(scanner)
    await until(async () => (await scans()) > 0, 'the scans run')
    const beside = await searchMs(searcher)
    await until(async () => (await scans()) > 0, 'the scans still run')
    await end()
    await noScans()
    ratios.push(beside / alone)
  }
  t.diagnostic(`beside scans against alone: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`)
  assert.ok(Math.min(...ratios) < 3, `ratios ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`)
})

test('a composed query of one key finds a place while another key has taken all it may', async () => {
  const { scan } = api.warehouse.places
  const { runningPerOrg: perOrg } = queueLimits(scan)
  assert.ok(perOrg < scan)
  const end = keepBusy(await keyOf('greedy', 'selfhost'))
  await until(async () => (await scans()) === perOrg, 'one key has its places')
  const answer = await ask(
    await keyOf('modest', 'selfhost'),
    '{ EVM(network: eth) { DEXTrades(limit: {count: 1}) { Block { Slot } } } }',
  )
  const body = (await answer.json()) as { readonly errors?: unknown }
  assert.equal(body.errors, undefined)
  await end()
  await noScans()
})

/** Milliseconds from the moment at which a client left its running query to the end of its scan; undefined: it ended first. */
const leaveScan = async (apiKey: string): Promise<number | undefined> => {
  const left = new AbortController()
  let settled = false
  const asked = ask(apiKey, HEAVY, left.signal).then(
    () => undefined,
    (error: Error) => error.name,
  )
  void asked.finally(() => {
    settled = true
  })
  await until(async () => settled || (await scans()) > 0, 'the scan runs')
  left.abort()
  const startedMs = performance.now()
  if ((await asked) !== 'AbortError') return undefined
  await noScans()
  return performance.now() - startedMs
}

test('a query whose client leaves stops in the engine within a second', async () => {
  const apiKey = await keyOf('leaver', 'selfhost')
  const took: number[] = []
  for (let tries = 0; tries < 8 && !took.some((ms) => ms < 1_000); tries += 1) {
    const ms = await leaveScan(apiKey)
    if (ms !== undefined) took.push(ms)
  }
  assert.ok(Math.min(...took) < 1_000, `it took ${took.join(', ')} ms`)
})

test('more concurrent requests than the plan allows get 429 with a code of its own', async () => {
  const apiKey = await keyOf('many', 'free')
  const asked = Array.from({ length: 6 }, () => ask(apiKey, HEAVY))
  const answers = await Promise.all(asked)
  const refused = answers.filter(({ status }) => status === 429)
  assert.equal(refused.length, 4)
  for (const answer of refused) {
    assert.equal(answer.headers.get('retry-after'), '1')
    const { code, name, data } = (await answer.json()) as Readonly<Record<string, unknown>>
    assert.deepEqual([code, name, data], [42903, 'CONCURRENCY_LIMIT', null])
  }
  assert.equal((await ask(apiKey, '{ __typename }')).status, 200)
})

test('a query beyond its time limit answers QUERY_TOO_EXPENSIVE and costs the work that was done', async () => {
  const { apiKey, orgId } = await api.organizations.createKey({ name: 'slow', plan: 'selfhost' })
  const many = Array.from({ length: 60 }, (_, index) =>
    HEAVY_CUBE.replace(
      'DEXTrades(limit: {count: 10}',
      `x${index}: DEXTrades(limit: {count: ${index + 1}}`,
    ),
  )
  const answer = await ask(apiKey, `{ EVM(network: eth) { ${many.join(' ')} } }`)
  assert.equal(answer.status, 200)
  const { data, errors } = (await answer.json()) as {
    readonly data: unknown
    readonly errors: readonly { readonly extensions: { readonly code: string } }[]
  }
  assert.equal(data, null)
  assert.equal(errors[0]?.extensions.code, 'QUERY_TOO_EXPENSIVE')
  const { milliUnits } = api.meter.month(orgId)
  assert.ok(milliUnits >= MIN_QUERY_MILLI_UNITS * (TIMEOUT_MS / 1_000), String(milliUnits))
  assert.equal(milliUnits % MIN_QUERY_MILLI_UNITS, 0)
})
