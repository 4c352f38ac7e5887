import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  parseAbiParameters,
} from 'viem'
import { fetchMissing } from '../../ingestors/decode/metadata-reader.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import type { CallAnswer, StateReader } from '../../ingestors/evm/abi/call.ts'
import {
  confirmCalls,
  poolCalls,
  startVerification,
  verifiedPool,
} from '../../ingestors/evm/metadata/pool-verification.ts'
import { nodeMetadataReader } from '../../ingestors/evm/metadata/reader.ts'
import type { PoolMetadata } from '../../schemas/events.ts'
import { POOL, ROUTER, TOKEN_A, TOKEN_B } from '../support/builders/dex-logs.ts'
import { buildEvmBlock } from '../support/builders/evm-block.ts'

const ABI = parseAbi([
  'function get_coins(address) view returns (address[8])',
  'function get_underlying_coins(address) view returns (address[8])',
  'function getPoolId() view returns (bytes32)',
  'function getPoolTokens(bytes32) view returns (address[], uint256[], uint256)',
  'function poolKeys(bytes25) view returns (address, address, uint24, int24, address)',
])
const V3_ABI = parseAbi(['function getPoolTokens(address) view returns (address[])'])
const book = protocolRegistry('eth')
const TOKEN_C = `0x${'0c'.repeat(20)}`
const DAI = `0x${'da'.repeat(20)}`
const COIN = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
const ZERO: Hex = `0x${'00'.repeat(20)}`
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const V2_VAULT = '0xba12222222228d8ba445958a75a0704d566bf2c8'
const SWAAP_VAULT = '0xd315a9c38ec871068fec378e4ce78af528c76293'
const V3_VAULT = '0xba1333333333a1ba1108e8412f11850a5c319ba9'
const V4_MANAGER = '0x000000000004444c5dc75cb358380d2e3de08a90'
const V4_KEYS = '0xbd216513d74c8cf14cf4747e6aaa6420ff64ee9e'
const reverted: CallAnswer = { kind: 'reverted' }
const noState: CallAnswer = { kind: 'no-state' }
const value = (data: Hex): CallAnswer => ({ kind: 'value', data })
const list = (...tokens: readonly string[]): CallAnswer =>
  value(encodeAbiParameters(parseAbiParameters('address[]'), [tokens as readonly Hex[]]))
const fixed = (count: number, ...tokens: readonly string[]): CallAnswer =>
  value(
    encodeAbiParameters(
      Array.from({ length: count }, () => ({ type: 'address' })),
      Array.from({ length: count }, (_, at) => tokens[at] ?? ZERO),
    ),
  )

/** The verificationOf when contracts answer from a table, by address and call; all else is reverted. */
const proven = (
  family: string,
  pool: string,
  answers: Readonly<Record<string, CallAnswer>>,
): PoolMetadata | 'no-pool' | 'no-state' => {
  const answer = ({ to, data }: { readonly to: string; readonly data: string }) =>
    answers[`${to} ${data}`] ?? reverted
  const subject = { address: pool, family }
  const open = startVerification(subject, book, poolCalls(subject, book).map(answer))
  return typeof open === 'string' ? open : verifiedPool(open, confirmCalls(open).map(answer))
}
const ask = (functionName: 'get_coins' | 'get_underlying_coins', to: string): string =>
  `${to} ${encodeFunctionData({ abi: ABI, functionName, args: [POOL as Hex] })}`

const STABLE_FACTORY = '0xb9fc157394af804a3578134a6585c0dc9cc990d4'
const NG_FACTORY = '0x6a8cbed756804b16e05e741edabd5cb544ae21bf'
const REGISTRY = '0x90e00ace148ca3b23ac1bc8c240c2a7dd9c2d7f5'
const META_REGISTRY = '0xf98b45fa17de75fb1ad0e7afd971b0ca00e379fc'
const curveFact = (more: Partial<PoolMetadata>): PoolMetadata => ({
  address: POOL,
  tokenA: TOKEN_B,
  tokenB: TOKEN_A,
  protocol: 'curve',
  factory: STABLE_FACTORY,
  feePips: null,
  verified: true,
  ...more,
})

test('Curve lookups call the factories for the coins of a pool, then the registries', () => {
  const calls = poolCalls({ address: POOL, family: 'curve' }, book)
  const asked = calls.map(({ to }) => to)
  assert.deepEqual(
    new Set(calls.map(({ data }) => data)),
    new Set([encodeFunctionData({ abi: ABI, functionName: 'get_coins', args: [POOL as Hex] })]),
  )
  assert.equal(new Set(asked).size, asked.length)
  assert.ok(asked.indexOf(NG_FACTORY) < asked.indexOf(REGISTRY))
  assert.equal(asked.at(-1), META_REGISTRY)
})

test('a Curve pool has the coins of the first factory or registry that lists it, in the order of the pool', () => {
  assert.deepEqual(
    proven('curve', POOL, {
      [ask('get_coins', STABLE_FACTORY)]: fixed(4, TOKEN_B, TOKEN_A),
      [ask('get_coins', META_REGISTRY)]: fixed(8, TOKEN_C, TOKEN_C),
    }),
    curveFact({}),
  )
  assert.deepEqual(
    proven('curve', POOL, {
      [ask('get_coins', STABLE_FACTORY)]: fixed(4),
      [ask('get_coins', NG_FACTORY)]: list(TOKEN_B, TOKEN_A, TOKEN_C),
    }),
    curveFact({ factory: NG_FACTORY, coins: [TOKEN_B, TOKEN_A, TOKEN_C] }),
  )
  assert.deepEqual(
    proven('curve', POOL, { [ask('get_coins', META_REGISTRY)]: fixed(8, TOKEN_B, TOKEN_A) }),
    curveFact({ factory: META_REGISTRY }),
  )
})

test('a Curve metapool also has its underlying coins; the native token is listed as its wrapped form', () => {
  const answers = {
    [ask('get_coins', STABLE_FACTORY)]: fixed(4, COIN, TOKEN_A),
    [ask('get_underlying_coins', STABLE_FACTORY)]: fixed(8, COIN, TOKEN_B, TOKEN_C),
    [ask('get_underlying_coins', META_REGISTRY)]: fixed(8, DAI, DAI),
  }
  assert.deepEqual(
    proven('curve', POOL, answers),
    curveFact({ tokenA: WETH, tokenB: TOKEN_A, underlying: [WETH, TOKEN_B, TOKEN_C] }),
  )
})

test('a pool that no Curve registry lists, or lists in another layout, is not a Curve pool', () => {
  const coins = (answer: CallAnswer) =>
    proven('curve', POOL, { [ask('get_coins', STABLE_FACTORY)]: answer })
  const word = (of: bigint): string => of.toString(16).padStart(64, '0')
  for (const answer of [
    reverted,
    fixed(8),
    fixed(8, TOKEN_A),
    list(),
    list(TOKEN_A),
    value('0x'),
    value('0x1234'),
    value(`0x${word(32n)}${word(1n << 255n)}${word(1n)}`),
    value(`0x${word(31n)}${word(2n)}${word(1n)}`),
    value(`0x${'f'.repeat(64)}${word(BigInt(TOKEN_A))}`),
  ]) {
    assert.equal(coins(answer), 'no-pool')
  }
  assert.equal(coins(noState), 'no-state')
  assert.deepEqual(
    proven('curve', POOL, { [`${ROUTER} 0x`]: fixed(8, TOKEN_A, TOKEN_B) }),
    'no-pool',
    'a contract that is not listed',
  )
})

const POOL_ID = `${POOL}000200000000000000000004`
const GET_ID = encodeFunctionData({ abi: ABI, functionName: 'getPoolId' })
const v2Tokens = (vault: string, id = POOL_ID): string =>
  `${vault} ${encodeFunctionData({ abi: ABI, functionName: 'getPoolTokens', args: [id as Hex] })}`
const held = (...tokens: readonly string[]): CallAnswer =>
  value(
    encodeAbiParameters(parseAbiParameters('address[], uint256[], uint256'), [
      tokens as readonly Hex[],
      tokens.map(() => 5n),
      6n,
    ]),
  )

test('a Balancer V2 pool is verified by its pool id and the tokens that the Vault lists for it', () => {
  const id = value(POOL_ID as Hex)
  const fact = (more: Partial<PoolMetadata> = {}): PoolMetadata =>
    curveFact({
      tokenA: TOKEN_A,
      tokenB: TOKEN_B,
      protocol: 'balancer_v2',
      factory: V2_VAULT,
      ...more,
    })
  assert.deepEqual(
    proven('balancer_v2', POOL, {
      [`${POOL} ${GET_ID}`]: id,
      [v2Tokens(V2_VAULT)]: held(TOKEN_A, TOKEN_B),
    }),
    fact(),
  )
  assert.deepEqual(
    proven('balancer_v2', POOL, {
      [`${POOL} ${GET_ID}`]: id,
      [v2Tokens(SWAAP_VAULT)]: held(POOL, TOKEN_A, TOKEN_B),
    }),
    fact({ protocol: 'swaap_v2', factory: SWAAP_VAULT, coins: [TOKEN_A, TOKEN_B, POOL] }),
  )
})

test('a contract with the id of another pool, or an id without tokens in a Vault, is not a Balancer V2 pool', () => {
  const other = `${ROUTER}000200000000000000000004`
  const said = (id: CallAnswer, tokens: CallAnswer) =>
    proven('balancer_v2', POOL, {
      [`${POOL} ${GET_ID}`]: id,
      [v2Tokens(V2_VAULT)]: tokens,
      [v2Tokens(V2_VAULT, other)]: held(TOKEN_A, TOKEN_B),
    })
  assert.equal(said(value(other as Hex), held(TOKEN_A, TOKEN_B)), 'no-pool')
  assert.equal(said(value('0x'), held(TOKEN_A, TOKEN_B)), 'no-pool')
  assert.equal(said(reverted, held(TOKEN_A, TOKEN_B)), 'no-pool')
  for (const tokens of [
    reverted,
    held(),
    held(TOKEN_A),
    value('0x'),
    value(`0x${'f'.repeat(128)}`),
  ]) {
    assert.equal(said(value(POOL_ID as Hex), tokens), 'no-pool')
  }
  assert.equal(said(value(POOL_ID as Hex), noState), 'no-state')
})

test('a Balancer V3 pool is verified by the tokens that the Vault lists for it', () => {
  const tokens = `${V3_VAULT} ${encodeFunctionData({ abi: V3_ABI, functionName: 'getPoolTokens', args: [POOL as Hex] })}`
  const verificationOf = (answer: CallAnswer) => proven('balancer_v3', POOL, { [tokens]: answer })
  assert.deepEqual(
    verificationOf(list(TOKEN_A, TOKEN_B, TOKEN_C)),
    curveFact({
      tokenA: TOKEN_A,
      tokenB: TOKEN_B,
      coins: [TOKEN_A, TOKEN_B, TOKEN_C],
      protocol: 'balancer_v3',
      factory: V3_VAULT,
    }),
  )
  for (const answer of [reverted, list(), list(TOKEN_A), value('0x')]) {
    assert.equal(verificationOf(answer), 'no-pool')
  }
  assert.equal(verificationOf(noState), 'no-state')
})

const KEY = parseAbiParameters('address, address, uint24, int24, address')
const keyOf = (currency0: string, fee: number): Hex =>
  encodeAbiParameters(KEY, [currency0 as Hex, TOKEN_B as Hex, fee, -60, ROUTER as Hex])
const keyCall = (id: string): string =>
  `${V4_KEYS} ${encodeFunctionData({ abi: ABI, functionName: 'poolKeys', args: [id.slice(0, 52) as Hex] })}`
const v4 = (id: string, answer: CallAnswer) => proven('uniswap_v4', id, { [keyCall(id)]: answer })

test('a V4 pool is verified by the key whose hash is its id', () => {
  const key = keyOf(ZERO, 3000)
  const id = keccak256(key)
  const fact = curveFact({
    address: id,
    tokenA: WETH,
    tokenB: TOKEN_B,
    protocol: 'uniswap_v4',
    factory: V4_MANAGER,
    feePips: 3000,
  })
  assert.deepEqual(v4(id, value(key)), fact)
  assert.deepEqual(v4(id, value(`${key}ff`)), fact, 'a longer answer')
  const hooked = keyOf(TOKEN_A, 0x800000)
  assert.deepEqual(
    v4(keccak256(hooked), value(hooked)),
    { ...fact, address: keccak256(hooked), tokenA: TOKEN_A, feePips: null },
    'a flag is not a fee',
  )
})

test('the id of a recorded V4 pool is the hash of its key', () => {
  // Initialize of polygon transaction 0x2277ee48…
  const id = '0x049116bf41c6d7e37b65c055bde33035e3c829c7973fe2657510112f069a07eb'
  const key = encodeAbiParameters(KEY, [
    '0x7f426f6dc648e50464a0392e60e1bb465a67e9cf',
    '0xc2132d05d31c914a87c6611c10748aeb04b58e8f',
    0xf1b32,
    0x4d58,
    ZERO,
  ])
  const fact = v4(id, value(key))
  assert.ok(typeof fact === 'object')
  assert.deepEqual([fact.verified, fact.feePips], [true, 0xf1b32])
})

test('another key, or a failed call, does not verify a V4 pool', () => {
  const id = keccak256(keyOf(ZERO, 3000))
  for (const answer of [
    value(keyOf(ZERO, 500)),
    value(keyOf(ZERO, 3000).slice(0, -2) as Hex),
    value(`0x${'0'.repeat(320)}`),
    value('0x'),
    reverted,
  ]) {
    assert.equal(v4(id, answer), 'no-state', 'its key may be kept later')
  }
  assert.equal(v4(id, noState), 'no-state')
})

test('all tokens of a verified pool are looked up, underlying ones included', async () => {
  const asked = new Set<string>()
  const reader: StateReader = {
    calls: async (calls) =>
      calls.map(({ to, data }) => {
        asked.add(to)
        const key = `${to} ${data}`
        if (key === ask('get_coins', STABLE_FACTORY)) return fixed(4, TOKEN_B, TOKEN_A, TOKEN_C)
        return key === ask('get_underlying_coins', STABLE_FACTORY)
          ? fixed(8, TOKEN_B, DAI)
          : reverted
      }),
  }
  const { pools } = await fetchMissing(
    {
      reader: nodeMetadataReader(reader, book),
      known: { token: () => undefined, pool: () => undefined },
    },
    { pools: [{ address: POOL, family: 'curve' }], tokens: [] },
    buildEvmBlock({ height: 100 }, []),
    new AbortController().signal,
  )
  assert.equal(pools[0]?.verified, true)
  for (const token of [TOKEN_A, TOKEN_B, TOKEN_C, DAI]) assert.ok(asked.has(token), token)
})

test('configured contracts replace the tables, registries included', () => {
  const extra = {
    factories: [{ protocol: 'curve', factory: ROUTER }],
    quotes: [],
    referencePools: [],
  }
  const asked = (replace: boolean) =>
    poolCalls(
      { address: POOL, family: 'curve' },
      protocolRegistry('eth', { ...extra, replace }),
    ).map(({ to }) => to)
  assert.deepEqual(asked(true), [ROUTER])
  assert.ok(asked(false).includes(ROUTER) && asked(false).includes(META_REGISTRY))
})

test('a configured factory brings its own registries', () => {
  const factories = [{ protocol: 'uniswap_v4', factory: ROUTER, registries: [POOL] }]
  const book = protocolRegistry('eth', { factories, quotes: [], referencePools: [], replace: true })
  const subject = { address: keccak256(keyOf(ZERO, 3000)), family: 'uniswap_v4' }
  assert.deepEqual(
    poolCalls(subject, book).map(({ to }) => to),
    [POOL],
  )
})
