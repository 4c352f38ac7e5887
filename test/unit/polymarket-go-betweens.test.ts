import assert from 'node:assert/strict'
import { test } from 'node:test'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { PredictionSettlement } from '../../schemas/prediction-events.ts'
import { POOL, ROUTER, USER } from '../support/builders/dex-logs.ts'
import {
  dropReasons,
  type LogWithoutIndex,
  withDataWord,
} from '../support/builders/evm-event-log.ts'
import {
  ADAPTER,
  adapterPositionLog,
  adapterRedemptionLog,
  BOTH_OUTCOMES,
  conversionLog,
  EXPECTED_SETTLEMENT,
  MARKET,
  NO,
  positionLog,
  redemptionLog,
  transferBatchLog,
  transferSingleLog,
  YES,
  ZERO,
} from '../support/builders/prediction-market-logs.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const SECOND = '0xe111180000d2663c0091e4f400237545b87b996b'
const BETWEEN = '0xada100874d00e3331d00f2007a9c336a65009718'
const RISK_BETWEEN = '0xada2005600dec949baf300f4c6120000bdb6eaab'
const REDEEMER = '0xa1200000d0002264c9a1698e001292d00e1b00af'
const MAKER = `0x${'3a'.repeat(20)}`
const TAKER = `0x${'3b'.repeat(20)}`
const ORACLE = `0x${'3c'.repeat(20)}`
const MAX = (1n << 256n) - 1n

const decode = (logs: readonly LogWithoutIndex[]) =>
  decodeBlock(buildSingleTransactionBlock(logs), {
    verification: 'facts',
    protocols: protocolRegistry('polygon'),
    pool: () => undefined,
  })
const predicted = (logs: readonly LogWithoutIndex[]): readonly PredictionSettlement[] => {
  const { predictions, dropped } = decode(logs)
  assert.deepEqual(dropped, [])
  return predictions as readonly PredictionSettlement[]
}

test('settlements of an intermediary contract belong to the wallet that received or gave the tokens', () => {
  for (const between of [BETWEEN, '0xada100db00ca00073811820692005400218fce1f']) {
    const logs = [
      transferBatchLog([ZERO, between], [YES, NO], [5n, 5n]),
      positionLog('PositionSplit', between),
      transferBatchLog([between, USER], [YES, NO], [5n, 5n]),
      transferBatchLog([MAKER, between], [YES, NO], [5n, 5n]),
      transferBatchLog([between, ZERO], [YES, NO], [5n, 5n]),
      positionLog('PositionsMerge', between),
      transferBatchLog([TAKER, between], [YES, NO], [5n, 0n]),
      transferSingleLog(between, ZERO, YES, 5n),
      redemptionLog(5n, between),
    ]
    assert.deepEqual(predicted(logs), [
      { ...EXPECTED_SETTLEMENT, type: 'Split', logIndex: 1, moved: BOTH_OUTCOMES },
      { ...EXPECTED_SETTLEMENT, type: 'Merge', logIndex: 5, holder: MAKER, moved: BOTH_OUTCOMES },
      {
        ...EXPECTED_SETTLEMENT,
        type: 'Redemption',
        logIndex: 8,
        holder: TAKER,
        moved: BOTH_OUTCOMES.slice(0, 1),
      },
    ])
  }
})

test('settlements through the adapter of an intermediary belong to the wallet too, and so do conversions', () => {
  for (const between of [RISK_BETWEEN, '0xada200001000ef00d07553cee7006808f895c6f1']) {
    const mine = { ...EXPECTED_SETTLEMENT, collateral: null, indexSets: [] }
    const logs = [
      transferBatchLog([ZERO, ADAPTER], [YES, NO], [5n, 5n]),
      positionLog('PositionSplit', ADAPTER),
      transferBatchLog([ADAPTER, between], [YES, NO], [5n, 5n]),
      adapterPositionLog('PositionSplit', between),
      transferBatchLog([between, USER], [YES, NO], [5n, 5n]),
      transferBatchLog([MAKER, between], [YES, NO], [5n, 5n]),
      transferBatchLog([between, ADAPTER], [YES, NO], [5n, 5n]),
      transferBatchLog([ADAPTER, ZERO], [YES, NO], [5n, 5n]),
      positionLog('PositionsMerge', ADAPTER),
      adapterPositionLog('PositionsMerge', between),
      transferBatchLog([TAKER, between], [YES, NO], [5n, 0n]),
      transferBatchLog([between, ADAPTER], [YES, NO], [5n, 0n]),
      transferSingleLog(ADAPTER, ZERO, YES, 5n),
      redemptionLog(5n, ADAPTER),
      adapterRedemptionLog(between),
      transferBatchLog([ORACLE, between], [NO], [5n]),
      transferBatchLog([between, POOL], [NO], [5n]),
      transferBatchLog([ADAPTER, between], [YES], [5n]),
      conversionLog(between),
      transferBatchLog([between, ORACLE], [YES], [5n]),
    ]
    assert.deepEqual(predicted(logs), [
      { ...mine, type: 'Split', logIndex: 3, moved: BOTH_OUTCOMES },
      { ...mine, type: 'Merge', logIndex: 9, holder: MAKER, moved: BOTH_OUTCOMES },
      {
        ...mine,
        type: 'Redemption',
        logIndex: 14,
        holder: TAKER,
        moved: BOTH_OUTCOMES.slice(0, 1),
      },
      {
        ...mine,
        type: 'Conversion',
        logIndex: 18,
        holder: ORACLE,
        conditionId: null,
        marketId: MARKET,
        indexSets: [6n],
        moved: [],
      },
    ])
  }
})

const holders = (logs: readonly LogWithoutIndex[]): readonly string[] =>
  predicted(logs).map(({ holder }) => holder)

test('a contract that redeems for several wallets gives one holder for each', () => {
  const logs = [USER, MAKER, TAKER].flatMap((owner) => [
    transferBatchLog([owner, REDEEMER], [YES, NO], [5n, 0n]),
    transferSingleLog(REDEEMER, ZERO, YES, 5n),
    redemptionLog(5n, REDEEMER),
  ])
  assert.deepEqual(holders(logs), [USER, MAKER, TAKER])
})

const ALONE: readonly (readonly [string, readonly LogWithoutIndex[], readonly string[]])[] = [
  [
    'nothing moved',
    [positionLog('PositionSplit', BETWEEN), redemptionLog(5n, BETWEEN)],
    [BETWEEN, BETWEEN],
  ],
  [
    'tokens moved on the other side of the event only',
    [
      transferBatchLog([BETWEEN, USER], [YES, NO], [5n, 5n]),
      positionLog('PositionSplit', BETWEEN),
      positionLog('PositionsMerge', BETWEEN),
      transferBatchLog([USER, BETWEEN], [YES, NO], [5n, 5n]),
    ],
    [BETWEEN, BETWEEN],
  ],
  [
    'the move belongs to what it settled besides',
    [
      transferBatchLog([USER, BETWEEN], [YES, NO], [5n, 5n]),
      positionLog('PositionsMerge', BETWEEN),
      positionLog('PositionsMerge', BETWEEN),
      positionLog('PositionSplit', BETWEEN),
      positionLog('PositionSplit', BETWEEN),
      transferBatchLog([BETWEEN, MAKER], [YES, NO], [5n, 5n]),
    ],
    [USER, BETWEEN, BETWEEN, MAKER],
  ],
  [
    'an exchange makes a match through it',
    [
      transferBatchLog([ZERO, BETWEEN], [YES, NO], [5n, 5n]),
      positionLog('PositionSplit', BETWEEN),
      transferBatchLog([BETWEEN, SECOND], [YES, NO], [5n, 5n]),
      transferBatchLog([SECOND, BETWEEN], [YES, NO], [5n, 5n]),
      positionLog('PositionsMerge', BETWEEN),
    ],
    [BETWEEN, BETWEEN],
  ],
  [
    'tokens of another contract moved',
    [
      positionLog('PositionSplit', BETWEEN),
      transferBatchLog([BETWEEN, USER], [YES, NO], [5n, 5n], ROUTER),
      transferBatchLog([USER, BETWEEN], [YES, NO], [5n, 5n], ROUTER),
      positionLog('PositionsMerge', BETWEEN),
    ],
    [BETWEEN, BETWEEN],
  ],
  [
    'it is not a go-between',
    [positionLog('PositionSplit', POOL), transferBatchLog([POOL, USER], [YES, NO], [5n, 5n])],
    [POOL],
  ],
]

for (const [what, logs, expected] of ALONE) {
  test(`the caller of a settlement is its holder where ${what}`, () => {
    assert.deepEqual(holders(logs), expected)
  })
}

test('an unreadable transfer is dropped as bad-array and does not change the holder', () => {
  const bad = withDataWord(transferBatchLog([BETWEEN, USER], [YES], [5n]), 0, MAX)
  const decoded = decode([positionLog('PositionSplit', BETWEEN), bad])
  assert.deepEqual(dropReasons(decoded), ['bad-array'])
  assert.deepEqual(
    (decoded.predictions as readonly PredictionSettlement[]).map(({ holder }) => holder),
    [BETWEEN],
  )
})
