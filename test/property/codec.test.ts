import assert from 'node:assert/strict'
import { test } from 'node:test'
import avsc from 'avsc'
import fc from 'fast-check'
import { makeCodec, parseAvroSchema } from '../../core/codec/avro.ts'
import type { DeepPartial, MessageName } from '../../core/codec/contract.ts'
import { ALL_MESSAGE_NAMES, localCodec, schemaText } from '../../core/codec/local-codec.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Messages } from '../../schemas/wire.ts'

const codec = localCodec()

/** Any value of a schema. */
const anyOf = (type: avsc.Type): fc.Arbitrary<unknown> => {
  if (avsc.Type.isType(type, 'record')) {
    const { fields } = type as avsc.types.RecordType
    const model = fields.map((field) => [field.name, anyOf(field.type)] as const)
    return fc.record(Object.fromEntries(model), { noNullPrototype: true })
  }
  if (avsc.Type.isType(type, 'array')) {
    return fc.array(anyOf((type as avsc.types.ArrayType).itemsType), { maxLength: 3 })
  }
  if (avsc.Type.isType(type, 'map')) {
    return fc
      .array(fc.tuple(fc.string(), anyOf((type as avsc.types.MapType).valuesType)), {
        maxLength: 3,
      })
      .map((pairs) => Object.fromEntries(pairs.filter(([key]) => key !== '__proto__')))
  }
  if (avsc.Type.isType(type, 'union')) {
    return fc.oneof(...(type as avsc.types.UnwrappedUnionType).types.map(anyOf))
  }
  if (avsc.Type.isType(type, 'enum')) {
    return fc.constantFrom(...(type as avsc.types.EnumType).symbols)
  }
  return SCALARS[type.typeName]?.() ?? assert.fail(`no values of ${type.typeName}`)
}

const SCALARS: Readonly<Record<string, () => fc.Arbitrary<unknown>>> = {
  null: () => fc.constant(null),
  string: () => fc.string({ unit: 'grapheme' }),
  int: () => fc.integer(),
  long: () => fc.integer({ min: -(2 ** 52), max: 2 ** 52 }),
  boolean: () => fc.boolean(),
  double: () => fc.double(),
  'logical:byte-view': () => fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
}

const fieldsOf = (type: avsc.Type): Readonly<Record<string, avsc.Type>> =>
  Object.fromEntries(
    (type as avsc.types.RecordType).fields.map((field) => [field.name, field.type]),
  )
const itemsOf = (type: avsc.Type | undefined): avsc.Type => (type as avsc.types.ArrayType).itemsType

/** Any value of a message as the app has it: an event holds its heads, where the wire has places in the record's tables. */
const anyValue = (name: MessageName): fc.Arbitrary<DeepPartial<Messages[MessageName]>> => {
  const type = parseAvroSchema(schemaText(name))
  const { meta, events, blocks, transactions, d_apps: apps } = fieldsOf(type)
  const whole = anyOf(type) as fc.Arbitrary<DeepPartial<Messages[MessageName]>>
  if (meta === undefined || blocks === undefined) return whole
  // Few different heads, so that events share them, and some that differ in one field only.
  const pool = (of: avsc.Type | undefined) =>
    fc
      .tuple(
        fc.array(anyOf(itemsOf(of)), { minLength: 1, maxLength: 2 }),
        anyOf(itemsOf(of)),
        fc.nat(),
      )
      .map(([heads, other, n]) => {
        const names = Object.keys(other as object)
        const name = names[n % names.length] ?? ''
        const changed = (other as Record<string, unknown>)[name]
        const near = heads.flatMap((head) => [
          { ...(head as object) },
          { ...(head as object), [name]: changed },
        ])
        return [...heads, ...near, null]
      })
  return fc
    .tuple(anyOf(meta), pool(blocks), pool(transactions), pool(apps))
    .chain(([head, ...pools]) => {
      const [block, transaction, app] = pools.map((heads) => fc.constantFrom(...heads))
      const own = { ...(head as object) } as { block_time?: number; hash?: string; height?: number }
      const ownBlock = {
        timestamp: own.block_time ?? 0,
        hash: own.hash ?? '',
        slot: 0,
        height: own.height ?? 0,
        ...('slot' in own && { slot: own.slot }),
      }
      const {
        block_index: _,
        transaction_index: __,
        d_app_index: ___,
        ...rest
      } = fieldsOf(itemsOf(events))
      const event = fc.record(
        {
          ...Object.fromEntries(Object.entries(rest).map(([key, of]) => [key, anyOf(of)])),
          block: fc.oneof(
            fc.constant(ownBlock),
            fc.constant({ ...ownBlock, height: 77 }),
            block ?? whole,
          ),
          transaction: transaction ?? whole,
          d_app: app ?? whole,
        },
        { noNullPrototype: true },
      )
      return fc.array(event, { maxLength: 4 }).map((list) => ({ meta: head, events: list }))
    }) as fc.Arbitrary<DeepPartial<Messages[MessageName]>>
}

const anyMessage = fc
  .constantFrom(...ALL_MESSAGE_NAMES)
  .chain((name) => fc.record({ name: fc.constant(name), value: anyValue(name) }))

test('an encoded message decodes to the same value', () => {
  fc.assert(
    fc.property(anyMessage, ({ name, value }) => {
      assert.deepEqual(codec.decode(name, codec.encode(name, value)), value)
    }),
    { numRuns: 300 },
  )
})

test('a text of any length and alphabet has the bytes that avsc gives it', () => {
  const plain = avsc.Type.forSchema('string')
  const ours = parseAvroSchema('"string"')
  const near = fc.constantFrom(0, 14, 15, 16, 17, 62, 63, 64, 65, 1_020, 1_364, 4_095, 4_096, 9_000)
  const tail = fc.constantFrom('', 'é', '€', '\u{1f600}', 'end')
  fc.assert(
    fc.property(near, tail, fc.string({ unit: 'binary', maxLength: 3 }), (length, end, some) => {
      for (const text of ['a'.repeat(length) + end, end + 'b'.repeat(length) + some]) {
        assert.deepEqual(ours.toBuffer(text), plain.toBuffer(text))
        assert.equal(ours.fromBuffer(ours.toBuffer(text)), text)
      }
    }),
    { numRuns: 300 },
  )
  assert.throws(() => ours.toBuffer(7))
})

test('bytes of any kind decode or are malformed, and nothing else', () => {
  const cut = fc.tuple(anyMessage, fc.nat(), fc.nat(), fc.nat(255))
  fc.assert(
    fc.property(cut, ([{ name, value }, length, at, byte]) => {
      const bytes = codec.encode(name, value)
      const broken = Buffer.from(bytes.subarray(0, length % (bytes.length + 1)))
      if (broken.length > 0) broken[at % broken.length] = byte
      try {
        codec.decode(name, broken)
      } catch (error) {
        assert.ok(error instanceof InvalidInput, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

test('a message with a count larger than its remaining bytes is refused as malformed at once', () => {
  // meta, block_height and three tables are empty: the count is that of the events.
  const frame = codec.encode('dex.trade.TradeEvents', {}).subarray(0, 5)
  const body = Buffer.from([0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0])
  const bytes = Buffer.concat([frame, body])
  assert.throws(() => codec.decode('dex.trade.TradeEvents', bytes), {
    name: 'InvalidInput',
    message: /more items than bytes/,
  })
})

test('encoding a value of the wrong type throws InvalidInput with the path of the field', () => {
  const wrong = {
    meta: { chain: 'eth', op: 'OP_APPLY', seq: 1 },
    events: [{ trade: { vault_a: 7 } }],
  }
  assert.throws(
    () => codec.encode('dex.trade.TradeEvents', wrong as never),
    (error: unknown) =>
      error instanceof InvalidInput && /events\.0\.trade\.vault_a/.test(error.message),
  )
  assert.throws(() => codec.encode('control.Org', null as never), InvalidInput)
  assert.throws(() => codec.encode('no.Such' as never, {} as never), InvalidInput)
})

test('a field left out at any depth decodes to its default', () => {
  const value = { events: [{ transaction: {}, trade: { user_a_amount: '5' } }] }
  const decoded = codec.decode(
    'dex.trade.TradeEvents',
    codec.encode('dex.trade.TradeEvents', value),
  )
  const [event] = decoded.events
  assert.equal(decoded.meta, null)
  assert.deepEqual(event?.transaction?.bundles, [])
  assert.equal(event?.transaction?.status, 'STATUS_UNSPECIFIED')
  assert.equal(event?.trade?.token_a_decimals, null)
  assert.equal(event?.trade?.user_b_amount, '')
  assert.equal(event?.bonding_curve, null)
})

/** A codec that reads today's schema from bytes of a writer whose schema was changed as given. */
const newerWriter = (message: MessageName, change: (schema: string) => string) => {
  const writer = parseAvroSchema(change(schemaText(message)))
  const reader = parseAvroSchema(schemaText(message))
  const resolver = reader.createResolver(writer)
  const of = (type: avsc.Type, via: avsc.Resolver | null) =>
    makeCodec(new Map([[message, type]]), { writerId: () => 9, resolver: () => via })
  return { writer: of(writer, null), reader: of(reader, resolver) }
}

test('a symbol and a field of a newer writer: the default symbol, and the field ignored', () => {
  const name = 'dex.trade.TradeEvents'
  const { writer, reader } = newerWriter(name, (schema) =>
    schema
      .replace('"OP_FINALIZE"', '"OP_FINALIZE", "OP_AMEND"')
      .replace(
        /"fields": \[/,
        '"fields": [{"name": "region", "type": ["null", "string"], "default": null},',
      ),
  )
  const value = { region: 'eu', meta: { chain: 'eth', op: 'OP_AMEND', seq: 3 }, events: [] }
  const decoded = reader.decode(name, writer.encode(name, value as never))
  assert.deepEqual([decoded.meta?.op, decoded.meta?.seq], ['OP_UNSPECIFIED', 3])
  assert.ok(!('region' in decoded))
})
