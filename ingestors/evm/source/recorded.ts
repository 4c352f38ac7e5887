import { InvalidInput } from '../../../core/errors.ts'
import type { CallFrame } from '../../../schemas/block-parts.ts'
import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { EvmBlock, Transaction } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf } from '../../input/json.ts'
import type { Recorded } from '../../input/recorded-block.ts'
import { countOf, hashAt } from '../abi/json.ts'
import {
  type BlockName,
  chainQuirks,
  type Header,
  normalizeHeader,
  normalizeTransaction,
} from '../normalize/block.ts'
import { callsOfFrames, callsOfTraces } from './call-frames.ts'
import { nodeReceipt } from './ethers-receipt.ts'

const ZERO_HASH = `0x${'0'.repeat(64)}`

/**
 * A file of recorded JSON-RPC answers of an EVM chain, named by their methods: a whole block
 * (`eth_getBlockByNumber` with transactions, `eth_getBlockReceipts`, with its calls where `debug_traceBlockByHash` or
 * `trace_block` is there), receipts alone, one transaction
 * (`eth_getTransactionByHash`, `eth_getTransactionReceipt`, the header where recorded), one `log`, the logs of a block
 * (`eth_getLogs`), or a bare receipt as a node or ethers.js prints it.
 * Throws `InvalidInput`; reasons of `normalizeBlock` without its counts, `unknown-shape`, `no-block`.
 */
export const recordedEvm = (chain: string, file: Fields): Recorded => {
  if (file.eth_getBlockReceipts !== undefined) return blockFile(chain, file)
  if (file.eth_getTransactionReceipt !== undefined) return transactionFile(chain, file)
  if (file.log !== undefined) return logsFile(chain, [file.log])
  if (file.eth_getLogs !== undefined) {
    return logsFile(chain, listOf(file.eth_getLogs, 'eth_getLogs'))
  }
  if (file.logs !== undefined) {
    return transactionFile(chain, { eth_getTransactionReceipt: nodeReceipt(file) })
  }
  throw new InvalidInput('unknown-shape', 'neither a recorded block, nor a transaction, nor a log')
}

/** Receipts may be fewer than transactions, and transactions may be hashes or absent: the receipts decide. */
const blockFile = (chain: string, file: Fields): Recorded => {
  const receipts = listOf(file.eth_getBlockReceipts, 'eth_getBlockReceipts')
  const raw = file.eth_getBlockByNumber ?? null
  const header = raw === null ? headerOf(chain, receipts) : normalizeHeader(chain, raw)
  const listed =
    raw === null ? null : listOf(fieldsOf(raw, 'block').transactions, 'block.transactions')
  const byHash = new Map(
    listed
      ?.filter((each) => typeof each === 'object' && each !== null)
      .map((each) => fieldsOf(each, 'transaction'))
      .map((each) => [each.hash, each]),
  )
  const chosen = chainQuirks(chain).withoutPosition === true
  const read = receipts.map((receipt) => {
    const transaction = byHash.get(fieldsOf(receipt, 'receipt').transactionHash) ?? null
    return normalizeTransaction(header, { transaction, receipt, chosen, withGas: true })
  })
  const transactions = withPositions(chain, read)
  transactions.forEach(({ index }, at) => {
    const before = transactions[at - 1]
    if (before && before.index >= index) throw invalid('tx-order', `receipts[${at}]`, index)
  })
  const block = { ...header, transactions }
  const calls = callsIn(block, file)
  return {
    block: { ...block, ...(calls && { calls }) },
    whole: listed === null || listed.length <= receipts.length,
    timed: header.timeMs > 0,
    named: true,
  }
}

/** Calls of the recorded transactions, those of others left out. */
const callsIn = (block: EvmBlock, file: Fields): readonly CallFrame[] | undefined => {
  const { debug_traceBlockByHash: frames, trace_block: traces } = file
  if (frames !== undefined) return callsOfFrames(block, frames, { chosen: true })
  return traces === undefined ? undefined : callsOfTraces(block, traces, { chosen: true })
}

/** Where nodes do not say the place of a transaction, its place in the recording counts. */
const withPositions = (
  chain: string,
  transactions: readonly Transaction[],
): readonly Transaction[] =>
  chainQuirks(chain).withoutPosition
    ? transactions.map((transaction, index) => ({ ...transaction, index }))
    : transactions

const transactionFile = (chain: string, file: Fields): Recorded => {
  const receipt = file.eth_getTransactionReceipt
  const raw = file.eth_getBlockByNumber ?? null
  const header = raw === null ? headerOf(chain, [receipt]) : normalizeHeader(chain, raw)
  const transaction = file.eth_getTransactionByHash ?? null
  return {
    block: {
      ...header,
      transactions: [normalizeTransaction(header, { transaction, receipt, withGas: true })],
    },
    whole: false,
    timed: header.timeMs > 0,
    named: true,
  }
}

/**
 * Logs alone, of one block, possibly chosen from all of it: the senders of their transactions are not recorded and are the zero
 * address. A single log may lack its places.
 */
const logsFile = (chain: string, logs: readonly unknown[]): Recorded => {
  const receipts = new Map<unknown, { readonly [key: string]: unknown; readonly logs: Fields[] }>()
  for (const log of logs) {
    const raw = fieldsOf(log, 'log')
    const blockHash = raw.blockHash ?? ZERO_HASH
    const { blockNumber, transactionHash, transactionIndex = '0x0', logIndex = '0x0' } = raw
    const receipt = receipts.get(transactionHash) ?? {
      blockHash,
      blockNumber,
      transactionHash,
      transactionIndex,
      from: EVM_ZERO_ADDRESS,
      logs: [],
    }
    receipt.logs.push({ ...raw, blockHash, logIndex })
    receipts.set(transactionHash, receipt)
  }
  const list = [...receipts.values()]
  const header = headerOf(chain, list)
  const transactions = list
    .map((receipt) => normalizeTransaction(header, { transaction: null, receipt, chosen: true }))
    .sort((one, other) => firstLog(one) - firstLog(other))
  return {
    block: { ...header, transactions: withPositions(chain, transactions) },
    whole: false,
    timed: header.timeMs > 0,
    named: true,
  }
}

const firstLog = ({ logs }: Transaction): number => logs[0]?.index ?? 0

/** What receipts tell of their block: name, and the time where their logs carry it. */
const headerOf = (chain: string, receipts: readonly unknown[]): Header => {
  if (receipts.length === 0) throw new InvalidInput('no-block', 'no header and no receipt')
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
    coinbase: EVM_ZERO_ADDRESS,
    gasLimitRaw: 0n,
    gasUsedRaw: 0n,
    baseFeeRaw: 0n,
    difficultyRaw: 0n,
    nonce: '0x',
    extra: '0x',
  }
}
