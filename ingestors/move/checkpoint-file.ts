import { blake2b } from '@noble/hashes/blake2'
import { base58Encode } from '../../core/base58.ts'
import { Malformed } from '../../core/fault.ts'
import type { MoveBlock, MoveDelta, MoveEvent, MoveTransaction } from '../../schemas/events.ts'
import type { Recorded } from '../recorded.ts'
import { type ChkEffects, chkEffects } from './chk-effects.ts'
import { type ChkObject, chkObject } from './chk-objects.ts'
import { type ChkReader, chkReader } from './chk-reader.ts'
import { type ChkTransaction, chkTransaction } from './chk-transaction.ts'
import { nameOfHeight } from './json.ts'
import { eventOf } from './told.ts'

/** Whether a file is a checkpoint of the object store, by its name. */
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
  const summary = summaryOf(read)
  const hash = nameOf('CheckpointSummary', read.since(0))
  read.u64()
  read.bytes(SIGNATURE_BYTES)
  read.blob()
  const contentsAt = read.place()
  const digests = read.variant('contents', [() => contentsV1(read), () => contentsV2(read)])
  checkName('CheckpointContents', read.since(contentsAt), summary.contents)
  let index = 0
  const transactions = read.list(() => {
    const { transaction = '', effects = '' } = digests[index] ?? {}
    const told = executedOf(read)
    checkName('TransactionData', told.transaction.signed, transaction)
    checkName('TransactionEffects', told.written, effects)
    index += 1
    return transactionOf(told, { index: index - 1, hash: transaction })
  })
  if (!read.isDone() || transactions.length !== digests.length) {
    throw new Malformed('trailing-bytes', `the file goes on behind byte ${read.place()}`)
  }
  const { height, timeMs, parentHash } = summary
  const block: MoveBlock = { vm: 'move', chain, height, hash, parentHash, timeMs, transactions }
  return { block, whole: true, timed: timeMs > 0, named: true }
}

/** Digests are hashes of a type's name and the value. Source: sui-types crypto.rs, `Signable`. */
const nameOf = (type: string, bytes: Uint8Array): string =>
  base58Encode(blake2b(Buffer.concat([Buffer.from(`${type}::`), bytes]), { dkLen: 32 }))

/** Throws where a value is not the one that was named. */
const checkName = (type: string, bytes: Uint8Array, digest: string): void => {
  if (nameOf(type, bytes) === digest) return
  throw new Malformed('wrong-contents', `a ${type} is not the one that the checkpoint names`)
}

const summaryOf = (read: ChkReader) => {
  read.u64() // epoch
  const height = Number(read.u64())
  read.u64() // transactions so far
  const contents = read.digest()
  const parentHash = read.option(read.digest) ?? nameOfHeight(0)
  for (let cost = 0; cost < 4; cost += 1) read.u64()
  const timeMs = Number(read.u64())
  const commitments = () => read.list(() => read.variant('commitment', [read.digest, read.digest]))
  commitments()
  read.option(() => {
    read.list(() => read.skip(read.blob, read.u64))
    read.u64()
    commitments()
  })
  read.blob()
  return { height, contents, parentHash, timeMs }
}

/** What was executed, by digest. */
interface Executions {
  readonly transaction: string
  readonly effects: string
}

/** Digests of the transactions and their effects, in order. */
const contentsV1 = (read: ChkReader): readonly Executions[] => {
  const digests = read.list(() => ({ transaction: read.digest(), effects: read.digest() }))
  read.list(() => read.list(read.blob))
  return digests
}

/** The same, each with its signatures and the versions of what they stand on. */
const contentsV2 = (read: ChkReader): readonly Executions[] =>
  read.list(() => {
    const digests = { transaction: read.digest(), effects: read.digest() }
    read.list(() => read.skip(read.blob, () => read.option(read.u64)))
    return digests
  })

/** A `CheckpointTransaction`. */
interface Executed {
  readonly transaction: ChkTransaction
  readonly effects: ChkEffects
  /** The effects as they stand. */
  readonly written: Uint8Array
  readonly events: readonly MoveEvent[]
  readonly before: readonly ChkObject[]
  readonly after: readonly ChkObject[]
}

const executedOf = (read: ChkReader): Executed => {
  const transaction = chkTransaction(read)
  const from = read.place()
  const effects = chkEffects(read)
  const written = read.since(from)
  return { transaction, effects, written, ...statesOf(read) }
}

const statesOf = (read: ChkReader): Pick<Executed, 'events' | 'before' | 'after'> => ({
  events: read.option(() => read.list(() => eventParts(read)))?.map(numbered) ?? [],
  before: read.list(() => chkObject(read)),
  after: read.list(() => chkObject(read)),
})

const eventParts = (read: ChkReader) => {
  read.id()
  read.text()
  return { sender: read.id(), type: read.struct(), bytes: read.blob() }
}

const numbered = (said: ReturnType<typeof eventParts>, index: number): MoveEvent =>
  eventOf({ ...said, index, fields: null })

const transactionOf = (
  told: Executed,
  place: Pick<MoveTransaction, 'index' | 'hash'>,
): MoveTransaction => {
  const { transaction, effects, events, after } = told
  const { success, feeRaw, changes } = effects
  const written = new Map(after.map((object) => [object.id, object]))
  return {
    ...place,
    from: transaction.sender,
    gasOwner: transaction.gasOwner,
    ...{ feeRaw, success, deltas: deltasOf(told) },
    events: success ? events : [],
    calls: success ? transaction.calls : [],
    objects: changes.flatMap(({ id, change }) => {
      if (!success || change === 'gone') return []
      const { type = '', fields = null } = written.get(id) ?? {}
      return [{ id, type, change, fields }]
    }),
  }
}

/** What coins of addresses were worth before and after, and what their balances gained, by owner and coin. */
const deltasOf = ({ before, after, effects }: Executed): readonly MoveDelta[] => {
  const sums = new Map<string, MoveDelta>()
  const add = ({ owner, coin, deltaRaw }: MoveDelta): void => {
    const key = `${owner} ${coin}`
    const sum = (sums.get(key)?.deltaRaw ?? 0n) + deltaRaw
    sums.set(key, { owner, coin, deltaRaw: sum })
  }
  const worth = ({ owner, coin }: ChkObject, sign: bigint): void => {
    if (owner === null || coin === null) return
    add({ owner, coin: coin.type, deltaRaw: sign * coin.amountRaw })
  }
  for (const object of before) worth(object, -1n)
  for (const object of after) worth(object, 1n)
  for (const { delta } of effects.changes) if (delta !== undefined) add(delta)
  return [...sums.values()].filter(({ deltaRaw }) => deltaRaw !== 0n)
}
