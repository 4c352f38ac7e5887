import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import type { CallEndpoint, RpcPool } from '../../core/rpc/pool.ts'
import type { Job, JobChange } from '../jobs/job.ts'
import { isKnownByAny } from './ask-nodes.ts'
import { broadcast } from './evm-broadcast.ts'
import { answeredNumber } from './evm-calls.ts'
import { readSignedTransaction } from './evm-signed-transaction.ts'
import { PROTECTED, sendProtected } from './node-refusal.ts'
import type { TransactionKind } from './transaction-kind.ts'

const MAX_WAIT_MS = 60_000
const CHECKS_UNTIL_REPLACED = 3
/** How long ago another transaction must have used a nonce, in time of blocks: its own block may be dropped, and receipts come later than counts. */
const REPLACED_FOR_MS = 60_000
/** Most blocks back that a count is asked for: nodes keep the state of the newest 128 at least. */
const MAX_DEPTH = 64

/** Transactions of an EVM chain. They end in a block, or when another transaction has used their nonce. */
export const evmTransactions = ({
  chainId,
  blockTimeMs,
}: {
  readonly chainId: number
  readonly blockTimeMs: number
}): TransactionKind => ({
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
    const first = await nodes.attempt((call) => viewOver(call, job, 0))
    const depth = Math.min(MAX_DEPTH, Math.ceil(REPLACED_FOR_MS / blockTimeMs))
    const found = first === 'replaced' ? await agreedEnd(nodes, job, depth) : first
    state.missingChecks = found === 'replaced' ? state.missingChecks + 1 : 0
    if (typeof found === 'object') return found
    if (state.missingChecks < CHECKS_UNTIL_REPLACED) return undefined
    const message = 'Another transaction of the account has used its nonce'
    return { status: 'failed', error: 'replaced', message }
  },
})

type NodeView = JobChange | 'replaced' | 'waiting'

/** What one node knows; `replaced`: its nonce was used by the block that lies `depth` below the head. Throws `InvalidInput`. */
const viewOver = async (call: CallEndpoint, job: Job, depth: number): Promise<NodeView> => {
  const { from, nonce } = job.result
  const receipt = await call({ method: 'eth_getTransactionReceipt', params: [job.hash] })
  if (receipt !== null) return receiptChange(job, receipt)
  const block = depth === 0 ? 'latest' : await blockBelowHead(call, depth)
  const used = await call({ method: 'eth_getTransactionCount', params: [from, block] })
  return (answeredNumber(used) ?? 0n) > BigInt(Number(nonce)) ? 'replaced' : 'waiting'
}

const blockBelowHead = async (call: CallEndpoint, depth: number): Promise<string> => {
  const head = answeredNumber(await call({ method: 'eth_blockNumber', params: [] }))
  if (head === undefined) throw new InvalidInput('bad-height', 'the node returned no height')
  const height = head - BigInt(depth)
  return `0x${(height > 0n ? height : 0n).toString(16)}`
}

/** What all nodes come to: one that has it in a block, or does not know of another, decides against the others. */
const agreedEnd = async (nodes: RpcPool, job: Job, depth: number): Promise<NodeView> => {
  const views = await nodes.poll((call) => viewOver(call, job, depth))
  const said = views.flatMap(({ value }) => (value === undefined ? [] : [value]))
  const found = said.find((view) => typeof view === 'object')
  if (found !== undefined) return found
  return said.length > 0 && said.every((view) => view === 'replaced') ? 'replaced' : 'waiting'
}

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
