import { InvalidInput } from '../../core/errors.ts'
import type { FetchedMetadata } from '../decode/contract.ts'
import type { Flashblock, FlashblockBase } from './frame.ts'

/** Most transactions and bytes of JSON of one pre-confirmed block: ten times what its gas has room for. */
const MAX_TRANSACTIONS = 50_000
const MAX_BYTES = 128 * 1_024 * 1_024
/** How far from the node's head a pre-confirmed block may be: another chain's numbers are millions away. */
const FAR_BLOCKS = 256

/** A pre-confirmed block, as far as it has been read. */
export interface Payload extends FlashblockBase {
  readonly id: string
  /** Index of the part that comes next. */
  readonly next: number
  /** Transactions, logs, published trades and bytes so far. */
  readonly transactions: number
  readonly logs: number
  readonly trades: number
  readonly bytes: number
  /** Metadata that was fetched for it. */
  readonly fetched: FetchedMetadata
}

/** What is being read. */
export interface PayloadContext {
  /** null: the next part with index 0 is waited for. */
  readonly payload: Payload | null
  /** The payload that a part is missing of; its other parts are passed over. */
  readonly lost: string | null
}

/** Nothing was read yet. */
export const NOTHING_READ: PayloadContext = { payload: null, lost: null }

/** Where the chain stands. */
export interface PayloadState {
  /** Newest block that was committed. */
  readonly tip: number
  /** The node's head. */
  readonly head: number
}

/** What a part is: the next one of the payload as it then is, one that is passed over, or one that is refused. */
export type Entered =
  | { readonly kind: 'next'; readonly payload: Payload }
  | { readonly kind: 'passed' }
  | { readonly kind: 'rejected'; readonly error: InvalidInput }

/** Where a part belongs. Reasons of refusals: `frame-order`, `wrong-height`, `wrong-chain`, `missing-field`, `too-big`. Pure. */
export const enter = (
  { payload, lost }: PayloadContext,
  frame: Flashblock,
  state: PayloadState,
): Entered => {
  const { payloadId, index } = frame
  const isSame = payload?.id === payloadId
  if (isSame && index < payload.next) return PASSED
  if (index === 0) return begun(frame, state)
  // Whoever begins to listen does so in the middle of a block.
  if (lost === payloadId || (payload === null && lost === null)) return PASSED
  if (!isSame || index !== payload.next) {
    return rejectedPayload('frame-order', `part ${index} of ${payloadId} misses the one before it`)
  }
  if (frame.height !== null && frame.height !== payload.height) {
    return rejectedPayload(
      'wrong-height',
      `${payloadId} is of ${payload.height} and of ${frame.height}`,
    )
  }
  return payload.height <= state.tip ? PASSED : grown(payload, frame)
}

const begun = (frame: Flashblock, { tip, head }: PayloadState): Entered => {
  const { base, payloadId, height } = frame
  if (base === null) return rejectedPayload('missing-field', `${payloadId} begins without its base`)
  if (height !== null && height !== base.height) {
    return rejectedPayload('wrong-height', `${payloadId} is of ${base.height} and of ${height}`)
  }
  if (Math.abs(base.height - Math.max(tip, head)) > FAR_BLOCKS) {
    return rejectedPayload(
      'wrong-chain',
      `${payloadId} is of ${base.height}, the chain stands at ${head}`,
    )
  }
  if (base.height <= tip) return PASSED
  const nothing = {
    next: 0,
    transactions: 0,
    logs: 0,
    trades: 0,
    bytes: 0,
    fetched: { tokens: [], pools: [] },
  }
  return grown({ id: payloadId, ...base, ...nothing }, frame)
}

const grown = (payload: Payload, { bytes, transactions }: Flashblock): Entered => {
  const most = payload.transactions + transactions.length
  if (most > MAX_TRANSACTIONS || payload.bytes + bytes > MAX_BYTES) {
    return rejectedPayload('too-big', `${payload.id} has ${most} transactions`)
  }
  return { kind: 'next', payload: { ...payload, bytes: payload.bytes + bytes } }
}

const PASSED: Entered = { kind: 'passed' }

const rejectedPayload = (reason: string, message: string): Entered => ({
  kind: 'rejected',
  error: new InvalidInput(reason, message),
})
