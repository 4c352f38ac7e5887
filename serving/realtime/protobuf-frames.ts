import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'
import { InvalidInput } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import type { Frame, FrameCodec } from './frame-codec.ts'
import {
  type Body,
  type Command,
  isObject,
  MAX_COMMANDS,
  MAX_INBOUND_BYTES,
  type PublicationFrame,
  type Reply,
  toCommand,
} from './protocol.ts'

/** Commands and replies have the names of the schema, in JSON too; the library's own would be in camel case. */
const SCHEMA = new protobuf.Root().loadSync(
  fileURLToPath(new URL('../../schemas/proto/centrifuge.proto', import.meta.url)),
  { keepCase: true },
)
const COMMAND = SCHEMA.lookupType('centrifuge.Command')
const FILTER_NODE = SCHEMA.lookupType('centrifuge.FilterNode')
const REPLY = SCHEMA.lookupType('centrifuge.Reply')

/** The protocol in Protobuf: messages with their length before them. Payloads are bytes that hold JSON text. */
export const PROTOBUF_FRAMES: FrameCodec = {
  parse: (message) => {
    const reader = protobuf.Reader.create(message)
    const commands: Command[] = []
    while (reader.pos < reader.len && commands.length < MAX_COMMANDS) {
      const object = decode(() => COMMAND.decodeDelimited(reader))
      const command = object && toCommand(readSubscribe(object))
      if (command === undefined) return undefined
      commands.push(command)
    }
    return commands.length === 0 ? undefined : commands
  },
  formatReply: (reply) => formatReply(reply),
  formatPush: (channel, publication) =>
    encode({ push: { channel, pub: toPublication(publication) } }),
  formatUnsubscribe: (channel, why) => encode({ push: { channel, unsubscribe: why } }),
  ping: Uint8Array.of(0),
  join: (frames) => (frames.length === 1 && frames[0]) || Buffer.concat(frames.map(toBytes)),
}

/** What the bytes hold, as an object of the fields that are there; undefined where they hold something else. */
const decode = (read: () => protobuf.Message): Body | undefined => {
  try {
    const message = read()
    return message.$type.toObject(message, { longs: Number })
  } catch {
    return undefined
  }
}

/** A command whose subscription holds its filter and data as they stand in JSON. */
const readSubscribe = (command: Body): Body => {
  if (!isObject(command.subscribe)) return command
  const { data, filter, ...subscribe } = command.subscribe
  return {
    ...command,
    subscribe: {
      ...subscribe,
      ...(data instanceof Uint8Array && { data: parseData(data) }),
      ...(filter instanceof Uint8Array && readFilter(filter)),
    },
  }
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()

/** Data that is not JSON says nothing, as data that is not an object. */
const parseData = (bytes: Uint8Array): unknown => {
  try {
    return parseJson(textOf(bytes), { maxLength: MAX_INBOUND_BYTES })
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return undefined
  }
}

/** Keys of the first three fields of a `FilterNode`, all texts: no filter text begins with such a character. */
const NODE_KEYS: ReadonlySet<number | undefined> = new Set([0x0a, 0x12, 0x1a])

const readFilter = (bytes: Uint8Array): Body =>
  NODE_KEYS.has(bytes[0])
    ? { tf: decode(() => FILTER_NODE.decode(bytes)) ?? 'not a filter' }
    : { filter: textOf(bytes) }

const encode = (reply: object): Uint8Array => REPLY.encodeDelimited(reply).finish()

const formatReply = (reply: Reply): Uint8Array => {
  if (reply.kind === 'legacy-pong') return encode({})
  const { id } = reply
  if (reply.kind === 'error') return encode({ id, error: reply.error })
  const { method, result, publications = [] } = reply
  const data = 'data' in result && { data: Buffer.from(JSON.stringify(result.data)) }
  return encode({
    id,
    [method]: { ...result, ...data, publications: publications.map(toPublication) },
  })
}

const toPublication = ({ data, offset, kind }: PublicationFrame) => ({
  data: Buffer.from(data),
  ...(offset > 0 && { offset }),
  ...(kind === 'patch' && { delta: true }),
})

const toBytes = (frame: Frame): Uint8Array =>
  typeof frame === 'string' ? Buffer.from(frame) : frame
