import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAbiParameters, type Hex, parseAbi, parseAbiParameters, toEventSelector } from 'viem'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import type { Log, PoolMetadata } from '../../schemas/events.ts'
import {
  addressTopic,
  buildDecodeContext,
  buildPoolMetadata,
  POOL,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  transferLog,
  USER,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const V2_VAULT = '0xba12222222228d8ba445958a75a0704d566bf2c8'
const V3_VAULT = '0xba1333333333a1ba1108e8412f11850a5c319ba9'
const SWAAP_VAULT = '0xd315a9c38ec871068fec378e4ce78af528c76293'
const POOL_ID = `${POOL}000200000000000000000004`
const TOKEN_C = `0x${'0c'.repeat(20)}`
const TRADER = `0x${'f0'.repeat(20)}`
const HUGE = 1n << 255n
const facts = buildDecodeContext('facts')
const evidence = buildDecodeContext('evidence')

type Logs = readonly Omit<Log, 'index'>[]

const v2Swap = (
  amounts: readonly bigint[],
  tokens: readonly [string, string] = [TOKEN_A, TOKEN_B],
  vault = V2_VAULT,
): Omit<Log, 'index'> =>
  buildLog(
    vault,
    [
      toEventSelector('Swap(bytes32,address,address,uint256,uint256)'),
      POOL_ID,
      ...tokens.map(addressTopic),
    ],
    amounts,
  )
const v3Swap = (amounts: readonly bigint[], vault = V3_VAULT): Omit<Log, 'index'> =>
  buildLog(
    vault,
    [
      toEventSelector('Swap(address,address,address,uint256,uint256,uint256,uint256)'),
      addressTopic(POOL),
      addressTopic(TOKEN_A),
      addressTopic(TOKEN_B),
    ],
    amounts,
  )

const reasons = (logs: Logs, books = facts) =>
  decodeBlock(buildSingleTransactionBlock(logs), books).dropped.map(({ reason }) => reason)
const changes = (logs: Logs, books = facts) =>
  decodeBlock(buildSingleTransactionBlock(logs), books).poolChanges.map(
    ({ kind, pool, tokenA, amountARaw, tokenB, amountBRaw }) => [
      kind,
      pool,
      tokenA,
      amountARaw,
      tokenB,
      amountBRaw,
    ],
  )

const swapOf = (protocol: string, vault: string) => ({
  kind: 'swap',
  txIndex: 0,
  logIndex: 0,
  pool: POOL,
  vault,
  protocol,
  trader: TRADER,
  tokenIn: TOKEN_A,
  tokenOut: TOKEN_B,
  amountInRaw: 10n,
  amountOutRaw: 7n,
})

for (const [name, log, protocol] of [
  ['V2', v2Swap([10n, 7n]), 'balancer_v2'],
  ['V3', v3Swap([10n, 7n, 1n, 1n]), 'balancer_v3'],
  ['Swaap, with events of V2', v2Swap([10n, 7n], [TOKEN_A, TOKEN_B], SWAAP_VAULT), 'swaap_v2'],
] as const) {
  test(`a swap log of ${name} names its tokens: the log of the Vault is enough`, () => {
    for (const books of [facts, evidence]) {
      assert.deepEqual(decodeBlock(buildSingleTransactionBlock([log]), books).swaps, [
        swapOf(protocol, log.address),
      ])
    }
  })

  test(`a swap log of ${name} from another contract, cut or with other topics is not a swap`, () => {
    const move = [transferLog(TOKEN_A, USER, ROUTER, 10n), transferLog(TOKEN_B, ROUTER, USER, 7n)]
    const forged = { ...log, address: ROUTER }
    assert.deepEqual(reasons([...move, forged]), ['unlisted-contract'])
    assert.deepEqual(reasons([...move, forged], evidence), ['unlisted-contract'])
    assert.deepEqual(reasons([{ ...log, data: log.data.slice(0, -2) }]), ['truncated-data'])
    assert.deepEqual(reasons([{ ...log, data: '0x' }]), ['truncated-data'])
    const fewer = decodeBlock(
      buildSingleTransactionBlock([{ ...log, topics: log.topics.slice(0, 3) }]),
      facts,
    )
    assert.deepEqual([fewer.swaps, fewer.dropped], [[], []])
    assert.deepEqual(
      decodeBlock(buildSingleTransactionBlock([log], { success: false }), facts).swaps,
      [],
    )
    assert.equal(
      decodeBlock(buildSingleTransactionBlock([{ ...log, data: `${log.data}ff` }]), facts).swaps
        .length,
      1,
      'a longer layout',
    )
  })
}

test('impossible swap amounts are dropped with their reason', () => {
  for (const [amounts, reason] of [
    [[0n, 0n], 'zero-amount'],
    [[HUGE, 7n], 'impossible-amount'],
    [[10n, -1n], 'impossible-amount'],
  ] as const) {
    assert.deepEqual(reasons([v2Swap(amounts)]), [reason])
    assert.deepEqual(reasons([v3Swap([...amounts, 0n, 0n])]), [reason])
  }
  for (const books of [facts, evidence]) {
    assert.deepEqual(reasons([v2Swap([10n, 7n], [TOKEN_A, TOKEN_A])], books), ['same-token'])
  }
})

test('a V2 event from the V3 Vault is dropped as unlisted-contract, and the other way round', () => {
  assert.deepEqual(reasons([v2Swap([10n, 7n], [TOKEN_A, TOKEN_B], V3_VAULT)]), [
    'unlisted-contract',
  ])
  assert.deepEqual(reasons([v3Swap([10n, 7n, 0n, 0n], V2_VAULT)]), ['unlisted-contract'])
})

test('a swap of the Vault in a pool of another protocol is dropped', () => {
  assert.deepEqual(
    reasons([v2Swap([10n, 7n])], buildDecodeContext('facts', [buildPoolMetadata('curve')])),
    ['unlisted-contract'],
  )
})

test("a hop through a pool's own shares is a swap like the others", () => {
  const { swaps } = decodeBlock(
    buildSingleTransactionBlock([
      v2Swap([10n, 9n], [TOKEN_A, POOL]),
      v2Swap([9n, 8n], [POOL, TOKEN_B]),
    ]),
    facts,
  )
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut }) => [tokenIn, tokenOut]),
    [
      [TOKEN_A, POOL],
      [POOL, TOKEN_B],
    ],
  )
})

const balance = (
  tokens: readonly string[],
  deltas: readonly bigint[],
  vault = V2_VAULT,
): Omit<Log, 'index'> => ({
  address: vault,
  topics: [
    toEventSelector('PoolBalanceChanged(bytes32,address,address[],int256[],uint256[])'),
    POOL_ID,
    addressTopic(USER),
  ],
  data: encodeAbiParameters(parseAbiParameters('address[], int256[], uint256[]'), [
    tokens as readonly Hex[],
    deltas,
    deltas.map(() => 5n),
  ]),
})

test('deposits and withdrawals of a V2 pool leave out its own shares', () => {
  assert.deepEqual(changes([balance([TOKEN_A, TOKEN_B], [10n, 0n])]), [
    ['increase', POOL, TOKEN_A, 10n, TOKEN_B, 0n],
  ])
  assert.deepEqual(
    changes([balance([POOL, TOKEN_A, TOKEN_B, TOKEN_C], [1n << 111n, 1n, 2n, 3n])]),
    [
      ['increase', POOL, TOKEN_A, 1n, TOKEN_B, 2n],
      ['increase', POOL, TOKEN_A, 0n, TOKEN_C, 3n],
    ],
  )
  assert.deepEqual(changes([balance([TOKEN_A, TOKEN_B], [-10n, -11n])]), [
    ['decrease', POOL, TOKEN_A, 10n, TOKEN_B, 11n],
  ])
  assert.deepEqual(changes([balance([TOKEN_A, TOKEN_B], [0n, 0n])]), [])
  assert.deepEqual(reasons([balance([TOKEN_A, TOKEN_B], [0n, 0n])]), [])
  assert.deepEqual(changes([balance([POOL, TOKEN_A], [7n, 0n])]), [], 'shares alone')
})

test('impossible balance changes of a V2 pool are dropped with their reason', () => {
  assert.deepEqual(reasons([balance([TOKEN_A, TOKEN_B], [1n, -1n])]), ['bad-array'])
  assert.deepEqual(reasons([balance([TOKEN_A, TOKEN_B], [1n])]), ['bad-array'])
  assert.deepEqual(reasons([balance([TOKEN_A, TOKEN_B], [-HUGE, 0n])]), ['impossible-amount'])
  assert.deepEqual(reasons([balance([TOKEN_A, TOKEN_B], [1n, 1n], ROUTER)]), ['unlisted-contract'])
  assert.deepEqual(reasons([balance([TOKEN_A], [1n])]), ['unknown-token'], 'beside nothing')
  const good = balance([TOKEN_A, TOKEN_B], [1n, 1n])
  for (const [word, value] of [
    [0, HUGE],
    [0, 0x61n],
    [1, 32n * 64n],
    [3, HUGE],
    [3, 65n],
  ] as const) {
    const at = 2 + 64 * word
    const data = `${good.data.slice(0, at)}${value.toString(16).padStart(64, '0')}${good.data.slice(at + 64)}`
    assert.deepEqual(reasons([{ ...good, data }]), ['bad-array'], `word ${word} is ${value}`)
  }
  assert.deepEqual(reasons([{ ...good, data: good.data.slice(0, 2 + 64 * 5) }]), ['truncated-data'])
})

const tokensRegistered = (tokens: readonly string[], vault = V2_VAULT): Omit<Log, 'index'> => ({
  address: vault,
  topics: [toEventSelector('TokensRegistered(bytes32,address[],address[])'), POOL_ID],
  data: encodeAbiParameters(parseAbiParameters('address[], address[]'), [
    tokens as readonly Hex[],
    tokens as readonly Hex[],
  ]),
})

test('a token registration of the V2 Vault verifies its pool; its own shares are last', () => {
  const made = decodeBlock(
    buildSingleTransactionBlock([tokensRegistered([POOL, TOKEN_A, TOKEN_B])]),
    facts,
  )
  assert.deepEqual(made.pools, [
    {
      address: POOL,
      tokenA: TOKEN_A,
      tokenB: TOKEN_B,
      coins: [TOKEN_A, TOKEN_B, POOL],
      protocol: 'balancer_v2',
      factory: V2_VAULT,
      feePips: null,
      verified: true,
    },
  ])
  assert.deepEqual(
    made.poolChanges.map(({ kind, vault, tokenA, tokenB }) => [kind, vault, tokenA, tokenB]),
    [['initialize', V2_VAULT, TOKEN_A, TOKEN_B]],
  )
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([tokensRegistered([TOKEN_A], V2_VAULT)]), facts).pools,
    [],
  )
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([tokensRegistered([TOKEN_A, TOKEN_B], ROUTER)]), facts)
      .pools,
    [],
  )
  const bad = tokensRegistered([TOKEN_A, TOKEN_B])
  assert.deepEqual(reasons([{ ...bad, data: `0x${'f'.repeat(64)}${bad.data.slice(66)}` }]), [
    'bad-array',
  ])
})

const LIQUIDITY = 'address,address,uint8,uint256,uint256[],uint256[]'
const liquidity = (
  name: string,
  amounts: readonly bigint[],
  vault = V3_VAULT,
): Omit<Log, 'index'> => ({
  address: vault,
  topics: [
    toEventSelector(`${name}(${LIQUIDITY})`),
    addressTopic(POOL),
    addressTopic(USER),
    `0x${'1'.padStart(64, '0')}`,
  ],
  data: encodeAbiParameters(parseAbiParameters('uint256, uint256[], uint256[]'), [
    99n,
    amounts,
    amounts,
  ]),
})
const v3Fact: PoolMetadata = {
  ...buildPoolMetadata('balancer_v3'),
  coins: [TOKEN_A, TOKEN_B, TOKEN_C],
}
const known = buildDecodeContext('facts', [v3Fact])

for (const [name, kind] of [
  ['LiquidityAdded', 'increase'],
  ['LiquidityRemoved', 'decrease'],
] as const) {
  test(`${name} of V3 lists amounts of the pool's own tokens`, () => {
    assert.deepEqual(changes([liquidity(name, [1n, 0n, 3n])], known), [
      [kind, POOL, TOKEN_A, 1n, TOKEN_B, 0n],
      [kind, POOL, TOKEN_A, 0n, TOKEN_C, 3n],
    ])
    assert.deepEqual(reasons([liquidity(name, [1n, 2n])]), ['unknown-pool'])
    assert.deepEqual(reasons([liquidity(name, [1n, 2n, 3n, 4n])], known), ['unknown-token'])
    assert.deepEqual(reasons([liquidity(name, [1n, HUGE, 3n])], known), ['impossible-amount'])
    assert.deepEqual(reasons([liquidity(name, [1n, 2n, 3n], USER)], known), ['unlisted-contract'])
    assert.deepEqual(changes([liquidity(name, [0n, 0n, 0n])], known), [])
    const good = liquidity(name, [1n, 2n, 3n])
    const long = `${good.data.slice(0, 2 + 64 * 3)}${'f'.repeat(64)}${good.data.slice(2 + 64 * 4)}`
    assert.deepEqual(reasons([{ ...good, data: long }], known), ['bad-array'])
    assert.deepEqual(reasons([{ ...good, data: good.data.slice(0, 2 + 64 * 4) }], known), [
      'truncated-data',
    ])
  })
}

test('without a node, liquidity amounts of V3 are matched to tokens by transfers into and out of the Vault', () => {
  const moves = [transferLog(TOKEN_A, USER, V3_VAULT, 1n), transferLog(TOKEN_B, USER, V3_VAULT, 2n)]
  const other = transferLog(TOKEN_C, USER, V3_VAULT, 5n)
  const log = liquidity('LiquidityAdded', [2n, 1n])
  assert.deepEqual(changes([...moves, other, log], evidence), [
    ['increase', POOL, TOKEN_B, 2n, TOKEN_A, 1n],
  ])
  assert.deepEqual(reasons([log], evidence), ['no-matching-transfers'])
  assert.deepEqual(reasons([other, log], evidence), ['no-matching-transfers'])
})

const POOL_REGISTERED = parseAbi([
  'struct TokenConfig { address token; uint8 tokenType; address rateProvider; bool paysYieldFees }',
  'struct Roles { address pauseManager; address swapFeeManager; address poolCreator }',
  'struct Hooks { bool a; bool b; bool c; bool d; bool e; bool f; bool g; bool h; bool i; bool j; address hooks }',
  'struct Management { bool a; bool b; bool c; bool d }',
  'event PoolRegistered(address indexed pool, address indexed factory, TokenConfig[] tokenConfig, uint256 swapFeePercentage, uint32 pauseWindowEndTime, Roles roleAccounts, Hooks hooksConfig, Management liquidityManagement)',
])[0]
const no = false
const registered = (tokens: readonly string[], vault = V3_VAULT): Omit<Log, 'index'> => ({
  address: vault,
  topics: [toEventSelector(POOL_REGISTERED), addressTopic(POOL), addressTopic(ROUTER)],
  data: encodeAbiParameters(
    POOL_REGISTERED.inputs.slice(2) as Parameters<typeof encodeAbiParameters>[0],
    [
      tokens.map((token) => ({
        token,
        tokenType: 1,
        rateProvider: USER,
        paysYieldFees: true,
      })),
      10n ** 15n,
      1_900_000_000,
      { pauseManager: USER, swapFeeManager: USER, poolCreator: USER },
      { a: no, b: no, c: no, d: no, e: no, f: no, g: no, h: no, i: no, j: no, hooks: USER },
      { a: no, b: no, c: no, d: no },
    ],
  ),
})

test('a V3 pool is proven by its registration and opens when it is initialized', () => {
  const opened = buildLog(
    V3_VAULT,
    [toEventSelector('PoolInitialized(address)'), addressTopic(POOL)],
    [],
  )
  const tokens = [TOKEN_A, TOKEN_B, TOKEN_C]
  const { pools, poolChanges } = decodeBlock(
    buildSingleTransactionBlock([registered(tokens), opened]),
    facts,
  )
  assert.deepEqual(pools, [{ ...v3Fact, factory: V3_VAULT, feePips: null }])
  assert.deepEqual(
    poolChanges.map(({ kind, logIndex, tokenA, tokenB }) => [kind, logIndex, tokenA, tokenB]),
    [['initialize', 1, TOKEN_A, TOKEN_B]],
  )
  assert.deepEqual(reasons([opened]), ['unknown-pool'])
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([registered(tokens, USER)]), facts).pools,
    [],
  )
  const cut = registered(tokens)
  assert.deepEqual(reasons([{ ...cut, data: cut.data.slice(0, -64) }]), ['bad-array'])
  assert.deepEqual(reasons([{ ...cut, data: cut.data.slice(0, 2 + 64 * 21) }]), ['truncated-data'])
})

test('Wrap and Unwrap logs around a swap of a boosted pool are not swaps', () => {
  const logs = ['Wrap', 'Unwrap'].map((name) =>
    buildLog(
      V3_VAULT,
      [toEventSelector(`${name}(address,uint256,uint256,bytes32)`), addressTopic(TOKEN_A)],
      [1n, 1n, `0x${'00'.repeat(32)}`],
    ),
  )
  const { swaps, dropped } = decodeBlock(buildSingleTransactionBlock(logs), evidence)
  assert.deepEqual([swaps, dropped], [[], []])
})

test('pool lookups are made only for logs of a listed Vault', () => {
  const subjects = (logs: Logs) =>
    requiredLookups(buildSingleTransactionBlock(logs), facts.protocols).pools
  assert.deepEqual(subjects([v2Swap([1n, 1n])]), [{ address: POOL, family: 'balancer_v2' }])
  assert.deepEqual(subjects([v3Swap([1n, 1n, 1n, 1n])]), [{ address: POOL, family: 'balancer_v3' }])
  assert.deepEqual(subjects([{ ...v2Swap([1n, 1n]), address: ROUTER }]), [])
  assert.deepEqual(subjects([v3Swap([1n, 1n, 1n, 1n], V2_VAULT)]), [])
})
