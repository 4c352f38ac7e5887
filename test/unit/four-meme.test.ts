import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodeEventLog,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  parseAbi,
} from 'viem'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import {
  poolCalls,
  startVerification,
  verifiedPool,
} from '../../ingestors/evm/metadata/pool-verification.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import type { LaunchVenue, PoolMetadata } from '../../schemas/events.ts'
import {
  addressTopic,
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
  expectedLog,
  type LogWithoutIndex,
  recordedLog,
  withDataWord,
  withoutLastByte,
} from '../support/builders/evm-event-log.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const MANAGER = '0x5c952063c7fc8610ffdb798152d69f0b9550762b'
const FIRST_MANAGER = '0xec4549cadce5da21df6e6422d448034b5233bfbc'
const WBNB = '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c'
const COIN = `0x${'0'.repeat(40)}`
const PAIR_FACTORY = `0x${'fa'.repeat(20)}`
const TOKEN = TOKEN_A
const QUOTE = TOKEN_B
const MAX = (1n << 256n) - 1n

const CREATE =
  'TokenCreate(address creator, address token, uint256 requestId, string name, string symbol, uint256 totalSupply, uint256 launchTime, uint256 launchFee)'
const SECOND =
  '(address token, address account, uint256 price, uint256 amount, uint256 cost, uint256 fee, uint256 offers, uint256 funds)'
const FIRST = '(address token, address account, uint256 tokenAmount, uint256 etherAmount)'

const protocols = protocolRegistry('bsc', {
  factories: [{ protocol: 'pancakeswap_v2', factory: PAIR_FACTORY }],
  quotes: [{ address: WBNB, symbol: 'WBNB', decimals: 18, kind: 'native' }],
  referencePools: [],
  replace: false,
})
const curve = (quote: string): PoolMetadata => ({
  address: TOKEN,
  tokenA: TOKEN,
  tokenB: quote,
  protocol: 'four_meme',
  factory: MANAGER,
  feePips: null,
  verified: true,
})
const booksOf = (
  proof: DecodeContext['verification'],
  ...facts: readonly PoolMetadata[]
): DecodeContext => ({
  verification: proof,
  protocols,
  pool: (address) => facts.find((fact) => fact.address === address),
})
const decode = (logs: readonly LogWithoutIndex[], books: DecodeContext) =>
  decodeBlock(buildSingleTransactionBlock(logs), books)

interface Trade {
  readonly amount?: bigint
  readonly cost?: bigint
}
const trade = (name: string, { amount = 700n, cost = 10n }: Trade = {}, by = MANAGER) =>
  buildEventLog(by, name + SECOND, [TOKEN, USER, 5n, amount, cost, 1n, 900n, 40n])
const firstTrade = (name: string, { amount = 700n, cost = 10n }: Trade = {}, by = FIRST_MANAGER) =>
  buildEventLog(by, name + FIRST, [TOKEN, USER, amount, cost])
/** As the deployed contract logs it. */
const paidTrade = (name: string) =>
  buildEventLog(FIRST_MANAGER, `${name}${FIRST.slice(0, -1)}, uint256 fee)`, [
    TOKEN,
    USER,
    700n,
    10n,
    1n,
  ])
const create = (name = 'Coin', symbol = 'C', by = MANAGER) =>
  buildEventLog(by, CREATE, [USER, TOKEN, 7n, name, symbol, 10n ** 27n, 1n, 0n])
const tradeStop = buildEventLog(MANAGER, 'TradeStop(address token)', [TOKEN])
const liquidityAdded = buildEventLog(
  MANAGER,
  'LiquidityAdded(address base, uint256 offers, address quote, uint256 funds)',
  [TOKEN, 200n, COIN, 20n],
)

test('the recorded creation is read as its expectation and as another decoder read it', () => {
  const name = 'log_fourmeme_tokencreate.json'
  const { block, log } = recordedLog('bsc', name)
  const { tokenCreations, dropped } = decodeBlock(block, booksOf('evidence'))
  const [birth] = tokenCreations
  assert.ok(birth)
  const { tokenCreation: said } = expectedLog(`bsc/${name}`) as {
    tokenCreation: Record<string, string>
  }
  const { args } = decodeEventLog({
    abi: parseAbi([`event ${CREATE}`] as readonly string[]),
    topics: log.topics as [Hex],
    data: log.data as Hex,
  }) as unknown as { args: Record<string, string | bigint> }
  assert.deepEqual(
    [
      birth.metadata.address,
      birth.dev,
      birth.metadata.name,
      birth.metadata.symbol,
      birth.metadata.totalSupplyRaw,
    ],
    [
      String(args.token).toLowerCase(),
      String(args.creator).toLowerCase(),
      args.name,
      args.symbol,
      args.totalSupply,
    ],
  )
  assert.deepEqual(
    [birth.metadata.address, birth.dev, birth.metadata.name, birth.metadata.symbol],
    [said.token?.toLowerCase(), said.creator?.toLowerCase(), said.name, said.symbol],
  )
  assert.equal(birth.metadata.totalSupplyRaw, BigInt(said.totalSupply ?? ''))
  assert.deepEqual(birth.launch, { protocol: 'four_meme', pool: birth.metadata.address })
  assert.deepEqual(
    dropped.map(({ reason }) => reason),
    ['no-matching-transfers'],
    'a log alone does not tell what its curve is paid in',
  )
})

test('a purchase and a sale: the quote of the token, amounts without the fee, the account, what is left', () => {
  const { swaps, dropped } = decode(
    [trade('TokenPurchase'), trade('TokenSale')],
    booksOf('facts', curve(QUOTE)),
  )
  assert.deepEqual(dropped, [])
  const common = {
    kind: 'swap',
    txIndex: 0,
    pool: TOKEN,
    vault: MANAGER,
    protocol: 'four_meme',
    trader: USER,
  } as const
  assert.deepEqual(swaps, [
    {
      ...common,
      logIndex: 0,
      tokenIn: QUOTE,
      tokenOut: TOKEN,
      amountInRaw: 10n,
      amountOutRaw: 700n,
      reservesInOut: [40n, 900n],
    },
    {
      ...common,
      logIndex: 1,
      tokenIn: TOKEN,
      tokenOut: QUOTE,
      amountInRaw: 700n,
      amountOutRaw: 10n,
      reservesInOut: [900n, 40n],
    },
  ])
})

test('a curve that is paid in the coin trades against the wrapped coin', () => {
  const { swaps } = decode([trade('TokenPurchase')], booksOf('facts', curve(COIN)))
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut }) => [tokenIn, tokenOut]),
    [[WBNB, TOKEN]],
  )
})

test('trades of the first contract are always paid in the native token and need no metadata', () => {
  for (const form of [paidTrade, firstTrade]) {
    const { swaps, dropped } = decode([form('TokenPurchase'), form('TokenSale')], booksOf('facts'))
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      swaps.map((swap) => [
        swap.tokenIn,
        swap.amountInRaw,
        swap.tokenOut,
        swap.amountOutRaw,
        swap.trader,
        swap.pool,
      ]),
      [
        [WBNB, 10n, TOKEN, 700n, USER, TOKEN],
        [TOKEN, 700n, WBNB, 10n, USER, TOKEN],
      ],
    )
  }
})

const bought = transferLog(TOKEN, MANAGER, USER, 700n)
const sold = transferLog(TOKEN, USER, MANAGER, 700n)
const EVIDENCE: readonly (readonly [
  string,
  readonly LogWithoutIndex[],
  readonly [string | null, string | null],
])[] = [
  [
    'paid in a token',
    [transferLog(QUOTE, USER, MANAGER, 10n), bought, trade('TokenPurchase')],
    [QUOTE, TOKEN],
  ],
  ['paid in the coin', [bought, trade('TokenPurchase')], [WBNB, TOKEN]],
  [
    'paid in a token, the fee with it',
    [transferLog(QUOTE, USER, MANAGER, 11n), bought, trade('TokenPurchase')],
    [null, TOKEN],
  ],
  [
    'sold for a token',
    [sold, transferLog(QUOTE, MANAGER, USER, 10n), trade('TokenSale')],
    [TOKEN, QUOTE],
  ],
  ['sold for the coin', [sold, trade('TokenSale')], [TOKEN, WBNB]],
  ['a log alone', [trade('TokenPurchase')], [null, TOKEN]],
  [
    'the same amount of another token beside it',
    [sold, transferLog(QUOTE, USER, MANAGER, 700n), trade('TokenSale')],
    [TOKEN, WBNB],
  ],
]

for (const [what, logs, tokens] of EVIDENCE) {
  test(`without a node, ${what}`, () => {
    const { swaps, dropped } = decode(logs, booksOf('evidence'))
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      swaps.map(({ tokenIn, tokenOut }) => [tokenIn, tokenOut]),
      [tokens],
    )
  })
}

test('with facts a trade on a curve that its contract does not verify is dropped', () => {
  const reasons = (...facts: readonly PoolMetadata[]) =>
    dropReasons(decode([trade('TokenPurchase')], booksOf('facts', ...facts)))
  assert.deepEqual(reasons(), ['unknown-pool'])
  assert.deepEqual(reasons({ ...curve(QUOTE), verified: false, protocol: null }), [
    'unverified-pool',
  ])
  assert.deepEqual(reasons({ ...curve(QUOTE), protocol: 'uniswap_v2' }), ['unlisted-contract'])
})

test('launchpad events of unlisted contracts are dropped', () => {
  const logs = [
    create('Coin', 'C', ROUTER),
    trade('TokenPurchase', {}, ROUTER),
    trade('TokenSale', {}, ROUTER),
    firstTrade('TokenPurchase', {}, ROUTER),
    firstTrade('TokenSale', {}, ROUTER),
    { ...tradeStop, address: ROUTER },
    { ...liquidityAdded, address: ROUTER },
  ]
  const decoded = decode(logs, booksOf('facts', curve(QUOTE)))
  assert.deepEqual(dropReasons(decoded), new Array(7).fill('unlisted-contract'))
  assert.deepEqual([...decoded.swaps, ...decoded.tokenCreations, ...decoded.migrations], [])
})

const BAD: readonly (readonly [string, LogWithoutIndex, string])[] = [
  ['a purchase of nothing', trade('TokenPurchase', { amount: 0n, cost: 0n }), 'zero-amount'],
  ['a sale of everything there is', trade('TokenSale', { amount: MAX }), 'impossible-amount'],
  [
    'a first purchase of nothing',
    firstTrade('TokenPurchase', { amount: 0n, cost: 0n }),
    'zero-amount',
  ],
  ['a first sale of too much', firstTrade('TokenSale', { amount: MAX }), 'impossible-amount'],
  ['a cut purchase', withoutLastByte(trade('TokenPurchase')), 'truncated-data'],
  ['a cut first sale', withoutLastByte(firstTrade('TokenSale')), 'truncated-data'],
  ['a cut first sale with its fee', withoutLastByte(paidTrade('TokenSale')), 'truncated-data'],
  ['a cut stop', withoutLastByte(tradeStop), 'truncated-data'],
  ['a cut migration', withoutLastByte(liquidityAdded), 'truncated-data'],
  [
    'a creation without its texts',
    { ...create(), data: create().data.slice(0, 2 + 7 * 64) },
    'truncated-data',
  ],
  ['a name that lies outside', withDataWord(create(), 3, 1n << 40n), 'bad-array'],
  ['a name at an odd place', withDataWord(create(), 3, 257n), 'bad-array'],
  ['a symbol without an end', withDataWord(create(), 10, 1n << 255n), 'bad-array'],
]

for (const [what, log, reason] of BAD) {
  test(`${what} is refused: ${reason}`, () => {
    const decoded = decode([log], booksOf('facts', curve(QUOTE)))
    assert.deepEqual(dropReasons(decoded), [reason])
    assert.deepEqual([...decoded.swaps, ...decoded.tokenCreations, ...decoded.poolChanges], [])
  })
}

test('a longer layout is decoded, another topic count is another event, a failed transaction gives nothing', () => {
  const longer = {
    ...trade('TokenPurchase'),
    data: `${trade('TokenPurchase').data}${'0'.repeat(64)}`,
  }
  const books = booksOf('facts', curve(QUOTE))
  assert.equal(decode([longer], books).swaps.length, 1)
  const indexed = {
    ...trade('TokenSale'),
    topics: [...trade('TokenSale').topics, addressTopic(TOKEN)],
  }
  assert.deepEqual(decode([indexed], books).swaps, [])
  const failed = buildSingleTransactionBlock([trade('TokenSale'), create()], { success: false })
  assert.deepEqual(decodeBlock(failed, books).tokenCreations, [])
})

test('a token creation opens its curve with the supply for sale', () => {
  const { tokenCreations, poolChanges, dropped } = decode([create()], booksOf('facts', curve(COIN)))
  assert.deepEqual(dropped, [])
  assert.deepEqual(tokenCreations, [
    {
      kind: 'token-created',
      txIndex: 0,
      logIndex: 0,
      metadata: {
        address: TOKEN,
        name: 'Coin',
        symbol: 'C',
        decimals: 18,
        totalSupplyRaw: 10n ** 27n,
      },
      dev: USER,
      creators: [USER],
      launch: { protocol: 'four_meme', pool: TOKEN },
    },
  ])
  const left = 8n * 10n ** 26n
  assert.deepEqual(
    poolChanges.map(({ kind, pool, tokenA, tokenB, amountARaw, amountBRaw, reserves }) => [
      kind,
      pool,
      tokenA,
      tokenB,
      amountARaw,
      amountBRaw,
      reserves,
    ]),
    [['initialize', TOKEN, TOKEN, WBNB, left, 0n, [left, 0n]]],
  )
})

test('token names and symbols are cleaned, and empty ones are null', () => {
  const { tokenCreations } = decode([create('a\u0000\u202eb', '')], booksOf('facts', curve(COIN)))
  assert.deepEqual(
    tokenCreations.map(({ metadata: fact }) => [fact.name, fact.symbol]),
    [['ab', null]],
  )
})

const paired = (pair: string): LogWithoutIndex =>
  buildLog(
    PAIR_FACTORY,
    [
      TOPIC.pairCreated,
      addressTopic([TOKEN, WBNB].sort()[0] ?? ''),
      addressTopic([TOKEN, WBNB].sort()[1] ?? ''),
    ],
    [pair, 1n],
  )
const filled = (pair: string): LogWithoutIndex =>
  buildLog(pair, [TOPIC.v2Mint, addressTopic(MANAGER)], [200n, 20n])
const pairFact: PoolMetadata = {
  address: POOL,
  tokenA: TOKEN,
  tokenB: WBNB,
  protocol: 'pancakeswap_v2',
  factory: PAIR_FACTORY,
  feePips: 2500,
  verified: true,
}
const moved = { protocol: 'pancakeswap_v2', pool: POOL }
const known = curve(COIN)
const MIGRATIONS: readonly (readonly [
  string,
  readonly LogWithoutIndex[],
  readonly PoolMetadata[],
  readonly number[],
  LaunchVenue | null,
])[] = [
  [
    'into a pool that it makes',
    [tradeStop, paired(POOL), filled(POOL), liquidityAdded],
    [known],
    [3],
    moved,
  ],
  [
    'into a pool that was there',
    [tradeStop, filled(POOL), liquidityAdded],
    [known, pairFact],
    [2],
    moved,
  ],
  ['said in the other order', [liquidityAdded, paired(POOL), tradeStop], [known], [0], moved],
  [
    'of the first contract, which only stops trade',
    [paired(POOL), filled(POOL), tradeStop],
    [known],
    [2],
    moved,
  ],
  ['without a pool in sight', [tradeStop, liquidityAdded], [known], [1], null],
  ['without a pool but its curve', [create(), liquidityAdded], [known], [1], null],
  ['not yet: trade only stopped', [tradeStop], [known], [], moved],
]

for (const [what, logs, facts, at, to] of MIGRATIONS) {
  test(`a migration ${what}`, () => {
    const decoded = decode(logs, booksOf('facts', ...facts))
    assert.deepEqual(
      decoded.migrations,
      at.map((logIndex) => ({
        kind: 'migration',
        txIndex: 0,
        logIndex,
        token: TOKEN,
        from: { protocol: 'four_meme', pool: TOKEN },
        to,
      })),
    )
    assert.deepEqual(dropReasons(decoded), [])
  })
}

test('of several pools the one that received liquidity is the migration target', () => {
  const logs = [paired(ROUTER), paired(POOL), filled(POOL), liquidityAdded]
  const { migrations } = decode(logs, booksOf('facts', known))
  assert.deepEqual(
    migrations.map(({ to }) => to),
    [moved],
  )
})

test('curves are looked up by their token, for complete logs only', () => {
  const pools = (logs: readonly LogWithoutIndex[]) =>
    requiredLookups(buildSingleTransactionBlock(logs), protocols).pools
  const curveSubject = [{ address: TOKEN, family: 'four_meme' }]
  assert.deepEqual(pools([create()]), curveSubject)
  assert.deepEqual(pools([trade('TokenSale'), trade('TokenPurchase')]), curveSubject)
  assert.deepEqual(pools([withoutLastByte(trade('TokenSale')), firstTrade('TokenSale')]), [])
})

const INFO = parseAbi(['function _tokenInfos(address token) view returns (uint256)'])
const info = (base: string, quote: string, words = 13) =>
  ({
    kind: 'value',
    data: encodeAbiParameters(
      Array.from({ length: words }, (_, at) => ({ type: at < 2 ? 'address' : 'uint256' })),
      [getAddress(base), getAddress(quote), ...new Array(words - 2).fill(1n)],
    ),
  }) as const
const reverted = { kind: 'reverted' } as const
const subject = { address: TOKEN, family: 'four_meme' }
const verificationOf = (answers: Parameters<typeof startVerification>[2]) => {
  const open = startVerification(subject, protocols, answers)
  return typeof open === 'string' ? open : verifiedPool(open, [])
}

test('pool lookups of a curve call the listed contracts with the token, and read its quote', () => {
  const data = encodeFunctionData({ abi: INFO, args: [getAddress(TOKEN)] })
  assert.deepEqual(poolCalls(subject, protocols), [
    { to: MANAGER, data },
    { to: FIRST_MANAGER, data },
  ])
  assert.deepEqual(verificationOf([info(TOKEN, QUOTE), reverted]), curve(QUOTE))
  assert.deepEqual(verificationOf([info(TOKEN, COIN), reverted]), curve(WBNB))
})

test('a token without a curve in any listed contract has no curve', () => {
  const others: readonly Parameters<typeof startVerification>[2][] = [
    [reverted, reverted],
    [info(COIN, COIN), reverted],
    [info(ROUTER, QUOTE), reverted],
    [info(TOKEN, QUOTE, 12), reverted],
    [{ kind: 'value', data: '0x' }, reverted],
    [],
  ]
  for (const answers of others) assert.equal(verificationOf(answers), 'no-pool')
  assert.equal(verificationOf([{ kind: 'no-state' }, reverted]), 'no-state')
})
