import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toEventSelector } from 'viem'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
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

/** Sorts below TOKEN_A: a Curve pool does not order its coins by address. */
const TOKEN_C = `0x${'01'.repeat(20)}`
const DAI = `0x${'da'.repeat(20)}`
const COIN = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const NG_FACTORY = '0x98ee851a00abee0d95d08cf4ca2bdce32aeaaf7f'
const TRI_FACTORY = '0x0c0e5f2ff0ff18a3be9b835635039256dc4b4963'
const TRADER = `0x${'f0'.repeat(20)}`
const HUGE = 1n << 255n

type Sides = readonly (bigint | string)[]
const said = (event: string, words: Sides, pool = POOL): Omit<Log, 'index'> =>
  buildLog(pool, [toEventSelector(event), addressTopic(ROUTER)], words)

const fact = (more: Partial<PoolMetadata> = {}): PoolMetadata => ({
  ...buildPoolMetadata('curve'),
  tokenA: TOKEN_B,
  tokenB: TOKEN_A,
  ...more,
})
const pair = buildDecodeContext('facts', [fact()])
const three = buildDecodeContext('facts', [fact({ coins: [TOKEN_B, TOKEN_A, TOKEN_C] })])
const evidence = buildDecodeContext('evidence')

const EXCHANGES = {
  stable: 'TokenExchange(address,int128,uint256,int128,uint256)',
  underlying: 'TokenExchangeUnderlying(address,int128,uint256,int128,uint256)',
  crypto: 'TokenExchange(address,uint256,uint256,uint256,uint256)',
  ng: 'TokenExchange(address,uint256,uint256,uint256,uint256,uint256,uint256)',
} as const
const exchange = (
  kind: keyof typeof EXCHANGES,
  sold: readonly [bigint, bigint],
  bought: readonly [bigint, bigint],
): Omit<Log, 'index'> =>
  said(EXCHANGES[kind], [...sold, ...bought, ...(kind === 'ng' ? [1n, 2n] : [])])

const sides = (logs: readonly Omit<Log, 'index'>[], books = pair) => {
  const { swaps, dropped } = decodeBlock(buildSingleTransactionBlock(logs), books)
  return [
    ...swaps.map(({ tokenIn, amountInRaw, tokenOut, amountOutRaw }) => [
      tokenIn,
      amountInRaw,
      tokenOut,
      amountOutRaw,
    ]),
    ...dropped.map(({ reason }) => reason),
  ]
}
const changes = (logs: readonly Omit<Log, 'index'>[], books = pair) => {
  const { poolChanges, dropped } = decodeBlock(buildSingleTransactionBlock(logs), books)
  return [
    ...poolChanges.map(({ kind, tokenA, amountARaw, tokenB, amountBRaw }) => [
      kind,
      tokenA,
      amountARaw,
      tokenB,
      amountBRaw,
    ]),
    ...dropped.map(({ reason }) => reason),
  ]
}

for (const kind of ['stable', 'crypto', 'ng'] as const) {
  test(`an exchange of a ${kind} pool names its coins by their index`, () => {
    const { swaps } = decodeBlock(
      buildSingleTransactionBlock([exchange(kind, [1n, 10n], [0n, 7n])]),
      pair,
    )
    assert.deepEqual(swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        pool: POOL,
        protocol: 'curve',
        trader: TRADER,
        tokenIn: TOKEN_A,
        tokenOut: TOKEN_B,
        amountInRaw: 10n,
        amountOutRaw: 7n,
      },
    ])
  })
}

test('an underlying exchange takes the list of underlying coins', () => {
  const log = exchange('underlying', [0n, 10n], [2n, 7n])
  const meta = buildDecodeContext('facts', [fact({ underlying: [TOKEN_B, DAI, TOKEN_C] })])
  assert.deepEqual(sides([log], meta), [[TOKEN_B, 10n, TOKEN_C, 7n]])
  assert.deepEqual(sides([log], pair), ['unknown-token'], 'a pool without such a list')
})

test('the native token trades under its wrapped address', () => {
  const books = buildDecodeContext('facts', [fact({ tokenA: COIN })])
  assert.deepEqual(sides([exchange('stable', [0n, 10n], [1n, 7n])], books), [
    [WETH, 10n, TOKEN_A, 7n],
  ])
})

const REFUSED: readonly (readonly [
  string,
  readonly [bigint, bigint],
  readonly [bigint, bigint],
  string,
])[] = [
  ['nothing', [0n, 0n], [1n, 0n], 'zero-amount'],
  ['more than there can be', [0n, HUGE], [1n, 7n], 'impossible-amount'],
  ['the largest number', [0n, 10n], [1n, -1n], 'impossible-amount'],
  ['a coin that the pool does not have', [0n, 10n], [2n, 7n], 'unknown-token'],
  ['a place below zero', [-1n, 10n], [1n, 7n], 'unknown-token'],
  ['a coin for itself', [1n, 10n], [1n, 7n], 'same-token'],
]

for (const [what, sold, bought, reason] of REFUSED) {
  test(`an exchange of ${what} is dropped`, () => {
    assert.deepEqual(sides([exchange('stable', sold, bought)]), [reason])
  })
}

test('truncated data, other topic counts, failed transactions, unlisted and unverified pools give no trade', () => {
  const log = exchange('ng', [0n, 10n], [1n, 7n])
  assert.deepEqual(sides([{ ...log, data: log.data.slice(0, -2) }]), ['truncated-data'])
  assert.deepEqual(sides([{ ...log, data: `${log.data}ff` }]), [[TOKEN_B, 10n, TOKEN_A, 7n]])
  for (const topics of [log.topics.slice(0, 1), [...log.topics, addressTopic(USER)]]) {
    assert.deepEqual(sides([{ ...log, topics }]), [])
  }
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([log], { success: false }), pair).swaps,
    [],
  )
  assert.deepEqual(sides([log], buildDecodeContext('facts')), ['unknown-pool'])
  assert.deepEqual(sides([log], buildDecodeContext('facts', [fact({ verified: false })])), [
    'unverified-pool',
  ])
  assert.deepEqual(sides([log], buildDecodeContext('facts', [buildPoolMetadata('uniswap_v2')])), [
    'unlisted-contract',
  ])
})

test('without a node, transfers of the exact amounts name the coins, in any order of addresses', () => {
  const log = exchange('stable', [0n, 10n], [1n, 7n])
  const into = transferLog(TOKEN_B, USER, POOL, 10n)
  const out = transferLog(TOKEN_A, POOL, USER, 7n)
  assert.deepEqual(sides([into, out, log], evidence), [[TOKEN_B, 10n, TOKEN_A, 7n]])
  assert.deepEqual(sides([out, log], evidence), [[null, 10n, TOKEN_A, 7n]], 'the coin was paid')
  assert.deepEqual(sides([log], evidence), ['no-matching-transfers'])
  assert.deepEqual(
    sides([transferLog(TOKEN_A, POOL, USER, 6n), log], evidence),
    ['no-matching-transfers'],
    'one side of another amount',
  )
})

test('a transfer of another amount does not name a coin: the side without a matching log stays unknown', () => {
  const log = exchange('ng', [2n, 1_000n], [1n, 500n])
  const paid = transferLog(TOKEN_B, USER, POOL, 1_000n)
  const taken = transferLog(TOKEN_C, POOL, USER, 9_000n)
  assert.deepEqual(sides([taken, paid, log], evidence), [[TOKEN_B, 1_000n, null, 500n]])
  const fee = transferLog(TOKEN_C, POOL, USER, 499n)
  assert.deepEqual(
    sides([fee, paid, log], evidence),
    [[TOKEN_B, 1_000n, TOKEN_C, 500n]],
    'a token that takes a fee of its own',
  )
})

test('without a node, an underlying exchange of a lending pool is matched by the transfers of its lender', () => {
  const ZERO = `0x${'0'.repeat(40)}`
  const [lentA, lentB] = [TOKEN_A, TOKEN_B]
  const moves = [
    transferLog(DAI, USER, POOL, 10n),
    transferLog(DAI, POOL, lentA, 10n),
    transferLog(lentA, ZERO, POOL, 10n),
    transferLog(lentB, POOL, ZERO, 7n),
    transferLog(TOKEN_C, lentB, USER, 7n),
  ]
  const log = exchange('underlying', [0n, 10n], [1n, 7n])
  assert.deepEqual(sides([...moves, log], evidence), [[DAI, 10n, TOKEN_C, 7n]])
  assert.deepEqual(
    sides([...moves.slice(0, 4), log], evidence),
    [[DAI, 10n, null, 7n]],
    'nobody saw the lender pay',
  )
})

test('an old metapool sells the base pool share that it minted for the deposit', () => {
  const ZERO = `0x${'0'.repeat(40)}`
  const log = exchange('underlying', [3n, 90n], [0n, 95n])
  const moves = [
    transferLog(DAI, USER, POOL, 8n),
    transferLog(DAI, POOL, TOKEN_A, 8n),
    transferLog(TOKEN_A, ZERO, POOL, 90n),
    transferLog(TOKEN_C, POOL, USER, 95n),
  ]
  assert.deepEqual(sides([...moves, log], evidence), [[TOKEN_A, 90n, TOKEN_C, 95n]])
})

test('of two adjacent transfer logs for one move, the second one names the token', () => {
  const into = transferLog(TOKEN_B, USER, POOL, 10n)
  const moves = [transferLog(TOKEN_C, POOL, USER, 7n), transferLog(TOKEN_A, POOL, USER, 7n)]
  const log = exchange('stable', [0n, 10n], [1n, 7n])
  assert.deepEqual(sides([into, ...moves, log], evidence), [[TOKEN_B, 10n, TOKEN_A, 7n]])
  const [first, second] = moves
  assert.ok(first && second)
  assert.deepEqual(
    sides([first, into, second, log], evidence),
    [[TOKEN_B, 10n, null, 7n]],
    'apart from each other they are two moves',
  )
})

/** Signature, how many words stand behind the amounts, and what it does. */
const TOLD: readonly (readonly [string, number, number, 'increase' | 'decrease'])[] = [
  ...[2, 3, 4].map(
    (count) =>
      [
        `AddLiquidity(address,uint256[${count}],uint256[${count}],uint256,uint256)`,
        count,
        count + 2,
        'increase',
      ] as const,
  ),
  ...[2, 3, 4].map(
    (count) =>
      [
        `RemoveLiquidityImbalance(address,uint256[${count}],uint256[${count}],uint256,uint256)`,
        count,
        count + 2,
        'decrease',
      ] as const,
  ),
  ...[2, 3, 4].map(
    (count) =>
      [
        `RemoveLiquidity(address,uint256[${count}],uint256[${count}],uint256)`,
        count,
        count + 1,
        'decrease',
      ] as const,
  ),
  ...[2, 3].flatMap(
    (count) =>
      [
        [`AddLiquidity(address,uint256[${count}],uint256,uint256)`, count, 2, 'increase'],
        [`AddLiquidity(address,uint256[${count}],uint256,uint256,uint256)`, count, 3, 'increase'],
        [`RemoveLiquidity(address,uint256[${count}],uint256)`, count, 1, 'decrease'],
      ] as const,
  ),
]

const coinsOf = (count: number): readonly string[] =>
  [TOKEN_B, TOKEN_A, TOKEN_C, DAI].slice(0, count)
/** Each further coin stands beside the first, whose amount is told once. */
const paired = (kind: string, amounts: readonly bigint[]) =>
  amounts
    .slice(1)
    .map((amount, at) => [
      kind,
      TOKEN_B,
      at === 0 ? amounts[0] : 0n,
      coinsOf(amounts.length)[at + 1],
      amount,
    ])

for (const [event, count, tail, kind] of TOLD) {
  test(`${event} lists the amount of each coin`, () => {
    const amounts = Array.from({ length: count }, (_, at) => 10n + BigInt(at))
    const rest = Array.from({ length: tail }, () => 99n)
    const books = buildDecodeContext('facts', [fact({ coins: coinsOf(count) })])
    const log = said(event, [...amounts, ...rest])
    assert.deepEqual(changes([log], books), paired(kind, amounts))
    assert.deepEqual(changes([{ ...log, data: log.data.slice(0, -64) }], books), ['truncated-data'])
    assert.deepEqual(changes([said(event, [...amounts.map(() => 0n), ...rest])], books), [])
    assert.deepEqual(changes([said(event, [HUGE, ...amounts.slice(1), ...rest])], books), [
      'impossible-amount',
    ])
  })
}

test('liquidity of pools with donations: the receiver is a topic of its own, and a donation is counted once', () => {
  const added = (words: Sides) =>
    buildLog(
      POOL,
      [
        toEventSelector('AddLiquidity(address,address,uint256[2],uint256,uint256,uint256)'),
        addressTopic(ROUTER),
        addressTopic(USER),
      ],
      words,
    )
  const log = added([10n, 11n, 1n, 99n, 5n])
  const increase = [['increase', TOKEN_B, 10n, TOKEN_A, 11n]]
  assert.deepEqual(changes([log]), increase)
  assert.deepEqual(changes([{ ...log, data: log.data.slice(0, -64) }]), ['truncated-data'])
  assert.deepEqual(changes([{ ...log, topics: log.topics.slice(0, 2) }]), [])
  assert.deepEqual(changes([added([0n, 0n, 1n, 99n, 5n])]), [])
  assert.deepEqual(changes([added([10n, HUGE, 1n, 99n, 5n])]), ['impossible-amount'])
  const donated = said('Donation(address,uint256[2])', [10n, 11n])
  assert.deepEqual(changes([donated, log]), increase, 'a donation is told once')
  const imbalance = 'RemoveLiquidityImbalance(address,uint256,uint256[2],uint256,uint256)'
  const removed = said(imbalance, [99n, 10n, 11n, 1n, 5n])
  assert.deepEqual(changes([removed]), [['decrease', TOKEN_B, 10n, TOKEN_A, 11n]])
  assert.deepEqual(changes([said(imbalance, [99n, 0n, 11n, 1n, 5n])]), [
    ['decrease', TOKEN_B, 0n, TOKEN_A, 11n],
  ])
  assert.deepEqual(changes([{ ...removed, data: removed.data.slice(0, -64) }]), ['truncated-data'])
  assert.deepEqual(changes([said(imbalance, [99n, 0n, 0n, 1n, 5n])]), [])
  assert.deepEqual(changes([said(imbalance, [99n, 10n, -1n, 1n, 5n])]), ['impossible-amount'])
})

const LISTS: readonly (readonly [string, number, 'increase' | 'decrease'])[] = [
  ['AddLiquidity(address,uint256[],uint256[],uint256,uint256)', 4, 'increase'],
  ['RemoveLiquidityImbalance(address,uint256[],uint256[],uint256,uint256)', 4, 'decrease'],
  ['RemoveLiquidity(address,uint256[],uint256[],uint256)', 3, 'decrease'],
]

for (const [event, head, kind] of LISTS) {
  test(`${event} lists what each coin was`, () => {
    const at = 32n * BigInt(head)
    const tail = Array.from({ length: head - 2 }, () => 99n)
    const log = (offset: bigint, ...list: readonly bigint[]) =>
      said(event, [offset, at, ...tail, ...list])
    assert.deepEqual(changes([log(at, 3n, 10n, 0n, 12n)], three), paired(kind, [10n, 0n, 12n]))
    assert.deepEqual(changes([log(at, 2n, 10n, 11n)], pair), paired(kind, [10n, 11n]))
    assert.deepEqual(changes([log(at, 2n, 0n, 0n)], pair), [], 'nothing moved')
    for (const bad of [
      log(at, 3n, 10n, 11n),
      log(at, HUGE, 10n, 11n),
      log(at, 65n, ...Array.from({ length: 65 }, () => 1n)),
      log(at + 1n, 2n, 10n, 11n),
      log(at + 320n, 2n, 10n, 11n),
      log(-32n, 2n, 10n, 11n),
    ]) {
      assert.deepEqual(changes([bad], pair), ['bad-array'])
    }
    assert.deepEqual(changes([log(at, 2n, 10n, -1n)], pair), ['impossible-amount'])
    assert.deepEqual(
      changes([log(at, 3n, 10n, 11n, 12n)], pair),
      ['unknown-token'],
      'more amounts than coins',
    )
    assert.deepEqual(changes([log(at, 0n, 0n, 0n)], pair), [], 'no coin at all')
  })
}

const ONE = {
  first: 'RemoveLiquidityOne(address,uint256,uint256)',
  second: 'RemoveLiquidityOne(address,uint256,uint256,uint256)',
  stableNg: 'RemoveLiquidityOne(address,int128,uint256,uint256,uint256)',
  cryptoNg: 'RemoveLiquidityOne(address,uint256,uint256,uint256,uint256,uint256)',
} as const

test('a single withdrawn coin is listed by its index, beside another coin with zero', () => {
  const gone = [['decrease', TOKEN_A, 7n, TOKEN_B, 0n]]
  assert.deepEqual(changes([said(ONE.stableNg, [1n, 50n, 7n, 99n])], three), gone)
  assert.deepEqual(changes([said(ONE.cryptoNg, [50n, 1n, 7n, 1n, 2n])], three), gone)
  assert.deepEqual(
    changes([said(ONE.stableNg, [0n, 50n, 7n, 99n])], three),
    [['decrease', TOKEN_B, 7n, TOKEN_A, 0n]],
    'the first one stands beside the second',
  )
  assert.deepEqual(changes([said(ONE.stableNg, [-1n, 50n, 7n, 99n])], three), ['unknown-token'])
  assert.deepEqual(changes([said(ONE.stableNg, [3n, 50n, 7n, 99n])], three), ['unknown-token'])
  assert.deepEqual(changes([said(ONE.cryptoNg, [50n, 1n, 7n, 1n])], three), ['truncated-data'])
  assert.deepEqual(changes([said(ONE.stableNg, [1n, 50n, 0n, 99n])], three), [])
})

test('a single withdrawn coin without an index is the one that left the pool in this exact amount', () => {
  const out = transferLog(TOKEN_C, POOL, USER, 70n)
  const gone = [['decrease', TOKEN_C, 70n, TOKEN_B, 0n]]
  for (const log of [said(ONE.first, [50n, 70n]), said(ONE.second, [50n, 70n, 99n])]) {
    assert.deepEqual(changes([out, log], three), gone)
    assert.deepEqual(changes([log], three), ['unknown-token'], 'the coin, or nothing')
    assert.deepEqual(changes([transferLog(TOKEN_C, POOL, USER, 71n), log], three), [
      'unknown-token',
    ])
    assert.deepEqual(changes([transferLog(DAI, POOL, USER, 70n), log], three), ['unknown-token'])
    assert.deepEqual(changes([transferLog(TOKEN_C, USER, POOL, 70n), log], three), [
      'unknown-token',
    ])
    assert.deepEqual(
      changes(
        [out, transferLog(DAI, ROUTER, USER, 1n), transferLog(TOKEN_A, POOL, USER, 70n), log],
        three,
      ),
      ['unknown-token'],
      'two coins left in this amount',
    )
  }
})

test('of two layouts of one withdrawal event the amount that left the pool decides', () => {
  const crypto = said(ONE.second, [50n, 2n, 70n])
  assert.deepEqual(changes([transferLog(TOKEN_C, POOL, USER, 70n), crypto], three), [
    ['decrease', TOKEN_C, 70n, TOKEN_B, 0n],
  ])
  assert.deepEqual(
    changes([transferLog(TOKEN_C, POOL, USER, 2n), said(ONE.second, [1n, 2n, 1_000_000n])], three),
    ['unknown-token'],
    "a pool's supply is never an amount",
  )
})

test('without a node, amounts of a liquidity change are matched to coins only by transfers of the exact amounts', () => {
  const log = said('AddLiquidity(address,uint256[2],uint256[2],uint256,uint256)', [
    ...[10n, 11n],
    ...[0n, 0n, 9n, 9n],
  ])
  const into = [transferLog(TOKEN_B, USER, POOL, 10n), transferLog(TOKEN_A, USER, POOL, 11n)]
  assert.deepEqual(changes([...into, log], evidence), [['increase', TOKEN_B, 10n, TOKEN_A, 11n]])
  assert.deepEqual(changes([...into.slice(1), log], evidence), ['unknown-token'])
  assert.deepEqual(changes([log], evidence), ['no-matching-transfers'])
  const same = said('AddLiquidity(address,uint256[2],uint256[2],uint256,uint256)', [
    ...[10n, 10n],
    ...[0n, 0n, 9n, 9n],
  ])
  const alike = [TOKEN_B, TOKEN_A].map((token) => transferLog(token, USER, POOL, 10n))
  assert.deepEqual(
    changes([...alike, same], evidence),
    ['no-matching-transfers'],
    'of two amounts that are the same nobody knows which is which',
  )
  const back = into.map((each) => ({
    ...each,
    topics: [each.topics[0] ?? '', ...each.topics.slice(1).reverse()],
  }))
  assert.deepEqual(changes([...back, log], evidence), ['no-matching-transfers'], 'the wrong way')
})

test('pools are verified by the factory event that names them', () => {
  const two = (factory: string) =>
    buildLog(
      factory,
      [
        toEventSelector(
          'TwocryptoPoolDeployed(address,string,string,address[2],address,bytes32,uint256[2],uint256,uint256,uint256,uint256,address)',
        ),
      ],
      [POOL, 0n, 0n, TOKEN_B, COIN, ...Array.from({ length: 9 }, () => 0n)],
    )
  const tri = buildLog(
    TRI_FACTORY,
    [
      toEventSelector(
        'TricryptoPoolDeployed(address,string,string,address,address[3],address,bytes32,uint256,uint256,uint256,uint256,uint256,address)',
      ),
    ],
    [POOL, 0n, 0n, WETH, TOKEN_B, TOKEN_A, TOKEN_C, ...Array.from({ length: 8 }, () => 0n)],
  )
  const log = exchange('ng', [0n, 10n], [1n, 7n])
  const made = decodeBlock(
    buildSingleTransactionBlock([two(NG_FACTORY), log]),
    buildDecodeContext('facts'),
  )
  assert.deepEqual(made.pools, [
    {
      address: POOL,
      tokenA: TOKEN_B,
      tokenB: WETH,
      protocol: 'curve',
      factory: NG_FACTORY,
      feePips: null,
      verified: true,
    },
  ])
  assert.deepEqual(
    made.poolChanges.map(({ kind }) => kind),
    ['initialize'],
  )
  assert.deepEqual(sides([two(NG_FACTORY), log], buildDecodeContext('facts')), [
    [TOKEN_B, 10n, WETH, 7n],
  ])
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([tri]), buildDecodeContext('facts')).pools.map(
      ({ coins }) => coins,
    ),
    [[TOKEN_B, TOKEN_A, TOKEN_C]],
  )
  assert.deepEqual(sides([two(USER), log], buildDecodeContext('facts')), ['unknown-pool'])
  assert.deepEqual(sides([{ ...two(NG_FACTORY), data: '0x' }], buildDecodeContext('facts')), [
    'truncated-data',
  ])
})
