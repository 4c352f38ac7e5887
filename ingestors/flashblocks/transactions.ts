import {
  fromRlp,
  type Hex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
} from 'viem'
import { InvalidInput } from '../../core/errors.ts'
import type { Log, Transaction } from '../../schemas/events.ts'
import { addressAt, hexOf, topicsOf } from '../evm/abi/json.ts'
import { type Fields, fieldsOf, invalid, listOf } from '../input/json.ts'

/** What Ethereum deposits on rollups of the OP stack: unsigned, its sender is in it. Source: ethereum-optimism/specs deposits.md. */
const DEPOSIT = '0x7e'
/** Fields of a deposit, and place of its sender and of who is called. */
const DEPOSIT_FIELDS = 8
const [FROM, TO] = [1, 2]

/** Where the transactions of a part stand. */
export interface PartPosition {
  readonly chainId: number
  /** Transactions and logs of the block before it. */
  readonly index: number
  readonly logs: number
}

/**
 * Transactions of a part with their logs, numbered as in the block; senders of signed ones are still '' (`senderOf`), fees are not reported.
 * Receipts lie under the transaction's hash, bare or below the name of its type. Throws `InvalidInput`; reasons: those of the readers,
 * `receipt-count`, `unknown-shape`, `bad-status`, `wrong-chain`, `topic-count`.
 */
export const partTransactions = (
  raws: readonly string[],
  receipts: Fields,
  { chainId, index: first, logs: firstLog }: PartPosition,
): readonly Transaction[] => {
  let next = firstLog
  return raws.map((raw, place) => {
    const hash = keccak256(raw as Hex)
    const receipt = receiptIn(receipts, hash)
    const success = isSuccess(receipt.status)
    const fields = listOf(receipt.logs, 'receipt.logs')
    const logs = success ? fields.map((log, at) => logOf(log, next + at)) : []
    next += logs.length
    const { from, to } = partiesOf(raw, chainId)
    return {
      hash,
      index: first + place,
      from,
      to,
      valueRaw: 0n,
      feeRaw: 0n,
      success,
      contractAddress: null,
      logs,
    }
  })
}

const receiptIn = (receipts: Fields, hash: string): Fields => {
  const fields = Object.hasOwn(receipts, hash) ? receipts[hash] : undefined
  if (fields === undefined)
    throw new InvalidInput('receipt-count', `the frame has no receipt of transaction ${hash}`)
  const receipt = fieldsOf(fields, 'receipt')
  if (receipt.logs !== undefined) return receipt
  const [below, ...others] = Object.values(receipt)
  if (others.length > 0) throw invalid('unknown-shape', 'receipt', receipt)
  return fieldsOf(below, 'receipt')
}

const isSuccess = (status: unknown): boolean => {
  if (status === true || status === '0x1') return true
  if (status === false || status === '0x0') return false
  throw invalid('bad-status', 'receipt.status', status)
}

const logOf = (value: unknown, index: number): Log => {
  const fields = fieldsOf(value, 'log')
  return {
    address: addressAt(fields.address, 'log.address'),
    topics: topicsOf(fields),
    data: hexOf(fields.data, 'log.data'),
    index,
  }
}

const partiesOf = (raw: string, chainId: number): Pick<Transaction, 'from' | 'to'> => {
  const isDeposit = raw.startsWith(DEPOSIT)
  if (isDeposit) return depositParties(raw)
  const parsed = orMalformed(() => parseTransaction(raw as TransactionSerialized))
  if (parsed.chainId !== undefined && parsed.chainId !== chainId) {
    throw invalid('wrong-chain', 'transaction.chainId', parsed.chainId)
  }
  return { from: '', to: parsed.to?.toLowerCase() ?? null }
}

const depositParties = (raw: string): Pick<Transaction, 'from' | 'to'> => {
  const fields = orMalformed(() => fromRlp(`0x${raw.slice(DEPOSIT.length)}`, 'hex'))
  if (!Array.isArray(fields) || fields.length !== DEPOSIT_FIELDS) {
    throw invalid('unknown-shape', 'transaction', raw)
  }
  const to = fields[TO]
  return {
    from: addressAt(fields[FROM], 'transaction.from'),
    to: to === '0x' ? null : addressAt(to, 'transaction.to'),
  }
}

/** The codec throws errors of its own kinds for the bytes are not a valid signed transaction. */
const orMalformed = <T>(read: () => T): T => {
  try {
    return read()
  } catch (cause) {
    throw new InvalidInput('unknown-shape', 'the bytes are not a valid signed transaction', {
      cause,
    })
  }
}

/** Who signed, from the signature; '' where it names no account. A hundred times the work of the rest. */
export const senderOf = async (raw: string): Promise<string> => {
  try {
    const serializedTransaction = raw as TransactionSerialized
    return (await recoverTransactionAddress({ serializedTransaction })).toLowerCase()
  } catch {
    return ''
  }
}
