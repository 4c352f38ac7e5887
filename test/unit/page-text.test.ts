import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { Type } from 'typebox'
import { makePage, nullable } from '../../schemas/api/common.ts'
import { writeRowsOnce } from '../../serving/http/page-text.ts'

const ITEM = Type.Object({ id: Type.String(), price: nullable(Type.Number()) }, { title: 'Row' })
const ROWS = [
  { id: '"one"', price: 1.5, hidden: 'not of the schema' },
  { id: ' two', price: null },
]
const REST = {
  nextCursor: 'next',
  hasMore: true,
  hasNext: true,
  hasPrev: false,
  startCursor: null,
  endCursor: 'e',
}
const PAGES: Readonly<Record<string, object>> = {
  rows: { data: ROWS, items: ROWS, ...REST },
  empty: { data: [], items: [], ...REST },
  // Two arrays: each is written.
  apart: { data: ROWS, items: ROWS.slice(1), ...REST },
  later: { ...REST, data: ROWS, items: ROWS, unknown: 1 },
}

test('a page whose rows are written once has the text that its schema gives', async () => {
  const app = Fastify()
  const page = makePage(ITEM)
  const schemas = { page, rows: Type.Array(ITEM) }
  const schema = { response: { 200: page } }
  app.get<{ Params: { name: string } }>('/plain/:name', { schema }, async ({ params }) => {
    return PAGES[params.name]
  })
  app.get<{ Params: { name: string } }>('/once/:name', { schema }, async ({ params }, reply) => {
    writeRowsOnce(reply, schemas)
    return PAGES[params.name]
  })
  for (const name of Object.keys(PAGES)) {
    const [plain, once] = await Promise.all([
      app.inject(`/plain/${name}`),
      app.inject(`/once/${name}`),
    ])
    assert.equal(once.statusCode, 200)
    assert.equal(once.body, plain.body, name)
    assert.equal(once.headers['content-type'], plain.headers['content-type'])
    assert.equal(once.body.includes('hidden'), false)
  }
  await app.close()
})
