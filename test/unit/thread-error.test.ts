import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { fromThreadError, toThreadError } from '../../core/runtime/thread-error.ts'

/** As the other thread gets it. */
const sent = (error: unknown): Error => fromThreadError(structuredClone(toThreadError(error)))

const refused = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' })

test('an error keeps its class, code, causes and stack when it is sent between threads', () => {
  const outage = new Outage('registry', 'no answer', { cause: refused, final: true })
  const received = sent(outage)
  assert.ok(received instanceof Outage)
  assert.deepEqual([received.of, received.final, received.message], ['registry', true, 'no answer'])
  assert.equal(received.stack, outage.stack)
  assert.ok(received.cause instanceof Error)
  assert.equal(received.cause.message, 'connect refused')
  assert.equal((received.cause as NodeJS.ErrnoException).code, 'ECONNREFUSED')

  const invalid = sent(new InvalidInput('bad-hex', 'not hex', { cause: new TypeError('text') }))
  assert.ok(invalid instanceof InvalidInput)
  assert.equal(invalid.reason, 'bad-hex')
  assert.ok(invalid.cause instanceof Error)
  assert.equal(invalid.cause.name, 'TypeError')

  const other = sent(new RangeError('too long'))
  assert.deepEqual([other.name, other.message], ['RangeError', 'too long'])
  assert.equal('cause' in other, false)
})

test('a thrown value that is not an error arrives as an error with its text', () => {
  assert.equal(sent('odd').message, 'odd')
  const received = sent(new Error('outer', { cause: 7n }))
  assert.ok(received.cause instanceof Error)
  assert.equal(received.cause.message, '7')
})

test('circular causes of an error are cut when it is sent between threads', () => {
  const error = new Error('first')
  error.cause = new Error('second', { cause: error })
  let depth = 0
  for (let at: unknown = sent(error); at instanceof Error; at = at.cause) depth += 1
  assert.ok(depth < 20, `${depth}`)
})
