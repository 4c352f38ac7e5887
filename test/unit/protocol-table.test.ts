import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { protocolsPage } from '../support/protocol-table.ts'

const page = readFileSync(new URL('../../docs/protocols.md', import.meta.url), 'utf8')

test('docs/protocols.md is what the tables and the recordings say', async () => {
  assert.equal(page, await protocolsPage(), 'run test/support/write-protocols.ts')
})

test('no row claims more than a recording or its vectors', () => {
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| chain'))
  assert.ok(rows.length > 50)
  for (const row of rows.slice(1)) {
    assert.match(row, /\| (recorded: `|same events, recorded on |not verified )[^|]+\|$/)
  }
})
