import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { ConfigError } from '../../core/config/errors.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import type { CallAnswer } from '../../ingestors/evm/abi/call.ts'
import {
  confirmCalls,
  poolCalls,
  startVerification,
  verifiedPool,
} from '../../ingestors/evm/metadata/pool-verification.ts'
import { tokenCalls, tokenMetadata } from '../../ingestors/evm/metadata/token-calls.ts'
import { POOL, ROUTER, TOKEN_A, TOKEN_B } from '../support/builders/dex-logs.ts'

const ABI = parseAbi([
  'function factory() view returns (address)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function fee() view returns (uint24)',
  'function getPair(address, address) view returns (address)',
  'function getPool(address, address, uint24) view returns (address)',
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
])
const V2_FACTORY = '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f'
const V3_FACTORY = '0x1f98431c8ad98523631ae4a59f267346ea31f984'
const book = protocolRegistry('eth')
const reverted: CallAnswer = { kind: 'reverted' }
const noState: CallAnswer = { kind: 'no-state' }
const value = (data: Hex): CallAnswer => ({ kind: 'value', data })
const address = (of: string): CallAnswer =>
  value(encodeAbiParameters([{ type: 'address' }], [of as Hex]))
const number = (of: bigint): CallAnswer => value(encodeAbiParameters([{ type: 'uint256' }], [of]))
const text = (of: string): CallAnswer => value(encodeAbiParameters([{ type: 'string' }], [of]))
const call = (
  functionName:
    | 'factory'
    | 'token0'
    | 'token1'
    | 'fee'
    | 'name'
    | 'symbol'
    | 'decimals'
    | 'totalSupply',
): string => encodeFunctionData({ abi: ABI, functionName })

const open = (family: string, answers: readonly CallAnswer[]) => {
  const proof = startVerification({ address: POOL, family }, book, answers)
  assert.ok(typeof proof === 'object', String(proof))
  return proof
}
const v2 = (factory = V2_FACTORY) =>
  open('uniswap_v2', [address(factory), address(TOKEN_A), address(TOKEN_B)])
const v3 = () =>
  open('uniswap_v3', [address(V3_FACTORY), address(TOKEN_A), address(TOKEN_B), number(500n)])

test('pool lookups call factory, tokens and, where the family has one, fee', () => {
  assert.deepEqual(
    poolCalls({ address: POOL, family: 'uniswap_v2' }, book),
    [call('factory'), call('token0'), call('token1')].map((data) => ({ to: POOL, data })),
  )
  assert.deepEqual(
    poolCalls({ address: POOL, family: 'uniswap_v3' }, book).map(({ data }) => data),
    [call('factory'), call('token0'), call('token1'), call('fee')],
  )
  assert.deepEqual(poolCalls({ address: POOL, family: 'erc20' }, book), [])
})

test('a pool is confirmed by calling its factory with its tokens', () => {
  assert.deepEqual(confirmCalls(v2()), [
    {
      to: V2_FACTORY,
      data: encodeFunctionData({
        abi: ABI,
        functionName: 'getPair',
        args: [TOKEN_A as Hex, TOKEN_B as Hex],
      }),
    },
  ])
  assert.deepEqual(confirmCalls(v3()), [
    {
      to: V3_FACTORY,
      data: encodeFunctionData({
        abi: ABI,
        functionName: 'getPool',
        args: [TOKEN_A as Hex, TOKEN_B as Hex, 500],
      }),
    },
  ])
})

test('a factory that is not listed, or is listed for another family, is not called and verifies nothing', () => {
  for (const factory of [ROUTER, V3_FACTORY]) {
    assert.deepEqual(confirmCalls(v2(factory)), [])
    for (const answers of [[], [address(POOL)]]) {
      assert.deepEqual(verifiedPool(v2(factory), answers), {
        address: POOL,
        tokenA: TOKEN_A,
        tokenB: TOKEN_B,
        protocol: null,
        factory,
        feePips: null,
        verified: false,
      })
    }
  }
})

test('only a factory response that names this very pool verifies it', () => {
  const proven = { address: POOL, tokenA: TOKEN_A, tokenB: TOKEN_B, verified: true }
  assert.deepEqual(verifiedPool(v2(), [address(POOL)]), {
    ...proven,
    protocol: 'uniswap_v2',
    factory: V2_FACTORY,
    feePips: 3000,
  })
  assert.deepEqual(verifiedPool(v3(), [address(POOL)]), {
    ...proven,
    protocol: 'uniswap_v3',
    factory: V3_FACTORY,
    feePips: 500,
  })
  for (const answers of [
    [address(ROUTER)],
    [address(`0x${'00'.repeat(20)}`)],
    [reverted],
    [value('0x')],
    [],
  ]) {
    const fact = verifiedPool(v2(), answers)
    assert.ok(typeof fact === 'object')
    assert.deepEqual([fact.verified, fact.protocol], [false, null])
  }
  assert.equal(verifiedPool(v2(), [noState]), 'no-state')
})

test('a contract without valid pool getters is not a pool', () => {
  const answers = [address(V2_FACTORY), address(TOKEN_A), address(TOKEN_B)]
  const verificationOf = (given: readonly CallAnswer[]) => {
    const proof = startVerification({ address: POOL, family: 'uniswap_v2' }, book, given)
    return typeof proof === 'string' ? proof : verifiedPool(proof, [address(POOL)])
  }
  for (const at of [0, 1, 2]) {
    for (const answer of [reverted, value('0x'), value('0x1234'), number(2n ** 160n), number(0n)]) {
      assert.equal(verificationOf(answers.with(at, answer)), 'no-pool')
    }
    assert.equal(verificationOf(answers.with(at, noState)), 'no-state')
  }
  assert.equal(verificationOf(answers.with(1, address(TOKEN_B))), 'no-pool', 'two tokens, in order')
  assert.equal(verificationOf([]), 'no-pool')
  for (const fee of [number(2n ** 24n), reverted]) {
    const proof = open('uniswap_v3', [address(V3_FACTORY), address(TOKEN_A), address(TOKEN_B), fee])
    assert.deepEqual(confirmCalls(proof), [], 'without its fee the factory cannot look it up')
    const fact = verifiedPool(proof, [])
    assert.ok(typeof fact === 'object')
    assert.equal(fact.verified, false)
  }
})

test('extra factories of the configuration are added to the tables, or replace them', () => {
  const extra = {
    factories: [{ protocol: 'uniswap_v2', factory: ROUTER }],
    quotes: [{ address: TOKEN_A, symbol: 'W', decimals: 18, kind: 'native' as const }],
    referencePools: [],
    replace: false,
  }
  const more = protocolRegistry('eth', extra)
  assert.equal(more.factory(ROUTER)?.id, 'uniswap_v2')
  assert.equal(more.factory(V2_FACTORY)?.id, 'uniswap_v2')
  assert.equal(more.isWrappedNative(TOKEN_A), true)
  const only = protocolRegistry('eth', { ...extra, replace: true })
  assert.equal(only.factory(V2_FACTORY), undefined)
  assert.equal(only.isWrappedNative('0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'), false)
  assert.throws(
    () => protocolRegistry('eth', { ...extra, factories: [{ protocol: 'nope', factory: ROUTER }] }),
    ConfigError,
  )
})

test('token metadata is read by four calls: name, symbol, decimals and total supply', () => {
  assert.deepEqual(
    tokenCalls(TOKEN_A),
    [call('name'), call('symbol'), call('decimals'), call('totalSupply')].map((data) => ({
      to: TOKEN_A,
      data,
    })),
  )
  assert.deepEqual(
    tokenMetadata(TOKEN_A, [
      text('Wrapped Ether'),
      text('WETH'),
      number(18n),
      number(2n ** 256n - 1n),
    ]),
    {
      address: TOKEN_A,
      name: 'Wrapped Ether',
      symbol: 'WETH',
      decimals: 18,
      totalSupplyRaw: 2n ** 256n - 1n,
    },
  )
})

const NAMES: readonly (readonly [string, CallAnswer, string | null])[] = [
  ['bytes32', value(`0x${Buffer.from('Maker').toString('hex').padEnd(64, '0')}`), 'Maker'],
  ['bytes32 without an end', value(`0x${'41'.repeat(32)}`), 'A'.repeat(32)],
  ['two megabytes', text('x'.repeat(2_000_000)), 'x'.repeat(128)],
  ['control characters', text('a\u0000\u001b[31mb\u202ec\nd'), 'a[31mb' + 'c d'],
  ['white space alone', text(' \t\n '), null],
  ['nothing', text(''), null],
  ['text beyond the basic plane, cut between characters', text('🦄'.repeat(200)), '🦄'.repeat(128)],
  [
    'broken UTF-8',
    value(`0x${'20'.padStart(64, '0')}${'3'.padStart(64, '0')}${'41ff42'.padEnd(64, '0')}`),
    'AB',
  ],
  [
    'a length beyond the data',
    value(`0x${'20'.padStart(64, '0')}${'f'.repeat(64)}${'41'.padEnd(64, '0')}`),
    null,
  ],
  ['an offset beyond the data', value(`0x${'f'.repeat(64)}${'1'.padStart(64, '0')}`), null],
  ['an odd offset', value(`0x${'21'.padStart(64, '0')}${'1'.padStart(64, '0')}`), null],
  ['no data', value('0x'), null],
  ['half a word', value('0x4142'), null],
  ['a revert', reverted, null],
  ['no state', noState, null],
]

for (const [what, answer, expected] of NAMES) {
  test(`a token name that is ${what}`, () => {
    assert.equal(tokenMetadata(TOKEN_A, [answer]).name, expected)
  })
}

test('token decimals are 0 to 255 or unknown, never guessed', () => {
  const decimals = (answer: CallAnswer | undefined) =>
    tokenMetadata(TOKEN_A, [reverted, reverted, ...(answer ? [answer] : [])]).decimals
  assert.deepEqual(
    [
      number(0n),
      number(255n),
      number(256n),
      number(2n ** 255n),
      reverted,
      noState,
      value('0x'),
      value('0x12'),
      undefined,
    ].map(decimals),
    [0, 255, null, null, null, null, null, null, null],
  )
})
