import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type EvmSourceOptions, evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { startIngestor } from '../../ingestors/start.ts'
import { CHAINS, maxReorgBlocks } from '../../schemas/chains.ts'
import { canonicalBlocks, collectOperations, reachedHeight } from '../support/follow-source.ts'
import {
  type ReplicaNode,
  type ReplicaView,
  replicaHash,
  startReplicaNode,
} from '../support/nodes/lagging-replicas.ts'
import { readBlockEvents } from '../support/read-ingest-topics.ts'
import { until } from '../support/until.ts'

const CHAIN = { ...CHAINS.eth, blockTimeMs: 50 }
const codec = localCodec()

const viewOf = (head: number, final: number, more: Partial<ReplicaView> = {}): ReplicaView => ({
  head,
  final,
  branchOf: () => 'a',
  ...more,
})

const nodeOf = async (t: TestContext, view: () => ReplicaView): Promise<ReplicaNode> => {
  const node = await startReplicaNode(CHAIN.chainId, view)
  t.after(() => node.stop())
  return node
}

const optionsOf = (
  t: TestContext,
  nodes: readonly ReplicaNode[],
  more: Partial<EvmSourceOptions> = {},
): EvmSourceOptions => {
  const stop = new AbortController()
  t.after(() => stop.abort())
  return {
    chain: CHAIN,
    urls: nodes.map(({ url }) => url),
    concurrency: 4,
    timeoutMs: 1_000,
    from: null,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    signal: stop.signal,
    ...more,
  }
}

/** Two backends, one of which `lag` blocks behind, either of which answers by a seeded throw; a new block every few calls. */
const thrown = (lag: number, finalLag: number): (() => ReplicaView) => {
  let seed = 7
  let calls = 0
  return () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    calls += 1
    const head = 1_000 + Math.floor(calls / 12) - (seed < 2 ** 31 ? lag : 0)
    return viewOf(head, head - finalLag)
  }
}

for (const [lag, finalLag] of [
  [1, 2],
  [12, 2],
  [3, 0],
] as const) {
  test(`two backends behind one address, one ${lag} blocks behind, finality ${finalLag} below each: nothing is reverted`, async (t) => {
    const node = await nodeOf(t, thrown(lag, finalLag))
    const source = await evmSource(optionsOf(t, [node], { from: 1_000 }))
    const ops = await collectOperations(source, reachedHeight(1_040))
    assert.equal(ops.filter(({ op }) => op === 'revert').length, 0)
    assert.equal(canonicalBlocks(ops).length, 41)
    assert.ok(ops.some(({ op }) => op === 'finalize'))
  })
}

for (const [lag, finalLag] of [
  [20, 2],
  [3, 0],
] as const) {
  test(`failover to a replica ${lag} blocks behind, finality ${finalLag} below it: nothing is reverted, nothing halts`, async (t) => {
    let calls = 0
    const isBehind = (): boolean => calls > 200 && calls < 300
    const node = await nodeOf(t, () => {
      calls += 1
      const head = 1_000 + Math.floor(calls / 6) - (isBehind() ? lag : 0)
      return viewOf(head, head - finalLag)
    })
    const source = await evmSource(optionsOf(t, [node], { from: 1_000 }))
    const ops = await collectOperations(source, reachedHeight(1_070))
    assert.ok(calls > 300)
    assert.equal(ops.filter(({ op }) => op === 'revert').length, 0)
    assert.deepEqual(
      canonicalBlocks(ops),
      Array.from({ length: 71 }, (_, at) => replicaHash('a', 1_000 + at)),
    )
  })
}

test('an endpoint on another branch reverts nothing while another continues with ours', async (t) => {
  const honest = await nodeOf(t, () => viewOf(1_060, 990))
  const other = await nodeOf(t, () =>
    viewOf(1_060, 990, { branchOf: (height) => (height >= 1_020 ? 'b' : 'a') }),
  )
  other.view = () => viewOf(1_010, 990)
  const source = await evmSource(optionsOf(t, [other, honest], { from: 1_000 }))
  const ops = await collectOperations(source, (seen) => {
    if (reachedHeight(1_030)(seen)) {
      other.view = () => viewOf(1_060, 990, { branchOf: (height) => (height >= 1_020 ? 'b' : 'a') })
    }
    return reachedHeight(1_060)(seen)
  })
  assert.equal(ops.filter(({ op }) => op === 'revert').length, 0)
  assert.equal(canonicalBlocks(ops).at(-1), replicaHash('a', 1_060))
})

test("a block time below its parent's is rejected and requested from another endpoint", async (t) => {
  const metrics = makeMetrics()
  const lying = await nodeOf(t, () =>
    viewOf(1_040, 990, { shiftSeconds: (height) => (height === 1_020 ? -50 : 0) }),
  )
  const honest = await nodeOf(t, () => viewOf(1_040, 990))
  const source = await evmSource(optionsOf(t, [lying, honest], { from: 1_000, metrics }))
  const ops = await collectOperations(source, reachedHeight(1_040))
  const times = ops.flatMap((op) => (op.op === 'apply' ? [op.block.timeMs] : []))
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  )
  const { values } = await metrics.ingestDropped.get()
  assert.ok(values.some(({ labels }) => labels.reason === 'falling-time'))
})

test('a block time in the future is rejected and requested from another endpoint', async (t) => {
  const shift = (height: number): number => (height === 1_020 ? 3_600 * 24 * 365 * 100 : 0)
  const lying = await nodeOf(t, () => viewOf(1_040, 990, { shiftSeconds: shift }))
  const honest = await nodeOf(t, () => viewOf(1_040, 990))
  const metrics = makeMetrics()
  const source = await evmSource(optionsOf(t, [lying, honest], { from: 1_000, metrics }))
  const ops = await collectOperations(source, reachedHeight(1_040))
  for (const op of ops) if (op.op === 'apply') assert.ok(op.block.timeMs < Date.now())
  const { values } = await metrics.ingestDropped.get()
  assert.ok(values.some(({ labels }) => labels.reason === 'future-time'))
})

test('blocks up to 14 minutes ahead of the local clock are accepted', async (t) => {
  const aheadSeconds = Math.floor(Date.now() / 1_000) + 840 - 1_700_001_040
  const node = await nodeOf(t, () => viewOf(1_040, 990, { shiftSeconds: () => aheadSeconds }))
  const metrics = makeMetrics()
  const source = await evmSource(optionsOf(t, [node], { from: 1_000, metrics }))
  assert.equal(canonicalBlocks(await collectOperations(source, reachedHeight(1_040))).length, 41)
  const { values } = await metrics.ingestDropped.get()
  assert.ok(values.every(({ labels }) => labels.reason !== 'future-time'))
})

test('a block whose time makes later ones fall is reverted when its endpoint returns another', async (t) => {
  let isLying = true
  const shiftSeconds = (height: number): number => (isLying && height === 1_020 ? 600 : 0)
  const node = await nodeOf(t, () => viewOf(isLying ? 1_020 : 1_040, 990, { shiftSeconds }))
  const source = await evmSource(optionsOf(t, [node], { from: 1_000 }))
  const ops = await collectOperations(source, (seen) => {
    if (reachedHeight(1_020)(seen)) isLying = false
    return reachedHeight(1_040)(seen)
  })
  const reverted = ops.flatMap((op) => (op.op === 'revert' ? [op.ref.height] : []))
  assert.deepEqual(reverted, [1_020])
  assert.equal(canonicalBlocks(ops).length, 41)
  const again = ops.findLast((op) => op.op === 'apply' && op.block.height === 1_020)
  assert.equal(again?.op === 'apply' && again.block.timeMs, 1_700_001_020_000)
})

test('pushed heads of a lagging endpoint neither lower the head nor stop polling', async (t) => {
  const beganMs = Date.now()
  const blocks = (): number => Math.floor((Date.now() - beganMs) / CHAIN.blockTimeMs)
  const fresh = await nodeOf(t, () => viewOf(1_000 + blocks(), 980))
  const old = await nodeOf(t, () => viewOf(500 + blocks(), 480))
  const options = optionsOf(t, [fresh], { from: 1_000 })
  const source = await evmSource({ ...options, urls: [fresh.url, old.wsUrl] })
  const pushing = setInterval(() => old.push(), 20)
  t.after(() => clearInterval(pushing))
  const heads: number[] = []
  await collectOperations(source, (seen) => {
    heads.push(source.head()?.height ?? 0)
    return reachedHeight(1_060)(seen)
  })
  assert.deepEqual(
    heads,
    heads.toSorted((one, other) => one - other),
  )
  assert.ok(Date.now() - beganMs < 8_000, 'the chain keeps up')
})

test('a head that no block confirms is rejected as false-head, at the start or later', async (t) => {
  const metrics = makeMetrics()
  const honest = await nodeOf(t, () => viewOf(1_040, 990))
  const lying = await nodeOf(t, () => viewOf(1_040, 990))
  const far = 4_000_000_000
  lying.latest = far
  const source = await evmSource(optionsOf(t, [lying, honest], { from: 1_000, metrics }))
  assert.equal(source.head()?.height, 1_040)
  await collectOperations(source, reachedHeight(1_040))
  const { values } = await metrics.ingestDropped.get()
  assert.ok(values.some(({ labels }) => labels.reason === 'false-head'))
  assert.equal(source.head()?.height, 1_040)
})

/** An ingestor over its own log in a folder of the test. */
const ingesting = async (t: TestContext, nodes: readonly ReplicaNode[], chain = CHAIN) => {
  const path = mkdtempSync(join(tmpdir(), 'lagging-'))
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 64 << 20, log, retention: 'off' })
  t.after(async () => {
    await bus.close()
    rmSync(path, { recursive: true, force: true })
  })
  await bus.createTopics(topicSpecs({ chains: ['eth'], partitions: 1, retention: 'off' }))
  const run = async (from: number | null) => {
    const options = optionsOf(t, nodes, { from, chain })
    const ingestor = await startIngestor({
      chain,
      bus,
      codec,
      log,
      metrics: options.metrics,
      source: await evmSource(options),
      config: { retention: 'off', pricesStatic: {} },
    })
    t.after(() => ingestor.stop())
    return ingestor
  }
  const ops = async (): Promise<readonly string[]> =>
    (await readBlockEvents(bus, codec)).map(({ meta }) => `${meta.op.slice(3)} ${meta.height}`)
  return { bus, run, ops }
}

test('a reorg below finality halts with its reason, is checked again, and recovers without a restart', async (t) => {
  let branch = 'a'
  const node = await nodeOf(t, () =>
    viewOf(1_040, 1_020, { branchOf: (height) => (height > 1_010 ? branch : 'a') }),
  )
  const { run, ops } = await ingesting(t, [node])
  const ingestor = await run(1_000)
  await until(() => ingestor.status().height === 1_040, 'the head')
  await until(async () => (await ops()).includes('FINALIZE 1020'), 'finality')
  branch = 'b'
  node.view = () => viewOf(1_050, 1_030, { branchOf: (height) => (height > 1_010 ? branch : 'a') })
  await until(() => ingestor.status().state === 'halted', 'a halt')
  assert.equal(ingestor.status().reason, 'reorg-below-finality')
  assert.ok(!(await ops()).some((op) => op.startsWith('REVERT')), 'nothing was taken back before')
  branch = 'a'
  await until(() => ingestor.status().height === 1_050, 'the chain continues')
  assert.equal(ingestor.status().state, 'live')
  assert.equal(ingestor.status().reason, undefined)
})

test('a reorg below finality that another endpoint does not have never halts the chain', async (t) => {
  let branch = 'a'
  let head = 1_040
  const astray = await nodeOf(t, () =>
    viewOf(head, 1_020, { branchOf: (height) => (height > 1_010 ? branch : 'a') }),
  )
  const honest = await nodeOf(t, () => viewOf(head, 1_020))
  const { run, ops } = await ingesting(t, [astray, honest])
  const ingestor = await run(1_000)
  await until(async () => (await ops()).includes('FINALIZE 1020'), 'finality')
  branch = 'b'
  head = 1_060
  await until(() => ingestor.status().height === 1_060, 'the chain continues')
  assert.ok(!(await ops()).some((op) => op.startsWith('REVERT')))
})

test('a reorg deeper than what can be taken back reverts nothing, and the place is kept over a restart', async (t) => {
  const chain = { ...CHAIN, reorgWindow: 2 }
  const bound = maxReorgBlocks(chain)
  let branch = 'a'
  let head = 1_040
  const view = () => viewOf(head, 900, { branchOf: (height) => (height > 1_010 ? branch : 'a') })
  const node = await nodeOf(t, view)
  const { run, ops } = await ingesting(t, [node], chain)
  const first = await run(1_000)
  await until(() => first.status().height === 1_040, 'the head')
  branch = 'b'
  head = 1_041
  await until(() => first.status().state === 'halted', 'a halt')
  assert.equal(first.status().reason, 'reorg-beyond-window')
  assert.ok(!(await ops()).some((op) => op.startsWith('REVERT')))
  await first.stop()
  branch = 'a'
  head = 1_080
  const second = await run(null)
  await until(() => second.status().height === 1_080, 'the chain continues')
  assert.deepEqual(
    await ops(),
    Array.from({ length: 81 }, (_, at) => `APPLY ${1_000 + at}`),
  )
  assert.ok(bound < 30)
})

test('blocks beyond the usual window are still taken back while finality lags', async (t) => {
  const chain = { ...CHAIN, reorgWindow: 4 }
  let branch = 'a'
  let head = 1_040
  const node = await nodeOf(t, () =>
    viewOf(head, 900, { branchOf: (height) => (height > 1_030 ? branch : 'a') }),
  )
  const { run, ops } = await ingesting(t, [node], chain)
  const ingestor = await run(1_000)
  await until(() => ingestor.status().height === 1_040, 'the head')
  branch = 'b'
  head = 1_042
  await until(() => ingestor.status().hash === replicaHash('b', 1_042), 'the other branch')
  assert.equal((await ops()).filter((op) => op.startsWith('REVERT')).length, 10)
})

test('a start whose first blocks are all reverted continues from the same height after a restart, not from the head', async (t) => {
  let branch = 'a'
  let head = 1_002
  const node = await nodeOf(t, () => viewOf(head, 900, { branchOf: () => branch }))
  const { run, ops } = await ingesting(t, [node])
  const first = await run(1_000)
  await until(() => first.status().height === 1_002, 'the head')
  branch = 'b'
  await until(async () => (await ops()).includes('REVERT 1000'), 'all is taken back')
  await first.stop()
  head = 1_030
  const second = await run(null)
  await until(() => second.status().height === 1_030, 'the head')
  const heights = (await ops()).slice((await ops()).lastIndexOf('REVERT 1000') + 1)
  assert.deepEqual(
    heights,
    Array.from({ length: 31 }, (_, at) => `APPLY ${1_000 + at}`),
  )
})

test('a block of a far future time is never applied: the chain halts, is not ready, and continues with the true time', async (t) => {
  let years = 100
  const shiftSeconds = (height: number): number => (height === 1_020 ? years * 31_536_000 : 0)
  const node = await nodeOf(t, () => viewOf(1_040, 900, { shiftSeconds }))
  const { run, ops } = await ingesting(t, [node])
  const ingestor = await run(1_000)
  await until(() => ingestor.status().state === 'halted', 'a halt', 20_000)
  assert.equal((await ops()).at(-1), 'APPLY 1019')
  assert.deepEqual(ingestor.readiness(), { ok: false, detail: 'eth: future-time' })
  years = 0
  await until(() => ingestor.status().height === 1_040, 'the chain continues')
  assert.deepEqual(ingestor.readiness(), { ok: true })
  assert.ok(!(await ops()).some((op) => op.startsWith('REVERT')))
})
