/** Lists that are read in windows of time, page by page, against the whole list in one statement. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openWarehouse, type Query, type Warehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { DAY_MS, HOUR_MS } from '../../core/time.ts'
import { activityList } from '../../serving/queries/activities.ts'
import {
  type KeysetList,
  type KeysetPosition,
  type KeysetRow,
  type KeysetSlice,
  sliceQuery,
} from '../../serving/queries/keyset-list.ts'
import { predictionActivityList } from '../../serving/queries/prediction-activities.ts'
import { type ChainEnds, readInWindows } from '../../serving/queries/read-in-windows.ts'
import { supplyChangeList, tokenTransfersList } from '../../serving/queries/token-history.ts'
import { tradesList } from '../../serving/queries/trades.ts'
import { balanceUpdateList, walletTransferList } from '../../serving/queries/wallet-history.ts'
import { addressFromNumber, marketTradeRows } from '../support/builders/market-trade.ts'

const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const MARGIN_MS = 600_000
const [TOKEN, QUOTE, POOL, WALLET, OTHER] = [1, 2, 3, 4, 5].map(addressFromNumber) as [
  ...[string, string, string, string, string],
]
const ALL = 4_294_967_295

let warehouse: Warehouse
const folder = mkdtempSync(join(tmpdir(), 'sluice-windows-'))
before(async () => {
  warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })
  await migrate(warehouse, ['eth', 'polygon'])
  await store()
})
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Ages of blocks, oldest first: at, before and behind the edges of windows and their margins, some of one age, and a day without any. */
const AGES_MS: readonly number[] = [
  ...[10 * DAY_MS, 3 * DAY_MS, 3 * DAY_MS, 2 * DAY_MS + 1, DAY_MS + HOUR_MS],
  ...[DAY_MS + 1, DAY_MS, DAY_MS, DAY_MS - 1, DAY_MS - MARGIN_MS, DAY_MS - MARGIN_MS - 1],
  ...[5 * HOUR_MS, HOUR_MS + MARGIN_MS, HOUR_MS + 1, HOUR_MS, HOUR_MS, HOUR_MS, HOUR_MS - 1],
  ...[HOUR_MS - MARGIN_MS + 1, HOUR_MS - MARGIN_MS, HOUR_MS - MARGIN_MS - 1, 1_000_000, 999, 0, 0],
]
const FIRST_SLOT = 100

interface Place {
  readonly slot: number
  readonly timeMs: number
  readonly index: number
  readonly version: number
  readonly deleted: boolean
}

const position = ({ slot, timeMs, index, version, deleted }: Place) => ({
  block_time: new Date(timeMs).toISOString(),
  block_slot: slot,
  block_height: slot,
  block_hash: `0x${slot}-${version}`,
  tx_hash: `0x${slot}-${index}-${timeMs}`,
  tx_index: index,
  event_index: index,
  _ver: version,
  _del: deleted ? 1 : 0,
})

const rowsAt = (place: Place): Readonly<Record<string, object>> => {
  const at = position(place)
  const owner = place.index === 1 ? WALLET : OTHER
  const sums = { token_address: TOKEN, decimals: 18, amount: String(place.slot) }
  const { timeMs, slot, index } = place
  const trade = marketTradeRows({
    timeMs,
    slot,
    index,
    token: TOKEN,
    quote: QUOTE,
    pool: POOL,
    side: 'BUY',
    amountRaw: BigInt(slot),
    priceUsd: 2,
    priceNative: 1,
    suspect: false,
    valueUsd: `${slot % 3}`,
    valueNative: '1',
  })
  return {
    eth_dex_trades: { ...trade, ...at, buy_owner: owner, sell_owner: owner },
    eth_dex_pool_events_enriched: {
      ...at,
      event_type: index === 2 ? 'SWAP' : 'INCREASE_LIQUIDITY',
      pool_address: POOL,
      base_token: index === 0 ? QUOTE : TOKEN,
      quote_token: index === 0 ? TOKEN : QUOTE,
      base_change: '1',
      quote_change: '2',
      lp_wallet: owner,
    },
    eth_transfers: { ...at, ...sums, sender: owner, receiver: OTHER, success: 1 },
    eth_token_supplies: { ...at, ...sums, event_type: 'MINT' },
    eth_balance_updates: {
      ...at,
      token_address: TOKEN,
      owner,
      pre_balance: '0',
      post_balance: '1',
    },
    polygon_prediction_trades: {
      ...at,
      log_index: index,
      condition_id: '0xc0',
      buyer: owner,
      seller: OTHER,
      outcome_token: '7',
      amount: '5',
      collateral_amount: '3',
      price: 0.5,
    },
  }
}

const insert = async (places: readonly Place[]): Promise<void> => {
  const all = places.map(rowsAt)
  for (const table of Object.keys(all[0] ?? {})) {
    await warehouse.insert(
      table,
      all.flatMap((rows) => rows[table] ?? []),
    )
  }
}

/** Every block with three places; a third of the blocks stood in another form first, with times up to two minutes later, and was taken back. */
const store = async (): Promise<void> => {
  const [reorged, taken, places]: Place[][] = [[], [], []]
  for (const [block, age] of AGES_MS.entries()) {
    for (const index of [0, 1, 2]) {
      const at = { slot: FIRST_SLOT + block, timeMs: HEAD_MS - age, index }
      places?.push({ ...at, version: 3, deleted: false })
      if (block % 3 !== 0) continue
      const early = { ...at, timeMs: at.timeMs + 120_000 }
      reorged?.push({ ...early, version: 1, deleted: false })
      taken?.push({ ...early, version: 2, deleted: true })
    }
  }
  // A block that was taken back and not replaced.
  const gone = { slot: FIRST_SLOT + AGES_MS.length, timeMs: HEAD_MS + 1_000, index: 1 }
  reorged?.push({ ...gone, version: 1, deleted: false })
  taken?.push({ ...gone, version: 2, deleted: true })
  for (const rows of [reorged, taken, places]) await insert(rows ?? [])
}

const query = async (statement: Query): Promise<readonly KeysetRow[]> =>
  (await warehouse.query<KeysetRow>(statement)).rows

/** By the slots a day has far more of them than there are: windows are then narrowed by their times. */
const chain = {
  sinceTimeMs: HEAD_MS - 10 * DAY_MS,
  headTimeMs: HEAD_MS,
  sinceSlot: 0,
  headSlot: FIRST_SLOT + AGES_MS.length,
}
/** As the slots are: the newest hour is then narrowed to a few of them. */
const slowChain = { ...chain, sinceSlot: FIRST_SLOT }

/** Rows of the list in pages, read one way, in the order in which they were read. */
const walk = async (
  list: KeysetList,
  {
    direction,
    limit,
    ends,
  }: {
    readonly direction: KeysetSlice['direction']
    readonly limit: number
    readonly ends: ChainEnds
  },
): Promise<readonly KeysetRow[]> => {
  const found: KeysetRow[] = []
  for (let place: KeysetPosition | undefined; ; ) {
    const slice = { direction, after: place, rows: limit + 1 }
    const rows = await readInWindows(list, slice, { chain: ends, query })
    found.push(...rows.slice(0, limit))
    place = rows[limit - 1]?.place
    if (rows.length <= limit) return found
  }
}

const LISTS: Readonly<Record<string, KeysetList>> = {
  'trades of a chain': tradesList('eth', {}),
  'trades of a token': tradesList('eth', { tokenAddress: TOKEN }),
  'trades of a wallet': tradesList('eth', { walletAddress: WALLET }),
  'activities, newest first': activityList('eth', { sort: 'time', descending: true }),
  'activities, oldest first': activityList('eth', { sort: 'time', descending: false }),
  'activities of a token': activityList('eth', {
    tokenAddress: TOKEN,
    sort: 'time',
    descending: true,
  }),
  'activities of a wallet': activityList('eth', {
    walletAddress: OTHER,
    sort: 'time',
    descending: true,
  }),
  'activities of a pool': activityList('eth', {
    poolAddress: POOL,
    sort: 'time',
    descending: true,
  }),
  'activities of a wallet and a token': activityList('eth', {
    walletAddress: WALLET,
    tokenAddress: TOKEN,
    sort: 'time',
    descending: true,
  }),
  'activities by value': activityList('eth', {
    tokenAddress: TOKEN,
    sort: 'value',
    descending: true,
  }),
  'transfers of a token': tokenTransfersList('eth', TOKEN, { from: undefined, to: undefined }),
  'transfers of a wallet': walletTransferList('eth', WALLET, {}),
  'supply changes': supplyChangeList('eth', TOKEN, 'all'),
  'balance updates': balanceUpdateList('eth', WALLET, {}),
  'activities of the chain by value': activityList('eth', { sort: 'value', descending: false }),
  'prediction activities': predictionActivityList('polygon', {
    conditionIds: ['0xc0'],
    descending: true,
  }),
  'prediction activities, oldest first': predictionActivityList('polygon', {
    conditionIds: ['0xc0'],
    wallet: WALLET,
    descending: false,
  }),
}

for (const [name, list] of Object.entries(LISTS)) {
  test(`${name}: pages hold the rows of the whole list`, async () => {
    for (const direction of ['next', 'prev'] as const) {
      const whole = await query(sliceQuery(list, { direction, after: undefined, rows: ALL }))
      assert.ok(whole.length >= AGES_MS.length, `${whole.length} rows`)
      for (const limit of name.endsWith('value') ? [20] : [3, 7, whole.length]) {
        for (const ends of limit === 7 ? [chain, slowChain] : [chain]) {
          const found = await walk(list, { direction, limit, ends })
          assert.deepEqual(found, whole, `${direction}, ${limit}`)
        }
      }
    }
  })
}

test('a page that lies well within the newest hour takes one statement, a longer one more', async () => {
  const list = LISTS['trades of a token']
  assert.ok(list)
  // As many slots as a chain with a block every twelve seconds.
  const ends = { ...chain, sinceSlot: chain.headSlot - 72_000 }
  const statementsFor = async (rows: number): Promise<number> => {
    let statements = 0
    const counted = (statement: Query) => {
      statements += 1
      return query(statement)
    }
    await readInWindows(
      list,
      { direction: 'next', after: undefined, rows },
      { chain: ends, query: counted },
    )
    return statements
  }
  assert.deepEqual(await Promise.all([5, 30, ALL].map(statementsFor)), [1, 2, 3])
})

test('a place without a time, and a chain without blocks, are read in one statement', async () => {
  const list = LISTS['trades of a token']
  assert.ok(list)
  const whole = await query(sliceQuery(list, { direction: 'next', after: undefined, rows: ALL }))
  const place = whole[4]?.place.slice(0, list.order.length)
  for (const [after, rest] of [
    [place, whole.slice(5)],
    [undefined, whole],
  ] as const) {
    let statements = 0
    const rows: readonly KeysetRow[] = await readInWindows(
      list,
      { direction: 'next', after, rows: ALL },
      {
        chain: null,
        query: (statement: Query) => {
          statements += 1
          return query(statement)
        },
      },
    )
    assert.equal(statements, 1)
    assert.deepEqual(rows, rest)
  }
})

/** Changes of liquidity by their transactions, from the events of pools: seen from one leg, or from both. */
const liquidityOf = async (where: string, legs: 1 | 2): Promise<readonly string[]> => {
  const { rows } = await warehouse.query<{ readonly tx: string }>({
    sql: `SELECT tx_hash AS tx FROM eth_dex_pool_events_enriched FINAL WHERE event_type != 'SWAP' AND ${where}`,
  })
  return rows.flatMap(({ tx }) => Array<string>(legs).fill(tx)).toSorted()
}

/** Those that a list of activities has. */
const liquidityIn = async (list: KeysetList): Promise<readonly string[]> => {
  const whole = sliceQuery(list, { direction: 'next', after: undefined, rows: ALL })
  const { rows } = await warehouse.query<{ readonly activity: string; readonly tx_hash: string }>(
    whole,
  )
  return rows
    .filter(({ activity }) => activity.startsWith('LIQUIDITY_'))
    .map(({ tx_hash }) => tx_hash)
    .toSorted()
}

const BY_TIME = { sort: 'time', descending: true } as const

test('activities have the changes of liquidity that the events of pools have, each subject its own', async () => {
  const cases = [
    [{}, '1'],
    [{ walletAddress: WALLET }, `lp_wallet = '${WALLET}'`],
    [{ walletAddress: OTHER }, `lp_wallet = '${OTHER}'`],
    [{ tokenAddress: TOKEN }, `'${TOKEN}' IN (base_token, quote_token)`],
    [{ tokenAddress: QUOTE }, `'${QUOTE}' IN (base_token, quote_token)`],
    [
      { tokenAddress: QUOTE, walletAddress: WALLET },
      `'${QUOTE}' IN (base_token, quote_token) AND lp_wallet = '${WALLET}'`,
    ],
    [{ poolAddress: POOL }, `pool_address = '${POOL}'`],
    [{ poolAddress: OTHER }, '0'],
  ] as const
  for (const [request, where] of cases) {
    const expected = await liquidityOf(where, 1)
    assert.equal(expected.length > 0, where !== '0', where)
    const list = activityList('eth', { ...request, ...BY_TIME })
    assert.deepEqual(await liquidityIn(list), expected, where)
  }
})

test('events of before the table of changes of liquidity are in it once it is made', async () => {
  const list = activityList('eth', { walletAddress: WALLET, ...BY_TIME })
  const before = await liquidityIn(list)
  await warehouse.command('DROP TABLE eth_liquidity_changes_mv SYNC')
  await warehouse.command('DROP TABLE eth_liquidity_changes SYNC')
  await warehouse.command(
    "DELETE FROM migrations WHERE name = '0029_liquidity_changes.sql' AND chain = 'eth'",
  )
  await migrate(warehouse, ['eth'])
  assert.ok(before.length > 5)
  assert.deepEqual(await liquidityIn(list), before)
})
