import { InvalidInput } from '../../../core/errors.ts'
import type { Recorded } from '../../input/recorded-block.ts'
import { readEffects } from './effects.ts'
import {
  type ExecutedTransaction,
  readEvents,
  recordedWholeCheckpoint,
  verifyExecutedTransaction,
} from './executed.ts'
import { readObject } from './objects.ts'
import { type BcsReader, createBcsReader } from './reader.ts'
import { readContents, readSummary, signableDigest, verifyDigest } from './summary.ts'
import { readSenderSignedData } from './transaction.ts'

/** Whether a file is a checkpoint of the object store in its older form, by its name. */
export const isChkFile = (file: string): boolean => /\.chk(\.bin)?$/.test(file)

/** A certificate's signature is a point of BLS12-381 in its short form. */
const SIGNATURE_BYTES = 48

/**
 * A checkpoint file of the object store, `<sequence>.chk`: a BCS `CheckpointData`. Its contents must be those that its summary
 * names, its transactions and their effects those that the contents name. The first checkpoint, steps of an epoch's end that are
 * not listed here and compressed files are refused. Source: MystenLabs/sui sui-types full_checkpoint_content.rs, messages_checkpoint.rs. Throws `InvalidInput`: the reader's
 * reasons, `wrong-contents`, `trailing-bytes`.
 */
export const parseChkFile = (chain: string, bytes: Uint8Array): Recorded => {
  const read = createBcsReader(bytes)
  const summary = readSummary(read)
  const hash = signableDigest('CheckpointSummary', read.since(0))
  read.u64()
  read.bytes(SIGNATURE_BYTES)
  read.byteVector()
  const contentsAt = read.offset()
  const named = readContents(read)
  verifyDigest('CheckpointContents', read.since(contentsAt), summary.contentsDigest)
  let index = 0
  const transactions = read.list(() => {
    const transaction = verifyExecutedTransaction(
      readExecutedTransaction(read),
      index,
      named[index],
    )
    index += 1
    return transaction
  })
  if (!read.isDone() || transactions.length !== named.length) {
    throw new InvalidInput('trailing-bytes', `the file continues behind byte ${read.offset()}`)
  }
  return recordedWholeCheckpoint(chain, summary, { hash, transactions })
}

/** A `CheckpointTransaction`. */
const readExecutedTransaction = (read: BcsReader): ExecutedTransaction => {
  const transaction = readSenderSignedData(read)
  const from = read.offset()
  const effects = readEffects(read)
  const written = read.since(from)
  return {
    transaction,
    effects,
    effectsBytes: written,
    events: read.option(() => readEvents(read)) ?? [],
    before: read.list(() => readObject(read)),
    after: read.list(() => readObject(read)),
  }
}
