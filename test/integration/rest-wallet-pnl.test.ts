/** Profit and loss of wallets over REST against a moving average cost folded here. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type {
  PnlDetailItem,
  PnlDetailSummary,
  PnlDetailsResult,
  WalletPnlSummary,
} from '../../schemas/api/wallet-pnl.ts'
import { sliceQuery } from '../../serving/queries/keyset-list.ts'
import { topTradersList } from '../../serving/queries/trades.ts'
import { type PnlRequest, pnlList, pnlTotalsQuery } from '../../serving/queries/wallet-pnl.ts'
import { pnlSummaryQuery } from '../../serving/queries/wallet-pnl-summary.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber, createSeededRandom } from '../support/builders/market-trade.ts'
import { createRestReader } from '../support/rest-reader.ts'

const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const DAY_MS = 86_400_000
const WALLETS = [addressFromNumber(0xa1), addressFromNumber(0xa2)] as const
const TOKENS = [1, 2, 3, 4, 5].map(addressFromNumber)
const PRICES: readonly (number | null)[] = [2, 0.5, 10, null, 1]
const at = (ms: number): string => new Date(ms).toISOString()

interface Step {
  readonly wallet: string
  readonly token: string
  readonly timeMs: number
  readonly slot: number
  readonly side: 'BUY' | 'SELL'
  readonly amount: number
  readonly usd: number
  readonly realized: number
  readonly isKnown: boolean
  readonly amountAfter: number
  readonly costAfter: number
}

/** 160 trades over 60 days; amounts and prices are such that every number here is exact in binary. */
const makeSteps = (): readonly Step[] => {
  const random = createSeededRandom(5)
  const positions = new Map<string, { amount: number; cost: number }>()
  return Array.from({ length: 160 }, (_, index) => {
    const wallet = WALLETS[random() < 0.7 ? 0 : 1]
    const token = TOKENS[Math.floor(random() * TOKENS.length)] as string
    const position = positions.get(wallet + token) ?? { amount: 0, cost: 0 }
    const side = random() < 0.6 ? ('BUY' as const) : ('SELL' as const)
    const amount = 2 ** Math.floor(random() * 5)
    const usd = amount * 2 ** Math.floor(random() * 3)
    const sold = side === 'SELL' ? Math.min(amount, position.amount) : 0
    const cost = sold === 0 ? 0 : (position.cost * sold) / position.amount
    const realized = side === 'SELL' && sold > 0 ? (usd * sold) / amount - cost : 0
    const next =
      side === 'BUY'
        ? { amount: position.amount + amount, cost: position.cost + usd }
        : { amount: position.amount - sold, cost: position.cost - cost }
    positions.set(wallet + token, next)
    return {
      wallet,
      token,
      side,
      amount,
      usd,
      realized,
      isKnown: sold > 0,
      slot: index,
      timeMs: HEAD_MS - (160 - index) * 9 * 3_600_000,
      amountAfter: next.amount,
      costAfter: next.cost,
    }
  })
}

const STEPS = makeSteps()
const places = (value: number): string => value.toFixed(12)

interface Expected {
  readonly buys: number
  readonly sells: number
  readonly wins: number
  readonly losses: number
  readonly buyUsd: number
  readonly sellUsd: number
  readonly realized: number
  readonly cost: number
  readonly unrealized: number
  readonly value: number
  readonly amount: number
}

/** Balances on the chain: of the first token half of what is held with a known cost. */
const heldOf = (token: string, amount: number): number =>
  token === TOKENS[0] ? amount / 2 : amount

const expectedOf = (wallet: string, token: string, days: number): Expected | undefined => {
  const all = STEPS.filter((step) => step.wallet === wallet && step.token === token)
  const startMs = days === 0 ? 0 : HEAD_MS - days * DAY_MS
  const inside = all.filter(({ timeMs }) => timeMs > startMs)
  if (inside.length === 0) return undefined
  const basis = all.findLast(({ timeMs }) => timeMs <= startMs)?.costAfter ?? 0
  const of = (side: string) => inside.filter((step) => step.side === side)
  const sum = (steps: readonly Step[], value: (step: Step) => number) =>
    steps.reduce((total, step) => total + value(step), 0)
  const last = all.at(-1)
  const [amount, cost] = [last?.amountAfter ?? 0, last?.costAfter ?? 0]
  const open = Math.min(amount, heldOf(token, amount))
  const price = PRICES[TOKENS.indexOf(token)] ?? null
  return {
    buys: of('BUY').length,
    sells: of('SELL').length,
    wins: inside.filter(({ realized }) => realized > 0).length,
    losses: inside.filter(({ realized }) => realized < 0).length,
    buyUsd: sum(of('BUY'), ({ usd }) => usd),
    sellUsd: sum(of('SELL'), ({ usd }) => usd),
    realized: sum(inside, ({ realized }) => realized),
    cost: basis + sum(of('BUY'), ({ usd }) => usd),
    unrealized: price === null || amount === 0 ? 0 : price * open - (cost * open) / amount,
    value: heldOf(token, amount) * (price ?? 0),
    amount,
  }
}

let api: TestApi
const { read, readAll, codeOf } = createRestReader(() => api)

const lifetimeRow = (wallet: string, token: string): object | undefined => {
  const all = expectedOf(wallet, token, 0)
  if (all === undefined) return undefined
  const own = STEPS.filter((step) => step.wallet === wallet && step.token === token)
  const amount = (side: string): number =>
    own.filter((step) => step.side === side).reduce((total, step) => total + step.amount, 0)
  return {
    wallet,
    token_address: token,
    buys: all.buys,
    sells: all.sells,
    _ver: 1,
    wins: all.wins,
    losses: all.losses,
    buy_amount: String(amount('BUY')),
    sell_amount: String(amount('SELL')),
    buy_amount_usd: String(all.buyUsd),
    sell_amount_usd: String(all.sellUsd),
    total_realized_usd: places(all.realized),
    realized_usd: '0',
    position_amount: String(all.amount),
    position_cost_usd: places(own.at(-1)?.costAfter ?? 0),
    open_time: at(0),
    close_time: at(0),
    first_time: at(0),
    last_time: at(HEAD_MS),
  }
}

before(async () => {
  api = await startApi()
  const { warehouse } = api
  await warehouse.insert(
    'eth_wallet_pnl_trades',
    STEPS.map((step) => ({
      block_time: at(step.timeMs),
      block_slot: step.slot,
      block_height: step.slot,
      wallet: step.wallet,
      token_address: step.token,
      side: step.side,
      _ver: 1,
      amount: String(step.amount),
      amount_usd: String(step.usd),
      event_index: 0,
      realized_usd: places(step.realized),
      cost_usd: '0',
      position_amount: String(step.amountAfter),
      position_cost_usd: places(step.costAfter),
    })),
  )
  const pairs = WALLETS.flatMap((wallet) => TOKENS.map((token) => [wallet, token] as const))
  await warehouse.insert(
    'eth_wallet_token_pnl',
    pairs.flatMap(([wallet, token]) => lifetimeRow(wallet, token) ?? []),
  )
  await warehouse.insert(
    'eth_wallet_balances',
    pairs.map(([wallet, token]) => {
      const units = heldOf(token, expectedOf(wallet, token, 0)?.amount ?? 0)
      return {
        token_address: token,
        holder: wallet,
        decimals: 6,
        balance: String(units * 1e6),
        first_seen: at(0),
        last_seen: at(0),
        _ver: 1,
      }
    }),
  )
  await warehouse.insert(
    'eth_token_prices',
    TOKENS.map((token, index) => ({
      token_address: token,
      price_time: at(HEAD_MS),
      price_usd: PRICES[index],
      _ver: 1,
    })),
  )
  await warehouse.insert('eth_tokens', [
    { token_address: TOKENS[0], name: 'Frog', symbol: 'FROG', decimals: 6, _ver: 1 },
  ])
  await warehouse.insert('eth_blocks', [
    {
      block_time: at(HEAD_MS),
      block_slot: 1_000,
      block_height: 1_000,
      block_hash: '0xhead',
      commitment: 'CONFIRMED',
      _ver: 1,
    },
  ])
})
after(() => api.stop())

const WINDOWS = [
  ['1d', 1],
  ['7d', 7],
  ['30d', 30],
  ['all', 0],
] as const

const near = (text: string | null | undefined, value: number, about: string): void =>
  assert.ok(Math.abs(Number(text) - value) < 1e-6, `${about}: ${text}, expected ${value}`)

const assertItem = (item: PnlDetailItem, days: number): void => {
  const expected = expectedOf(item.walletAddress, item.tokenAddress, days)
  assert.ok(expected, item.tokenAddress)
  const about = `${item.walletAddress} ${item.tokenAddress} ${days}`
  const counts = [item.buys, item.sells, item.wins, item.losses].map(Number)
  assert.deepEqual(counts, [expected.buys, expected.sells, expected.wins, expected.losses], about)
  near(item.buyAmountInUsd, expected.buyUsd, about)
  near(item.sellAmountInUsd, expected.sellUsd, about)
  near(item.totalCostInUsd, expected.cost, about)
  near(item.realizedProfitInUsd, expected.realized, about)
  near(item.unrealizedProfitInUsd, expected.unrealized, about)
  near(item.totalProfitInUsd, expected.realized + expected.unrealized, about)
  near(item.currentValue, expected.value, about)
  assert.equal(item.isClosed, expected.amount === 0, about)
  const ratios = Number(item.realizedProfitRatio) + Number(item.unrealizedProfitRatio)
  near(item.totalProfitRatio, ratios, about)
}

test('profit and loss details and totals of every window equal those of a plain fold', async () => {
  for (const wallet of WALLETS) {
    for (const [resolution, days] of WINDOWS) {
      const path = `/v2/wallet/eth/${wallet}/pnl-details?resolution=${resolution}`
      const items = await readAll<PnlDetailItem>(`${path}&limit=2`)
      const expected = TOKENS.flatMap((token) => expectedOf(wallet, token, days) ?? [])
      assert.equal(items.length, expected.length)
      for (const item of items) assertItem(item, days)
      const profits = items.map(({ totalProfitInUsd }) => Number(totalProfitInUsd))
      assert.deepEqual(
        profits,
        profits.toSorted((one, other) => other - one),
      )
      const { summary } = await read<{ readonly summary: PnlDetailSummary }>(path)
      const total = (value: (one: Expected) => number) =>
        expected.reduce((sum, one) => sum + value(one), 0)
      near(summary.tokens, expected.length, path)
      near(
        summary.realizedProfitInUsd,
        total(({ realized }) => realized),
        path,
      )
      near(
        summary.unrealizedProfitInUsd,
        total(({ unrealized }) => unrealized),
        path,
      )
      near(
        summary.totalCostInUsd,
        total(({ cost }) => cost),
        path,
      )
      near(
        summary.currentValue,
        total(({ value }) => value),
        path,
      )
      const whole = await read<WalletPnlSummary>(
        `/v2/wallet/eth/${wallet}/pnl?resolution=${resolution}`,
      )
      assert.deepEqual([whole.resolution, whole.tokens], [resolution, summary.tokens])
      assert.equal(whole.realizedProfitInUsd, summary.realizedProfitInUsd)
      assert.equal(whole.winRate, summary.winRate)
    }
  }
})

test('open and closed positions part the details', async () => {
  const path = `/v2/wallet/eth/${WALLETS[0]}/pnl-details`
  const [all, open, closed] = await Promise.all(
    ['all', 'open', 'closed'].map((state) =>
      readAll<PnlDetailItem>(`${path}?positionState=${state}`),
    ),
  )
  assert.ok(open?.every(({ isClosed }) => !isClosed))
  assert.ok(closed?.every(({ isClosed }) => isClosed))
  assert.equal((open?.length ?? 0) + (closed?.length ?? 0), all?.length)
  const sorted = await readAll<PnlDetailItem>(`${path}?sortBy=realizedPnl`)
  const realized = sorted.map(({ realizedProfitInUsd }) => Number(realizedProfitInUsd))
  assert.deepEqual(
    realized,
    realized.toSorted((one, other) => other - one),
  )
})

test('given tokens of a wallet, and given wallets of a token', async () => {
  const tokens = [TOKENS[0], TOKENS[2], addressFromNumber(99)].join()
  const one = await read<PnlDetailsResult>(
    `/v2/wallet/eth/${WALLETS[0]}/pnl-by-token?tokenAddresses=${tokens}`,
  )
  const shown = one.data.map(({ tokenAddress }) => tokenAddress).toSorted()
  assert.deepEqual(shown, [TOKENS[0], TOKENS[2]].toSorted())
  assert.equal(one.data.find(({ tokenAddress }) => tokenAddress === TOKENS[0])?.symbol, 'FROG')
  for (const item of one.data) assertItem(item, 0)
  assert.equal(one.summary.tokens, '2')
  const query = `walletAddresses=${WALLETS.join()}&tokenAddress=${TOKENS[1]}&resolution=30d`
  const both = await read<PnlDetailsResult>(`/v2/wallet/eth/pnl-by-wallet?${query}`)
  const expected = WALLETS.filter((wallet) => expectedOf(wallet, TOKENS[1] as string, 30))
  assert.equal(both.data.length, expected.length)
  for (const item of both.data) assertItem(item, 30)
})

test('profit and loss of a wallet without trades is zero, and has no details', async () => {
  const stranger = addressFromNumber(0xdead)
  const summary = await read<WalletPnlSummary>(`/v2/wallet/eth/${stranger}/pnl`)
  assert.deepEqual([summary.buys, summary.winRate, summary.totalProfitInUsd], ['0', '0', '0'])
  assert.deepEqual(await readAll(`/v2/wallet/eth/${stranger}/pnl-details`), [])
  const sol = await read<WalletPnlSummary>(`/v2/wallet/sol/${'1'.repeat(32)}/pnl`)
  assert.deepEqual([sol.tokens, sol.updatedAt], ['0', null])
})

test('requests for what always holds are checked and accepted', async () => {
  const post = async (path: string, body: unknown = undefined) => {
    const headers = { 'x-api-key': api.apiKey, 'content-type': 'application/json' }
    const answer = await callApi(api, path, {
      method: 'POST',
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return [answer.status, (answer.body as { readonly success?: boolean }).success]
  }
  const wallet = `/v2/wallet/eth/${WALLETS[0]}`
  assert.deepEqual(await post(`${wallet}/calculate-pnl`, {}), [200, true])
  const some = { tokenAddresses: [TOKENS[0]] }
  assert.deepEqual(await post(`${wallet}/calculate-pnl`, some), [200, true])
  assert.deepEqual(await post(`/v1/watchlist/eth/${WALLETS[0]}`), [200, true])
  assert.deepEqual(await post('/v2/watchlist/eth/nonsense'), [400, undefined])
  assert.deepEqual(await post(`${wallet}/calculate-pnl`, { tokenAddresses: 7 }), [400, undefined])
})

test('wrong parameters are reported by name and code', async () => {
  const path = `/v2/wallet/eth/${WALLETS[0]}`
  assert.deepEqual(await codeOf(`${path}/pnl?resolution=2d`), [400, 40032])
  assert.deepEqual(await codeOf(`${path}/pnl-by-token`), [400, 40004])
  const many = Array.from({ length: 101 }, (_, index) => addressFromNumber(index + 1)).join()
  assert.deepEqual(await codeOf(`${path}/pnl-by-token?tokenAddresses=${many}`), [400, 40028])
  assert.deepEqual(
    await codeOf(`/v2/wallet/eth/pnl-by-wallet?tokenAddress=${TOKENS[0]}&walletAddresses=${many}`),
    [400, 40029],
  )
  assert.deepEqual(await codeOf('/v2/wallet/eth/nonsense/pnl'), [400, 40005])
})

test('sums of the largest amounts keep their sign', async () => {
  const [wallet, token] = [addressFromNumber(0xa9), addressFromNumber(9)]
  const largest = '9'.repeat(26)
  const sum = '199999999999999999999999998'
  const row = (index: number) => ({
    block_time: at(HEAD_MS - 1_000),
    block_slot: 900,
    block_height: 900,
    token_address: token,
    side: 'SELL',
    amount: '1',
    amount_usd: largest,
    event_index: index,
    _ver: 1,
  })
  await api.warehouse.insert(
    'eth_wallet_pnl_trades',
    [0, 1].map((index) => ({
      ...row(index),
      wallet,
      realized_usd: largest,
      cost_usd: largest,
      position_amount: '1',
      position_cost_usd: '0',
    })),
  )
  await api.warehouse.insert(
    'eth_dex_trades_enriched',
    [0, 1].map((index) => ({
      ...row(index),
      block_hash: 'b',
      tx_hash: 't',
      owner: wallet,
      amount_native: largest,
      decimals: 0,
    })),
  )
  const one = { direction: 'next', after: undefined, rows: 1 } as const
  const request: PnlRequest = { chain: 'eth', wallets: [wallet], resolution: '7d' }
  const byTrade = { token, timeFrame: '24h', by: 'count', descending: true } as const
  const expected = { sell_usd: sum, realized_usd: sum }
  for (const [query, of] of [
    [sliceQuery(pnlList(request, 'totalPnl'), one), expected],
    [pnlTotalsQuery(request), expected],
    [pnlSummaryQuery('eth', wallet), { ...expected, cost_usd: sum }],
    [sliceQuery(topTradersList('eth', byTrade), one), { sell_usd: sum, sell_native: sum }],
  ] as const) {
    const [found = {}] = (await api.warehouse.query<Record<string, unknown>>(query)).rows
    for (const [name, value] of Object.entries(of)) assert.equal(found[name], value, name)
  }
})
