import assert from 'node:assert/strict'
import { type ApiResponse, startApi, type TestApi } from './api-stack.ts'
import { addressFromNumber, type MarketTrade, marketTradeRows } from './builders/market-trade.ts'

/** Time of the newest block. */
export const HEAD_MS = Date.UTC(2026, 10, 20, 12)
/** Time of the oldest block. */
export const SINCE_MS = HEAD_MS - 86_400_000
/** Quote token of every pool and trade. */
export const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'

/** Row of `eth_tokens`. */
export const token = (number: number, symbol: string, name: string, more: object = {}): object => ({
  token_address: addressFromNumber(number),
  symbol,
  name,
  decimals: 18,
  total_supply: (1_000n * 10n ** 18n).toString(),
  _ver: 1,
  ...more,
})
const pool = (number: number, token_a: string, liquidity_usd: string | null): object => ({
  pool_address: addressFromNumber(number),
  token_a,
  token_b: USDC,
  base_is_a: 1,
  protocol_family: 'uniswap_v2',
  liquidity_usd,
  liquidity_native: liquidity_usd,
  _ver: 1,
})

const document = (description: string, fetchedMs: number): object => ({
  token_address: addressFromNumber(1),
  uri: 'ipfs://frog',
  description,
  image_url: 'https://gate.example/ipfs/frog',
  social: { twitter: 'https://x.example/pepe' },
  fetched_at: new Date(fetchedMs).toISOString(),
})

const TOKENS = [
  token(1, 'PEPE', 'Pepe', {
    uri: 'ipfs://frog',
    creators: [{ address: addressFromNumber(77), verified: 1, share: 100 }],
    created_at: new Date(SINCE_MS).toISOString(),
    created_slot: 7,
    created_tx: '0xfeed',
    standard: 'erc20',
  }),
  token(2, 'PEPE', 'Pepe the second'),
  token(3, 'PEPE2', 'Next'),
  token(4, 'OLD', 'Pepe'),
  token(5, 'XPEPE', 'Cross'),
  token(6, '100%', 'Per_cent'),
  token(7, '1000', 'Perxcent'),
  token(8, 'GONE', 'Pepe gone'),
  token(9, '', '', { decimals: null, total_supply: null }),
]
const MANY = Array.from({ length: 45 }, (_, index) =>
  token(1_000 + index, `MANY${index}`, 'Bulk', {
    created_at:
      index % 3 === 0
        ? '1970-01-01 00:00:00'
        : new Date(SINCE_MS + Math.floor(index / 2)).toISOString(),
  }),
)

const trade = (slot: number, timeMs: number, more: Partial<MarketTrade>): object =>
  marketTradeRows({
    timeMs,
    slot,
    index: 0,
    token: addressFromNumber(1),
    quote: USDC,
    pool: addressFromNumber(101),
    side: 'BUY',
    amountRaw: 10n ** 18n,
    priceUsd: 0.5,
    priceNative: 0.0001,
    valueUsd: '0.5',
    valueNative: '0.0001',
    suspect: false,
    ...more,
  })

/** Starts the API over tokens with names to search, their pools, and trades of one of them. */
export const startTokenApi = async (): Promise<TestApi> => {
  const api = await startApi()
  const { warehouse } = api
  await warehouse.insert('eth_blocks', [
    ...[1, 2].map((_ver) => ({
      block_time: new Date(HEAD_MS + 12_000).toISOString(),
      block_slot: 101,
      block_height: 101,
      block_hash: 'orphan',
      _ver,
      _del: _ver - 1,
    })),
    ...[1, 50, 100].map((height) => ({
      block_time: new Date(SINCE_MS + ((height - 1) / 99) * 86_400_000).toISOString(),
      block_slot: height,
      block_height: height,
      block_hash: `0x${height}`,
      _ver: 1,
    })),
  ])
  await warehouse.insert('eth_tokens', [...TOKENS, ...MANY])
  await warehouse.insert('eth_tokens', [token(8, 'GONE', 'Pepe gone', { _ver: 2, _del: 1 })])
  await warehouse.insert('eth_token_documents', [
    document('A frog', SINCE_MS + 1),
    document('A tadpole', SINCE_MS),
  ])
  await warehouse.insert('eth_dex_pools', [
    pool(101, addressFromNumber(1), '2000.5'),
    pool(102, addressFromNumber(1), '1000'),
    pool(103, addressFromNumber(2), '9'),
    { ...pool(104, addressFromNumber(3), '5'), protocol_family: 'uniswap_v3' },
  ])
  await warehouse.insert('eth_dex_trades', [
    trade(10, HEAD_MS - 2 * 86_400_000, { priceUsd: 0.1, valueUsd: '1000' }),
    trade(60, HEAD_MS - 3_600_000, { priceUsd: 0.25, priceNative: 0.00005, valueUsd: '250.5' }),
    trade(70, HEAD_MS - 1_800_000, { priceUsd: 999, suspect: true, valueUsd: '1' }),
    trade(71, HEAD_MS - 1_700_000, { priceUsd: null, valueUsd: null }),
  ])
  return api
}

/** The value as an object; fails the test for any other. */
export const record = (value: unknown): Record<string, unknown> => {
  assert.ok(typeof value === 'object' && value !== null)
  return value as Record<string, unknown>
}

/** Items of a list that was answered with 200. */
export const list = (answer: ApiResponse): readonly Record<string, unknown>[] => {
  assert.equal(answer.status, 200, answer.text)
  const { data } = record(answer.body)
  assert.ok(Array.isArray(data))
  return data.map(record)
}

/** Status and code of a refused request, and its details where they are given. */
export interface ExpectedProblem {
  readonly status: number
  readonly code: number
  readonly details?: unknown
}

/** Fails the test unless the answer is this problem with every field of one. */
export const assertProblem = (
  answer: ApiResponse,
  { status, code, details }: ExpectedProblem,
): void => {
  const body = record(answer.body)
  assert.deepEqual([answer.status, body.code, body.status], [status, code, status], answer.text)
  assert.match(
    answer.headers.get('content-type') ?? '',
    /^application\/problem\+json; charset=utf-8/,
  )
  assert.equal(answer.headers.get('x-request-id'), body.requestId)
  for (const name of ['type', 'title', 'detail', 'instance', 'name', 'message', 'timestamp']) {
    assert.equal(typeof body[name], 'string', name)
  }
  if (details !== undefined) assert.deepEqual(body.details, details)
}
