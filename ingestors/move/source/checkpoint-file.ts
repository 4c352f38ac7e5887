import { Malformed } from '../../../core/errors.ts'
import type { Recorded } from '../../recorded/files.ts'
import { chkEffects } from '../checkpoint/effects.ts'
import {
  type ChkExecuted,
  chkEvents,
  chkExecuted,
  wholeCheckpoint,
} from '../checkpoint/executed.ts'
import { chkObject } from '../checkpoint/objects.ts'
import { type ChkReader, chkReader } from '../checkpoint/reader.ts'
import { checkDigest, chkContents, chkDigest, chkSummary } from '../checkpoint/summary.ts'
import { chkTransaction } from '../checkpoint/transaction.ts'

/** Whether a file is a checkpoint of the object store in its older form, by its name. */
export const isCheckpointFile = (file: string): boolean => /\.chk(\.bin)?$/.test(file)

/** A certificate's signature is a point of BLS12-381 in its short form. */
const SIGNATURE_BYTES = 48

/**
 * A checkpoint file of the object store, `<sequence>.chk`: a BCS `CheckpointData`. Its contents must be those that its summary
 * names, its transactions and their effects those that the contents name. The first checkpoint, steps of an epoch's end that are
 * not listed here and compressed files are refused. Source: MystenLabs/sui sui-types full_checkpoint_content.rs, messages_checkpoint.rs. Throws `Malformed`: the reader's
 * reasons, `wrong-contents`, `trailing-bytes`.
 */
export const recordedCheckpoint = (chain: string, bytes: Uint8Array): Recorded => {
  const read = chkReader(bytes)
  const summary = chkSummary(read)
  const hash = chkDigest('CheckpointSummary', read.since(0))
  read.u64()
  read.bytes(SIGNATURE_BYTES)
  read.blob()
  const contentsAt = read.place()
  const named = chkContents(read)
  checkDigest('CheckpointContents', read.since(contentsAt), summary.contents)
  let index = 0
  const transactions = read.list(() => {
    const transaction = chkExecuted(executedOf(read), index, named[index])
    index += 1
    return transaction
  })
  if (!read.isDone() || transactions.length !== named.length) {
    throw new Malformed('trailing-bytes', `the file goes on behind byte ${read.place()}`)
  }
  return wholeCheckpoint(chain, summary, { hash, transactions })
}

/** A `CheckpointTransaction`. */
const executedOf = (read: ChkReader): ChkExecuted => {
  const transaction = chkTransaction(read)
  const from = read.place()
  const effects = chkEffects(read)
  const written = read.since(from)
  return {
    ...{ transaction, effects, written },
    events: read.option(() => chkEvents(read)) ?? [],
    before: read.list(() => chkObject(read)),
    after: read.list(() => chkObject(read)),
  }
}
