import { type Fault, InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { type CallEndpoint, RpcError } from '../../core/rpc/pool.ts'
import type { Job, JobChange } from '../jobs/job.ts'
import { type NodeErrors, nodeErrorFault, sendOverNodes } from './node-refusal.ts'
import { readSignedSolanaTransaction } from './solana-signed-transaction.ts'
import type { TransactionKind } from './transaction-kind.ts'

/** Blocks drop transactions when they are busy, so that one is sent again with every look until it is in a block. */
const MAX_WAIT_MS = 2_000
const CHECKS_UNTIL_EXPIRED = 3
const COMMITMENT = 'confirmed'
/** Votes of most of the stake are there. */
const ENDS: ReadonlySet<unknown> = new Set(['confirmed', 'finalized'])

/**
 * Errors of JSON-RPC by which a node refuses the transaction and not the call: it fails when it is run, a signature is wrong, its
 * parameters are invalid, signatures are missing, its version is unknown. Source: agave rpc-client-api, custom errors.
 */
const TRANSACTION_ERRORS: ReadonlySet<number> = new Set([
  ...[-32_002, -32_003, -32_602, -32_013, -32_015],
])
/** What nodes say of a transaction. Source: agave, texts of TransactionError. */
const KNOWN = /already been processed/i
const OLD_BLOCKHASH = /blockhash not found/i

/** Errors of nodes with a fault code of their own; others are passed on as TRANSACTION_FAILED. */
const NODE_ERRORS: NodeErrors = [
  [OLD_BLOCKHASH, 'TRANSACTION_FAILED', 'blockhash_expired'],
  [
    /insufficient funds for|no record of a prior credit/i,
    'INSUFFICIENT_BALANCE',
    'insufficient_funds',
  ],
]
/** Longest cause of a failure that a job shows. */
const MAX_CAUSE_LENGTH = 200

/**
 * Transactions of Solana. They end in a block that most of the stake has voted for, or when their blockhash is too old for any block;
 * one with a durable nonce is followed as long as any.
 */
export const solanaTransactions: TransactionKind = {
  maxWaitMs: MAX_WAIT_MS,
  read: async (text) => {
    const { signature, from, blockhash } = await readSignedSolanaTransaction(text)
    const details = { from, ...(blockhash !== undefined && { blockhash }), transaction: text }
    return {
      hash: signature,
      details,
      send: (nodes) => sendOverNodes(nodes, (call) => sendOver(call, text, signature)),
    }
  },
  check: async (nodes, job, state) => {
    const found = await nodes.attempt((call) => checkOver(call, job))
    state.missingChecks = found === 'expired' ? state.missingChecks + 1 : 0
    if (typeof found === 'object') return found
    if (state.missingChecks < CHECKS_UNTIL_EXPIRED) return undefined
    const message = 'Its blockhash is too old for any block to take it'
    const result = { ...ended(job), state: 'expired' }
    return { status: 'failed', error: 'expired', message, result }
  },
}

const sendOver = async (
  call: CallEndpoint,
  text: string,
  signature: string,
): Promise<'sent' | Fault> => {
  const options = { encoding: 'base64', preflightCommitment: COMMITMENT, maxRetries: 0 }
  try {
    const answer = await call({ method: 'sendTransaction', params: [text, options] })
    if (answer === signature) return 'sent'
    throw new InvalidInput(
      'wrong-signature',
      'the node returned another transaction hash than was sent',
    )
  } catch (error) {
    // The transaction is to blame and not the node, which would be rested otherwise.
    if (!(error instanceof RpcError) || !TRANSACTION_ERRORS.has(error.code)) throw error
    if (KNOWN.test(error.message)) return 'sent'
    // One that is in a block for longer than its blockhash lives.
    const isOld = OLD_BLOCKHASH.test(error.message)
    if (isOld && (await statusOver(call, signature)) !== null) return 'sent'
    return nodeErrorFault(error.message, NODE_ERRORS)
  }
}

const answerValue = (answer: unknown, method: string): unknown => {
  if (!isJsonObject(answer) || answer.value === undefined) {
    throw new InvalidInput('bad-answer', `the node's answer to ${method} has an unexpected format`)
  }
  return answer.value
}

/** What a node knows of a transaction; null: nothing. */
const statusOver = async (call: CallEndpoint, signature: string): Promise<unknown> => {
  const method = 'getSignatureStatuses'
  const params = [[signature], { searchTransactionHistory: true }]
  const value = answerValue(await call({ method, params }), method)
  const [status] = Array.isArray(value) ? value : []
  if (status !== null && !isJsonObject(status)) {
    throw new InvalidInput('bad-answer', "the node's answer to getSignatureStatuses has no status")
  }
  return status
}

const checkOver = async (
  call: CallEndpoint,
  job: Job,
): Promise<JobChange | 'expired' | 'waiting'> => {
  const status = await statusOver(call, job.hash)
  if (isJsonObject(status)) return statusChange(job, status) ?? 'waiting'
  const { blockhash, transaction } = job.result
  if (blockhash !== undefined) {
    const params = [blockhash, { commitment: COMMITMENT }]
    const answer = await call({ method: 'isBlockhashValid', params })
    if (answerValue(answer, 'isBlockhashValid') === false) return 'expired'
  }
  await sendAgain(call, transaction)
  return 'waiting'
}

const sendAgain = async (call: CallEndpoint, transaction: unknown): Promise<void> => {
  const options = { encoding: 'base64', skipPreflight: true, maxRetries: 0 }
  try {
    await call({ method: 'sendTransaction', params: [transaction, options] })
  } catch (error) {
    if (!(error instanceof RpcError) || !TRANSACTION_ERRORS.has(error.code)) throw error
  }
}

/** What a job tells of a transaction that has ended: it is not sent again. */
const ended = ({ result }: Job): Readonly<Record<string, unknown>> => {
  const { transaction: _, ...rest } = result
  return rest
}

/** The end that a status tells; undefined where its block may still be dropped. Throws `InvalidInput` where it names no slot. */
const statusChange = (
  job: Job,
  { slot, err, confirmationStatus }: Readonly<Record<string, unknown>>,
): JobChange | undefined => {
  if (!ENDS.has(confirmationStatus)) return undefined
  if (!Number.isSafeInteger(slot)) {
    throw new InvalidInput('bad-status', 'the transaction status has no slot')
  }
  const isFailed = err !== null && err !== undefined
  const state = isFailed ? 'reverted' : 'confirmed'
  const result = { ...ended(job), state, slot, ...(isFailed && { cause: reasonOf(err) }) }
  if (!isFailed) return { status: 'completed', result }
  return { status: 'failed', error: 'reverted', message: 'It is in a block and has failed', result }
}

const reasonOf = (err: unknown): string =>
  (typeof err === 'string' ? err : JSON.stringify(err)).slice(0, MAX_CAUSE_LENGTH)
