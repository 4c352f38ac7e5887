import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { namedObject, nullable } from '../../schemas/api/common.ts'
import { extractComponents } from '../../serving/http/openapi-components.ts'

const documentOf = (...schemas: readonly unknown[]) => ({
  info: { title: 'An API' },
  paths: {
    '/things': {
      get: {
        responses: Object.fromEntries(
          schemas.map((schema, index) => [
            200 + index,
            { content: { 'application/json': { schema } } },
          ]),
        ),
      },
    },
  },
})

const schemasOf = (document: ReturnType<typeof extractComponents>): unknown => {
  const { paths } = document as unknown as ReturnType<typeof documentOf>
  return Object.values(paths['/things'].get.responses).map(
    ({ content }) => content['application/json'].schema,
  )
}

const Part = namedObject('Part', { title: Type.String() })
const PART = { $ref: '#/components/schemas/Part' }

test('a schema with a title becomes a component wherever it occurs, and a reference there', () => {
  const named = extractComponents(
    documentOf(
      namedObject('Whole', { part: Part, parts: Type.Array(Part), none: nullable(Part) }),
      Type.Record(Type.String(), Part),
      Type.Union([Part, Type.Null()]),
    ),
  )
  assert.deepEqual(JSON.parse(JSON.stringify(schemasOf(named))), [
    { $ref: '#/components/schemas/Whole' },
    { type: 'object', patternProperties: { '^.*$': PART } },
    { anyOf: [PART, { type: 'null' }] },
  ])
  assert.deepEqual(JSON.parse(JSON.stringify(named.components)), {
    responses: {},
    headers: {},
    schemas: {
      Part: JSON.parse(JSON.stringify(Part)),
      Whole: {
        type: 'object',
        title: 'Whole',
        required: ['part', 'parts', 'none'],
        properties: {
          part: PART,
          parts: { type: 'array', items: PART },
          none: { anyOf: [PART, { type: 'null' }] },
        },
      },
    },
  })
})

test('two different schemas with one title are refused', () => {
  const other = namedObject('Part', { title: Type.Integer() })
  assert.throws(
    () => extractComponents(documentOf(Part, other)),
    /schema title in the API document: Part/,
  )
})

test('equal error responses become one component; one with another description stays in place', () => {
  const problem = (description: string) => ({
    404: { description, content: { 'application/problem+json': { schema: {} } } },
  })
  const paths = {
    '/one': { get: { responses: problem('No such chain') } },
    '/two': { get: { responses: problem('No such chain') } },
    '/three': { get: { responses: problem('No such endpoint') } },
  }
  const { paths: referred, components } = extractComponents({ paths })
  const shared = { 404: { $ref: '#/components/responses/Status404' } }
  assert.deepEqual(referred, {
    '/one': { get: { responses: shared } },
    '/two': { get: { responses: shared } },
    '/three': paths['/three'],
  })
  assert.deepEqual(components, {
    schemas: {},
    responses: { Status404: problem('No such chain')[404] },
    headers: {},
  })
})

test('equal headers become one component; one of another meaning stays in place', () => {
  const answer = (description: string) => ({
    responses: { 200: { headers: { 'X-Cost': { description, schema: { type: 'number' } } } } },
  })
  const { paths, components } = extractComponents({
    paths: { '/one': { get: answer('Units') }, '/two': { get: answer('Money') } },
  })
  const reference = { $ref: '#/components/headers/X-Cost' }
  assert.deepEqual(paths, {
    '/one': { get: { responses: { 200: { headers: { 'X-Cost': reference } } } } },
    '/two': { get: answer('Money') },
  })
  const { headers } = components as { readonly headers: object }
  assert.deepEqual(headers, answer('Units').responses[200].headers)
})
