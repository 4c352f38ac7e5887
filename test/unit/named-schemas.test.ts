import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { namedObject, nullable } from '../../schemas/api/common.ts'
import { withNamedSchemas } from '../../serving/http/named-schemas.ts'

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

const schemasOf = (document: ReturnType<typeof withNamedSchemas>): unknown => {
  const { paths } = document as unknown as ReturnType<typeof documentOf>
  return Object.values(paths['/things'].get.responses).map(
    ({ content }) => content['application/json'].schema,
  )
}

const Part = namedObject('Part', { title: Type.String() })
const PART = { $ref: '#/components/schemas/Part' }

test('a schema with a title becomes a component wherever it occurs, and a reference there', () => {
  const named = withNamedSchemas(
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

test('two different schemas of one title are refused', () => {
  const other = namedObject('Part', { title: Type.Integer() })
  assert.throws(() => withNamedSchemas(documentOf(Part, other)), /called Part/)
})
