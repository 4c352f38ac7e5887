import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InvalidInput } from '../../core/errors.ts'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import type { EvmBlock, Log } from '../../schemas/events.ts'
import { buildDecodeContext } from '../support/builders/dex-logs.ts'
import {
  recordedEthereumBlock,
  recordingJson,
  recordingNames,
} from '../support/recordings/ethereum.ts'

const SEED = 18_100_000
const blocks = recordingNames()
  .filter((name) => name.startsWith('block_'))
  .map(recordedEthereumBlock)
const logs = recordingNames()
  .map(recordedEthereumBlock)
  .flatMap(({ transactions }) => transactions.flatMap((tx) => tx.logs))
const LIMIT = 1n << 255n

/** A recorded log with one thing about it changed. */
const mutated: fc.Arbitrary<Omit<Log, 'index'>> = fc
  .record({
    log: fc.constantFrom(...logs),
    other: fc.constantFrom(...logs),
    how: fc.constantFrom('cut', 'grow', 'flip', 'fill', 'topics', 'address', 'nothing'),
    at: fc.nat(),
    digit: fc.constantFrom(...'0123456789abcdef'),
  })
  .map(({ log, other, how, at, digit }) => {
    const place = 2 + (at % Math.max(1, log.data.length - 2))
    switch (how) {
      case 'cut':
        return { ...log, data: log.data.slice(0, place) }
      case 'grow':
        return { ...log, data: log.data + other.data.slice(2) }
      case 'flip':
        return { ...log, data: log.data.slice(0, place) + digit + log.data.slice(place + 1) }
      case 'fill':
        return { ...log, data: `0x${digit.repeat(log.data.length - 2)}` }
      case 'topics':
        return { ...log, topics: [...log.topics.slice(0, 1), ...other.topics.slice(1)] }
      case 'address':
        return { ...log, address: other.address }
      default:
        return log
    }
  })

const blockOf = (list: readonly Omit<Log, 'index'>[]): EvmBlock => {
  const [shape] = blocks
  assert.ok(shape)
  const [tx] = shape.transactions
  assert.ok(tx)
  return {
    ...shape,
    transactions: [{ ...tx, success: true, logs: list.map((log, index) => ({ ...log, index })) }],
  }
}

const believing: DecodeContext = {
  ...buildDecodeContext('facts'),
  pool: (address) => ({
    address,
    tokenA: `0x${'0a'.repeat(20)}`,
    tokenB: `0x${'0b'.repeat(20)}`,
    protocol: address < '0x8' ? 'uniswap_v2' : 'uniswap_v3',
    factory: null,
    feePips: null,
    verified: true,
  }),
}

for (const [name, books] of [
  ['evidence', buildDecodeContext('evidence')],
  ['facts that believe everything', believing],
] as const) {
  test(`random logs never make the decoder throw or give an impossible trade (${name})`, () => {
    fc.assert(
      fc.property(fc.array(mutated, { minLength: 1, maxLength: 40 }), (list) => {
        const block = blockOf(list)
        const { swaps, transfers, poolChanges, dropped } = decodeBlock(block, books)
        requiredLookups(block, books.protocols)
        for (const { amountInRaw, amountOutRaw, tokenIn, tokenOut, logIndex } of swaps) {
          assert.ok(amountInRaw >= 0n && amountInRaw < LIMIT)
          assert.ok(amountOutRaw >= 0n && amountOutRaw < LIMIT)
          assert.ok(amountInRaw > 0n || amountOutRaw > 0n)
          assert.ok(tokenIn === null || tokenIn !== tokenOut)
          assert.ok(logIndex < list.length)
        }
        for (const { from, to, amountRaw } of transfers) {
          assert.match(from + to, /^0x[0-9a-f]{40}0x[0-9a-f]{40}$/)
          assert.ok(amountRaw >= 0n && amountRaw < 2n * LIMIT)
        }
        const taken = [swaps, transfers, dropped].flatMap((each) =>
          each.map(({ logIndex }) => logIndex),
        )
        // What many tokens did is told by pairs.
        taken.push(...new Set(poolChanges.map(({ logIndex }) => logIndex)))
        assert.equal(new Set(taken).size, taken.length, 'one log is one thing')
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
}

test('a swap is decoded the same with foreign transactions around it', () => {
  const books = buildDecodeContext('evidence')
  fc.assert(
    fc.property(fc.constantFrom(...blocks), fc.nat(), (block, pick) => {
      const index = pick % block.transactions.length
      const alone = { ...block, transactions: block.transactions.slice(index, index + 1) }
      const own = block.transactions[index]?.index
      assert.deepEqual(
        decodeBlock(alone, books).swaps,
        decodeBlock(block, books).swaps.filter(({ txIndex }) => txIndex === own),
      )
    }),
    { seed: SEED, numRuns: 100 },
  )
})

test('a damaged recording is decoded or rejected with a reason, and nothing else', () => {
  const text = JSON.stringify(recordingJson('tx_univ2_swap_15df1273.json'))
  const values: readonly unknown[] = [
    null,
    0,
    -1,
    '',
    '0x',
    '0xg',
    [],
    {},
    true,
    `0x${'f'.repeat(80)}`,
  ]
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(...values)), { minLength: 1, maxLength: 3 }),
      (spoils) => {
        const json: unknown = JSON.parse(text)
        for (const [at, value] of spoils) spoil(json, at, value)
        try {
          const { block } = recordedBlock('eth', json)
          decodeBlock(block, buildDecodeContext('evidence'))
        } catch (error) {
          assert.ok(error instanceof InvalidInput, String(error))
          assert.ok(error.message.length < 200)
        }
      },
    ),
    { seed: SEED, numRuns: 1_000 },
  )
})

/** Sets the leaf or branch that `at` picks among all of them. */
function spoil(json: unknown, at: number, value: unknown): void {
  const places: (readonly [Record<string, unknown>, string])[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key])
      walk((node as Record<string, unknown>)[key])
    }
  }
  walk(json)
  const [parent, key] = places[at % places.length] ?? []
  if (parent && key !== undefined) parent[key] = value
}
