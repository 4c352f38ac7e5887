import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RiskCategoryName } from '../../schemas/risk.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import type { AssessmentResult, ScoredExposure } from '../../serving/risk/assessment.ts'
import {
  addressIdentificationsBody,
  addressRiskBody,
  alertsBody,
  directExposureBody,
  fraudAssessmentBody,
  networkIdentificationsBody,
  verifiedAddressBody,
} from '../../serving/risk/bodies.ts'
import { assessmentResult, type Findings, mergeFindings } from '../../serving/risk/findings.ts'
import { scoreExposure } from '../../serving/risk/score.ts'
import type { Side } from '../../serving/risk/search.ts'
import { riskRecord } from '../support/risk-record.ts'

const NOW_MS = Date.UTC(2026, 0, 31)
const DAY_MS = 86_400_000

const exposure = (
  category: RiskCategoryName,
  hops: number,
  share: number,
  usd: number | null = 1_000,
  {
    address = '0xaa',
    source = 'a list',
    side = 'received',
  }: { readonly address?: string; readonly source?: string; readonly side?: Side } = {},
): ScoredExposure => ({
  side,
  label: {
    address,
    category,
    entity: '',
    source,
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

test('what makes an address High without an exposure is an alert and a trigger, beside those of exposures', () => {
  const lookAlike = recordOf(assess(found([]), ['0xcc']))
  const memo = 'the address looks like another one that was used before'
  assert.deepEqual(alertsBody(lookAlike).alerts, [
    {
      alertLevel: 'HIGH',
      categoryId: 7,
      service: 'address_poisoning',
      externalId: lookAlike.id,
      exposureType: 'DIRECT',
      memo,
    },
  ])
  assert.deepEqual(addressRiskBody(lookAlike).triggers, [
    { category: 'scam', level: 'High', message: memo },
  ])
  const mixer = exposure('mixer', 1, 0.01, 9)
  const both = recordOf(assess(found([mixer], { totalUsd: 100_000, ageDays: 29 }), ['0xcc']))
  assert.deepEqual(
    alertsBody(both).alerts.map((alert) => [alert.alertLevel, alert.categoryId, alert.service]),
    [
      ['HIGH', 7, 'address_poisoning'],
      ['HIGH', 8, 'new_address'],
      ['MEDIUM', 8, 'mixer'],
    ],
  )
  assert.match(
    alertsBody(both).alerts[1]?.memo ?? '',
    /a new address with a high value that met a mixer/,
  )
  const severe = recordOf(assess(found([exposure('sanctions', 1, 0.5)]), ['0xcc']))
  assert.deepEqual(
    alertsBody(severe).alerts.map(({ alertLevel, categoryId }) => [alertLevel, categoryId]),
    [
      ['SEVERE', 3],
      ['HIGH', 7],
    ],
  )
  assert.deepEqual(alertsBody(recordOf(assess(found([])))).alerts, [])
})

test('a look-alike that an older build stored is an alert', () => {
  const { raisedBy: _, ...stored } = assess(found([]), ['0xcc'])
  assert.deepEqual(
    alertsBody(recordOf(stored)).alerts.map(({ alertLevel, service }) => [alertLevel, service]),
    [['HIGH', 'address_poisoning']],
  )
})

test('money of an exposure that is not known is left out, and is not 0', () => {
  const exposures = [
    exposure('mixer', 1, 0.5, null),
    exposure('scam', 1, 0.4, null),
    exposure('scam', 1, 0.3, 12.5, { address: '0xab' }),
    exposure('scam', 1, 0.2, 0, { address: '0xac' }),
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

test('a verified address has one exposure of a category and kind, its money counted once for each address', () => {
  const exposures = [
    exposure('sanctions', 1, 0.25, 500),
    exposure('sanctions', 1, 0.25, 500, { source: 'another list' }),
    exposure('sanctions', 1, 0.5, 100.5, { address: '0xab', side: 'sent' }),
    exposure('sanctions', 2, 0.1, null, { address: '0xae' }),
    exposure('darknet_market', 3, 0.001, 1, { address: '0xac' }),
    exposure('darknet_market', 3, 0.002, 2, { address: '0xad' }),
    exposure('unlicensed_gambling', 1, 0.01, 20),
    exposure('decentralized_exchange', 1, 0.4, 800),
  ]
  const record = recordOf(assess(found(exposures)))
  const { risk_exposures, ...head } = verifiedAddressBody(record)
  assert.deepEqual(head, {
    address: '0xbb',
    risk: 'Severe',
    status: 'COMPLETE',
    address_type: 'PRIVATE_WALLET',
  })
  assert.deepEqual(
    risk_exposures.map(({ label, severity, type, amount, percentage }) => [
      ...[label, severity, type, amount, percentage],
    ]),
    [
      ['sanctioned entity', 'Severe', 'direct', '600.50', 50],
      ['sanctioned entity', 'Severe', 'indirect', null, 10],
      ['gambling', 'High', 'direct', '20.00', 1],
      ['darknet', 'Severe', 'indirect', '3.00', 0.3],
      ['decentralized exchange', 'Info', 'direct', '800.00', 40],
    ],
  )
  const sums = addressRiskBody(record).exposures
  assert.deepEqual(
    sums.filter(
      ({ category, exposureType }) => `${category} ${exposureType}` === 'sanctions direct',
    ),
    [
      { category: 'sanctions', direction: 'sent', exposureType: 'direct', value: '100.50' },
      { category: 'sanctions', direction: 'received', exposureType: 'direct', value: '500.00' },
    ],
  )
})

test('an address that is not screened yet is verified as pending, without a level', () => {
  const record = riskRecord(0, {
    kind: 'address',
    request: JSON.stringify({ kind: 'address', address: '0xbb', chains: ['eth'] }),
  })
  assert.deepEqual(verifiedAddressBody(record), {
    address: '0xbb',
    risk: null,
    status: 'PENDING',
    address_type: 'PRIVATE_WALLET',
    risk_exposures: [],
  })
})

test('answers about a record say that it is not screened, or cannot be, as its summary does', () => {
  const request = JSON.stringify({ kind: 'withdrawal', chain: 'eth', address: '0xbb' })
  const outcomes = [
    ['PENDING', null],
    ['FAILED', '{"reason":"internal"}'],
    ['COMPLETE', JSON.stringify(assess(found([])))],
  ] as const
  for (const [status, result] of outcomes) {
    const record = riskRecord(0, { kind: 'withdrawal', request, status, result })
    assert.deepEqual(alertsBody(record), { status, alerts: [] })
    assert.deepEqual(directExposureBody(record), { status, direct: null })
    assert.equal(networkIdentificationsBody(record).status, status)
    assert.equal(addressIdentificationsBody(record).status, status)
    assert.equal(fraudAssessmentBody(record).status, status)
  }
})
