import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import type {
  DecodedBlock,
  EventPosition,
  SvmInstruction,
  SvmTransaction,
} from '../../schemas/events.ts'
import { buildSvmBlock } from '../support/builders/svm-block.ts'
import {
  recordedSolanaTransaction,
  solanaDecodeContext,
  solanaRecordingNames,
} from '../support/recordings/solana.ts'

const transactions = solanaRecordingNames()
  .map(recordedSolanaTransaction)
  .filter(({ success }) => success)
const instructions = transactions.flatMap((tx) => tx.instructions)
const read = instructions.filter(({ data }) => data !== null)
const SEED = 415_623_442
const book = protocolRegistry('sol')

interface Change {
  readonly how:
    | 'cut'
    | 'flip'
    | 'noise'
    | 'accounts'
    | 'program'
    | 'data'
    | 'depth'
    | 'logs'
    | 'drop'
  readonly at: number
  readonly place: number
  readonly byte: number
  readonly noise: Uint8Array
  readonly other: SvmInstruction
}

const change: fc.Arbitrary<Change> = fc.record({
  how: fc.constantFrom(
    'cut',
    'flip',
    'noise',
    'accounts',
    'program',
    'data',
    'depth',
    'logs',
    'drop',
  ),
  at: fc.nat(),
  place: fc.nat(),
  byte: fc.nat({ max: 255 }),
  noise: fc.uint8Array({ maxLength: 400 }),
  other: fc.constantFrom(...read),
})

/** The instruction with one thing about it changed. */
const changed = (
  was: SvmInstruction,
  { how, place, byte, noise, other }: Change,
): SvmInstruction => {
  const data = was.data ?? new Uint8Array()
  switch (how) {
    case 'cut':
      return { ...was, data: data.subarray(0, place % (data.length + 1)) }
    case 'flip':
      return { ...was, data: data.map((value, at) => (at === place % data.length ? byte : value)) }
    case 'noise':
      return { ...was, data: Buffer.concat([data.subarray(0, place % 17), noise]) }
    case 'accounts':
      return { ...was, accounts: was.accounts.slice(0, place % (was.accounts.length + 1)) }
    case 'program':
      return { ...was, program: other.program }
    case 'data':
      return { ...was, data: other.data }
    case 'depth':
      return { ...was, depth: 1 + (place % 5) }
    case 'logs':
      return {
        ...was,
        logs: [
          ...['Program log: ray_log: ', 'Program data: '].map(
            (start) => start + Buffer.from(noise).toString('base64'),
          ),
          ...was.logs.map((line) => line.slice(0, place % (line.length + 1))),
        ],
      }
    case 'drop':
      return { ...was, data: null }
  }
}

const mutated: fc.Arbitrary<SvmTransaction> = fc
  .record({
    tx: fc.constantFrom(...transactions),
    changes: fc.array(change, { minLength: 1, maxLength: 6 }),
    holders: fc.boolean(),
  })
  .map(({ tx, changes, holders }) => {
    const list = [...tx.instructions]
    for (const each of changes) {
      const at = each.at % list.length
      const was = list[at]
      if (was) list[at] = changed(was, each)
    }
    return { ...tx, instructions: list, tokenBalances: holders ? tx.tokenBalances : [] }
  })

const noisy: fc.Arbitrary<SvmTransaction> = fc
  .array(fc.record({ from: fc.constantFrom(...read), data: fc.uint8Array({ maxLength: 600 }) }), {
    maxLength: 12,
  })
  .map((list) => ({
    ...(transactions[0] as SvmTransaction),
    instructions: list.map(({ from, data }, outer) => ({
      ...from,
      data,
      outer,
      inner: null,
      depth: 1,
    })),
  }))

for (const [name, arbitrary] of [
  ['recorded transactions with anything about them changed', mutated],
  ['bytes of chance under the names of real programs', noisy],
] as const) {
  test(`${name}: nothing throws, no trade is impossible`, () => {
    fc.assert(
      fc.property(arbitrary, (tx) => {
        const block = buildSvmBlock([tx])
        const {
          swaps,
          poolChanges,
          pools,
          transfers,
          supplies,
          tokenCreations: births,
          migrations,
          dropped,
        } = decodeBlock(block, solanaDecodeContext())
        requiredLookups(block, book)
        const shown = new Set(pools.map(({ address }) => address))
        for (const { pool, amountInRaw, amountOutRaw, tokenIn, tokenOut } of swaps) {
          assert.ok(amountInRaw >= 0n && amountOutRaw >= 0n)
          assert.ok(amountInRaw > 0n || amountOutRaw > 0n)
          assert.ok(shown.has(pool) && tokenIn !== null && tokenOut !== null)
        }
        for (const { factory, verified } of pools) {
          assert.ok(verified && factory !== null && book.factory(factory) !== undefined)
        }
        for (const event of [
          ...swaps,
          ...poolChanges,
          ...transfers,
          ...supplies,
          ...births,
          ...migrations,
        ]) {
          const place = tx.instructions[event.logIndex]
          assert.deepEqual([place?.outer, place?.inner], [event.path?.outer, event.path?.inner])
        }
        for (const { logIndex, reason } of dropped) {
          assert.ok(logIndex < tx.instructions.length && reason.length > 0)
        }
      }),
      { seed: SEED, numRuns: 1_500 },
    )
  })
}

const KINDS: readonly ((decoded: DecodedBlock) => readonly EventPosition[])[] = [
  ({ swaps }) => swaps,
  ({ poolChanges }) => poolChanges,
  ({ transfers }) => transfers,
  ({ balances }) => balances,
  ({ supplies }) => supplies,
  ({ tokenCreations: births }) => births,
  ({ migrations }) => migrations,
]

test('the events of a transaction do not depend on the other transactions of its block', () => {
  const pair = fc.constantFrom(...transactions)
  fc.assert(
    fc.property(pair, pair, (first, second) => {
      const apart = [first, second].map((tx) =>
        decodeBlock(buildSvmBlock([tx]), solanaDecodeContext()),
      )
      const both = decodeBlock(
        buildSvmBlock([
          { ...first, index: 0 },
          { ...second, index: 1 },
        ]),
        solanaDecodeContext(),
      )
      for (const eventsOf of KINDS) {
        const placed = (list: readonly EventPosition[]) =>
          list.map((event) => ({ ...event, txIndex: 0 }))
        assert.deepEqual(placed(eventsOf(both)), placed(apart.flatMap(eventsOf)))
      }
    }),
    { seed: SEED, numRuns: 60 },
  )
})
