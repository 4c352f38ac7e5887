import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAbiParameters, encodeFunctionData, getAddress, parseAbi } from 'viem'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import type { CallAnswer } from '../../ingestors/evm/abi/call.ts'
import {
  confirmCalls,
  poolCalls,
  startVerification,
  verifiedPool,
} from '../../ingestors/evm/metadata/pool-verification.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import type { PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import {
  addressTopic,
  POOL,
  ROUTER,
  TOKEN_A,
  TOPIC,
  transferLog,
  USER,
  v2SwapLog,
} from '../support/builders/dex-logs.ts'
import {
  buildEventLog,
  dropReasons,
  type LogWithoutIndex,
  withoutLastByte,
} from '../support/builders/evm-event-log.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const BONDING = '0xf66dea7b3e897cd44a5a231c61b6b4423d613259'
const FOURTH = '0xa31bd6a0edbc4da307b8fa92bd6cf39e0fae262c'
const CURVE_FACTORY = '0x488db0978b34c6fd901760b9024b565c1117c7c8'
const NEWEST = '0x1a540088125d00dd3990f9da45ca0859af4d3b01'
const VIRTUAL = '0x0b3e328455c4059eeb9e3f84b5543f74e24e7e1b'
const PAIR_FACTORY = `0x${'fa'.repeat(20)}`
const AGENT = `0x${'0c'.repeat(20)}`
const UNISWAP_PAIR = `0x${'cd'.repeat(20)}`
const SENDER = `0x${'f0'.repeat(20)}`
const TOKEN = TOKEN_A
const MAX = (1n << 256n) - 1n

const protocols = protocolRegistry('base', {
  factories: [{ protocol: 'uniswap_v2', factory: PAIR_FACTORY }],
  quotes: [],
  referencePools: [],
  replace: false,
})
const curve: PoolMetadata = {
  address: POOL,
  tokenA: TOKEN,
  tokenB: VIRTUAL,
  protocol: 'virtuals',
  factory: BONDING,
  feePips: null,
  verified: true,
}
const booksOf = (
  proof: DecodeContext['verification'],
  ...facts: readonly PoolMetadata[]
): DecodeContext => ({
  verification: proof,
  protocols,
  pool: (address) => facts.find((fact) => fact.address === address),
})
const decode = (logs: readonly LogWithoutIndex[], books = booksOf('facts')) =>
  decodeBlock(buildSingleTransactionBlock(logs), books)

const PARAMS = '(uint8,uint16,bool,uint8,bool) launchParams'
const params = [1, 500, true, 2, false]
const HEAD = 'address indexed token, address indexed pair, uint256 virtualId'
const launched = (by = BONDING) => buildEventLog(by, `Launched(${HEAD})`, [TOKEN, POOL, 5n])
const preLaunched = (by = BONDING) =>
  buildEventLog(by, `PreLaunched(${HEAD}, uint256 initialPurchase)`, [TOKEN, POOL, 5n, 9n])
const opened = (by = BONDING) =>
  buildEventLog(by, `Launched(${HEAD}, uint256 initialPurchase, uint256 initialPurchasedAmount)`, [
    ...[TOKEN, POOL, 5n, 9n, 70n],
  ])
const newestPreLaunched = (by = NEWEST) =>
  buildEventLog(by, `PreLaunched(${HEAD}, uint256 initialPurchase, ${PARAMS})`, [
    ...[TOKEN, POOL, 5n, 9n, params],
  ])
const newestOpened = (by = NEWEST) =>
  buildEventLog(
    by,
    `Launched(${HEAD}, uint256 initialPurchase, uint256 initialPurchasedAmount, ${PARAMS})`,
    [TOKEN, POOL, 5n, 9n, 70n, params],
  )
const swap = (...amounts: readonly [bigint, bigint, bigint, bigint]) =>
  buildEventLog(
    POOL,
    'Swap(uint256 amount0In, uint256 amount0Out, uint256 amount1In, uint256 amount1Out)',
    amounts,
  )
const graduated = (agent = TOKEN, by = BONDING) =>
  buildEventLog(by, 'Graduated(address indexed token, address agentToken)', [TOKEN, agent])
const sold = swap(50n, 0n, 0n, 8n)
const bought = swap(0n, 70n, 9n, 0n)

const pairs = (logs: readonly LogWithoutIndex[], books: DecodeContext) => {
  const decoded = decode(logs, books)
  assert.deepEqual(decoded.dropped, [])
  return decoded.swaps.map(({ tokenIn, amountInRaw, tokenOut, amountOutRaw, trader }) => [
    tokenIn,
    amountInRaw,
    tokenOut,
    amountOutRaw,
    trader,
  ])
}

test('Virtuals: a curve event lists the token amounts before the VIRTUAL amounts', () => {
  assert.deepEqual(pairs([bought, sold], booksOf('facts', curve)), [
    [VIRTUAL, 9n, TOKEN, 70n, SENDER],
    [TOKEN, 50n, VIRTUAL, 8n, SENDER],
  ])
})

test('Virtuals: without a node, transfers name the tokens, in any order of addresses', () => {
  const above = `0x${'ff'.repeat(20)}`
  for (const token of [TOKEN, above]) {
    const logs = [transferLog(VIRTUAL, USER, POOL, 9n), transferLog(token, POOL, USER, 70n), bought]
    assert.deepEqual(pairs(logs, booksOf('evidence')), [[VIRTUAL, 9n, token, 70n, SENDER]])
  }
  assert.deepEqual(dropReasons(decode([bought], booksOf('evidence'))), ['no-matching-transfers'])
})

test('Virtuals: a pool that no listed contract created is not a curve', () => {
  assert.deepEqual(dropReasons(decode([bought])), ['unknown-pool'])
  const unproven = { ...curve, verified: false, protocol: null }
  assert.deepEqual(dropReasons(decode([bought], booksOf('facts', unproven))), ['unverified-pool'])
  const uniswap = { ...curve, protocol: 'uniswap_v2' }
  assert.deepEqual(dropReasons(decode([bought], booksOf('facts', uniswap))), ['unlisted-contract'])
  assert.deepEqual(requiredLookups(buildSingleTransactionBlock([bought]), protocols).pools, [
    { address: POOL, family: 'virtuals' },
  ])
})

const REFUSED: readonly (readonly [string, LogWithoutIndex, string])[] = [
  ['nothing', swap(0n, 0n, 0n, 0n), 'zero-amount'],
  ['the token went in and out', swap(7n, 7n, 0n, 0n), 'zero-amount'],
  ['both were paid', swap(9n, 0n, 9n, 0n), 'zero-amount'],
  ['too much', swap(MAX, 0n, 0n, 1n), 'impossible-amount'],
  ['cut', withoutLastByte(bought), 'truncated-data'],
]

for (const [what, log, reason] of REFUSED) {
  test(`Virtuals: a swap is refused, ${what}: ${reason}`, () => {
    const decoded = decode([log], booksOf('facts', curve))
    assert.deepEqual(decoded.swaps, [])
    assert.deepEqual(dropReasons(decoded), [reason])
  })
}

const named: TokenMetadata = {
  address: TOKEN,
  name: 'Agent',
  symbol: 'A',
  decimals: 18,
  totalSupplyRaw: 10n ** 27n,
}
const nameless = { ...named, name: null, symbol: null, decimals: null, totalSupplyRaw: null }

test('Virtuals: a launch of the first version creates the token and opens its curve, which is proven from then on', () => {
  const { tokenCreations, pools, poolChanges, swaps, dropped } = decode([launched(), bought])
  assert.deepEqual(dropped, [])
  assert.deepEqual(tokenCreations, [
    {
      kind: 'token-created',
      txIndex: 0,
      logIndex: 0,
      metadata: nameless,
      dev: SENDER,
      creators: [SENDER],
      launch: { protocol: 'virtuals', pool: POOL },
    },
  ])
  assert.deepEqual(pools, [curve])
  assert.deepEqual(
    poolChanges.map(({ kind, tokenA, tokenB, reserves }) => [kind, tokenA, tokenB, reserves]),
    [['initialize', TOKEN, VIRTUAL, undefined]],
  )
  assert.equal(swaps.length, 1)
})

test('token metadata comes from the token contract', () => {
  const { tokenCreations } = decode([launched()], {
    ...booksOf('facts'),
    token: (address) => (address === TOKEN ? named : undefined),
  })
  assert.deepEqual(tokenCreations[0]?.metadata, named)
})

for (const [version, made, opening] of [
  ['second', preLaunched(), opened()],
  ['fourth', preLaunched(FOURTH), opened(FOURTH)],
  ['newest', newestPreLaunched(), newestOpened()],
] as const) {
  test(`Virtuals, ${version} version: a token is created first and launched later, after the first purchase`, () => {
    const before = decode([made])
    assert.deepEqual([before.tokenCreations.length, before.pools.length], [1, 1])
    assert.deepEqual([...before.poolChanges, ...before.dropped], [])
    const after = decode([bought, opening])
    assert.deepEqual([...after.tokenCreations, ...after.dropped], [])
    assert.deepEqual(
      after.poolChanges.map(({ kind, pool }) => [kind, pool]),
      [['initialize', POOL]],
    )
    assert.equal(after.swaps.length, 1, 'the launch proves the curve of its whole transaction')
  })
}

/** PairCreated of Uniswap V2, which factories of curves log too. */
const madeBy = (factory: string, tokens: readonly [string, string] = [TOKEN, VIRTUAL]) =>
  buildLog(factory, [TOPIC.pairCreated, ...tokens.map(addressTopic)], [POOL, 1n])

test('Virtuals: a curve of a listed factory is proven from then on and is not a Uniswap pair', () => {
  const { pools, swaps, tokenCreations, poolChanges, dropped } = decode([
    madeBy(CURVE_FACTORY),
    bought,
  ])
  assert.deepEqual(pools, [{ ...curve, factory: CURVE_FACTORY }])
  assert.deepEqual(
    swaps.map(({ protocol, tokenIn, tokenOut }) => [protocol, tokenIn, tokenOut]),
    [['virtuals', VIRTUAL, TOKEN]],
  )
  assert.deepEqual([...tokenCreations, ...poolChanges, ...dropped], [], 'its launch opens it')
  const above = `0x${'ff'.repeat(20)}`
  const unordered = decode([madeBy(CURVE_FACTORY, [above, VIRTUAL]), sold])
  assert.deepEqual(
    unordered.swaps.map(({ tokenIn }) => tokenIn),
    [above],
  )
  const asPair = decode([madeBy(CURVE_FACTORY), v2SwapLog([9n, 0n, 0n, 7n], POOL)])
  assert.deepEqual(dropReasons(asPair), ['unlisted-contract'])
})

test('Virtuals: a Uniswap pair, a pair of an unlisted factory and a truncated event give no curve', () => {
  const pair = decode([madeBy(PAIR_FACTORY), bought])
  assert.deepEqual(
    pair.pools.map(({ protocol }) => protocol),
    ['uniswap_v2'],
  )
  assert.deepEqual(dropReasons(pair), ['unlisted-contract'])
  const unlisted = decode([madeBy(ROUTER), bought])
  assert.deepEqual(unlisted.pools, [])
  assert.deepEqual(dropReasons(unlisted), ['unknown-pool'])
  const short = decode([
    withoutLastByte({ ...madeBy(CURVE_FACTORY), data: `0x${'00'.repeat(32)}` }),
  ])
  assert.deepEqual([short.pools, dropReasons(short)], [[], ['truncated-data']])
})

test('Virtuals: a curve created and launched in one transaction is proven by both events', () => {
  const { pools, tokenCreations, swaps, dropped } = decode([
    madeBy(CURVE_FACTORY),
    bought,
    launched(),
  ])
  assert.deepEqual(pools, [{ ...curve, factory: CURVE_FACTORY }, curve])
  assert.deepEqual([tokenCreations.length, swaps.length, dropped.length], [1, 1, 0])
})

test('Virtuals: launch events of unlisted contracts and truncated events are refused', () => {
  const all = [launched, preLaunched, opened, newestPreLaunched, newestOpened]
  const foreign = decode([...all.map((log) => log(ROUTER)), graduated(TOKEN, ROUTER)])
  assert.deepEqual(dropReasons(foreign), new Array(6).fill('unlisted-contract'))
  assert.deepEqual([...foreign.tokenCreations, ...foreign.pools, ...foreign.migrations], [])
  const short = decode([
    ...all.map((log) => ({ ...log(), data: '0x' })),
    withoutLastByte(graduated()),
  ])
  assert.deepEqual(dropReasons(short), new Array(6).fill('truncated-data'))
  const failed = buildSingleTransactionBlock([launched()], { success: false })
  assert.deepEqual(decodeBlock(failed, booksOf('facts')).tokenCreations, [])
})

const uniswap = (token: string): readonly LogWithoutIndex[] => {
  const [low = '', high = ''] = [token, VIRTUAL].sort()
  return [
    buildLog(
      PAIR_FACTORY,
      [TOPIC.pairCreated, addressTopic(low), addressTopic(high)],
      [UNISWAP_PAIR, 1n],
    ),
    buildLog(UNISWAP_PAIR, [TOPIC.v2Mint, addressTopic(ROUTER)], [1n, 1n]),
  ]
}

for (const [what, agent] of [
  ['under its own name', TOKEN],
  ['as another token', AGENT],
] as const) {
  test(`Virtuals: a token graduates ${what} from the curve that sold the last of it`, () => {
    const { migrations, dropped } = decode(
      [bought, ...uniswap(agent), v2SwapLog([9n, 0n, 0n, 7n], UNISWAP_PAIR), graduated(agent)],
      booksOf('facts', curve),
    )
    assert.deepEqual(dropped, [])
    assert.deepEqual(migrations, [
      {
        kind: 'migration',
        txIndex: 0,
        logIndex: 4,
        token: TOKEN,
        from: { protocol: 'virtuals', pool: POOL },
        to: { protocol: 'uniswap_v2', pool: UNISWAP_PAIR },
      },
    ])
  })
}

test('Virtuals: a graduation names the curve and the pool that the transaction shows', () => {
  const alone = decode([...uniswap(TOKEN), graduated()])
  assert.deepEqual(
    alone.migrations.map(({ from }) => from.pool),
    [''],
  )
  const nowhere = decode([bought, graduated()], booksOf('facts', curve))
  assert.deepEqual(
    nowhere.migrations.map(({ from, to }) => [from.pool, to]),
    [[POOL, null]],
  )
})

const ABI = parseAbi([
  'function tokenA() view returns (address)',
  'function tokenB() view returns (address)',
  'function getPair(address, address) view returns (address)',
  'function tokenInfo(address) view returns (address creator, address token, address pair, address agentToken)',
])
const subject = { address: POOL, family: 'virtuals' }
const listed = protocols.protocolsEmitting('virtuals').map(({ factory }) => factory)
const reverted: CallAnswer = { kind: 'reverted' }
const addresses = (...of: readonly string[]): CallAnswer => ({
  kind: 'value',
  data: encodeAbiParameters(
    of.map(() => ({ type: 'address' })),
    of.map((address) => getAddress(address)),
  ),
})
const tokens = [addresses(TOKEN), addresses(VIRTUAL)]
const open = (answers: readonly CallAnswer[]) => {
  const found = startVerification(subject, protocols, answers)
  assert.ok(typeof found === 'object')
  return found
}
const nothing: readonly CallAnswer[] = listed.flatMap(() => [reverted, reverted])
const info = (token: string, pair: string) => addresses(USER, token, pair, AGENT)

test('curve lookups call the curve for its tokens, and listed contracts for the curve', () => {
  assert.deepEqual(
    poolCalls(subject, protocols).map(({ to, data }) => [to, data]),
    (['tokenA', 'tokenB'] as const).map((functionName) => [
      POOL,
      encodeFunctionData({ abi: ABI, functionName }),
    ]),
  )
  const [token, virtual] = [getAddress(TOKEN), getAddress(VIRTUAL)]
  assert.equal(listed.length, 8)
  assert.deepEqual(
    confirmCalls(open(tokens)),
    listed.flatMap((to) => [
      {
        to,
        data: encodeFunctionData({ abi: ABI, functionName: 'getPair', args: [token, virtual] }),
      },
      { to, data: encodeFunctionData({ abi: ABI, functionName: 'tokenInfo', args: [token] }) },
    ]),
  )
})

test('Virtuals: a curve that a listed contract names is proven; its own answers are not enough', () => {
  const verificationOf = (answers: readonly CallAnswer[]) => verifiedPool(open(tokens), answers)
  listed.forEach((factory, index) => {
    const proven = { ...curve, factory }
    assert.deepEqual(verificationOf(nothing.with(2 * index, addresses(POOL))), proven)
    assert.deepEqual(verificationOf(nothing.with(2 * index + 1, info(TOKEN, POOL))), proven)
  })
  const unproven = { ...curve, protocol: null, factory: null, verified: false }
  for (const answers of [
    nothing,
    nothing.with(0, addresses(ROUTER)),
    nothing.with(1, info(TOKEN, ROUTER)),
    nothing.with(1, info(AGENT, POOL)),
    nothing.with(1, addresses(POOL)),
    [],
  ]) {
    assert.deepEqual(verificationOf(answers), unproven)
  }
  assert.equal(verifiedPool(open([reverted, addresses(VIRTUAL)]), nothing), 'no-pool')
  assert.deepEqual(confirmCalls(open([addresses(TOKEN), reverted])), [])
})
