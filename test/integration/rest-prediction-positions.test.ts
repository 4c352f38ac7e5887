/** Positions in prediction markets over REST against a plain fold of the same steps, reorgs included. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { DAY_MS } from '../../core/time.ts'
import { windowOf } from '../../serving/http/prediction-summary.ts'
import {
  PREDICTION_DAYS,
  type PredictionDayRow,
  predictionDaysQuery,
} from '../../serving/queries/prediction-wallets.ts'
import { startApi, type TestApi } from '../support/api-stack.ts'
import {
  type ExpectedPosition,
  POSITION_CONDITIONS,
  POSITION_TOKENS,
  POSITION_WALLETS,
  POSITIONS_HEAD_MS,
  predictionChain,
} from '../support/builders/prediction-chain.ts'
import { fetchSdk, parseWithSdk } from '../support/python-clients.ts'
import { createRestReader } from '../support/rest-reader.ts'

const { tables, managements, prices, positions } = predictionChain()
let api: TestApi

before(async () => {
  api = await startApi({ chains: ['eth', 'polygon'] })
  for (const [table, rows] of tables) await api.warehouse.insert(`polygon_${table}`, rows)
  await api.warehouse.insert('polygon_prediction_managements', managements)
  await api.warehouse.insert('polygon_blocks', [
    {
      block_time: new Date(POSITIONS_HEAD_MS).toISOString(),
      block_slot: 9_999,
      block_height: 9_999,
      block_hash: '0xhead',
      commitment: 'CONFIRMED',
      _ver: 1,
    },
  ])
})
after(() => api.stop())

const { read, codeOf } = createRestReader(() => api)

type Body = Readonly<Record<string, unknown>>

/** Six decimals, as a person would write them. */
const units = (raw: bigint): string => {
  const digits = (raw < 0n ? -raw : raw).toString().padStart(7, '0')
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
  return raw < 0n ? `-${text}` : text
}
const compare = <Key extends bigint | string>(one: Key, other: Key): number =>
  one < other ? -1 : one > other ? 1 : 0

const markOf = ({ token }: ExpectedPosition): bigint => prices.get(token) ?? 0n
const worthOf = (one: ExpectedPosition): bigint => (one.quantity * markOf(one)) / 1_000_000n
const unrealizedOf = (one: ExpectedPosition): bigint =>
  (one.known * markOf(one)) / 1_000_000n - one.cost
const sum = (
  items: readonly ExpectedPosition[],
  value: (one: ExpectedPosition) => bigint,
): bigint => items.reduce((all, one) => all + value(one), 0n)

const wallets = (condition: 0 | 1) =>
  POSITION_WALLETS.map((wallet) => {
    const tokens: readonly bigint[] = POSITION_TOKENS[condition]
    const own = positions.filter((one) => one.wallet === wallet && tokens.includes(one.token))
    return {
      wallet,
      own,
      balance: sum(own, ({ quantity }) => quantity),
      worth: sum(own, worthOf),
      realized: sum(own, ({ realized }) => realized),
      total: sum(own, (one) => one.realized + unrealizedOf(one)),
      volume: sum(own, ({ volume }) => volume),
      paid: sum(own, ({ paid }) => paid),
    }
  })

/** Every item of a list, page by page. */
const readEvery = async (path: string, field: string): Promise<readonly Body[]> => {
  const items: Body[] = []
  for (let cursor: unknown = ''; cursor !== null; ) {
    const more = cursor === '' ? '' : `&cursor=${String(cursor)}`
    const page = await read<Body>(`/v1/prediction/${path}${more}`)
    items.push(...(page[field] as readonly Body[]))
    cursor = page.cursor
  }
  return items
}

test('the simulated market has losses, profits, open and closed positions', () => {
  assert.ok(positions.some(({ realized }) => realized > 0n))
  assert.ok(positions.some(({ realized }) => realized < 0n))
  assert.ok(positions.some(({ redeemed }) => redeemed > 0n))
  assert.ok(positions.some(({ known, quantity }) => known < quantity))
})

test('holders of a condition have the balances, values and profits of the fold, in every order', async () => {
  for (const [at, condition] of POSITION_CONDITIONS.entries()) {
    const all = wallets(at as 0 | 1).filter(({ balance }) => balance > 0n)
    assert.ok(all.length > 2)
    for (const [sort, key] of [
      ['balance', 'balance'],
      ['holding_value', 'worth'],
      ['total_pnl', 'total'],
    ] as const) {
      const wanted = all
        .toSorted(
          (one, other) => compare(other[key], one[key]) || compare(other.wallet, one.wallet),
        )
        .map((one) => [one.wallet, units(one.balance), units(one.worth), units(one.total)])
      const path = `markets/${condition}/holders?limit=2&sort_by=${sort}`
      const shown = (bodies: readonly Body[]) =>
        bodies.map((one) => [one.wallet, one.balance, one.holdingValue, one.totalPnl])
      assert.deepEqual(shown(await readEvery(path, 'holders')), wanted, path)
      const upwards = await readEvery(`${path}&order=asc`, 'holders')
      assert.deepEqual(shown(upwards), wanted.toReversed(), path)
    }
  }
  const [token] = POSITION_TOKENS[1]
  const only = await readEvery(
    `markets/${POSITION_CONDITIONS[1]}/holders?token_id=${token}&sort_by=balance`,
    'holders',
  )
  const own = positions.filter((one) => one.token === token && one.quantity > 0n)
  assert.deepEqual(
    only.map(({ wallet, balance }) => [wallet, balance]),
    own
      .filter(({ wallet }) => POSITION_WALLETS.includes(wallet))
      .toSorted((one, other) => compare(other.quantity, one.quantity))
      .map(({ wallet, quantity }) => [wallet, units(quantity)]),
  )
})

test('statistics of holders are the sums of each outcome', async () => {
  for (const [at, condition] of POSITION_CONDITIONS.entries()) {
    const { outcomes } = await read<{ outcomes: readonly Body[] }>(
      `/v1/prediction/markets/${condition}/holder-stats`,
    )
    const wanted = (POSITION_TOKENS[at] ?? []).map((token, index) => {
      const own = positions.filter((one) => one.token === token)
      const held = own.filter(({ quantity }) => quantity > 0n)
      return {
        tokenId: String(token),
        outcome: String(index),
        holderCount: held.length,
        totalBalance: units(sum(held, ({ quantity }) => quantity)),
        holdingValue: units(sum(held, worthOf)),
        totalCostBasis: units(sum(own, ({ cost }) => cost)),
        totalRealizedPnl: units(sum(own, ({ realized }) => realized)),
        totalPnl: units(sum(own, (one) => one.realized + unrealizedOf(one))),
      }
    })
    assert.deepEqual(
      outcomes.map((one) =>
        Object.fromEntries(Object.keys(wanted[0] ?? {}).map((name) => [name, one[name]])),
      ),
      wanted,
    )
    for (const { top100, ratio } of outcomes as readonly { top100: Body; ratio: number }[]) {
      assert.ok(Number(top100.count) > 0)
      assert.ok(ratio >= 0 && ratio <= 1)
    }
  }
})

test('traders of a condition are the wallets that traded, ordered by profit or volume', async () => {
  for (const [at, condition] of POSITION_CONDITIONS.entries()) {
    for (const [sort, key] of [
      ['realized_pnl', 'realized'],
      ['total_pnl', 'total'],
      ['total_volume', 'volume'],
    ] as const) {
      const wanted = wallets(at as 0 | 1)
        .filter(({ volume }) => volume > 0n)
        .toSorted(
          (one, other) => compare(other[key], one[key]) || compare(other.wallet, one.wallet),
        )
        .map((one) => [
          ...[one.wallet, units(one.realized), units(one.total), units(one.volume)],
          units(one.paid),
        ])
      const path = `markets/${condition}/traders?limit=2&sort_by=${sort}`
      const got = await readEvery(path, 'traders')
      assert.deepEqual(
        got.map((one) => [
          ...[one.wallet, one.realizedProfit, one.totalPnl, one.totalVolume, one.amount],
        ]),
        wanted,
        path,
      )
    }
  }
})

test('positions, totals and days of a wallet are those of the fold', async () => {
  for (const wallet of POSITION_WALLETS) {
    const own = positions.filter((one) => one.wallet === wallet)
    const path = `wallets/${wallet}/pnl?limit=2&sort_by=realizedPnl`
    const tokens = await readEvery(path, 'tokens')
    assert.deepEqual(
      tokens.map((one) => [
        ...[one.tokenId, one.openQuantity, one.costBasis, one.currentValue, one.realizedPnl],
        ...[one.unrealizedPnl, one.totalBuyAmount, one.totalRedeemAmount, one.totalVolume],
      ]),
      own
        .toSorted(
          (one, other) =>
            compare(other.realized, one.realized) ||
            compare(String(other.token), String(one.token)),
        )
        .map((one) => [
          ...[String(one.token), units(one.quantity), units(one.cost), units(worthOf(one))],
          ...[units(one.realized), units(unrealizedOf(one)), units(one.paid)],
          ...[units(one.redeemed), units(one.volume)],
        ]),
      path,
    )
    const { summary, dailyPnls } = await read<{ summary: Body; dailyPnls: readonly Body[] }>(
      `/v1/prediction/wallets/${wallet}/pnl`,
    )
    assert.deepEqual(
      [summary.realizedPnl, summary.totalPnl, summary.currentValue, summary.openPositionCount],
      [
        units(sum(own, ({ realized }) => realized)),
        units(sum(own, (one) => one.realized + unrealizedOf(one))),
        units(sum(own, worthOf)),
        own.filter(({ quantity }) => quantity > 0n).length,
      ],
    )
    for (const { day, realizedPnl } of dailyPnls)
      assert.equal(realizedPnl, units(sum(own, ({ days }) => days.get(String(day)) ?? 0n)))
    const { tokens: none } = await read<Body>(`/v1/prediction/wallets/${wallet}/pnl?tag=politics`)
    assert.deepEqual(none, [])
  }
})

const realizedSince = (wallet: string, since: string): bigint =>
  positions
    .filter((one) => one.wallet === wallet)
    .flatMap(({ days }) => [...days])
    .reduce((all, [day, gain]) => (day >= since ? all + gain : all), 0n)

test('the leaderboard ranks wallets by what they realized, ever and in seven days', async () => {
  for (const [interval, since] of [
    ['all', ''],
    ['7d', '2026-11-14'],
  ] as const) {
    const got = await readEvery(`leaderboard?limit=2&interval=${interval}`, 'entries')
    const own = got.filter(({ wallet }) => POSITION_WALLETS.includes(String(wallet)))
    const wanted = POSITION_WALLETS.map((wallet) => [wallet, realizedSince(wallet, since)] as const)
      .toSorted((one, other) => compare(other[1], one[1]) || compare(other[0], one[0]))
      .map(([wallet, score]) => [wallet, units(score)])
    assert.deepEqual(
      own.map(({ wallet, score }) => [wallet, score]),
      wanted,
    )
    assert.deepEqual(
      got.map(({ rank }) => rank),
      got.map((_, index) => index + 1),
    )
  }
  assert.deepEqual(await readEvery('leaderboard?scope=topic&topic=politics', 'entries'), [])
})

test('the reference SDK reads every answer, field by field', async () => {
  const market = `markets/${POSITION_CONDITIONS[1]}`
  const answers = [
    ['PredictionMarketHoldersResponse', `${market}/holders`, 'holders'],
    ['PredictionMarketHolderStatsResponse', `${market}/holder-stats`, 'outcomes'],
    ['PredictionMarketTradersResponse', `${market}/traders`, 'traders'],
    ['PredictionWalletPnlResponse', `wallets/${POSITION_WALLETS[0]}/pnl`, 'tokens'],
    ['PredictionSmartWalletLeaderboardResponse', 'leaderboard?interval=7d', 'entries'],
  ] as const
  const bodies = await Promise.all(
    answers.map(async ([, path]) => await read<Body>(`/v1/prediction/${path}`)),
  )
  const folder = mkdtempSync(join(tmpdir(), 'sluice-prediction-'))
  try {
    await fetchSdk()
    const file = join(folder, 'pairs.json')
    writeFileSync(file, JSON.stringify(answers.map(([model], at) => [model, bodies[at]])))
    const parsed = await parseWithSdk(file)
    for (const [at, [model, , field]] of answers.entries()) {
      const items = parsed[at]?.[field] as readonly Body[]
      assert.ok(items.length > 0, model)
      // The SDK prints no field that is null.
      const known = JSON.stringify(bodies[at]?.[field], (_, value) => value ?? undefined)
      assert.deepEqual(items, JSON.parse(known), model)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('wrong parameters are refused', async () => {
  const market = `/v1/prediction/markets/${POSITION_CONDITIONS[0]}`
  for (const [path, code] of [
    ['/v1/prediction/wallets/0x12/pnl', 40005],
    [`/v1/prediction/wallets/${POSITION_WALLETS[0]}/pnl?sort_by=realized_pnl`, 40002],
    [`${market}/holders?sort_by=volume`, 40002],
    [`${market}/traders?cursor=abc`, 40027],
    [`${market}/holders?limit=101`, 40002],
    ['/v1/prediction/markets/7/holder-stats', 40002],
    ['/v1/prediction/leaderboard?interval=30d', 40002],
  ] as const)
    assert.deepEqual(await codeOf(path), [400, code], path)
})

test('conditions of a window count once, on however many days they were traded, and an answer does not name them', async () => {
  const wallet = `0x${'d7'.repeat(20)}`
  const [steady, early, none] = ['0xc-steady', '0xc-early', '']
  const change = (daysAgo: number, condition: string, index: number) => ({
    block_time: new Date(POSITIONS_HEAD_MS - daysAgo * DAY_MS).toISOString(),
    block_slot: 9_000 - daysAgo,
    block_height: 9_000 - daysAgo,
    block_hash: '0xdays',
    tx_hash: `0xdays${daysAgo}`,
    tx_status: 'SUCCESS',
    event_index: index,
    log_index: index,
    condition_id: condition,
    outcome_token: `t${index}`,
    wallet,
    traded_amount: '1',
    _ver: 1,
  })
  // One condition on every day, with both outcomes; nine on day 8 alone; one on days 10 and 3; and tokens of no known condition.
  await api.warehouse.insert('polygon_prediction_position_changes', [
    ...Array.from({ length: PREDICTION_DAYS }, (_, day) => change(day, steady, 1)),
    ...Array.from({ length: PREDICTION_DAYS }, (_, day) => change(day, steady, 2)),
    ...Array.from({ length: 9 }, (_, index) => change(8, `0xc-${index}`, 10 + index)),
    ...[change(10, early, 30), change(3, early, 30), change(2, none, 40)],
  ])
  const query = predictionDaysQuery('polygon', { wallets: [wallet], today: '2026-11-20' })
  const { rows } = await api.warehouse.query<PredictionDayRow>(query)
  assert.equal(rows.length, PREDICTION_DAYS)
  assert.deepEqual(
    rows.flatMap(Object.values).filter((value) => typeof value !== 'string'),
    [],
  )
  const counts = [1, 3, 4, 9, PREDICTION_DAYS].map(
    (days) => windowOf(rows, POSITIONS_HEAD_MS, days).markets,
  )
  assert.deepEqual(counts, [1, 1, 2, 11, 11])
  const { summary } = await read<{ summary: Body }>(`/v1/prediction/wallets/${wallet}/pnl`)
  assert.deepEqual([summary.todayMarketCount, summary.sevenDayMarketCount], [1, 2])
})
