import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { base58Encode } from '../../../core/base58.ts'
import type { ChainRow } from '../../../schemas/chains.ts'
import {
  type Json,
  METHOD_NOT_FOUND,
  type ReplayCall,
  type ReplayChain,
  type ReplayResponse,
  type ReplayView,
} from './contract.ts'

const FIXTURES = fileURLToPath(new URL('../../fixtures/sol/', import.meta.url))
/** Every slot of this number has no block. */
const SKIPPED_SLOT_INTERVAL = 7
/** Transactions of a block. */
const TRANSACTIONS_PER_BLOCK = 4

/** Recorded transactions as elements of `getBlock` with encoding `json`. */
const recordedTransactions = (): readonly Json[] =>
  readdirSync(FIXTURES)
    .sort()
    .flatMap((name) => {
      const file: Json = JSON.parse(readFileSync(FIXTURES + name, 'utf8'))
      const said = (file.getTransactionJson ?? null) as Json | null
      if (said === null) return []
      const { transaction, meta, version } = said
      return [{ transaction, meta, version }]
    })

const digest = (text: string, algorithm: 'sha256' | 'sha512'): string =>
  base58Encode(createHash(algorithm).update(text).digest())

/** Whether the chain has a block at a slot. */
const hasBlock = (slot: number): boolean => slot === 0 || slot % SKIPPED_SLOT_INTERVAL !== 0

const parentSlot = (slot: number): number => {
  if (slot === 0) return 0
  return hasBlock(slot - 1) ? slot - 1 : slot - 2
}

/** Recorded transactions of Solana, a few a block, again and again, each under its own signature; every seventh slot is skipped. */
export const svmReplayChain = (
  chain: ChainRow,
  { genesisMs }: { readonly genesisMs: number },
): ReplayChain => {
  const recorded = recordedTransactions()
  const hashAt = (slot: number): string => digest(`${chain.id} ${slot}`, 'sha256')
  const transactionsAt = (slot: number): readonly Json[] =>
    Array.from({ length: TRANSACTIONS_PER_BLOCK }, (_, index) => {
      const model = recorded[(slot * TRANSACTIONS_PER_BLOCK + index) % recorded.length] ?? {}
      const transaction = model.transaction as Json
      const others = (transaction.signatures as readonly string[]).slice(1)
      const signatures = [digest(`${chain.id} ${slot} ${index}`, 'sha512'), ...others]
      return { ...model, transaction: { ...transaction, signatures } }
    })
  const blockAt = (slot: number, details: unknown): Json => ({
    blockhash: hashAt(slot),
    previousBlockhash: slot === 0 ? hashAt(-1) : hashAt(parentSlot(slot)),
    parentSlot: parentSlot(slot),
    blockTime: Math.floor((genesisMs + slot * chain.blockTimeMs) / 1_000),
    blockHeight: slot - Math.floor(slot / SKIPPED_SLOT_INTERVAL),
    rewards: [],
    ...(details !== 'none' && { transactions: transactionsAt(slot) }),
  })
  const genesis = digest(`${chain.id} genesis`, 'sha256')
  const answer = ({ method, params }: ReplayCall, { head, final }: ReplayView): ReplayResponse => {
    const options = (params.findLast((each) => typeof each === 'object') ?? {}) as Json
    const top = options.commitment === 'finalized' ? final : head
    const [first, second] = params as readonly [number, number]
    switch (method) {
      case 'getGenesisHash':
        return { result: genesis }
      case 'getSlot':
        return { result: top }
      case 'getBlocks': {
        const to = Math.min(second, top)
        const slots = Array.from({ length: Math.max(to - first + 1, 0) }, (_, at) => first + at)
        return { result: slots.filter(hasBlock) }
      }
      case 'getBlock':
        if (first > top) return rpcError(-32_004, `Block not available for slot ${first}`)
        if (!hasBlock(first)) return rpcError(-32_007, `Slot ${first} was skipped`)
        return { result: blockAt(first, options.transactionDetails) }
      case 'getMultipleAccounts': {
        const value = (params[0] as readonly string[]).map(() => null)
        return { result: { context: { slot: head }, value } }
      }
      default:
        return METHOD_NOT_FOUND
    }
  }
  return {
    id: chain.id,
    identity: ['getGenesisHash'],
    hasBlock,
    hashAt,
    answer,
    foreign: () => digest('another genesis', 'sha256'),
    wrong: ({ method, params }) => {
      const [slot, options] = params as readonly [number, Json]
      if (method !== 'getBlock' || options.transactionDetails === 'none') return { odd: true }
      const other = Math.max(parentSlot(parentSlot(slot)), 0)
      return { ...blockAt(other, 'full'), parentSlot: parentSlot(slot) }
    },
    notice: ({ method, params }, slot, { final }) => {
      if (!hasBlock(slot)) return undefined
      if (method === 'slotSubscribe') {
        const result = { slot, parent: parentSlot(slot), root: final }
        return { method: 'slotNotification', result }
      }
      const details = ((params[1] ?? {}) as Json).transactionDetails
      const value = { slot, err: null, block: blockAt(slot, details) }
      return { method: 'blockNotification', result: { context: { slot }, value } }
    },
  }
}

const rpcError = (code: number, message: string): ReplayResponse => ({ error: { code, message } })
