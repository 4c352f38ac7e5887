import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { sha256 } from '../../core/sha256.ts'
import { CHAINS } from '../../schemas/chains.ts'
import {
  blockTip,
  decodeCursor,
  decodeCursorFor,
  EMPTY_TIP,
  encodeCursor,
  isTip,
} from '../../serving/graphql/live/resume-cursor.ts'

const eth = blockTip({ slot: 21_000_000, hash: `0x${'ab'.repeat(32)}` })
const cursor = encodeCursor(new Map([['eth', eth]]))

const refused = (read: () => unknown, message: RegExp): void => {
  assert.throws(read, (error: unknown) => {
    assert.ok(error instanceof Fault)
    assert.equal(error.faultName, 'INVALID_CURSOR')
    assert.match(error.message, message)
    return true
  })
}

test('a cursor of one chain is short, and the same wherever it is written', () => {
  assert.equal(cursor, 'AQNldGgAAAFAb0BoNqv-Rg6e65zMfr4')
  assert.deepEqual([...decodeCursor(cursor)], [['eth', eth]])
})

test('a cursor of all chains is read, and the order of its chains does not matter', () => {
  const ids = Object.keys(CHAINS)
  const tips = ids.map((id, slot) => [id, blockTip({ slot, hash: id })] as const)
  const text = encodeCursor(new Map(tips))
  assert.equal(text, encodeCursor(new Map(tips.toReversed())))
  assert.ok(text.length < 400, `${text.length} characters`)
  assert.deepEqual(new Map(decodeCursorFor(ids, text)), new Map(tips))
})

test('slots up to 2^48 and a chain without blocks keep their value', () => {
  for (const slot of [0, 1, 2 ** 32, 2 ** 48 - 1]) {
    const tip = blockTip({ slot, hash: 'h' })
    assert.deepEqual(decodeCursor(encodeCursor(new Map([['sol', tip]]))).get('sol'), tip)
  }
  const empty = encodeCursor(new Map([['sol', EMPTY_TIP]]))
  assert.deepEqual(decodeCursor(empty).get('sol'), EMPTY_TIP)
})

test('a tip is one block, not its sibling and not the same hash elsewhere', () => {
  const tip = blockTip({ slot: 7, hash: 'a' })
  assert.ok(isTip(tip, { slot: 7, hash: 'a' }))
  assert.ok(!isTip(tip, { slot: 7, hash: 'b' }))
  assert.ok(!isTip(tip, { slot: 8, hash: 'a' }))
})

test('what is not a cursor is refused with INVALID_CURSOR', () => {
  const wrong: readonly unknown[] = [
    ...['', ' ', 'a', '%00', `${cursor}=`, ` ${cursor}`, `${cursor}A`, cursor.slice(0, -1)],
    ...['A'.repeat(31), 'x'.repeat(100_000), cursor.toLowerCase(), cursor + cursor],
    ...[null, 7, true, {}, [], [cursor], { resume: cursor }],
    encodeCursor(new Map()),
    encodeCursor(new Map([['__proto__ ', eth]])),
    encodeCursor(new Map([['ETH', eth]])),
  ]
  for (const value of wrong) refused(() => decodeCursor(value), /extensions\.resume/)
})

test('a cursor of another version says so', () => {
  const body = Buffer.from(cursor, 'base64url').subarray(0, -4)
  body[0] = 2
  const checksum = sha256(body.toString('latin1')).subarray(0, 4)
  const text = Buffer.concat([body, checksum]).toString('base64url')
  refused(() => decodeCursor(text), /has version 2; this server reads version 1/)
})

test('a cursor of other chains than those of the subscription is refused by name', () => {
  refused(() => decodeCursorFor(['bsc'], cursor), /is of eth; the subscription is of bsc/)
  refused(() => decodeCursorFor(['eth', 'bsc'], cursor), /is of eth; .* is of bsc, eth/)
  const both = encodeCursor(
    new Map([
      ['eth', eth],
      ['bsc', eth],
    ]),
  )
  refused(() => decodeCursorFor(['eth'], both), /is of bsc, eth; the subscription is of eth/)
})
