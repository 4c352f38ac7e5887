import assert from 'node:assert/strict'
import { test } from 'node:test'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { trackPositions } from '../../ingestors/evm/predictions/outcome-positions.ts'
import { trackOutcomes } from '../../ingestors/evm/predictions/outcome-tokens.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { OutcomeChange } from '../../schemas/outcome-changes.ts'
import { CONVERTED_TOKENS_ADDRESS } from '../../schemas/predictions.ts'
import { USER } from '../support/builders/dex-logs.ts'
import { buildEventLog, type LogWithoutIndex } from '../support/builders/evm-event-log.ts'
import {
  ADAPTER,
  adapterPositionLog,
  CONDITION,
  CONDITIONAL_TOKENS,
  collateralLog,
  conversionLog,
  NO,
  PARENT,
  positionLog,
  redemptionLog,
  transferBatchLog,
  transferSingleLog,
  YES,
  ZERO,
} from '../support/builders/prediction-market-logs.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const FIRST = '0x4bfb41d5b3570defd03c39a9a4d8de6bd8b8982e'
const SECOND = '0xe111180000d2663c0091e4f400237545b87b996b'
const [MAKER, TAKER] = [`0x${'3a'.repeat(20)}`, `0x${'3b'.repeat(20)}`] as const
const DAY_MS = 86_400_000

const decodeChanges = (logs: readonly LogWithoutIndex[]) =>
  decodeBlock(buildSingleTransactionBlock(logs), {
    verification: 'facts',
    protocols: protocolRegistry('polygon'),
    pool: () => undefined,
  })

const shown = (changes: readonly OutcomeChange[]) =>
  changes.map(({ type, wallet, parts, collateralRaw }) => [
    type,
    wallet,
    parts.map(({ tokenId, amountRaw }) => [tokenId, amountRaw]),
    collateralRaw,
  ])

const secondFill = (
  [maker, taker]: readonly [string, string],
  side: 0 | 1,
  tokenId: bigint,
  amounts: readonly [bigint, bigint],
  fee = 0n,
) =>
  buildEventLog(
    SECOND,
    'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint8 side, uint256 tokenId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee, bytes32 builder, bytes32 metadata)',
    [PARENT, maker, taker, side, tokenId, ...amounts, fee, PARENT, PARENT],
  )
const firstFill = (
  [maker, taker]: readonly [string, string],
  [gives, takes]: readonly [bigint, bigint],
  amounts: readonly [bigint, bigint],
  fee: bigint,
  order = PARENT,
) =>
  buildEventLog(
    FIRST,
    'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint256 makerAssetId, uint256 takerAssetId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee)',
    [order, maker, taker, gives, takes, ...amounts, fee],
  )
const resolutionLog = (payouts: readonly bigint[]) =>
  buildEventLog(
    CONDITIONAL_TOKENS,
    'ConditionResolution(bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount, uint256[] payoutNumerators)',
    [CONDITION, MAKER, PARENT, 2n, payouts],
  )

test('purchases of both outcomes mint the tokens: each order bought its own', () => {
  const { outcomeChanges } = decodeChanges([
    transferBatchLog([ZERO, SECOND], [YES, NO], [10n, 10n]),
    positionLog('PositionSplit', SECOND, 10n),
    transferSingleLog(SECOND, MAKER, NO, 10n),
    secondFill([MAKER, TAKER], 0, NO, [4n, 10n]),
    transferSingleLog(SECOND, TAKER, YES, 10n),
    secondFill([TAKER, SECOND], 0, YES, [6n, 10n], 1n),
  ])
  assert.deepEqual(shown(outcomeChanges), [
    ['buy', MAKER, [[NO, 10n]], 4n],
    ['buy', TAKER, [[YES, 10n]], 7n],
  ])
})

test('the taker of an order without one of its own is its opposite side, net of the fee', () => {
  const { outcomeChanges } = decodeChanges([
    transferSingleLog(TAKER, MAKER, YES, 97n),
    firstFill([MAKER, TAKER], [0n, YES], [40n, 100n], 3n),
  ])
  assert.deepEqual(shown(outcomeChanges), [
    ['buy', MAKER, [[YES, 97n]], 40n],
    ['sell', TAKER, [[YES, -97n]], 40n],
  ])
  const sale = decodeChanges([
    transferSingleLog(MAKER, TAKER, YES, 100n),
    firstFill([MAKER, TAKER], [YES, 0n], [100n, 40n], 3n),
  ])
  assert.deepEqual(shown(sale.outcomeChanges), [
    ['sell', MAKER, [[YES, -100n]], 37n],
    ['buy', TAKER, [[YES, 100n]], 37n],
  ])
})

const FEE_MODULE = '0xe3f18acc55091e2c48d883fc8c8413319d4ab7b0'
const refundLog = (order: string, to: string, id: bigint, refund: bigint, by = FEE_MODULE) =>
  buildEventLog(
    by,
    'FeeRefunded(bytes32 indexed orderHash, address indexed to, uint256 id, uint256 refund, uint256 indexed feeCharged)',
    [order, to, id, refund, 1n],
  )

test('a refunded fee is added back, in shares for a purchase and in collateral for a sale', () => {
  const { outcomeChanges, predictions, dropped } = decodeChanges([
    transferSingleLog(FIRST, MAKER, YES, 90n),
    transferSingleLog(FIRST, FEE_MODULE, YES, 10n),
    transferSingleLog(TAKER, FIRST, YES, 100n),
    firstFill([MAKER, TAKER], [0n, YES], [40n, 100n], 10n),
    firstFill([TAKER, FIRST], [YES, 0n], [100n, 40n], 4n, CONDITION),
    collateralLog(FEE_MODULE, TAKER, 3n),
    refundLog(CONDITION, TAKER, 0n, 3n),
    transferSingleLog(FEE_MODULE, MAKER, YES, 10n),
    refundLog(PARENT, MAKER, YES, 10n),
  ])
  assert.deepEqual(dropped, [])
  assert.deepEqual(shown(outcomeChanges), [
    ['buy', MAKER, [[YES, 100n]], 40n],
    ['sell', TAKER, [[YES, -100n]], 39n],
  ])
  assert.deepEqual(
    predictions.map((each) => each.kind === 'prediction-trade' && each.feeRaw),
    [0n],
  )
})

test('a refund without a charged fee is dropped', () => {
  const fill = firstFill([MAKER, TAKER], [0n, YES], [40n, 100n], 3n)
  const cases: readonly (readonly [LogWithoutIndex, string])[] = [
    [refundLog(PARENT, MAKER, YES, 4n), 'unknown-order'],
    [refundLog(PARENT, MAKER, 0n, 3n), 'unknown-order'],
    [refundLog(CONDITION, MAKER, YES, 3n), 'unknown-order'],
    [refundLog(PARENT, MAKER, YES, 0n), 'zero-amount'],
    [refundLog(PARENT, MAKER, YES, 3n, USER), 'unlisted-contract'],
  ]
  for (const [refund, reason] of cases) {
    const { dropped, predictions } = decodeChanges([fill, refund])
    assert.deepEqual(
      dropped.map((each) => each.reason),
      [reason],
    )
    assert.deepEqual(
      predictions.map((each) => each.kind === 'prediction-trade' && each.feeRaw),
      [3n],
    )
  }
})

test('splits and conversions through the adapter belong to its caller; converted tokens belong to no wallet', () => {
  const split = decodeChanges([
    transferBatchLog([ZERO, ADAPTER], [YES, NO], [5n, 5n]),
    positionLog('PositionSplit', ADAPTER),
    transferBatchLog([ADAPTER, USER], [YES, NO], [5n, 5n]),
    adapterPositionLog('PositionSplit'),
  ])
  assert.deepEqual(shown(split.outcomeChanges), [
    [
      'split',
      USER,
      [
        [YES, 5n],
        [NO, 5n],
      ],
      5n,
    ],
  ])
  const converted = decodeChanges([
    transferBatchLog([USER, CONVERTED_TOKENS_ADDRESS], [21n, 22n], [5n, 5n]),
    transferSingleLog(ADAPTER, USER, 31n, 4n),
    transferSingleLog(ADAPTER, MAKER, 31n, 1n),
    transferBatchLog([ZERO, ADAPTER], [31n, 32n], [5n, 5n]),
    conversionLog(),
  ])
  // Two questions are named: the collateral of one, less the fee of a fifth.
  assert.deepEqual(shown(converted.outcomeChanges), [
    ['transfer', MAKER, [[31n, 1n]], null],
    ['transfer', ADAPTER, [[32n, 5n]], null],
    [
      'convert',
      USER,
      [
        [21n, -5n],
        [22n, -5n],
        [31n, 4n],
      ],
      4n,
    ],
  ])
})

test('outcome changes add up to the token transfers, whatever amounts the fill events state', () => {
  const { outcomeChanges } = decodeChanges([
    transferSingleLog(USER, MAKER, YES, 8n),
    transferSingleLog(MAKER, TAKER, YES, 3n),
    secondFill([USER, SECOND], 1, NO, [50n, 20n]),
  ])
  const sums = new Map<string, bigint>()
  for (const { wallet, parts } of outcomeChanges) {
    for (const { tokenId, amountRaw } of parts) {
      const key = `${wallet}/${tokenId}`
      sums.set(key, (sums.get(key) ?? 0n) + amountRaw)
    }
  }
  assert.deepEqual(Object.fromEntries(sums), {
    [`${USER}/${YES}`]: -8n,
    [`${MAKER}/${YES}`]: 5n,
    [`${TAKER}/${YES}`]: 3n,
    [`${USER}/${NO}`]: 0n,
  })
})

/** Folds blocks one after another, keeping amounts as an ingestor does. */
const foldBlocks = (blocks: readonly (readonly LogWithoutIndex[])[]) => {
  const kept = new Map<string, bigint>()
  return blocks.map((logs, index) => {
    const { predictions, outcomeChanges } = decodeChanges(logs)
    const get = (key: string) => kept.get(key)
    const outcomes = trackOutcomes(predictions, get)
    const tracked = trackPositions(outcomeChanges, outcomes, index * DAY_MS, get)
    for (const [key, value] of [...outcomes.amounts, ...tracked.amounts]) kept.set(key, value)
    return tracked.changes
  })
}

test('realized profit is the proceeds less the average cost; redeemed tokens pay their resolved value', () => {
  const folded = foldBlocks([
    [
      collateralLog(USER, CONDITIONAL_TOKENS, 10n),
      transferBatchLog([ZERO, USER], [YES, NO], [10n, 10n]),
      positionLog('PositionSplit', USER, 10n),
    ],
    [transferSingleLog(MAKER, USER, YES, 10n), secondFill([USER, SECOND], 0, YES, [9n, 10n])],
    [transferSingleLog(USER, TAKER, YES, 5n), secondFill([USER, SECOND], 1, YES, [5n, 4n], 1n)],
    [resolutionLog([1n, 0n])],
    [
      transferBatchLog([USER, ZERO], [YES, NO], [15n, 10n]),
      collateralLog(CONDITIONAL_TOKENS, USER, 15n),
      redemptionLog(15n),
    ],
  ])
  const own = folded.map((changes) =>
    changes
      .filter(({ change }) => change.wallet === USER)
      .map(({ tokenId, realizedRaw, position: { after } }) => [
        ...[tokenId, after.quantity, after.cost, realizedRaw],
      ]),
  )
  assert.deepEqual(own, [
    [
      [YES, 10n, 5n, 0n],
      [NO, 10n, 5n, 0n],
    ],
    [[YES, 20n, 14n, 0n]],
    // Three of collateral for a quarter of fourteen.
    [[YES, 15n, 11n, 0n]],
    [],
    [
      [YES, 0n, 0n, 4n],
      [NO, 0n, 0n, -5n],
    ],
  ])
  const last = folded[4]?.at(-1)
  assert.deepEqual(last?.wallet.after, {
    realized: -1n,
    volume: 14n - 1n,
    changes: 6n,
    lastMs: BigInt(4 * DAY_MS),
  })
  assert.deepEqual(
    [last?.day.before?.realized, last?.day.after.realized, last?.position.after.redeemed],
    [4n, -1n, 0n],
  )
})

test('transferred tokens have no cost: their proceeds realize nothing, and tokens of known cost leave first', () => {
  const folded = foldBlocks([
    [transferSingleLog(MAKER, USER, YES, 10n), secondFill([USER, SECOND], 0, YES, [5n, 10n])],
    [transferSingleLog(MAKER, USER, YES, 10n)],
    [transferSingleLog(USER, TAKER, YES, 20n), secondFill([USER, SECOND], 1, YES, [20n, 18n])],
    [transferSingleLog(USER, TAKER, YES, 5n)],
  ])
  const own = folded.map((changes) => {
    const after = changes.findLast(({ change }) => change.wallet === USER)?.position.after
    return [after?.quantity, after?.known, after?.cost, after?.realized]
  })
  assert.deepEqual(own, [
    [10n, 10n, 5n, 0n],
    [20n, 10n, 5n, 0n],
    // Half of eighteen is of the known half.
    [0n, 0n, 0n, 4n],
    // Older than the first block: never below zero.
    [0n, 0n, 0n, 4n],
  ])
})

test('a settlement without a collateral transfer has no cost and no proceeds', () => {
  const folded = foldBlocks([
    [
      transferBatchLog([ZERO, USER], [YES, NO], [10n, 10n]),
      positionLog('PositionSplit', USER, 10n),
    ],
    [
      // One payment is of one settlement: the second merge got nothing.
      transferBatchLog([USER, ZERO], [YES, NO], [5n, 5n]),
      positionLog('PositionsMerge', USER, 5n),
      collateralLog(CONDITIONAL_TOKENS, USER, 5n),
      transferBatchLog([USER, ZERO], [YES, NO], [5n, 5n]),
      positionLog('PositionsMerge', USER, 5n),
    ],
  ])
  const [split, merged] = folded
  assert.deepEqual(
    split?.map(({ change, position: { after } }) => [
      ...[change.collateralRaw, after.known, after.cost],
    ]),
    [
      [null, 0n, 0n],
      [null, 0n, 0n],
    ],
  )
  assert.deepEqual(
    merged?.map(({ change }) => change.collateralRaw),
    [5n, 5n, null, null],
  )
})

test('profit of a condition that no exchange trades is left out of the wallet totals', () => {
  const [changes] = foldBlocks([
    [
      collateralLog(USER, CONDITIONAL_TOKENS, 10n),
      transferBatchLog([ZERO, USER], [YES, NO], [10n, 10n]),
      positionLog('PositionSplit', USER, 10n),
      transferSingleLog(USER, TAKER, NO, 10n),
      transferBatchLog([USER, ZERO], [YES], [10n]),
      collateralLog(CONDITIONAL_TOKENS, USER, 10n),
      redemptionLog(10n),
    ],
  ])
  const last = changes?.findLast(({ change }) => change.wallet === USER)
  assert.equal(last?.wallet.after.realized, 0n)
  const redeemed = changes?.find(({ change }) => change.type === 'redeem')
  assert.equal(redeemed?.realizedRaw, 5n)
})

test('a batch transfer of any length moves all of its tokens', () => {
  const ids = Array.from({ length: 300 }, (_, index) => BigInt(index + 1))
  const { outcomeChanges, dropped } = decodeChanges([
    transferBatchLog([MAKER, USER], ids, [...ids.slice(1).map(() => 0n), 7n]),
  ])
  assert.deepEqual(dropped, [])
  assert.deepEqual(shown(outcomeChanges), [
    ['transfer', USER, [[300n, 7n]], null],
    ['transfer', MAKER, [[300n, -7n]], null],
  ])
})

test('the price of an outcome token comes from orders: trades of a market maker do not change it', () => {
  const own = `0x${'5c'.repeat(20)}`
  const buy = (shares: bigint) => [
    transferSingleLog(own, TAKER, YES, shares),
    buildEventLog(
      own,
      'FPMMBuy(address indexed buyer, uint256 indexed outcomeIndex, uint256 investmentAmount, uint256 feeAmount, uint256 outcomeTokensBought)',
      [TAKER, 0n, 1_000_000_000n, 0n, shares],
    ),
  ]
  const folded = foldBlocks([
    [transferSingleLog(MAKER, USER, YES, 10n), secondFill([USER, SECOND], 0, YES, [5n, 10n])],
    [collateralLog(TAKER, own, 1_000_000_000n), ...buy(1n), ...buy(2n)],
  ])
  assert.deepEqual(new Set(folded.flat().map(({ price }) => price.after)), new Set([500_000n]))
  const deals = folded[1]?.filter(({ change }) => change.type === 'buy')
  assert.equal(deals?.length, 1)
})

test('a conversion carries its cost over, less the collateral; the cost of unknown tokens stays unknown', () => {
  const bought = (tokenId: bigint, cost: bigint) => [
    transferSingleLog(MAKER, USER, tokenId, 5n),
    secondFill([USER, SECOND], 0, tokenId, [cost, 5n]),
  ]
  const convert = [
    transferBatchLog([USER, CONVERTED_TOKENS_ADDRESS], [21n, 22n], [5n, 5n]),
    transferSingleLog(ADAPTER, USER, 31n, 5n),
    conversionLog(),
  ]
  const stateOf = (blocks: readonly (readonly LogWithoutIndex[])[]) =>
    foldBlocks(blocks)
      .at(-1)
      ?.filter(({ change }) => change.wallet === USER)
      .map(({ tokenId, realizedRaw, position: { after } }) => [
        ...[tokenId, after.known, after.cost, realizedRaw],
      ])
  assert.deepEqual(stateOf([bought(21n, 4n), bought(22n, 3n), convert]), [
    [21n, 0n, 0n, 0n],
    [22n, 0n, 0n, 0n],
    [31n, 5n, 2n, 0n],
  ])
  assert.deepEqual(stateOf([bought(21n, 2n), bought(22n, 1n), convert]), [
    [21n, 0n, 0n, 1n],
    [22n, 0n, 0n, 1n],
    [31n, 5n, 0n, 0n],
  ])
  assert.deepEqual(stateOf([bought(21n, 4n), convert]), [
    [21n, 0n, 0n, 0n],
    [22n, 0n, 0n, 0n],
    [31n, 0n, 0n, 0n],
  ])
})
