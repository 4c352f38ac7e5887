import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toEventSelector } from 'viem'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { Log, PoolMetadata } from '../../schemas/events.ts'
import {
  addressTopic,
  buildDecodeContext,
  buildPoolMetadata,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  transferLog,
  USER,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

/** Trades a token of its own for shares of BASE, whose coins are TOKEN_B and TOKEN_A. */
const META = `0x${'31'.repeat(20)}`
const BASE = `0x${'32'.repeat(20)}`
/** A pool that lends its coins out. */
const LENDING = `0x${'33'.repeat(20)}`
const OWN = `0x${'41'.repeat(20)}`
const SHARE = `0x${'42'.repeat(20)}`
const [LENT_A, LENT_B] = [`0x${'43'.repeat(20)}`, `0x${'44'.repeat(20)}`]

const fact = (more: Partial<PoolMetadata>): PoolMetadata => ({
  ...buildPoolMetadata('curve'),
  ...more,
})
const FACTS = {
  meta: fact({ address: META, tokenA: OWN, tokenB: SHARE, underlying: [OWN, TOKEN_B, TOKEN_A] }),
  base: fact({ address: BASE, tokenA: TOKEN_B, tokenB: TOKEN_A }),
  lending: fact({
    address: LENDING,
    tokenA: LENT_A,
    tokenB: LENT_B,
    underlying: [OWN, TOKEN_B, TOKEN_A],
  }),
} as const
const known = buildDecodeContext('facts', Object.values(FACTS))

type Sold = readonly [place: bigint, amount: bigint]
const STABLE = 'TokenExchange(address,int128,uint256,int128,uint256)'
const LAYOUTS: readonly (readonly [string, readonly bigint[]])[] = [
  [STABLE, []],
  ['TokenExchange(address,uint256,uint256,uint256,uint256)', []],
  ['TokenExchange(address,uint256,uint256,uint256,uint256,uint256,uint256)', [1n, 2n]],
]
const exchange = (
  { pool = BASE, buyer = META, event = STABLE, rest = [] as readonly bigint[] },
  sold: Sold = [0n, 10n],
  bought: Sold = [1n, 7n],
): Omit<Log, 'index'> =>
  buildLog(pool, [toEventSelector(event), addressTopic(buyer)], [...sold, ...bought, ...rest])
const underlying = (pool = META, sold: Sold = [1n, 10n], bought: Sold = [2n, 7n]) =>
  exchange(
    {
      pool,
      buyer: ROUTER,
      event: 'TokenExchangeUnderlying(address,int128,uint256,int128,uint256)',
    },
    sold,
    bought,
  )

const taken = (logs: readonly Omit<Log, 'index'>[], books = known) => {
  const { swaps, dropped } = decodeBlock(buildSingleTransactionBlock(logs), books)
  return [
    ...swaps.map(({ pool, tokenIn, tokenOut }) => [pool, tokenIn, tokenOut]),
    ...dropped.map(({ reason }) => reason),
  ]
}
const BASE_TRADE = [BASE, TOKEN_B, TOKEN_A]
const META_TRADE = [META, TOKEN_B, TOKEN_A]

for (const [event, rest] of LAYOUTS) {
  test(`a trade that a metapool passed on is that of its base pool alone: ${event}`, () => {
    assert.deepEqual(taken([exchange({ event, rest }), underlying()]), [BASE_TRADE])
  })
}

test('without a node the exchange of the metapool is still not a second trade', () => {
  const moves = [
    transferLog(TOKEN_B, USER, META, 10n),
    transferLog(TOKEN_B, META, BASE, 10n),
    transferLog(TOKEN_A, BASE, META, 7n),
  ]
  const logs = [...moves, exchange({}), transferLog(TOKEN_A, META, USER, 7n), underlying()]
  assert.deepEqual(taken(logs, buildDecodeContext('evidence')), [BASE_TRADE])
})

test('each route has its own trade of the base pool', () => {
  const again: readonly [Sold, Sold] = [
    [0n, 20n],
    [1n, 13n],
  ]
  const second = underlying(META, [1n, 20n], [2n, 13n])
  const logs = [exchange({}), underlying(), exchange({}, ...again), second]
  assert.deepEqual(taken(logs), [BASE_TRADE, BASE_TRADE])
})

test('an exchange through a lending pool is a trade of that pool', () => {
  assert.deepEqual(taken([underlying(LENDING)]), [[LENDING, TOKEN_B, TOKEN_A]])
  assert.deepEqual(taken([exchange({}), underlying(LENDING)]), [
    BASE_TRADE,
    [LENDING, TOKEN_B, TOKEN_A],
  ])
})

test('a trade of a token of its own is the metapool’s', () => {
  const deposit = buildLog(
    BASE,
    [
      toEventSelector('AddLiquidity(address,uint256[2],uint256[2],uint256,uint256)'),
      addressTopic(META),
    ],
    [10n, 0n, 0n, 0n, 9n, 9n],
  )
  assert.deepEqual(taken([deposit, underlying(META, [1n, 10n], [0n, 7n])]), [[META, TOKEN_B, OWN]])
})

const APART: readonly (readonly [string, readonly Omit<Log, 'index'>[]])[] = [
  ['was bought by another', [exchange({ buyer: ROUTER }), underlying()]],
  ['took another amount', [exchange({}, [0n, 11n]), underlying()]],
  ['gave another amount', [exchange({}, [0n, 10n], [1n, 8n]), underlying()]],
]

for (const [what, logs] of APART) {
  test(`a trade of the base pool that ${what} does not hide the exchange of the metapool`, () => {
    assert.deepEqual(taken(logs), [BASE_TRADE, META_TRADE])
  })
}

test('a base pool trade that comes later, or was dropped, does not hide the exchange', () => {
  assert.deepEqual(taken([underlying(), exchange({})]), [META_TRADE, BASE_TRADE])
  const cut = exchange({})
  assert.deepEqual(taken([{ ...cut, data: cut.data.slice(0, -2) }, underlying()]), [
    META_TRADE,
    'truncated-data',
  ])
  assert.deepEqual(taken([exchange({ pool: USER }), underlying()]), [META_TRADE, 'unknown-pool'])
  assert.deepEqual(
    taken([exchange({ pool: META, event: STABLE }), underlying()]),
    [[META, OWN, SHARE], META_TRADE],
    'its own',
  )
})
