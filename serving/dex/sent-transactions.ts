import type { RunningTask } from '../../core/bus/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { pause } from '../../core/retry.ts'
import type { ChainNodes } from '../../core/rpc/chain-nodes.ts'
import type { RpcPool } from '../../core/rpc/pool.ts'
import type { Job, JobChange } from '../jobs/job.ts'
import type { JobStore, NewJob } from '../jobs/job-store.ts'
import { dueNow, nextLookMs } from './look-schedule.ts'
import type { CheckState } from './transaction-kind.ts'
import { transactionKindOf } from './transaction-kinds.ts'

/** Time between two looks at the jobs. */
const CHECK_INTERVAL_MS = 1_000
/** How long a transaction is followed. */
const MAX_FOLLOWED_MS = 21_600_000

const kindOf = (chainId: string): string => `send.${chainId}`

/** Id of the job of a transaction: who sends it again gets the same job. */
export const sentJobId = (hash: string): string => `job_${hash.replace(/^0x/, '')}`

/** The job of a transaction that a node has taken. `chain.id` is the internal id, `chain.word` what callers name it. */
export const newSentJob = (
  orgId: string,
  chain: { readonly id: string; readonly word: string },
  { hash, details }: { readonly hash: string; readonly details: Readonly<Record<string, unknown>> },
): NewJob => ({
  orgId,
  hash,
  kind: kindOf(chain.id),
  id: sentJobId(hash),
  result: { chain: chain.word, state: 'submitted', ...details },
})

/** Transactions of an organization whose end is not known yet. */
export const countUnfinished = (jobs: JobStore, orgId: string, chainId: string): number =>
  jobs.unfinished(kindOf(chainId)).filter((job) => job.orgId === orgId).length

/** What following needs. */
export interface SentTransactionsDeps {
  readonly jobs: Pick<JobStore, 'unfinished' | 'update'>
  readonly nodes: Pick<ChainNodes, 'of'>
  /** Internal ids. */
  readonly chains: readonly string[]
  readonly nowMs: () => number
  readonly log: Logger
}

interface Schedule extends CheckState {
  nextMs: number
}

/**
 * Follows every transaction that was sent and has not ended, also those of an earlier process, until it is in a block, no block
 * can take it any more, or six hours are over. Each chain by itself: one whose nodes do not answer holds up no other.
 */
export const followSentTransactions = (deps: SentTransactionsDeps): RunningTask => {
  const closing = new AbortController()
  const running = deps.chains.map((chain) => followChain(deps, chain, closing.signal))
  return {
    stop: async () => {
      closing.abort()
      await Promise.all(running)
    },
  }
}

/** By organization and job. */
type Schedules = Map<string, Schedule>

const followChain = async (
  deps: SentTransactionsDeps,
  chain: string,
  signal: AbortSignal,
): Promise<void> => {
  const schedules: Schedules = new Map()
  while (!signal.aborted) {
    try {
      await checkJobs(deps, chain, schedules)
    } catch (error) {
      deps.log.error({ err: error, chain }, 'failed to look at sent transactions, retrying')
    }
    await pause(CHECK_INTERVAL_MS, signal).catch(() => undefined)
  }
}

const checkJobs = async (
  deps: SentTransactionsDeps,
  chain: string,
  schedules: Schedules,
): Promise<void> => {
  const { jobs, nodes, nowMs } = deps
  const all = jobs.unfinished(kindOf(chain)).map((job) => {
    const key = `${job.orgId}/${job.id}`
    const schedule = schedules.get(key) ?? { nextMs: 0, missingChecks: 0 }
    schedules.set(key, schedule)
    return { key, job, schedule }
  })
  const open = new Set(all.map(({ key }) => key))
  for (const key of schedules.keys()) if (!open.has(key)) schedules.delete(key)
  const due = dueNow(all, nowMs())
  const pool = due.length > 0 ? nodes.of(chain) : undefined
  await Promise.all(
    due.map(async ({ key, job, schedule }) => {
      const hasEnded = await checkJob(deps, { chain, pool, job, schedule })
      // Who sends it again begins anew.
      if (hasEnded) schedules.delete(key)
    }),
  )
}

/** Looks at one transaction; true: it has ended. */
const checkJob = async (
  { jobs, nowMs, log }: SentTransactionsDeps,
  {
    chain,
    pool,
    job,
    schedule,
  }: {
    readonly chain: string
    readonly pool: RpcPool | undefined
    readonly job: Job
    readonly schedule: Schedule
  },
): Promise<boolean> => {
  /** Says nothing of the transaction: it ends in time even so. */
  const failedLook = (error: unknown): undefined => {
    log.warn({ err: error, chain, hash: job.hash }, 'failed to check sent transaction, retrying')
  }
  const ageMs = nowMs() - job.createdAtMs
  const kind = transactionKindOf(chain)
  schedule.nextMs = nowMs() + nextLookMs(ageMs, kind?.maxWaitMs ?? Infinity)
  try {
    const found = pool && (await kind?.check(pool, job, schedule).catch(failedLook))
    const change = found ?? overdue(ageMs)
    if (change) await jobs.update(job, () => change)
    return change !== undefined
  } catch (error) {
    log.warn(
      { err: error, chain, hash: job.hash },
      'failed to store the end of a transaction, retrying',
    )
    return false
  }
}

const overdue = (ageMs: number): JobChange | undefined =>
  ageMs < MAX_FOLLOWED_MS
    ? undefined
    : {
        status: 'failed',
        error: 'expired',
        message: 'It was not in a block for six hours; it may still come into one',
      }
