import { InvalidInput } from '../../../core/errors.ts'
import type { RejectedTransaction } from '../../../schemas/block-parts.ts'
import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import { chainRow, type NodeQuirks } from '../../../schemas/chains.ts'
import type { EvmBlock, Log, Transaction } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { parseOrReject } from '../../input/skip-invalid.ts'
import { addressAt, amountOf, countOf, hashAt, hexOf, topicsOf } from '../abi/json.ts'
import { blockParts } from './block-parts.ts'
import { effectiveLogs, keepsFeeLogs } from './fee-logs.ts'
import { transactionGas } from './transaction-gas.ts'

/** Names of the block that receipts and logs must name too. */
export interface BlockName {
  /** Absent: what its chain does otherwise does not matter. */
  readonly chain?: string
  readonly height: number
  readonly hash: string
}

/** What nodes of the chain do otherwise than Ethereum's. */
export const chainQuirks = (chain: string): NodeQuirks => chainRow(chain)?.nodeQuirks ?? {}

/** A block without its transactions. */
export type Header = Omit<EvmBlock, 'transactions'>

/** How a block is read. */
export interface BlockOptions {
  /** Transactions that cannot be read are left out and named. */
  readonly skipInvalid?: boolean
  /** Transactions keep what they say of their gas. */
  readonly withGas?: boolean
}

/**
 * A node's block (with whole transactions) and the receipts of the same block, checked against each other.
 * Unknown fields are ignored. `skipInvalid` leaves out the transactions that cannot be read and says which. Throws `InvalidInput`;
 * reasons: `not-an-object`, `not-a-list`, `bad-hex`, `too-big`,
 * `receipt-count`, `foreign-receipt`, `log-of-other-block`, `removed-log`, `log-order`, `topic-count`, `tx-order`, `bloom`.
 */
export const normalizeBlock = (
  chain: string,
  block: unknown,
  receipts: unknown,
  { skipInvalid = false, withGas = false }: BlockOptions = {},
): EvmBlock => {
  const header = normalizeHeader(chain, block)
  const transactions = listOf(fieldsOf(block, 'block').transactions, 'block.transactions')
  const list = listOf(receipts, 'receipts')
  const quirks = chainQuirks(chain)
  const signed = quirks.stateSync ? list.filter((receipt) => !isStateSync(receipt)) : list
  const extra = isStateSync(list[transactions.length]) && quirks.stateSync ? 1 : 0
  if (list.length !== transactions.length + extra) {
    throw new InvalidInput(
      'receipt-count',
      `block ${header.height} has ${transactions.length} transactions and ${list.length} receipts`,
    )
  }
  if (!bloomAgrees(block, signed)) {
    throw new InvalidInput('bloom', `receipts of block ${header.height} are not the block's`)
  }
  const rejected: RejectedTransaction[] = []
  const read = normalizeAll(header, {
    transactions,
    receipts: list,
    quirks,
    withGas,
    ...(skipInvalid && { rejected }),
  })
  return { ...header, transactions: read, ...(rejected.length > 0 && { rejected }) }
}

interface BlockContext {
  readonly transactions: readonly unknown[]
  readonly receipts: readonly unknown[]
  readonly quirks: NodeQuirks
  readonly withGas: boolean
  /** Where what cannot be read goes; absent: it is thrown. */
  readonly rejected?: RejectedTransaction[]
}

/** Transactions with their receipts in block order, logs counted from 0 without a gap. */
const normalizeAll = (
  name: BlockName,
  { transactions, receipts, quirks: { withoutPosition }, withGas, rejected }: BlockContext,
): Transaction[] => {
  /** undefined: behind a transaction that was left out. */
  let logs: number | undefined = 0
  return receipts.flatMap((receipt, index) => {
    const transaction = transactions[index] ?? null
    const place = { index, logs, withoutPosition, withGas }
    const hash = (receipt as Fields | null)?.transactionHash
    const known = { name: hash, longest: 66, index, input: { transaction, receipt, place } }
    const read = () => {
      const raw =
        index < transactions.length ? fieldsOf(transaction, `transactions[${index}]`) : null
      return transactionAt(name, { transaction: raw, receipt }, place)
    }
    const placed = parseOrReject(read, known, rejected)
    logs = placed?.next
    return placed === undefined ? [] : [placed.transaction]
  })
}

/** Where a transaction stands in its block. */
export interface TransactionPosition {
  readonly index: number
  /** Logs before it; absent: unknown. */
  readonly logs: number | undefined
  readonly withoutPosition: true | undefined
  readonly withGas?: boolean
}

/** A transaction that stands where its block has it, and the logs up to its end. Throws `InvalidInput`. */
export const transactionAt = (
  name: BlockName,
  { transaction: raw, receipt }: { readonly transaction: unknown; readonly receipt: unknown },
  { index, logs, withoutPosition, withGas = false }: TransactionPosition,
): { readonly transaction: Transaction; readonly next: number | undefined } => {
  const at = `receipts[${index}]`
  const chosen = withoutPosition === true
  const transaction = normalizeTransaction(name, { transaction: raw, receipt, chosen, withGas })
  if (transaction.index !== index && !withoutPosition)
    throw invalid('tx-order', at, transaction.index)
  const { first, next } = checkLogOrder(receipt, chosen)
  if (
    first !== undefined &&
    logs !== undefined &&
    (withoutPosition ? first < logs : first !== logs)
  ) {
    throw invalid('log-order', at, first)
  }
  return {
    transaction: withoutPosition ? { ...transaction, index } : transaction,
    next: next ?? logs,
  }
}

/** From and to the zero address, for nothing. Source: maticnetwork/bor core/types/bor_receipt.go. */
const isStateSync = (receipt: unknown): boolean => {
  if (receipt === undefined) return false
  const { from, to, gasUsed } = fieldsOf(receipt, 'receipt')
  return (
    from === EVM_ZERO_ADDRESS && to === EVM_ZERO_ADDRESS && (gasUsed === '0x0' || gasUsed === '0x')
  )
}

/** Header fields of a block. `number` and the rest in hex, as every EVM node gives them. Throws `InvalidInput`. */
export const normalizeHeader = (chain: string, block: unknown): Header => {
  const raw = fieldsOf(block, 'block')
  const amount = (key: string) => orElse(raw[key], `block.${key}`, { read: amountOf, fallback: 0n })
  const timeMs = countOf(raw.timestamp, 'block.timestamp') * 1_000
  if (!Number.isSafeInteger(timeMs)) throw invalid('too-big', 'block.timestamp', raw.timestamp)
  return {
    vm: 'evm',
    chain,
    height: countOf(raw.number, 'block.number'),
    hash: hashAt(raw.hash, 'block.hash'),
    parentHash: hashAt(raw.parentHash, 'block.parentHash'),
    timeMs,
    coinbase: orElse(raw.miner, 'block.miner', { read: addressAt, fallback: EVM_ZERO_ADDRESS }),
    gasLimitRaw: amount('gasLimit'),
    gasUsedRaw: amount('gasUsed'),
    baseFeeRaw: amount('baseFeePerGas'),
    difficultyRaw: amount('difficulty'),
    nonce: orElse(raw.nonce, 'block.nonce', { read: hexOf, fallback: '0x' }),
    extra: orElse(raw.extraData, 'block.extraData', { read: hexOf, fallback: '0x' }),
    ...blockParts(raw),
  }
}

/**
 * One transaction with its receipt; a null transaction (a recording of receipts alone) has value 0. The fee is gas times
 * price plus the L1 part and the operator's of rollups, without blob gas. A failed transaction keeps the logs of its fee, where these are moves of
 * the native token, and no others. Throws `InvalidInput`.
 */
export const normalizeTransaction = (
  name: BlockName,
  pair: {
    readonly transaction: unknown
    readonly receipt: unknown
    /** Logs of the receipt may be missing between others. */
    readonly chosen?: boolean
    /** What the transaction says of its gas is read too. */
    readonly withGas?: boolean
  },
): Transaction => {
  const receipt = fieldsOf(pair.receipt, 'receipt')
  const raw = pair.transaction === null ? null : fieldsOf(pair.transaction, 'transaction')
  const hash = hashAt(receipt.transactionHash, 'receipt.transactionHash')
  checkBelongs(receipt, name)
  if (raw !== null && hashAt(raw.hash, 'transaction.hash') !== hash) {
    throw invalid('foreign-receipt', 'receipt.transactionHash', hash)
  }
  const success = orElse(receipt.status, 'receipt.status', { read: amountOf, fallback: 1n }) === 1n
  checkLogOrder(receipt, pair.chosen)
  const logs = listOf(receipt.logs, 'receipt.logs')
  return {
    hash,
    index: countOf(receipt.transactionIndex, 'receipt.transactionIndex'),
    from: addressAt(raw?.from ?? receipt.from, 'transaction.from'),
    to: orElse(raw?.to ?? receipt.to, 'transaction.to', { read: addressAt, fallback: null }),
    valueRaw: orElse(raw?.value, 'transaction.value', { read: amountOf, fallback: 0n }),
    feeRaw: feeOf(receipt, raw),
    ...gasPriceOf(receipt, raw),
    success,
    contractAddress: madeBy(receipt),
    ...(pair.withGas === true && { gas: transactionGas(receipt, raw) }),
    logs:
      success || keepsFeeLogs(name.chain)
        ? effectiveLogs(name.chain, {
            success,
            logs: logs.map((log) => normalizeLog(log, { name, hash })),
          })
        : [],
  }
}

/** The contract that a transaction made; clients in Go say the zero address where it made none. */
const madeBy = ({ contractAddress }: Fields): string | null => {
  const made = orElse(contractAddress, 'receipt.contractAddress', {
    read: addressAt,
    fallback: EVM_ZERO_ADDRESS,
  })
  return made === EVM_ZERO_ADDRESS ? null : made
}

const normalizeLog = (
  log: unknown,
  { name, hash }: { readonly name: BlockName; readonly hash: string },
): Log => {
  const raw = fieldsOf(log, 'log')
  checkLogBelongs(raw, name)
  if (hashAt(raw.transactionHash ?? hash, 'log.transactionHash') !== hash) {
    throw invalid('log-of-other-block', 'log.transactionHash', raw.transactionHash)
  }
  if (raw.removed === true) throw invalid('removed-log', 'log.removed', true)
  return {
    address: addressAt(raw.address, 'log.address'),
    topics: topicsOf(raw),
    data: hexOf(raw.data, 'log.data'),
    index: countOf(raw.logIndex, 'log.logIndex'),
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

const checkBelongs = (raw: Fields, name: BlockName): void => {
  if (hashAt(raw.blockHash, 'receipt.blockHash') !== name.hash) {
    throw invalid('foreign-receipt', 'receipt.blockHash', raw.blockHash)
  }
  if (countOf(raw.blockNumber, 'receipt.blockNumber') !== name.height) {
    throw invalid('foreign-receipt', 'receipt.blockNumber', raw.blockNumber)
  }
}

/** A log stands in its receipt: what it does not say of its block is the receipt's. */
const checkLogBelongs = (raw: Fields, { hash, height }: BlockName): void => {
  const { blockHash = null, blockNumber = null } = raw
  if (blockHash !== null && hashAt(blockHash, 'log.blockHash') !== hash) {
    throw invalid('log-of-other-block', 'log.blockHash', blockHash)
  }
  if (blockNumber !== null && countOf(blockNumber, 'log.blockNumber') !== height) {
    throw invalid('log-of-other-block', 'log.blockNumber', blockNumber)
  }
}

/** Log indexes of a receipt follow one another; says where they start and what the next one would be. */
const checkLogOrder = (
  receipt: unknown,
  gaps = false,
): { readonly first: number | undefined; readonly next: number | undefined } => {
  const logs = listOf(fieldsOf(receipt, 'receipt').logs, 'receipt.logs')
  const indexes = logs.map((log) => countOf(fieldsOf(log, 'log').logIndex, 'log.logIndex'))
  const [first] = indexes
  let next = first
  for (const [at, index] of indexes.entries()) {
    const fits = next === undefined || (gaps ? index >= next : index === next)
    if (!fits) throw invalid('log-order', `receipt.logs[${at}].logIndex`, index)
    next = index + 1
  }
  return { first, next }
}

/** What Ethereum deposits on rollups of the OP stack: paid for there. Source: ethereum-optimism/specs deposits.md. */
const DEPOSIT_TYPE = '0x7e'

const gasPriceOf = (
  receipt: Fields,
  transaction: Fields | null,
): Pick<Transaction, 'gasPriceRaw'> => {
  if ((receipt.type ?? transaction?.type) === DEPOSIT_TYPE) return {}
  const price = receipt.effectiveGasPrice ?? transaction?.gasPrice
  const gasPriceRaw = orElse(price, 'effectiveGasPrice', { read: amountOf, fallback: undefined })
  return gasPriceRaw === undefined ? {} : { gasPriceRaw }
}

const feeOf = (receipt: Fields, transaction: Fields | null): bigint => {
  if ((receipt.type ?? transaction?.type) === DEPOSIT_TYPE) return 0n
  const read = amountOf
  const gas = orElse(receipt.gasUsed, 'receipt.gasUsed', { read, fallback: 0n })
  const { gasPriceRaw: price = 0n } = gasPriceOf(receipt, transaction)
  const l1Fee = orElse(receipt.l1Fee, 'receipt.l1Fee', { read, fallback: 0n })
  return gas * price + l1Fee + operatorFeeOf(receipt, gas)
}

/** Since Jovian, whose receipts have a scalar of the data's footprint, gas costs hundreds of the scalar; before, millionths. */
const JOVIAN_FACTOR = 100n
const ISTHMUS_DIVISOR = 1_000_000n

/** What operators of an OP stack rollup ask for. Source: ethereum-optimism/specs isthmus/exec-engine.md, jovian/exec-engine.md. */
const operatorFeeOf = (receipt: Fields, gas: bigint): bigint => {
  const read = { read: amountOf, fallback: 0n }
  const scalar = orElse(receipt.operatorFeeScalar, 'receipt.operatorFeeScalar', read)
  const constant = orElse(receipt.operatorFeeConstant, 'receipt.operatorFeeConstant', read)
  const isJovian = (receipt.daFootprintGasScalar ?? null) !== null
  const byGas = gas * scalar
  return constant + (isJovian ? byGas * JOVIAN_FACTOR : byGas / ISTHMUS_DIVISOR)
}
