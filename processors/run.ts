import { once } from 'node:events'
import type {
  Bus,
  GroupOffset,
  Lane,
  LogRecord,
  OutRecord,
  Running,
  StateChange,
} from '../core/bus-contract.ts'
import type { Codec } from '../core/codec-contract.ts'
import { Malformed } from '../core/fault.ts'
import type { Logger } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import { stateTopic, topicName } from '../schemas/topics.ts'
import type { EventMeta } from '../schemas/wire.ts'
import { deadLetter, orPoison, placeByHeaders } from './dead-letter.ts'
import { type Aligned, type Aligner, makeAligner, type Progress } from './operations.ts'
import {
  decodeInput,
  emptyInput,
  type Flushed,
  type InputRecord,
  type InputTopic,
  type Operation,
  type Publication,
  SPANS_OF,
  type Stage,
} from './stage.ts'

/** What every stage and sink works with. */
export interface ProcessDeps {
  readonly chain: string
  readonly bus: Bus
  readonly codec: Codec
  readonly metrics: Metrics
  readonly log: Logger
}

/** How far a lane of a stage or sink is. */
export interface LaneStatus {
  readonly partition: number
  /** Newest operation folded; null before the first. */
  readonly seq: number | null
  readonly height: number
  /** Block time of that operation. */
  readonly blockTimeMs: number
  /** Why the lane cannot go on; it stays where it is. */
  readonly halted?: string
}

/** A running stage or sink. */
export interface StageRunning extends Running {
  readonly group: string
  lanes(): readonly LaneStatus[]
}

const TAKE = { maxRecords: 2_000, maxWaitMs: 250 }
/** Records of one topic that may wait for the others. */
const MOST_WAITING = 4_000
/** Operations of one commit. */
const MOST_OPERATIONS = 256
const PROGRESS = 'progress'
const BEFORE_ALL: Progress = { seq: null, blocksNext: 0 }

interface Arrived {
  readonly record: LogRecord
  readonly input: InputTopic
  readonly decoded: InputRecord | Malformed
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

const progressOf = (bytes: Uint8Array | undefined): Progress =>
  bytes === undefined ? BEFORE_ALL : JSON.parse(textOf(bytes))

const headersOf = (meta: EventMeta): Record<string, string> => ({
  seq: String(meta.seq),
  op: meta.op === 'OP_REVERT' ? 'R' : meta.op === 'OP_FINALIZE' ? 'F' : 'A',
  part: `${meta.part}/${meta.parts}`,
  chain: meta.chain,
  height: String(meta.height),
  hash: meta.hash,
  ct: 'application/vnd.confluent.avro',
})

const encoded = (codec: Codec, publication: Publication): Buffer => {
  switch (publication.message) {
    case 'dex.trade.TradeEvents':
      return codec.encode(publication.message, publication.value)
    case 'dex.pool.DexPoolEvents':
      return codec.encode(publication.message, publication.value)
    case 'token.TokenEvents':
      return codec.encode(publication.message, publication.value)
    case 'candlestick.CandlestickEvents':
      return codec.encode(publication.message, publication.value)
  }
}

const operationOf = ({ block, arrivals }: Aligned<Arrived>): Operation => ({
  block,
  records: arrivals.map(({ value: { record, input, decoded }, part }, index) => {
    const meta = { ...block.meta, part: part ?? index }
    const taken = decoded instanceof Malformed ? emptyInput(input, meta) : decoded
    return { ...taken, key: record.key, part: part ?? taken.value.meta?.part ?? index }
  }),
})

class StageLane {
  readonly #stage: Stage
  readonly #deps: ProcessDeps
  readonly #lane: Lane
  readonly #report: (status: LaneStatus) => void
  readonly #inputs: ReadonlyMap<string, InputTopic>
  readonly #blocks: string
  #status: LaneStatus

  constructor(stage: Stage, deps: ProcessDeps, lane: Lane, report: (status: LaneStatus) => void) {
    this.#stage = stage
    this.#deps = deps
    this.#lane = lane
    this.#report = report
    this.#inputs = new Map(stage.inputs.map((input) => [topicName(input, deps.chain), input]))
    this.#blocks = topicName('blocks', deps.chain)
    this.#status = { partition: lane.partition, seq: null, height: 0, blockTimeMs: 0 }
  }

  async run(): Promise<void> {
    const { chain } = this.#deps
    const state = await this.#lane.state(stateTopic(this.#stage.app, chain))
    const progress = progressOf(state.get(PROGRESS))
    this.#status = { ...this.#status, seq: progress.seq }
    this.#report(this.#status)
    const entries = function* (): Iterable<readonly [string, string]> {
      for (const [key, bytes] of state.entries()) if (key !== PROGRESS) yield [key, textOf(bytes)]
    }
    const folding = this.#stage.load(entries())
    const aligner = makeAligner<Arrived>({
      blocksTopic: this.#blocks,
      partition: this.#lane.partition,
      inputs: [...this.#inputs].map(([topic, input]) => ({
        topic,
        spansOf: topicName(SPANS_OF[input], chain),
      })),
      progress,
    })
    while (!this.#lane.signal.aborted) {
      const without = aligner.ahead(MOST_WAITING)
      for (const record of await this.#lane.take({ ...TAKE, without })) this.#push(aligner, record)
      for (;;) {
        const ready = readyOf(aligner)
        if (ready.length === 0) break
        for (const aligned of ready) folding.step(operationOf(aligned))
        await this.#commit(aligner, ready, folding.flush())
      }
    }
  }

  halted(error: Malformed): void {
    this.#report({ ...this.#status, halted: `${error.reason}: ${error.message}` })
  }

  #push(aligner: Aligner<Arrived>, record: LogRecord): void {
    const { codec } = this.#deps
    if (record.topic === this.#blocks) {
      if (record.value === null) throw new Malformed('blocks', 'a block operation without a body')
      aligner.pushBlock(record.offset, codec.decode('block.BlockEvent', record.value))
      return
    }
    const input = this.#inputs.get(record.topic)
    if (input === undefined) throw new Malformed('topic', `${record.topic} is no input`)
    const poisonOr = orPoison(() => decodeInput(codec, input, record.value))
    const decoded = poisonOr instanceof Malformed ? poisonOr : poisonOr.value
    const place =
      decoded instanceof Malformed
        ? placeByHeaders(record)
        : { seq: decoded.value.meta?.seq ?? null, part: decoded.value.meta?.part ?? null }
    const { topic, offset } = record
    aligner.push({ topic, offset, ...place, value: { record, input, decoded } })
  }

  async #commit(
    aligner: Aligner<Arrived>,
    ready: readonly Aligned<Arrived>[],
    flushed: Flushed,
  ): Promise<void> {
    const { chain, metrics } = this.#deps
    const { partition } = this.#lane
    const { app } = this.#stage
    const group = `${app}.${chain}`
    const { offsets, progress } = aligner.position()
    const store = stateTopic(app, chain)
    const change = (key: string, value: string | null): StateChange => ({
      store,
      partition,
      key,
      value: value === null ? null : Buffer.from(value),
    })
    const next: GroupOffset[] = [...offsets].map(([topic, offset]) => ({
      topic,
      partition,
      offset,
    }))
    await this.#lane.writer.commit({
      records: [...this.#outRecords(flushed.publications), ...this.#deadLetters(group, ready)],
      state: [
        ...flushed.changes.map(([key, value]) => change(key, value)),
        change(PROGRESS, JSON.stringify(progress)),
      ],
      offsets: { group, next },
    })
    const records = ready.reduce((sum, { arrivals }) => sum + arrivals.length, 0)
    metrics.recordsProcessed.inc({ app: group }, records)
    this.#advance(ready)
  }

  #outRecords(publications: readonly Publication[]): readonly OutRecord[] {
    const { chain, codec } = this.#deps
    const topic = topicName(this.#stage.output, chain)
    return publications.map((publication) => ({
      topic,
      partition: this.#lane.partition,
      key: publication.key,
      value: encoded(codec, publication),
      ...(publication.value.meta && { headers: headersOf(publication.value.meta) }),
    }))
  }

  #deadLetters(group: string, ready: readonly Aligned<Arrived>[]): readonly OutRecord[] {
    const { log, metrics } = this.#deps
    return ready.flatMap(({ arrivals }) =>
      arrivals.flatMap(({ value: { record, decoded } }) => {
        if (!(decoded instanceof Malformed)) return []
        metrics.eventsDropped.inc({ stage: this.#stage.app, reason: decoded.reason })
        log.error({ group, topic: record.topic, offset: record.offset, err: decoded }, 'poison')
        return [deadLetter(group, record, decoded)]
      }),
    )
  }

  #advance(ready: readonly Aligned<Arrived>[]): void {
    const newest = ready.at(-1)?.block.meta
    if (newest === undefined) return
    const { seq, height, block_time: blockTimeMs } = newest
    const app = `${this.#stage.app}.${this.#deps.chain}`
    this.#deps.metrics.processLagSeconds.set({ app }, Math.max(0, Date.now() - blockTimeMs) / 1_000)
    this.#status = { partition: this.#lane.partition, seq, height, blockTimeMs }
    this.#report(this.#status)
  }
}

const readyOf = (aligner: Aligner<Arrived>): readonly Aligned<Arrived>[] => {
  const ready: Aligned<Arrived>[] = []
  for (let records = 0; ready.length < MOST_OPERATIONS && records < TAKE.maxRecords; ) {
    const next = aligner.next()
    if (next === undefined) break
    ready.push(next)
    records += next.arrivals.length
  }
  return ready
}

/** Stays until the lane is taken away: what is wrong with its input does not get better by trying again. */
const standStill = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort')
}

/**
 * Runs a stage over a chain: every lane loads its state, folds block operations and commits publications, state and
 * offsets together. A lane whose input breaks the contract halts with its reason in `lanes()`.
 */
export const startStage = async (stage: Stage, deps: ProcessDeps): Promise<StageRunning> => {
  const { chain, bus, log } = deps
  const group = `${stage.app}.${chain}`
  const statuses = new Map<number, LaneStatus>()
  const running = await bus.subscribe({
    group,
    topics: stage.inputs.map((input) => topicName(input, chain)),
    broadcast: [topicName('blocks', chain)],
    broadcastFrom: async (lane) => {
      const state = await lane.state(stateTopic(stage.app, chain))
      return progressOf(state.get(PROGRESS)).blocksNext
    },
    run: async (lane) => {
      const work = new StageLane(stage, deps, lane, (status) =>
        statuses.set(lane.partition, status),
      )
      try {
        await work.run()
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        log.error({ group, partition: lane.partition, err: error }, 'lane halted')
        work.halted(error)
        await standStill(lane.signal)
      }
    },
  })
  return { group, lanes: () => [...statuses.values()], stop: () => running.stop() }
}
