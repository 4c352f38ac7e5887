import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { applyStringDelta } from 'fossil-delta'
import protobuf from 'protobufjs'
import { diffPublications, toWhole } from '../../serving/realtime/delta.ts'
import { JSON_FRAMES } from '../../serving/realtime/json-frames.ts'
import { PROTOBUF_FRAMES } from '../../serving/realtime/protobuf-frames.ts'
import { MAX_COMMANDS } from '../../serving/realtime/protocol.ts'
import { requestedFilter } from '../../serving/realtime/publication-filter.ts'

const SCHEMA = new protobuf.Root().loadSync(
  fileURLToPath(new URL('../../schemas/proto/centrifuge.proto', import.meta.url)),
  { keepCase: true },
)
const COMMAND = SCHEMA.lookupType('centrifuge.Command')
const FILTER_NODE = SCHEMA.lookupType('centrifuge.FilterNode')
const encode = (command: object): Uint8Array => COMMAND.encodeDelimited(command).finish()

const texts = fc.string({ unit: 'grapheme', maxLength: 40 })
const payload = fc.dictionary(fc.constantFrom('a', 'n', 's', 'v', 't'), fc.oneof(texts, fc.nat()))

test('a chain of deltas of any payloads gives the payloads back, in ASCII', () => {
  fc.assert(
    fc.property(fc.array(payload, { minLength: 1, maxLength: 20 }), (values) => {
      let base = ''
      let known = ''
      for (const value of values) {
        const publication = { data: JSON.stringify(value), offset: 1, kind: 'value' } as const
        const { publications, base: next } = diffPublications(base, [publication])
        const [sent] = publications
        assert.ok(sent)
        assert.match(sent.data, /^[\0-\x7f]*$/)
        known = sent.kind === 'patch' ? applyStringDelta(known, sent.data) : sent.data
        assert.deepEqual(JSON.parse(known), JSON.parse(publication.data))
        assert.equal(known, toWhole(publication).data)
        base = next
      }
    }),
    { numRuns: 300 },
  )
})

const body = fc.record(
  {
    channel: texts,
    epoch: texts,
    offset: fc.maxSafeNat(),
    recover: fc.boolean(),
    delta: fc.constantFrom('', 'fossil'),
  },
  { requiredKeys: ['channel'] },
)

test('Protobuf commands parse to the same commands as JSON', () => {
  fc.assert(
    fc.property(
      fc.array(body, { minLength: 1, maxLength: 5 }),
      fc.dictionary(texts, texts),
      (bodies, data) => {
        const commands = bodies.map((subscribe, at) => ({ id: at + 1, subscribe }))
        const json = Buffer.from(commands.map((one) => JSON.stringify(one)).join('\n'))
        assert.deepEqual(
          PROTOBUF_FRAMES.parse(Buffer.concat(commands.map(encode))),
          JSON_FRAMES.parse(json),
        )
        const bytes = Buffer.from(JSON.stringify(data))
        const [command] =
          PROTOBUF_FRAMES.parse(encode({ id: 1, subscribe: { channel: 'c', data: bytes } })) ?? []
        assert.ok(command?.kind === 'call')
        assert.deepEqual(command.body, { channel: 'c', data: { ...data } })
      },
    ),
    { numRuns: 200 },
  )
})

test('bytes of any kind are commands or none, and never an error', () => {
  const valid = encode({
    id: 1,
    subscribe: { channel: 'c', filter: Buffer.from('meta.v > 1'), data: Buffer.from('{}') },
  })
  const mutated = fc
    .array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    .map((changes) => {
      const bytes = Uint8Array.from(valid)
      for (const [at, value] of changes) bytes[at] = value
      return bytes
    })
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), mutated), (bytes) => {
      const commands = PROTOBUF_FRAMES.parse(bytes)
      assert.ok(commands === undefined || commands.length <= MAX_COMMANDS)
    }),
    { numRuns: 2_000 },
  )
})

test('a tag filter nested too deep is ignored, and the rest of the command is parsed', () => {
  let node = Buffer.from([0x12, 0x01, 0x61])
  for (let depth = 0; depth < 5_000; depth += 1) {
    const length: number[] = []
    for (let left = node.length; ; left >>>= 7) {
      length.push(left > 0x7f ? (left & 0x7f) | 0x80 : left)
      if (left <= 0x7f) break
    }
    node = Buffer.concat([
      Buffer.from([0x0a, 0x03]),
      Buffer.from('not'),
      Buffer.from([0x32, ...length]),
      node,
    ])
  }
  const [command] =
    PROTOBUF_FRAMES.parse(encode({ id: 1, subscribe: { channel: 'c', filter: node } })) ?? []
  assert.ok(command?.kind === 'call')
  assert.equal(command.body.channel, 'c')
  assert.equal(requestedFilter(command.body), undefined)
})

test('a tag filter whose key is too long or too deep is refused in both encodings', () => {
  const names = (count: number): string => Array.from({ length: count }, () => 'a').join('.')
  for (const [key, isFilter] of [
    [names(8), true],
    [names(9), false],
    [names(40_000), false],
    ['k'.repeat(300), false],
  ] as const) {
    const cmp = 'ex'
    const filter = FILTER_NODE.encode({ key, cmp }).finish()
    const commands = [
      PROTOBUF_FRAMES.parse(encode({ id: 1, subscribe: { channel: 'c', filter } })),
      JSON_FRAMES.parse(
        Buffer.from(JSON.stringify({ id: 1, subscribe: { channel: 'c', tf: { key, cmp } } })),
      ),
    ]
    for (const command of commands.map((parsed) => parsed?.[0])) {
      assert.ok(command?.kind === 'call')
      assert.equal(requestedFilter(command.body) !== undefined, isFilter, key.slice(0, 40))
    }
  }
})
