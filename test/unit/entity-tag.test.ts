import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { entityTag, installEntityTags, matchesEntityTag } from '../../serving/http/entity-tag.ts'

test('If-None-Match matches a tag that it lists, strong or weak, or a star', () => {
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

test('the entity tag of a body depends on its bytes alone', () => {
  assert.equal(entityTag('é'), entityTag(Buffer.from('é')))
  assert.notEqual(entityTag('a'), entityTag('b'))
})

test('GET and HEAD with the tag that the body has are answered 304, without a body', async () => {
  const app = Fastify()
  installEntityTags(app)
  app.get('/read', async () => ({ a: 1 }))
  const tag = String((await app.inject({ url: '/read' })).headers.etag)
  for (const method of ['GET', 'HEAD'] as const) {
    for (const header of [tag, '*']) {
      const { statusCode, body, headers } = await app.inject({
        url: '/read',
        method,
        headers: { 'if-none-match': header },
      })
      assert.deepEqual([statusCode, body, headers.etag], [304, '', tag], `${method} ${header}`)
    }
    const other = await app.inject({ url: '/read', method, headers: { 'if-none-match': '"x"' } })
    assert.equal(other.statusCode, 200, method)
  }
  await app.close()
})
