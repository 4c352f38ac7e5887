import type { RunningTask } from '../../core/bus/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { pause } from '../../core/retry.ts'
import type { RpcPool } from '../../core/rpc/pool.ts'
import type { Job, JobChange } from '../jobs/job.ts'
import type { JobStore, NewJob } from '../jobs/job-store.ts'
import type { ChainNodes } from './chain-nodes.ts'
import { answeredNumber } from './evm-calls.ts'
import type { SignedTransaction } from './signed-transaction.ts'

/** Time between two looks at the jobs. */
const TURN_MS = 1_000
/** Longest time between two looks at one of them: a tenth of its age before. */
const MAX_WAIT_MS = 60_000
/** Transactions of a chain that are looked at in one turn; the others come with the next. */
const MAX_PER_TURN = 50
/** How long a transaction is followed. */
const MAX_FOLLOWED_MS = 21_600_000
/** Looks, one after the other, that must find its nonce used by another transaction: nodes behind one address may differ. */
const LOOKS_UNTIL_REPLACED = 3

const kindOf = (chainId: string): string => `send.${chainId}`

/** Id of the job of a transaction: who sends it again gets the same job. */
export const sentJobId = (hash: string): string => `job_${hash.slice(2)}`

/** The job of a transaction that a node has taken. `chain.id` is the internal id, `chain.word` what callers name it. */
export const newSentJob = (
  orgId: string,
  chain: { readonly id: string; readonly word: string },
  { hash, from, nonce }: SignedTransaction,
): NewJob => ({
  ...{ orgId, hash, kind: kindOf(chain.id), id: sentJobId(hash) },
  result: { chain: chain.word, state: 'submitted', from, nonce },
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

interface Schedule {
  nextMs: number
  looksReplaced: number
}

/**
 * Follows every transaction that was sent and has not ended, also those of an earlier process, until it is in a block, its nonce is
 * used by another, or six hours are over.
 */
export const followSentTransactions = (deps: SentTransactionsDeps): RunningTask => {
  const closing = new AbortController()
  const schedules = new Map<string, Schedule>()
  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await takeTurn(deps, schedules)
      await pause(TURN_MS, closing.signal).catch(() => undefined)
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

const takeTurn = async (
  deps: SentTransactionsDeps,
  schedules: Map<string, Schedule>,
): Promise<void> => {
  const { jobs, nodes, chains, nowMs, log } = deps
  const open = new Set<string>()
  for (const chain of chains) {
    const all = jobs.unfinished(kindOf(chain)).map((job) => {
      const key = `${job.orgId}/${job.id}`
      const schedule = schedules.get(key) ?? { nextMs: 0, looksReplaced: 0 }
      schedules.set(key, schedule)
      open.add(key)
      return { job, schedule }
    })
    const due = all
      .filter(({ schedule }) => schedule.nextMs <= nowMs())
      .toSorted((one, other) => one.schedule.nextMs - other.schedule.nextMs)
      .slice(0, MAX_PER_TURN)
    const pool = due.length > 0 ? nodes.of(chain) : undefined
    const looks = due.map(async ({ job, schedule }) => {
      const ageMs = nowMs() - job.createdAtMs
      schedule.nextMs = nowMs() + Math.min(MAX_WAIT_MS, ageMs / 10)
      try {
        const change = (pool && (await look(pool, job, schedule))) ?? overdue(ageMs)
        if (change) await jobs.update(job, () => change)
      } catch (error) {
        log.warn({ err: error, chain, hash: job.hash }, 'transaction not looked up, again later')
      }
    })
    await Promise.all(looks)
  }
  for (const key of schedules.keys()) if (!open.has(key)) schedules.delete(key)
}

const overdue = (ageMs: number): JobChange | undefined =>
  ageMs < MAX_FOLLOWED_MS
    ? undefined
    : {
        ...{ status: 'failed', error: 'expired' },
        message: 'It was not in a block for six hours; it may still come into one',
      }

/** What a node knows of a transaction by now; undefined while that is not its end. */
const look = async (
  pool: RpcPool,
  job: Job,
  schedule: Schedule,
): Promise<JobChange | undefined> => {
  const { from, nonce } = job.result
  const found = await pool.attempt(async (ask) => {
    const receipt = await ask({ method: 'eth_getTransactionReceipt', params: [job.hash] })
    if (receipt !== null) return receiptChange(job, receipt)
    const used = await ask({ method: 'eth_getTransactionCount', params: [from, 'latest'] })
    return (answeredNumber(used) ?? 0n) > BigInt(Number(nonce)) ? 'replaced' : 'waiting'
  })
  schedule.looksReplaced = found === 'replaced' ? schedule.looksReplaced + 1 : 0
  if (typeof found === 'object') return found
  if (schedule.looksReplaced < LOOKS_UNTIL_REPLACED) return undefined
  const message = 'Another transaction of the account has used its nonce'
  return { status: 'failed', error: 'replaced', message }
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
    ...{ ...job.result, state: status === 1n ? 'confirmed' : 'reverted', block: Number(block) },
    gasUsed: gasUsed.toString(),
    ...(price !== undefined && { effectiveGasPrice: price.toString() }),
  }
  if (status === 1n) return { status: 'completed', result }
  return { status: 'failed', error: 'reverted', message: 'It is in a block and has failed', result }
}
