import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Encode } from '../../core/base58.ts'
import { dataViewOf, sortPubkeys, u128 } from '../../ingestors/svm/layout/borsh-layout.ts'
import { logEventsOf } from '../../ingestors/svm/protocols/types.ts'
import {
  addressFor,
  eventLogLine,
  flattenInstructions,
  u64le,
  u128le,
} from '../support/builders/svm-block.ts'

test('128-bit numbers are read in full', () => {
  for (const value of [0n, 1n, (1n << 64n) - 1n, 1n << 64n, (1n << 128n) - 1n]) {
    assert.equal(u128(dataViewOf(Buffer.concat([Buffer.alloc(3), u128le(value)])), 3), value)
  }
})

test('Solana addresses are ordered by their bytes, for any length of their base58 texts', () => {
  const addressOf = (...bytes: readonly number[]): string => {
    const whole = Buffer.alloc(32, 7)
    whole.set(bytes)
    return base58Encode(whole)
  }
  const ordered = [
    addressOf(0, 0, 1),
    addressOf(0, 0, 255),
    addressOf(0, 1),
    addressOf(0, 255, 255),
    addressOf(1),
    addressOf(4, 200),
    addressOf(6),
    addressOf(6, 8),
    addressOf(255, 255),
  ]
  assert.ok(new Set(ordered.map(({ length }) => length)).size > 1, 'texts of several lengths')
  ordered.forEach((low, at) => {
    for (const high of ordered.slice(at + 1)) {
      assert.deepEqual(sortPubkeys(low, high), [low, high])
      assert.deepEqual(sortPubkeys(high, low), [low, high])
    }
  })
})

const TAG = '40c6cde8260871e2'

test('log events of an instruction are those of the given type with enough bytes, in order; other lines are skipped', () => {
  const event = { tag: TAG, bytes: 8 }
  const logs = [
    'Program log: Instruction: SwapBaseInput',
    eventLogLine(TAG, u64le(1)),
    eventLogLine('79a3cdc939da753c', u64le(2)),
    eventLogLine(TAG, u64le(3).subarray(1)),
    eventLogLine(TAG, Buffer.concat([u64le(4), Buffer.from('a tail of later layouts')])),
    'Program data: ',
    'Program data: !!!',
    `Program log: ${eventLogLine(TAG, u64le(5))}`,
  ]
  const [instruction] = flattenInstructions([{ program: addressFor('program'), data: '00', logs }])
  assert.ok(instruction)
  assert.deepEqual(
    logEventsOf(instruction, event).map((data) => data[8]),
    [1, 4],
  )
  assert.deepEqual(logEventsOf({ ...instruction, logs: [] }, event), [])
})
