import avsc from 'avsc'
import { InvalidInput } from '../errors.ts'
import type { Codec, MessageName } from './contract.ts'
import { type EventHeaderCodec, eventHeaderCodec } from './event-headers.ts'

/** First byte of a Confluent frame; the schema id follows as a big-endian int32. */
const MAGIC_BYTE = 0
const FRAME_PREFIX_BYTES = 5

/** Longest part of a value or an Avro message that an error repeats. */
const MAX_EXCERPT_LENGTH = 160
const INITIAL_BUFFER_BYTES = 65_536
/** A record is at most `message.max.bytes` (2 MiB); room above this is given back. */
const MAX_KEPT_BUFFER_BYTES = 4_194_304

/** How the ids in the frames are found. */
export interface SchemaIdResolver {
  /** Id under which this process writes a message. */
  readonly writerId: (message: MessageName) => number
  /** Resolver from the schema `id` to our own; null = the same schema. Throws `InvalidInput` for an unknown id. */
  readonly resolver: (message: MessageName, id: number) => avsc.Resolver | null
}

/** A codec over our own types and a way to find ids: every codec gives the same bytes but for the id. */
export const makeCodec = (
  types: ReadonlyMap<MessageName, avsc.Type>,
  { writerId, resolver }: SchemaIdResolver,
): Codec => {
  const frame = makeFrameEncoder()
  const heads = new Map<MessageName, EventHeaderCodec | undefined>(
    [...types.keys()].map((name) => [name, eventHeaderCodec(name)]),
  )
  const typeOf = (message: MessageName): avsc.Type => {
    const type = types.get(message)
    if (!type) throw new InvalidInput('unknown-message', `there is no schema named ${message}`)
    return type
  }
  return {
    encode: (message, value) => {
      const type = typeOf(message)
      let wire: unknown
      try {
        wire = heads.get(message)?.pack(value) ?? value
        return frame(type, writerId(message), wire)
      } catch (error) {
        const why = wire === undefined ? errorText(error) : describeInvalidValue(type, wire, error)
        throw new InvalidInput('bad-value', `${message}: ${why}`, {
          cause: error,
        })
      }
    },
    decode: (message, bytes) => {
      const type = typeOf(message)
      const { id, body } = parseFrame(message, bytes)
      const wire = decodeBody({ message, type, via: resolver(message, id) }, body)
      return heads.get(message)?.unpack(wire) ?? wire
    },
  }
}

interface AvroReadContext {
  readonly message: MessageName
  readonly type: avsc.Type
  readonly via: avsc.Resolver | null
}

const decodeBody = ({ message, type, via }: AvroReadContext, body: Buffer) => {
  try {
    return type.fromBuffer(body, via ?? undefined)
  } catch (error) {
    throw new InvalidInput('bad-avro', `${message}: ${errorText(error)}`, { cause: error })
  }
}

/** Encodes into one room that is used again, then copies: a small record does not hold a large buffer. */
const makeFrameEncoder = (): ((type: avsc.Type, id: number, value: unknown) => Buffer) => {
  let room = Buffer.allocUnsafeSlow(INITIAL_BUFFER_BYTES)
  return (type, id, value) => {
    let end = type.encode(value, room, FRAME_PREFIX_BYTES)
    if (end < 0) {
      room = Buffer.allocUnsafeSlow(room.length - end)
      end = type.encode(value, room, FRAME_PREFIX_BYTES)
    }
    room[0] = MAGIC_BYTE
    room.writeInt32BE(id, 1)
    const frame = Buffer.allocUnsafe(end)
    room.copy(frame, 0, 0, end)
    if (room.length > MAX_KEPT_BUFFER_BYTES) room = Buffer.allocUnsafeSlow(INITIAL_BUFFER_BYTES)
    return frame
  }
}

const parseFrame = (message: MessageName, bytes: Uint8Array): { id: number; body: Buffer } => {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length < FRAME_PREFIX_BYTES || buffer[0] !== MAGIC_BYTE) {
    throw new InvalidInput('bad-frame', `${message}: not a Confluent frame`)
  }
  return { id: buffer.readInt32BE(1), body: buffer.subarray(FRAME_PREFIX_BYTES) }
}

const errorText = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, MAX_EXCERPT_LENGTH)

const describeInvalidValue = (type: avsc.Type, value: unknown, error: unknown): string => {
  const wrong: string[] = []
  try {
    type.isValid(value, {
      errorHook: (path, part, at) => {
        if (wrong.length < 3) wrong.push(`${path.join('.')} = ${String(part)}: not ${at}`)
      },
    })
  } catch {
    return errorText(error)
  }
  return wrong.length > 0 ? wrong.join('; ').slice(0, 2 * MAX_EXCERPT_LENGTH) : errorText(error)
}

/** Avro `bytes` that takes any Uint8Array; avsc itself insists on Buffer. */
class BytesView extends avsc.types.LogicalType {
  protected override _fromValue(value: Buffer): Buffer {
    return value
  }
  protected override _toValue(value: unknown): Buffer | undefined {
    if (!(value instanceof Uint8Array)) return undefined
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  protected override _resolve(type: avsc.Type): ((value: Buffer) => Buffer) | undefined {
    return type.typeName === 'bytes' || type.typeName === 'logical:byte-view'
      ? (value) => value
      : undefined
  }
}

/**
 * The Avro type of a schema: nullable branches without wrapping, unknown logical types as their base type, decoded
 * records as plain objects.
 */
export const parseAvroSchema = (text: string): avsc.Type => {
  const type = avsc.Type.forSchema(JSON.parse(text), {
    wrapUnions: 'never',
    logicalTypes: { 'byte-view': BytesView },
    typeHook: guardedTypeHook,
  })
  usePlainPrototypes(type, new Set())
  return type
}

/** What avsc reads from and writes to; its own types leave it out. */
interface Tap {
  readonly buf: Buffer
  pos: number
  writeString(text: string): void
  readLong(): number
  skipLong(): void
  readString(): string
}
interface InternalType {
  _read(tap: Tap): unknown
}

/**
 * Number of items of the next block. avsc reads past the end of its bytes and only complains afterwards, so a broken
 * count would fill the memory first; no item of ours takes less than a byte.
 */
const readBlockCount = (tap: Tap): number => {
  let count = tap.readLong()
  if (count < 0) {
    count = -count
    tap.skipLong()
  }
  if (count > Math.max(0, tap.buf.length - tap.pos))
    throw new Error('an array has more items than bytes are left')
  return count
}

const asInternalType = (type: unknown): InternalType => type as InternalType

/** Avro arrays with a guarded count; a resolver takes `_read` over, so `this` may be one. */
class GuardedArray extends avsc.types.ArrayType {
  protected _read(tap: Tap): unknown[] {
    const items: unknown[] = []
    for (let count = readBlockCount(tap); count > 0; count = readBlockCount(tap)) {
      for (let i = 0; i < count; i += 1) items.push(asInternalType(this.itemsType)._read(tap))
    }
    return items
  }
  protected _skip(tap: Tap): void {
    this._read(tap)
  }
}

/** Avro maps with a guarded count, and no key that reaches a prototype. */
class GuardedMap extends avsc.types.MapType {
  protected _read(tap: Tap): Record<string, unknown> {
    const pairs: [string, unknown][] = []
    for (let count = readBlockCount(tap); count > 0; count = readBlockCount(tap)) {
      for (let i = 0; i < count; i += 1) {
        pairs.push([tap.readString(), asInternalType(this.valuesType)._read(tap)])
      }
    }
    return Object.fromEntries(pairs)
  }
  protected _skip(tap: Tap): void {
    this._read(tap)
  }
}

/** Below that a loop is faster than a call into the engine. */
const MAX_LOOP_CHARS = 16
/** The length of such a text takes two bytes at most: zigzag, seven bits a byte. */
const MAX_FAST_PATH_CHARS = 4_096
const MAX_ONE_BYTE_LENGTH = 64
/** UTF-8 takes at most so many bytes for a UTF-16 unit. */
const MAX_UTF8_BYTES_PER_UNIT = 3

const writeAsciiByLoop = (buf: Buffer, text: string, at: number): boolean => {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) return false
    buf[at + i] = unit
  }
  return true
}

/** True when the text is ASCII and stands at `at`; else what was written there counts for nothing. */
const tryWriteAscii = (buf: Buffer, text: string, at: number): boolean =>
  text.length < MAX_LOOP_CHARS
    ? writeAsciiByLoop(buf, text, at)
    : buf.write(text, at, text.length * MAX_UTF8_BYTES_PER_UNIT) === text.length

/** Avro strings. Ours are nearly all ASCII: one pass writes them and proves it, where avsc counts the bytes first. */
class AsciiFastString extends avsc.types.StringType {
  protected _write(tap: Tap, text: unknown): void {
    if (typeof text !== 'string') throw new Error(`${String(text)} is not text`)
    const { buf, pos } = tap
    const { length } = text
    const head = length < MAX_ONE_BYTE_LENGTH ? 1 : 2
    const fits =
      length < MAX_FAST_PATH_CHARS && pos + head + length * MAX_UTF8_BYTES_PER_UNIT <= buf.length
    if (!fits || !tryWriteAscii(buf, text, pos + head)) {
      tap.writeString(text)
      return
    }
    if (head === 1) buf[pos] = length << 1
    else {
      buf[pos] = ((length << 1) & 0x7f) | 0x80
      buf[pos + 1] = length >> 6
    }
    tap.pos = pos + head + length
  }
}

const guardedTypeHook: NonNullable<Partial<avsc.TypeOptions>['typeHook']> = (schema, options) => {
  if (schema === 'string') return new AsciiFastString()
  if (schema === 'bytes') {
    return avsc.Type.forSchema({ type: 'bytes', logicalType: 'byte-view' }, { ...options })
  }
  if (typeof schema !== 'object' || !('type' in schema)) return undefined
  if (schema.type === 'string') return new AsciiFastString()
  if (schema.type === 'array') return new GuardedArray(schema, options)
  if (schema.type === 'map') return new GuardedMap(schema, options)
  return undefined
}

/** avsc builds one constructor per record: with the plain prototype what it builds compares equal to a literal. */
const usePlainPrototypes = (type: avsc.Type, seen: Set<avsc.Type>): void => {
  if (seen.has(type)) return
  seen.add(type)
  if (avsc.Type.isType(type, 'record')) {
    const record = type as avsc.types.RecordType
    record.recordConstructor.prototype = Object.prototype
    for (const field of record.fields) usePlainPrototypes(field.type, seen)
  }
  if (avsc.Type.isType(type, 'array'))
    usePlainPrototypes((type as avsc.types.ArrayType).itemsType, seen)
  if (avsc.Type.isType(type, 'map'))
    usePlainPrototypes((type as avsc.types.MapType).valuesType, seen)
  if (avsc.Type.isType(type, 'union')) {
    for (const branch of (type as avsc.types.UnwrappedUnionType).types)
      usePlainPrototypes(branch, seen)
  }
}
