import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import avsc from 'avsc'
import { MESSAGE_NAMES, NAMESPACE } from '../../schemas/avro-schema.ts'

const FOLDER = new URL('../../schemas/', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, FOLDER), 'utf8')

interface Described {
  readonly type?: unknown
  readonly fields?: readonly { readonly name: string; readonly default?: unknown }[]
  readonly symbols?: readonly string[]
  readonly default?: unknown
  readonly name?: string
}

/** Every definition inside a schema, at any depth. */
const definitions = (schema: unknown): readonly Described[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'name' in schema && ('fields' in schema || 'symbols' in schema) ? [schema] : []
  return [...(own as Described[]), ...Object.values(schema).flatMap(definitions)]
}

test('every schema parses; every field except the identity of a record has a default', () => {
  for (const name of MESSAGE_NAMES) {
    const schema = JSON.parse(read(`avro/${name}.avsc`)) as avsc.Schema
    assert.equal(avsc.Type.forSchema(schema).name, `${NAMESPACE}.${name}`)
    for (const { name: type, fields = [], symbols, default: fallback } of definitions(schema)) {
      if (symbols) assert.equal(fallback, symbols[0], `${type} falls back to its first symbol`)
      const bare = fields.filter((field) => field.default === undefined).map((field) => field.name)
      const identity = { EventMeta: ['chain', 'op', 'seq'], BlockEvent: ['meta'] }[type ?? '']
      assert.deepEqual(bare, identity ?? [], `${type}`)
    }
  }
})
