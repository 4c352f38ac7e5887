/** Lists that read a page before they join, against the same rows from statements that join everything. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openWarehouse, type Query, type Warehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { LATEST_STATE_KEYS } from '../../processors/sinks/batch-rows.ts'
import { type PoolRow, poolsQuery, tokenPoolsList } from '../../serving/queries/dex-pools.ts'
import { type KeysetRow, sliceQuery } from '../../serving/queries/keyset-list.ts'
import { readInWindows } from '../../serving/queries/read-in-windows.ts'
import {
  type CreatorRow,
  createdTokenList,
  creatorsQuery,
} from '../../serving/queries/token-creators.ts'
import { tokenList } from '../../serving/queries/token-list.ts'
import {
  readHits,
  searchQuery,
  type TokenSearch,
  toMatches,
} from '../../serving/queries/token-search.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'

const [TOKEN, OTHER_TOKEN] = [1, 2].map(addressFromNumber) as [string, string]
const NUMBERS = Array.from({ length: 40 }, (_, n) => n)
const wallet = (n: number): string => addressFromNumber(1_000 + ((n * 7) % 40))
const at = (ms: number): string => new Date(Date.UTC(2026, 10, 20) + ms).toISOString()

let warehouse: Warehouse
const folder = mkdtempSync(join(tmpdir(), 'sluice-narrowed-'))

const insertPools = (): Promise<void> =>
  warehouse.insert(
    'eth_dex_pools',
    NUMBERS.flatMap((n) => {
      const tokens =
        n % 2 === 0 ? [TOKEN, OTHER_TOKEN] : [OTHER_TOKEN, n % 3 === 0 ? TOKEN : wallet(n)]
      const worth = n % 5 === 0 ? null : String(n % 4)
      const row = {
        pool_address: wallet(n),
        token_a: tokens[0],
        token_b: tokens[1],
        _ver: 1,
        liquidity_usd: worth,
        liquidity_native: worth,
      }
      return n % 11 === 0 ? [row, { ...row, _ver: 2, _del: 1 }] : [row]
    }),
  )

const insertTokens = (): Promise<void> =>
  warehouse.insert(
    'eth_tokens',
    NUMBERS.flatMap((n) => {
      const dev = n % 6 === 0 ? '' : addressFromNumber(500 + (n % 6))
      const row = { token_address: addressFromNumber(n), dev, created_at: at(n), _ver: 1 }
      return n % 13 === 3 ? [row, { ...row, _ver: 2, _del: 1 }] : [row]
    }),
  )

before(async () => {
  warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })
  await migrate(warehouse, ['eth'])
  await insertPools()
  await insertTokens()
})
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

const query = async <Row>(statement: Query): Promise<readonly Row[]> =>
  (await warehouse.query<Row>(statement)).rows

test('pools of a token: the addresses of the pools that one statement over all of them gives, in its order', async () => {
  const pools = await query<PoolRow>(poolsQuery('eth', NUMBERS.map(wallet)))
  const worth = ({ liquidity_usd }: PoolRow) => Number(liquidity_usd ?? -1)
  for (const [descending, bounds] of [
    [true, {}],
    [false, {}],
    [true, { minTvlInUsd: '1', maxTvlInSol: '2' }],
  ] as const) {
    const expected = pools
      .filter(({ token_a, token_b }) => token_a === TOKEN || token_b === TOKEN)
      .filter((row) => Object.keys(bounds).length === 0 || (worth(row) >= 1 && worth(row) <= 2))
      .toSorted(
        (one, two) =>
          (descending ? -1 : 1) * (worth(one) - worth(two) || (one.pool < two.pool ? -1 : 1)),
      )
      .map(({ pool }) => pool)
    assert.ok(expected.length > 5)
    const list = tokenPoolsList('eth', TOKEN, bounds, descending)
    const found: (KeysetRow & { readonly pool: string })[] = []
    for (;;) {
      const slice = { direction: 'next', after: found.at(-1)?.place, rows: 3 } as const
      const page = await query<KeysetRow & { readonly pool: string }>(sliceQuery(list, slice))
      found.push(...page)
      if (page.length < 3) break
    }
    assert.deepEqual(
      found.map(({ pool }) => pool),
      expected,
    )
  }
})

/** The statement before: makers as an array, which no index serves. */
const formerCreatorsSql = `WITH (SELECT groupUniqArray(dev) FROM eth_tokens FINAL WHERE token_address IN {addresses:Array(String)} AND dev != '') AS devs
SELECT t.token_address AS token_address, toString(m.tokens) AS tokens, toString(m.last_ms) AS last_ms
FROM (SELECT token_address, dev FROM eth_tokens FINAL WHERE token_address IN {addresses:Array(String)} AND dev != '') AS t
INNER JOIN (SELECT dev, count() AS tokens, max(toUnixTimestamp64Milli(created_at)) AS last_ms
  FROM eth_tokens FINAL WHERE has(devs, dev) GROUP BY dev) AS m ON m.dev = t.dev`

test('creators of tokens: as the former statement gave them', async () => {
  const byToken = (rows: readonly CreatorRow[]) =>
    rows.toSorted((one, two) => (one.token_address < two.token_address ? -1 : 1))
  for (const numbers of [NUMBERS, [1, 2, 7], [3], [6], [99]]) {
    const addresses = numbers.map(addressFromNumber)
    const former = await query<CreatorRow>({ sql: formerCreatorsSql, params: { addresses } })
    assert.deepEqual(byToken(await query(creatorsQuery('eth', addresses))), byToken(former))
  }
})

test('list of tokens: those that are known, whether nearly all or few of those with trades are', async () => {
  const [head, count] = [at(0), 300]
  await warehouse.insert('eth_blocks', [
    { block_time: head, block_slot: 1, block_height: 1, block_hash: '0x1' },
  ])
  const tokens = Array.from({ length: count }, (_, n) => ({
    address: addressFromNumber(9_000 + ((n * 7) % count)),
    volume: n % 50,
  }))
  const bounds = {}
  await warehouse.insert(
    'eth_token_stats',
    tokens.flatMap(({ address, volume }) =>
      (volume % 4 === 3 ? ['24h'] : ['24h', '1m']).map((resolution) => ({
        token_address: address,
        resolution,
        stat_time: head,
        buy_volume_usd: resolution === '24h' ? volume : count - volume,
        version: 1,
      })),
    ),
  )
  for (const share of [10, 1]) {
    const known = tokens.filter((_, n) => n % share === 0)
    const rows = known.map(({ address }) => ({ token_address: address, created_at: head, _ver: 1 }))
    await warehouse.insert('eth_tokens', rows)
    for (const [sortBy, way] of [
      ['h24VolumeInUsd', 1],
      ['m1VolumeInUsd', -1],
    ] as const) {
      // Without the minute they come last.
      const isLast = (volume: number): boolean => sortBy === 'm1VolumeInUsd' && volume % 4 === 3
      const expected = known
        .toSorted(
          (one, two) =>
            Number(isLast(one.volume)) - Number(isLast(two.volume)) ||
            (isLast(one.volume) ? 0 : way * (one.volume - two.volume)) ||
            (one.address < two.address ? -1 : 1),
        )
        .map(({ address }) => address)
      const list = tokenList('eth', { sortBy, descending: false, bounds })
      const found: (KeysetRow & { readonly token_address: string })[] = []
      for (;;) {
        const slice = { direction: 'next', after: found.at(-1)?.place, rows: 9 } as const
        const page = await readInWindows<(typeof found)[number]>(list, slice, {
          chain: null,
          query,
        })
        found.push(...page)
        if (page.length < 9) break
      }
      assert.deepEqual(
        found.map(({ token_address }) => token_address),
        expected,
      )
    }
  }
})

test('conditions that pass before FINAL are on keys alone: an older version of a row is never found by what it said', async () => {
  const row = (version: number, name: string) => ({
    token_address: addressFromNumber(77_777),
    name,
    created_at: at(0),
    _ver: version,
  })
  await warehouse.insert('eth_tokens', [row(1, 'old')])
  await warehouse.insert('eth_tokens', [row(2, 'new')])
  const params = { address: addressFromNumber(77_777) }
  const named = (name: string) =>
    query({
      sql: `SELECT name FROM eth_tokens FINAL WHERE token_address = {address:String} AND name = '${name}'`,
      params,
    })
  assert.deepEqual(await named('old'), [])
  assert.deepEqual(await named('new'), [{ name: 'new' }])
})

test('search: few matches and very many give what one statement over all tokens gives, and no name of before', async () => {
  const token = (n: number, name: string, version = 1) => ({
    token_address: addressFromNumber(100_000 + n),
    name,
    created_at: at(0),
    _ver: version,
  })
  const many = Array.from({ length: 2_500 }, (_, n) => token(n, `Crowd ${n}`))
  await warehouse.insert('eth_tokens', many)
  await warehouse.insert('eth_tokens', [token(7, 'Renamed crowd', 2), token(8, 'Solitude', 2)])
  for (const [keyword, expected] of [
    ['crowd', 100],
    ['crowd 24', 100],
    ['crowd 8', 100],
    ['solitude', 1],
    ['nothing of this', 0],
  ] as const) {
    const search: TokenSearch = {
      chains: ['eth'],
      keyword,
      protocols: [],
      sortBy: 'relevance',
      descending: true,
      direction: 'next',
      after: undefined,
      rows: 100,
    }
    const found = await readHits(search, query)
    assert.equal(found.length, expected, keyword)
    assert.deepEqual(found, await query(searchQuery(search, null)), keyword)
    assert.equal(
      found.some(({ address }) => address === addressFromNumber(100_008)),
      keyword === 'solitude',
    )
  }
})

test('matches of a search that do not fit into one parameter are searched in all tokens', () => {
  const types = Array.from({ length: 500 }, (_, n) => ({
    chain: 'sui',
    address: `0x${String(n).padStart(64, '0')}::pool::LP<0x2::sui::SUI, ${'0x2::a::B'.repeat(12)}>`,
  }))
  const search: TokenSearch = {
    chains: ['sui'],
    keyword: 'lp',
    protocols: [],
    sortBy: 'relevance',
    descending: true,
    direction: 'next',
    after: undefined,
    rows: 20,
  }
  assert.equal(toMatches(search, types), null)
  assert.equal(toMatches(search, types.slice(0, 100))?.get('sui')?.length, 100)
})

test('progress on a launch curve belongs to the token that was launched', async () => {
  await warehouse.insert('eth_dex_pools', [
    {
      pool_address: addressFromNumber(300_000),
      token_a: addressFromNumber(300_001),
      token_b: addressFromNumber(300_002),
      curve_progress: 0.7,
      _ver: 1,
    },
  ])
  const rows = await query({
    sql: `SELECT curve_progress FROM eth_token_pools FINAL WHERE pool_address = {pool:String} ORDER BY token_address`,
    params: { pool: addressFromNumber(300_000) },
  })
  assert.deepEqual(rows, [{ curve_progress: 0.7 }, { curve_progress: null }])
})

test('a pool that a reorg gives to other tokens within one batch belongs to the former ones no more', async () => {
  const sides = [
    [400_001, 400_002, 1, 1],
    [400_003, 400_004, 2, 0],
  ] as const
  const address = addressFromNumber(400_000)
  const rows = sides.map(([a, b, version, deleted]) => ({
    pool_address: address,
    token_a: addressFromNumber(a),
    token_b: addressFromNumber(b),
    _ver: version,
    _del: deleted,
  }))
  const key = LATEST_STATE_KEYS.get('dex_pools') ?? []
  const names = rows.map((row) => key.map((name) => row[name as keyof typeof row]).join())
  assert.equal(new Set(names).size, rows.length)
  await warehouse.insert('eth_dex_pools', [{ ...rows[0], _ver: 0, _del: 0 }])
  await warehouse.insert('eth_dex_pools', rows)
  const tokens = await query({
    sql: 'SELECT token_address FROM eth_token_pools FINAL WHERE pool_address = {address:String} ORDER BY token_address',
    params: { address },
  })
  assert.deepEqual(
    tokens,
    [400_003, 400_004].map((n) => ({ token_address: addressFromNumber(n) })),
  )
})

test('tokens of a wallet: none that another wallet made in the end', async () => {
  const made = (n: number, dev: string, version: number) => ({
    token_address: addressFromNumber(200_000 + n),
    dev,
    created_at: at(n),
    _ver: version,
  })
  const [dev, other] = [701, 702].map(addressFromNumber) as [string, string]
  await warehouse.insert(
    'eth_tokens',
    Array.from({ length: 30 }, (_, n) => made(n, dev, 1)),
  )
  await warehouse.insert(
    'eth_tokens',
    Array.from({ length: 28 }, (_, n) => made(n, other, 2)),
  )
  const read = (rows: number) =>
    readInWindows<KeysetRow & { readonly token_address: string }>(
      createdTokenList('eth', dev),
      { direction: 'next', after: undefined, rows },
      { chain: null, query },
    )
  const expected = [29, 28].map((n) => addressFromNumber(200_000 + n))
  for (const rows of [3, 20]) {
    assert.deepEqual(
      (await read(rows)).map(({ token_address }) => token_address),
      expected,
    )
  }
  const [creator] = await query<CreatorRow>(creatorsQuery('eth', expected.slice(0, 1)))
  assert.equal(creator?.tokens, '2')
})

test('rows of before a table that a view fills are in it once it is made', async () => {
  const names = ['token_traders', 'token_pools', 'tokens_by_dev']
  await warehouse.insert('eth_wallet_token_pnl', [
    { wallet: wallet(1), token_address: TOKEN, buy_amount_usd: '5', _ver: 1 },
  ])
  // The view keeps what a wallet made until another made it anew, the table begins with what holds.
  const holding: Readonly<Record<string, string>> = {
    tokens_by_dev:
      'WHERE (dev, token_address) IN (SELECT dev, token_address FROM eth_tokens FINAL)',
  }
  const rowsOf = (name: string) =>
    query({ sql: `SELECT * FROM eth_${name} FINAL ${holding[name] ?? ''} ORDER BY ALL` })
  const former = await Promise.all(names.map(rowsOf))
  for (const name of names) {
    await warehouse.command(`DROP TABLE eth_${name}_mv SYNC`)
    await warehouse.command(`DROP TABLE eth_${name} SYNC`)
  }
  await warehouse.command("DELETE FROM migrations WHERE name >= '0037' AND chain = 'eth'")
  await migrate(warehouse, ['eth'])
  assert.ok(former.every((rows) => rows.length > 0))
  assert.deepEqual(await Promise.all(names.map(rowsOf)), former)
})
