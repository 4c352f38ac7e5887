import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { type CallEndpoint, RpcError } from '../../core/rpc/pool.ts'

/** Votes of most of the stake are there. */
export const COMMITMENT = 'confirmed'
/** The node has not come to the slot that was asked for. Source: agave rpc-client-api, custom_error.rs. */
const MIN_CONTEXT_SLOT_NOT_REACHED = -32_016
/**
 * Slots behind the first look from which on a blockhash that no look found valid is too old and not unknown: it lives for 150 blocks, and a
 * node is taken to be fewer than as many slots behind. Source: MAX_PROCESSING_AGE of the Solana SDK.
 */
const UNSEEN_SLOTS = 300

/** What looks at one transaction have found of its blockhash. */
export interface BlockhashSightings {
  /** A slot at which a node knew the blockhash as valid: a node that is not behind it and does not, knows it as too old. */
  validAtSlot?: number
  /** Slot of the first look. */
  firstSlot?: number
}

/** What one node says: that no block can take it any more, that it is behind and cannot say, or what it knows of the transaction. */
export type TransactionView =
  | { readonly status: Readonly<Record<string, unknown>> }
  | 'missing'
  | 'expired'
  | 'behind'

interface InContext {
  readonly slot: number
  readonly value: unknown
}

const readInContext = (answer: unknown, method: string): InContext => {
  const { context, value } = isJsonObject(answer) ? answer : {}
  const { slot } = isJsonObject(context) ? context : {}
  if (value === undefined || !Number.isSafeInteger(slot)) {
    throw new InvalidInput('bad-answer', `the node's answer to ${method} has an unexpected format`)
  }
  return { slot: Number(slot), value }
}

/** What a node knows of a transaction; null: nothing. Throws `InvalidInput` for an invalid answer. */
export const statusOver = async (
  call: CallEndpoint,
  signature: string,
): Promise<{
  readonly slot: number
  readonly status: Readonly<Record<string, unknown>> | null
}> => {
  const method = 'getSignatureStatuses'
  const params = [[signature], { searchTransactionHistory: true }]
  const { slot, value } = readInContext(await call({ method, params }), method)
  const [status] = Array.isArray(value) ? value : []
  if (status !== null && !isJsonObject(status)) {
    throw new InvalidInput('bad-answer', "the node's answer to getSignatureStatuses has no status")
  }
  return { slot, status }
}

/** Whether a node finds a blockhash valid, and at which slot; undefined: it has not come to `minSlot`. */
export const blockhashOver = async (
  call: CallEndpoint,
  blockhash: unknown,
  minSlot?: number,
): Promise<{ readonly slot: number; readonly isValid: boolean } | undefined> => {
  const method = 'isBlockhashValid'
  const options = {
    commitment: COMMITMENT,
    ...(minSlot !== undefined && { minContextSlot: minSlot }),
  }
  try {
    const { slot, value } = readInContext(
      await call({ method, params: [blockhash, options] }),
      method,
    )
    if (minSlot !== undefined && slot < minSlot) return undefined
    return { slot, isValid: value === true }
  } catch (error) {
    const isBehind = error instanceof RpcError && error.code === MIN_CONTEXT_SLOT_NOT_REACHED
    if (isBehind) return undefined
    throw error
  }
}

/**
 * Looks for a transaction at one node. `expired` only where the node is not behind: it has come to a slot at which the blockhash was valid
 * and finds it no longer so, and what it then says of the transaction is as of that slot or a later one.
 */
export const viewOver = async (
  call: CallEndpoint,
  transaction: { readonly signature: string; readonly blockhash: unknown },
  sightings: BlockhashSightings,
): Promise<TransactionView> => {
  const { signature, blockhash } = transaction
  const first = await statusOver(call, signature)
  if (first.status) return { status: first.status }
  if (blockhash === undefined) return 'missing'
  const seen = await blockhashOver(call, blockhash, sightings.validAtSlot)
  if (seen === undefined) return 'behind'
  if (seen.isValid) {
    sightings.validAtSlot = Math.max(seen.slot, sightings.validAtSlot ?? 0)
    return 'missing'
  }
  sightings.firstSlot ??= seen.slot
  const isOld =
    sightings.validAtSlot !== undefined || seen.slot >= sightings.firstSlot + UNSEEN_SLOTS
  if (!isOld) return 'behind'
  const again = await statusOver(call, signature)
  if (again.status) return { status: again.status }
  return again.slot < seen.slot ? 'behind' : 'expired'
}
