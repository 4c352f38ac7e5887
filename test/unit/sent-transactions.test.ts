import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { RpcPool } from '../../core/rpc/pool.ts'
import { followSentTransactions } from '../../serving/dex/sent-transactions.ts'
import type { Job } from '../../serving/jobs/job.ts'
import { until } from '../support/until.ts'

const jobOf = (chain: string, result: Job['result']): Job => ({
  id: `job_${chain}`,
  orgId: 'org_a',
  kind: `send.${chain}`,
  status: 'pending',
  hash: chain,
  result,
  error: '',
  message: '',
  revision: 1,
  createdAtMs: Date.now(),
  updatedAtMs: Date.now(),
})
const JOBS = [
  jobOf('eth', { from: '0x1', nonce: 1 }),
  jobOf('sol', { blockhash: 'b', transaction: 'AA' }),
]

/** A Solana pool that has no block with the transaction, and counts how often it is sent. */
const openSolana = () => {
  let sends = 0
  const call = async ({ method }: { readonly method: string }): Promise<unknown> => {
    if (method === 'sendTransaction') sends += 1
    const context = { slot: 9 }
    return { context, value: method === 'getSignatureStatuses' ? [null] : true }
  }
  const attempt: RpcPool['attempt'] = (work) => work(call)
  return { pool: { attempt } as RpcPool, sends: () => sends }
}

const follow = (eth: RpcPool['attempt'], unfinished: (kind: string) => readonly Job[]) => {
  const solana = openSolana()
  const running = followSentTransactions({
    jobs: { unfinished, update: async (job) => job as Job },
    nodes: { of: (chain) => (chain === 'eth' ? ({ attempt: eth } as RpcPool) : solana.pool) },
    chains: ['eth', 'sol'],
    nowMs: Date.now,
    log: makeSilentLogger(),
  })
  return { running, sends: solana.sends }
}
const ofKind = (kind: string): readonly Job[] => JOBS.filter((job) => job.kind === kind)

test('a chain whose nodes are silent does not hold up the transactions of another', async () => {
  let release = (): void => undefined
  const silence = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined)
  })
  const { running, sends } = follow(() => silence, ofKind)
  await until(() => sends() >= 2, 'Solana transactions are sent again', 5_000)
  release()
  await running.stop()
})

test('an error while the jobs of a chain are read ends the looks at no chain', async () => {
  let asked = 0
  const { running, sends } = follow(
    async () => undefined,
    (kind) => {
      if (kind === 'send.sol') return ofKind(kind)
      asked += 1
      throw new Error('jobs could not be read')
    },
  )
  await until(() => asked >= 2 && sends() >= 2, 'both chains are looked at again', 5_000)
  await running.stop()
  const before = asked
  await sleep(1_200)
  assert.equal(asked, before)
})
