import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import type { LaunchVenue, PoolMetadata } from '../../schemas/events.ts'
import {
  addressTopic,
  buildDecodeContext,
  POOL,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  TOPIC,
  transferLog,
  USER,
} from '../support/builders/dex-logs.ts'
import {
  buildEventLog,
  dropReasons,
  type LogWithoutIndex,
  withDataWord,
  withoutLastByte,
} from '../support/builders/evm-event-log.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const CORE = '0xebe7b6c1089d9f72ad07f34e36d898e44e5e27f3'
const WBNB = '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c'
const PAIR_FACTORY = '0xca143ce32fe78f1f7019d7d551a6402fc5350c73'
const COIN = `0x${'0'.repeat(40)}`
const VAULT = `0x${'f1'.repeat(20)}`
const MODULE = `0x${'f2'.repeat(20)}`
const CALLER = `0x${'f3'.repeat(20)}`
const TOKEN = TOKEN_A
const QUOTE = TOKEN_B
const SUPPLY = 10n ** 27n
const SALE = 79n * 10n ** 25n
const MAX = (1n << 256n) - 1n

const CREATED =
  'TokenCreated(uint256 requestId, uint256 indexed presetId, address indexed creator, address indexed token, string name, string symbol, uint256 maxSupply, uint256 saleAmount, uint256 raiseAmount, uint256 initialPrice, address quoteAsset, address vault, address curveModule, address tradeModule, address migrateModule, address customData, address tokenModule, string tokenMetaUri, uint256 flags, bytes encodedTags)'
const EXECUTED =
  'TradeExecuted(address indexed token, address indexed trader, uint256 indexed presetId, bool isBuy, address quoteAsset, address vault, uint256 requestedTokenAmount, uint256 tokenAmount, uint256 curveQuoteAmount, uint256 traderQuoteAmount, uint256 lastPrice, uint256 slippageLimit, uint256 protocolFee, uint256 taxFee, uint256 devFee, uint256 antiSniperFee, uint256 totalRaised, uint256 remainingForSale)'
const MIGRATED =
  'MigrateExecuted(uint256 indexed presetId, address indexed caller, address indexed token, address vault, address migrateModule, bytes8 migrateTagId, uint256 totalRaised, uint256 remainingForSale, bytes32 hookDataHash, uint8 migratedDataVersion, bytes encodedMigratedData)'

const bsc = (
  proof: DecodeContext['verification'],
  ...facts: readonly PoolMetadata[]
): DecodeContext => buildDecodeContext(proof, facts, 'bsc')
const decode = (logs: readonly LogWithoutIndex[], books = bsc('facts')) =>
  decodeBlock(buildSingleTransactionBlock(logs), books)

interface Made {
  readonly name?: string
  readonly symbol?: string
  readonly supply?: bigint
  readonly sale?: bigint
  readonly quote?: string
  readonly by?: string
}
const created = ({
  name = 'Coin',
  symbol = 'C',
  supply = SUPPLY,
  sale = SALE,
  quote = WBNB,
  by = CORE,
}: Made = {}) =>
  buildEventLog(by, CREATED, [
    ...[7n, 3n, USER, TOKEN, name, symbol, supply, sale, 18n, 5n, quote, VAULT],
    ...[MODULE, MODULE, MODULE, COIN, MODULE, 'https://example.org/t.json', 1n, '0x01'],
  ])

interface Trade {
  readonly buys?: boolean
  readonly quote?: string
  readonly amount?: bigint
  readonly curve?: bigint
  readonly by?: string
}
/** Asked for 900 tokens, got `amount`; fees of 1, 2, 3 and, on a purchase, 4 beside what the curve took or gave. */
const executed = ({ buys = true, quote = QUOTE, amount = 700n, curve = 50n, by = CORE }: Trade) =>
  buildEventLog(by, EXECUTED, [
    ...[TOKEN, USER, 3n, buys, quote, VAULT, 900n, amount, curve, buys ? curve + 10n : curve - 6n],
    ...[8n, 99n, 1n, 2n, 3n, buys ? 4n : 0n, 450n, 6_000n],
  ])
const migrated = (by = CORE) =>
  buildEventLog(by, MIGRATED, [
    ...[3n, CALLER, TOKEN, VAULT, MODULE, '0x0102030405060708', 450n, 0n, `0x${'05'.repeat(32)}`],
    ...[1, `0x${POOL.slice(2).padStart(64, '0')}`],
  ])

test('a purchase and a sale have amounts without fees, the trader and the reserves left', () => {
  for (const proof of ['facts', 'evidence'] as const) {
    const { swaps, dropped } = decode([executed({}), executed({ buys: false })], bsc(proof))
    assert.deepEqual(dropped, [])
    const common = {
      kind: 'swap',
      txIndex: 0,
      pool: TOKEN,
      vault: VAULT,
      protocol: 'open_four',
      trader: USER,
    } as const
    assert.deepEqual(swaps, [
      {
        ...common,
        logIndex: 0,
        tokenIn: QUOTE,
        tokenOut: TOKEN,
        amountInRaw: 50n,
        amountOutRaw: 700n,
        reservesInOut: [450n, 6_000n],
      },
      {
        ...common,
        logIndex: 1,
        tokenIn: TOKEN,
        tokenOut: QUOTE,
        amountInRaw: 700n,
        amountOutRaw: 50n,
        reservesInOut: [6_000n, 450n],
      },
    ])
  }
})

test('the native token trades under its wrapped address, whichever address the event has', () => {
  const { swaps } = decode([executed({ quote: WBNB }), executed({ quote: COIN, buys: false })])
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut }) => [tokenIn, tokenOut]),
    [
      [WBNB, TOKEN],
      [TOKEN, WBNB],
    ],
  )
})

test('a token creation opens its curve with the supply for sale, in the vault of the launchpad', () => {
  const { tokenCreations, pools, poolChanges, swaps, dropped } = decode([created(), executed({})])
  assert.deepEqual(dropped, [])
  assert.deepEqual(tokenCreations, [
    {
      kind: 'token-created',
      txIndex: 0,
      logIndex: 0,
      metadata: { address: TOKEN, name: 'Coin', symbol: 'C', decimals: 18, totalSupplyRaw: SUPPLY },
      dev: USER,
      creators: [USER],
      launch: { protocol: 'open_four', pool: TOKEN },
    },
  ])
  assert.deepEqual(pools, [
    {
      address: TOKEN,
      tokenA: TOKEN,
      tokenB: WBNB,
      protocol: 'open_four',
      factory: CORE,
      feePips: null,
      verified: true,
    },
  ])
  assert.deepEqual(poolChanges, [
    {
      kind: 'initialize',
      txIndex: 0,
      logIndex: 0,
      pool: TOKEN,
      vault: VAULT,
      protocol: 'open_four',
      tokenA: TOKEN,
      tokenB: WBNB,
      amountARaw: SALE,
      amountBRaw: 0n,
      reserves: [SALE, 0n],
      owner: buildSingleTransactionBlock([created()]).transactions[0]?.from,
    },
  ])
  assert.deepEqual(
    swaps.map(({ logIndex }) => logIndex),
    [1],
    'what its maker bought with it',
  )
})

test('token names and symbols are cleaned, and empty ones are null', () => {
  const { tokenCreations } = decode([created({ name: 'a\u0000\u202eb', symbol: '' })])
  assert.deepEqual(
    tokenCreations.map(({ metadata: fact }) => [fact.name, fact.symbol]),
    [['ab', null]],
  )
})

test('no curve is looked up at a node: the launchpad logs name all of them', () => {
  const { pools } = requiredLookups(
    buildSingleTransactionBlock([created(), executed({}), migrated()]),
    protocolRegistry('bsc'),
  )
  assert.deepEqual(pools, [])
})

test('launchpad events of unlisted contracts are dropped', () => {
  const by = ROUTER
  const decoded = decode([created({ by }), executed({ by }), migrated(by)])
  assert.deepEqual(dropReasons(decoded), new Array(3).fill('unlisted-contract'))
  assert.deepEqual(
    [...decoded.swaps, ...decoded.tokenCreations, ...decoded.migrations, ...decoded.pools],
    [],
  )
})

const BAD: readonly (readonly [string, LogWithoutIndex, string])[] = [
  ['a purchase of nothing', executed({ amount: 0n, curve: 0n }), 'zero-amount'],
  ['a sale of everything there is', executed({ buys: false, amount: MAX }), 'impossible-amount'],
  ['a trade that neither buys nor sells', withDataWord(executed({}), 0, 2n), 'unknown-side'],
  ['a token that is paid in itself', executed({ quote: TOKEN }), 'same-token'],
  ['a cut trade', withoutLastByte(executed({})), 'truncated-data'],
  [
    'a cut migration',
    { ...migrated(), data: migrated().data.slice(0, 2 + 7 * 64) },
    'truncated-data',
  ],
  [
    'a creation without its texts',
    { ...created(), data: created().data.slice(0, 2 + 17 * 64) },
    'bad-array',
  ],
  [
    'a creation without its last word',
    { ...created(), data: created().data.slice(0, 2 + 16 * 64) },
    'truncated-data',
  ],
  ['a name that lies outside', withDataWord(created(), 1, 1n << 40n), 'bad-array'],
  ['a symbol at an odd place', withDataWord(created(), 2, 609n), 'bad-array'],
  ['a name without an end', withDataWord(created(), 17, 1n << 255n), 'bad-array'],
  ['a supply that cannot be', created({ supply: MAX }), 'impossible-amount'],
  ['a sale of more than can be', created({ sale: 1n << 255n }), 'impossible-amount'],
]

for (const [what, log, reason] of BAD) {
  test(`${what} is refused: ${reason}`, () => {
    const decoded = decode([log])
    assert.deepEqual(dropReasons(decoded), [reason])
    const { swaps, tokenCreations, migrations, poolChanges } = decoded
    assert.deepEqual([...swaps, ...tokenCreations, ...migrations, ...poolChanges], [])
  })
}

test('a longer layout is decoded, another topic count is another event, a failed transaction gives nothing', () => {
  const longer = { ...executed({}), data: `${executed({}).data}${'0'.repeat(64)}` }
  assert.equal(decode([longer]).swaps.length, 1)
  const fewer = { ...executed({}), topics: executed({}).topics.slice(0, 3) }
  assert.deepEqual(decode([fewer]).swaps, [])
  const failed = buildSingleTransactionBlock([executed({}), created()], { success: false })
  assert.deepEqual(decodeBlock(failed, bsc('facts')).tokenCreations, [])
})

const [low = '', high = ''] = [TOKEN, WBNB].sort()
const paired = buildLog(
  PAIR_FACTORY,
  [TOPIC.pairCreated, addressTopic(low), addressTopic(high)],
  [POOL, 1n],
)
const filled = buildLog(POOL, [TOPIC.v2Mint, addressTopic(MODULE)], [200n, 20n])
const pairFact: PoolMetadata = {
  address: POOL,
  tokenA: low,
  tokenB: high,
  protocol: 'pancakeswap_v2',
  factory: PAIR_FACTORY,
  feePips: 2500,
  verified: true,
}
const moved = { protocol: 'pancakeswap_v2', pool: POOL }
const MIGRATIONS: readonly (readonly [
  string,
  readonly LogWithoutIndex[],
  readonly PoolMetadata[],
  number,
  LaunchVenue | null,
])[] = [
  ['into a pool that it makes', [paired, filled, migrated()], [], 2, moved],
  [
    'into a pool that was there, by the purchase that completes the curve',
    [executed({ quote: WBNB }), transferLog(TOKEN, VAULT, POOL, 200n), filled, migrated()],
    [pairFact],
    3,
    moved,
  ],
  ['without a pool in sight', [migrated()], [], 0, null],
]

for (const [what, logs, facts, logIndex, to] of MIGRATIONS) {
  test(`a migration ${what}`, () => {
    const decoded = decode(logs, bsc('facts', ...facts))
    assert.deepEqual(dropReasons(decoded), [])
    assert.deepEqual(decoded.migrations, [
      {
        kind: 'migration',
        txIndex: 0,
        logIndex,
        token: TOKEN,
        from: { protocol: 'open_four', pool: TOKEN },
        to,
      },
    ])
  })
}
