import { setImmediate as breathe } from 'node:timers/promises'
import { InvalidInput, Outage } from '../../../core/errors.ts'
import { type CallEndpoint, RpcError, type RpcPool } from '../../../core/rpc/pool.ts'
import type { RejectedTransaction } from '../../../schemas/block-parts.ts'
import type { SvmBlock, SvmTransaction } from '../../../schemas/events.ts'
import { proveHead } from '../../follow/head-tracker.ts'
import { listOf } from '../../input/json.ts'
import { parseUint } from '../layout/json.ts'
import {
  type BlockContext,
  eachTransaction,
  normalizeHeader,
  type SvmHeader,
} from '../normalize/block.ts'

/** How sure a block must be to be published: voted for by two thirds of the stake, or rooted. */
export type Commitment = 'confirmed' | 'finalized'

/** Newest transaction version that is read; a block with a newer one is refused by the node. */
const MAX_TRANSACTION_VERSION = 1
/** Transactions that are read between two turns of the event loop. */
const TRANSACTIONS_PER_TURN = 64

/** Error codes of `getBlock`. Source: agave rpc-client-api custom_error.rs. */
const GET_BLOCK_ERRORS = {
  pruned: -32_001,
  notAvailableYet: [-32_004, -32_014, -32_016],
  skipped: [-32_007, -32_009],
  newerVersion: -32_015,
} as const

/** Fields of `getBlock`, also those that `blockSubscribe` takes. */
export const getBlockOptions = (commitment: Commitment) => ({
  commitment,
  encoding: 'json',
  transactionDetails: 'full',
  maxSupportedTransactionVersion: MAX_TRANSACTION_VERSION,
})

/** What a node says of a slot: the answer, that it never had a block, or (undefined) that it does not know yet. */
export type SlotResult<T> = T | 'skipped' | undefined

/** A refusal of `getBlock` as what it means. */
const slotResultOfError = (error: unknown, slot: number): 'skipped' | undefined => {
  if (!(error instanceof RpcError)) throw error
  const { code } = error
  if (GET_BLOCK_ERRORS.notAvailableYet.some((each) => each === code)) return undefined
  if (GET_BLOCK_ERRORS.skipped.some((each) => each === code)) return 'skipped'
  if (code === GET_BLOCK_ERRORS.newerVersion) {
    throw new InvalidInput('unknown-version', `block ${slot}: ${error.message}`, { cause: error })
  }
  const why = code === GET_BLOCK_ERRORS.pruned ? 'pruned by the node' : error.message
  throw new Outage('rpc', `block ${slot}: the node ${why}`, { cause: error })
}

const getBlock = (ask: CallEndpoint, slot: number, options: object): Promise<unknown> =>
  ask({ method: 'getBlock', params: [slot, options] }).catch((error: unknown) =>
    slotResultOfError(error, slot),
  )

/** All endpoints, or one of them. */
export type EndpointSet = Pick<RpcPool, 'attempt'>

/** One endpoint alone: what it throws is thrown. */
export const singleEndpoint = (ask: CallEndpoint): EndpointSet => ({ attempt: (work) => work(ask) })

/** Asks every endpoint for a slot; one that calls it skipped may have jumped over it, so the others are asked too. */
const queryAllEndpoints = async <T>(
  rpc: EndpointSet,
  read: (ask: CallEndpoint) => Promise<SlotResult<T>>,
): Promise<SlotResult<T>> => {
  let skipped = false
  const found = await rpc.attempt(async (ask) => {
    const answer = await read(ask)
    if (answer !== 'skipped') return answer
    skipped = true
    return undefined
  })
  return found ?? (skipped ? 'skipped' : undefined)
}

/** A block without its transactions. Throws `Outage` or `InvalidInput`. */
export const fetchHeader = (
  rpc: EndpointSet,
  context: Pick<BlockContext, 'chain' | 'slot'>,
  commitment: Commitment,
): Promise<SlotResult<SvmHeader>> =>
  queryAllEndpoints(rpc, async (ask) => {
    const options = {
      ...getBlockOptions(commitment),
      transactionDetails: 'none',
      rewards: false,
    }
    const raw = await getBlock(ask, context.slot, options)
    if (raw === 'skipped') return raw
    return raw === undefined || raw === null ? undefined : normalizeHeader(raw, context)
  })

/**
 * A whole block; `skipInvalid` without the transactions that cannot be read. Throws `Outage`, or `InvalidInput` with the reasons of
 * `normalizeBlock` and `missing-block-time`.
 */
export const fetchBlock = (
  rpc: EndpointSet,
  context: BlockContext & { readonly skipInvalid?: boolean },
  commitment: Commitment,
): Promise<SlotResult<SvmBlock>> =>
  queryAllEndpoints(rpc, async (ask) => {
    const options = { ...getBlockOptions(commitment), rewards: true }
    const raw = await getBlock(ask, context.slot, options)
    if (raw === 'skipped') return raw
    return raw === undefined || raw === null ? undefined : normalizeBlockYielding(raw, context)
  })

/**
 * `normalizeBlock` with turns of the event loop in between: a block may hold thousands of transactions. `shapeOf` as that of
 * `eachTransaction`.
 */
export const normalizeBlockYielding = async (
  raw: unknown,
  context: BlockContext & { readonly skipInvalid?: boolean },
  shapeOf?: (transaction: unknown) => unknown,
): Promise<SvmBlock> => {
  const header = normalizeHeader(raw, context)
  if (header.timeMs === 0)
    throw new InvalidInput('missing-block-time', `block ${context.slot} has no time`)
  const transactions: SvmTransaction[] = []
  const rejected: RejectedTransaction[] = []
  let read = 0
  const transactionsOf = eachTransaction(raw, context.programs, {
    ...(context.skipInvalid && { invalidTransactions: rejected }),
    ...(shapeOf && { toGetBlockFields: shapeOf }),
  })
  for (const transaction of transactionsOf) {
    if (transaction !== undefined) transactions.push(transaction)
    read += 1
    if (read % TRANSACTIONS_PER_TURN === 0) await breathe()
  }
  return { ...header, transactions, ...(rejected.length > 0 && { rejected }) }
}

/** Slots of a range that have a block, ascending. Throws `Outage` or `InvalidInput`. */
export const fetchSlotList = async (
  rpc: EndpointSet,
  { from, to }: { readonly from: number; readonly to: number },
  commitment: Commitment,
): Promise<readonly number[]> => {
  const listed = await rpc.attempt(async (ask) => {
    const raw = await ask({ method: 'getBlocks', params: [from, to, { commitment }] })
    const slots = listOf(raw, 'getBlocks').map((slot) => parseUint(slot, 'getBlocks[]'))
    slots.forEach((slot, index) => {
      if (slot < Math.max(from, (slots[index - 1] ?? -1) + 1) || slot > to) {
        throw new InvalidInput('slot-order', `getBlocks of ${from} to ${to} gave slot ${slot}`)
      }
    })
    return slots
  })
  return listed ?? []
}

/** Slots below a head in which an endpoint that named it must have a block. */
const HEAD_PROOF_SLOTS = 32

/** How heads of endpoints are compared, and which of them are believed only with their block. */
export interface HeadCheck {
  readonly far: number
  readonly mustProve: (slot: number) => boolean
}

/** Newest slots of a commitment by endpoint, highest first. Throws `Outage` when none answers, `InvalidInput` as `proveHead`. */
export const fetchNewestSlots = (
  rpc: RpcPool,
  commitment: Commitment,
  check?: HeadCheck,
): Promise<readonly number[]> =>
  rpc.survey({
    work: async (ask) => {
      const slot = parseUint(await ask({ method: 'getSlot', params: [{ commitment }] }), 'getSlot')
      if (check?.mustProve(slot)) {
        const range = { from: Math.max(0, slot - HEAD_PROOF_SLOTS), to: slot }
        const hasBlock = async (): Promise<boolean> =>
          (await fetchSlotList(singleEndpoint(ask), range, commitment)).length > 0
        await proveHead(slot, hasBlock)
      }
      return slot
    },
    heightOf: (slot) => slot,
    ...(check && { far: check.far }),
  })
