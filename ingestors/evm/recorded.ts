import { Malformed } from '../../core/fault.ts'
import { type Fields, fieldsOf, listOf, refuse } from '../json.ts'
import type { Recorded } from '../recorded.ts'
import { countOf, hashAt } from './json.ts'
import { type BlockName, type Header, normalizeHeader, normalizeTransaction } from './normalize.ts'

const ZERO_HASH = `0x${'0'.repeat(64)}`
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/**
 * A file of recorded JSON-RPC answers of an EVM chain, named by their methods: a whole block
 * (`eth_getBlockByNumber` with transactions, `eth_getBlockReceipts`), receipts alone, one transaction
 * (`eth_getTransactionByHash`, `eth_getTransactionReceipt`, the header where recorded) or one `log`.
 * Throws `Malformed`; reasons of `normalizeBlock` without its counts, `unknown-shape`, `no-block`.
 */
export const recordedEvm = (chain: string, file: Fields): Recorded => {
  if (file.eth_getBlockReceipts !== undefined) return blockFile(chain, file)
  if (file.eth_getTransactionReceipt !== undefined) return transactionFile(chain, file)
  if (file.log !== undefined) return logFile(chain, file.log)
  throw new Malformed('unknown-shape', 'neither a recorded block, nor a transaction, nor a log')
}

/** Receipts may be fewer than transactions (R40), and transactions may be hashes or absent: the receipts decide. */
const blockFile = (chain: string, file: Fields): Recorded => {
  const receipts = listOf(file.eth_getBlockReceipts, 'eth_getBlockReceipts')
  const said = file.eth_getBlockByNumber ?? null
  const header = said === null ? headerOf(chain, receipts) : normalizeHeader(chain, said)
  const listed =
    said === null ? null : listOf(fieldsOf(said, 'block').transactions, 'block.transactions')
  const byHash = new Map(
    listed
      ?.filter((each) => typeof each === 'object' && each !== null)
      .map((each) => fieldsOf(each, 'transaction'))
      .map((each) => [each.hash, each]),
  )
  const transactions = receipts.map((receipt) => {
    const transaction = byHash.get(fieldsOf(receipt, 'receipt').transactionHash) ?? null
    return normalizeTransaction(header, { transaction, receipt })
  })
  transactions.forEach(({ index }, at) => {
    const before = transactions[at - 1]
    if (before && before.index >= index) throw refuse('tx-order', `receipts[${at}]`, index)
  })
  return {
    block: { ...header, transactions },
    whole: listed === null || listed.length === receipts.length,
    timed: header.timeMs > 0,
    named: true,
  }
}

const transactionFile = (chain: string, file: Fields): Recorded => {
  const receipt = file.eth_getTransactionReceipt
  const said = file.eth_getBlockByNumber ?? null
  const header = said === null ? headerOf(chain, [receipt]) : normalizeHeader(chain, said)
  const transaction = file.eth_getTransactionByHash ?? null
  return {
    block: { ...header, transactions: [normalizeTransaction(header, { transaction, receipt })] },
    whole: false,
    timed: header.timeMs > 0,
    named: true,
  }
}

/** A log alone: its transaction's sender is not recorded and is the zero address. */
const logFile = (chain: string, log: unknown): Recorded => {
  const said = fieldsOf(log, 'log')
  const receipt = {
    blockHash: said.blockHash ?? ZERO_HASH,
    blockNumber: said.blockNumber,
    transactionHash: said.transactionHash,
    transactionIndex: said.transactionIndex ?? '0x0',
    from: ZERO_ADDRESS,
    logs: [{ ...said, blockHash: said.blockHash ?? ZERO_HASH, logIndex: said.logIndex ?? '0x0' }],
  }
  return transactionFile(chain, { eth_getTransactionReceipt: receipt })
}

/** What receipts tell of their block: name, and the time where their logs carry it. */
const headerOf = (chain: string, receipts: readonly unknown[]): Header => {
  if (receipts.length === 0) throw new Malformed('no-block', 'no header and no receipt')
  const first = fieldsOf(receipts[0], 'receipt')
  const name: BlockName = {
    height: countOf(first.blockNumber, 'receipt.blockNumber'),
    hash: hashAt(first.blockHash, 'receipt.blockHash'),
  }
  const stamp = receipts
    .flatMap((receipt) => listOf(fieldsOf(receipt, 'receipt').logs, 'receipt.logs'))
    .map((log) => fieldsOf(log, 'log').blockTimestamp)
    .find((value) => value !== undefined && value !== null)
  return {
    vm: 'evm',
    chain,
    ...name,
    parentHash: ZERO_HASH,
    timeMs: stamp === undefined ? 0 : countOf(stamp, 'log.blockTimestamp') * 1_000,
    coinbase: ZERO_ADDRESS,
    gasLimitRaw: 0n,
    gasUsedRaw: 0n,
    baseFeeRaw: 0n,
    difficultyRaw: 0n,
    nonce: '0x',
    extra: '0x',
  }
}
