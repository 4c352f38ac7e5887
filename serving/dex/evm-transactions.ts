import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Job, JobChange } from '../jobs/job.ts'
import { isKnownByAny } from './ask-nodes.ts'
import { broadcast } from './evm-broadcast.ts'
import { answeredNumber } from './evm-calls.ts'
import { readSignedTransaction } from './evm-signed-transaction.ts'
import { PROTECTED, sendProtected } from './node-refusal.ts'
import type { TransactionKind } from './transaction-kind.ts'

const MAX_WAIT_MS = 60_000
const CHECKS_UNTIL_REPLACED = 3

/** Transactions of the EVM chain of this number. They end in a block, or when another transaction has used their nonce. */
export const evmTransactions = (chainId: number): TransactionKind => ({
  maxWaitMs: MAX_WAIT_MS,
  read: async (text) => {
    const transaction = await readSignedTransaction(text, chainId)
    const { hash, from, nonce } = transaction
    return {
      hash,
      send: async (nodes, protectedBy) => {
        if (protectedBy === undefined) await broadcast(nodes, transaction)
        else await sendProtected(protectedBy, (over) => broadcast(over, transaction, nodes))
        return { from, nonce, ...(protectedBy && PROTECTED) }
      },
    }
  },
  isMined: (nodes, hash) =>
    isKnownByAny(nodes, async (call) =>
      isJsonObject(await call({ method: 'eth_getTransactionReceipt', params: [hash] })),
    ),
  check: async (nodes, job, state) => {
    const { from, nonce } = job.result
    const found = await nodes.attempt(async (call) => {
      const receipt = await call({ method: 'eth_getTransactionReceipt', params: [job.hash] })
      if (receipt !== null) return receiptChange(job, receipt)
      const used = await call({ method: 'eth_getTransactionCount', params: [from, 'latest'] })
      return (answeredNumber(used) ?? 0n) > BigInt(Number(nonce)) ? 'replaced' : 'waiting'
    })
    state.missingChecks = found === 'replaced' ? state.missingChecks + 1 : 0
    if (typeof found === 'object') return found
    if (state.missingChecks < CHECKS_UNTIL_REPLACED) return undefined
    const message = 'Another transaction of the account has used its nonce'
    return { status: 'failed', error: 'replaced', message }
  },
})

/** The end that a receipt tells. Throws `InvalidInput` where it tells none. */
const receiptChange = (job: Job, receipt: unknown): JobChange => {
  const fields = isJsonObject(receipt) ? receipt : {}
  const [status, block, gasUsed] = [fields.status, fields.blockNumber, fields.gasUsed].map(
    answeredNumber,
  )
  if (status === undefined || block === undefined || gasUsed === undefined) {
    throw new InvalidInput('bad-receipt', 'the receipt has no status, block or gas')
  }
  const price = answeredNumber(fields.effectiveGasPrice)
  const result = {
    ...job.result,
    state: status === 1n ? 'confirmed' : 'reverted',
    block: Number(block),
    gasUsed: gasUsed.toString(),
    ...(price !== undefined && { effectiveGasPrice: price.toString() }),
  }
  if (status === 1n) return { status: 'completed', result }
  return { status: 'failed', error: 'reverted', message: 'It is in a block and has failed', result }
}
