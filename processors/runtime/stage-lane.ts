import type {
  GroupOffset,
  Lane,
  LaneCommit,
  LaneState,
  LogRecord,
  ProducerRecord,
  StateChange,
} from '../../core/bus/contract.ts'
import { deadLetterRecord, positionFromHeaders, tryDecode } from '../../core/bus/dead-letters.ts'
import type { Codec, DeepPartial } from '../../core/codec/contract.ts'
import { recordHeaders } from '../../core/codec/record-headers.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import { stateTopic, TOPICS, topicName } from '../../schemas/topics.ts'
import {
  type AlignedOperation,
  type BlockAligner,
  createBlockAligner,
  type LaneProgress,
} from './block-aligner.ts'
import {
  decodeInput,
  emptyInputRecord,
  type InputRecord,
  type InputTopic,
  isInputTopic,
} from './decode-input.ts'
import {
  type FlushResult,
  type Operation,
  type Publication,
  REPARTITIONED_TOPICS,
  type Stage,
  type StageState,
  type TopicValue,
} from './stage.ts'

/** How far a lane of a stage or sink is. */
export interface LaneStatus {
  readonly partition: number
  /** Newest operation folded; null before the first. */
  readonly seq: number | null
  readonly height: number
  /** Block time of that operation. */
  readonly blockTimeMs: number
  /** Why the lane cannot continue; it stays where it is. */
  readonly halted?: string
}

/** The bus's lane as a stage uses it: in the thread of the bus, or in another one. */
export interface StageLaneLog extends Pick<Lane, 'partition' | 'signal' | 'state' | 'take'> {
  /** Publications, state and offsets at once; throws when the lane is not ours any more. */
  commit(commit: LaneCommit): Promise<unknown>
}

/** What a lane reports while it runs. */
export interface LaneReports {
  status(status: LaneStatus): void
  /** Records of the log that the newest commit covers. */
  committed(records: number): void
  /** A record went to the dead-letter topic. */
  undecodable(record: Pick<LogRecord, 'topic' | 'offset'>, error: InvalidInput): void
}

/** What a lane folds with. */
export interface StageLaneDeps {
  readonly chain: string
  readonly codec: Codec
  /** Quote assets of the chain with the configured ones; absent: the chain's own table. */
  readonly quoteAssets?: QuoteAssets
}

const FETCH_LIMITS = { maxRecords: 2_000, maxWaitMs: 250 }
/** Records of one topic that may wait for the others. */
const MAX_PENDING_RECORDS = 4_000
/** Operations of one commit. */
const MAX_OPERATIONS_PER_COMMIT = 256
const PROGRESS_KEY = 'progress'
/** Prefix of what the stage keeps, beside the lane's own progress. */
const STATE_PREFIX = 's/'
const INITIAL_PROGRESS: LaneProgress = { seq: null, blocksNext: 0 }

/** The change of a lane's state that makes it continue behind an operation. */
export const progressStateChange = (
  app: string,
  chain: string,
  partition: number,
  progress: LaneProgress,
): StateChange => ({
  store: stateTopic(app, chain),
  partition,
  key: PROGRESS_KEY,
  value: Buffer.from(JSON.stringify(progress)),
})

interface FetchedRecord {
  readonly record: LogRecord
  readonly input: InputTopic
  readonly decoded: InputRecord | InvalidInput
}

const utf8Text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

const parseProgress = (bytes: Uint8Array | undefined): LaneProgress =>
  bytes === undefined ? INITIAL_PROGRESS : JSON.parse(utf8Text(bytes))

/** The parent of a block is told by its own record in `{c}.blocks`. */
const encodePublication = (codec: Codec, { topic, value }: Publication): Buffer => {
  const { meta, ...body } = value
  return codec.encode(TOPICS[topic].message, {
    meta: meta && { ...meta, parent_hash: '' },
    ...body,
  } as DeepPartial<TopicValue<typeof topic>>)
}

/** Where a lane reads the chain's block operations from: behind the newest that its state holds. */
export const blocksOffset = async (
  lane: Pick<Lane, 'state'>,
  { app }: Pick<Stage, 'app'>,
  chain: string,
): Promise<number> => {
  const state = await lane.state(stateTopic(app, chain))
  return parseProgress(state.get(PROGRESS_KEY)).blocksNext
}

/** A lane's store as the stage reads it: texts, and nothing of the lane's own. */
const stageStateView = (state: LaneState): StageState => ({
  get: (key) => {
    const bytes = state.get(STATE_PREFIX + key)
    return bytes && utf8Text(bytes)
  },
  *entries(prefix) {
    for (const [key, bytes] of state.entries(STATE_PREFIX + prefix)) {
      yield [key.slice(STATE_PREFIX.length), utf8Text(bytes)]
    }
  },
})

const toOperation = ({ block, arrivals }: AlignedOperation<FetchedRecord>): Operation => ({
  block,
  records: arrivals.map(({ value: { record, input, decoded }, part }, index) => {
    const meta = { ...block.meta, part: part ?? index }
    const taken = decoded instanceof InvalidInput ? emptyInputRecord(input, meta) : decoded
    return { ...taken, key: record.key, part: part ?? taken.value.meta?.part ?? index }
  }),
})

/** One lane of a stage: aligns records into block operations, folds them, and commits what follows from them. */
export class StageLane {
  readonly #stage: Stage
  readonly #deps: StageLaneDeps
  readonly #lane: StageLaneLog
  readonly #reports: LaneReports
  readonly #inputs: ReadonlyMap<string, InputTopic>
  readonly #blocks: string
  #status: LaneStatus

  constructor(stage: Stage, deps: StageLaneDeps, lane: StageLaneLog, reports: LaneReports) {
    this.#stage = stage
    this.#deps = deps
    this.#lane = lane
    this.#reports = reports
    this.#inputs = inputTopics(stage, deps.chain)
    this.#blocks = topicName('blocks', deps.chain)
    this.#status = { partition: lane.partition, seq: null, height: 0, blockTimeMs: 0 }
  }

  /** Runs until the lane is taken away. Throws `InvalidInput` for input that breaks the contract of the log. */
  async run(): Promise<void> {
    const { chain } = this.#deps
    const state = await this.#lane.state(stateTopic(this.#stage.app, chain))
    const progress = parseProgress(state.get(PROGRESS_KEY))
    this.#status = { ...this.#status, seq: progress.seq }
    this.#reports.status(this.#status)
    const folding = this.#stage.load(stageStateView(state), this.#deps.quoteAssets)
    const aligner = createBlockAligner<FetchedRecord>({
      blocksTopic: this.#blocks,
      partition: this.#lane.partition,
      inputs: [...this.#inputs.keys()].map((topic) => ({ topic, spansOf: topic })),
      progress,
    })
    while (!this.#lane.signal.aborted) {
      const without = aligner.ahead(MAX_PENDING_RECORDS)
      const records = await this.#lane.take({ ...FETCH_LIMITS, without })
      const rest = makeYieldIfDue()
      for (const record of records) {
        this.#push(aligner, record)
        const others = rest()
        if (others) await others
      }
      for (;;) {
        const ready = takeReadyOperations(aligner)
        if (ready.length === 0) break
        const published: Publication[] = []
        for (const aligned of ready) {
          published.push(...folding.step(toOperation(aligned)))
          await rest()
        }
        const { publications, changes } = folding.flush()
        await rest()
        await this.#commit(aligner, ready, {
          publications: [...published, ...publications],
          changes,
        })
      }
    }
  }

  #push(aligner: BlockAligner<FetchedRecord>, record: LogRecord): void {
    const { codec } = this.#deps
    if (record.topic === this.#blocks) {
      if (record.value === null)
        throw new InvalidInput('blocks', 'a block operation without a body')
      aligner.pushBlock(record.offset, codec.decode('block.BlockEvent', record.value))
      return
    }
    const input = this.#inputs.get(record.topic)
    if (input === undefined) throw new InvalidInput('topic', `${record.topic} is not an input`)
    const decodeResult = tryDecode(() => decodeInput(codec, input, record.value))
    const decoded = decodeResult instanceof InvalidInput ? decodeResult : decodeResult.value
    const place =
      decoded instanceof InvalidInput
        ? positionFromHeaders(record)
        : { seq: decoded.value.meta?.seq ?? null, part: decoded.value.meta?.part ?? null }
    const { topic, offset } = record
    aligner.push({ topic, offset, ...place, value: { record, input, decoded } })
  }

  async #commit(
    aligner: BlockAligner<FetchedRecord>,
    ready: readonly AlignedOperation<FetchedRecord>[],
    flushed: FlushResult,
  ): Promise<void> {
    const { chain } = this.#deps
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
    await this.#lane.commit({
      records: [...this.#outRecords(flushed.publications), ...this.#deadLetters(group, ready)],
      state: [
        ...flushed.changes.map(([key, value]) => change(STATE_PREFIX + key, value)),
        progressStateChange(app, chain, partition, progress),
      ],
      offsets: { group, next },
    })
    const records = ready.reduce((sum, { arrivals }) => sum + arrivals.length, 0)
    this.#reports.committed(records)
    this.#advance(ready)
  }

  #outRecords(publications: readonly Publication[]): readonly ProducerRecord[] {
    const { chain, codec } = this.#deps
    const { partition } = this.#lane
    return publications.map((publication) => {
      const { topic, key, value } = publication
      const headers = value.meta && recordHeaders(value.meta)
      return {
        topic: topicName(topic, chain),
        key,
        value: encodePublication(codec, publication),
        ...(REPARTITIONED_TOPICS.has(topic)
          ? { headers: { ...headers, src: String(partition) } }
          : { partition, ...(headers && { headers }) }),
      }
    })
  }

  #deadLetters(
    group: string,
    ready: readonly AlignedOperation<FetchedRecord>[],
  ): readonly ProducerRecord[] {
    return ready.flatMap(({ arrivals }) =>
      arrivals.flatMap(({ value: { record, decoded } }) => {
        if (!(decoded instanceof InvalidInput)) return []
        this.#reports.undecodable(record, decoded)
        return [deadLetterRecord(group, record, decoded)]
      }),
    )
  }

  #advance(ready: readonly AlignedOperation<FetchedRecord>[]): void {
    const newest = ready.at(-1)?.block.meta
    if (newest === undefined) return
    const { seq, height, block_time: blockTimeMs } = newest
    this.#status = { partition: this.#lane.partition, seq, height, blockTimeMs }
    this.#reports.status(this.#status)
  }
}

/** Inputs of a stage by full name. Throws for one that no stage writes to the log. */
export const inputTopics = (stage: Stage, chain: string): ReadonlyMap<string, InputTopic> =>
  new Map(
    stage.inputs.map((input) => {
      if (!isInputTopic(input))
        throw new Error(`${stage.app} reads ${input}, which no ingestor writes`)
      return [topicName(input, chain), input]
    }),
  )

const takeReadyOperations = (
  aligner: BlockAligner<FetchedRecord>,
): readonly AlignedOperation<FetchedRecord>[] => {
  const ready: AlignedOperation<FetchedRecord>[] = []
  for (
    let records = 0;
    ready.length < MAX_OPERATIONS_PER_COMMIT && records < FETCH_LIMITS.maxRecords;
  ) {
    const next = aligner.next()
    if (next === undefined) break
    ready.push(next)
    records += next.arrivals.length
  }
  return ready
}
