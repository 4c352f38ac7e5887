import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LogRecord } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeDeferred } from '../../core/runtime/deferred.ts'
import { openLaneThreads } from '../../processors/runtime/lane-threads.ts'
import type { LaneReports, StageLaneLog } from '../../processors/runtime/stage-lane.ts'
import { stateTopic, topicName } from '../../schemas/topics.ts'
import { tapeBlockEvent } from '../support/builders/trade-tape.ts'
import type { StateCheckingThreadData } from '../support/state-checking-thread.ts'
import { until } from '../support/until.ts'

const CHAIN = 'eth'
/** Operations of one commit are 256 at most: the others are folded right behind it, in the same turn of the event loop. */
const OPERATIONS = 300
const HOLDS_AT = 9_000
const codec = localCodec()

const blockRecord = (offset: number, height: number): LogRecord => {
  const block = { height, hash: `0xb${height}`, parent: '', timeMs: height, trades: [] }
  return {
    topic: topicName('blocks', CHAIN),
    partition: 0,
    offset,
    key: CHAIN,
    value: codec.encode(
      'block.BlockEvent',
      tapeBlockEvent({ op: 'apply', seq: offset + 1, block, finalHeight: 0 }),
    ),
    headers: {},
    timestampMs: 0,
  }
}

const REPORTS: LaneReports = {
  status: () => undefined,
  committed: () => undefined,
  undecodable: () => undefined,
}

test('a lane in a thread reads what it has committed, also while another lane holds an older view of the state', async () => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-lane-state-'))
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 67_108_864, log, retention: 'off' })
  const writer = await bus.writer('lanes')
  const data: StateCheckingThreadData = {
    holdsAt: HOLDS_AT,
    turn: new Int32Array(new SharedArrayBuffer(4)),
    seen: new Int32Array(new SharedArrayBuffer(8)),
  }
  const module = new URL('../support/state-checking-thread', import.meta.url)
  const threads = openLaneThreads({ count: 1, module, data, log })
  const over = new AbortController()
  const firstCommit = makeDeferred<void>()
  /** Gives its records once, when they may come. */
  const laneLog = (
    partition: number,
    records: Promise<readonly LogRecord[]>,
    commit: StageLaneLog['commit'],
  ): StageLaneLog => {
    let isGiven = false
    const store = stateTopic('counting', CHAIN)
    return {
      partition,
      signal: over.signal,
      state: async () => ({
        location: { kind: 'table', path, store, partition },
        get: () => undefined,
        entries: () => [],
      }),
      take: async () => {
        over.signal.throwIfAborted()
        if (isGiven) await new Promise((_, reject) => over.signal.addEventListener('abort', reject))
        isGiven = true
        return records
      },
      commit,
    }
  }
  const release = (): void => {
    Atomics.store(data.turn, 0, 2)
    Atomics.notify(data.turn, 0)
  }
  let commits = 0
  const many = laneLog(
    0,
    Promise.resolve(Array.from({ length: OPERATIONS }, (_, at) => blockRecord(at, at + 1))),
    async (commit) => {
      commits += 1
      if (commits > 1) return writer.commit(commit)
      firstCommit.resolve()
      await until(() => Atomics.load(data.turn, 0) === 1, 'the other lane holds the thread')
      await writer.commit(commit)
      // Behind the message that the commit is done.
      setImmediate(release)
      return undefined
    },
  )
  const holding = laneLog(
    1,
    firstCommit.promise.then(() => [blockRecord(0, HOLDS_AT)]),
    (commit) => writer.commit(commit),
  )
  const order = { app: 'counting', chain: CHAIN }
  const runs = [threads.run(order, many, REPORTS), threads.run(order, holding, REPORTS)]
  try {
    await until(() => commits === 2, 'both commits of the lane')
    assert.deepEqual([...data.seen], [1, 0])
  } finally {
    release()
    over.abort(new Error('the test is over'))
    await Promise.allSettled(runs)
    await threads.close()
    await bus.close()
    rmSync(path, { recursive: true, force: true })
  }
})
