import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { TOPICS, type TopicRow } from '../../schemas/topics.ts'

const page = readFileSync(new URL('../../docs/kafka.md', import.meta.url), 'utf8')

test('docs/kafka.md names every topic of a chain, with its message and how long it is kept', () => {
  const lines = page.split('\n')
  const named = new Set(page.match(/\{c\}\.[\w.-]*\w/g))
  for (const row of Object.values(TOPICS)) {
    const { suffix, scope, message, retentionHours, optional }: TopicRow = row
    if (scope !== 'chain') continue
    const name = `{c}.${suffix}`
    assert.ok(named.delete(name), `${name} is missing`)
    if (optional) continue
    const line = lines.find((text) => text.split('|')[1]?.includes(`\`${name}\``)) ?? ''
    assert.ok(line.includes(`\`${message}\``), `${name}: ${message}`)
    const kept =
      retentionHours === null ? /for ever|newest/ : new RegExp(`\\| ${retentionHours}[ ,]`)
    assert.match(line, kept, name)
  }
  assert.deepEqual([...named], [])
})
