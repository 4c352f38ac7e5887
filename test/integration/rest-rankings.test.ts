/** Rankings, the list of tokens, look-ups of several, and traders by kind, over REST against plain folds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Token } from '../../schemas/api/token.ts'
import type { TradeDetail } from '../../schemas/api/trade.ts'
import type { TokenTopTrader, TokenTrader } from '../../schemas/api/trader.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber, createSeededRandom } from '../support/builders/market-trade.ts'
import { createRestReader } from '../support/rest-reader.ts'

const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const MINUTE_MS = 60_000
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const at = (ms: number): string => new Date(ms).toISOString()
const WINDOWS = {
  '1m': 'm1',
  '5m': 'm5',
  '15m': 'm15',
  '1h': 'h1',
  '4h': 'h4',
  '24h': 'h24',
} as const

interface Stat {
  readonly buys: number
  readonly sells: number
  readonly buyUsd: number
  readonly sellUsd: number
  readonly open: number
  readonly close: number
}

interface Fact {
  readonly address: string
  readonly index: number
  readonly stats: Readonly<Record<string, Stat>>
  /** Minutes since its statistics moved. */
  readonly ageMinutes: number
}

const makeFacts = (): readonly Fact[] => {
  const random = createSeededRandom(17)
  const whole = (most: number): number => Math.floor(random() * most)
  return Array.from({ length: 30 }, (_, index) => ({
    address: addressFromNumber(index + 1),
    index,
    ageMinutes: index % 5 === 0 ? 180 : 0,
    stats: Object.fromEntries(
      Object.keys(WINDOWS).map((window) => [
        window,
        {
          buys: whole(50),
          sells: whole(50),
          buyUsd: whole(9_000),
          sellUsd: whole(9_000),
          open: 1 + whole(8),
          close: 1 + whole(8),
        },
      ]),
    ),
  }))
}

const FACTS = makeFacts()
/** One token has a name, but no statistics. */
const QUIET = addressFromNumber(900)

let api: TestApi
const { read, readAll, codeOf } = createRestReader(() => api)

before(async () => {
  api = await startApi()
  const { warehouse } = api
  await warehouse.insert('eth_tokens', [
    ...FACTS.map(({ address, index }) => ({
      token_address: address,
      name: `Token ${index}`,
      symbol: `T${index}`,
      decimals: 18,
      created_at: at(HEAD_MS - index * MINUTE_MS),
      created_tx: `0x${index}`,
      _ver: 1,
      launch_family: index % 2 === 0 ? 'pump_fun' : 'raydium_launchlab',
      migrated_at: index % 3 === 0 ? at(HEAD_MS - index * 1_000) : null,
      dev: addressFromNumber(0xde),
    })),
    { token_address: QUIET, name: 'Quiet', symbol: 'Q', decimals: 18, _ver: 1 },
  ])
  await warehouse.insert(
    'eth_token_documents',
    FACTS.filter(({ index }) => index % 4 === 0).map(({ address }) => ({
      token_address: address,
      uri: '',
      description: '',
      fetched_at: at(HEAD_MS),
      social: { twitter: 'https://x.example/t' },
    })),
  )
  await warehouse.insert(
    'eth_token_stats',
    FACTS.flatMap(({ address, stats, ageMinutes }) =>
      Object.entries(stats).map(([resolution, stat]) => ({
        token_address: address,
        resolution,
        version: 1,
        stat_time: at(HEAD_MS - ageMinutes * MINUTE_MS),
        buys: stat.buys,
        sells: stat.sells,
        buyers: stat.buys,
        sellers: stat.sells,
        traders: stat.buys + stat.sells,
        pools: 1,
        programs: 1,
        buy_volume_usd: String(stat.buyUsd),
        sell_volume_usd: String(stat.sellUsd),
        open_usd: stat.open,
        close_usd: stat.close,
        buy_volume: '1',
        sell_volume: '1',
      })),
    ),
  )
  await warehouse.insert(
    'eth_dex_pools',
    FACTS.map(({ address, index }) => ({
      pool_address: addressFromNumber(2_000 + index),
      token_a: address,
      token_b: USDC,
      base_is_a: 1,
      curve_progress: index / 30,
      liquidity_usd: String(index * 10),
      _ver: 1,
    })),
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

const statOf = (fact: Fact, window: string): Stat => fact.stats[window] as Stat
const volumeOf = (fact: Fact, window: string): number =>
  statOf(fact, window).buyUsd + statOf(fact, window).sellUsd
const addresses = (tokens: readonly { readonly address: string }[]): readonly string[] =>
  tokens.map(({ address }) => address)

/** By a number, the largest first; equal ones by address, the larger first, as pages go. */
const ordered = (facts: readonly Fact[], numberOf: (fact: Fact) => number): readonly Fact[] =>
  facts.toSorted(
    (one, other) => numberOf(other) - numberOf(one) || (one.address < other.address ? 1 : -1),
  )

const NUMBERS: readonly (readonly [string, string, (stat: Stat) => number])[] = [
  ['VolumeInUsd', 'volume_in_usd', (stat) => stat.buyUsd + stat.sellUsd],
  ['PriceChangeRatio', 'price_change_ratio', (stat) => stat.close / stat.open - 1],
  ['Buys', 'buys', (stat) => stat.buys],
  ['Sells', 'sells', (stat) => stat.sells],
  ['Trades', 'trades', (stat) => stat.buys + stat.sells],
  ['Buyers', 'buyers', (stat) => stat.buys],
  ['Sellers', 'sellers', (stat) => stat.sells],
  ['BuyVolumeInUsd', 'buy_volume_in_usd', (stat) => stat.buyUsd],
  ['SellVolumeInUsd', 'sell_volume_in_usd', (stat) => stat.sellUsd],
]

test('the list sorts by every number of every window, and its bounds are inclusive', async () => {
  for (const [window, word] of Object.entries(WINDOWS)) {
    for (const [name, bound, numberOf] of NUMBERS) {
      const by = (fact: Fact): number => numberOf(statOf(fact, window))
      const all = await readAll<Token>(`/v2/token/eth/list?limit=100&sortBy=${word}${name}`)
      assert.deepEqual(addresses(all), addresses(ordered(FACTS, by)), `${word}${name}`)
      const middle = by(FACTS[7] as Fact)
      const path = `/v2/token/eth/list?limit=100&min_${word}_${bound}=${middle}&max_${word}_${bound}=${middle}`
      if (name === 'PriceChangeRatio') continue
      const equal = await readAll<Token>(path)
      const expected = FACTS.filter((fact) => by(fact) === middle)
      assert.deepEqual(addresses(equal).toSorted(), addresses(expected).toSorted(), path)
    }
  }
})

test('pages of the list go up as well, and bodies have their statistics', async () => {
  const path = '/v2/token/eth/list?limit=7&sort=ASC&sortBy=h1Buys'
  const tokens = await readAll<Token>(path)
  const expected = ordered(FACTS, (fact) => statOf(fact, '1h').buys).toReversed()
  assert.deepEqual(addresses(tokens), addresses(expected))
  assert.equal(
    tokens[0]?.stats?.periods['1h']?.buys,
    String(statOf(expected[0] as Fact, '1h').buys),
  )
  assert.deepEqual([tokens[0]?.devTotalTokens, tokens[0]?.marketData?.priceInUsd], ['30', null])
  assert.deepEqual(await codeOf('/v2/token/eth/list?sortBy=h2Buys'), [400, 40002])
  assert.deepEqual(await codeOf('/v2/token/eth/list?min_h1_buys=1e2'), [400, 40002])
  assert.deepEqual(await readAll('/v2/token/sol/list'), [])
})

test('the hottest tokens of a window are those that traded in it', async () => {
  for (const [window, minutes] of [
    ['5m', 5],
    ['1h', 60],
    ['24h', 1_440],
  ] as const) {
    const expected = FACTS.filter(
      (fact) =>
        fact.ageMinutes < minutes && statOf(fact, window).buys + statOf(fact, window).sells > 0,
    ).toSorted((one, other) => volumeOf(other, window) - volumeOf(one, window))
    const got = await read<readonly Token[]>(`/v2/ranking/eth/hotTokens/${window}`)
    assert.deepEqual(addresses(got), addresses(expected), window)
  }
  assert.deepEqual(await codeOf('/v2/ranking/eth/hotTokens/2m'), [400, 40002])
})

test('rankings of new, migrated and nearly sold tokens are in their own order', async () => {
  const get = async (path: string) =>
    addresses(await read<readonly Token[]>(`/v2/ranking/eth/${path}`))
  assert.deepEqual(await get('newTokens'), addresses(FACTS))
  assert.deepEqual(await get('newtokens'), addresses(FACTS))
  assert.deepEqual(await get('migrated'), addresses(FACTS.filter(({ index }) => index % 3 === 0)))
  const stretch = FACTS.filter(({ index }) => index % 3 !== 0 && index / 30 >= 0.5)
  assert.deepEqual(await get('finalStretch'), addresses(stretch.toReversed()))
  assert.deepEqual(await get('stocks'), [])
})

test('token rankings are filtered by launch, links, words and ranges, then sorted', async () => {
  const get = async (query: string) =>
    addresses(await read<readonly Token[]>(`/v1/ranking/eth/newTokens?${query}`))
  const keep = (test: (fact: Fact) => boolean) => addresses(FACTS.filter(test))
  assert.deepEqual(
    await get('tag=pump_fun'),
    keep(({ index }) => index % 2 === 0),
  )
  const launchpad = await get('tag=raydium_launchpad')
  assert.deepEqual(
    launchpad,
    keep(({ index }) => index % 2 === 1),
  )
  assert.deepEqual(
    await get('launchpadPlatform=Pumpfun,raydium_launchlab'),
    keep(() => true),
  )
  assert.deepEqual(
    await get('filters=has_twitter'),
    keep(({ index }) => index % 4 === 0),
  )
  assert.deepEqual(await get('filters[]=has_social_media&filters[]=has_github'), [])
  assert.deepEqual(
    await get('searchKeywords=t7,TOKEN%2011'),
    keep(({ index }) => index === 7 || index === 11),
  )
  assert.deepEqual(
    await get('excludeKeywords=2'),
    keep(({ address, index }) => !`${index} ${address}`.includes('2')),
  )
  const range = encodeURIComponent('{"field":"stats.buys1h","min":"10","max":"30"}')
  const within = ({ stats }: Fact) =>
    (stats['1h']?.buys ?? 0) >= 10 && (stats['1h']?.buys ?? 0) <= 30
  assert.deepEqual(await get(`rangeFilters=${range}`), keep(within))
  const sorted = await read<readonly Token[]>(
    '/v2/ranking/eth/newTokens?sortBy=stats.trades1m&sortDirection=asc',
  )
  const trades = sorted.map(({ stats }) => Number(stats?.periods['1m']?.trades))
  assert.deepEqual(
    trades,
    trades.toSorted((one, other) => one - other),
  )
})

test('invalid ranking filters answer 400', async () => {
  const path = '/v2/ranking/eth/newTokens'
  for (const query of [
    'rangeFilters=nonsense',
    `rangeFilters=${encodeURIComponent('{"field":"no.such","min":"1"}')}`,
    `rangeFilters=${encodeURIComponent('{"field":"tokenCreatedAt","min":"1e5"}')}`,
    `rangeFilters=${encodeURIComponent('['.repeat(5_000))}`,
    'filters=has_fax',
    'tag=nobody',
    'sortBy=name',
  ]) {
    assert.deepEqual(await codeOf(`${path}?${query}`), [400, 40002], query)
  }
})

test('the multi-token route filters in both forms and sorts', async () => {
  const wanted = FACTS.slice(0, 6)
  const list = [...addresses(wanted), addressFromNumber(0xffff)].join()
  const get = async (query: string) =>
    addresses(await read<readonly Token[]>(`/v2/token/eth/multi?tokenAddresses=${list}${query}`))
  assert.deepEqual(await get(''), addresses(wanted))
  const least = encodeURIComponent('[{"field":"stats.sells24h","operator":"gte","value":"20"}]')
  const many = wanted.filter((fact) => statOf(fact, '24h').sells >= 20)
  assert.deepEqual(await get(`&filterBy=${least}`), addresses(many))
  const range = encodeURIComponent('{"field":"stats.sells24h","min":"20"}')
  assert.deepEqual(await get(`&filterBy=${range}`), addresses(many))
  const sorted = wanted.toSorted((one, other) => volumeOf(other, '4h') - volumeOf(one, '4h'))
  assert.deepEqual(await get('&sortBy=stats.volumesInUsd4h'), addresses(sorted))
  assert.deepEqual(
    await get('&sortBy=tokenCreatedAt&sortDirection=asc'),
    addresses(wanted.toReversed()),
  )
})

const FROG = addressFromNumber(7_000)
const DEV = addressFromNumber(0xd0)
const wallet = (number: number): string => addressFromNumber(0xf00 + number)

interface Deal {
  readonly wallet: string
  readonly side: 'BUY' | 'SELL'
  readonly slot: number
  readonly tx: number
  readonly more?: object
}

const deal = ({ wallet: owner, side, slot, tx, more }: Deal): object => ({
  block_time: at(HEAD_MS - 3_600_000 + slot * 1_000),
  block_slot: slot,
  block_height: slot,
  tx_hash: `0x${slot}-${tx}`,
  tx_index: tx,
  event_index: tx,
  tx_status: 'SUCCESS',
  pool_address: addressFromNumber(3_000),
  buy_owner: owner,
  sell_owner: owner,
  _ver: 1,
  ...(side === 'BUY'
    ? { buy_token: FROG, sell_token: USDC, base_is_buy: 1, buy_amount_usd: '5' }
    : { buy_token: USDC, sell_token: FROG, base_is_buy: 0, sell_amount_usd: '5' }),
  buy_amount: '10',
  sell_amount: '10',
  buy_decimals: 0,
  sell_decimals: 0,
  ...more,
})

test('traders by kind: makers, snipers, bundles and sandwiches', async () => {
  await api.warehouse.insert('eth_tokens', [
    { token_address: FROG, name: 'Frog', symbol: 'FROG', decimals: 0, dev: DEV, _ver: 1 },
  ])
  const deals: readonly Deal[] = [
    { wallet: DEV, side: 'BUY', slot: 100, tx: 0 },
    { wallet: wallet(1), side: 'BUY', slot: 105, tx: 0 },
    { wallet: wallet(2), side: 'BUY', slot: 110, tx: 0 },
    { wallet: wallet(3), side: 'BUY', slot: 111, tx: 0 },
    { wallet: wallet(4), side: 'BUY', slot: 200, tx: 1 },
    { wallet: wallet(5), side: 'BUY', slot: 200, tx: 2 },
    { wallet: wallet(4), side: 'SELL', slot: 200, tx: 3 },
    { wallet: wallet(6), side: 'BUY', slot: 201, tx: 1 },
    { wallet: wallet(6), side: 'SELL', slot: 201, tx: 2 },
    {
      wallet: wallet(7),
      side: 'BUY',
      slot: 202,
      tx: 1,
      more: { bundle_source: 'jito', is_suspect: 1 },
    },
  ]
  await api.warehouse.insert('eth_dex_trades', deals.map(deal))
  const get = (tag: string) => readAll<TokenTrader>(`/v2/token/eth/${FROG}/traders/${tag}?limit=1`)
  assert.deepEqual(addresses(await get('dev')), [DEV])
  const snipers = await get('sniper')
  assert.deepEqual(addresses(snipers), [wallet(1), wallet(2)])
  assert.deepEqual(
    [snipers[0]?.transactionSignature, snipers[0]?.blockTimestamp],
    ['0x105-0', '2026-11-20 11:01:45.000000+00:00'],
  )
  assert.deepEqual(addresses(await get('bundle')), [wallet(7)])
  assert.deepEqual(addresses(await get('sandwish')), [wallet(4)])
  assert.deepEqual(addresses(await get('sandwich')), [wallet(4)])
  assert.deepEqual(await get('kol'), [])
  const pros = await get('pro')
  assert.deepEqual(addresses(pros), [wallet(6), wallet(4)])
  const [pro] = pros
  assert.deepEqual(
    [pro?.tradeCount, pro?.tradeAmountInUsd, pro?.percentileRankTradeCount],
    [2, '10', 100],
  )
  assert.deepEqual(await codeOf(`/v2/token/eth/${FROG}/traders/nobody`), [400, 40002])
})

test('activities are trades and changes of liquidity, narrowed and sorted', async () => {
  const event = (slot: number, event_type: string, more: object = {}): object => ({
    block_time: at(HEAD_MS - 3_600_000 + slot * 1_000),
    block_slot: slot,
    block_height: slot,
    tx_hash: `0xp${slot}`,
    tx_index: 9,
    event_index: 9,
    event_type,
    lp_wallet: wallet(8),
    pool_address: addressFromNumber(3_000),
    base_token: FROG,
    base_decimals: 0,
    base_change: '20',
    quote_token: USDC,
    quote_decimals: 0,
    quote_change: '10',
    base_price_usd: 0.5,
    quote_price_usd: 1,
    tx_status: 'SUCCESS',
    _ver: 1,
    ...more,
  })
  await api.warehouse.insert('eth_dex_pool_events_enriched', [
    event(99, 'INITIALIZE'),
    event(150, 'INCREASE_LIQUIDITY'),
    event(151, 'SWAP'),
    event(203, 'DECREASE_LIQUIDITY', { base_change: '-4', quote_change: '-2' }),
  ])
  const path = `/v2/trade/eth/activities?limit=3&tokenAddress=${FROG}`
  const all = await readAll<TradeDetail>(path)
  assert.equal(all.length, 13)
  const [newest] = all
  assert.deepEqual(
    [newest?.type, newest?.tokenAmount, newest?.sideTokenAmount, newest?.tokenAmountInUsd],
    ['LIQUIDITY_REMOVE', '4', '2', '4'],
  )
  assert.equal(newest?.accountOwnerAddress, wallet(8))
  const upwards = await readAll<TradeDetail>(`${path}&sortBy=timestampAsc`)
  assert.deepEqual(upwards, all.toReversed())
  const signatures = async (query: string) =>
    (await readAll<TradeDetail>(`${path}${query}`)).map((one) => one.transactionSignature)
  assert.deepEqual(await signatures('&type=LIQUIDITY_ADD'), ['0xp150'])
  assert.ok(all.every(({ type, isSuspect }) => (isSuspect === null) === type.startsWith('LIQ')))
  const trusted = all.filter(({ isSuspect }) => isSuspect === false)
  assert.equal(trusted.length, 9)
  assert.deepEqual(await signatures('&isSuspect=true'), ['0x202-1'])
  assert.deepEqual(
    await signatures('&isSuspect=false'),
    trusted.map((one) => one.transactionSignature),
  )
  assert.deepEqual(await signatures('&minAmountUsd=20'), ['0xp150', '0xp99'])
  assert.deepEqual(await signatures('&sortBy=totalUsd&maxAmountUsd=20&minAmountUsd=4.5'), [
    ...['0xp150', '0xp99', '0x202-1', '0x201-2', '0x201-1', '0x200-3', '0x200-2', '0x200-1'],
    ...['0x111-0', '0x110-0', '0x105-0', '0x100-0'],
  ])
  assert.deepEqual(await signatures(`&maker=${wallet(4)}`), ['0x200-3', '0x200-1'])
  assert.deepEqual(await signatures('&traderTags=sniper,dev'), ['0x110-0', '0x105-0', '0x100-0'])
  const quote = await readAll<TradeDetail>(
    `/v2/trade/eth/activities?tokenAddress=${USDC}&type=LIQUIDITY_ADD`,
  )
  assert.deepEqual([quote[0]?.tokenAddress, quote[0]?.tokenAmount], [USDC, '10'])
  assert.deepEqual(await readAll('/v2/trade/eth/activities?traderTags=dev'), [])
})

test('traders of a token by what it brought them', async () => {
  const row = (number: number, realized: string, more: object = {}): object => ({
    wallet: wallet(number),
    token_address: FROG,
    buys: 3,
    sells: 1,
    wins: 1,
    losses: 0,
    buy_amount: '100',
    sell_amount: '40',
    buy_amount_usd: '50',
    sell_amount_usd: '30',
    total_realized_usd: realized,
    realized_usd: realized,
    position_amount: '60',
    _ver: 1,
    position_cost_usd: '30',
    open_time: at(HEAD_MS),
    close_time: at(0),
    first_time: at(HEAD_MS - number * 1_000),
    last_time: at(HEAD_MS + number * 1_000),
    ...more,
  })
  await api.warehouse.insert('eth_wallet_token_pnl', [
    row(1, '10'),
    row(2, '-5', { buy_amount_usd: '500' }),
    row(3, '200', { position_amount: '0', position_cost_usd: '0', close_time: at(HEAD_MS) }),
  ])
  await api.warehouse.insert('eth_token_holders', [
    { token_address: FROG, holder: wallet(1), decimals: 0, balance: '30', _ver: 1 },
  ])
  await api.warehouse.insert('eth_token_prices', [
    { token_address: FROG, price_time: at(HEAD_MS), price_usd: 2, price_native: 1, _ver: 1 },
  ])
  const path = `/v2/token/eth/${FROG}/topTraders`
  const get = async (query: string) =>
    (await readAll<TokenTopTrader>(`${path}?limit=1${query}`)).map(
      ({ walletAddress }) => walletAddress,
    )
  assert.deepEqual(await get(''), [wallet(3), wallet(2), wallet(1)])
  assert.deepEqual(await get('&sortBy=buyVolume'), [wallet(2), wallet(3), wallet(1)])
  assert.deepEqual(await get('&sortBy=createdAt&sortDirection=asc'), [
    wallet(3),
    wallet(2),
    wallet(1),
  ])
  assert.deepEqual(await get('&tag=sniper'), [wallet(2), wallet(1)])
  const [first] = (await readAll<TokenTopTrader>(path)).filter(
    (one) => one.walletAddress === wallet(1),
  )
  assert.deepEqual(
    [
      first?.amount,
      first?.amountInUsd,
      first?.cost,
      first?.unrealizedPnlInUsd,
      first?.totalPnlInUsd,
    ],
    ['30', '60', '15', '45', '55'],
  )
  assert.deepEqual(
    [first?.roi, first?.sellAmountPercentage, first?.isClosed],
    ['1.1', '0.4', false],
  )
})

test('rankings answer a list or a typed error for hostile parameters', async () => {
  const rankings = ['newTokens', 'finalStretch', 'migrated', 'stocks', 'hotTokens/1h']
  const far = JSON.stringify({ field: 'tokenCreatedAt', min: '9'.repeat(40) })
  const many = JSON.stringify(Array.from({ length: 65 }, () => ({ field: 'tokenCreatedAt' })))
  const cases: readonly (readonly [parameter: string, value: string, status: number])[] = [
    ['sortBy', '__proto__', 400],
    ['sortDirection', 'constructor', 400],
    ['tag', 'toString', 400],
    ['filters', '__proto__', 400],
    ['launchpadPlatform', '__proto__,constructor', 200],
    ['searchKeywords', '\u{1F600}%_\\', 200],
    ['rangeFilters', far, 200],
    ['rangeFilters', many, 400],
    ['rangeFilters', '{"field":"__proto__"}', 400],
    ['rangeFilters', '['.repeat(2_000), 400],
  ]
  for (const ranking of rankings) {
    for (const [parameter, value, status] of cases) {
      const path = `/v2/ranking/eth/${ranking}?${parameter}=${encodeURIComponent(value)}`
      const answer = await callApi(api, path)
      assert.equal(answer.status, status, `${path}: ${answer.text.slice(0, 300)}`)
      if (status === 200) assert.ok((answer.body as readonly unknown[]).length <= 100)
    }
  }
})
