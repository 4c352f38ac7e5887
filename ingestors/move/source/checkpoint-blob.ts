import { Malformed } from '../../../core/errors.ts'
import { protoReader } from '../../../core/rpc/grpc.ts'
import { type Fields, fieldsOf, listOf, orElse, refuse } from '../../input/json.ts'
import type { Recorded } from '../../recorded/files.ts'
import { chkEffects } from '../checkpoint/effects.ts'
import {
  type ChkExecuted,
  chkEvents,
  chkExecuted,
  wholeCheckpoint,
} from '../checkpoint/executed.ts'
import { type ChkObject, chkObject } from '../checkpoint/objects.ts'
import { type ChkReader, chkReader } from '../checkpoint/reader.ts'
import { checkDigest, chkContents, chkDigest, chkSummary } from '../checkpoint/summary.ts'
import { type ChkVersion, chkTransactionData } from '../checkpoint/transaction.ts'
import { blobParts } from './blob-parts.ts'
import { unzstd } from './zstd.ts'

/** Largest checkpoint that is unpacked; a validator's own bound for transactions and effects is a quarter of it. */
const MAX_BLOB_BYTES = 128 * 1024 * 1024
/** Most transactions and objects in one; a busy checkpoint holds some thousands. */
const MAX_PARTS = 1_000_000

/** Whether a file is a checkpoint of the object store as the store is written today, by its name. */
export const isCheckpointBlob = (file: string): boolean => /\.binpb\.zst$/.test(file)

/**
 * A checkpoint file of the object store, `<sequence>.binpb.zst`: one frame of Zstandard around a `Checkpoint` of `sui.rpc.v2`
 * with parts in BCS. What is checked and refused is that of `recordedCheckpoint`; objects before and after a transaction
 * are those of the checkpoint that its effects name. Sources: MystenLabs/sui sui-checkpoint-blob-indexer, sui-types
 * rpc_proto_conversions.rs. Throws `Malformed`: the reasons of `unzstd`, of the readers and of `recordedCheckpoint`,
 * `bad-protobuf`, `missing-object`.
 */
export const recordedBlob = async (chain: string, packed: Uint8Array): Promise<Recorded> => {
  const said = checkpointOf(await unzstd(packed, MAX_BLOB_BYTES))
  const summaryBytes = bcsOf(said.summary, 'summary')
  const summary = readAll(summaryBytes, chkSummary)
  const contents = bcsOf(said.contents, 'contents')
  checkDigest('CheckpointContents', contents, summary.contents)
  const named = readAll(contents, chkContents)
  const objects = objectsOf(said.objects)
  const list = listOf(said.transactions, 'transactions')
  if (list.length !== named.length) {
    throw new Malformed('wrong-contents', `${list.length} transactions of ${named.length}`)
  }
  const transactions = list.map((each, index) =>
    chkExecuted(executedOf(fieldsOf(each, 'transaction'), objects), index, named[index]),
  )
  const hash = chkDigest('CheckpointSummary', summaryBytes)
  return wholeCheckpoint(chain, summary, { hash, transactions })
}

const checkpointOf = (bytes: Uint8Array): Fields => {
  const parts = blobParts(bytes)
  if (parts > MAX_PARTS) throw new Malformed('too-big', `the checkpoint holds ${parts} parts`)
  const read = protoReader('sui-checkpoint.proto', 'sui.rpc.v2.Checkpoint')
  return fieldsOf(read(bytes), 'checkpoint')
}

/** The BCS of a part. Throws `Malformed`: `not-an-object`, `no-bytes`. */
const bcsOf = (part: unknown, at: string): Uint8Array => {
  const { value } = fieldsOf(fieldsOf(part, at).bcs, `${at}.bcs`)
  if (!(value instanceof Uint8Array)) throw refuse('no-bytes', `${at}.bcs.value`, typeof value)
  return value
}

/** A value that takes all its bytes. */
const readAll = <T>(bytes: Uint8Array, value: (read: ChkReader) => T): T => {
  const read = chkReader(bytes)
  const found = value(read)
  if (read.isDone()) return found
  throw new Malformed('trailing-bytes', `a part goes on behind its byte ${read.place()}`)
}

type Objects = ReadonlyMap<string, ChkObject>

const keyOf = ({ id, version }: ChkVersion): string => `${id} ${version}`

/** Objects by id and version. */
const objectsOf = (set: unknown): Objects => {
  const { objects = [] } = orElse(set, 'objects', { read: fieldsOf, fallback: {} as Fields })
  const read = listOf(objects, 'objects.objects').map((each) =>
    readAll(bcsOf(each, 'object'), chkObject),
  )
  return new Map(read.map((object) => [keyOf(object), object]))
}

const executedOf = (said: Fields, objects: Objects): ChkExecuted => {
  const written = bcsOf(said.effects, 'effects')
  const effects = readAll(written, chkEffects)
  const events = orElse(said.events, 'events', { read: bcsOf, fallback: null })
  const states = (named: readonly ChkVersion[]): readonly ChkObject[] =>
    named.map((version) => {
      const object = objects.get(keyOf(version))
      if (object !== undefined) return object
      throw new Malformed('missing-object', `${version.id} of version ${version.version}`)
    })
  return {
    ...{ effects, written },
    transaction: readAll(bcsOf(said.transaction, 'transaction'), chkTransactionData),
    events: events === null ? [] : readAll(events, chkEvents),
    before: states(effects.before),
    after: states(effects.after),
  }
}
