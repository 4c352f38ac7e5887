import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import type { Call, CallAnswer } from '../../ingestors/evm/abi/call.ts'
import {
  confirmCalls,
  poolCalls,
  startVerification,
  verifiedPool,
} from '../../ingestors/evm/metadata/pool-verification.ts'
import { POOL, ROUTER, TOKEN_A, TOKEN_B } from '../support/builders/dex-logs.ts'

const ABI = parseAbi([
  'function factory() view returns (address)',
  'function master() view returns (address)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function fee() view returns (uint24)',
  'function stable() view returns (bool)',
  'function tickSpacing() view returns (int24)',
  'function getPool(address, address, bool) view returns (address)',
  'function getPool(address, address, int24) view returns (address)',
  'function getPair(address, address) view returns (address)',
  'function getPair(address, address, bool) view returns (address)',
  'function poolByPair(address, address) view returns (address)',
  'function customPoolByPair(address, address, address) view returns (address)',
  'function isPool(address) view returns (bool)',
  'function getFactory() view returns (address)',
  'function getTokenX() view returns (address)',
  'function getTokenY() view returns (address)',
  'function getBinStep() view returns (uint16)',
  'function tokenX() view returns (address)',
  'function tokenY() view returns (address)',
  'function feeParameters() view returns (uint16, uint16)',
  'function getLBPairInformation(address, address, uint256) view returns (uint16, address, bool, bool)',
  'function poolIdToPoolKey(bytes32) view returns (address, address, address, address, uint24, bytes32)',
])
type Name = Extract<(typeof ABI)[number], { type: 'function' }>['name']
type Answers = Readonly<Record<string, string>>

/** Call data of a function; of the overloaded ones, the one whose arguments these are. */
const call = (functionName: Name, args: readonly unknown[] = []): string =>
  encodeFunctionData({ abi: ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0])
const address = (of: string): string => encodeAbiParameters([{ type: 'address' }], [of as Hex])
const number = (of: bigint): string => encodeAbiParameters([{ type: 'int256' }], [of])
const answersOf = (calls: readonly Call[], said: Answers): readonly CallAnswer[] =>
  calls.map(({ to, data }) => {
    const value = said[`${to} ${data}`]
    return value === undefined ? { kind: 'reverted' } : { kind: 'value', data: value }
  })

const prove = (
  { family, chain, pool = POOL }: { family: string; chain: string; pool?: string },
  said: Answers,
) => {
  const book = protocolRegistry(chain)
  const subject = { address: pool, family }
  const open = startVerification(subject, book, answersOf(poolCalls(subject, book), said))
  if (typeof open === 'string') return open
  return verifiedPool(open, answersOf(confirmCalls(open), said))
}
const at = (to: string, entries: readonly (readonly [string, string])[]): Answers =>
  Object.fromEntries(entries.map(([data, value]) => [`${to} ${data}`, value]))

const claims = (factory: string | null, more: readonly (readonly [string, string])[]) =>
  at(POOL, [
    ...(factory === null ? [] : [[call('factory'), address(factory)] as const]),
    [call('token0'), address(TOKEN_A)],
    [call('token1'), address(TOKEN_B)],
    ...more,
  ])

interface Case {
  readonly what: string
  readonly chain: string
  readonly family: string
  readonly protocol: string
  readonly factory: string
  readonly claim: Answers
  readonly question: string
  readonly yes: string
  readonly feePips?: number
}

const AERODROME = '0x420dd381b31aef6683db6b902084cb0ffece40da'
const VELODROME_V1 = '0x25cbddb98b35ab1ff77413456b31ec81a6b6b746'
const THENA = '0xafd89d21bdb66d00817d4153e055830b1c2b3970'
const THENA_FUSION = '0x306f06c147f064a010530292a1eb6737c3e378e4'
const BISWAP = '0x858e3312ed3a876947ea49d572a7c42de08af7ee'
const SLIPSTREAM = '0x5e7bb104d84c7cb9b682aac2f3d509f5f406809a'
const SYNCSWAP_RANGE = '0x9d63d318143cf14ff05f8aaa7491904a494e6f13'
const QUICKSWAP_V3 = '0x411b0facc3489691f28ad58c47006af5e3ab3a28'
const SYNCSWAP = '0xbb05918e9b4ba9fe2c8384d223f0844867909ffb'
const SYNCSWAP_2 = '0xfdfe03bae6b8113ee1002d2be453fb71ca5783d3'
const LFJ_V21 = '0x8e42f2f4101563bf679975178e880fd87d3efd4e'
const LFJ_V20 = '0x6e77932a92582f504ff6c4bdbcef7da6c198aeef'
const BLACKHOLE = '0xfe926062fb99ca5653080d6c14fe945ad68c265c'
const BLACKHOLE_CL = '0x512eb749541b7cf294be882d636218c84a5e9e5f'
const BLACKHOLE_DEPLOYERS = [
  '0xdcfccf2e8c4efbba9127b80eac76c5a122125d29',
  '0x58b05074d52d1a84d8ffdadda3c1b652e8c56994',
  '0xf9221de143a0e57c324bf2a0f281e605e845d767',
  '0x5d433a94a4a2aa8f9aa34d8d15692dc2e9960584',
]
const TOPAZ = '0x65e6cd0ef5d3467030103cf3d433034e570b5784'
const TOPAZ_CL = '0x73dc984d9490286e735548f61dfccec67af82ed9'
const PHARAOH_DLMM = '0xeb480050b016f6c6d45203d2346b68bddda23d4d'
const pair = [TOKEN_A, TOKEN_B]
const pairInformation = (lbPair: string): string =>
  encodeAbiParameters(
    [{ type: 'uint16' }, { type: 'address' }, { type: 'bool' }, { type: 'bool' }],
    [20, lbPair as Hex, true, false],
  )

const CASES: readonly Case[] = [
  ...(['solidly', 'uniswap_v2'] as const).map((family) => ({
    what: `Aerodrome, seen by its ${family} events`,
    chain: 'base',
    family,
    protocol: 'aerodrome',
    factory: AERODROME,
    claim: claims(AERODROME, [[call('stable'), number(1n)]]),
    question: call('getPool', [...pair, true]),
    yes: address(POOL),
  })),
  {
    what: 'Velodrome V1, whose pairs do not name their factory',
    chain: 'optimism',
    family: 'uniswap_v2',
    protocol: 'velodrome_v1',
    factory: VELODROME_V1,
    claim: claims(null, [[call('stable'), number(0n)]]),
    question: call('getPair', [...pair, false]),
    yes: address(POOL),
  },
  {
    what: 'THENA, whose pairs do not name their factory either',
    chain: 'bsc',
    family: 'uniswap_v2',
    protocol: 'thena',
    factory: THENA,
    claim: claims(null, [[call('stable'), number(1n)]]),
    question: call('getPair', [...pair, true]),
    yes: address(POOL),
  },
  {
    what: 'Blackhole, whose pairs do not name their factory either',
    chain: 'avalanche',
    family: 'uniswap_v2',
    protocol: 'blackhole',
    factory: BLACKHOLE,
    claim: claims(null, [[call('stable'), number(0n)]]),
    question: call('getPair', [...pair, false]),
    yes: address(POOL),
  },
  ...[0, 3].map((index) => ({
    what: `Blackhole CL, of its deployer ${index + 1}`,
    ...({ chain: 'avalanche', family: 'uniswap_v3', protocol: 'blackhole_cl' } as const),
    factory: BLACKHOLE_CL,
    claim: claims(BLACKHOLE_CL, [[call('tickSpacing'), number(200n)]]),
    question: call('customPoolByPair', [BLACKHOLE_DEPLOYERS[index] ?? '', ...pair]),
    yes: address(POOL),
  })),
  {
    what: 'Blackhole CL, of the factory itself',
    chain: 'avalanche',
    family: 'uniswap_v3',
    protocol: 'blackhole_cl',
    factory: BLACKHOLE_CL,
    claim: claims(BLACKHOLE_CL, []),
    question: call('poolByPair', pair),
    yes: address(POOL),
  },
  {
    what: 'Topaz',
    chain: 'bsc',
    family: 'solidly',
    protocol: 'topaz',
    factory: TOPAZ,
    claim: claims(TOPAZ, [[call('stable'), number(1n)]]),
    question: call('getPool', [...pair, true]),
    yes: address(POOL),
  },
  {
    what: 'Topaz Slipstream',
    chain: 'bsc',
    family: 'uniswap_v3',
    protocol: 'topaz_cl',
    factory: TOPAZ_CL,
    claim: claims(TOPAZ_CL, [[call('tickSpacing'), number(50n)]]),
    question: call('getPool', [...pair, 50]),
    yes: address(POOL),
  },
  {
    what: 'a pair of a chain with stable pairs that has none of them',
    chain: 'bsc',
    family: 'uniswap_v2',
    protocol: 'biswap',
    factory: BISWAP,
    claim: claims(BISWAP, []),
    question: call('getPair', pair),
    yes: address(POOL),
  },
  {
    what: 'THENA Fusion',
    chain: 'bsc',
    family: 'uniswap_v3',
    protocol: 'thena_fusion',
    factory: THENA_FUSION,
    claim: claims(THENA_FUSION, []),
    question: call('poolByPair', pair),
    yes: address(POOL),
  },
  {
    what: 'Slipstream',
    chain: 'base',
    family: 'uniswap_v3',
    protocol: 'aerodrome_cl',
    factory: SLIPSTREAM,
    claim: claims(SLIPSTREAM, [
      [call('tickSpacing'), number(100n)],
      [call('fee'), number(400n)],
    ]),
    question: call('getPool', [...pair, 100]),
    yes: address(POOL),
    feePips: 400,
  },
  {
    what: 'SyncSwap Range, whose pools also name the master and no fee',
    chain: 'zksync',
    family: 'uniswap_v3',
    protocol: 'syncswap_range',
    factory: SYNCSWAP_RANGE,
    claim: claims(SYNCSWAP_RANGE, [
      [call('master'), address(SYNCSWAP_2)],
      [call('tickSpacing'), number(50n)],
    ]),
    question: call('getPool', [...pair, 50]),
    yes: address(POOL),
  },
  {
    what: 'QuickSwap V3',
    chain: 'polygon',
    family: 'uniswap_v3',
    protocol: 'quickswap_v3',
    factory: QUICKSWAP_V3,
    claim: claims(QUICKSWAP_V3, []),
    question: call('poolByPair', pair),
    yes: address(POOL),
  },
  ...(['uniswap_v2', 'solidly', 'syncswap'] as const).map((family) => ({
    what: `SyncSwap, seen by its ${family} events`,
    chain: 'zksync',
    family,
    protocol: 'syncswap',
    factory: SYNCSWAP,
    claim: claims(null, [[call('master'), address(SYNCSWAP)]]),
    question: call('isPool', [POOL]),
    yes: number(1n),
  })),
  {
    what: 'SyncSwap, of the second master',
    chain: 'zksync',
    family: 'uniswap_v2',
    protocol: 'syncswap',
    factory: SYNCSWAP_2,
    claim: claims(null, [[call('master'), address(SYNCSWAP_2)]]),
    question: call('isPool', [POOL]),
    yes: number(1n),
  },
  {
    what: 'LFJ V2.1',
    chain: 'avalanche',
    family: 'liquidity_book',
    protocol: 'lfj_v2_1',
    factory: LFJ_V21,
    claim: at(POOL, [
      [call('getFactory'), address(LFJ_V21)],
      [call('getTokenX'), address(TOKEN_A)],
      [call('getTokenY'), address(TOKEN_B)],
      [call('getBinStep'), number(20n)],
    ]),
    question: call('getLBPairInformation', [...pair, 20n]),
    yes: pairInformation(POOL),
  },
  {
    what: 'Pharaoh DLMM',
    chain: 'avalanche',
    family: 'liquidity_book',
    protocol: 'pharaoh_dlmm',
    factory: PHARAOH_DLMM,
    claim: at(POOL, [
      [call('getFactory'), address(PHARAOH_DLMM)],
      [call('getTokenX'), address(TOKEN_A)],
      [call('getTokenY'), address(TOKEN_B)],
      [call('getBinStep'), number(5n)],
    ]),
    question: call('getLBPairInformation', [...pair, 5n]),
    yes: pairInformation(POOL),
  },
  {
    what: 'LFJ V2.0',
    chain: 'avalanche',
    family: 'liquidity_book',
    protocol: 'lfj_v2',
    factory: LFJ_V20,
    claim: at(POOL, [
      [call('factory'), address(LFJ_V20)],
      [call('tokenX'), address(TOKEN_A)],
      [call('tokenY'), address(TOKEN_B)],
      [
        call('feeParameters'),
        encodeAbiParameters([{ type: 'uint16' }, { type: 'uint16' }], [20, 5000]),
      ],
    ]),
    question: call('getLBPairInformation', [...pair, 20n]),
    yes: pairInformation(POOL),
  },
]

for (const { what, chain, family, protocol, factory, claim, question, yes, feePips } of CASES) {
  test(`${what}: the factory call verifies the pool`, () => {
    const base = { address: POOL, tokenA: TOKEN_A, tokenB: TOKEN_B, factory }
    assert.deepEqual(prove({ chain, family }, { ...claim, [`${factory} ${question}`]: yes }), {
      ...base,
      protocol,
      feePips: feePips ?? null,
      verified: true,
    })
    const no = yes.replaceAll(POOL.slice(2), ROUTER.slice(2)).replace(/1$/, '0')
    for (const said of [claim, { ...claim, [`${factory} ${question}`]: no }]) {
      const fact = prove({ chain, family }, said)
      assert.ok(typeof fact === 'object')
      assert.deepEqual([fact.verified, fact.protocol], [false, null])
    }
  })
}

test('a Liquidity Book pair of an unlisted factory is not verified and needs no further calls', () => {
  const book = protocolRegistry('avalanche')
  const subject = { address: POOL, family: 'liquidity_book' }
  const open = startVerification(
    subject,
    book,
    answersOf(
      poolCalls(subject, book),
      at(POOL, [
        [call('getFactory'), address(ROUTER)],
        [call('getTokenX'), address(TOKEN_A)],
        [call('getTokenY'), address(TOKEN_B)],
        [call('getBinStep'), number(20n)],
      ]),
    ),
  )
  assert.ok(typeof open === 'object')
  assert.deepEqual(confirmCalls(open), [])
  const fact = verifiedPool(open, [])
  assert.ok(typeof fact === 'object')
  assert.equal(fact.verified, false)
  assert.equal(prove({ chain: 'avalanche', family: 'liquidity_book' }, {}), 'no-pool')
})

test('an invalid bin step is not requested', () => {
  const claim = at(POOL, [
    [call('getFactory'), address(LFJ_V21)],
    [call('getTokenX'), address(TOKEN_A)],
    [call('getTokenY'), address(TOKEN_B)],
    [call('getBinStep'), number(2n ** 200n)],
  ])
  const fact = prove({ chain: 'avalanche', family: 'liquidity_book' }, claim)
  assert.ok(typeof fact === 'object')
  assert.equal(fact.verified, false)
})

const ID = `0x${'1d'.repeat(32)}`
const MANAGERS = {
  cl: '0xa0ffb9c1ce1fe56963b0321b32e7a0302114058b',
  bin: '0xc697d2898e0d09264376196696c51d7abbbaa4a9',
} as const
const ZERO = `0x${'00'.repeat(20)}`
const WBNB = '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c'
const key = (manager: string, tokens = [ZERO, TOKEN_B], fee = 500): string =>
  encodeAbiParameters(
    [
      ...['address', 'address', 'address', 'address', 'uint24', 'bytes32'].map((type) => ({
        type,
      })),
    ],
    [...tokens, ZERO, manager, fee, ID],
  )
const infinity = (answers: Answers) =>
  prove({ chain: 'bsc', family: 'pancake_infinity', pool: ID }, answers)
const keyAt = (manager: string, answer: string): Answers =>
  at(manager, [[call('poolIdToPoolKey', [ID]), answer]])

test('the manager that keeps the key of an Infinity pool proves it; the zero address is the wrapped coin', () => {
  const fact = { address: ID, tokenA: WBNB, tokenB: TOKEN_B, verified: true }
  const none = key(ZERO, [ZERO, ZERO], 0)
  assert.deepEqual(
    infinity({ ...keyAt(MANAGERS.cl, key(MANAGERS.cl)), ...keyAt(MANAGERS.bin, none) }),
    { ...fact, protocol: 'pancakeswap_infinity_cl', factory: MANAGERS.cl, feePips: 500 },
  )
  const dynamic = key(MANAGERS.bin, [ZERO, TOKEN_B], 0x800000)
  assert.deepEqual(infinity({ ...keyAt(MANAGERS.cl, none), ...keyAt(MANAGERS.bin, dynamic) }), {
    ...fact,
    protocol: 'pancakeswap_infinity_bin',
    factory: MANAGERS.bin,
    feePips: null,
  })
})

test('a key of no manager, of another manager, without tokens or too short proves nothing', () => {
  for (const answer of [
    key(ZERO, [ZERO, ZERO], 0),
    key(MANAGERS.bin),
    key(MANAGERS.cl, [ZERO, ZERO]),
    '0x',
    key(MANAGERS.cl).slice(0, 2 + 3 * 64),
  ]) {
    assert.equal(infinity(keyAt(MANAGERS.cl, answer)), 'no-pool')
  }
  assert.equal(infinity({}), 'no-pool')
})

test('a family without a protocol on the chain makes no pool lookups', () => {
  assert.deepEqual(poolCalls({ address: POOL, family: 'solidly' }, protocolRegistry('eth')), [])
  assert.deepEqual(
    poolCalls({ address: ID, family: 'pancake_infinity' }, protocolRegistry('eth')),
    [],
  )
  assert.equal(prove({ chain: 'eth', family: 'solidly' }, {}), 'no-pool')
})
