import type { FastifyReply } from 'fastify'
import { Fault } from '../../core/errors.ts'
import type { ChainNodes } from '../../core/rpc/chain-nodes.ts'
import { createRateLimiter } from '../billing/rate-limiter.ts'
import { countUnfinished, newSentJob, sentJobId } from '../dex/sent-transactions.ts'
import { transactionKindOf } from '../dex/transaction-kinds.ts'
import type { RateLimitState } from '../interfaces.ts'
import { isFinished, type Job } from '../jobs/job.ts'
import type { JobStore } from '../jobs/job-store.ts'
import type { RequestedChain } from './chain-parameters.ts'
import { createPlanningQueue } from './planning-queue.ts'

/** What sending works with. */
export interface SenderDeps {
  readonly nodes: ChainNodes
  /** Endpoints that hand transactions to block builders only. */
  readonly protectedNodes: Pick<ChainNodes, 'of'>
  readonly jobs: JobStore
  readonly nowMs: () => number
}

/** A signed transaction of an organization. */
interface SendRequest {
  readonly orgId: string
  readonly chain: RequestedChain
  readonly signedTx: string
  /** It goes to a protected endpoint, and to no node. */
  readonly isProtected: boolean
}

/** Sends transactions for organizations, each within its rate. */
export type TransactionSender = (
  request: SendRequest,
  reply: FastifyReply,
) => Promise<{ readonly signature: string; readonly jobId: string }>

/** Transactions that an organization may send in a second. */
const SENDS_PER_SECOND = 5
/** Texts of an organization that are read in a second, transactions or not; a long one counts as one for each 8,192 characters that it begins. */
const READS_PER_SECOND = 20
const READ_CHARACTERS = 8_192
/** A transaction of the EVM of the greatest length in hexadecimal: what is longer is refused by its length. */
const MAX_READS = 16
/** Transactions of an organization on one chain that are followed at the same time. */
const MAX_UNFINISHED = 100

/** Hands signed transactions to the nodes of their chains, and has a job follow each. */
export const createTransactionSender = ({
  nodes,
  protectedNodes,
  jobs,
  nowMs,
}: SenderDeps): TransactionSender => {
  const [reads, sends] = [createRateLimiter(nowMs), createRateLimiter(nowMs)]
  const turns = createPlanningQueue()
  const requireRate = (rate: RateLimitState, reply: FastifyReply): void => {
    if (rate.allowed) return
    reply.header('Retry-After', rate.retryAfterSeconds)
    throw new Fault('RATE_LIMIT', 'Too many transactions are sent', { limit: rate.limit })
  }
  return async ({ orgId, chain, signedTx, isProtected }, reply) => {
    const kind = transactionKindOf(chain.id)
    if (kind === undefined) throw new Fault('NOT_IMPLEMENTED')
    if (!chain.enabled) throw new Fault('CHAIN_NOT_SUPPORTED')
    const protectedBy = isProtected ? protectedNodes.of(chain.id) : undefined
    if (isProtected && protectedBy === undefined) {
      const reason = 'no protected endpoint of the chain is configured'
      throw new Fault('NOT_IMPLEMENTED', undefined, { reason })
    }
    // Without a node nothing is read.
    const pool = nodes.of(chain.id)
    if (pool === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
    for (let count = readsOf(signedTx); count > 0; count -= 1)
      requireRate(reads.take(orgId, READS_PER_SECOND), reply)
    // Organizations in turn, and each one transaction at a time: what is refused costs no units, but as much of the thread.
    const transaction = await turns(orgId, () => kind.read(signedTx))
    requireRate(sends.take(orgId, SENDS_PER_SECOND), reply)
    const { hash: signature } = transaction
    const jobId = sentJobId(signature)
    const known = jobs.get({ orgId, id: jobId })
    const hasEnded = known !== undefined && isFinished(known)
    // One that expired may still come into a block, and a reorg may have taken one out of its block.
    if (hasEnded && wasMined(known) && (await kind.isMined(pool, signature))) {
      return { signature, jobId }
    }
    const isFollowed = known !== undefined && !hasEnded
    if (!isFollowed && countUnfinished(jobs, orgId, chain.id) >= MAX_UNFINISHED) {
      throw new Fault('API_USAGE_LIMIT_EXCEEDED', 'Too many transactions are pending', {
        max_allowed: MAX_UNFINISHED,
      })
    }
    // The job comes after: a transaction that a node refuses leaves none, and one whose answer got lost is sent again.
    const details = await transaction.send(pool, protectedBy)
    const wanted = newSentJob(orgId, chain, { hash: signature, details })
    const job = await jobs.create(wanted)
    // Sent to protected endpoints before, to the nodes now: from here on it is sent again over the nodes.
    if (!isProtected && job.result.submission !== undefined)
      await jobs.update({ orgId, id: jobId }, () => ({ result: wanted.result ?? {} }))
    return { signature, jobId }
  }
}

const readsOf = ({ length }: string): number =>
  Math.min(MAX_READS, Math.max(1, Math.ceil(length / READ_CHARACTERS)))

/** True where the job tells of a block. */
const wasMined = ({ status, error }: Job): boolean => status === 'completed' || error === 'reverted'
