import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault, type FaultName } from '../../core/errors.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { PLANS } from '../../schemas/plans.ts'
import {
  createLimitedReads,
  emptyWork,
  queryWorkMilliUnits,
  type ReadStore,
} from '../../serving/queries/limited-reads.ts'
import { createQueryQueue, type QueryQueueLimits } from '../../serving/queries/query-queue.ts'

const LIMITS: QueryQueueLimits = {
  running: 3,
  runningPerOrg: 2,
  waiting: 6,
  waitingPerOrg: 4,
  waitMs: 60_000,
}

const fault = (name: FaultName) => (error: unknown) =>
  error instanceof Fault && error.faultName === name

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A gate whose work ends when the test says so. */
const heldGate = (limits: Partial<QueryQueueLimits> = {}) => {
  const gate = createQueryQueue({ ...LIMITS, ...limits })
  const entered: string[] = []
  const ends = new Map<string, () => void>()
  return {
    entered,
    enter: (org: string, name: string, signal?: AbortSignal): Promise<string> =>
      gate.run(
        org,
        () => {
          entered.push(name)
          return new Promise((resolve) => ends.set(name, () => resolve(name)))
        },
        signal,
      ),
    end: async (name: string) => {
      ends.get(name)?.()
      await settled()
    },
  }
}

test('query queue: one organization leaves a slot for another, and they take turns', async () => {
  const { enter, entered, end } = heldGate()
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => enter(name.charAt(0), name))
  await settled()
  assert.deepEqual(entered, ['a1', 'a2', 'b1'])
  for (const name of ['b1', 'a1', 'a2', 'b2', 'c1', 'a3', 'a4']) await end(name)
  assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'])
  assert.ok(entered.indexOf('c1') < entered.indexOf('a4'), entered.join())
})

test('query queue: an organization with too many waiting queries is refused; a full queue refuses everyone', async () => {
  const { enter, end } = heldGate()
  const mine = Array.from({ length: 6 }, (_, index) => enter('a', `a${index}`))
  await assert.rejects(enter('a', 'more'), fault('CONCURRENCY_LIMIT'))
  const others = ['b0', 'c0', 'd0'].map((name) => enter(name.charAt(0), name))
  await assert.rejects(enter('e', 'e0'), fault('SERVER_BUSY'))
  for (let round = 0; round < 9; round += 1) {
    for (const name of ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'b0', 'c0', 'd0']) await end(name)
  }
  await Promise.all([...mine, ...others])
})

test('a read that waits too long is refused with the code of its cause: own concurrency or server load', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { enter, end } = heldGate({ waitMs: 1_000 })
  const running = [enter('a', 'a1'), enter('a', 'a2'), enter('b', 'b1')]
  const mine = assert.rejects(enter('a', 'a3'), fault('CONCURRENCY_LIMIT'))
  const other = assert.rejects(enter('c', 'c1'), fault('SERVER_BUSY'))
  await settled()
  t.mock.timers.tick(1_000)
  await mine
  await other
  for (const name of ['a1', 'a2', 'b1']) await end(name)
  await Promise.all(running)
})

test('query queue: an aborted waiting query never runs, and a failed one frees its slot', async () => {
  const gate = createQueryQueue({ ...LIMITS, running: 1, runningPerOrg: 1 })
  const left = new AbortController()
  let end = (): void => undefined
  const first = gate.run('a', () => new Promise<void>((resolve) => (end = resolve)))
  const second = gate.run('b', async () => assert.fail('it had left'), left.signal)
  left.abort()
  await assert.rejects(second, { name: 'AbortError' })
  end()
  await first
  await assert.rejects(
    gate.run('a', async () => {
      throw new Error('failed')
    }),
    { message: 'failed' },
  )
  assert.equal(await gate.run('c', async () => 'in'), 'in')
})

test('a read has the budget and share of its plan, and its work is recorded', async () => {
  const seen: unknown[] = []
  const answer = { rows: [], body: Buffer.alloc(0), rowCount: 0, rowsRead: 0, elapsedMs: 0 }
  const store: ReadStore = {
    places: { point: 3, scan: 3, internal: 2 },
    query: async (_, options) => {
      seen.push(options)
      return answer
    },
    queryText: async () => answer,
  }
  const reads = createLimitedReads(store, {
    share: 'point',
    surface: 'rest',
    metrics: makeMetrics(),
  })
  const { signal } = new AbortController()
  const work = emptyWork()
  assert.equal(queryWorkMilliUnits(work), 0)
  await reads.query({ sql: 'SELECT 1' }, { orgId: 'a', plan: 'free', signal, work })
  assert.deepEqual(seen, [{ signal, budget: PLANS.free.budget, share: 'point' }])
  assert.equal(queryWorkMilliUnits(work), 100)
  assert.equal(queryWorkMilliUnits({ statements: 4, elapsedMs: 2_400 }), 300)
})

test('the metrics count the running and waiting statements of a surface', async () => {
  const metrics = makeMetrics()
  const ends: (() => void)[] = []
  const store = {
    places: { point: 1, scan: 1 },
    query: () =>
      new Promise((resolve) => {
        ends.push(() => resolve({ rows: [] }))
      }),
  } as unknown as ReadStore
  const limits = { ...LIMITS, running: 2, runningPerOrg: 2 }
  const reads = createLimitedReads(store, { share: 'point', surface: 'rest', metrics, limits })
  const ask = () =>
    reads.query(
      { sql: 'SELECT 1', params: {} },
      { orgId: 'a', plan: 'free', signal: new AbortController().signal, work: emptyWork() },
    )
  const values = async () => {
    const found = (await metrics.registry.getMetricsAsJSON()).filter(({ name }) =>
      name.startsWith('sluice_query_'),
    )
    return Object.fromEntries(
      found.flatMap(({ name, values: [first] }) => (first ? [[name, first.value]] : [])),
    )
  }
  const all = [ask(), ask(), ask()]
  await settled()
  assert.deepEqual(await values(), {
    sluice_query_running: 2,
    sluice_query_waiting: 1,
    sluice_query_waiting_limit: LIMITS.waiting,
  })
  while (ends.length > 0) {
    ends.shift()?.()
    await settled()
  }
  await Promise.all(all)
  assert.deepEqual(await values(), {
    sluice_query_running: 0,
    sluice_query_waiting: 0,
    sluice_query_waiting_limit: LIMITS.waiting,
  })
})

test('a process has one queue of a surface: a second one is refused', () => {
  const metrics = makeMetrics()
  const store = { places: { point: 4, scan: 4 } } as unknown as ReadStore
  const make = (surface: string) => createLimitedReads(store, { share: 'point', surface, metrics })
  make('rest')
  make('streams')
  assert.throws(() => make('rest'), /sluice_query_running\{"surface":"rest"\} is observed twice/)
})
