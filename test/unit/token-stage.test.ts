import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation, Publication } from '../../processors/runtime/stage.ts'
import { tokenRows } from '../../processors/sinks/pool-and-token-rows.ts'
import { TOKENS } from '../../processors/tokens/stage.ts'
import type { TokenEvent, TokenEvents } from '../../schemas/wire.ts'
import { buildTape, type TapeOp, tapeMeta, tapeOperation } from '../support/builders/trade-tape.ts'
import {
  buildOperation,
  createTestProcessor,
  emptyBlockOp,
  stepPublications,
} from '../support/stage-harness.ts'

const tokensOf = (publications: readonly Publication[]): readonly TokenEvents[] =>
  publications.flatMap((one) => (one.topic === 'tokensProcessed' ? [one.value] : []))

const factsOp = (op: TapeOp, name: string, supply = '', decimals = 9): Operation => {
  const event: TokenEvent = {
    instruction: null,
    block: null,
    transaction: null,
    d_app: null,
    type: 'EVENT_TYPE_UPDATED',
    token: {
      address: '0xaaa',
      name,
      symbol: name.slice(0, 3),
      decimals,
      uri: '',
      metadata_address: '',
      creators: [],
      additional_metadata: supply === '' ? {} : { total_supply: supply },
      solana_extra: null,
      evm_extra: { token_standard: 'TOKEN_STANDARD_ERC20' },
    },
    token_processed: null,
    launch_from: null,
    migrated_to: null,
    created_at: 0,
    created_slot: 0,
    created_tx: '',
    dev: '',
    migrated_at: 0,
  }
  const value = { meta: tapeMeta(op), events: [event] }
  return buildOperation(op, [{ topic: 'tokenMetadata', key: '0xaaa', part: 0, value }])
}

test('a token record is published in full: newest metadata with the first appearance', () => {
  const folding = createTestProcessor(TOKENS)
  const [first] = tokensOf(
    stepPublications(folding, factsOp(emptyBlockOp('apply', 1, 1), 'Alpha', '77')),
  )
  const [second] = tokensOf(stepPublications(folding, factsOp(emptyBlockOp('apply', 2, 2), 'Beta')))
  assert.ok(first && second)
  const [row] = tokenRows(second)
  assert.deepEqual(
    [row?.name, row?.total_supply, row?.decimals, row?.created_slot, row?.supply_height],
    ['Beta', null, 9, 1, 2],
  )
  assert.equal(tokenRows(first)[0]?.total_supply, '77')
})

test('unknown decimals are NULL', () => {
  const [value] = tokensOf(
    stepPublications(
      createTestProcessor(TOKENS),
      factsOp(emptyBlockOp('apply', 1, 1), 'X', '', -1),
    ),
  )
  assert.ok(value)
  assert.equal(tokenRows(value)[0]?.decimals, null)
})

test('a reorg restores the earlier token record, or retracts the token with its first appearance', () => {
  const folding = createTestProcessor(TOKENS)
  stepPublications(folding, factsOp(emptyBlockOp('apply', 1, 1), 'Alpha'))
  stepPublications(folding, factsOp(emptyBlockOp('apply', 2, 2), 'Beta'))
  const [restored] = tokensOf(
    stepPublications(folding, buildOperation(emptyBlockOp('revert', 3, 2))),
  )
  const [gone] = tokensOf(stepPublications(folding, buildOperation(emptyBlockOp('revert', 4, 1))))
  assert.ok(restored && gone)
  assert.deepEqual(
    [tokenRows(restored)[0]?.name, tokenRows(restored)[0]?._del, tokenRows(gone)[0]?._del],
    ['Alpha', 0, 1],
  )
})

test('a token without metadata is known from its first trade', () => {
  const trade = {
    base: '0xaaa',
    quote: '0xusdc',
    pool: '0xp1',
    baseRaw: 1n,
    quoteRaw: 1n,
    baseDecimals: null,
    quoteDecimals: 6,
    buy: true,
    quoteUsd: '1',
    quoteNative: '',
    suspect: false,
  }
  const { ops } = buildTape([
    { kind: 'apply', stepMs: 0, trades: [trade, trade] },
    { kind: 'apply', stepMs: 0, trades: [trade] },
  ])
  const folding = createTestProcessor(TOKENS)
  const published = ops.map((op) =>
    tokensOf(stepPublications(folding, tapeOperation(op, 'trades'))),
  )
  assert.deepEqual(
    published.map((list) => list.length),
    [1, 0],
  )
  const [row] = tokenRows(published[0]?.[0] ?? { meta: null, events: [] })
  assert.deepEqual([row?.created_slot, row?.created_tx, row?.decimals], [1, '0xb1f0', null])
})
