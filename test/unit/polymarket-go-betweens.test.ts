import assert from 'node:assert/strict'
import { test } from 'node:test'
import { protocolBook } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { PredictionSettlement } from '../../schemas/events.ts'
import { reasonsOf, type Unplaced, withWord } from '../support/evm-logs.ts'
import { POOL, ROUTER, USER } from '../support/made-up-chain.ts'
import {
  ADAPTER,
  adapted,
  adaptedRedemption,
  batch,
  both,
  converted,
  MARKET,
  NO,
  position,
  redeemed,
  settled,
  single,
  YES,
  ZERO,
} from '../support/prediction-logs.ts'
import { blockOf } from '../support/recordings.ts'

const SECOND = '0xe111180000d2663c0091e4f400237545b87b996b'
const BETWEEN = '0xada100874d00e3331d00f2007a9c336a65009718'
const RISK_BETWEEN = '0xada2005600dec949baf300f4c6120000bdb6eaab'
const REDEEMER = '0xa1200000d0002264c9a1698e001292d00e1b00af'
const MAKER = `0x${'3a'.repeat(20)}`
const TAKER = `0x${'3b'.repeat(20)}`
const ORACLE = `0x${'3c'.repeat(20)}`
const MAX = (1n << 256n) - 1n

const decode = (logs: readonly Unplaced[]) =>
  decodeBlock(blockOf(logs), {
    proof: 'facts',
    protocols: protocolBook('polygon'),
    pool: () => undefined,
  })
const predicted = (logs: readonly Unplaced[]): readonly PredictionSettlement[] => {
  const { predictions, dropped } = decode(logs)
  assert.deepEqual(dropped, [])
  return predictions as readonly PredictionSettlement[]
}

test('what a go-between splits, merges and redeems is of who got the tokens or gave them', () => {
  for (const between of [BETWEEN, '0xada100db00ca00073811820692005400218fce1f']) {
    const logs = [
      batch([ZERO, between], [YES, NO], [5n, 5n]),
      position('PositionSplit', between),
      batch([between, USER], [YES, NO], [5n, 5n]),
      batch([MAKER, between], [YES, NO], [5n, 5n]),
      batch([between, ZERO], [YES, NO], [5n, 5n]),
      position('PositionsMerge', between),
      batch([TAKER, between], [YES, NO], [5n, 0n]),
      single(between, ZERO, YES, 5n),
      redeemed(5n, between),
    ]
    assert.deepEqual(predicted(logs), [
      { ...settled, type: 'Split', logIndex: 1, moved: both },
      { ...settled, type: 'Merge', logIndex: 5, holder: MAKER, moved: both },
      { ...settled, type: 'Redemption', logIndex: 8, holder: TAKER, moved: both.slice(0, 1) },
    ])
  }
})

test('the same of groups of questions, where the adapter stands between, and of a conversion', () => {
  for (const between of [RISK_BETWEEN, '0xada200001000ef00d07553cee7006808f895c6f1']) {
    const mine = { ...settled, collateral: null, indexSets: [] }
    const logs = [
      batch([ZERO, ADAPTER], [YES, NO], [5n, 5n]),
      position('PositionSplit', ADAPTER),
      batch([ADAPTER, between], [YES, NO], [5n, 5n]),
      adapted('PositionSplit', between),
      batch([between, USER], [YES, NO], [5n, 5n]),
      batch([MAKER, between], [YES, NO], [5n, 5n]),
      batch([between, ADAPTER], [YES, NO], [5n, 5n]),
      batch([ADAPTER, ZERO], [YES, NO], [5n, 5n]),
      position('PositionsMerge', ADAPTER),
      adapted('PositionsMerge', between),
      batch([TAKER, between], [YES, NO], [5n, 0n]),
      batch([between, ADAPTER], [YES, NO], [5n, 0n]),
      single(ADAPTER, ZERO, YES, 5n),
      redeemed(5n, ADAPTER),
      adaptedRedemption(between),
      batch([ORACLE, between], [NO], [5n]),
      batch([between, POOL], [NO], [5n]),
      batch([ADAPTER, between], [YES], [5n]),
      converted(between),
      batch([between, ORACLE], [YES], [5n]),
    ]
    assert.deepEqual(predicted(logs), [
      { ...mine, type: 'Split', logIndex: 3, moved: both },
      { ...mine, type: 'Merge', logIndex: 9, holder: MAKER, moved: both },
      { ...mine, type: 'Redemption', logIndex: 14, holder: TAKER, moved: both.slice(0, 1) },
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

const holders = (logs: readonly Unplaced[]): readonly string[] =>
  predicted(logs).map(({ holder }) => holder)

test('a contract that redeems for many names each of them', () => {
  const logs = [USER, MAKER, TAKER].flatMap((owner) => [
    batch([owner, REDEEMER], [YES, NO], [5n, 0n]),
    single(REDEEMER, ZERO, YES, 5n),
    redeemed(5n, REDEEMER),
  ])
  assert.deepEqual(holders(logs), [USER, MAKER, TAKER])
})

const ALONE: readonly (readonly [string, readonly Unplaced[], readonly string[]])[] = [
  [
    'nothing moved',
    [position('PositionSplit', BETWEEN), redeemed(5n, BETWEEN)],
    [BETWEEN, BETWEEN],
  ],
  [
    'tokens moved on the other side of the event only',
    [
      batch([BETWEEN, USER], [YES, NO], [5n, 5n]),
      position('PositionSplit', BETWEEN),
      position('PositionsMerge', BETWEEN),
      batch([USER, BETWEEN], [YES, NO], [5n, 5n]),
    ],
    [BETWEEN, BETWEEN],
  ],
  [
    'the move belongs to what it settled besides',
    [
      batch([USER, BETWEEN], [YES, NO], [5n, 5n]),
      position('PositionsMerge', BETWEEN),
      position('PositionsMerge', BETWEEN),
      position('PositionSplit', BETWEEN),
      position('PositionSplit', BETWEEN),
      batch([BETWEEN, MAKER], [YES, NO], [5n, 5n]),
    ],
    [USER, BETWEEN, BETWEEN, MAKER],
  ],
  [
    'an exchange makes a match through it',
    [
      batch([ZERO, BETWEEN], [YES, NO], [5n, 5n]),
      position('PositionSplit', BETWEEN),
      batch([BETWEEN, SECOND], [YES, NO], [5n, 5n]),
      batch([SECOND, BETWEEN], [YES, NO], [5n, 5n]),
      position('PositionsMerge', BETWEEN),
    ],
    [BETWEEN, BETWEEN],
  ],
  [
    'tokens of another contract moved',
    [
      position('PositionSplit', BETWEEN),
      batch([BETWEEN, USER], [YES, NO], [5n, 5n], ROUTER),
      batch([USER, BETWEEN], [YES, NO], [5n, 5n], ROUTER),
      position('PositionsMerge', BETWEEN),
    ],
    [BETWEEN, BETWEEN],
  ],
  [
    'it is nobody between',
    [position('PositionSplit', POOL), batch([POOL, USER], [YES, NO], [5n, 5n])],
    [POOL],
  ],
]

for (const [what, logs, expected] of ALONE) {
  test(`who settled stands for itself where ${what}`, () => {
    assert.deepEqual(holders(logs), expected)
  })
}

test('a move that cannot be read names nobody', () => {
  const bad = withWord(batch([BETWEEN, USER], [YES], [5n]), 0, MAX)
  const decoded = decode([position('PositionSplit', BETWEEN), bad])
  assert.deepEqual(reasonsOf(decoded), ['bad-array'])
  assert.deepEqual(
    (decoded.predictions as readonly PredictionSettlement[]).map(({ holder }) => holder),
    [BETWEEN],
  )
})
