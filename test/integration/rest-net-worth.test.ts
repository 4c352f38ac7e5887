/** What wallets hold, held and moved, over REST against a plain fold of the same changes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { NetWorthItem, WalletNetWorthChart } from '../../schemas/api/net-worth.ts'
import type { WalletBalances } from '../../schemas/api/wallet.ts'
import type { BalanceUpdate, WalletTransfer } from '../../schemas/api/wallet-history.ts'
import { type HourWorthRow, hourWorthQuery } from '../../serving/queries/past-net-worth.ts'
import { startApi, type TestApi } from '../support/api-stack.ts'
import {
  addressFromNumber,
  createSeededRandom,
  marketTradeRows,
} from '../support/builders/market-trade.ts'
import { createRestReader, type RestPage } from '../support/rest-reader.ts'

const HOUR_MS = 3_600_000
const HEAD_MS = Date.UTC(2026, 10, 20, 12, 20)
const COIN = '0x0000000000000000000000000000000000000000'
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const [FROG, DUST] = [addressFromNumber(1), addressFromNumber(2)] as const
const TOKENS = [COIN, FROG, DUST] as const
const WALLETS = [addressFromNumber(0xa1), addressFromNumber(0xa2)] as const
const [RICH, OTHER] = WALLETS
const PRICED: Readonly<Record<string, string>> = { [COIN]: WETH, [FROG]: FROG, [DUST]: DUST }
const at = (ms: number): string => new Date(ms).toISOString()

interface Change {
  readonly wallet: string
  readonly token: string
  readonly timeMs: number
  readonly slot: number
  readonly before: number
  readonly after: number
}

/** 120 changes over 30 hours; amounts are whole tokens. */
const makeChanges = (): readonly Change[] => {
  const random = createSeededRandom(3)
  const held = new Map<string, number>()
  return Array.from({ length: 120 }, (_, slot) => {
    const wallet = random() < 0.8 ? RICH : OTHER
    const token = TOKENS[Math.floor(random() * 3)] as string
    const known = held.get(wallet + token) ?? 0
    const next = random() < 0.15 ? 0 : Math.floor(random() * 1_000)
    held.set(wallet + token, next)
    const timeMs = HEAD_MS - (120 - slot) * 15 * 60_000
    return { wallet, token, timeMs, slot, before: known, after: next }
  }).filter((change) => change.before !== change.after)
}

const CHANGES = makeChanges()

interface Quote {
  readonly token: string
  readonly timeMs: number
  readonly price: number
}

/** A price of each priced token every 50 minutes, from before the first change on. */
const QUOTES: readonly Quote[] = [WETH, FROG].flatMap((token, which) =>
  Array.from({ length: 40 }, (_, index) => ({
    token,
    timeMs: HEAD_MS - (40 - index) * 50 * 60_000,
    price: (which === 0 ? 2_000 : 1) + (index % 7) / 4,
  })),
)
const lastPrice = (token: string, beforeMs: number): number | undefined =>
  QUOTES.findLast((quote) => quote.token === PRICED[token] && quote.timeMs < beforeMs)?.price

const units = (amount: number): string => `${amount}${'0'.repeat(18)}`.replace(/^0+(?=\d)/, '')

const lastOf = (wallet: string, token: string, beforeMs = Infinity): number | undefined =>
  CHANGES.findLast(
    (change) => change.wallet === wallet && change.token === token && change.timeMs < beforeMs,
  )?.after

/** Worth at a moment of what was known of the wallet by then; the dust's pool holds too little. */
const worthAt = (wallet: string, endMs: number): number | undefined => {
  const known = [COIN, FROG].flatMap((token) => lastOf(wallet, token, endMs) ?? [])
  if (known.length === 0) return undefined
  return [COIN, FROG].reduce(
    (sum, token) => sum + (lastOf(wallet, token, endMs) ?? 0) * (lastPrice(token, endMs) ?? 0),
    0,
  )
}

let api: TestApi
const { read, readAll, codeOf } = createRestReader(() => api)

const update = ({ wallet, token, timeMs, slot, before, after: next }: Change): object => ({
  block_time: at(timeMs),
  block_slot: slot,
  block_height: slot,
  block_hash: `0x${slot}`,
  tx_hash: `0xu${slot}`,
  tx_index: 1,
  event_index: 2,
  ix_index: 4,
  token_address: token,
  decimals: 18,
  token_account: `${wallet}-${token}`,
  owner: wallet,
  _ver: 1,
  pre_balance: units(before),
  post_balance: units(next),
  owner_balance: units(next),
  pre_balance_usd: '1.5',
  post_balance_usd: '4',
  pre_balance_native: null,
})

before(async () => {
  api = await startApi()
  const { warehouse } = api
  await warehouse.insert('eth_balance_updates', CHANGES.map(update))
  await warehouse.insert(
    'eth_wallet_balances',
    WALLETS.flatMap((wallet) =>
      TOKENS.map((token) => ({
        token_address: token,
        holder: wallet,
        decimals: 18,
        _ver: 1,
        balance: units(lastOf(wallet, token) ?? 0),
        first_seen: at(0),
        last_seen: at(HEAD_MS - 1_000),
      })),
    ),
  )
  await warehouse.insert('eth_token_prices', [
    ...[WETH, FROG].map((token) => ({
      token_address: token,
      price_time: at(HEAD_MS),
      _ver: 1,
      price_usd: QUOTES.findLast((quote) => quote.token === token)?.price,
      price_native: 1,
    })),
    { token_address: DUST, price_time: at(HEAD_MS), price_usd: 3, price_native: null, _ver: 1 },
  ])
  await warehouse.insert('eth_dex_pools', [
    {
      pool_address: addressFromNumber(11),
      token_a: WETH,
      token_b: USDC,
      liquidity_usd: '5000',
      _ver: 1,
    },
    {
      pool_address: addressFromNumber(12),
      token_a: FROG,
      token_b: USDC,
      liquidity_usd: '100',
      _ver: 1,
    },
    {
      pool_address: addressFromNumber(13),
      token_a: DUST,
      token_b: USDC,
      liquidity_usd: '99',
      _ver: 1,
    },
  ])
  await warehouse.insert(
    'eth_dex_trades',
    QUOTES.map((quote, index) =>
      marketTradeRows({
        timeMs: quote.timeMs,
        slot: 500 + index,
        index: 0,
        token: quote.token,
        quote: USDC,
        pool: addressFromNumber(11),
        side: 'BUY',
        amountRaw: 1n,
        priceUsd: quote.price,
        priceNative: 1,
        valueUsd: '1',
        valueNative: '1',
        suspect: false,
      }),
    ),
  )
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

const near = (text: string | undefined, value: number): void =>
  assert.ok(Math.abs(Number(text) - value) < 1e-6, `${text}, expected ${value}`)

interface Worth extends RestPage<NetWorthItem> {
  readonly totalValueInNative: string
  readonly totalValueInUsd: string
  readonly netWorth: string
}

test('net worth of a wallet counts its tokens with a pool, the native token at the price of its wrapped form', async () => {
  for (const wallet of WALLETS) {
    const path = `/v2/wallet/eth/${wallet}/net-worth`
    const items = await readAll<NetWorthItem>(`${path}?limit=1`)
    const held = [COIN, FROG].filter((token) => (lastOf(wallet, token) ?? 0) > 0)
    assert.deepEqual(items.map(({ tokenAddress }) => tokenAddress).toSorted(), held.toSorted())
    const { totalValueInUsd } = await read<Worth>(path)
    near(totalValueInUsd, worthAt(wallet, HEAD_MS) ?? 0)
    near(
      totalValueInUsd,
      items.reduce((sum, { valueInUsd }) => sum + Number(valueInUsd), 0),
    )
  }
})

test('worth in the native token is at one rate, and the native token is worth exactly itself', async () => {
  const rate = lastPrice(COIN, Number.POSITIVE_INFINITY) ?? 0
  const path = `/v2/wallet/eth/${RICH}/net-worth`
  const page = await read<Worth>(path)
  const coin = page.data.find(({ tokenAddress }) => tokenAddress === COIN)
  assert.deepEqual([coin?.priceInNative, coin?.valueInNative], ['1', coin?.amount])
  for (const { priceInUsd, priceInNative } of page.data) {
    near(priceInNative, Number(priceInUsd) / rate)
  }
  near(page.totalValueInNative, Number(page.totalValueInUsd) / rate)
})

test('balances show all tokens that are held, those without a pool as well', async () => {
  const items = await readAll<NetWorthItem>(`/v2/wallet/eth/${RICH}/tokens-balance?limit=2`)
  const held = TOKENS.filter((token) => (lastOf(RICH, token) ?? 0) > 0)
  assert.deepEqual(items.map(({ tokenAddress }) => tokenAddress).toSorted(), held.toSorted())
  for (const { tokenAddress, amount } of items) {
    assert.equal(amount, String(lastOf(RICH, tokenAddress)))
  }
  const values = items.map(({ valueInUsd }) => Number(valueInUsd))
  assert.deepEqual(
    values,
    values.toSorted((one, other) => other - one),
  )
})

test('the wallet balance joins balances, profit and the price change of a day', async () => {
  const traded = { wallet: RICH, first_time: at(1_000), last_time: at(5_000), _ver: 1 }
  await api.warehouse.insert('eth_wallet_token_pnl', [
    {
      ...traded,
      token_address: FROG,
      buys: 2,
      buy_amount: '8',
      buy_amount_usd: '4',
      sells: 1,
      sell_amount: '3',
      sell_amount_usd: '6',
      realized_usd: '4.5',
      total_realized_usd: '4.5',
      position_amount: '5',
      position_cost_usd: '2.5',
      open_time: at(1_000),
      close_time: at(0),
    },
    // No longer held: it counts in the profit alone.
    {
      ...traded,
      token_address: USDC,
      buys: 1,
      buy_amount: '1',
      buy_amount_usd: '1',
      sells: 1,
      sell_amount: '1',
      sell_amount_usd: '3',
      realized_usd: '2',
      total_realized_usd: '2',
      position_amount: '0',
      position_cost_usd: '0',
      open_time: at(0),
      close_time: at(5_000),
    },
  ])
  await api.warehouse.insert(
    'eth_token_stats',
    [
      [FROG, 2, 3],
      [WETH, 4, 3],
    ].map(([token_address, open_usd, close_usd]) => ({
      token_address,
      open_usd,
      close_usd,
      resolution: '24h',
      stat_time: at(HEAD_MS),
      version: 1,
    })),
  )
  const path = `/v1/wallet/eth/${RICH}/balance`
  const whole = await read<WalletBalances>(path)
  const held = await readAll<NetWorthItem>(`/v2/wallet/eth/${RICH}/tokens-balance`)
  assert.deepEqual(
    whole.balances.map(({ tokenAddress, amount, valueInUsd }) => [
      tokenAddress,
      amount,
      valueInUsd,
    ]),
    held.map(({ tokenAddress, amount, valueInUsd }) => [tokenAddress, amount, valueInUsd]),
  )
  near(
    whole.totalBalancesInUsd,
    held.reduce((sum, { valueInUsd }) => sum + Number(valueInUsd), 0),
  )
  const price = QUOTES.findLast(({ token }) => token === FROG)?.price ?? 0
  const open = Math.min(5, lastOf(RICH, FROG) ?? 0)
  const unrealized = open * price - (2.5 * open) / 5
  near(whole.totalProfitInUsd, 4.5 + 2 + unrealized)
  const { balances, ...totals } = await read<WalletBalances>(`${path}?tokenAddress=${FROG}`)
  const frog = whole.balances.find(({ tokenAddress }) => tokenAddress === FROG)
  assert.deepEqual(balances, [frog])
  assert.equal(totals.totalBalancesInUsd, frog?.valueInUsd)
  near(totals.totalProfitInUsd, 4.5 + unrealized)
  near(frog?.unrealizedProfitInUsd, unrealized)
  assert.equal(frog?.averageBuyPriceInUsd, '0.5')
  assert.equal(frog?.priceChangeRatioInUsd24h, '0.5')
  assert.deepEqual([frog?.openTime, frog?.closeTime], [1_000, null])
  const coin = whole.balances.find(({ tokenAddress }) => tokenAddress === COIN)
  assert.deepEqual([coin?.buys, coin?.openTime], ['0', null])
  assert.deepEqual([coin?.name, coin?.symbol], ['Ether', 'ETH'])
  assert.equal(coin?.priceChangeRatioInUsd24h, '-0.25')
})

test('net worth of given tokens, and of several wallets at once', async () => {
  const some = await read<Worth>(
    `/v2/wallet/eth/${RICH}/net-worth/tokens?tokenAddresses=${FROG},${addressFromNumber(99)}`,
  )
  assert.deepEqual(
    some.data.map(({ tokenAddress }) => tokenAddress),
    [FROG],
  )
  near(some.totalValueInUsd, (lastOf(RICH, FROG) ?? 0) * (lastPrice(FROG, HEAD_MS) ?? 0))
  const stranger = addressFromNumber(0xdead)
  const { wallets } = await read<{
    readonly wallets: Readonly<Record<string, { readonly value: string }>>
  }>(`/v2/wallet/eth/net-worth-summary?walletAddresses=${[...WALLETS, stranger].join()}`)
  for (const wallet of WALLETS) near(wallets[wallet]?.value, worthAt(wallet, HEAD_MS) ?? 0)
  assert.equal(wallets[stranger]?.value, '0')
})

test('the net worth chart has the value at the end of each hour since the first balance', async () => {
  for (const [wallet, hours] of [
    [RICH, 24],
    [RICH, 48],
    [OTHER, 720],
  ] as const) {
    const chart = await read<WalletNetWorthChart>(
      `/v2/wallet/eth/${wallet}/net-worth-chart?hours=${hours}`,
    )
    const ends = Array.from({ length: hours }, (_, index) => {
      const back = hours - 1 - index
      return back === 0 ? HEAD_MS : (Math.floor(HEAD_MS / HOUR_MS) - back + 1) * HOUR_MS
    })
    const expected = ends.flatMap((endMs) => worthAt(wallet, endMs) ?? [])
    assert.equal(chart.history.length, expected.length)
    chart.history.forEach(({ netWorth, netWorthChange }, index) => {
      near(netWorth, expected[index] ?? 0)
      const previous = expected[index - 1] ?? expected[index] ?? 0
      near(netWorthChange, (expected[index] ?? 0) - previous)
    })
  }
})

test('hourly net worth of a wallet is computed in the engine, one row per requested hour', async () => {
  const until = Math.floor(HEAD_MS / HOUR_MS)
  for (const since of [until - 719, until - 20, until]) {
    const { rows } = await api.warehouse.query<HourWorthRow>(
      hourWorthQuery('eth', RICH, { since, until }),
    )
    const known = Array.from({ length: until - since + 1 }, (_, index) => since + index)
      .map((hour) => [hour, worthAt(RICH, (hour + 1) * HOUR_MS)] as const)
      .filter(([, worth]) => worth !== undefined)
    assert.deepEqual(
      rows.map(({ hour }) => Number(hour)),
      known.map(([hour]) => hour),
    )
    for (const [index, [, worth]] of known.entries())
      near(String(rows[index]?.value_usd), worth ?? 0)
  }
})

test('net worth details of an hour add up to its point of the chart, in pages', async () => {
  const hour = 9
  const endMs = (Math.floor(HEAD_MS / HOUR_MS) - hour + 1) * HOUR_MS
  const path = `/v2/wallet/eth/${RICH}/net-worth-details?hours=${hour}`
  const { netWorth } = await read<Worth>(path)
  near(netWorth, worthAt(RICH, endMs) ?? 0)
  const items = await readAll<NetWorthItem>(`${path}&limit=1`)
  near(
    netWorth,
    items.reduce((sum, { valueInUsd }) => sum + Number(valueInUsd), 0),
  )
  const live = await read<Worth>(`/v2/wallet/eth/${RICH}/net-worth-details`)
  near(live.netWorth, worthAt(RICH, HEAD_MS) ?? 0)
})

test('balance changes are listed newest first, filtered by token, time, coin and direction', async () => {
  const own = CHANGES.filter(({ wallet }) => wallet === RICH).toReversed()
  const [newest, oldest] = [own[3] as Change, own[20] as Change]
  const cases: readonly (readonly [string, (change: Change) => boolean])[] = [
    ['', () => true],
    [`tokenAddress=${FROG}`, ({ token }) => token === FROG],
    ['type=SOL', ({ token }) => token === COIN],
    ['type=SPL', ({ token }) => token !== COIN],
    ['changeType=INCREASE', (change) => change.after > change.before],
    ['changeType=DECREASE', (change) => change.after < change.before],
    [
      `timeFrom=${oldest.timeMs}&timeTo=${newest.timeMs}`,
      ({ timeMs }) => timeMs >= oldest.timeMs && timeMs <= newest.timeMs,
    ],
  ]
  for (const [query, keep] of cases) {
    const got = await readAll<BalanceUpdate>(
      `/v2/wallet/eth/${RICH}/balance-updates?limit=13${query === '' ? '' : `&${query}`}`,
    )
    assert.deepEqual(
      got.map(({ blockHeight, balanceChange }) => [blockHeight, balanceChange]),
      own.filter(keep).map((change) => [change.slot, String(change.after - change.before)]),
      query,
    )
    assert.deepEqual(
      [got[0]?.balanceChangeInUsd, got[0]?.preBalanceInNative, got[0]?.index],
      ['2.5', '0', 4],
    )
  }
})

test('the first transaction is the first that gave the wallet coins', async () => {
  const stranger = addressFromNumber(0xdead)
  const { wallets } = await read<{ readonly wallets: Readonly<Record<string, object>> }>(
    `/v2/wallet/eth/first-tx?walletAddresses=${[...WALLETS, stranger].join()}`,
  )
  for (const wallet of WALLETS) {
    const first = CHANGES.find(
      (one) => one.wallet === wallet && one.token === COIN && one.after > one.before,
    )
    assert.deepEqual(wallets[wallet], {
      txHash: `0xu${first?.slot}`,
      blockNumber: first?.slot,
      blockTime: first?.timeMs,
      tokenAddress: COIN,
      decimals: 18,
      balanceChange: String((first?.after ?? 0) - (first?.before ?? 0)),
    })
  }
  assert.equal(stranger in wallets, false)
})

const sent = (slot: number, more: object): object => ({
  block_time: at(HEAD_MS - 1_000 * (100 - slot)),
  block_slot: slot,
  block_height: slot,
  tx_hash: `0xt${slot}`,
  tx_index: 0,
  event_index: 1,
  token_address: FROG,
  decimals: 18,
  sender: RICH,
  receiver: OTHER,
  amount: units(slot),
  amount_usd: String(slot * 2),
  success: 1,
  _ver: 1,
  ...more,
})

test('transfers of a wallet by token, time and amount, and their number', async () => {
  await api.warehouse.insert('eth_transfers', [
    sent(1, {}),
    sent(2, { sender: OTHER, receiver: RICH }),
    sent(3, { token_address: DUST }),
    sent(4, { success: 0 }),
    sent(5, { sender: OTHER, receiver: addressFromNumber(7) }),
    sent(6, { amount_usd: null }),
  ])
  const path = `/v2/wallet/eth/${RICH}/transfers`
  const shown = async (query: string) =>
    (await readAll<WalletTransfer>(`${path}?limit=2${query}`)).map(
      ({ transactionSignature, transferType }) => `${transactionSignature} ${transferType}`,
    )
  assert.deepEqual(await shown(''), ['0xt6 SEND', '0xt3 SEND', '0xt2 RECEIVE', '0xt1 SEND'])
  assert.deepEqual(await shown(`&tokenAddress=${DUST}`), ['0xt3 SEND'])
  assert.deepEqual(await shown('&minTokenAmount=2&maxTokenAmount=3'), ['0xt3 SEND', '0xt2 RECEIVE'])
  assert.deepEqual(await shown('&minTokenAmountInUsd=4&maxTokenAmountInUsd=4'), ['0xt2 RECEIVE'])
  assert.deepEqual(await shown(`&fromTimestamp=${HEAD_MS - 97_000}`), ['0xt6 SEND', '0xt3 SEND'])
  const total = `/v1/wallet/eth/${RICH}/transfer-total`
  assert.deepEqual(await read(total), { total: 4 })
  assert.deepEqual(await read(`${total}?toTimestamp=${HEAD_MS - 98_000}`), { total: 2 })
})

test('invalid wallet parameters answer 400 with their code, and a chain without data gives empty results', async () => {
  const path = `/v2/wallet/eth/${RICH}`
  assert.deepEqual(await codeOf(`${path}/net-worth-chart?hours=721`), [400, 40002])
  assert.deepEqual(await codeOf(`${path}/net-worth-details?hours=-1`), [400, 40002])
  assert.deepEqual(await codeOf(`${path}/transfers?minTokenAmount=1e3`), [400, 40002])
  assert.deepEqual(await codeOf('/v2/wallet/eth/first-tx?walletAddresses=nonsense'), [400, 40005])
  const sol = `/v2/wallet/sol/${'1'.repeat(32)}`
  assert.deepEqual((await read<Worth>(`${sol}/net-worth`)).data, [])
  assert.deepEqual((await read<WalletNetWorthChart>(`${sol}/net-worth-chart`)).history, [])
  assert.deepEqual((await read<Worth>(`${sol}/net-worth-details?hours=2`)).data, [])
  assert.deepEqual(await readAll(`${sol}/balance-updates`), [])
  const nothing = { totalBalancesInUsd: '0', totalProfitInUsd: '0', balances: [] }
  assert.deepEqual(await read(`${sol}/balance`), nothing)
  assert.deepEqual(await codeOf(`${path}/balance?tokenAddress=nonsense`), [400, 40009])
  assert.deepEqual(await read(`${sol}/transfer-total`), { total: 0 })
})

test('pages of an hour stay at that hour while the chain continues', async () => {
  const path = `/v2/wallet/eth/${RICH}/net-worth-details?hours=9`
  const whole = await read<Worth>(path)
  const first = await read<Worth>(`${path}&limit=1`)
  assert.equal(first.data.length, 1)
  await api.warehouse.insert('eth_blocks', [
    {
      block_time: at(HEAD_MS + 5 * HOUR_MS),
      block_slot: 1_001,
      block_height: 1_001,
      block_hash: '0xlater',
      commitment: 'CONFIRMED',
      _ver: 1,
    },
  ])
  const second = await read<Worth>(`${path}&limit=1&cursor=${first.nextCursor}`)
  assert.equal(second.netWorth, whole.netWorth)
  assert.deepEqual(
    [...first.data, ...second.data].map(({ tokenAddress }) => tokenAddress),
    whole.data.map(({ tokenAddress }) => tokenAddress),
  )
})
