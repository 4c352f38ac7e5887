import { InvalidInput } from '../../../core/errors.ts'
import type { RejectedTransaction } from '../../../schemas/block-parts.ts'
import type { MoveBlock, MoveTransaction } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseOrReject } from '../../input/skip-invalid.ts'
import { unreportedHash } from '../../input/unreported-hash.ts'
import { parseAmount, parseBase58Key, parseUint } from '../../svm/layout/json.ts'
import { fromGrpc, type GrpcObjects, parseObjectSet } from './grpc.ts'
import { parseProtoTimestamp } from './json.ts'
import { fromJsonRpc } from './json-rpc.ts'
import type { RawTransaction } from './raw-transaction.ts'

/** A checkpoint without its transactions. */
export type MoveHeader = Omit<MoveBlock, 'transactions'>

const NO_OBJECTS: GrpcObjects = new Map()
/** Longest base 58 text of 32 bytes. */
const MAX_DIGEST_LENGTH = 44

/**
 * A checkpoint with its transactions as a block: a `Checkpoint` of `sui.rpc.v2`, or a `sui_getCheckpoint` answer in whose
 * list the transactions themselves stand. Unknown fields are ignored. Throws `InvalidInput`; reasons: those of the readers in
 * `../../input/json.ts` and `./json.ts`, `bad-status`, `no-effects`, `no-transactions`; `skipInvalid`: a transaction that cannot be read is left out.
 */
export const normalizeCheckpoint = (
  value: unknown,
  chain: string,
  { skipInvalid = false }: { readonly skipInvalid?: boolean } = {},
): MoveBlock => {
  const raw = fieldsOf(value, 'checkpoint')
  const objects = raw.objects === undefined ? NO_OBJECTS : parseObjectSet(raw.objects)
  const list = orElse(raw.transactions, 'checkpoint.transactions', { read: listOf, fallback: [] })
  if (typeof list[0] === 'string') {
    throw new InvalidInput('no-transactions', 'the checkpoint names its transactions only')
  }
  const rejected: RejectedTransaction[] = []
  const transactions = list.flatMap((raw, index) => {
    const { digest: name } = (raw ?? {}) as { readonly digest?: unknown }
    const place = { name, longest: MAX_DIGEST_LENGTH, index, input: raw }
    const read = (): MoveTransaction => normalizeTransaction(raw, { index, objects })
    return parseOrReject(read, place, skipInvalid ? rejected : undefined) ?? []
  })
  return { ...normalizeHeader(raw, chain), transactions, ...(rejected.length > 0 && { rejected }) }
}

/** Header of a checkpoint in either form; the first of all has no parent. Throws `InvalidInput`. */
export const normalizeHeader = (value: unknown, chain: string): MoveHeader => {
  const raw = fieldsOf(value, 'checkpoint')
  const summary = orElse(raw.summary, 'summary', { read: fieldsOf, fallback: raw })
  const parent = summary.previousDigest
  return {
    vm: 'move',
    chain,
    height: parseUint(raw.sequenceNumber, 'sequenceNumber'),
    hash: parseBase58Key(raw.digest ?? summary.digest, 'digest'),
    parentHash: orElse(parent, 'previousDigest', {
      read: parseBase58Key,
      fallback: unreportedHash(0),
    }),
    timeMs: timestampMsOf(summary),
  }
}

/** Time of a checkpoint or transaction in either form; 0 where nothing is reported. Throws `InvalidInput`: `bad-time`, `bad-number`. */
export const timestampMsOf = ({ timestampMs, timestamp }: Fields): number =>
  timestampMs === undefined || timestampMs === null
    ? orElse(timestamp, 'timestamp', { read: parseProtoTimestamp, fallback: 0 })
    : parseUint(timestampMs, 'timestampMs')

/** What a transaction is read with. */
export interface TransactionContext {
  /** Place in the checkpoint. */
  readonly index: number
  /** Objects that the checkpoint lists for all its transactions. */
  readonly objects?: GrpcObjects
}

/** One transaction with its effects, in either form. Throws `InvalidInput`. */
export const normalizeTransaction = (
  value: unknown,
  { index, objects = NO_OBJECTS }: TransactionContext,
): MoveTransaction => {
  const raw = fieldsOf(value, 'transaction')
  if (raw.effects === undefined || raw.effects === null) {
    throw new InvalidInput('no-effects', `transaction ${index} comes without its effects`)
  }
  const isJsonRpc = fieldsOf(raw.transaction, 'transaction').data !== undefined
  const reported = isJsonRpc ? fromJsonRpc(raw) : fromGrpc(raw, objects)
  checkEventOrder(reported)
  const { digest, sender, gasOwner, success, gasUsed, events, deltas, calls } = reported
  const { budgetRaw, priceRaw } = reported
  return {
    hash: digest,
    index,
    from: sender,
    gasOwner,
    gas: {
      budgetRaw,
      priceRaw,
      computationRaw: orElse(gasUsed.computationCost, 'computationCost', {
        read: parseAmount,
        fallback: null,
      }),
    },
    feeRaw: gasFeeOf(gasUsed),
    success,
    deltas,
    events: success ? events : [],
    calls: success ? calls : [],
    objects: success ? reported.objects : [],
  }
}

/** Events stand in the order in which they happened, so that their places name them. */
const checkEventOrder = ({ events }: RawTransaction): void => {
  let last = -1
  for (const { index } of events) {
    if (index <= last) throw invalid('event-order', 'eventSeq', index)
    last = index
  }
}

const gasFeeOf = ({ computationCost, storageCost, storageRebate }: Fields): bigint => {
  const cost = (value: unknown, at: string): bigint =>
    orElse(value, at, { read: parseAmount, fallback: 0n })
  return (
    cost(computationCost, 'computationCost') +
    cost(storageCost, 'storageCost') -
    cost(storageRebate, 'storageRebate')
  )
}
