import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeEventLog, type Hex, parseAbi } from 'viem'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { formatRatio } from '../../core/amounts.ts'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { chainRow } from '../../schemas/chains.ts'
import type {
  Prediction,
  PredictionManagement,
  PredictionSettlement,
  PredictionTrade,
} from '../../schemas/prediction-events.ts'
import { POOL, ROUTER, transferLog, USER } from '../support/builders/dex-logs.ts'
import {
  buildEventLog,
  dropReasons,
  expectedLog,
  type LogWithoutIndex,
  recordedLog,
  withDataWord,
  withoutLastByte,
} from '../support/builders/evm-event-log.ts'
import {
  ADAPTER,
  adapterPositionLog,
  adapterRedemptionLog,
  BOTH_OUTCOMES,
  CONDITION,
  CONDITIONAL_TOKENS,
  conversionLog,
  EXPECTED_SETTLEMENT,
  MARKET,
  NO,
  PARENT,
  positionLog,
  redemptionLog,
  transferBatchLog,
  transferSingleLog,
  USDC,
  YES,
  ZERO,
} from '../support/builders/prediction-market-logs.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const FIRST = '0x4bfb41d5b3570defd03c39a9a4d8de6bd8b8982e'
const SECOND = '0xe111180000d2663c0091e4f400237545b87b996b'
const PUSD = '0xc011a7e12a19f7b1f670d46f03b03f3342e82dfb'
const MAKER = `0x${'3a'.repeat(20)}`
const TAKER = `0x${'3b'.repeat(20)}`
const ORACLE = `0x${'3c'.repeat(20)}`
const ORDER = `0x${'01'.repeat(32)}`
const QUESTION = `0x${'c1'.repeat(32)}`
const MAX = (1n << 256n) - 1n

const booksOf = (proof: DecodeContext['verification']): DecodeContext => ({
  verification: proof,
  protocols: protocolRegistry('polygon'),
  pool: () => undefined,
})
const decode = (logs: readonly LogWithoutIndex[]) =>
  decodeBlock(buildSingleTransactionBlock(logs), booksOf('facts'))
const predicted = (logs: readonly LogWithoutIndex[]): readonly Prediction[] => {
  const { predictions, dropped } = decode(logs)
  assert.deepEqual(dropped, [])
  return predictions
}

const FIRST_FILL =
  'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint256 makerAssetId, uint256 takerAssetId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee)'
const SECOND_FILL =
  'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint8 side, uint256 tokenId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee, bytes32 builder, bytes32 metadata)'

interface Fill {
  readonly maker?: string
  readonly taker?: string
  readonly by?: string
}
const firstFill = (
  assets: readonly [bigint, bigint],
  amounts: readonly [bigint, bigint],
  { maker = MAKER, taker = TAKER, by = FIRST }: Fill = {},
) => buildEventLog(by, FIRST_FILL, [ORDER, maker, taker, ...assets, ...amounts, 3n])
const secondFill = (
  side: number,
  amounts: readonly [bigint, bigint],
  { maker = MAKER, taker = TAKER, by = SECOND }: Fill = {},
) =>
  buildEventLog(by, SECOND_FILL, [ORDER, maker, taker, side, YES, ...amounts, 3n, PARENT, PARENT])

test('the recorded fill equals its expectation and the decoding of viem', async () => {
  const name = 'log_polymarket_v2_orderfilled_taker.json'
  const { block, log } = recordedLog('polygon', name)
  const { predictions, dropped } = decodeBlock(block, booksOf('evidence'))
  assert.deepEqual(dropped, [])
  const { args } = decodeEventLog({
    abi: parseAbi([`event ${SECOND_FILL}`] as readonly string[]),
    topics: log.topics as [Hex],
    data: log.data as Hex,
  }) as unknown as { args: Record<string, bigint | number | string> }
  assert.deepEqual(predictions, [
    {
      kind: 'prediction-trade',
      protocol: 'polymarket',
      txIndex: 81,
      logIndex: 838,
      exchange: SECOND,
      orderHash: args.orderHash,
      maker: String(args.maker).toLowerCase(),
      taker: String(args.taker).toLowerCase(),
      side: args.side === 0 ? 'BUY' : 'SELL',
      tokenId: args.tokenId,
      sharesRaw: args.takerAmountFilled,
      collateral: PUSD,
      collateralRaw: args.makerAmountFilled,
      feeRaw: args.fee,
      feeIn: 'collateral',
    },
  ])
  const said = expectedLog(`polygon/${name}`)
  const [trade] = predictions as readonly PredictionTrade[]
  assert.ok(trade)
  assert.deepEqual(
    [trade.side, trade.maker, trade.tokenId.toString(), trade.collateralRaw, trade.feeRaw],
    [said.side, said.maker, said.tokenId, BigInt(`${said.collateral}`), BigInt(`${said.fee}`)],
  )
  assert.equal(formatRatio(trade.collateralRaw, trade.sharesRaw, 6), said.price)
  if (chainRow('polygon') === undefined) return
  const lines: { readonly predictionTrades: readonly Record<string, unknown>[] }[] = []
  await decodeFiles({
    chain: 'polygon',
    files: [new URL(`../fixtures/polygon/${name}`, import.meta.url).pathname],
    write: (line) => lines.push(JSON.parse(line)),
  })
  const [printed] = lines[0]?.predictionTrades ?? []
  for (const key of ['side', 'maker', 'tokenId', 'shares', 'price', 'collateral', 'fee']) {
    assert.equal(printed?.[key], said[key], key)
  }
})

test('price ratios are rounded half up, without trailing zeros', () => {
  assert.deepEqual(
    [
      formatRatio(4_536_829_999n, 9_451_729_165n, 6),
      formatRatio(1n, 3n, 6),
      formatRatio(2n, 3n, 6),
      formatRatio(1n, 2_000_000n, 6),
      formatRatio(0n, 5n, 6),
      formatRatio(MAX, 1n, 2),
    ],
    ['0.48', '0.333333', '0.666667', '0.000001', '0', MAX.toString()],
  )
})

const FILLS: readonly (readonly [string, LogWithoutIndex, Partial<PredictionTrade>])[] = [
  [
    'first exchange, maker buys',
    firstFill([0n, YES], [40n, 100n]),
    { side: 'BUY', collateral: USDC, collateralRaw: 40n, sharesRaw: 100n, feeIn: 'shares' },
  ],
  [
    'first exchange, maker sells',
    firstFill([YES, 0n], [100n, 40n]),
    { side: 'SELL', collateral: USDC, collateralRaw: 40n, sharesRaw: 100n, feeIn: 'collateral' },
  ],
  [
    'second exchange, maker buys',
    secondFill(0, [40n, 100n]),
    { side: 'BUY', collateral: PUSD, collateralRaw: 40n, sharesRaw: 100n, feeIn: 'collateral' },
  ],
  [
    'second exchange, maker sells',
    secondFill(1, [100n, 40n]),
    { side: 'SELL', collateral: PUSD, collateralRaw: 40n, sharesRaw: 100n, feeIn: 'collateral' },
  ],
]

for (const [what, log, expected] of FILLS) {
  test(what, () => {
    assert.deepEqual(predicted([log]), [
      {
        kind: 'prediction-trade',
        protocol: 'polymarket',
        txIndex: 0,
        logIndex: 0,
        exchange: log.address,
        orderHash: ORDER,
        maker: MAKER,
        taker: TAKER,
        tokenId: YES,
        feeRaw: 3n,
        ...expected,
      },
    ])
  })
}

test('a match counts once for each maker order; the log of the taker order counts only alone', () => {
  const makers = [secondFill(1, [100n, 40n]), secondFill(0, [60n, 100n])]
  const taker = secondFill(0, [80n, 200n], { maker: TAKER, taker: SECOND })
  const at = (logs: readonly LogWithoutIndex[]) => predicted(logs).map(({ logIndex }) => logIndex)
  assert.deepEqual(at([...makers, taker]), [0, 1])
  assert.deepEqual(at([taker, ...makers]), [1, 2])
  assert.deepEqual(at([taker]), [0])
  const first = firstFill([0n, YES], [40n, 100n], { maker: TAKER, taker: FIRST })
  assert.deepEqual(at([...makers, taker, first]), [0, 1, 3], 'each exchange for itself')
})

const BAD: readonly (readonly [string, LogWithoutIndex, string])[] = [
  ['outcome for outcome', firstFill([YES, NO], [1n, 1n]), 'unknown-side'],
  ['collateral for collateral', firstFill([0n, 0n], [1n, 1n]), 'unknown-side'],
  ['a third side', secondFill(2, [1n, 1n]), 'unknown-side'],
  ['the greatest side', withDataWord(secondFill(0, [1n, 1n]), 0, MAX), 'unknown-side'],
  ['no shares', secondFill(0, [1n, 0n]), 'zero-amount'],
  ['no collateral', firstFill([0n, YES], [0n, 1n]), 'zero-amount'],
  ['too many shares', secondFill(1, [MAX, 1n]), 'impossible-amount'],
  ['too much collateral', firstFill([YES, 0n], [1n, MAX]), 'impossible-amount'],
  ['cut', withoutLastByte(secondFill(0, [1n, 1n])), 'truncated-data'],
  ['cut too', withoutLastByte(firstFill([0n, YES], [1n, 1n])), 'truncated-data'],
  ['of another contract', secondFill(0, [1n, 1n], { by: ROUTER }), 'unlisted-contract'],
  ['of another contract too', firstFill([0n, YES], [1n, 1n], { by: ROUTER }), 'unlisted-contract'],
]

for (const [what, log, reason] of BAD) {
  test(`a fill is refused, ${what}: ${reason}`, () => {
    const decoded = decode([log])
    assert.deepEqual(decoded.predictions, [])
    assert.deepEqual(dropReasons(decoded), [reason])
  })
}

test('a longer fill event is decoded, one of a failed transaction is not', () => {
  const log = secondFill(0, [1n, 1n])
  assert.equal(predicted([{ ...log, data: `${log.data}${'0'.repeat(64)}` }]).length, 1)
  const failed = buildSingleTransactionBlock([log], { success: false })
  assert.deepEqual(decodeBlock(failed, booksOf('facts')).predictions, [])
})

const CONDITION_HEAD =
  'bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount'
const resolution = (by = CONDITIONAL_TOKENS) =>
  buildEventLog(by, `ConditionResolution(${CONDITION_HEAD}, uint256[] payoutNumerators)`, [
    ...[CONDITION, ORACLE, QUESTION, 2n, [0n, 1n]],
  ])
const questionPrepared = buildEventLog(
  ADAPTER,
  'QuestionPrepared(bytes32 indexed marketId, bytes32 indexed questionId, uint256 index, bytes data)',
  [MARKET, QUESTION, 1n, `0x${Buffer.from('Will it\nrain?').toString('hex')}`],
)
const blank = {
  conditionId: null,
  questionId: null,
  marketId: null,
  oracle: null,
  outcomes: null,
  payouts: [],
  tokenIds: [],
  description: null,
}
const condition = { conditionId: CONDITION, oracle: ORACLE, questionId: QUESTION, outcomes: 2 }
const MANAGED: readonly (readonly [
  PredictionManagement['type'],
  LogWithoutIndex,
  Partial<PredictionManagement>,
])[] = [
  [
    'ConditionPreparation',
    buildEventLog(CONDITIONAL_TOKENS, `ConditionPreparation(${CONDITION_HEAD})`, [
      CONDITION,
      ORACLE,
      QUESTION,
      2n,
    ]),
    condition,
  ],
  ['ConditionResolution', resolution(), { ...condition, payouts: [0n, 1n] }],
  [
    'TokenRegistered',
    buildEventLog(
      FIRST,
      'TokenRegistered(uint256 indexed token0, uint256 indexed token1, bytes32 indexed conditionId)',
      [YES, MAX, CONDITION],
    ),
    { conditionId: CONDITION, outcomes: 2, tokenIds: [YES, MAX] },
  ],
  [
    'MarketPrepared',
    buildEventLog(
      ADAPTER,
      'MarketPrepared(bytes32 indexed marketId, address indexed oracle, uint256 feeBips, bytes data)',
      [MARKET, ORACLE, 0n, '0x'],
    ),
    { marketId: MARKET, oracle: ORACLE },
  ],
  [
    'QuestionPrepared',
    questionPrepared,
    { marketId: MARKET, questionId: QUESTION, description: 'Will it rain?' },
  ],
  [
    'OutcomeReported',
    buildEventLog(
      ADAPTER,
      'OutcomeReported(bytes32 indexed marketId, bytes32 indexed questionId, bool outcome)',
      [MARKET, QUESTION, true],
    ),
    { marketId: MARKET, questionId: QUESTION, outcomes: 2, payouts: [1n, 0n] },
  ],
  [
    'OutcomeReported',
    buildEventLog(
      ADAPTER,
      'OutcomeReported(bytes32 indexed marketId, bytes32 indexed questionId, bool outcome)',
      [MARKET, QUESTION, false],
    ),
    { marketId: MARKET, questionId: QUESTION, outcomes: 2, payouts: [0n, 1n] },
  ],
]

for (const [type, log, expected] of MANAGED) {
  test(`${type} gives ${Object.keys(expected).join(', ')}, and only from a listed contract`, () => {
    assert.deepEqual(predicted([log]), [
      {
        kind: 'prediction-management',
        type,
        protocol: 'polymarket',
        txIndex: 0,
        logIndex: 0,
        ...blank,
        ...expected,
      },
    ])
    const foreign = decode([{ ...log, address: ROUTER }])
    assert.deepEqual(foreign.predictions, [])
    assert.deepEqual(dropReasons(foreign), ['unlisted-contract'])
  })
}

test('split, merge and redemption have the outcome tokens that they minted and burnt', () => {
  const logs = [
    transferBatchLog([ZERO, USER], [YES, NO], [5n, 5n]),
    positionLog('PositionSplit'),
    transferBatchLog([USER, ZERO], [YES, NO], [5n, 5n]),
    positionLog('PositionsMerge'),
    transferSingleLog(USER, ZERO, YES, 5n),
    redemptionLog(),
    redemptionLog(0n),
  ]
  assert.deepEqual(predicted(logs), [
    { ...EXPECTED_SETTLEMENT, type: 'Split', logIndex: 1, moved: BOTH_OUTCOMES },
    { ...EXPECTED_SETTLEMENT, type: 'Merge', logIndex: 3, moved: BOTH_OUTCOMES },
    { ...EXPECTED_SETTLEMENT, type: 'Redemption', logIndex: 5, moved: BOTH_OUTCOMES.slice(0, 1) },
    { ...EXPECTED_SETTLEMENT, type: 'Redemption', logIndex: 6, amountRaw: 0n, moved: [] },
  ])
})

test('a settlement through the adapter is decoded once, from the log of the adapter', () => {
  const mine = { ...EXPECTED_SETTLEMENT, collateral: null, indexSets: [] }
  const logs = [
    transferBatchLog([ZERO, ADAPTER], [YES, NO], [5n, 5n]),
    positionLog('PositionSplit', ADAPTER),
    transferBatchLog([ADAPTER, USER], [YES, NO], [5n, 5n]),
    adapterPositionLog('PositionSplit'),
    transferBatchLog([ADAPTER, ZERO], [YES, NO], [5n, 5n]),
    positionLog('PositionsMerge', ADAPTER),
    adapterPositionLog('PositionsMerge'),
    transferSingleLog(ADAPTER, ZERO, YES, 5n),
    redemptionLog(5n, ADAPTER),
    adapterRedemptionLog(),
  ]
  assert.deepEqual(predicted(logs), [
    { ...mine, type: 'Split', logIndex: 3, moved: BOTH_OUTCOMES },
    { ...mine, type: 'Merge', logIndex: 6, moved: BOTH_OUTCOMES },
    { ...mine, type: 'Redemption', logIndex: 9, moved: BOTH_OUTCOMES.slice(0, 1) },
  ])
})

test('a conversion has its market and index set, and settlements of the exchanges are left out', () => {
  const logs = [
    positionLog('PositionSplit', SECOND),
    adapterPositionLog('PositionSplit', FIRST),
    conversionLog(),
  ]
  assert.deepEqual(predicted(logs), [
    {
      ...EXPECTED_SETTLEMENT,
      type: 'Conversion',
      logIndex: 2,
      conditionId: null,
      marketId: MARKET,
      collateral: null,
      indexSets: [6n],
      moved: [],
    },
  ])
})

test('outcome token transfers of other contracts are ignored', () => {
  const logs = [
    transferSingleLog(ZERO, USER, YES, 5n, ROUTER),
    transferBatchLog([ZERO, USER], [YES, NO], [5n, 5n], ROUTER),
    { ...transferBatchLog([ZERO, USER], [YES], [5n], ROUTER), data: '0x' },
    positionLog('PositionSplit'),
  ]
  assert.deepEqual(
    (predicted(logs) as readonly PredictionSettlement[]).map(({ moved }) => moved),
    [[]],
  )
})

const BAD_EVENTS: readonly (readonly [string, LogWithoutIndex, string])[] = [
  ['payouts outside', withDataWord(resolution(), 1, 1n << 255n), 'bad-array'],
  ['more outcomes than there can be', withDataWord(resolution(), 0, 257n), 'impossible-amount'],
  ['payouts without an end', withDataWord(resolution(), 2, 1n << 255n), 'bad-array'],
  ['a description outside', withDataWord(questionPrepared, 1, 1n << 60n), 'bad-array'],
  ['a partition outside', withDataWord(positionLog('PositionSplit'), 1, MAX), 'bad-array'],
  [
    'a merge with a partition at an odd place',
    withDataWord(positionLog('PositionsMerge'), 1, 97n),
    'bad-array',
  ],
  ['sets without an end', withDataWord(redemptionLog(), 3, MAX), 'bad-array'],
  [
    'ids without an end',
    withDataWord(transferBatchLog([ZERO, USER], [YES], [1n]), 2, MAX),
    'bad-array',
  ],
  ['more ids than amounts', transferBatchLog([ZERO, USER], [YES, NO], [1n]), 'bad-array'],
  ['a split of nothing', positionLog('PositionSplit', USER, 0n), 'zero-amount'],
  ['a merge of too much', positionLog('PositionsMerge', USER, MAX), 'impossible-amount'],
  ['a payout of too much', redemptionLog(1n << 255n), 'impossible-amount'],
  [
    'a cut split',
    withoutLastByte({ ...positionLog('PositionSplit'), data: `0x${'0'.repeat(192)}` }),
    'truncated-data',
  ],
  ['a cut conversion', withoutLastByte(conversionLog()), 'truncated-data'],
  ['a cut move', withoutLastByte(transferSingleLog(ZERO, USER, YES, 1n)), 'truncated-data'],
]

for (const [what, log, reason] of BAD_EVENTS) {
  test(`refused, ${what}: ${reason}`, () => {
    const decoded = decode([log])
    assert.deepEqual(decoded.predictions, [])
    assert.deepEqual(dropReasons(decoded), [reason])
  })
}

test('settlement events of unlisted contracts are dropped', () => {
  const logs = [
    ...[
      positionLog('PositionSplit'),
      positionLog('PositionsMerge'),
      redemptionLog(),
      conversionLog(),
    ],
    ...[
      adapterPositionLog('PositionSplit'),
      adapterPositionLog('PositionsMerge'),
      adapterRedemptionLog(),
    ],
  ].map((log) => ({ ...log, address: ROUTER }))
  const decoded = decode(logs)
  assert.deepEqual(decoded.predictions, [])
  assert.deepEqual(dropReasons(decoded), new Array(7).fill('unlisted-contract'))
})

const BUY =
  'FPMMBuy(address indexed buyer, uint256 investmentAmount, uint256 feeAmount, uint256 indexed outcomeIndex, uint256 outcomeTokensBought)'
const SELL =
  'FPMMSell(address indexed seller, uint256 returnAmount, uint256 feeAmount, uint256 indexed outcomeIndex, uint256 outcomeTokensSold)'
const bought = (collateral = 40n, shares = 100n) =>
  buildEventLog(POOL, BUY, [USER, collateral, 2n, 0n, shares])
const sold = (collateral = 40n, shares = 100n) =>
  buildEventLog(POOL, SELL, [USER, collateral, 2n, 1n, shares])
const dealt = {
  kind: 'prediction-trade',
  protocol: 'polymarket',
  txIndex: 0,
  exchange: POOL,
  orderHash: null,
  maker: POOL,
  taker: USER,
  sharesRaw: 100n,
  collateral: USDC,
  collateralRaw: 40n,
  feeRaw: 2n,
  feeIn: 'collateral',
} as const

test('a purchase from a market maker is a sale of the maker; its own splits are left out', () => {
  const logs = [
    transferLog(USDC, USER, POOL, 40n),
    transferBatchLog([ZERO, POOL], [YES, NO], [38n, 38n]),
    positionLog('PositionSplit', POOL),
    transferSingleLog(POOL, USER, YES, 100n),
    bought(),
  ]
  assert.deepEqual(predicted(logs), [{ ...dealt, logIndex: 4, side: 'SELL', tokenId: YES }])
})

test('a sale to a market maker is a purchase of the maker', () => {
  const logs = [
    transferSingleLog(USER, POOL, NO, 100n),
    positionLog('PositionsMerge', POOL),
    transferLog(USDC, POOL, USER, 40n),
    sold(),
  ]
  assert.deepEqual(predicted(logs), [{ ...dealt, logIndex: 3, side: 'BUY', tokenId: NO }])
})

const paid = transferLog(USDC, USER, POOL, 40n)
const given = transferSingleLog(POOL, USER, YES, 100n)
const UNPROVEN: readonly (readonly [string, readonly LogWithoutIndex[]])[] = [
  ['nothing moved', []],
  ['nothing was paid', [given]],
  ['nothing was given', [paid]],
  ['another token was paid', [transferLog(ROUTER, USER, POOL, 40n), given]],
  ['another amount was paid', [transferLog(USDC, USER, POOL, 41n), given]],
  ['another amount was given', [paid, transferSingleLog(POOL, USER, YES, 99n)]],
  ['somebody else got it', [paid, transferSingleLog(POOL, ROUTER, YES, 100n)]],
  [
    'tokens of another contract were given',
    [paid, transferSingleLog(POOL, USER, YES, 100n, ROUTER)],
  ],
  ['several outcomes were given', [paid, transferBatchLog([POOL, USER], [YES, NO], [100n, 100n])]],
]

for (const [what, logs] of UNPROVEN) {
  test(`a market maker event is not a trade where ${what}`, () => {
    const decoded = decode([...logs, bought()])
    assert.deepEqual(decoded.predictions, [])
    assert.deepEqual(dropReasons(decoded), ['no-matching-transfers'])
  })
}

test('a transfer confirms one market maker trade; zero and impossible amounts are dropped', () => {
  const twice = decode([paid, given, bought(), bought()])
  assert.equal(twice.predictions.length, 1)
  assert.deepEqual(dropReasons(twice), ['no-matching-transfers'])
  const bad = decode([
    bought(0n),
    bought(1n, MAX),
    sold(1n, 0n),
    withoutLastByte(sold()),
    withoutLastByte(bought()),
  ])
  assert.deepEqual(dropReasons(bad), [
    ...['zero-amount', 'impossible-amount', 'zero-amount', 'truncated-data', 'truncated-data'],
  ])
})
