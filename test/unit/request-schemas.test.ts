import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as admin from '../../schemas/api/admin.ts'
import * as webhook from '../../schemas/api/webhook.ts'

interface Node {
  readonly uniqueItems?: boolean
  readonly items?: { readonly type?: string }
}

/** Every list of a schema that asks for items without repeats. */
const uniqueLists = (schema: unknown): readonly Node[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'uniqueItems' in schema && schema.uniqueItems === true ? [schema as Node] : []
  return [...own, ...Object.values(schema).flatMap(uniqueLists)]
}

test('list schemas with unique items have items of a primitive type, which Ajv compares in linear time', () => {
  const lists = uniqueLists([admin, webhook].map((module) => Object.values(module)))
  assert.ok(lists.length > 2)
  for (const { items } of lists) {
    assert.match(items?.type ?? '', /^(string|integer|number|boolean)$/, JSON.stringify(items))
  }
})
