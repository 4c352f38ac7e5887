import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { ChainOp, Position } from '../../ingestors/follow/contract.ts'
import { openSvmSource } from '../../ingestors/svm/source/solana-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { startSimulator } from '../../simulator/start.ts'
import { canonicalBlocks, collectOperations } from '../support/follow-source.ts'

/** Hashes of a node's blocks from the first slot on, asked one by one. */
const canonical = async (url: string, to: number): Promise<readonly string[]> => {
  const call = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body })
    return ((await answer.json()) as { result: unknown }).result
  }
  const commitment = 'confirmed'
  const slots = (await call('getBlocks', [0, to, { commitment }])) as readonly number[]
  const options = { commitment, transactionDetails: 'none', maxSupportedTransactionVersion: 1 }
  const blocks = slots.map((slot) => call('getBlock', [slot, options]))
  return (await Promise.all(blocks)).map((block) => (block as { blockhash: string }).blockhash)
}

/** Deepest fork that the simulator schedules: newer blocks may still be on the losing branch. */
const DEEPEST_FORK = 5

const positionAfter = (ops: readonly ChainOp[]): Position => {
  const stack = ops.flatMap((op) => {
    if (op.op !== 'apply') return []
    const { height, hash, parentHash, timeMs } = op.block
    return [{ height, hash, parentHash, timeMs }]
  })
  return { stack, final: null }
}

test('a simulated Solana is followed from its first slot through a fork, and again from the middle', async () => {
  const simulator = await startSimulator({
    chain: 'sol',
    seed: 11,
    ratePerSecond: 10,
    genesisMs: Date.now() - 15_000,
    reorgEvery: 6,
    log: makeSilentLogger(),
  })
  const stop = new AbortController()
  try {
    const source = await openSvmSource({
      chain: CHAINS.sol,
      urls: [simulator.httpUrl],
      concurrency: 8,
      timeoutMs: 10_000,
      from: 0,
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      signal: stop.signal,
    })
    assert.equal(source.origin, `sol:${simulator.genesisHash}`)
    const ops = await collectOperations(source, (seen) => {
      const last = seen.at(-1)
      const isLive = last?.op === 'apply' && last.block.height >= (source.head()?.height ?? 0)
      return isLive && seen.some(({ op }) => op === 'revert')
    })
    const settled = canonicalBlocks(ops).slice(0, -DEEPEST_FORK)
    const known = await canonical(simulator.httpUrl, source.head()?.height ?? 0)
    assert.deepEqual(settled, known.slice(0, settled.length))
    const kept = ops.flatMap((op) => (op.op === 'apply' && op.block.vm === 'svm' ? [op.block] : []))
    assert.ok(kept.some(({ height, parentSlot }) => height > parentSlot + 1, 'slots are skipped'))
    assert.ok(kept.some(({ transactions }) => transactions.some(({ success }) => !success)))
    assert.ok(kept.some(({ transactions }) => transactions.some(({ version }) => version === 0)))

    const half = ops.slice(
      0,
      Math.min(
        20,
        ops.findIndex(({ op }) => op !== 'apply'),
      ),
    )
    const position = positionAfter(half)
    const rest = await collectOperations(source, (seen) => seen.length >= 10, position)
    const [next] = rest
    const whole = canonicalBlocks(ops)
    assert.ok(next?.op === 'apply')
    assert.equal(next.block.hash, whole[half.length])
  } finally {
    stop.abort()
    await simulator.stop()
  }
})
