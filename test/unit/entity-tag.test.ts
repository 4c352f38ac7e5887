import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityTag, matchesEntityTag } from '../../serving/http/entity-tag.ts'

test('If-None-Match holds a tag when it lists it, strong or weak, or is a star', () => {
  const tag = entityTag('body')
  const opaque = tag.slice(2)
  const cases: readonly (readonly [string | undefined, boolean])[] = [
    ...([
      [tag, true],
      [opaque, true],
      ['*', true],
      [`"x" ,${tag}`, true],
    ] as const),
    ...([
      [undefined, false],
      ['', false],
      ['"x"', false],
    ] as const),
    ...([
      [opaque.replaceAll('"', ''), false],
      [`${tag}x`, false],
    ] as const),
  ]
  for (const [header, expected] of cases)
    assert.equal(matchesEntityTag(header, tag), expected, header)
})

test('the tag of a body follows from its bytes alone', () => {
  assert.equal(entityTag('é'), entityTag(Buffer.from('é')))
  assert.notEqual(entityTag('a'), entityTag('b'))
})
