import { InvalidInput } from '../../core/errors.ts'
import { isNodeError } from '../../core/rpc/endpoint.ts'
import type { CallEndpoint, RpcPool } from '../../core/rpc/pool.ts'
import { isTransactionError } from '../../core/rpc/transaction-errors.ts'
import type { Job, JobChange } from '../jobs/job.ts'
import { isKnownByAny } from './ask-nodes.ts'
import {
  type NodeErrors,
  nodeErrorFault,
  PROTECTED,
  type SendOutcome,
  sendOverNodes,
  sendProtected,
} from './node-refusal.ts'
import { readSignedSolanaTransaction } from './solana-signed-transaction.ts'
import { blockhashOver, COMMITMENT, statusOver, viewOver } from './solana-status.ts'
import type { CheckState, TransactionKind } from './transaction-kind.ts'

/** Blocks drop transactions when they are busy, so that one is sent again with every look until it is in a block. */
const MAX_WAIT_MS = 2_000
const CHECKS_UNTIL_EXPIRED = 3
/** Votes of most of the stake are there. */
const ENDS: ReadonlySet<unknown> = new Set(['confirmed', 'finalized'])

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
      send: async (nodes, protectedBy) => {
        if (protectedBy !== undefined) {
          const taken = (over: RpcPool) =>
            sendOverNodes(over, (call) =>
              sendOver(call, { text, signature }, () =>
                isKnownByAny(nodes, (look) => isInChain(look, signature)),
              ),
            )
          await sendProtected(protectedBy, taken)
          // Such an endpoint tells nothing of blocks.
          const slot = await nodes
            .attempt((call) => validSlotOver(call, blockhash))
            .catch(() => undefined)
          return { ...details, ...PROTECTED, ...(slot !== undefined && { blockhashSlot: slot }) }
        }
        let slot: number | undefined
        await sendOverNodes(nodes, async (call) => {
          const outcome = await sendOver(call, { text, signature }, () =>
            isInChain(call, signature),
          )
          if (outcome === 'sent') slot = await validSlotOver(call, blockhash)
          return outcome
        })
        return { ...details, ...(slot !== undefined && { blockhashSlot: slot }) }
      },
    }
  },
  isMined: (nodes, signature) => isKnownByAny(nodes, (call) => isInChain(call, signature)),
  check: async (nodes, job, state) => {
    withSentSlot(job, state)
    const first = await nodes.attempt((call) => checkOver(call, job, state))
    const found = first === 'expired' ? await agreedEnd(nodes, job, state) : first
    state.missingChecks = found === 'expired' ? state.missingChecks + 1 : 0
    if (typeof found === 'object') return found
    if (state.missingChecks < CHECKS_UNTIL_EXPIRED) return undefined
    const message = 'Its blockhash is too old for any block to take it'
    const result = { ...ended(job), state: 'expired' }
    return { status: 'failed', error: 'expired', message, result }
  },
}

/** A slot at which the node that has taken a transaction finds its blockhash valid; undefined: it does not say. */
const validSlotOver = async (
  call: CallEndpoint,
  blockhash: string | undefined,
): Promise<number | undefined> => {
  if (blockhash === undefined) return undefined
  try {
    const seen = await blockhashOver(call, blockhash)
    return seen?.isValid ? seen.slot : undefined
  } catch (error) {
    // The transaction is out: the looks find a slot.
    if (isNodeError(error)) return undefined
    throw error
  }
}

const isInChain = async (call: CallEndpoint, signature: string): Promise<boolean> =>
  (await statusOver(call, signature)).status !== null

const sendOver = async (
  call: CallEndpoint,
  { text, signature }: { readonly text: string; readonly signature: string },
  isTaken: () => Promise<boolean>,
): Promise<SendOutcome> => {
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
    if (!isTransactionError('svm', 'send', error)) throw error
    if (KNOWN.test(error.message)) return 'sent'
    // One that is in a block for longer than its blockhash lives.
    const isOld = OLD_BLOCKHASH.test(error.message)
    if (isOld && (await isTaken())) return 'sent'
    const refusal = nodeErrorFault(error.message, NODE_ERRORS)
    // A node that is behind says so of a new blockhash, too.
    return isOld ? { unlessTaken: refusal } : refusal
  }
}

/** The end of a transaction as one node knows it; undefined: the node is behind. One that is in no block is sent again, unless it is protected. */
const checkOver = async (
  call: CallEndpoint,
  job: Job,
  state: CheckState,
): Promise<JobChange | 'expired' | 'waiting' | undefined> => {
  const view = await viewOver(call, transactionOf(job), state)
  if (typeof view === 'object') return statusChange(job, view.status) ?? 'waiting'
  if (view === 'expired') return view
  if (job.result.submission !== PROTECTED.submission) await sendAgain(call, job.result.transaction)
  return view === 'behind' ? undefined : 'waiting'
}

/** What all nodes come to that are not behind: one that knows the transaction or may still take it decides against the others. */
const agreedEnd = async (
  nodes: RpcPool,
  job: Job,
  state: CheckState,
): Promise<JobChange | 'expired' | 'waiting'> => {
  const views = await nodes.poll((call) => viewOver(call, transactionOf(job), state))
  const said = views.flatMap(({ value }) =>
    value === undefined || value === 'behind' ? [] : [value],
  )
  const found = said.find((view) => typeof view === 'object')
  if (found) return statusChange(job, found.status) ?? 'waiting'
  return said.length > 0 && said.every((view) => view === 'expired') ? 'expired' : 'waiting'
}

const transactionOf = ({ hash, result }: Job) => ({ signature: hash, blockhash: result.blockhash })

/** What earlier looks know, and what was known when the transaction was sent. */
const withSentSlot = ({ result }: Job, state: CheckState): void => {
  const { blockhashSlot } = result
  if (typeof blockhashSlot === 'number') state.validAtSlot ??= blockhashSlot
}

const sendAgain = async (call: CallEndpoint, transaction: unknown): Promise<void> => {
  const options = { encoding: 'base64', skipPreflight: true, maxRetries: 0 }
  try {
    await call({ method: 'sendTransaction', params: [transaction, options] })
  } catch (error) {
    if (!isTransactionError('svm', 'send', error)) throw error
  }
}

/** What a job tells of a transaction that has ended: it is not sent again. */
const ended = ({ result }: Job): Readonly<Record<string, unknown>> => {
  const { transaction: _, blockhashSlot: _slot, ...rest } = result
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
