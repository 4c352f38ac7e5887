import { createHash } from 'node:crypto'
import type { ChainRow } from '../../../schemas/chains.ts'
import {
  type Json,
  METHOD_NOT_FOUND,
  type ReplayCall,
  type ReplayChain,
  type ReplayResponse,
  type ReplayView,
} from './contract.ts'
import { createRecordedState } from './evm-state.ts'
import { type RecordedTransactions, recordedTransactions } from './recorded-blocks.ts'

/** Heights fit into the last eight bytes of a hash, so a hash tells its block without a table. */
const HEIGHT_DIGITS = 16

const hex = (value: number): string => `0x${value.toString(16)}`

const hashFor = (text: string, height: number, digits = HEIGHT_DIGITS): string => {
  const head = createHash('sha256').update(text).digest('hex')
  return `0x${head.slice(digits)}${height.toString(16).padStart(digits, '0')}`
}

const heightFromHash = (hash: unknown): number =>
  typeof hash === 'string' ? Number(`0x${hash.slice(-HEIGHT_DIGITS)}`) : Number.NaN

interface BlockWithReceipts {
  readonly block: Json
  readonly receipts: readonly Json[]
}

/** The recordings of an EVM chain one after the other, again and again, each block under its own name. */
export const evmReplayChain = (
  chain: ChainRow & { readonly chainId: number },
  { genesisMs }: { readonly genesisMs: number },
): ReplayChain => {
  const recorded = recordedTransactions(chain.id)
  const state = createRecordedState(chain.id)
  const hashAt = (height: number): string => hashFor(`${chain.id} ${height}`, height)
  const wholeAt = (height: number): BlockWithReceipts => {
    const model = recorded[height % recorded.length]
    if (model === undefined) throw new Error('no recording')
    const timeMs = genesisMs + height * chain.blockTimeMs
    return relabelBlock(model, { chain: chain.id, height, timeMs, hashAt })
  }
  const blockAt = (tag: unknown, { head, final }: ReplayView): BlockWithReceipts | null => {
    const tagged = { latest: head, finalized: final, safe: final, earliest: 0 }[String(tag)]
    const height = tagged ?? (String(tag).length === 66 ? heightFromHash(tag) : Number(tag))
    if (!Number.isSafeInteger(height) || height < 0 || height > head) return null
    return String(tag).length === 66 && hashAt(height) !== tag ? null : wholeAt(height)
  }
  const shown = (found: BlockWithReceipts | null, whole: unknown): Json | null => {
    if (found === null || whole === true) return found?.block ?? null
    const transactions = (found.block.transactions as readonly Json[]).map(({ hash }) => hash)
    return { ...found.block, transactions }
  }
  const receiptOf = (hash: unknown, { head }: ReplayView): Json | null => {
    const height = heightFromHash(hash)
    if (!(height <= head)) return null
    return wholeAt(height).receipts.find(({ transactionHash }) => transactionHash === hash) ?? null
  }
  const answer = ({ method, params }: ReplayCall, view: ReplayView): ReplayResponse => {
    const [first, second] = params
    switch (method) {
      case 'eth_chainId':
        return { result: hex(chain.chainId) }
      case 'eth_blockNumber':
        return { result: hex(view.head) }
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash':
        return { result: shown(blockAt(first, view), second) }
      case 'eth_getBlockReceipts':
        return { result: blockAt(first, view)?.receipts ?? null }
      case 'eth_getTransactionReceipt':
        return { result: receiptOf(first, view) }
      case 'eth_call':
        return state(first as { readonly to: string; readonly data: string })
      default:
        return METHOD_NOT_FOUND
    }
  }
  return {
    id: chain.id,
    identity: ['eth_chainId'],
    hasBlock: () => true,
    hashAt,
    answer,
    foreign: () => hex(chain.chainId + 1),
    wrong: (call, view) => {
      const said = answer(call, view)
      const right = 'result' in said ? said.result : null
      if (call.method === 'eth_getBlockReceipts' && Array.isArray(right)) return right.slice(1)
      if (right === null || call.params[1] !== true) return { odd: true }
      return wholeAt(Math.max(Number((right as Json).number) - 1, 0)).block
    },
    notice: (_subscribed, height, view) => ({
      method: 'eth_subscription',
      result: shown(blockAt(hex(height), view), false),
    }),
  }
}

interface BlockLabels {
  readonly chain: string
  readonly height: number
  readonly timeMs: number
  readonly hashAt: (height: number) => string
}

/** A recorded block as the one of this height: names, places and links are new, what happened in it is not. */
const relabelBlock = (
  { header, transactions, receipts }: RecordedTransactions,
  { chain, height, timeMs, hashAt }: BlockLabels,
): BlockWithReceipts => {
  const place = { blockHash: hashAt(height), blockNumber: hex(height) }
  let logIndex = 0
  const told = receipts.map((receipt, index) => {
    const own = {
      ...place,
      transactionHash: hashFor(`${chain} ${height} ${index}`, height),
      transactionIndex: hex(index),
    }
    const logs = (receipt.logs as readonly Json[]).map((log) => {
      logIndex += 1
      return { ...log, ...own, logIndex: hex(logIndex - 1) }
    })
    return { ...receipt, ...own, logs }
  })
  const { transactionsRoot: _root, ...kept } = header
  const logsBloom = unionBlooms(receipts)
  return {
    receipts: told,
    block: {
      ...kept,
      ...(logsBloom !== undefined && { logsBloom }),
      number: hex(height),
      hash: place.blockHash,
      parentHash: height === 0 ? `0x${'0'.repeat(64)}` : hashAt(height - 1),
      timestamp: hex(Math.floor(timeMs / 1_000)),
      transactions: transactions.map((transaction, index) => ({
        ...transaction,
        ...place,
        hash: told[index]?.transactionHash,
        transactionIndex: hex(index),
      })),
    },
  }
}

/** Union of the receipts' blooms; undefined where one has none. */
const unionBlooms = (receipts: readonly Json[]): string | undefined => {
  let union = 0n
  for (const { logsBloom } of receipts) {
    if (typeof logsBloom !== 'string') return undefined
    union |= BigInt(logsBloom)
  }
  return `0x${union.toString(16).padStart(512, '0')}`
}
