import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RiskCategoryName } from '../../schemas/risk.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import type { AssessmentResult, ScoredExposure } from '../../serving/risk/assessment.ts'
import { addressRiskBody, alertsBody, directExposureBody } from '../../serving/risk/bodies.ts'
import { assessmentResult, type Findings, mergeFindings } from '../../serving/risk/findings.ts'
import { scoreExposure } from '../../serving/risk/score.ts'
import { riskRecord } from '../support/risk-record.ts'

const NOW_MS = Date.UTC(2026, 0, 31)
const DAY_MS = 86_400_000

const exposure = (
  category: RiskCategoryName,
  hops: number,
  share: number,
  usd: number | null = 1_000,
): ScoredExposure => ({
  side: 'received',
  label: {
    address: '0xaa',
    category,
    entity: '',
    source: 'a list',
    confidence: 1,
    evidenceUrl: '',
    validFromMs: 0,
    validToMs: null,
  },
  hops,
  share,
  path: [],
  lastEdge: { usd: 0, firstMs: 0, lastMs: 0 },
  chain: 'eth',
  usd,
  ...scoreExposure('address', { category, hops, share, usd }),
})

const found = (
  exposures: readonly ScoredExposure[],
  {
    totalUsd = 0,
    ageDays = 365,
  }: { readonly totalUsd?: number | null; readonly ageDays?: number } = {},
): Findings => ({
  exposures,
  truncated: false,
  ownLabels: [],
  formerLabels: [],
  totalUsd,
  firstSeenMs: NOW_MS - ageDays * DAY_MS,
})

const assess = (findings: Findings, lookAlikes: readonly string[] = []): AssessmentResult =>
  assessmentResult(findings, { labelsVersion: 7, nowMs: NOW_MS, transfer: null, lookAlikes })

const recordOf = (result: AssessmentResult): RiskAssessment =>
  riskRecord(0, {
    kind: 'address',
    status: 'COMPLETE',
    request: JSON.stringify({ kind: 'address', address: '0xbb', chains: ['eth'] }),
    result: JSON.stringify(result),
  })

/** Low by the policy with a score of 45; High by the policy with a score of 25. */
const GAMBLING = exposure('gambling', 1, 0.2)
const SANCTIONS = exposure('sanctions', 2, 0.2)

test('exposures are ordered by level, then by score; the reason names what made the level', () => {
  const minor = exposure('sanctions', 3, 0.3)
  const { level, score, reason, exposures } = assess(found([GAMBLING, minor, SANCTIONS]))
  assert.deepEqual([GAMBLING.level, GAMBLING.score], ['Low', 45])
  assert.deepEqual([SANCTIONS.level, SANCTIONS.score], ['High', 25])
  assert.deepEqual([level, score], ['High', 45])
  assert.equal(reason, 'High: sanctions by a list, 2 hops, 20.00 %')
  assert.deepEqual(
    exposures.map((each) => each.score),
    [25, 12.5, 45],
  )
})

test('a result of more than a hundred exposures keeps what made its level', () => {
  const result = assess(found([...Array.from({ length: 100 }, () => GAMBLING), SANCTIONS]))
  assert.deepEqual([result.exposures.length, result.truncated, result.level], [100, true, 'High'])
  assert.equal(result.exposures[0]?.label.category, 'sanctions')
})

test('bodies tell the gravest first, also of a result that was stored by score', () => {
  const mixer = exposure('mixer', 1, 0.04)
  assert.deepEqual([mixer.level, mixer.score < GAMBLING.score], ['Medium', true])
  const record = recordOf({ ...assess(found([])), exposures: [GAMBLING, mixer] })
  assert.deepEqual(directExposureBody(record).direct, { name: 'mixer', categoryId: 8 })
  assert.deepEqual(
    alertsBody(record).alerts.map(({ alertLevel }) => alertLevel),
    ['MEDIUM', 'LOW'],
  )
  const { evidence, triggers } = addressRiskBody(record)
  assert.deepEqual(
    evidence.map(({ category }) => category),
    ['mixer', 'gambling'],
  )
  assert.deepEqual(
    triggers.map(({ category, message }) => [category, message]),
    [
      ['mixer', 'direct exposure'],
      ['gambling', 'direct exposure'],
    ],
  )
})

test('a new address with a high value that met a mixer is High whatever the policy says of the mixer', () => {
  const mixer = exposure('mixer', 1, 0.01, 9)
  const value = { totalUsd: 100_000, ageDays: 29 }
  const raised = assess(found([mixer], value))
  assert.deepEqual(
    [raised.level, raised.score, raised.reason],
    ['High', 0, 'High: a new address with a high value that met a mixer'],
  )
  assert.equal(assess(found([mixer], { ...value, ageDays: 30 })).level, 'Medium')
  assert.equal(assess(found([mixer], { ...value, totalUsd: 99_999 })).level, 'Medium')
  assert.equal(assess(found([exposure('mixer', 2, 0.3)], value)).level, 'Medium')
  const high = assess(found([exposure('mixer', 1, 0.05)], value))
  assert.deepEqual([high.level, high.reason], ['High', 'High: mixer by a list, direct, 5.00 %'])
})

test('an address of which more transfers are stored than are read passes neither for new nor for a whale', () => {
  const mixer = exposure('mixer', 1, 0.01, 9)
  const unknown = { ...found([mixer], { totalUsd: null }), firstSeenMs: null }
  assert.deepEqual(assess(unknown).profile, ['mixer_user'])
  const known = found([], { totalUsd: 2_000_000, ageDays: 1 })
  assert.deepEqual(assess(known).profile, ['whale', 'new_address'])
  const merged = mergeFindings([known, unknown])
  assert.deepEqual([merged.totalUsd, assess(merged).level], [null, 'Medium'])
})

test('a look-alike is High at least; a graver exposure keeps its level and is the reason', () => {
  const reason = 'the address looks like another one that was used before'
  for (const exposures of [[], [GAMBLING], [SANCTIONS]]) {
    const result = assess(found(exposures), ['0xcc'])
    assert.deepEqual([result.level, result.reason], ['High', reason])
  }
  const severe = assess(found([exposure('sanctions', 1, 0.5)]), ['0xcc'])
  assert.deepEqual(
    [severe.level, severe.reason],
    ['Severe', 'Severe: sanctions by a list, direct, 50.00 %'],
  )
})

test('money of an exposure that is not known is left out, and is not 0', () => {
  const exposures = [
    exposure('mixer', 1, 0.5, null),
    exposure('scam', 1, 0.4, null),
    exposure('scam', 1, 0.3, 12.5),
    exposure('scam', 1, 0.2, 0),
  ]
  const record = recordOf(assess(found(exposures)))
  assert.deepEqual(
    alertsBody(record).alerts.map(({ alertAmount }) => alertAmount),
    [undefined, undefined, '12.50', '0.00'],
  )
  assert.ok(!('alertAmount' in (alertsBody(record).alerts[0] ?? {})))
  const sums = addressRiskBody(record).exposures
  assert.deepEqual(
    sums.map(({ category, value }) => [category, value]),
    [
      ['mixer', undefined],
      ['scam', '12.50'],
    ],
  )
  assert.ok(!('value' in (sums[0] ?? {})))
})
