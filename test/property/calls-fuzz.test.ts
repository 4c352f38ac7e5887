import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InvalidInput } from '../../core/errors.ts'
import { nativeTransfers } from '../../ingestors/evm/normalize/native-transfers.ts'
import { callsOfFrames, callsOfTraces } from '../../ingestors/evm/source/call-frames.ts'
import { callEvents } from '../../ingestors/evm/to-wire/feeds.ts'
import type { CallFrame } from '../../schemas/block-parts.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { recordedBlockWithTraces, recordedTraces } from '../support/recordings/traces.ts'
import { replaceAtPath } from '../support/replace-at-path.ts'

const ODD: readonly unknown[] = [
  ...[null, undefined, '', '0x', 'x', -1, 1.5, 2 ** 60, true, [], {}, [[]], { calls: [{}] }],
  ...[
    `0x${'f'.repeat(64)}`,
    `0x${'f'.repeat(65)}`,
    `0x${'00'.repeat(20)}`,
    'DELEGATECALL',
    'reward',
  ],
]

const mutation = fc.record({
  path: fc.array(fc.nat(2_000), { minLength: 1, maxLength: 9 }),
  by: fc.constantFrom(...ODD),
})

/** Reads and maps; a refusal has a reason, and nothing else is thrown. */
const survives = (
  read: () => readonly CallFrame[],
  use: (calls: readonly CallFrame[]) => void,
): void => {
  let calls: readonly CallFrame[]
  try {
    calls = read()
  } catch (error) {
    assert.ok(error instanceof InvalidInput, String(error))
    return
  }
  use(calls)
}

test('a tree of calls with odd parts is read or refused', () => {
  const block = buildSingleTransactionBlock([])
  const answer = [recordedTraces('calltracer_multi_contracts.json')]
  fc.assert(
    fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
      const odd = mutations.reduce<unknown>(
        (said, { path, by }) => replaceAtPath(said, path, by),
        answer,
      )
      survives(
        () => callsOfFrames(block, odd),
        (calls) => {
          callEvents({ ...block, calls })
          for (const { amountRaw } of nativeTransfers({ ...block, calls }, CHAINS.eth)) {
            assert.ok(amountRaw > 0n)
          }
        },
      )
    }),
    { numRuns: 500 },
  )
})

test('a list of calls with odd parts is read or refused', () => {
  const block = recordedBlockWithTraces('block_17148268.json')
  const { trace_block: answer } = recordedTraces('block_17148268.json')
  fc.assert(
    fc.property(mutation, ({ path, by }) => {
      survives(
        () => callsOfTraces(block, replaceAtPath(answer, path, by)),
        (calls) => assert.ok(calls.length > 800 && calls.every(({ depth }) => depth < 1_024)),
      )
    }),
    { numRuns: 100 },
  )
})
