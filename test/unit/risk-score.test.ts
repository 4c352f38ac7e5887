import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { RISK_CATEGORIES, type RiskCategoryName, type RiskLevel } from '../../schemas/risk.ts'
import {
  exposureLevel,
  exposureScore,
  isAlert,
  levelOfScore,
  overallScore,
  type Subject,
  scoreExposure,
} from '../../serving/risk/score.ts'

const exposure = (
  category: RiskCategoryName,
  hops: number,
  share: number,
  usd: number | null = 1_000_000,
) => ({
  category,
  hops,
  share,
  usd,
})

test('the score of a severe source halves with each further hop', () => {
  const scores = [0, 1, 2, 3, 4, 5].map((hops) => exposureScore(exposure('sanctions', hops, 0.001)))
  assert.deepEqual(scores, [100, 100, 25, 12.5, 6.25, 3.125])
})

test('the score of other sources grows with their share up to a tenth, and is 0 below ten USD', () => {
  assert.equal(exposureScore(exposure('mixer', 1, 0.1)), 75)
  assert.equal(exposureScore(exposure('mixer', 1, 0.05)), 37.5)
  assert.equal(exposureScore(exposure('mixer', 1, 1, 9.99)), 0)
  assert.equal(exposureScore(exposure('mixer', 2, 1)), 18.75)
  assert.equal(exposureScore(exposure('gambling', 1, 1)), 45)
  assert.equal(exposureScore(exposure('exchange', 1, 1)), 0)
})

const LEVELS: readonly (readonly [
  Subject,
  RiskCategoryName,
  number,
  number,
  number | null,
  RiskLevel,
])[] = [
  ['transfer', 'sanctions', 1, 1, 0.01, 'Severe'],
  ['transfer', 'sanctions', 2, 0.5, 500, 'Severe'],
  ['transfer', 'sanctions', 2, 0.009, 999, 'High'],
  ['transfer', 'sanctions', 2, 0.009, 1_000, 'Severe'],
  ['transfer', 'sanctions', 2, 0.009, null, 'Severe'],
  ['transfer', 'sanctions', 3, 0.5, 500, 'High'],
  ['transfer', 'sanctions', 5, 0.009, 999, 'Medium'],
  ['transfer', 'mixer', 1, 0.001, 1, 'High'],
  ['transfer', 'mixer', 2, 0.05, 1, 'Medium'],
  ['transfer', 'mixer', 2, 0.049, 1, 'Low'],
  ['transfer', 'gambling', 1, 1, 1_000, 'Low'],
  ['address', 'sanctions', 1, 0.01, 1, 'Severe'],
  ['address', 'sanctions', 1, 0.0001, 100, 'Severe'],
  ['address', 'sanctions', 1, 0.0001, 99, 'High'],
  ['address', 'sanctions', 2, 0.1, 1, 'High'],
  ['address', 'sanctions', 2, 0.01, 1, 'Medium'],
  ['address', 'sanctions', 2, 0.006, 1, 'Low'],
  ['address', 'mixer', 1, 0.05, 1, 'High'],
  ['address', 'mixer', 1, 0.049, 1, 'Medium'],
  ['address', 'mixer', 3, 0.25, 1, 'Medium'],
  ['address', 'mixer', 3, 0.24, 1, 'Low'],
  ['address', 'gambling', 1, 0.25, 1, 'Medium'],
  ['address', 'gambling', 1, 0.24, 1, 'Low'],
  ['address', 'gambling', 2, 1, 1, 'Low'],
  ['address', 'exchange', 1, 1, 1, 'Low'],
]

for (const [subject, category, hops, share, usd, level] of LEVELS) {
  test(`${subject}: ${category} at ${hops} hops, ${share * 100} %, ${usd} USD is ${level}`, () => {
    assert.equal(exposureLevel(subject, { category, hops, share, usd }), level)
  })
}

test('the overall level and score are the highest ones; without exposures they are Low and 0', () => {
  assert.deepEqual(overallScore([]), { level: 'Low', score: 0 })
  const both = [exposure('mixer', 1, 0.2), exposure('sanctions', 2, 0.02)]
  const scored = both.map((each) => scoreExposure('address', each))
  assert.deepEqual(overallScore(scored), { level: 'High', score: 75 })
  assert.deepEqual([74.9, 75, 40, 39.9].map(levelOfScore), ['Medium', 'High', 'Medium', 'Low'])
})

test('alerts leave out services and distant exposures of medium risk', () => {
  assert.equal(isAlert(exposure('exchange', 1, 1)), false)
  assert.equal(isAlert(exposure('gambling', 1, 1)), true)
  assert.equal(isAlert(exposure('gambling', 2, 1)), false)
  assert.equal(isAlert(exposure('mixer', 4, 0.01)), true)
})

test('the document of risk screening lists every category with its id, under its class', () => {
  const page = readFileSync(new URL('../../docs/risk.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| (Severe|High|Medium|Info) \| (`.*) \|$/gm)].flatMap(
    ([, sourceClass, categories = '']) =>
      [...categories.matchAll(/`(\w+)` (\d+)/g)].map(([, name, id]) => [
        name,
        Number(id),
        sourceClass,
      ]),
  )
  const known = Object.entries(RISK_CATEGORIES).map(([name, of]) => [name, of.id, of.class])
  assert.deepEqual(listed.toSorted(), known.toSorted())
})
