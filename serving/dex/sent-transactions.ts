import type { RunningTask } from '../../core/bus/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { pause } from '../../core/retry.ts'
import type { ChainNodes } from '../../core/rpc/chain-nodes.ts'
import type { JobChange } from '../jobs/job.ts'
import type { JobStore, NewJob } from '../jobs/job-store.ts'
import type { CheckState } from './transaction-kind.ts'
import { transactionKindOf } from './transaction-kinds.ts'

/** Time between two looks at the jobs. */
const CHECK_INTERVAL_MS = 1_000
/** Transactions of a chain that are looked at in one turn; the others come with the next. */
const MAX_PER_CHECK = 50
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
 * can take it any more, or six hours are over.
 */
export const followSentTransactions = (deps: SentTransactionsDeps): RunningTask => {
  const closing = new AbortController()
  const schedules = new Map<string, Schedule>()
  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await checkJobs(deps, schedules)
      await pause(CHECK_INTERVAL_MS, closing.signal).catch(() => undefined)
    }
  }
  const running = run()
  return {
    stop: () => {
      closing.abort()
      return running
    },
  }
}

const checkJobs = async (
  deps: SentTransactionsDeps,
  schedules: Map<string, Schedule>,
): Promise<void> => {
  const { jobs, nodes, chains, nowMs, log } = deps
  const open = new Set<string>()
  for (const chain of chains) {
    const all = jobs.unfinished(kindOf(chain)).map((job) => {
      const key = `${job.orgId}/${job.id}`
      const schedule = schedules.get(key) ?? { nextMs: 0, missingChecks: 0 }
      schedules.set(key, schedule)
      open.add(key)
      return { key, job, schedule }
    })
    const due = all
      .filter(({ schedule }) => schedule.nextMs <= nowMs())
      .toSorted((one, other) => one.schedule.nextMs - other.schedule.nextMs)
      .slice(0, MAX_PER_CHECK)
    const kind = transactionKindOf(chain)
    const pool = due.length > 0 ? nodes.of(chain) : undefined
    const checks = due.map(async ({ key, job, schedule }) => {
      const ageMs = nowMs() - job.createdAtMs
      schedule.nextMs = nowMs() + Math.min(kind?.maxWaitMs ?? Infinity, ageMs / 10)
      try {
        const change = (pool && (await kind?.check(pool, job, schedule))) ?? overdue(ageMs)
        if (!change) return
        await jobs.update(job, () => change)
        // Who sends it again begins anew.
        schedules.delete(key)
      } catch (error) {
        log.warn(
          { err: error, chain, hash: job.hash },
          'failed to check sent transaction, retrying',
        )
      }
    })
    await Promise.all(checks)
  }
  for (const key of schedules.keys()) if (!open.has(key)) schedules.delete(key)
}

const overdue = (ageMs: number): JobChange | undefined =>
  ageMs < MAX_FOLLOWED_MS
    ? undefined
    : {
        status: 'failed',
        error: 'expired',
        message: 'It was not in a block for six hours; it may still come into one',
      }
