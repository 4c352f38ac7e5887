import { readEffects } from '../../../ingestors/move/checkpoint/effects.ts'
import { readEvents } from '../../../ingestors/move/checkpoint/executed.ts'
import { readObject } from '../../../ingestors/move/checkpoint/objects.ts'
import { type BcsReader, createBcsReader } from '../../../ingestors/move/checkpoint/reader.ts'
import { readContents, readSummary } from '../../../ingestors/move/checkpoint/summary.ts'
import { readSenderSignedData } from '../../../ingestors/move/checkpoint/transaction.ts'

const varint = (value: number): Buffer =>
  value < 128
    ? Buffer.of(value)
    : Buffer.concat([Buffer.of((value & 127) | 128), varint(value >> 7)])

/** A field of a protobuf message that holds bytes. */
export const field = (number: number, ...inside: readonly Uint8Array[]): Buffer => {
  const bytes = Buffer.concat(inside)
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

/** A `Bcs` as a message's first field: the name of its type and the value. */
const bcsField = (name: string, value: Uint8Array): Buffer =>
  field(1, field(1, Buffer.from(name)), field(2, value))

/**
 * A checkpoint file in BCS as the `Checkpoint` of `sui.rpc.v2` that the object store's writer would make of it, with its parts'
 * own bytes. Fields by their number. Sources: MystenLabs/sui-apis proto/sui/rpc/v2, MystenLabs/sui sui-checkpoint-blob-indexer.
 */
export const toProtobufCheckpoint = (file: Uint8Array): Buffer => {
  const read = createBcsReader(file)
  const cut = <T>(
    part: (read: BcsReader) => T,
  ): { readonly bytes: Uint8Array; readonly said: T } => {
    const from = read.offset()
    const said = part(read)
    return { said, bytes: read.since(from) }
  }
  const summary = cut(readSummary)
  read.u64()
  const signature = read.bytes(48)
  read.byteVector()
  const contents = cut(readContents)
  const objects = new Map<string, Uint8Array>()
  const transactions = read.list(() => {
    const { signed } = readSenderSignedData(read)
    const effects = cut(readEffects).bytes
    const events = read.option(() => cut(readEvents).bytes)
    for (let state = 0; state < 2; state += 1) {
      read.list(() => {
        const { said, bytes } = cut(readObject)
        objects.set(`${said.id} ${said.version}`, bytes)
      })
    }
    const loaded = field(15, field(1, Buffer.from('0x6')), Buffer.of(0x10, 1))
    return field(
      6,
      field(2, bcsField('TransactionData', signed)),
      field(4, bcsField('TransactionEffects', effects), loaded),
      events === null ? Buffer.of() : field(5, bcsField('TransactionEvents', events)),
    )
  })
  return Buffer.concat([
    ...[Buffer.of(8), varint(summary.said.height)],
    field(3, bcsField('CheckpointSummary', summary.bytes)),
    field(4, Buffer.of(8, 1), field(2, signature), field(3, Buffer.of(1))),
    field(5, bcsField('CheckpointContents', contents.bytes)),
    ...transactions,
    field(7, ...[...objects.values()].map((object) => field(1, bcsField('Object', object)))),
  ])
}
