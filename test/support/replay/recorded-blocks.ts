import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nodeReceipt } from '../../../ingestors/evm/source/ethers-receipt.ts'
import { CHAIN_ID_BY_NAME } from '../../../schemas/chains.ts'
import type { Json } from './contract.ts'

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url))

/** One recorded block, or several recorded transactions as one block: what repeats in a replayed chain. */
export interface RecordedTransactions {
  readonly header: Json
  readonly transactions: readonly Json[]
  readonly receipts: readonly Json[]
}

interface TransactionWithReceipt {
  readonly transaction: Json | null
  readonly receipt: Json
}

/** What files that hold receipts and no transaction lack. */
const minimalTransaction = ({ from, to }: Json): Json => ({ from, to, value: '0x0' })

/** Header fields of a recording without a header. */
const NO_HEADER: Json = { miner: `0x${'0'.repeat(40)}`, gasLimit: '0x1c9c380', gasUsed: '0x0' }

const transactionsWithReceipts = (file: Json): readonly TransactionWithReceipt[] => {
  if (Array.isArray(file.eth_getBlockReceipts)) {
    const { transactions = [] } = (file.eth_getBlockByNumber ?? {}) as { transactions?: unknown[] }
    const byHash = new Map(
      transactions
        .filter((each) => typeof each === 'object' && each !== null)
        .map((each) => [(each as Json).hash, each as Json]),
    )
    return file.eth_getBlockReceipts.map((receipt: Json) => ({
      transaction: byHash.get(receipt.transactionHash) ?? null,
      receipt,
    }))
  }
  const receipt = (file.eth_getTransactionReceipt ?? null) as Json | null
  if (receipt !== null) {
    return [{ transaction: (file.eth_getTransactionByHash ?? null) as Json | null, receipt }]
  }
  return Array.isArray(file.logs) ? [{ transaction: null, receipt: nodeReceipt(file) }] : []
}

const mergeIntoBlock = (
  header: Json,
  pairs: readonly TransactionWithReceipt[],
): RecordedTransactions => ({
  header: { ...NO_HEADER, ...header },
  transactions: pairs.map(({ transaction, receipt }) => transaction ?? minimalTransaction(receipt)),
  receipts: pairs.map(({ receipt }) => receipt),
})

/** The recordings of a chain: each whole block for itself, single transactions together as one more. */
export const recordedTransactions = (chain: string): readonly RecordedTransactions[] => {
  const folders = readdirSync(FIXTURES).filter((name) => CHAIN_ID_BY_NAME[name] === chain)
  const files = folders.flatMap((folder) =>
    readdirSync(`${FIXTURES}${folder}`)
      .sort()
      .map((name): Json => JSON.parse(readFileSync(`${FIXTURES}${folder}/${name}`, 'utf8'))),
  )
  const isBlock = (file: Json): boolean => Array.isArray(file.eth_getBlockReceipts)
  const headerOf = (file: Json | undefined): Json => (file?.eth_getBlockByNumber ?? {}) as Json
  const blocks = files
    .filter(isBlock)
    .map((file) => mergeIntoBlock(headerOf(file), transactionsWithReceipts(file)))
  const singles = files.filter((file) => !isBlock(file))
  const pairs = singles.flatMap(transactionsWithReceipts)
  if (pairs.length > 0) {
    const named = singles.find((file) => file.eth_getBlockByNumber !== undefined)
    blocks.push(mergeIntoBlock(headerOf(named), pairs))
  }
  if (blocks.length === 0) throw new Error(`nothing is recorded of ${chain}`)
  return blocks
}
