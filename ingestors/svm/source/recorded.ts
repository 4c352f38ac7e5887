import type { ChainExtra } from '../../../core/config/settings.ts'
import { InvalidInput } from '../../../core/errors.ts'
import type { SvmBlock } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import type { Recorded } from '../../input/recorded-block.ts'
import { unreportedHash } from '../../input/unreported-hash.ts'
import { parseUint } from '../layout/json.ts'
import { blockTimeMs, normalizeHeader, normalizeTransaction } from '../normalize/block.ts'
import {
  ALL_PROGRAMS,
  type ProgramFilter,
  withFactories,
  withOrderBooks,
} from '../programs/programs.ts'
import { toGetBlockFields } from './yellowstone.ts'

/** Recordings are short: order books are read whether anybody asks or not. */
const RECORDED_PROGRAMS = withOrderBooks(ALL_PROGRAMS)

/**
 * A file of recorded answers of a Solana node, bare or named by their method: `getTransaction` (`getTransactionJson` where
 * only that is there), `getBlock`, the `value` of a `blockNotification`, or a Yellowstone block update. A transaction
 * becomes a block that holds it alone, with its slot and time; without a slot, at slot 0. A `getBlock` answer does not name
 * its slot: it is `slot` beside it, else the one after its parent's. Throws `InvalidInput`; reasons of `normalizeBlock` and
 * `unknown-shape`.
 */
export const parseSvmRecording = (
  chain: string,
  file: Fields,
  factories: ChainExtra['factories'],
): Recorded => {
  const programs =
    factories.length === 0 ? RECORDED_PROGRAMS : withFactories(RECORDED_PROGRAMS, factories)
  const reading = { chain, programs }
  const transaction = file.getTransaction ?? file.getTransactionJson
  if (transaction !== undefined)
    return singleTransactionBlock(reading, fieldsOf(transaction, 'getTransaction'))
  if (file.meta !== undefined) return singleTransactionBlock(reading, file)
  const block = file.getBlock ?? blockInNotification(file) ?? file
  const raw = fieldsOf(block, 'block')
  if (raw.parentBlockhash !== undefined) return wholeBlock(reading, toGetBlockFields(raw), file)
  if (raw.blockhash !== undefined) return wholeBlock(reading, raw, file)
  throw new InvalidInput('unknown-shape', 'neither a recorded block nor a transaction')
}

/** The block inside a notification, of a node's socket or of Yellowstone. */
const blockInNotification = (file: Fields): unknown => {
  const step = (value: unknown, key: string): unknown =>
    orElse(value, key, { read: fieldsOf, fallback: null })?.[key]
  const pushed = step(step(file.params, 'result'), 'value')
  return pushed === undefined ? file.block : (step(pushed, 'block') ?? undefined)
}

interface RecordingContext {
  readonly chain: string
  readonly programs: ProgramFilter
}

const singleTransactionBlock = ({ chain, programs }: RecordingContext, raw: Fields): Recorded => {
  const slot = orElse(raw.slot, 'slot', { read: parseUint, fallback: 0 })
  const index = orElse(raw.transactionIndex, 'transactionIndex', { read: parseUint, fallback: 0 })
  const transaction = normalizeTransaction(raw, { index, programs })
  const timeMs = blockTimeMs(raw.blockTime, 'blockTime')
  const block: SvmBlock = {
    vm: 'svm',
    chain,
    height: slot,
    hash: unreportedHash(slot),
    parentHash: unreportedHash(0),
    timeMs,
    parentSlot: Math.max(slot - 1, 0),
    blockHeight: null,
    txCount: 1,
    rewardsCount: 0,
    transactions: transaction === undefined ? [] : [transaction],
  }
  return { block, whole: false, timed: timeMs > 0, named: false }
}

/** Elements may say where they stood; those of an extract do. */
const wholeBlock = ({ chain, programs }: RecordingContext, raw: Fields, file: Fields): Recorded => {
  const listed = raw.slot ?? file.slot
  const slot =
    listed === undefined || listed === null
      ? parseUint(raw.parentSlot, 'block.parentSlot') + 1
      : parseUint(listed, 'slot')
  const header = normalizeHeader(raw, { chain, slot })
  const seen = new Set<number>()
  const transactions = listOf(raw.transactions, 'block.transactions').flatMap((each, place) => {
    const reported = fieldsOf(each, 'transaction').transactionIndex
    const index = orElse(reported, 'transactionIndex', { read: parseUint, fallback: place })
    if (seen.has(index)) throw invalid('tx-order', 'transactionIndex', index)
    seen.add(index)
    return normalizeTransaction(each, { index, programs }) ?? []
  })
  transactions.sort((a, b) => a.index - b.index)
  return { block: { ...header, transactions }, whole: true, timed: header.timeMs > 0, named: true }
}
