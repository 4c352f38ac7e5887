/** Every field of the Protobuf schema says in Protobuf what it says in JSON, as the codecs of the stock client write and read both. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Centrifuge } from 'centrifuge'
import { Centrifuge as ProtobufCentrifuge } from 'centrifuge/build/protobuf'
import fc from 'fast-check'
import protobuf from 'protobufjs'
import { JSON_FRAMES } from '../../serving/realtime/json-frames.ts'
import { PROTOBUF_FRAMES } from '../../serving/realtime/protobuf-frames.ts'
import {
  isObject,
  METHODS,
  type Method,
  PROTOCOL_ERRORS,
  type PublicationFrame,
  type Reply,
  resultReply,
  UNSUBSCRIBE_REASONS,
} from '../../serving/realtime/protocol.ts'

const SCHEMA = new protobuf.Root().loadSync(
  fileURLToPath(new URL('../../schemas/proto/centrifuge.proto', import.meta.url)),
  { keepCase: true },
)

/** The client's codec, which it does not export. */
interface StockCodec {
  encodeCommands(commands: readonly object[]): string | Uint8Array
  decodeReplies(data: string | Uint8Array): readonly object[]
}
const codecOf = (client: unknown): StockCodec => (client as { readonly _codec: StockCodec })._codec
const STOCK_JSON = codecOf(new Centrifuge('ws://127.0.0.1', { websocket: class {} }))
const STOCK_PROTOBUF = codecOf(new ProtobufCentrifuge('ws://127.0.0.1', { websocket: class {} }))

/** What a decoded message holds: bytes as the JSON that they are, without what says nothing. A map is there though it is empty. */
const plain = (value: unknown): unknown => {
  if (isObject(value) && 'unsigned' in value) return plain(Number(String(value)))
  if (value instanceof Uint8Array)
    return value.length === 0 ? undefined : plain(JSON.parse(Buffer.from(value).toString()))
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(plain)
  if (!isObject(value)) return value === 0 || value === '' || value === false ? undefined : value
  const { subs: _, tags: __, ...named } = value
  const fields = Object.entries(named).map(([name, inner]) => [name, plain(inner)] as const)
  return Object.fromEntries(fields.filter(([, inner]) => inner !== undefined))
}

const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
  bool: fc.constant(true),
  uint32: fc.integer({ min: 1, max: 0xffff_ffff }),
  int32: fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff }).filter((one) => one !== 0),
  uint64: fc.maxSafeNat().map((one) => one + 1),
  int64: fc.maxSafeNat().map((one) => one + 1),
  // JSON text in the schema.
  bytes: fc.dictionary(fc.constantFrom('a', 'b'), fc.string(), { minKeys: 1 }),
}

const anyValue = (field: protobuf.Field): fc.Arbitrary<unknown> => {
  const { resolvedType } = field.resolve()
  const one =
    resolvedType instanceof protobuf.Type
      ? fieldsOf(resolvedType)
      : (SCALARS[field.type] ?? fc.constant(undefined))
  return field instanceof protobuf.MapField
    ? fc.dictionary(fc.constantFrom('k', 'l'), one, { minKeys: 1 })
    : one
}

/** Any of the fields of a message, by their names in the schema. */
const fieldsOf = (type: protobuf.Type, without: readonly string[] = []): fc.Arbitrary<object> => {
  const fields = type.fieldsArray.filter(({ name }) => !without.includes(name))
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, anyValue(field)])), {
    requiredKeys: [],
  })
}

const messageOf = (name: 'Command' | 'Reply', method: string): protobuf.Type => {
  const { resolvedType } = SCHEMA.lookupType(`centrifuge.${name}`).fields[method]?.resolve() ?? {}
  assert.ok(resolvedType instanceof protobuf.Type, method)
  return resolvedType
}

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

for (const method of METHODS) {
  test(`a command of the stock client is the same in both encodings: ${method}`, () => {
    // The number of a filter is that of the stock client's `tf`.
    const bodies = fieldsOf(messageOf('Command', method), ['filter', 'data'])
    const data = fc.option(SCALARS.bytes ?? fc.constant({}), { nil: undefined })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 0xffff_ffff }), bodies, data, (id, body, value) => {
        const withData = method === 'subscribe' && value !== undefined
        const text = { id, [method]: { ...body, ...(withData && { data: value }) } }
        const binary = { id, [method]: { ...body, ...(withData && { data: bytesOf(value) }) } }
        const expected = JSON_FRAMES.parse(Buffer.from(STOCK_JSON.encodeCommands([text])))
        assert.equal(expected?.length, 1)
        const message = Buffer.from(STOCK_PROTOBUF.encodeCommands([binary]))
        assert.deepEqual(plain(PROTOBUF_FRAMES.parse(message)), plain(expected))
      }),
      { numRuns: 100 },
    )
  })
}

test('a tag filter of the stock client is the same in both encodings', () => {
  const leaf = { key: 'meta.k', cmp: 'in', vals: ['buy', 'sell'] }
  const tf = { op: 'and', nodes: [leaf, { op: 'not', nodes: [{ key: 'v', cmp: 'gt', val: '1' }] }] }
  const command = { id: 1, subscribe: { channel: 'c', tf } }
  assert.deepEqual(
    plain(PROTOBUF_FRAMES.parse(Buffer.from(STOCK_PROTOBUF.encodeCommands([command])))),
    plain(JSON_FRAMES.parse(Buffer.from(STOCK_JSON.encodeCommands([command])))),
  )
})

/** Both frames, as the stock client reads them. */
const checkFrames = (text: string | Uint8Array, binary: string | Uint8Array): void => {
  assert.ok(typeof text === 'string' && typeof binary !== 'string')
  const expected = STOCK_JSON.decodeReplies(text)
  assert.equal(expected.length, 1)
  assert.deepEqual(plain(STOCK_PROTOBUF.decodeReplies(binary)), plain(expected))
}
const checkReply = (reply: Reply): void =>
  checkFrames(String(JSON_FRAMES.formatReply(reply)), PROTOBUF_FRAMES.formatReply(reply))

const publications: fc.Arbitrary<readonly PublicationFrame[]> = fc.array(
  fc.record({
    data: fc.dictionary(fc.constantFrom('a', 'n'), fc.string()).map((one) => JSON.stringify(one)),
    offset: fc.maxSafeNat(),
    kind: fc.constant('value' as const),
  }),
  { maxLength: 3 },
)

for (const method of [
  'connect',
  'subscribe',
  'unsubscribe',
  'history',
  'ping',
  'refresh',
] satisfies Method[]) {
  test(`a reply is the same to the stock client in both encodings: ${method}`, () => {
    const type = messageOf('Reply', method)
    const results = fieldsOf(type, ['publications'])
    const lists = type.fields.publications === undefined ? fc.constant(undefined) : publications
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 0xffff_ffff }), results, lists, (id, result, list) => {
        checkReply(resultReply(id, method, result, list))
      }),
      { numRuns: 100 },
    )
  })
}

test('refusals, publications, ends of subscriptions and pings are the same in both encodings', () => {
  for (const error of Object.values(PROTOCOL_ERRORS)) checkReply({ kind: 'error', id: 7, error })
  fc.assert(
    fc.property(publications, (list) => {
      for (const one of list) {
        checkFrames(String(JSON_FRAMES.formatPush('c', one)), PROTOBUF_FRAMES.formatPush('c', one))
      }
    }),
    { numRuns: 100 },
  )
  for (const why of Object.values(UNSUBSCRIBE_REASONS)) {
    checkFrames(
      String(JSON_FRAMES.formatUnsubscribe('c', why)),
      PROTOBUF_FRAMES.formatUnsubscribe('c', why),
    )
  }
  checkFrames(String(JSON_FRAMES.ping), PROTOBUF_FRAMES.ping)
})
