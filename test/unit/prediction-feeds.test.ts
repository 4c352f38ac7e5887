import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trackOutcomes } from '../../ingestors/evm/predictions/outcome-tokens.ts'
import { predictionEvents } from '../../ingestors/evm/to-wire/prediction-feeds.ts'
import type {
  Prediction,
  PredictionManagement,
  PredictionSettlement,
  PredictionTrade,
} from '../../schemas/prediction-events.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'

const CONDITION = `0x${'0a'.repeat(32)}`
const QUESTION = `0x${'0b'.repeat(32)}`
const GROUP = `0x${'0c'.repeat(32)}`
const [MAKER, TAKER] = [`0x${'3a'.repeat(20)}`, `0x${'3b'.repeat(20)}`] as const
const at = { txIndex: 0, protocol: 'polymarket' } as const

const trade = (tokenId: bigint, more: Partial<PredictionTrade> = {}): PredictionTrade => ({
  ...at,
  kind: 'prediction-trade',
  logIndex: 5,
  exchange: MAKER,
  orderHash: QUESTION,
  maker: MAKER,
  taker: TAKER,
  side: 'BUY',
  tokenId,
  sharesRaw: 100n,
  collateral: '0xcc',
  collateralRaw: 40n,
  feeRaw: 3n,
  feeIn: 'shares',
  ...more,
})

const management = (more: Partial<PredictionManagement>): PredictionManagement => ({
  ...at,
  kind: 'prediction-management',
  type: 'TokenRegistered',
  logIndex: 1,
  conditionId: CONDITION,
  questionId: null,
  marketId: null,
  oracle: null,
  outcomes: 2,
  payouts: [],
  tokenIds: [],
  description: null,
  ...more,
})

const split = (more: Partial<PredictionSettlement>): PredictionSettlement => ({
  ...at,
  kind: 'prediction-settlement',
  type: 'Split',
  logIndex: 2,
  holder: TAKER,
  conditionId: CONDITION,
  marketId: null,
  collateral: '0xcc',
  amountRaw: 9n,
  indexSets: [],
  moved: [],
  ...more,
})

const moved = (...ids: readonly bigint[]) => ids.map((tokenId) => ({ tokenId, amountRaw: 9n }))
const nothing = (): undefined => undefined

test('a registered outcome token belongs to its condition, in its block and in later ones', () => {
  const registered = management({ tokenIds: [11n, 12n] })
  const first = trackOutcomes([registered], nothing)
  assert.deepEqual(first.outcome(11n), { conditionId: CONDITION, index: null })
  assert.equal(first.outcome(13n), undefined)
  const later = trackOutcomes([], (key) => first.amounts.get(key))
  assert.deepEqual(later.outcome(12n), { conditionId: CONDITION, index: null })
  assert.equal(later.amounts.size, 0)
})

test('a condition belongs to its group, in whichever block it was announced, and its trades and settlements carry it', () => {
  const prepared = management({ type: 'ConditionPreparation', questionId: QUESTION, oracle: MAKER })
  const grouped = management({
    type: 'QuestionPrepared',
    conditionId: null,
    questionId: QUESTION,
    marketId: GROUP,
  })
  const made = split({ indexSets: [1n, 2n], moved: moved(11n, 12n) })
  const first = trackOutcomes([prepared, grouped, made], nothing)
  const later = trackOutcomes([], (key) => first.amounts.get(key))
  assert.equal(later.group(CONDITION), GROUP)
  assert.equal(later.group(GROUP), undefined)
  const events = [trade(12n), made]
  const { predictionTrades, predictionSettlements } = predictionEvents(
    buildSingleTransactionBlock([]),
    events,
    later,
  )
  assert.equal(predictionTrades[0]?.event.market_id, GROUP)
  assert.equal(predictionSettlements[0]?.event.market_id, GROUP)
})

test('a split assigns its outcome tokens to their index, and changes no condition', () => {
  const made = split({ indexSets: [1n, 2n], moved: moved(11n, 12n) })
  const known = trackOutcomes([management({ tokenIds: [11n] }), made], nothing)
  assert.deepEqual(known.outcome(11n), { conditionId: CONDITION, index: 0 })
  assert.deepEqual(known.outcome(12n), { conditionId: CONDITION, index: 1 })
  const other = split({ conditionId: GROUP, indexSets: [1n, 2n], moved: moved(12n, 11n) })
  const held = (key: string) => known.amounts.get(key)
  assert.equal(trackOutcomes([other], held).outcome(11n)?.conditionId, CONDITION)
})

const UNTOLD: readonly (readonly [string, PredictionSettlement])[] = [
  ['more tokens were made than it names', split({ indexSets: [1n, 2n], moved: moved(1n, 2n, 3n) })],
  ['an adapter made more than two', split({ moved: moved(1n, 2n, 3n, 4n) })],
  ['it took tokens', split({ type: 'Merge', indexSets: [1n, 2n], moved: moved(1n, 2n) })],
  ['no condition is named', split({ conditionId: null, moved: moved(1n, 2n) })],
]
for (const [what, event] of UNTOLD) {
  test(`no outcome token is stored where ${what}`, () => {
    assert.equal(trackOutcomes([event], nothing).amounts.size, 0)
  })
}

test('an index set of several outcomes has no index', () => {
  const event = split({ indexSets: [3n, 4n], moved: moved(1n, 2n) })
  const { outcome } = trackOutcomes([event], nothing)
  assert.deepEqual([outcome(1n)?.index, outcome(2n)?.index], [null, 2])
})

test('prediction events carry their condition and question where known, and are keyed by them', () => {
  const events: readonly Prediction[] = [
    management({ type: 'ConditionPreparation', questionId: QUESTION, oracle: MAKER }),
    split({ indexSets: [1n, 2n], moved: moved(11n, 12n) }),
    trade(12n),
    trade(99n, { side: 'SELL', sharesRaw: 0n, feeIn: 'collateral', orderHash: null }),
    management({ type: 'QuestionPrepared', conditionId: null, marketId: GROUP, description: 'Q' }),
  ]
  const outcomes = trackOutcomes(events, nothing)
  const mapped = predictionEvents(buildSingleTransactionBlock([]), events, outcomes)
  const [known, unknown] = mapped.predictionTrades
  assert.equal(known?.key, CONDITION)
  const { event: told } = known ?? {}
  assert.deepEqual(
    [told?.question_id, told?.outcome, told?.price, told?.is_outcome_buy, told?.marketplace],
    [QUESTION, '1', '0.4', true, 'Polymarket'],
  )
  assert.deepEqual([told?.buyer, told?.seller, told?.event_index], [TAKER, MAKER, 0])
  assert.equal(unknown?.key, '99')
  assert.deepEqual(
    [unknown?.event.condition_id, unknown?.event.price, unknown?.event.event_index],
    ['', '', 1],
  )
  const [prepared, grouped] = mapped.predictionManagements
  assert.equal(prepared?.key, CONDITION)
  assert.equal(grouped?.key, GROUP)
  assert.equal(grouped?.event.group_id, GROUP)
  const [settled] = mapped.predictionSettlements
  assert.deepEqual(settled?.event.outcome_token_ids, ['11', '12'])
  assert.deepEqual(settled?.event.amounts, ['9', '9'])
  assert.equal(settled?.event.question_id, QUESTION)
})
