import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyReply } from 'fastify'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type ChainNodes, createChainNodes } from '../../core/rpc/chain-nodes.ts'
import { followSentTransactions } from '../../serving/dex/sent-transactions.ts'
import { createTransactionSender } from '../../serving/http/transaction-sender.ts'
import type { Job } from '../../serving/jobs/job.ts'
import type { JobStore } from '../../serving/jobs/job-store.ts'
import { openTestJobStore } from './job-store.ts'
import { until } from './until.ts'

/** Sending of one organization and what follows, without the API around them. */
export interface Sending {
  readonly jobs: JobStore
  readonly nodes: ChainNodes
  /** Returns the id of the job. */
  send(chain: string, signedTx: string): Promise<string>
  job(id: string): Job | undefined
  becomes(id: string, status: Job['status']): Promise<Job>
  stop(): Promise<void>
}

/** Starts it over nodes by the chain's internal id, first ones preferred. */
export const startSending = async (
  urls: Readonly<Record<string, readonly string[]>>,
  nowMs: () => number = Date.now,
): Promise<Sending> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sending-'))
  const { bus, jobs } = await openTestJobStore(join(folder, 'log'), nowMs)
  const [log, metrics] = [makeSilentLogger(), makeMetrics()]
  const config = loadConfig({}, { keyPepper: 'pepper' })
  const nodes = createChainNodes({ urlsOf: (chain) => urls[chain] ?? [], config, metrics, log })
  const chains = Object.keys(urls)
  const following = followSentTransactions({ jobs, nodes, chains, nowMs, log })
  const sender = createTransactionSender({
    nodes,
    protectedNodes: { of: () => undefined },
    jobs,
    nowMs: Date.now,
  })
  const orgId = 'org_a'
  const job = (id: string) => jobs.get({ orgId, id })
  return {
    jobs,
    nodes,
    job,
    send: async (id, signedTx) => {
      const request = {
        orgId,
        chain: { id, word: id, enabled: true },
        signedTx,
        isProtected: false,
      }
      const { jobId } = await sender(request, {
        header: () => undefined,
      } as unknown as FastifyReply)
      return jobId
    },
    becomes: async (id, status) => {
      await until(() => job(id)?.status === status, `the job is ${status}`, 30_000)
      return job(id) as Job
    },
    stop: async () => {
      await nodes.stop()
      await following.stop()
      await jobs.stop()
      await bus.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
