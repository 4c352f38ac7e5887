import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ApiResponse, callApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'
import {
  assertProblem,
  list,
  record,
  SINCE_MS,
  startTokenApi,
  token,
} from '../support/token-api.ts'

let api: TestApi
before(async () => {
  api = await startTokenApi()
})
after(() => api.stop())

const search = (query: string): Promise<ApiResponse> => callApi(api, `/v2/token/search?${query}`)
const symbols = async (query: string): Promise<unknown[]> =>
  list(await search(query)).map(({ symbol }) => symbol)

test('a token detail has every known field, and null elsewhere', async () => {
  const answer = await callApi(api, `/v1/token/eth/${addressFromNumber(1)}`)
  assert.equal(answer.status, 200, answer.text)
  const { marketData, extra, extension, socialMedias, ...rest } = record(answer.body)
  assert.deepEqual(rest, {
    address: addressFromNumber(1),
    chain: 'eth',
    name: 'Pepe',
    symbol: 'PEPE',
    decimals: 18,
    description: 'A frog',
    imageUrl: 'https://gate.example/ipfs/frog',
    uri: 'ipfs://frog',
    metadataAddress: null,
    coingeckoCoinId: null,
    tokenCreatedAt: SINCE_MS,
    tokenCreatedBlockHeight: '7',
    tokenCreatedSlot: '7',
    tokenCreatedTxSignature: '0xfeed',
    tokenCreators: [{ address: addressFromNumber(77), share: 100, isVerified: true }],
    devTotalTokens: null,
    devLastTokenCreatedAt: null,
    market: null,
    stats: null,
    security: null,
    score: null,
    scoreBreakdown: null,
    tier: null,
    warningBadge: null,
  })
  assert.deepEqual(extra, extension)
  assert.equal(record(extra).tokenStandard, 'erc20')
  assert.equal(record(socialMedias).twitter, 'https://x.example/pepe')
  const known = Object.entries(record(marketData)).filter(([, value]) => value !== null)
  assert.deepEqual(Object.fromEntries(known), {
    priceInUsd: '0.25',
    priceInNative: '0.00005',
    priceInSol: '0.00005',
    totalSupply: '1000',
    circulatingSupply: '1000',
    marketCapInUsd: '250',
    marketCapInSol: '0.05',
    fdvInUsd: '250',
    fdvInSol: '0.05',
    totalTvlInUsd: '3000.5',
    totalTvlInSol: '3000.5',
    maxPoolTvlInUsd: '2000.5',
    maxPoolTvlInSol: '2000.5',
  })
})

test('a search result has description and image of the token document', async () => {
  const [found, other] = list(await search('keyword=PEPE&chain=eth'))
  assert.deepEqual(
    [found?.address, found?.description, found?.imageUrl],
    [addressFromNumber(1), 'A frog', 'https://gate.example/ipfs/frog'],
  )
  assert.deepEqual([other?.description, other?.imageUrl], [null, null])
})

test('unknown fields of a token are null, but for text and decimals, which clients require', async () => {
  const { body } = await callApi(api, `/v2/token/eth/${addressFromNumber(9)}`)
  const { symbol, name, decimals, marketData, tokenCreatedAt, description } = record(body)
  assert.deepEqual([symbol, name, decimals, tokenCreatedAt, description], ['', '', 0, null, null])
  assert.ok(Object.values(record(marketData)).every((value) => value === null))
})

test('both prefixes answer, addresses ignore case, the chain is echoed as it was written', async () => {
  const upper = `0x${addressFromNumber(0xabc).slice(2).toUpperCase()}`
  await api.warehouse.insert('eth_tokens', [token(0xabc, 'CASE', 'Case')])
  const answers = await Promise.all(
    ['/v1/token/eth', '/v2/token/eth', '/v2/token/ethereum'].map((path) =>
      callApi(api, `${path}/${upper}`),
    ),
  )
  const bodies = answers.map(({ body }) => record(body))
  assert.deepEqual(
    bodies.map(({ address, chain }) => [address, chain]),
    [
      [addressFromNumber(0xabc), 'eth'],
      [addressFromNumber(0xabc), 'eth'],
      [addressFromNumber(0xabc), 'ethereum'],
    ],
  )
})

test('search ranks address, symbol, name, beginning, anywhere; liquidity decides between equals', async () => {
  assert.deepEqual(
    list(await search('keyword=pepe')).map(({ address, score }) => [address, score]),
    [
      [addressFromNumber(1), 4],
      [addressFromNumber(2), 4],
      [addressFromNumber(4), 3],
      [addressFromNumber(3), 2],
      [addressFromNumber(5), 1],
    ],
  )
  assert.deepEqual(
    await symbols(`keyword=${addressFromNumber(5).toUpperCase().replace('X', 'x')}`),
    ['XPEPE'],
  )
  assert.deepEqual(await symbols('q=XPEPE'), ['XPEPE'])
  assert.deepEqual(await symbols('keyword=old&q=PEPE'), ['OLD'])
})

test('wildcard characters of a search are matched as plain text', async () => {
  assert.deepEqual(await symbols('keyword=100%25'), ['100%'])
  assert.deepEqual(await symbols('keyword=per_cent'), ['100%'])
  assert.deepEqual(
    await symbols(`keyword=${encodeURIComponent("'; DROP TABLE eth_tokens --\\")}`),
    [],
  )
})

test('chains and protocols narrow a search; a chain without data is empty', async () => {
  assert.deepEqual(await symbols('chain=sol&keyword=pepe'), [])
  assert.equal((await symbols('chain=ethereum&keyword=pepe')).length, 5)
  for (const chains of ['chains=sol,eth', 'chains=sol&chains=eth', 'chains[]=sol&chains[]=eth']) {
    assert.equal((await symbols(`${chains}&keyword=pepe`)).length, 5, chains)
  }
  assert.equal(list(await search('chain=ethereum&keyword=old'))[0]?.chain, 'ethereum')
  assert.deepEqual(await symbols('protocols=UniswapV3'), ['PEPE2'])
  assert.deepEqual((await symbols('protocols=uniswap_v2,Uniswap_V3&keyword=pepe')).length, 3)
  assert.deepEqual(await symbols('protocols=unheard_of'), [])
})

test('a search can be sorted; unknown values are last in both orders', async () => {
  assert.deepEqual((await symbols('sortBy=liquidityInUsd&limit=3')).slice(0, 3), [
    'PEPE',
    'PEPE',
    'PEPE2',
  ])
  assert.deepEqual((await symbols('sortBy=liquidityInUsd&sort=ASC&limit=3')).slice(0, 3), [
    'PEPE2',
    'PEPE',
    'PEPE',
  ])
  for (const sortBy of ['priceInUsd', 'marketCapInUsd', 'h24VolumeInUsd', 'h24Transactions']) {
    assert.deepEqual((await symbols(`sortBy=${sortBy}&limit=1`))[0], 'PEPE', sortBy)
  }
  const created = list(await search('sortBy=tokenCreatedAt&sort=asc&limit=100&keyword=bulk'))
  const times = created.map(({ tokenCreatedAt }) => tokenCreatedAt)
  assert.equal(times.length, 45)
  const known = times.filter((time) => time !== null).map(Number)
  assert.deepEqual(
    known,
    known.toSorted((left, right) => left - right),
  )
  assert.ok(times.slice(0, known.length).every((time) => time !== null))
})

for (const query of [
  'keyword=bulk',
  'keyword=bulk&sortBy=tokenCreatedAt',
  'keyword=many&sortBy=tokenCreatedAt&sort=asc',
  'keyword=bulk&sortBy=holderCount',
]) {
  test(`pages of ${query} show every token once, forwards and backwards`, async () => {
    const whole = list(await search(`${query}&limit=100`)).map(({ address }) => address)
    assert.equal(new Set(whole).size, 45)
    const forwards: unknown[] = []
    const pages: Record<string, unknown>[] = []
    for (let cursor = ''; ; ) {
      const answer = await search(`${query}&limit=7${cursor && `&cursor=${cursor}`}`)
      const page = record(answer.body)
      forwards.push(...list(answer).map(({ address }) => address))
      assert.deepEqual(page.data, page.items)
      assert.equal(page.hasPrev, pages.length > 0)
      assert.equal(page.hasMore, page.hasNext)
      assert.equal(page.nextCursor, page.hasNext ? page.endCursor : '')
      pages.push(page)
      assert.ok(pages.length <= 7, 'the pages do not end')
      if (!page.hasMore) break
      cursor = String(page.nextCursor)
    }
    assert.deepEqual(forwards, whole)
    assert.equal(pages.length, 7)
    const backwards: unknown[] = [
      ...list(await search(`${query}&limit=7&cursor=${pages[5]?.endCursor}`)),
    ].map(({ address }) => address)
    for (let cursor = String(pages[6]?.startCursor); ; ) {
      const answer = await search(`${query}&limit=7&direction=prev&cursor=${cursor}`)
      const page = record(answer.body)
      backwards.unshift(...list(answer).map(({ address }) => address))
      assert.equal(page.hasNext, true)
      assert.ok(backwards.length <= 45, 'the pages do not end')
      if (!page.hasPrev) break
      cursor = String(page.startCursor)
    }
    assert.deepEqual(backwards, whole)
  })
}

test('a cursor of another search or an invalid cursor answers 400', async () => {
  const { endCursor } = record((await search('keyword=bulk&limit=1')).body)
  assert.equal((await search(`keyword=bulk&limit=1&cursor=${endCursor}`)).status, 200)
  const wrong = [
    `keyword=many&cursor=${endCursor}`,
    `keyword=bulk&sortBy=priceInUsd&cursor=${endCursor}`,
    'keyword=bulk&cursor=nonsense',
    'keyword=bulk&cursor=',
    `keyword=bulk&cursor=${'A'.repeat(1_025)}`,
    `keyword=bulk&cursor=${String(endCursor).slice(0, -4)}`,
  ]
  for (const query of wrong) assertProblem(await search(query), { status: 400, code: 40027 })
})
