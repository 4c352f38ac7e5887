import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { TABLE_FACTS, TOPIC_FACTS } from '../../cli/checksum/facts.ts'
import { TOPICS } from '../../schemas/topics.ts'

const FOLDER = new URL('../../schemas/tables/', import.meta.url)

test('every topic is compared or left out with a reason', () => {
  assert.deepEqual(Object.keys(TOPIC_FACTS).sort(), Object.keys(TOPICS).sort())
})

test('every table and view of the migrations is compared or left out with a reason', () => {
  const named = readdirSync(FOLDER).flatMap((file) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8')
    // A materialized view holds nothing itself: it fills a table that is listed.
    return [...text.matchAll(/^CREATE (?:TABLE|VIEW) IF NOT EXISTS \{chain\}_(\w+)/gm)].map(
      ([, name = '']) => name,
    )
  })
  assert.ok(named.length > 15, 'the migrations were read')
  assert.deepEqual(Object.keys(TABLE_FACTS).sort(), [...new Set(named)].sort())
})

test('what is left out says why', () => {
  for (const facts of [...Object.values(TOPIC_FACTS), ...Object.values(TABLE_FACTS)]) {
    if (facts.how === 'left out') assert.match(facts.why, /\w+ \w+/)
  }
})
