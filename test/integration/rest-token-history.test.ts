/** What happened to one token, what it is, and the chains around it, over REST. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Dex } from '../../schemas/api/chain.ts'
import type { DevToken } from '../../schemas/api/dev-token.ts'
import type { TokenMetadata } from '../../schemas/api/token.ts'
import type { TokenMintBurn, TokenPrice, TokenTransfer } from '../../schemas/api/token-history.ts'
import { isVenue, PROTOCOLS } from '../../schemas/protocols.ts'
import { startApi, type TestApi } from '../support/api-stack.ts'
import {
  addressFromNumber,
  createSeededRandom,
  type MarketTrade,
  marketTradeRows,
} from '../support/builders/market-trade.ts'
import { createRestReader, type RestPage } from '../support/rest-reader.ts'

const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const [TOKEN, OTHER, UNSEEN, DEV] = [1, 2, 3, 9].map(addressFromNumber) as [
  string,
  string,
  string,
  string,
]
const at = (ms: number): string => new Date(ms).toISOString()

const makeTrades = (): readonly MarketTrade[] => {
  const random = createSeededRandom(11)
  return Array.from({ length: 60 }, (_, index) => ({
    timeMs: HEAD_MS - (60 - index) * 20_000,
    slot: 500 + index,
    index: 0,
    token: TOKEN,
    quote: USDC,
    pool: addressFromNumber(101),
    side: 'BUY' as const,
    amountRaw: 10n ** 18n,
    priceUsd: random() < 0.15 ? null : 1 + random(),
    priceNative: 0.0004,
    valueUsd: '1',
    valueNative: '0.0004',
    suspect: random() < 0.15,
  }))
}
const TRADES = makeTrades()
const counts = TRADES.filter(({ priceUsd, suspect }) => priceUsd !== null && !suspect)

const supply = (slot: number, event_type: string, units: bigint, more: object = {}): object => ({
  block_time: at(HEAD_MS - 1_000 * (900 - slot)),
  block_slot: slot,
  block_height: slot,
  tx_hash: `0xs${slot}`,
  tx_index: 1,
  event_index: 2,
  token_address: TOKEN,
  decimals: 18,
  event_type,
  amount: String(units * 10n ** 18n),
  _ver: 1,
  ...more,
})
const transfer = (slot: number, more: object = {}): object => ({
  block_time: at(HEAD_MS - 1_000 * (900 - slot)),
  block_slot: slot,
  block_height: slot,
  tx_hash: `0xt${slot}`,
  tx_index: 1,
  event_index: 3,
  token_address: TOKEN,
  decimals: 18,
  sender: addressFromNumber(21),
  receiver: addressFromNumber(22),
  amount: String(5n * 10n ** 17n),
  amount_usd: '0.6',
  success: 1,
  _ver: 1,
  ...more,
})
const token = (address: string, slot: number, more: object = {}): object => ({
  token_address: address,
  name: 'Frog',
  symbol: 'FROG',
  decimals: 18,
  dev: DEV,
  _ver: 1,
  created_at: at(HEAD_MS - slot),
  created_slot: slot,
  created_tx: `0xc${slot}`,
  ...more,
})

let api: TestApi
const { read, readAll, codeOf } = createRestReader(() => api)

before(async () => {
  api = await startApi()
  const { warehouse } = api
  await warehouse.insert(
    'eth_dex_trades',
    TRADES.map((trade) => marketTradeRows(trade)),
  )
  await warehouse.insert('eth_token_supplies', [
    supply(700, 'INITIALIZE_MINT', 0n),
    supply(701, 'MINT', 1_000n),
    supply(702, 'BURN', 10n),
    supply(703, 'BURN', 7n),
    supply(703, 'BURN', 7n, { _ver: 2, _del: 1 }),
    supply(704, 'MINT', 3n, { decimals: null }),
  ])
  await warehouse.insert('eth_transfers', [
    transfer(800, { sender: '0x0000000000000000000000000000000000000000' }),
    transfer(801),
    transfer(802, { success: 0, amount_usd: null }),
    transfer(803, { token_address: OTHER }),
  ])
  await warehouse.insert('eth_tokens', [
    token(TOKEN, 500),
    token(OTHER, 499, { name: '', symbol: '', decimals: null }),
    token(UNSEEN, 0, { dev: '', created_at: at(0), created_tx: '' }),
  ])
  await warehouse.insert('eth_blocks', [
    {
      block_time: at(HEAD_MS - 500),
      block_slot: 500,
      block_height: 500,
      block_hash: '0xb500',
      commitment: 'CONFIRMED',
      _ver: 1,
      base_fee: '900',
    },
    ...[30, 1, 2, null].map((fee, index) => ({
      block_time: at(HEAD_MS - 100 + index),
      block_slot: 800 + index,
      block_height: 800 + index,
      block_hash: `0xb${800 + index}`,
      base_fee: '800',
      priority_fee: fee === null ? null : String(fee),
      commitment: 'CONFIRMED',
      _ver: 1,
    })),
    {
      block_time: at(HEAD_MS),
      block_slot: 901,
      block_height: 901,
      block_hash: '0xhead',
      base_fee: '1000',
      priority_fee: '7',
      commitment: 'CONFIRMED',
      _ver: 1,
    },
  ])
})
after(() => api.stop())

test('the price at a time is that of the last trade at or before it that is not suspect', async () => {
  for (const trade of TRADES) {
    const known = counts.findLast(({ timeMs }) => timeMs <= trade.timeMs)
    const path = `/v2/token/eth/${TOKEN}/price?timestamp=${trade.timeMs}`
    if (known === undefined) assert.deepEqual(await codeOf(path), [404, 40402])
    else {
      const { timestamp, priceInUsd, priceInSol } = await read<TokenPrice>(path)
      assert.deepEqual(
        [timestamp, Number(priceInUsd), priceInSol],
        [known.timeMs, known.priceUsd, '0.0004'],
      )
    }
  }
  const now = await read<TokenPrice>(`/v1/token/eth/${TOKEN}/price`)
  assert.equal(now.timestamp, counts.at(-1)?.timeMs)
})

test('price history has the last price of each minute, newest first', async () => {
  const closes = new Map<number, number | null>()
  for (const { timeMs, priceUsd } of counts)
    closes.set(Math.floor(timeMs / 60_000) * 60_000, priceUsd)
  const got = await readAll<TokenPrice>(`/v2/token/eth/${TOKEN}/prices?limit=7`)
  assert.deepEqual(
    got.map(({ timestamp, priceInUsd }) => [timestamp, Number(priceInUsd)]),
    [...closes].toReversed(),
  )
})

test('the creation names the block that made the token; one that was not seen has none', async () => {
  assert.deepEqual(await read(`/v2/token/eth/${TOKEN}/creation`), {
    tokenAddress: TOKEN,
    blockHeight: 500,
    blockSlot: 500,
    blockHash: '0xb500',
    blockTimestamp: HEAD_MS - 500,
    transactionSignature: '0xc500',
    type: 'create',
  })
  assert.deepEqual(await codeOf(`/v2/token/eth/${UNSEEN}/creation`), [404, 404])
  assert.deepEqual(await codeOf(`/v2/token/sol/${'1'.repeat(32)}/creation`), [404, 404])
})

test('mints and burns are listed newest first and by type, without reverted ones', async () => {
  const path = `/v2/token/eth/${TOKEN}/mintAndBurn`
  const shown = (rows: readonly TokenMintBurn[]) =>
    rows.map(({ mintBurnType, amount, blockHeight }) => [mintBurnType, amount, blockHeight])
  assert.deepEqual(shown(await readAll(`${path}?limit=1`)), [
    ['mint', '0', 704],
    ['burn', '10', 702],
    ['mint', '1000', 701],
  ])
  assert.deepEqual(shown(await readAll(`${path}?type=burn`)), [['burn', '10', 702]])
  const lower = await readAll<TokenMintBurn>(`/v1/token/eth/${TOKEN}/mintandburn?type=mint`)
  assert.equal(lower.length, 2)
})

test('token transfers are listed newest first within inclusive bounds, and counted within exclusive ones', async () => {
  const path = `/v2/token/eth/${TOKEN}/transfers`
  const all = await readAll<TokenTransfer>(`${path}?limit=2`)
  assert.deepEqual(
    all.map(({ id, amount, amountInUsd, type, status }) => [id, amount, amountInUsd, type, status]),
    [
      ['0xt802:3', '0.5', null, 'out', 'failed'],
      ['0xt801:3', '0.5', '0.6', 'out', 'succeeded'],
      ['0xt800:3', '0.5', '0.6', 'in', 'succeeded'],
    ],
  )
  const [newest, middle, oldest] = all.map(({ blockTimestamp }) => blockTimestamp)
  const within = await readAll<TokenTransfer>(
    `${path}?fromTimestamp=${middle}&toTimestamp=${newest}`,
  )
  assert.equal(within.length, 2)
  const total = async (query: string) => read(`/v2/token/eth/${TOKEN}/transfer-total${query}`)
  assert.deepEqual(await total(''), { total: 3 })
  const between = `?afterTimestamp=${oldest}&beforeTimestamp=${newest}`
  assert.deepEqual(await total(between), { total: 1 })
})

test('token metadata has name, decimals and the number of tokens of its creator', async () => {
  const body = await read<TokenMetadata>(`/v2/token/eth/${TOKEN}/metadata`)
  assert.deepEqual(
    [body.name, body.decimals, body.devTotalTokens, body.devLastTokenCreatedAt],
    ['Frog', '18', '2', '2026-11-20 11:59:59.501000+00:00'],
  )
  const unknown = addressFromNumber(77)
  const many = await read<Readonly<Record<string, TokenMetadata>>>(
    `/v2/token/ethereum/metadata/multi?tokenAddresses=${TOKEN},${unknown},${OTHER}`,
  )
  assert.deepEqual(Object.keys(many).toSorted(), [TOKEN, OTHER].toSorted())
  assert.deepEqual([many[TOKEN]?.chain, many[OTHER]?.decimals], ['ethereum', '0'])
  assert.deepEqual(await codeOf(`/v2/token/eth/${unknown}/metadata`), [404, 404])
  const none = `/v2/token/sol/metadata/multi?tokenAddresses=${'1'.repeat(32)}`
  assert.deepEqual(await read(none), {})
})

test('the tokens of a creator are listed newest first, with their statistics', async () => {
  const made = await readAll<DevToken>(`/v2/token/eth/dev/${DEV}/tokens?limit=1`)
  assert.deepEqual(
    made.map(({ address, metadata, stats }) => [address, metadata.name, stats.periods]),
    [
      [OTHER, '', {}],
      [TOKEN, 'Frog', {}],
    ],
  )
  assert.equal(made[1]?.marketData.priceInUsd, String(counts.at(-1)?.priceUsd))
})

test('the chain list has name, symbol and id, and the latest block of each chain', async () => {
  assert.deepEqual(await read('/v2/blockchain'), [
    { name: 'Ethereum', symbol: 'ETH', chainId: 1, explorerUrl: 'https://etherscan.io' },
  ])
  assert.deepEqual(await read('/v2/blockchain/eth/latest_block'), {
    blockhash: '0xhead',
    lastValidBlockHeight: 901,
  })
  assert.deepEqual(await codeOf('/v2/blockchain/sol/latest_block'), [404, 404])
  assert.deepEqual(await codeOf('/v2/blockchain/mars/latest_block'), [404, 40405])
})

test('a gas price is the newest base fee plus the median priority fee of the blocks that have one', async () => {
  const gasPrice = `0x${(1_000 + 2).toString(16)}`
  assert.deepEqual(await read('/v2/transaction/eth/gas-price'), { gasPrice, chain: 'eth' })
  const named = { gasPrice, chain: 'ethereum' }
  assert.deepEqual(await read('/v1/transaction/ethereum/gas-price'), named)
  for (const chain of ['sol', 'bsc'])
    assert.deepEqual(await codeOf(`/v2/transaction/${chain}/gas-price`), [400, 50008])
  assert.deepEqual(await codeOf('/v2/transaction/mars/gas-price'), [404, 40405])
})

test('the DEX list has every trading factory of the enabled chains once', async () => {
  const listed = await readAll<Dex>('/v2/dex?limit=9')
  const venues = PROTOCOLS.filter(isVenue)
  const rows = venues.flatMap(({ name, factories }) =>
    ((factories as Readonly<Record<string, readonly string[]>>).eth ?? []).map(
      (address) => `${address} ${name}`,
    ),
  )
  assert.deepEqual(
    listed.map(({ programAddress, protocolName }) => `${programAddress} ${protocolName}`),
    rows.toSorted(),
  )
  const first = await read<RestPage<Dex>>('/v2/dex?limit=9')
  const second = await read<RestPage<Dex>>(`/v2/dex?limit=9&cursor=${first.nextCursor}`)
  const back = `/v2/dex?limit=9&direction=prev&cursor=${second.startCursor}`
  assert.deepEqual((await read<RestPage<Dex>>(back)).data, first.data)
  const one = await readAll<Dex>(`/v2/dex?chains=eth&dexProgram=${listed[0]?.programAddress}`)
  assert.deepEqual(one, listed.slice(0, 1))
  assert.deepEqual(await readAll('/v2/dex?chains=sol'), [])
  assert.deepEqual(await codeOf('/v2/dex?chains=mars'), [404, 40405])
})
