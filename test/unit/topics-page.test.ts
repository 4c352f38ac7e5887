import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { recordHeaders } from '../../core/codec/record-headers.ts'
import { TOPICS, type TopicRow } from '../../schemas/topics.ts'
import type { EventMeta, Op } from '../../schemas/wire.ts'

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

/** The record that the examples of the table of headers are of. */
const EXAMPLE: EventMeta = {
  chain: 'eth',
  op: 'OP_REVERT',
  seq: 42,
  commitment: 'COMMITMENT_PROCESSED',
  height: 19_000_000,
  slot: 19_000_000,
  hash: '0xb1',
  parent_hash: '0xb0',
  block_time: 0,
  part: 1,
  parts: 3,
  produced_at: 0,
}

test('docs/kafka.md documents every header of a record by its exact name, value and format', () => {
  const table = page.slice(page.indexOf('| header | value | example |')).split('\n\n')[0] ?? ''
  const rows = table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const examples = rows.map(([, name = '', , example = '']) =>
    [name, example].map((text) => /^`(.*)`$/.exec(text)?.[1]),
  )
  assert.deepEqual(Object.fromEntries(examples), recordHeaders(EXAMPLE))
  const [, , ops = ''] = rows.find(([, name]) => name === '`op`') ?? []
  const letters = [...ops.matchAll(/`(\w)` for `(\w+)`/g)].map(([, letter, op]) => [op, letter])
  const written = (['OP_APPLY', 'OP_REVERT', 'OP_FINALIZE'] satisfies Op[]).map((op) => [
    op,
    recordHeaders({ ...EXAMPLE, op }).op,
  ])
  assert.deepEqual(letters, written)
})
