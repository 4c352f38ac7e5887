import { Malformed } from '../../core/fault.ts'
import type { EvmBlock, Log, Transaction } from '../../schemas/events.ts'
import { type Fields, fieldsOf, listOf, orElse, refuse } from '../json.ts'
import { addressAt, countOf, hashAt, hexOf, quantityOf } from './json.ts'

/** Names of the block that receipts and logs must name too. */
export interface BlockName {
  readonly height: number
  readonly hash: string
}

/** A block without its transactions. */
export type Header = Omit<EvmBlock, 'transactions'>

/**
 * A node's block (with whole transactions) and the receipts of the same block, checked against each other: contract/chains.md
 * 1.2. Unknown fields are ignored. Throws `Malformed`; reasons: `not-an-object`, `not-a-list`, `bad-hex`, `too-big`,
 * `receipt-count`, `foreign-receipt`, `foreign-log`, `removed-log`, `log-order`, `topic-count`, `tx-order`, `bloom`.
 */
export const normalizeBlock = (chain: string, block: unknown, receipts: unknown): EvmBlock => {
  const header = normalizeHeader(chain, block)
  const transactions = listOf(fieldsOf(block, 'block').transactions, 'block.transactions')
  const list = listOf(receipts, 'receipts')
  if (list.length !== transactions.length) {
    throw new Malformed(
      'receipt-count',
      `block ${header.height} has ${transactions.length} transactions and ${list.length} receipts`,
    )
  }
  if (!bloomAgrees(block, list)) {
    throw new Malformed('bloom', `receipts of block ${header.height} are not the block's`)
  }
  return { ...header, transactions: normalizeAll(header, transactions, list) }
}

/** Transactions with their receipts in block order, logs counted from 0 without a gap. */
const normalizeAll = (
  name: BlockName,
  transactions: readonly unknown[],
  receipts: readonly unknown[],
): Transaction[] => {
  let logs = 0
  return receipts.map((receipt, index) => {
    const at = `receipts[${index}]`
    const said = fieldsOf(transactions[index], `block.transactions[${index}]`)
    const transaction = normalizeTransaction(name, { transaction: said, receipt })
    if (transaction.index !== index) throw refuse('tx-order', at, transaction.index)
    const { first, count } = checkLogOrder(receipt)
    if (count > 0 && first !== logs) throw refuse('log-order', at, first)
    logs += count
    return transaction
  })
}

/** Header fields of a block. `number` and the rest in hex, as every EVM node gives them. Throws `Malformed`. */
export const normalizeHeader = (chain: string, block: unknown): Header => {
  const said = fieldsOf(block, 'block')
  const amount = (key: string) =>
    orElse(said[key], `block.${key}`, { read: quantityOf, fallback: 0n })
  const timeMs = countOf(said.timestamp, 'block.timestamp') * 1_000
  if (!Number.isSafeInteger(timeMs)) throw refuse('too-big', 'block.timestamp', said.timestamp)
  return {
    vm: 'evm',
    chain,
    height: countOf(said.number, 'block.number'),
    hash: hashAt(said.hash, 'block.hash'),
    parentHash: hashAt(said.parentHash, 'block.parentHash'),
    timeMs,
    coinbase: addressAt(said.miner, 'block.miner'),
    gasLimitRaw: amount('gasLimit'),
    gasUsedRaw: amount('gasUsed'),
    baseFeeRaw: amount('baseFeePerGas'),
    difficultyRaw: amount('difficulty'),
    nonce: orElse(said.nonce, 'block.nonce', { read: hexOf, fallback: '0x' }),
    extra: orElse(said.extraData, 'block.extraData', { read: hexOf, fallback: '0x' }),
  }
}

/**
 * One transaction with its receipt; a null transaction (a recording of receipts alone) has value 0. The fee is gas times
 * price plus the L1 part of rollups, without blob gas. A failed transaction keeps no logs: some chains log its fee
 * (contract/chains.md 1.3). Throws `Malformed`.
 */
export const normalizeTransaction = (
  name: BlockName,
  pair: { readonly transaction: unknown; readonly receipt: unknown },
): Transaction => {
  const receipt = fieldsOf(pair.receipt, 'receipt')
  const said = pair.transaction === null ? null : fieldsOf(pair.transaction, 'transaction')
  const hash = hashAt(receipt.transactionHash, 'receipt.transactionHash')
  checkBelongs(receipt, name, 'receipt')
  if (said !== null && hashAt(said.hash, 'transaction.hash') !== hash) {
    throw refuse('foreign-receipt', 'receipt.transactionHash', hash)
  }
  const success =
    orElse(receipt.status, 'receipt.status', { read: quantityOf, fallback: 1n }) === 1n
  checkLogOrder(receipt)
  const logs = listOf(receipt.logs, 'receipt.logs')
  return {
    hash,
    index: countOf(receipt.transactionIndex, 'receipt.transactionIndex'),
    from: addressAt(said?.from ?? receipt.from, 'transaction.from'),
    to: orElse(said?.to ?? receipt.to, 'transaction.to', { read: addressAt, fallback: null }),
    valueRaw: orElse(said?.value, 'transaction.value', { read: quantityOf, fallback: 0n }),
    feeRaw: feeOf(receipt, said),
    success,
    contractAddress: orElse(receipt.contractAddress, 'receipt.contractAddress', {
      read: addressAt,
      fallback: null,
    }),
    logs: success ? logs.map((log) => normalizeLog(log, { name, hash })) : [],
  }
}

const normalizeLog = (
  log: unknown,
  { name, hash }: { readonly name: BlockName; readonly hash: string },
): Log => {
  const said = fieldsOf(log, 'log')
  checkBelongs(said, name, 'log')
  if (hashAt(said.transactionHash, 'log.transactionHash') !== hash) {
    throw refuse('foreign-log', 'log.transactionHash', said.transactionHash)
  }
  if (said.removed === true) throw refuse('removed-log', 'log.removed', true)
  const topics = listOf(said.topics, 'log.topics')
  if (topics.length > 4) throw refuse('topic-count', 'log.topics', topics.length)
  return {
    address: addressAt(said.address, 'log.address'),
    topics: topics.map((topic) => hashAt(topic, 'log.topics')),
    data: hexOf(said.data, 'log.data'),
    index: countOf(said.logIndex, 'log.logIndex'),
  }
}

/** Whether the union of the receipts' blooms is the block's: finds truncated answers. True where a bloom is not given. */
export const bloomAgrees = (block: unknown, receipts: readonly unknown[]): boolean => {
  const expected = fieldsOf(block, 'block').logsBloom
  const blooms = receipts.map((receipt) => fieldsOf(receipt, 'receipt').logsBloom)
  if ([expected, ...blooms].some((bloom) => bloom === undefined || bloom === null)) return true
  const bits = (bloom: unknown) => BigInt(hexOf(bloom, 'logsBloom', 256))
  return blooms.reduce<bigint>((union, bloom) => union | bits(bloom), 0n) === bits(expected)
}

const checkBelongs = (said: Fields, name: BlockName, what: 'receipt' | 'log'): void => {
  if (hashAt(said.blockHash, `${what}.blockHash`) !== name.hash) {
    throw refuse(`foreign-${what}`, `${what}.blockHash`, said.blockHash)
  }
  if (countOf(said.blockNumber, `${what}.blockNumber`) !== name.height) {
    throw refuse(`foreign-${what}`, `${what}.blockNumber`, said.blockNumber)
  }
}

/** Log indexes of a receipt follow one another; says where they start and how many they are. */
const checkLogOrder = (receipt: unknown): { readonly first: number; readonly count: number } => {
  const logs = listOf(fieldsOf(receipt, 'receipt').logs, 'receipt.logs')
  const indexes = logs.map((log) => countOf(fieldsOf(log, 'log').logIndex, 'log.logIndex'))
  const first = indexes[0] ?? 0
  indexes.forEach((index, at) => {
    if (index !== first + at) throw refuse('log-order', `receipt.logs[${at}].logIndex`, index)
  })
  return { first, count: indexes.length }
}

const feeOf = (receipt: Fields, transaction: Fields | null): bigint => {
  const read = quantityOf
  const gas = orElse(receipt.gasUsed, 'receipt.gasUsed', { read, fallback: 0n })
  const price = orElse(receipt.effectiveGasPrice ?? transaction?.gasPrice, 'effectiveGasPrice', {
    read,
    fallback: 0n,
  })
  return gas * price + orElse(receipt.l1Fee, 'receipt.l1Fee', { read, fallback: 0n })
}
