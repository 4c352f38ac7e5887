import { InvalidInput } from '../../../core/errors.ts'

/** Kinds of fields by what stands behind their number. Source: protobuf's description of its wire format. */
const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

/** The field of a checkpoint whose own fields count too. */
const OBJECTS_FIELD = 7

/**
 * How many parts a checkpoint of `sui.rpc.v2` holds, by walking over its bytes: its transactions, its objects and a few more. To
 * be counted before they are read, as an empty part takes two bytes there and a hundred in memory. Throws `InvalidInput`: `bad-protobuf`.
 */
export const countCheckpointParts = (bytes: Uint8Array): number => {
  let parts = 0
  for (const [field, inside] of lengthDelimitedFields(bytes)) {
    parts += 1
    if (field === OBJECTS_FIELD) for (const _ of lengthDelimitedFields(inside)) parts += 1
  }
  return parts
}

/** Fields that hold bytes, by number. */
function* lengthDelimitedFields(bytes: Uint8Array): Generator<readonly [number, Uint8Array]> {
  let at = 0
  const number = (most: number): number => {
    let value = 0
    for (let place = 0; place < most; place += 1) {
      const byte = bytes[at]
      if (byte === undefined) break
      at += 1
      value += (byte & 0x7f) * 2 ** (7 * place)
      if (byte < 0x80) return value
    }
    throw new InvalidInput('bad-protobuf', `no number ends at byte ${at}`)
  }
  while (at < bytes.length) {
    const tag = number(5)
    const kind = tag & 7
    if (kind === VARINT) number(10)
    else if (kind === FIXED64) at += 8
    else if (kind === FIXED32) at += 4
    else if (kind === LENGTH_DELIMITED) {
      const size = number(5)
      yield [Math.floor(tag / 8), bytes.subarray(at, at + size)]
      at += size
    } else throw new InvalidInput('bad-protobuf', `a field of kind ${kind}`)
    if (at > bytes.length) throw new InvalidInput('bad-protobuf', `it ends at byte ${bytes.length}`)
  }
}
