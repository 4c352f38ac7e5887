import { Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import { createRandom, type Random } from '../../../simulator/node/random.ts'
import { type ChainView, createNodeSource, type ScheduleChain } from './chain.ts'
import type { CallFault, EnvironmentCall, Fault } from './faults.ts'
import { isQuiescent, type QuiescenceParts } from './is-quiescent.ts'
import { SimulatedGroups } from './lanes.ts'
import { SimulatedLog } from './log.ts'
import {
  type CallEnvironment,
  type RunContext,
  type RunningProcess,
  type SharedResources,
  startProcess,
  waitMs,
} from './process.ts'
import type { SimulatedTime } from './time.ts'
import type { SimulatedWarehouse } from './warehouse.ts'

/** One run over a chain. */
export interface RunPlan extends SharedResources {
  readonly time: SimulatedTime
  readonly seed: number
  readonly chain: ScheduleChain
  readonly partitions: number
  /** Side by side; each runs the whole product. */
  readonly processes: number
  readonly faults: readonly Fault[]
  /** The stages begin when the ingestor is through, and the sinks behind them: the least that there is to do. */
  readonly inTurn?: boolean
  /** How blocks share commits. Default: as the product does. */
  readonly catchUp?: RunContext['catchUp']
  /** Default: a node that shows the chain's views at their times. */
  readonly source?: RunContext['source']
  readonly warehouse?: SimulatedWarehouse
}

/** What a run left behind. */
export interface RunOutcome {
  readonly shared: SimulatedLog
  /** What must not happen, whatever goes wrong outside; empty where all is well. */
  readonly problems: readonly string[]
  /** Faults that met a call. */
  readonly fired: readonly Fault[]
  readonly calls: number
  /** Commits of several block operations. */
  readonly groups: number
  /** Commits that were refused because the lane had another writer by then. */
  readonly fenced: number
  readonly simulatedMs: number
}

const STEP_MS = 5
const CHECK_INTERVAL_MS = 100
/** A run that is not calm so long after its last fault never will be. */
const QUIESCENCE_TIMEOUT_MS = 60_000

interface SimulatedProcess {
  readonly name: string
  readonly slot: number
  isDead: boolean
  isStopping: boolean
  frozenUntilMs: number
  running?: RunningProcess
}

type CallFaultOf = Extract<Fault, { readonly call: EnvironmentCall }>
type ArmedFault = CallFaultOf & { left: number }

const neverResolves = <T>(): Promise<T> => new Promise<T>(() => undefined)

const injectedOutage = (call: EnvironmentCall): Outage =>
  new Outage(
    call === 'node' ? 'rpc' : call === 'insert' ? 'warehouse' : 'bus',
    `no answer: ${call}`,
  )

/** How likely a call takes a moment: only where it makes others come between. */
const DELAY_PROBABILITY: Readonly<Partial<Record<EnvironmentCall, number>>> = {
  commit: 0.3,
  group: 0.3,
  insert: 0.3,
  node: 0.2,
  read: 0.2,
  writer: 0.2,
  state: 0.2,
  take: 0.03,
}

/** Processes over one log, one node and one warehouse, in simulated time. */
class Environment {
  readonly shared: SimulatedLog
  readonly problems: string[] = []
  readonly fired: Fault[] = []
  calls = 0
  groups = 0
  fenced = 0
  readonly #plan: RunPlan
  readonly #groups = new SimulatedGroups()
  readonly #random: Random
  readonly #startMs: number
  readonly #ended = new AbortController()
  readonly #parts: RunContext
  readonly #slots: (SimulatedProcess | undefined)[] = []
  readonly #waiting: Fault[]
  #armed: ArmedFault[] = []
  #started = 0
  /** What was planned for later and has not happened yet. */
  #pending = 0

  constructor(plan: RunPlan) {
    const { time, chain, seed, warehouse, inTurn } = plan
    this.#plan = plan
    this.#random = createRandom(seed, 3)
    this.#startMs = time.nowMs()
    this.#waiting = [...plan.faults]
    this.shared = new SimulatedLog('schedule', () => 0)
    const view = (): ChainView => this.#view()
    this.#parts = {
      codec: plan.codec,
      metrics: plan.metrics,
      shared: this.shared,
      groups: this.#groups,
      partitions: plan.partitions,
      facts: chain.facts,
      log: this.#log(),
      ...(warehouse && { warehouse }),
      ...(plan.catchUp && { catchUp: plan.catchUp }),
      ended: this.#ended.signal,
      source: plan.source ?? ((node) => createNodeSource({ facts: chain.facts, view }, node)),
      ...(inTurn && { calm: (parts: QuiescenceParts) => this.#calm(parts) }),
      onFatal: (error) => this.problems.push(`fatal: ${error}`),
    }
  }

  elapsedMs(): number {
    return this.#plan.time.nowMs() - this.#startMs
  }

  async run(): Promise<void> {
    const { time, processes, chain, partitions, warehouse } = this.#plan
    for (let slot = 0; slot < processes; slot += 1) {
      this.#after(slot === 0 ? 0 : this.#random.below(500), () => this.#start(slot))
    }
    const groups = { isSunk: warehouse !== undefined, partitions }
    let quietSinceMs = 0
    for (let lookMs = 0; this.problems.length === 0; ) {
      await time.step(STEP_MS)
      this.#arm()
      const nowMs = this.elapsedMs()
      if (nowMs < lookMs) continue
      lookMs = nowMs + CHECK_INTERVAL_MS
      if (!this.#isQuiet()) quietSinceMs = nowMs
      else if (isQuiescent(this.shared, chain.last, groups)) break
      const endMs = quietSinceMs + QUIESCENCE_TIMEOUT_MS
      if (nowMs > endMs)
        this.problems.push(`not calm ${QUIESCENCE_TIMEOUT_MS} ms after the last fault`)
    }
    for (const process of this.#slots) if (process) process.isDead = true
    this.#ended.abort(new Error('the run is over'))
    this.#groups.end()
    await time.step(0)
  }

  /** Nothing goes wrong any more, and the node shows its last block. */
  #isQuiet(): boolean {
    const { chain } = this.#plan
    const isStopping = this.#slots.some((process) => process?.isStopping && !process.isDead)
    // A fault for which no call comes is none.
    return (
      this.#waiting.length === 0 &&
      this.#pending === 0 &&
      !isStopping &&
      this.#view() === chain.last
    )
  }

  async #calm(parts: QuiescenceParts): Promise<void> {
    while (!isQuiescent(this.shared, this.#plan.chain.last, parts)) await waitMs(STEP_MS)
  }

  #view(): ChainView {
    const { views, last } = this.#plan.chain
    const nowMs = this.elapsedMs()
    return views.findLast(({ atMs }) => atMs <= nowMs) ?? last
  }

  #after(ms: number, work: () => void): void {
    this.#pending += 1
    setTimeout(() => {
      this.#pending -= 1
      work()
    }, ms)
  }

  #start(slot: number): void {
    this.#started += 1
    const name = `process ${this.#started}`
    const process: SimulatedProcess = {
      name,
      slot,
      isDead: false,
      isStopping: false,
      frozenUntilMs: 0,
    }
    this.#slots[slot] = process
    startProcess(name, this.#parts, this.#way(process)).then(
      (running) => {
        process.running = running
      },
      (error: unknown) => {
        if (!(error instanceof Outage)) this.problems.push(`${name} did not start: ${error}`)
        this.#end(process, 0, 100)
      },
    )
  }

  /** Ends a process as a kill does; the others notice after a while, and another one takes its place. */
  #end(process: SimulatedProcess, noticeMs: number, againMs: number): void {
    process.isDead = true
    this.#after(noticeMs, () => this.#groups.expire(process.name))
    this.#after(againMs, () => this.#start(process.slot))
  }

  #arm(): void {
    const nowMs = this.elapsedMs()
    for (let next = this.#waiting[0]; next && next.atMs <= nowMs; next = this.#waiting[0]) {
      this.#waiting.shift()
      if ('call' in next) this.#armed.push({ ...next, left: next.skip })
      else this.#happen(next)
    }
  }

  #happen(fault: Exclude<Fault, CallFaultOf>): void {
    this.fired.push(fault)
    const process = this.#slots[fault.slot]
    if (fault.kind === 'compaction') this.shared.compact()
    if (!process?.running || process.isDead || process.isStopping) return
    if (fault.kind === 'rebalance') {
      this.#groups.expire(process.name)
      void this.#groups.notice(process.name)
    } else if (fault.kind === 'restart') {
      process.isStopping = true
      void process.running.stop().then(() => {
        process.isStopping = false
        this.#end(process, 0, fault.forMs)
      })
    }
  }

  #way(process: SimulatedProcess): CallEnvironment {
    return async (call, work) => {
      if (process.isDead) return neverResolves()
      this.calls += 1
      if (call === 'group') this.groups += 1
      if (this.#random.chance(DELAY_PROBABILITY[call] ?? 0))
        await waitMs(1 + this.#random.below(30))
      const fault = this.#faultAt(call)
      if (fault === undefined && process.frozenUntilMs === 0) {
        return process.isDead ? neverResolves() : this.#noting(work)
      }
      await this.#thawed(process)
      if (process.isDead) return neverResolves()
      return fault === undefined ? this.#noting(work) : this.#faulty(process, fault, work)
    }
  }

  #noting<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (error instanceof Outage && / was fenced$/.test(error.message)) this.fenced += 1
      throw error
    }
  }

  async #thawed(process: SimulatedProcess): Promise<void> {
    await waitMs(process.frozenUntilMs - this.elapsedMs())
  }

  #faultAt(call: EnvironmentCall): CallFaultOf | undefined {
    if (this.#armed.length === 0) return undefined
    const met = this.#armed.find((fault) => fault.call === call)
    if (met === undefined) return undefined
    met.left -= 1
    if (met.left >= 0) return undefined
    this.#armed = this.#armed.filter((fault) => fault !== met)
    this.fired.push(met)
    return met
  }

  async #faulty<T>(process: SimulatedProcess, fault: CallFaultOf, work: () => T): Promise<T> {
    const { call, forMs, noticeMs } = fault
    const handlers: Readonly<Record<CallFault, () => Promise<T>>> = {
      refused: () => Promise.reject(injectedOutage(call)),
      'answer lost': async () => {
        work()
        throw injectedOutage(call)
      },
      'happens later': async () => {
        this.#after(forMs, () => ignoreErrors(work))
        throw injectedOutage(call)
      },
      slow: async () => {
        const answer = work()
        await waitMs(forMs)
        return process.isDead ? neverResolves() : answer
      },
      'crash before': async () => {
        this.#end(process, noticeMs, forMs)
        return neverResolves()
      },
      'crash after': async () => {
        ignoreErrors(work)
        this.#end(process, noticeMs, forMs)
        return neverResolves()
      },
      zombie: async () => {
        process.frozenUntilMs = this.elapsedMs() + forMs
        this.#groups.expire(process.name)
        this.#after(forMs + noticeMs, () => {
          if (!process.isDead) void this.#groups.notice(process.name)
        })
        await this.#thawed(process)
        return process.isDead ? neverResolves() : this.#noting(work)
      },
    }
    return handlers[fault.kind]()
  }

  /** Keeps what is said only where the input is broken, which no schedule does. */
  #log(): Logger {
    const quiet = (): void => undefined
    const error = (facts: { readonly err?: unknown }, message: string): void => {
      this.problems.push(`${message}: ${facts.err}`)
    }
    const log = { error, fatal: error, warn: quiet, info: quiet, debug: quiet, trace: quiet }
    return { ...log, child: () => log } as unknown as Logger
  }
}

/** What happens with nobody there to hear how it went. */
const ignoreErrors = (work: () => unknown): void => {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Outage)) throw error
  }
}

/** Runs a chain until everything is consumed and calm, or something has happened that must not. */
export const runEnvironment = async (plan: RunPlan): Promise<RunOutcome> => {
  const jitter = createRandom(plan.seed, 4)
  plan.time.seed(jitter.unit)
  const scenario = new Environment(plan)
  await scenario.run()
  const { shared, problems, fired, calls, groups, fenced } = scenario
  return { shared, problems, fired, calls, groups, fenced, simulatedMs: scenario.elapsedMs() }
}
