import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseAvroSchema } from '../../core/codec/avro.ts'
import { localCodec, schemaText } from '../../core/codec/local-codec.ts'
import { InvalidInput } from '../../core/errors.ts'
import { FEED_SINKS } from '../../processors/sinks/feed-sinks.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import { TOPICS } from '../../schemas/topics.ts'

interface Definition {
  readonly type: string
  readonly items?: Schema
  readonly values?: Schema
  readonly name?: string
  readonly namespace?: string
  readonly symbols?: readonly string[]
  readonly fields?: readonly { readonly name: string; readonly type: Schema }[]
}
type Schema = string | readonly Schema[] | Definition

const ODD_TEXTS = ['-1', 'x', '1e5', '0x1f', '1.5', '.', ' ', '-', 'é', '9'.repeat(79), '0.0000001']
const ODD_NUMBERS = [-1, 256, 2 ** 31 - 1, -(2 ** 31)]
/** Whole numbers that the codec takes and no date does. */
const ODD_LONGS = [...ODD_NUMBERS, 9e15, -9e15]

/** Mostly what is plain, now and then something else: a record with one odd value passes the checks of all others. */
const mostly = <T>(plain: readonly T[], odd: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...plain) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  )

const PRIMITIVES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: mostly(['', '1', '250'], ODD_TEXTS),
  int: mostly([0, 1, 6], ODD_NUMBERS),
  long: mostly([0, 1, 1_700_000_000_000], ODD_LONGS),
  double: mostly([0, 1.5], [Number.NaN, Number.POSITIVE_INFINITY, -1]),
  boolean: fc.boolean(),
  bytes: fc.constant(Buffer.from('ab')),
  null: fc.constant(null),
}

type Named = Map<string, fc.Arbitrary<unknown>>

/** A place in a table of the record, which may be empty. */
const PLACE = mostly([-1, 0], [1, 7])

const fieldValues = (fields: NonNullable<Definition['fields']>, named: Named) =>
  fc.record(
    Object.fromEntries(
      fields.map(({ name, type }) => [
        name,
        name.endsWith('_index') && type === 'int' ? PLACE : valuesOf(type, named),
      ]),
    ),
  )

/** Values that a schema takes; `named` has those of the types that were defined before. */
const valuesOf = (schema: Schema, named: Named): fc.Arbitrary<unknown> => {
  if (typeof schema === 'string')
    return PRIMITIVES[schema] ?? named.get(schema) ?? assert.fail(schema)
  if ('length' in schema) {
    const [, type = ''] = schema
    return fc.oneof(
      { weight: 4, arbitrary: valuesOf(type, named) },
      { weight: 1, arbitrary: fc.constant(null) },
    )
  }
  const { type, items, values, symbols, fields, name, namespace } = schema
  if (items) return fc.array(valuesOf(items, named), { maxLength: 2 })
  if (values)
    return fc.dictionary(fc.constantFrom('total_supply', 'twitter'), valuesOf(values, named))
  const made = symbols ? fc.constantFrom(...symbols) : fields && fieldValues(fields, named)
  if (made === undefined) return valuesOf(type, named)
  named.set(`${namespace}.${name}`, made)
  return made
}

const FRAME_BYTES = 5
const META = { chain: 'eth', op: 'OP_APPLY', seq: 1, height: 1, block_time: 1 } as const

for (const sink of [...SINKS, ...FEED_SINKS]) {
  test(`rows of ${sink.topic}: any record that can be decoded becomes rows, or is refused as invalid input`, () => {
    const { message } = TOPICS[sink.topic]
    assert.ok(message)
    const codec = localCodec()
    const type = parseAvroSchema(schemaText(message))
    const head = codec.encode(message, { meta: META }).subarray(0, FRAME_BYTES)
    let mapped = 0
    fc.assert(
      fc.property(valuesOf(JSON.parse(schemaText(message)), new Map()), (value) => {
        const bytes = Buffer.concat([head, type.toBuffer(value)])
        try {
          sink.map(codec, bytes)
          mapped += 1
        } catch (error) {
          if (!(error instanceof InvalidInput)) throw error
        }
      }),
      { numRuns: 1_000 },
    )
    assert.ok(mapped > 50, `${mapped} of 1,000 records became rows`)
  })
}
