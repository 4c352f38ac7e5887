/** Trades over REST against a plain fold of the same rows. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TradeDetail } from '../../schemas/api/trade.ts'
import { startApi, type TestApi } from '../support/api-stack.ts'
import {
  addressFromNumber,
  createSeededRandom,
  type MarketTrade,
  marketTradeRows,
} from '../support/builders/market-trade.ts'
import { createRestReader, type RestPage } from '../support/rest-reader.ts'

const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const MINUTE_MS = 60_000
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const TOKENS = [addressFromNumber(1), addressFromNumber(2)] as const
const POOLS = [addressFromNumber(101), addressFromNumber(102)] as const
const WALLETS = [addressFromNumber(0xa1), addressFromNumber(0xa2), addressFromNumber(0xa3)] as const

interface Traded extends MarketTrade {
  readonly wallet: string
}

const pick = <Item>(items: readonly Item[], share: number): Item =>
  items[Math.floor(share * items.length)] as Item

/** 90 trades over 45 hours, two in a block; the newest is a second old. */
const makeTrades = (): readonly Traded[] => {
  const random = createSeededRandom(7)
  return Array.from({ length: 90 }, (_, index) => {
    const which = random() < 0.6 ? 0 : 1
    const units = BigInt(1 + Math.floor(random() * 1_000))
    const isPriced = random() < 0.9
    return {
      timeMs: HEAD_MS - 1_000 - (89 - index) * 30 * MINUTE_MS,
      slot: 1_000 + Math.floor(index / 2),
      index: index % 2,
      token: TOKENS[which],
      quote: USDC,
      pool: POOLS[which],
      side: random() < 0.5 ? 'BUY' : 'SELL',
      amountRaw: units * 10n ** 18n,
      priceUsd: isPriced ? 0.5 : null,
      priceNative: isPriced ? 0.0002 : null,
      valueUsd: isPriced ? String(Number(units) / 2) : null,
      valueNative: isPriced ? String(Number(units) / 5_000) : null,
      suspect: random() < 0.1,
      wallet: pick(WALLETS, random()),
    } as const
  })
}

const TRADES = makeTrades()
let api: TestApi

before(async () => {
  api = await startApi()
  const rows = TRADES.map((trade) => ({
    ...marketTradeRows(trade),
    buy_owner: trade.wallet,
    sell_owner: trade.wallet,
  }))
  const gone = { ...TRADES[89], slot: 2_000 } as Traded
  await api.warehouse.insert('eth_dex_trades', [
    ...rows,
    marketTradeRows(gone),
    marketTradeRows(gone, 2, true),
  ])
  await api.warehouse.insert('eth_blocks', [
    {
      block_time: new Date(HEAD_MS).toISOString(),
      block_slot: 1_100,
      block_height: 1_100,
      block_hash: '0xhead',
      commitment: 'CONFIRMED',
      _ver: 1,
    },
  ])
  await api.warehouse.insert('eth_tokens', [
    { token_address: TOKENS[0], name: 'Frog', symbol: 'FROG', decimals: 18, _ver: 1 },
  ])
})
after(() => api.stop())

const { read, readAll, codeOf } = createRestReader(() => api)
const page = (path: string) => read<RestPage<TradeDetail>>(path)

const nameOf = (trade: { readonly slot: number; readonly index: number }): string =>
  `0x${trade.slot}-${trade.index}`

const wanted = (keep: (trade: Traded) => boolean): readonly string[] =>
  TRADES.filter(keep).map(nameOf).toReversed()

test('every trade filter returns exactly the matching trades, newest first', async () => {
  const middle = TRADES[45] as Traded
  const cases: readonly (readonly [string, (trade: Traded) => boolean])[] = [
    ['', () => true],
    [`tokenAddress=${TOKENS[1]}`, ({ token }) => token === TOKENS[1]],
    [
      `tokenAddress=${TOKENS[0].toUpperCase().replace('0X', '0x')}`,
      ({ token }) => token === TOKENS[0],
    ],
    [`walletAddress=${WALLETS[1]}`, ({ wallet }) => wallet === WALLETS[1]],
    [
      `walletAddress=${WALLETS[1]}&tokenAddress=${TOKENS[0]}`,
      ({ wallet, token }) => wallet === WALLETS[1] && token === TOKENS[0],
    ],
    [`poolAddress=${POOLS[0]}`, ({ pool }) => pool === POOLS[0]],
    [`transactionsSignature=${nameOf(middle)}`, (trade) => nameOf(trade) === nameOf(middle)],
    ['type=SELL', ({ side }) => side === 'SELL'],
    ['isSuspect=true', ({ suspect }) => suspect],
    [
      `isSuspect=false&tokenAddress=${TOKENS[0]}`,
      ({ suspect, token }) => !suspect && token === TOKENS[0],
    ],
    [`beforeTimestamp=${middle.timeMs}`, ({ timeMs }) => timeMs < middle.timeMs],
    [`afterTimestamp=${middle.timeMs}`, ({ timeMs }) => timeMs > middle.timeMs],
    [`beforeTimestamp=${HEAD_MS / 1_000 - 3_600}`, ({ timeMs }) => timeMs < HEAD_MS - 3_600_000],
    [`beforeBlockHeight=${middle.slot}`, ({ slot }) => slot < middle.slot],
    [`afterBlockHeight=${middle.slot}`, ({ slot }) => slot > middle.slot],
  ]
  for (const [query, keep] of cases) {
    const got = await readAll<TradeDetail>(
      `/v2/trade/eth?limit=17${query === '' ? '' : '&'}${query}`,
    )
    assert.deepEqual(
      got.map(({ transactionSignature }) => transactionSignature),
      wanted(keep),
      query,
    )
    for (const { transactionSignature, isSuspect } of got) {
      const trade = TRADES.find((each) => nameOf(each) === transactionSignature)
      assert.equal(isSuspect, trade?.suspect, transactionSignature)
    }
  }
})

test('a page leads back to the one before it', async () => {
  const first = await page('/v2/trade/eth?limit=10')
  assert.deepEqual([first.hasPrev, first.hasNext], [false, true])
  const second = await page(`/v2/trade/eth?limit=10&cursor=${first.nextCursor}`)
  assert.deepEqual([second.hasPrev, second.hasNext], [true, true])
  const back = await page(`/v2/trade/eth?limit=10&cursor=${second.startCursor}&direction=prev`)
  assert.deepEqual(back.data, first.data)
})

test('a trade has both legs and their value; the quote token sees the other side', async () => {
  const trade = TRADES.findLast(({ token, priceUsd }) => token === TOKENS[0] && priceUsd !== null)
  assert.ok(trade)
  const seen = async (token: string): Promise<TradeDetail | undefined> => {
    const query = `tokenAddress=${token}&transactionsSignature=${nameOf(trade)}`
    return (await page(`/v1/trade/ethereum?${query}`)).data[0]
  }
  const [base, quote] = [await seen(TOKENS[0]), await seen(USDC)]
  assert.deepEqual(
    [base?.chain, base?.tokenName, base?.tokenSymbol, base?.sideTokenSymbol, base?.status],
    ['ethereum', 'Frog', 'FROG', '', 'SUCCEEDED'],
  )
  assert.equal(base?.tokenAmount, String(trade.amountRaw / 10n ** 18n))
  assert.deepEqual([base?.tokenPriceInUsd, base?.tokenAmountInUsd], ['0.5', trade.valueUsd])
  assert.equal(base?.sideTokenAmountInUsd, trade.valueUsd)
  assert.deepEqual([base?.type, quote?.type].toSorted(), ['BUY', 'SELL'])
  assert.deepEqual([quote?.tokenAddress, quote?.sideTokenAddress], [USDC, TOKENS[0]])
  assert.equal(quote?.tokenAmount, base?.sideTokenAmount)
})

test('a trade without a known price has "0" where clients require text', async () => {
  const trade = TRADES.find(({ priceUsd }) => priceUsd === null)
  assert.ok(trade)
  const [body] = (await page(`/v2/trade/eth?transactionsSignature=${nameOf(trade)}`)).data
  assert.deepEqual([body?.tokenPriceInUsd, body?.tokenAmountInUsd], ['0', '0'])
})

interface Totals {
  buys: number
  sells: number
  raw: bigint
}

const totalsOf = (token: string, hours: number): ReadonlyMap<string, Totals> => {
  const wallets = new Map<string, Totals>()
  for (const trade of TRADES) {
    if (trade.token !== token || trade.timeMs <= HEAD_MS - hours * 3_600_000) continue
    const totals = wallets.get(trade.wallet) ?? { buys: 0, sells: 0, raw: 0n }
    totals[trade.side === 'BUY' ? 'buys' : 'sells'] += 1
    totals.raw += trade.amountRaw
    wallets.set(trade.wallet, totals)
  }
  return wallets
}

interface TopTraderBody {
  readonly walletAddress: string
  readonly buyCount: number
  readonly sellCount: number
  readonly tradeCount: number
  readonly tradeAmount: string
}

test('top traders are those of a plain fold, in every window and both orders', async () => {
  for (const [frame, hours] of [
    ['30m', 0.5],
    ['4h', 4],
    ['24h', 24],
  ] as const) {
    for (const direction of ['desc', 'ASC'] as const) {
      const path = `/v2/trade/eth/top-traders?tokenAddress=${TOKENS[0]}&timeFrame=${frame}&sortType=${direction}&limit=2`
      const got = await readAll<TopTraderBody>(path)
      const expected = [...totalsOf(TOKENS[0], hours)]
        .map(([wallet, totals]) => ({ wallet, ...totals }))
        .toSorted((one, other) => Number(one.raw - other.raw) * (direction === 'ASC' ? 1 : -1))
      assert.deepEqual(
        got.map(({ walletAddress, buyCount, sellCount, tradeAmount }) => [
          ...[walletAddress, buyCount, sellCount, tradeAmount],
        ]),
        expected.map(({ wallet, buys, sells, raw }) => [
          wallet,
          buys,
          sells,
          String(raw / 10n ** 18n),
        ]),
        `${frame} ${direction}`,
      )
    }
  }
})

const pnlTrade = (wallet: string, more: object): object => ({
  block_slot: 1,
  block_height: 1,
  event_index: 0,
  token_address: TOKENS[0],
  amount: '1',
  wallet,
  side: 'SELL',
  amount_usd: '10',
  cost_usd: '0',
  position_cost_usd: '0',
  _ver: 1,
  block_time: new Date(HEAD_MS - 3_600_000).toISOString(),
  ...more,
})

test('gainers are sorted by the profit realized in the window, losers in reverse', async () => {
  const day = 86_400_000
  await api.warehouse.insert('eth_wallet_pnl_trades', [
    pnlTrade(WALLETS[0], { realized_usd: '5' }),
    pnlTrade(WALLETS[0], { realized_usd: '2.5', event_index: 1 }),
    pnlTrade(WALLETS[1], { realized_usd: '-3' }),
    pnlTrade(WALLETS[1], {
      realized_usd: '100',
      event_index: 2,
      block_time: new Date(HEAD_MS - 2 * day).toISOString(),
    }),
    pnlTrade(WALLETS[2], { side: 'BUY', realized_usd: '0' }),
  ])
  const path = '/v2/trade/eth/trader-gainers-losers'
  const gainers = await readAll<object>(`${path}?limit=1`)
  assert.deepEqual(gainers, [
    { address: WALLETS[0], chain: 'eth', pnl: '7.5', volume: '20', tradeCount: '2' },
    { address: WALLETS[1], chain: 'eth', pnl: '-3', volume: '10', tradeCount: '1' },
  ])
  const losers = await readAll<object>(`${path}?limit=100&sortType=asc`)
  assert.deepEqual(losers, gainers.toReversed())
  const [week] = await readAll<{ readonly pnl: string }>(`${path}?resolution=7d&limit=1`)
  assert.equal(week?.pnl, '97')
})

test('wrong parameters are reported by name and code', async () => {
  const { nextCursor } = await page('/v2/trade/eth?limit=1')
  assert.deepEqual(await codeOf('/v2/trade/eth?tokenAddress=nonsense'), [400, 40009])
  assert.deepEqual(await codeOf('/v2/trade/eth?walletAddress=nonsense'), [400, 40005])
  assert.deepEqual(await codeOf('/v2/trade/eth?type=HODL'), [400, 40002])
  assert.deepEqual(await codeOf('/v2/trade/eth?limit=101'), [400, 40002])
  assert.deepEqual(await codeOf(`/v2/trade/eth?type=BUY&cursor=${nextCursor}`), [400, 40027])
  assert.deepEqual(await codeOf('/v2/trade/nowhere'), [404, 40405])
  assert.deepEqual(await codeOf('/v2/trade/eth/top-traders'), [400, 40004])
  assert.deepEqual((await page('/v2/trade/sol')).data, [])
})
