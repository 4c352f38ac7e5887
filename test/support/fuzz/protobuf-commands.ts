import protobuf from 'protobufjs'
import type { Random } from '../../../simulator/node/random.ts'
import { mutateBytes, randomDeepJson, randomJson, randomText } from './random-values.ts'

const SCHEMA = new protobuf.Root().loadSync(
  new URL('../../../schemas/proto/centrifuge.proto', import.meta.url).pathname,
  { keepCase: true },
)
const COMMAND = SCHEMA.lookupType('centrifuge.Command')
const FILTER_NODE = SCHEMA.lookupType('centrifuge.FilterNode')
const REPLY = SCHEMA.lookupType('centrifuge.Reply')

type Fields = Readonly<Record<string, unknown>>

/** A command with its length before it. */
export const encodeCommand = (fields: Fields): Buffer =>
  Buffer.from(COMMAND.encodeDelimited(COMMAND.fromObject(fields)).finish())

/** Ids of the replies in a message; what cannot be read is none. */
export const replyIds = (message: Uint8Array): readonly number[] => {
  const reader = protobuf.Reader.create(message)
  const ids: number[] = []
  try {
    while (reader.pos < reader.len) {
      const { id } = REPLY.toObject(REPLY.decodeDelimited(reader))
      if (typeof id === 'number') ids.push(id)
    }
  } catch {
    return ids
  }
  return ids
}

const DEPTHS = [1, 2, 20, 21, 100, 3_000] as const

/** A filter whose nodes stand inside each other: a field of a length for each, or groups, which nothing bounds. */
const deepFilter = (random: Random): Buffer => {
  const levels = random.pick(DEPTHS)
  if (random.chance(0.3)) return Buffer.alloc(levels, random.pick([0x33, 0x0b, 0x7b]))
  let inner = Buffer.from(FILTER_NODE.encode({ key: 'a', cmp: 'eq', val: 'b' }).finish())
  for (let level = 0; level < levels; level++) {
    const writer = protobuf.Writer.create()
      .uint32(0x0a)
      .string(random.pick(['and', 'not', 'or']))
    inner = Buffer.from(writer.uint32(0x32).bytes(inner).finish())
  }
  return inner
}

const randomBytes = (random: Random): Buffer => {
  const how = random.below(5)
  if (how === 0) return deepFilter(random)
  if (how === 1) return Buffer.from(randomDeepJson(random))
  if (how === 2) return Buffer.from(random.hex(2 * random.below(40)), 'hex')
  return Buffer.from(random.chance(0.5) ? randomJson(random) : randomText(random))
}

const INTEGERS = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 53, 2 ** 63, 1_000] as const

const randomSubscribe = (channel: string, random: Random): Fields => {
  const all: readonly (readonly [string, () => unknown])[] = [
    ['token', () => randomText(random)],
    ['recover', () => true],
    ['epoch', () => randomText(random)],
    ['offset', () => random.pick(INTEGERS)],
    ['data', () => randomBytes(random)],
    ['positioned', () => true],
    ['delta', () => random.pick(['fossil', randomText(random)])],
    ['filter', () => randomBytes(random)],
    ['flag', () => random.pick(INTEGERS)],
  ]
  const kept = all.filter(() => random.chance(0.3)).map(([name, make]) => [name, make()])
  return { channel, ...Object.fromEntries(kept) }
}

const randomBody = (channel: string, random: Random): Fields => {
  const since = { offset: random.pick(INTEGERS), epoch: randomText(random) }
  return random.pick<() => Fields>([
    () => ({ subscribe: randomSubscribe(channel, random) }),
    () => ({ subscribe: randomSubscribe(channel, random) }),
    () => ({ unsubscribe: { channel } }),
    () => ({ history: { channel, limit: random.pick(INTEGERS), reverse: random.chance(0.5) } }),
    () => ({ history: { channel, limit: 10, since } }),
    () => ({ refresh: { token: randomText(random) } }),
    () => ({ connect: { token: randomText(random), headers: { a: randomText(random) } } }),
    () => ({
      [random.pick([
        'publish',
        'presence',
        'presence_stats',
        'send',
        'rpc',
        'ping',
        'sub_refresh',
      ])]: {},
    }),
    () => ({}),
  ])()
}

/** Bytes of one message: commands, sound or damaged, with lengths that are true or not. */
export const randomProtobufFrame = (channel: string, random: Random): Buffer => {
  if (random.chance(0.08)) return randomBytes(random)
  const one = encodeCommand({ id: 1 + random.below(1_000), ...randomBody(channel, random) })
  if (random.chance(0.2)) return mutateBytes(one, random)
  return random.chance(0.05) ? Buffer.concat(Array(random.pick([2, 30, 300])).fill(one)) : one
}
