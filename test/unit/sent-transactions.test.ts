import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { RpcCall } from '../../core/rpc/endpoint.ts'
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

const HOUR_MS = 3_600_000

/** Follows one transaction of an age until its job has ended or `forMs` are over; returns how it ended. */
const endOf = async (
  pool: Partial<RpcPool> | undefined,
  { ageMs = 0, forMs }: { readonly ageMs?: number; readonly forMs: number },
): Promise<string | undefined> => {
  const createdAtMs = Date.now() - ageMs
  let job: Job = { ...jobOf('eth', { from: '0x1', nonce: 1 }), createdAtMs }
  const running = followSentTransactions({
    jobs: {
      unfinished: () => (job.status === 'pending' ? [job] : []),
      update: async (_, step) => {
        job = { ...job, ...step(job) }
        return job
      },
    },
    nodes: { of: () => pool as RpcPool | undefined },
    chains: ['eth'],
    nowMs: Date.now,
    log: makeSilentLogger(),
  })
  const endMs = Date.now() + forMs
  while (job.status === 'pending' && Date.now() < endMs) await sleep(50)
  await running.stop()
  return job.status === 'pending' ? undefined : job.error || job.status
}

test('a transaction of which no node can be asked ends after six hours, like any other', async () => {
  const silent = {
    attempt: async () => {
      throw new Error('no node responded')
    },
  }
  assert.equal(await endOf(silent, { ageMs: 5 * HOUR_MS, forMs: 2_500 }), undefined)
  assert.equal(await endOf(silent, { ageMs: 20 * HOUR_MS, forMs: 5_000 }), 'expired')
  assert.equal(await endOf(undefined, { ageMs: 20 * HOUR_MS, forMs: 5_000 }), 'expired')
})

type Node = (method: string, params: readonly unknown[]) => unknown

const poolOf = (...nodes: readonly Node[]): Partial<RpcPool> => {
  const callOf =
    (node: Node | undefined) =>
    async ({ method, params }: RpcCall): Promise<unknown> =>
      node?.(method, params)
  return {
    attempt: (work) => work(callOf(nodes[0])),
    poll: async (work) =>
      Promise.all(nodes.map(async (node) => ({ value: await work(callOf(node)), behind: false }))),
  }
}
const RECEIPT = { status: '0x1', blockNumber: '0x60', gasUsed: '0x5208' }
/** A node at height 100 whose account has used the nonce in the block of `usedAt`. */
const nodeOf =
  (usedAt: number, receipt: () => unknown): Node =>
  (method, [, block]) => {
    if (method === 'eth_getTransactionReceipt') return receipt()
    if (method === 'eth_blockNumber') return '0x64'
    return block === 'latest' || Number(block) >= usedAt ? '0x2' : '0x1'
  }
const none = (): null => null

test('a transaction is replaced only where every node says so, and the other one is some blocks old', async () => {
  const wait = { forMs: 9_000 }
  const atMs = Date.now()
  const late = nodeOf(98, () => (Date.now() - atMs < 4_000 ? null : RECEIPT))
  const results = await Promise.all([
    endOf(poolOf(late), wait),
    endOf(poolOf(nodeOf(98, none)), wait),
    endOf(poolOf(nodeOf(90, none)), wait),
    endOf(poolOf(nodeOf(90, none), nodeOf(97, none)), wait),
    endOf(
      poolOf(
        nodeOf(90, none),
        nodeOf(90, () => RECEIPT),
      ),
      wait,
    ),
  ])
  assert.deepEqual(results, ['completed', undefined, 'replaced', undefined, 'completed'])
})
