import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InvalidInput } from '../../core/errors.ts'
import { isWithinDepth, memberText, parseJson } from '../../core/json.ts'

const reasonOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (error instanceof InvalidInput) return error.reason
    throw error
  }
  return 'none'
}

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
    : 0

test('parseJson reads what JSON.parse reads and measures depth exactly', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      const depth = depthOf(value)
      assert.deepEqual(parseJson(text, { maxDepth: depth }), JSON.parse(text))
      if (depth > 0) assert.equal(isWithinDepth(text, depth - 1), false)
    }),
  )
})

test('brackets and quotes inside strings are not nesting', () => {
  const value = { 'a"[{\\': ['[[[[', '\\"{{{{', '\\'] }
  assert.deepEqual(parseJson(JSON.stringify(value), { maxDepth: 2 }), value)
})

test('deep, long and broken texts are refused with a reason', () => {
  assert.equal(
    reasonOf(() => parseJson('['.repeat(100_000))),
    'json-too-deep',
  )
  assert.equal(
    reasonOf(() => parseJson('"abc"', { maxLength: 4 })),
    'json-too-long',
  )
  for (const text of ['', '{', '"\\', '[1,]', 'nul', '"', ']'])
    assert.equal(
      reasonOf(() => parseJson(text)),
      'bad-json',
      text,
    )
})

test('the text of a member is the text of its value, with all digits', () => {
  assert.equal(
    memberText('{"a":{"b":[1,{"c":2}]},"c": 12345678901234567890 ,"d":"}"}', 'c'),
    '12345678901234567890',
  )
  assert.equal(memberText('{"a":{"b":1},"b":2}', 'b'), '2')
  assert.equal(memberText('{"a":"b","c":1}', 'b'), undefined)
  fc.assert(
    fc.property(
      fc.dictionary(fc.stringMatching(/^[a-c]{1,2}$/), fc.jsonValue()),
      fc.nat(2),
      (object, indent) => {
        const text = JSON.stringify(object, null, indent)
        for (const [name, value] of Object.entries(object))
          assert.equal(
            JSON.stringify(JSON.parse(memberText(text, name) ?? '')),
            JSON.stringify(value),
          )
        assert.equal(memberText(text, 'other'), undefined)
      },
    ),
  )
})
