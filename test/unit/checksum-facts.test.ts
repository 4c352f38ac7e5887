import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { TABLE_RULES, TOPIC_RULES } from '../../cli/checksum/comparison-rules.ts'
import { TOPICS } from '../../schemas/topics.ts'

const FOLDER = new URL('../../schemas/tables/', import.meta.url)

test('every topic is part of the checksum or excluded with a reason', () => {
  assert.deepEqual(Object.keys(TOPIC_RULES).sort(), Object.keys(TOPICS).sort())
})

test('every table and view of the migrations is part of the checksum or excluded with a reason', () => {
  const named = readdirSync(FOLDER).flatMap((file) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8')
    // A materialized view holds nothing itself: it fills a table that is listed.
    return [...text.matchAll(/^CREATE (?:TABLE|VIEW) IF NOT EXISTS \{chain\}_(\w+)/gm)].map(
      ([, name = '']) => name,
    )
  })
  assert.ok(named.length > 15, 'the migrations were read')
  assert.deepEqual(Object.keys(TABLE_RULES).sort(), [...new Set(named)].sort())
})

test('every exclusion from the checksum has a reason', () => {
  for (const facts of [...Object.values(TOPIC_RULES), ...Object.values(TABLE_RULES)]) {
    if (facts.how === 'left out') assert.match(facts.why, /\w+ \w+/)
  }
})
