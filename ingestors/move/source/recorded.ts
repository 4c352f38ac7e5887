import { InvalidInput } from '../../../core/errors.ts'
import type { MoveBlock, MoveTransaction } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, orElse } from '../../input/json.ts'
import type { Recorded } from '../../input/recorded-block.ts'
import { unreportedHash } from '../../input/unreported-hash.ts'
import { parseBase58Key, parseUint } from '../../svm/layout/json.ts'
import {
  normalizeCheckpoint,
  normalizeTransaction,
  timestampMsOf,
} from '../normalize/checkpoint.ts'
import { parseAddress } from '../normalize/json.ts'
import { parseJsonRpcEvent } from '../normalize/json-rpc.ts'
import { objectFieldsOrNull } from '../normalize/raw-transaction.ts'

/**
 * A file of recorded answers of a Sui node, in either form, bare, in their JSON-RPC envelope or named by their method: a
 * checkpoint with its transactions, a transaction, a list or a page of transactions of one checkpoint, or an extract that
 * holds nothing but events. What is not a whole checkpoint becomes a block of its own with the recorded number, or number 0. Throws
 * `InvalidInput`; reasons of `normalizeCheckpoint`, `unknown-shape` and `mixed-checkpoints`.
 */
export const parseMoveRecording = (chain: string, file: Fields): Recorded => {
  const raw = unwrapEnvelope(file)
  if (Array.isArray(raw)) return blockOfList(chain, {}, raw)
  const shape = fieldsOf(raw, 'file')
  if (shape.sequenceNumber !== undefined) return wholeCheckpoint(chain, shape)
  if (TRANSACTION_KEYS.some((part) => shape[part] !== undefined))
    return blockOfTransactions(chain, [shape])
  const list = shape.events ?? shape.data ?? (shape.type === undefined ? undefined : [shape])
  if (!Array.isArray(list)) throw new InvalidInput('unknown-shape', 'neither checkpoint nor events')
  return blockOfList(chain, shape, list)
}

/** A list of events, which have types, or of transactions, which have digests. */
const blockOfList = (chain: string, around: Fields, list: readonly unknown[]): Recorded => {
  const items = list.map((each) => fieldsOf(each, 'event or transaction'))
  const [first = {}] = items
  return first.type === undefined && first.digest !== undefined
    ? blockOfTransactions(chain, items)
    : blockOfEvents(chain, around, items)
}

/** What only an answer about a transaction has. */
const TRANSACTION_KEYS = ['transaction', 'effects', 'objectChanges', 'balanceChanges'] as const

/** Methods whose answers are recordings, and the messages around them. */
const ENVELOPES = [
  'sui_getTransactionBlock',
  'sui_multiGetTransactionBlocks',
  'sui_getCheckpoint',
  'sui_getEvents',
  'suix_queryEvents',
  'suix_queryTransactionBlocks',
  'result',
] as const

/** A method's name around an envelope is as deep as they go. */
const unwrapEnvelope = (file: Fields, depth = 0): unknown => {
  for (const name of depth > 2 ? [] : ENVELOPES) {
    const inner = file[name]
    if (inner === undefined) continue
    return Array.isArray(inner) ? inner : unwrapEnvelope(fieldsOf(inner, name), depth + 1)
  }
  const checkpoint = objectFieldsOrNull(file.checkpoint)
  if (checkpoint !== null) return checkpoint
  const transaction = objectFieldsOrNull(file.transaction)
  return transaction?.digest !== undefined && transaction.transaction !== undefined
    ? transaction
    : file
}

const wholeCheckpoint = (chain: string, raw: Fields): Recorded => {
  const block = normalizeCheckpoint(raw, chain)
  return { block, whole: true, timed: block.timeMs > 0, named: true }
}

/** Recordings may leave parts out. What emitted events succeeded, and who sent them is their sender. */
const DEFAULT_EFFECTS = { status: { success: true, status: 'success' }, gasUsed: {} }

const withDefaults = (raw: Fields): Fields => {
  const isJsonRpc = raw.objectChanges !== undefined || Array.isArray(raw.events)
  const list = isJsonRpc ? raw.events : objectFieldsOrNull(raw.events)?.events
  const [first] = Array.isArray(list) ? list : []
  const { sender } = objectFieldsOrNull(first) ?? {}
  const transaction = isJsonRpc ? { data: { sender } } : { sender }
  return {
    ...raw,
    effects: raw.effects ?? DEFAULT_EFFECTS,
    transaction: raw.transaction ?? transaction,
  }
}

const blockOfTransactions = (chain: string, list: readonly Fields[]): Recorded => {
  const [first = {}] = list
  const height = checkpointOf(first)
  for (const raw of list) {
    const other = checkpointOf(raw)
    if (other !== height) {
      throw new InvalidInput('mixed-checkpoints', `transactions of ${height} and of ${other}`)
    }
  }
  const transactions = list.map((raw, place) =>
    normalizeTransaction(withDefaults(raw), {
      index: orElse(raw.transactionIndex, 'transactionIndex', {
        read: parseUint,
        fallback: place,
      }),
    }),
  )
  return partialBlock(chain, { height, timeMs: timestampMsOf(first), transactions })
}

const checkpointOf = ({ checkpoint }: Fields): number =>
  orElse(checkpoint, 'checkpoint', { read: parseUint, fallback: 0 })

/** Events with nothing around them, each transaction's together. */
const blockOfEvents = (chain: string, raw: Fields, events: readonly Fields[]): Recorded => {
  const byDigest = new Map<string, Fields[]>()
  for (const event of events) {
    const digest = objectFieldsOrNull(event.id)?.txDigest ?? raw.digest
    const name = orElse(digest, 'digest', { read: parseBase58Key, fallback: unreportedHash(0) })
    byDigest.set(name, [...(byDigest.get(name) ?? []), event])
  }
  const sender = orElse(raw.sender, 'sender', { read: parseAddress, fallback: '' })
  const transactions = [...byDigest].map(([hash, list], index): MoveTransaction => {
    const own = list.map(parseJsonRpcEvent).sort((a, b) => a.index - b.index)
    const from = sender === '' ? (own[0]?.sender ?? '') : sender
    return {
      hash,
      index,
      from,
      gasOwner: from,
      gas: { budgetRaw: null, priceRaw: null, computationRaw: null },
      feeRaw: 0n,
      success: true,
      events: own,
      deltas: [],
      calls: [],
      objects: [],
    }
  })
  const [first = {}] = events
  return partialBlock(chain, {
    height: checkpointOf(raw),
    timeMs: timestampMsOf(raw.timestampMs === undefined ? first : raw),
    transactions,
  })
}

const partialBlock = (
  chain: string,
  { height, timeMs, transactions }: Pick<MoveBlock, 'height' | 'timeMs' | 'transactions'>,
): Recorded => ({
  block: {
    vm: 'move',
    chain,
    height,
    hash: unreportedHash(height),
    parentHash: unreportedHash(Math.max(height - 1, 0)),
    timeMs,
    transactions,
  },
  whole: false,
  timed: timeMs > 0,
  named: false,
})
