import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const page = readFileSync(new URL('../../docs/protocols.md', import.meta.url), 'utf8')

test('every row of the protocol table names a recording or test vectors', () => {
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| chain'))
  assert.ok(rows.length > 50)
  for (const row of rows.slice(1)) {
    assert.match(
      row,
      /\| (recorded: `|same events, recorded on |not verified )[^|]+\| (events: `|derived: `|as listed)[^|]*\|$/,
    )
  }
})

test('a factory is confirmed only by a recording of its own chain', () => {
  const cells = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const cell = (chain: string, name: string) =>
    cells.find((row) => row[1] === chain && row[2] === name)?.[6]
  assert.match(cell('Ethereum', 'Uniswap V2') ?? '', /^derived: `ethereum\//)
  assert.match(cell('Ethereum', 'Uniswap V4') ?? '', /^events: `ethereum\//)
  assert.match(cell('Solana', 'Pump.fun') ?? '', /^events: `(sol|traces)\//)
  assert.equal(cell('Avalanche C-Chain', 'Uniswap V2'), 'as listed')
})
