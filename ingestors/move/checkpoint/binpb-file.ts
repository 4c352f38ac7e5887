import { InvalidInput } from '../../../core/errors.ts'
import { makeProtobufDecoder } from '../../../core/rpc/grpc.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import type { Recorded } from '../../input/recorded-block.ts'
import { readEffects } from './effects.ts'
import {
  type ExecutedTransaction,
  readEvents,
  recordedWholeCheckpoint,
  verifyExecutedTransaction,
} from './executed.ts'
import { type ObjectState, readObject } from './objects.ts'
import { countCheckpointParts } from './protobuf-parts.ts'
import { type BcsReader, createBcsReader } from './reader.ts'
import { readContents, readSummary, signableDigest, verifyDigest } from './summary.ts'
import { type ObjectVersion, readTransactionData } from './transaction.ts'
import { decompressZstd } from './zstd.ts'

/** Largest checkpoint that is unpacked; a validator's own bound for transactions and effects is a quarter of it. */
const MAX_CHECKPOINT_BYTES = 128 * 1024 * 1024
/** Most transactions and objects in one; a busy checkpoint holds some thousands. */
const MAX_CHECKPOINT_PARTS = 1_000_000

/** Whether a file is a checkpoint of the object store as the store is written today, by its name. */
export const isBinpbFile = (file: string): boolean => /\.binpb\.zst$/.test(file)

/**
 * A checkpoint file of the object store, `<sequence>.binpb.zst`: one frame of Zstandard around a `Checkpoint` of `sui.rpc.v2`
 * with parts in BCS. What is checked and refused is that of `parseChkFile`; objects before and after a transaction
 * are those of the checkpoint that its effects name. Sources: MystenLabs/sui sui-checkpoint-blob-indexer, sui-types
 * rpc_proto_conversions.rs. Throws `InvalidInput`: the reasons of `decompressZstd`, of the readers and of `parseChkFile`,
 * `bad-protobuf`, `missing-object`.
 */
export const parseBinpbFile = async (chain: string, packed: Uint8Array): Promise<Recorded> => {
  const raw = decodeCheckpointProto(await decompressZstd(packed, MAX_CHECKPOINT_BYTES))
  const summaryBytes = bcsBytesOf(raw.summary, 'summary')
  const summary = readToEnd(summaryBytes, readSummary)
  const contents = bcsBytesOf(raw.contents, 'contents')
  verifyDigest('CheckpointContents', contents, summary.contentsDigest)
  const named = readToEnd(contents, readContents)
  const objects = parseObjects(raw.objects)
  const list = listOf(raw.transactions, 'transactions')
  if (list.length !== named.length) {
    throw new InvalidInput('wrong-contents', `${list.length} transactions of ${named.length}`)
  }
  const transactions = list.map((each, index) =>
    verifyExecutedTransaction(
      parseExecutedTransaction(fieldsOf(each, 'transaction'), objects),
      index,
      named[index],
    ),
  )
  const hash = signableDigest('CheckpointSummary', summaryBytes)
  return recordedWholeCheckpoint(chain, summary, { hash, transactions })
}

const decodeCheckpointProto = (bytes: Uint8Array): Fields => {
  const parts = countCheckpointParts(bytes)
  if (parts > MAX_CHECKPOINT_PARTS)
    throw new InvalidInput('too-big', `the checkpoint holds ${parts} parts`)
  const read = makeProtobufDecoder('sui-checkpoint.proto', 'sui.rpc.v2.Checkpoint')
  return fieldsOf(read(bytes), 'checkpoint')
}

/** The BCS of a part. Throws `InvalidInput`: `not-an-object`, `no-bytes`. */
const bcsBytesOf = (part: unknown, at: string): Uint8Array => {
  const { value } = fieldsOf(fieldsOf(part, at).bcs, `${at}.bcs`)
  if (!(value instanceof Uint8Array)) throw invalid('no-bytes', `${at}.bcs.value`, typeof value)
  return value
}

/** A value that takes all its bytes. */
const readToEnd = <T>(bytes: Uint8Array, value: (read: BcsReader) => T): T => {
  const read = createBcsReader(bytes)
  const found = value(read)
  if (read.isDone()) return found
  throw new InvalidInput('trailing-bytes', `a part continues behind its byte ${read.offset()}`)
}

type ObjectsByVersion = ReadonlyMap<string, ObjectState>

const objectVersionKey = ({ id, version }: ObjectVersion): string => `${id} ${version}`

/** Objects by id and version. */
const parseObjects = (set: unknown): ObjectsByVersion => {
  const { objects = [] } = orElse(set, 'objects', { read: fieldsOf, fallback: {} as Fields })
  const read = listOf(objects, 'objects.objects').map((each) =>
    readToEnd(bcsBytesOf(each, 'object'), readObject),
  )
  return new Map(read.map((object) => [objectVersionKey(object), object]))
}

const parseExecutedTransaction = (raw: Fields, objects: ObjectsByVersion): ExecutedTransaction => {
  const written = bcsBytesOf(raw.effects, 'effects')
  const effects = readToEnd(written, readEffects)
  const events = orElse(raw.events, 'events', { read: bcsBytesOf, fallback: null })
  const states = (named: readonly ObjectVersion[]): readonly ObjectState[] =>
    named.map((version) => {
      const object = objects.get(objectVersionKey(version))
      if (object !== undefined) return object
      throw new InvalidInput('missing-object', `${version.id} of version ${version.version}`)
    })
  return {
    effects,
    effectsBytes: written,
    transaction: readToEnd(bcsBytesOf(raw.transaction, 'transaction'), readTransactionData),
    events: events === null ? [] : readToEnd(events, readEvents),
    before: states(effects.before),
    after: states(effects.after),
  }
}
