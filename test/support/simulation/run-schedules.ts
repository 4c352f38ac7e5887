import { localCodec } from '../../../core/codec/local-codec.ts'
import { type Metrics, makeMetrics } from '../../../core/ops/metrics.ts'
import type { CatchUp } from '../../../ingestors/start.ts'
import { createRandom } from '../../../simulator/node/random.ts'
import { type ChainView, createScheduleChain } from './chain.ts'
import {
  deadLetters,
  exactDifferences,
  tableDifferences,
  topicDifferences,
  toRecordedSource,
} from './compare-runs.ts'
import { type RunOutcome, runEnvironment } from './environment.ts'
import { createFaults, formatFault } from './faults.ts'
import { startSimulatedTime } from './time.ts'
import { replacingTables, SimulatedWarehouse } from './warehouse.ts'

/** What came of one schedule. */
export interface ScheduleReport {
  readonly seed: number
  /** Empty: it held. */
  readonly problems: readonly string[]
  /** Faults that happened, in words. */
  readonly fired: readonly string[]
  readonly blocks: number
  readonly reorgs: number
  readonly operations: number
}

/** A drill: its schedules run one after the other, each a function of its seed alone. */
export interface ScheduleRunner {
  run(seed: number): Promise<ScheduleReport>
  /** What all of them did together, by name. */
  totals(): Readonly<Record<string, number>>
}

/** Metrics whose observers all end at once: a process that a fault ends leaves its own behind, with all that they refer to. */
const trackObservers = (metrics: Metrics) => {
  const ends = new Set<() => void>()
  const observe: Metrics['observe'] = (...observed) => {
    const end = metrics.observe(...observed)
    ends.add(end)
    return end
  }
  const end = (): void => {
    for (const endOne of ends) endOne()
  }
  return { metrics: { ...metrics, observe }, end }
}

/** Puts this process on simulated time and makes what all schedules share. */
export const createScheduleRunner = (): ScheduleRunner => {
  const [codec, metrics, tables] = [localCodec(), makeMetrics(), replacingTables()]
  const time = startSimulatedTime()
  const totals = new Map<string, number>()
  const count = (name: string, by = 1): void => void totals.set(name, (totals.get(name) ?? 0) + by)
  const run = async (seed: number): Promise<ScheduleReport> => {
    const chain = createScheduleChain(seed)
    const partitions = 1 + createRandom(seed, 5).below(3)
    const observers = trackObservers(metrics)
    const shared = { codec, metrics: observers.metrics, time, seed, partitions }
    const last: ChainView = { ...chain.last, atMs: 0 }
    const straight = { ...chain, views: [last], last }
    const [wantRows, gotRows] = [1, 2].map(() => new SimulatedWarehouse('eth', tables)) as [
      SimulatedWarehouse,
      SimulatedWarehouse,
    ]
    const alone = { catchUp: { operations: 1 } }
    const calm = { ...shared, ...alone, processes: 1, faults: [], inTurn: true }
    const clean = await runEnvironment({ ...calm, chain: straight, warehouse: wantRows })
    const faults = createFaults(seed, chain.last.atMs)
    const disturbed = await runEnvironment({
      ...shared,
      chain,
      processes: 2,
      faults,
      warehouse: gotRows,
      catchUp: createCatchUp(seed),
    })
    const problems = [
      ...describeProblems('clean', clean),
      ...describeProblems('disturbed', disturbed),
    ]
    if (problems.length === 0) {
      const source = () => toRecordedSource(disturbed.shared, chain)
      // Of a compacted range less may be left than was inserted: what a later record replaced.
      const isCompacted = faults.some(({ kind }) => kind === 'compaction')
      const again = await runEnvironment({ ...calm, chain: straight, source })
      const logs = { got: disturbed.shared, want: clean.shared }
      problems.push(
        ...describeProblems('again', again),
        ...deadLetters(disturbed.shared),
        ...(await topicDifferences(logs, { codec, chain })),
        ...tableDifferences({ got: gotRows, want: wantRows }),
        ...(isCompacted ? [] : gotRows.clashes),
        ...exactDifferences({ got: disturbed.shared, want: again.shared }, codec),
      )
    }
    observers.end()
    const operations = disturbed.shared.ends('eth.blocks')[0]?.end ?? 0
    count('blocks', chain.last.blocks.length)
    count('reorgs', chain.reorgs)
    count('operations', operations)
    count('calls', disturbed.calls)
    count('groups', disturbed.groups)
    count('fencedCommits', disturbed.fenced)
    count('simulatedSeconds', Math.round(disturbed.simulatedMs / 1e3))
    for (const fault of disturbed.fired) {
      count(fault.kind)
      if ('call' in fault && fault.call === 'group') count('faultsOfGroups')
    }
    return {
      seed,
      problems,
      fired: disturbed.fired.map(formatFault),
      blocks: chain.last.blocks.length,
      reorgs: chain.reorgs,
      operations,
    }
  }
  return { run, totals: () => Object.fromEntries(totals) }
}

/** How the blocks of a seed share commits: as the product does, or up to so many of them wherever they are. */
const createCatchUp = (seed: number): Partial<CatchUp> => {
  const random = createRandom(seed, 6)
  if (random.chance(0.2)) return {}
  return {
    operations: 1 + random.below(12),
    records: 20 + random.below(400),
    waitMs: 10 + random.below(400),
    liveLag: random.below(4) - 1,
  }
}

const describeProblems = (name: string, { problems }: RunOutcome): readonly string[] =>
  problems.map((problem) => `${name} run: ${problem}`)
