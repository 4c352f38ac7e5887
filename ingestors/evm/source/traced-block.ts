import { InvalidInput } from '../../../core/errors.ts'
import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { EvmBlock, Transaction } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf } from '../../input/json.ts'
import { hashAt } from '../abi/json.ts'

/** Whose traces are read. */
export type BlockTransactions = Pick<EvmBlock, 'hash' | 'transactions' | 'rejected'>

/** What an answer is read with. */
export interface TraceRequest {
  /** True: the block holds some of its transactions only, and traces of others are passed over. */
  readonly chosen?: boolean
  /** Called for a transaction whose trace is out of shape, which is then left out; absent: its `InvalidInput` is thrown. */
  readonly spare?: (tx: Transaction, error: InvalidInput) => void
}

/**
 * Goes through a `debug_traceBlockByHash` answer: one result per transaction, each once and none missing. Source: go-ethereum eth/tracers/api.go.
 * Throws `InvalidInput`; reasons: those of the readers in `../../input/json.ts` and `../abi/json.ts`, `no-trace`, `foreign-call`, `call-count`.
 */
export const eachTraced = (
  block: BlockTransactions,
  answer: unknown,
  take: (tx: Transaction, result: Fields) => void,
  reading: TraceRequest = {},
): void => {
  const owners = ownersOf(block, reading)
  const traced = new Set<number>()
  for (const [place, each] of listOf(answer, 'traces').entries()) {
    const at = `traces[${place}]`
    const { txHash, result, error } = fieldsOf(each, at)
    const tx = owners(txHash ?? block.transactions[place]?.hash, at)
    if (tx === undefined) continue
    if (traced.has(tx.index))
      throw invalid('call-count', at, 'a transaction that was traced before')
    traced.add(tx.index)
    try {
      if (result === undefined || result === null) throw invalid('no-trace', at, error)
      take(tx, fieldsOf(result, at))
    } catch (odd) {
      if (reading.spare === undefined || !(odd instanceof InvalidInput)) throw odd
      reading.spare(tx, odd)
    }
  }
  checkComplete(block, traced)
}

type Owners = (hash: unknown, at: string) => Transaction | undefined

/** Finds the transaction of a hash; undefined where it may be missing: one that is chosen, or one that no endpoint returned in shape. */
export const ownersOf = (
  { transactions, rejected }: BlockTransactions,
  { chosen }: TraceRequest,
): Owners => {
  const byHash = new Map(transactions.map((tx) => [tx.hash, tx]))
  const isPart = chosen === true || rejected !== undefined
  return (hash, at) => {
    const owner = byHash.get(hashAt(hash, `${at}.transactionHash`))
    if (owner === undefined && !isPart) throw invalid('foreign-call', at, hash)
    return owner
  }
}

/** Every transaction was traced but what a chain sends itself. Throws `InvalidInput`: `call-count`. */
export const checkComplete = (
  { transactions }: BlockTransactions,
  traced: ReadonlySet<number>,
): void => {
  const missing = transactions.find(
    ({ index, from }) => from !== EVM_ZERO_ADDRESS && !traced.has(index),
  )
  if (missing === undefined) return
  throw new InvalidInput('call-count', `transaction ${missing.index} has no traces`)
}
