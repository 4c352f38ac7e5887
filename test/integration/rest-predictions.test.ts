/** Prediction markets over REST against a plain fold of the same rows. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startApi, type TestApi } from '../support/api-stack.ts'
import {
  CONDITIONS,
  MARKETS,
  predictionRows,
  TOKENS,
  WALLETS,
} from '../support/builders/prediction-rows.ts'
import { createRestReader } from '../support/rest-reader.ts'

const { trades, settlements, managements } = predictionRows()
let api: TestApi

before(async () => {
  api = await startApi({ chains: ['eth', 'polygon'] })
  const gone = { ...trades[5], tx_hash: '0xgone', block_slot: 9_000, event_index: 900 }
  await api.warehouse.insert('polygon_prediction_trades', [...trades, gone])
  await api.warehouse.insert('polygon_prediction_trades', [{ ...gone, _ver: 2, _del: 1 }])
  await api.warehouse.insert('polygon_prediction_settlements', settlements)
  await api.warehouse.insert('polygon_prediction_managements', managements)
})
after(() => api.stop())

const { read, codeOf } = createRestReader(() => api)

type Body = Readonly<Record<string, unknown>>

/** Every item of a list, page by page. */
const readEvery = async (path: string, field: string): Promise<readonly Body[]> => {
  const items: Body[] = []
  for (let cursor: unknown = ''; cursor !== null; ) {
    const more = cursor === '' ? '' : `&cursor=${String(cursor)}`
    const page = await read<Body>(`/v2/prediction/${path}${more}`)
    items.push(...(page[field] as readonly Body[]))
    cursor = page.cursor
  }
  return items
}

interface Activity {
  readonly id: string
  readonly order: readonly number[]
  readonly condition: string
  readonly group: string
  readonly tokens: readonly string[]
  readonly wallet: string
  readonly type: string
  readonly amount?: string
}

/** Six decimals, as a person would write them. */
const units = (raw: string): string => {
  const digits = raw.padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
}

/** What the rows say of one wallet's doing, or of the takers'. */
const fold = (wallet?: string): readonly Activity[] => {
  const placed = (row: (typeof trades)[number] | (typeof settlements)[number]) => ({
    id: `${row.tx_hash}:${row.log_index}`,
    order: [row.block_slot, row.tx_index, row.log_index],
    condition: row.condition_id,
    group: row.market_id,
  })
  const traded = trades.flatMap((row) => {
    const isTaker = wallet === undefined || row.buyer === wallet
    if (!isTaker && row.seller !== wallet) return []
    const takerBuys = row.is_outcome_buy === 0
    return [
      {
        ...placed(row),
        group: '',
        tokens: [row.outcome_token],
        wallet: isTaker ? row.buyer : row.seller,
        type: takerBuys === isTaker ? 'buy' : 'sell',
        amount: units(row.collateral_amount),
      },
    ]
  })
  const settled = settlements
    .filter(({ holder }) => wallet === undefined || holder === wallet)
    .map((row) => ({
      ...placed(row),
      tokens: row.outcome_token_ids,
      wallet: row.holder,
      type: row.event_type === 'Redemption' ? 'redeem' : 'inventory_adjust',
      // The decimals of another collateral are not known.
      ...(row.collateral_token !== '0xf0' && { amount: units(row.collateral_amount) }),
    }))
  const value = ({ order: [slot = 0, tx = 0, log = 0] }: Activity): number =>
    (slot * 100 + tx) * 1_000 + log
  return [...traded, ...settled].toSorted((one, other) => value(other) - value(one))
}

const shown = (activity: Body) => ({
  id: activity.activityId,
  tokens: activity.assetIds,
  wallet: activity.wallet,
  type: activity.type,
  amount: activity.amount,
})
const expected = ({ id, tokens, wallet, type, amount }: Activity) => ({
  id,
  tokens,
  wallet,
  type,
  amount,
})

const [CONDITION, , ALONE] = CONDITIONS
const [GROUP] = MARKETS
const [WALLET, OTHER] = WALLETS
const TOKEN = TOKENS[0]
const inGroup = ({ condition, group }: Activity): boolean =>
  condition === CONDITIONS[0] || condition === CONDITIONS[1] || group === GROUP

test('activities of a market and of an event, with every filter, are those of the rows', async () => {
  const market = `markets/${CONDITION}/activities?limit=9`
  const event = `events/${GROUP}/activities?limit=9`
  const ofMarket = ({ condition }: Activity): boolean => condition === CONDITION
  const cases: readonly (readonly [
    path: string,
    keep: (activity: Activity) => boolean,
    wallet?: string,
  ])[] = [
    [market, ofMarket],
    [`markets/${CONDITION.toUpperCase().replace('0X', '0x')}/activities?limit=9`, ofMarket],
    [`markets/${ALONE}/activities?limit=9`, ({ condition }) => condition === ALONE],
    [`${market}&token_id=${TOKEN}`, (one) => ofMarket(one) && one.tokens.includes(TOKEN)],
    [`${market}&wallet=${WALLET}`, ofMarket, WALLET],
    [
      `${market}&wallet=${OTHER}&activity_type=sell`,
      (one) => ofMarket(one) && one.type === 'sell',
      OTHER,
    ],
    ...(['buy', 'sell', 'redeem', 'inventory_adjust'] as const).map(
      (type) =>
        [
          `${market}&activity_type=${type}`,
          (one: Activity) => ofMarket(one) && one.type === type,
        ] as const,
    ),
    [event, inGroup],
    [`${event}&market_id=${GROUP}`, inGroup],
    [`${event}&condition_id=${CONDITION}`, (one) => inGroup(one) && ofMarket(one)],
    [`${event}&condition_id=${ALONE}`, () => false],
    [`${event}&market_id=${MARKETS[1]}`, () => false],
    [`events/who-wins-2028/activities?limit=9`, () => false],
  ]
  const sizes = new Map<string, number>()
  for (const [path, keep, wallet] of cases) {
    const wanted = fold(wallet).filter(keep).map(expected)
    sizes.set(path, wanted.length)
    assert.deepEqual((await readEvery(path, 'activities')).map(shown), wanted, path)
    const upwards = await readEvery(`${path}&order=asc`, 'activities')
    assert.deepEqual(upwards.map(shown), wanted.toReversed(), path)
  }
  assert.equal([...sizes.values()].filter((size) => size === 0).length, 3)
  const settled = fold().filter(({ group }) => group === GROUP)
  assert.ok(settled.length > 0, 'an event has conversions of its group')
})

test('a prediction activity has its market, sides, price and amounts, and leaves out unknown fields', async () => {
  const row = trades.find(
    ({ condition_id, fee_in }) => condition_id === CONDITION && fee_in === 'collateral',
  )
  assert.ok(row)
  const all = await readEvery(`markets/${CONDITION}/activities?limit=100`, 'activities')
  assert.deepEqual(
    all.find(({ activityId }) => activityId === `${row.tx_hash}:${row.log_index}`),
    {
      activityId: `${row.tx_hash}:${row.log_index}`,
      type: row.is_outcome_buy === 1 ? 'sell' : 'buy',
      source: 'polymarket',
      conditionId: CONDITION,
      tokenId: row.outcome_token,
      assetIds: [row.outcome_token],
      outcome: row.outcome,
      price: String(row.price),
      pricePerShare: String(row.price),
      quantity: units(row.amount),
      amount: units(row.collateral_amount),
      collateralAmount: units(row.collateral_amount),
      collateralTokenAddress: row.collateral_token,
      collateralTokenSymbol: 'USDC.e',
      feeAmount: units(row.fee),
      feeTokenAddress: row.collateral_token,
      feeTokenSymbol: 'USDC.e',
      wallet: row.buyer,
      participantRole: 'taker',
      counterparty: row.seller,
      taker: row.buyer,
      blockNumber: row.block_height,
      logIndex: row.log_index,
      txHash: row.tx_hash,
      timestamp: Date.parse(row.block_time),
    },
  )
  const split = settlements.find(
    ({ condition_id, event_type }) => condition_id === CONDITION && event_type === 'Split',
  )
  const body = all.find(({ activityId }) => activityId === `${split?.tx_hash}:${split?.log_index}`)
  assert.deepEqual(
    [
      body?.rawType,
      body?.quantity,
      Object.hasOwn(body ?? {}, 'tokenId'),
      Object.hasOwn(body ?? {}, 'taker'),
    ],
    ['Split', units(split?.amounts[0] ?? ''), false, false],
  )
  const foreign = settlements.find(({ collateral_token }) => collateral_token === '0xf0')
  const [alone] = (await readEvery(`markets/${ALONE}/activities?limit=100`, 'activities')).filter(
    ({ activityId }) => activityId === `${foreign?.tx_hash}:${foreign?.log_index}`,
  )
  assert.deepEqual([alone?.amount, alone?.collateralTokenAddress], [undefined, '0xf0'])
})

test('wrong conditions, tokens, wallets, kinds and cursors are refused with their codes', async () => {
  const base = `/v2/prediction/markets/${CONDITION}/activities`
  const { cursor } = await read<Body>(`${base}?limit=2`)
  assert.equal(typeof cursor, 'string')
  const cases: readonly (readonly [path: string, code: number])[] = [
    ['/v2/prediction/markets/0x12/activities', 40002],
    ['/v2/prediction/events/who%20wins/activities', 40002],
    [`${base}?token_id=0x7`, 40002],
    [`${base}?token_id=${'9'.repeat(79)}`, 40002],
    [`${base}?wallet=0x12`, 40005],
    [`${base}?activity_type=hold`, 40002],
    [`${base}?order=up`, 40002],
    [`${base}?limit=0`, 40002],
    [`${base}?limit=101`, 40002],
    [`${base}?cursor=${'x'.repeat(40)}`, 40027],
    [`${base}?order=asc&cursor=${String(cursor)}`, 40027],
    [`/v2/prediction/markets/${ALONE}/activities?cursor=${String(cursor)}`, 40027],
    [`/v2/prediction/events/${GROUP}/activities?market_id=who-wins`, 40002],
  ]
  for (const [path, code] of cases) assert.deepEqual(await codeOf(path), [400, code], path)
})
