import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus, Lane, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { openLog } from '../../core/bus/embedded/log.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { type LaneThreads, openLaneThreads } from '../../processors/runtime/lane-threads.ts'
import { type RunningStage, startStage } from '../../processors/runtime/stage-runner.ts'
import { processorTopics } from '../../processors/start.ts'
import { topicName } from '../../schemas/topics.ts'
import { publishTradeTape } from '../support/builders/publish-tape.ts'
import { buildTape, type ChainStep } from '../support/builders/trade-tape.ts'
import type { CrashingThreadData } from '../support/crashing-lane-thread.ts'
import { until } from '../support/until.ts'

const CHAIN = 'eth'
const PLAN = { chains: [CHAIN], partitions: 3, retention: 'off' } as const
const START_MS = Date.UTC(2026, 2, 1, 10, 0, 7)
const TOKENS = ['0xa1', '0xa2', '0xa3', '0xa4', '0xa5', '0xa6', '0xa7']
const codec = localCodec()
const log = makeSilentLogger()

const tradesOf = (block: number): Extract<ChainStep, { kind: 'apply' }>['trades'] =>
  Array.from({ length: block % 6 }, (_, index) => ({
    base: TOKENS[(block * 5 + index) % TOKENS.length] ?? '0xa1',
    quote: '0xusdc',
    pool: index % 2 === 0 ? '0xp1' : '0xp2',
    baseRaw: 1_000_000n + BigInt(block * 1_000 + index),
    quoteRaw: 2_000_000n + BigInt((block * 37 + index * 11) % 1_000),
    baseDecimals: 6,
    quoteDecimals: 6,
    buy: (block + index) % 2 === 0,
    quoteUsd: '1',
    quoteNative: '0.0004',
    suspect: false,
  }))

/** Blocks with reorgs and finality among them. */
const tape = buildTape(
  Array.from({ length: 150 }, (_, at): ChainStep => {
    if (at % 17 === 16) return { kind: 'revert' }
    if (at % 13 === 12) return { kind: 'finalize', keep: 3 }
    return { kind: 'apply', stepMs: 12_000, trades: tradesOf(at) }
  }),
  START_MS,
)

const folder = mkdtempSync(join(tmpdir(), 'sluice-lane-threads-'))
const source = join(folder, 'source')
const openBus = (path: string): Promise<Bus> =>
  openEmbeddedBus({ path, mapSizeBytes: 1_073_741_824, log, retention: 'off' })

after(() => rmSync(folder, { recursive: true, force: true }))

type Threads = (() => LaneThreads) | undefined

interface Opened {
  readonly path: string
  readonly bus: Bus
  readonly stage: RunningStage
  readonly stop: () => Promise<void>
}

const opened = async (name: string, threads: Threads): Promise<Opened> => {
  const path = join(folder, name)
  cpSync(source, path, { recursive: true })
  const bus = await openBus(path)
  const made = threads?.()
  const deps = { chain: CHAIN, bus, codec, metrics: makeMetrics(), log }
  const stage = await startStage(PROCESS_PIPELINE, { ...deps, ...(made && { threads: made }) })
  const stop = async (): Promise<void> => {
    await stage.stop()
    await made?.close()
  }
  return { path, bus, stage, stop }
}

const last = tape.ops.at(-1)?.seq ?? 0

const untilThrough = ({ stage }: Opened): Promise<unknown> =>
  until(
    () => {
      const lanes = stage.lanes()
      return lanes.length === PLAN.partitions && lanes.every(({ seq }) => seq === last)
    },
    'the lanes are through',
    60_000,
  )

/** Everything that the lanes wrote: records of every topic, and their state. */
const contentOf = async ({ path, bus }: Opened): Promise<readonly string[]> => {
  const lines: string[] = []
  for (const output of PROCESS_PIPELINE.outputs) {
    const topic = topicName(output, CHAIN)
    for (const { partition, low, end } of await bus.ends(topic)) {
      for await (const { key, value, headers } of bus.read(topic, partition, low, end)) {
        const bytes = value === null ? 'null' : Buffer.from(value).toString('base64')
        lines.push([topic, partition, key, bytes, JSON.stringify(headers)].join(' '))
      }
    }
  }
  await bus.close()
  const { state, close } = openLog(path, 1_073_741_824)
  for (const { key, value } of state.getRange({}))
    lines.push(`${key.join('/')} ${value.toString('base64')}`)
  await close()
  return lines.sort()
}

const twoThreads = (): LaneThreads => {
  const module = new URL('../../processors/lane-thread', import.meta.url)
  return openLaneThreads({ count: 2, module, data: { registry: null }, log })
}

const contentWith = async (name: string, threads: Threads): Promise<readonly string[]> => {
  const run = await opened(name, threads)
  await untilThrough(run)
  await run.stop()
  return contentOf(run)
}

let expected: readonly string[] = []
before(async () => {
  const bus = await openBus(source)
  await bus.createTopics([...topicSpecs(PLAN), ...processorTopics(PLAN.chains, PLAN)])
  const writer = await bus.writer(`ingest.${CHAIN}`)
  await publishTradeTape({ bus, codec, writer }, tape.ops)
  await bus.close()
  expected = await contentWith('alone', undefined)
})

test('lanes in threads write the same records and the same state as lanes in the main thread', async () => {
  assert.ok(expected.length > 500, `${expected.length} lines`)
  assert.deepEqual(await contentWith('threads', twoThreads), expected)
})

test('threads that end by themselves in the middle of a block lose and double nothing', async () => {
  const data: CrashingThreadData = {
    crashes: new Int32Array(new SharedArrayBuffer(4)).fill(3),
    after: 5,
  }
  const module = new URL('../support/crashing-lane-thread', import.meta.url)
  const crashing = (): LaneThreads => openLaneThreads({ count: 2, module, data, log })
  assert.deepEqual(await contentWith('crashing', crashing), expected)
  assert.ok(Atomics.load(data.crashes, 0) <= 0, 'three threads ended')
})

test('lanes that are reassigned at any moment continue at their position', async () => {
  const run = await opened('taken', twoThreads)
  const members = [run.stage]
  const deps = { chain: CHAIN, bus: run.bus, codec, metrics: makeMetrics(), log }
  const others: LaneThreads[] = []
  for (let turn = 0; turn < 6; turn += 1) {
    const threads = twoThreads()
    others.push(threads)
    members.push(await startStage(PROCESS_PIPELINE, { ...deps, threads }))
    await members.shift()?.stop()
  }
  const [stage] = members
  assert.ok(stage)
  await untilThrough({ ...run, stage })
  await stage.stop()
  await run.stop()
  await Promise.all(others.map((threads) => threads.close()))
  assert.deepEqual(await contentOf(run), expected)
})

interface SlowCommits {
  readonly bus: Bus
  readonly underWay: () => number
  /** For each run of a lane that ended: how many commits of its own were under way. */
  readonly atEnd: readonly number[]
}

/** A bus whose commits take their time, and how many are under way. */
const slowCommits = (bus: Bus): SlowCommits => {
  let committing = 0
  const atEnd: number[] = []
  const runSlowly = async (lane: Lane, run: (lane: Lane) => Promise<void>): Promise<void> => {
    let own = 0
    const commit: Writer['commit'] = async (work) => {
      committing += 1
      own += 1
      await sleep(2_000)
      try {
        return await lane.writer.commit(work)
      } finally {
        committing -= 1
        own -= 1
      }
    }
    try {
      await run({ ...lane, writer: { ...lane.writer, commit } })
    } finally {
      atEnd.push(own)
    }
  }
  const subscribe: Bus['subscribe'] = (subscription) =>
    bus.subscribe({ ...subscription, run: (lane) => runSlowly(lane, subscription.run) })
  return { bus: { ...bus, subscribe }, underWay: () => committing, atEnd }
}

test('a lane that is revoked while it commits has ended only when its commit has', async () => {
  const path = join(folder, 'slow')
  cpSync(source, path, { recursive: true })
  const real = await openBus(path)
  const { bus, underWay } = slowCommits(real)
  const threads = twoThreads()
  const deps = { chain: CHAIN, bus, codec, metrics: makeMetrics(), log, threads }
  const stage = await startStage(PROCESS_PIPELINE, deps)
  await until(() => underWay() > 0, 'a lane commits')
  await stage.stop()
  assert.equal(underWay(), 0)
  await threads.close()
  await real.close()
})

test('a lane whose thread exits while it commits has ended only when its commit has', async () => {
  const path = join(folder, 'committing')
  cpSync(source, path, { recursive: true })
  const real = await openBus(path)
  const { bus, underWay, atEnd } = slowCommits(real)
  const data: CrashingThreadData = {
    crashes: new Int32Array(new SharedArrayBuffer(4)),
    after: 0,
    end: new Int32Array(new SharedArrayBuffer(4)),
  }
  const module = new URL('../support/crashing-lane-thread', import.meta.url)
  const threads = openLaneThreads({ count: 1, module, data, log })
  const deps = { chain: CHAIN, bus, codec, metrics: makeMetrics(), log, threads }
  const stage = await startStage(PROCESS_PIPELINE, deps)
  await until(() => underWay() === PLAN.partitions, 'every lane commits')
  assert.ok(data.end)
  Atomics.store(data.end, 0, 1)
  await untilThrough({ path, bus, stage, stop: stage.stop })
  await stage.stop()
  await threads.close()
  assert.deepEqual(
    atEnd,
    atEnd.map(() => 0),
  )
  assert.ok(atEnd.length >= PLAN.partitions)
  assert.deepEqual(await contentOf({ path, bus: real, stage, stop: stage.stop }), expected)
})

test('a stage lists the lanes that it owns, without those of another member', async () => {
  const run = await opened('shared', undefined)
  await untilThrough(run)
  const deps = { chain: CHAIN, bus: run.bus, codec, metrics: makeMetrics(), log }
  const other = await startStage(PROCESS_PIPELINE, deps)
  await until(() => other.lanes().length > 0, 'the other member has lanes')
  const partitions = [...run.stage.lanes(), ...other.lanes()].map(({ partition }) => partition)
  assert.deepEqual(partitions.sort(), [0, 1, 2])
  await other.stop()
  await until(() => run.stage.lanes().length === PLAN.partitions, 'the lanes are back')
  await run.stop()
  assert.deepEqual(run.stage.lanes(), [])
  await run.bus.close()
})

/** A bus that fails a commit now and then: before it is written, or after. */
const failingCommits = (bus: Bus): { readonly bus: Bus; readonly failed: () => number } => {
  let commits = 0
  let failed = 0
  const fail = (): never => {
    failed += 1
    throw new Outage('bus', 'the outcome is not known')
  }
  const commitOf =
    ({ writer }: Lane): Writer['commit'] =>
    async (work) => {
      commits += 1
      const turn = commits
      if (turn % 4 === 1) return fail()
      const spans = await writer.commit(work)
      return turn % 4 === 2 ? fail() : spans
    }
  const subscribe: Bus['subscribe'] = (subscription) =>
    bus.subscribe({
      ...subscription,
      run: (lane) =>
        subscription.run({ ...lane, writer: { ...lane.writer, commit: commitOf(lane) } }),
    })
  return { bus: { ...bus, subscribe }, failed: () => failed }
}

test('commits that fail, written or not, lose and double nothing', async () => {
  const path = join(folder, 'failing')
  cpSync(source, path, { recursive: true })
  const real = await openBus(path)
  const { bus, failed } = failingCommits(real)
  const threads = twoThreads()
  const deps = { chain: CHAIN, bus, codec, metrics: makeMetrics(), log, threads }
  const stage = await startStage(PROCESS_PIPELINE, deps)
  const run = { path, bus: real, stage, stop: stage.stop }
  await untilThrough(run)
  await stage.stop()
  await threads.close()
  assert.ok(failed() >= 2, `${failed()} commits failed`)
  assert.deepEqual(await contentOf(run), expected)
})

test('an undecodable block record halts every lane with its reason, and their threads end in order', async () => {
  const run = await opened('halted', twoThreads)
  await untilThrough(run)
  const writer = await run.bus.writer(`ingest.${CHAIN}`)
  await writer.commit({
    records: [{ topic: topicName('blocks', CHAIN), partition: 0, key: CHAIN, value: null }],
  })
  const isHalted = (): boolean => run.stage.lanes().every(({ halted }) => halted !== undefined)
  await until(isHalted, 'every lane has halted')
  assert.deepEqual(
    run.stage.lanes().map(({ seq, halted }) => [seq, halted]),
    Array.from({ length: PLAN.partitions }, () => [
      ...[last, 'blocks: a block operation without a body'],
    ]),
  )
  await run.stop()
  await run.bus.close()
})
