import type {
  Bus,
  GroupOffset,
  LogRecord,
  PartitionBounds,
  StateChange,
} from '../../core/bus/contract.ts'
import { progressStateChange } from '../../processors/runtime/stage-lane.ts'
import {
  type ConsumerGroup,
  chainGroups,
  lostOffsets,
  SHARED_GROUPS,
} from '../checksum/consumer-lag.ts'
import { type BlockOperation, type BlockTopic, openBlockTopic } from './block-operations.ts'
import type { LogInfra } from './infra.ts'

/** Where lanes continue: at the first record that the log still holds for all of their inputs, or at what comes next. */
export type ResumeFrom = 'earliest' | 'now'

/** What one lane will not read of one topic. */
export interface LostRecords {
  readonly topic: string
  readonly partition: number
  /** Position of the lane, and where it would continue. */
  readonly place: number
  readonly next: number
  /** Offsets between: records, and on a Kafka log transaction marks. */
  readonly offsets: number
}

/** A lane whose position left the log, and how it can continue. */
export interface LostLane {
  readonly group: string
  readonly partition: number
  readonly records: readonly LostRecords[]
  /** First operation that is skipped; null where the log cannot say. */
  readonly first: BlockOperation | null
  /** First operation that is read again; null when it has not come yet. */
  readonly next: BlockOperation | null
  /** What sets the lane's new position. */
  readonly offsets: readonly GroupOffset[]
  readonly state: readonly StateChange[]
}

interface LostLaneSearch extends LogInfra {
  readonly from: ResumeFrom
}

/** Lanes of a chain whose position left the log; of the groups that all chains share where `chain` is null. Throws `Outage`. */
export const lostLanes = async (
  { bus, codec, from }: LostLaneSearch,
  chain: string | null,
): Promise<readonly LostLane[]> => {
  const held = new Set(await bus.topics(''))
  const blocks = chain === null ? undefined : await openBlockTopic({ bus, codec }, chain)
  const groups = (chain === null ? SHARED_GROUPS : chainGroups(chain)).filter(({ topics }) =>
    topics.every((topic) => held.has(topic)),
  )
  const lanes: LostLane[] = []
  for (const group of groups) {
    for (const lane of await readLanes(bus, group)) {
      const isLost =
        lane.inputs.some(({ lost }) => lost > 0) ||
        (group.stage !== undefined &&
          blocks !== undefined &&
          (await isMissingBlocks(bus, lane, blocks)))
      if (isLost) lanes.push(await planResume({ bus, from, chain, blocks }, group, lane))
    }
  }
  return lanes
}

interface LaneInput {
  readonly topic: string
  readonly partition: number
  readonly position: number
  readonly ends: PartitionBounds
  readonly lost: number
}

interface LaneInputs {
  readonly partition: number
  readonly inputs: readonly LaneInput[]
}

/** Lanes of a group that have committed anything, with the positions of all their inputs. */
const readLanes = async (
  bus: Bus,
  { group, topics }: ConsumerGroup,
): Promise<readonly LaneInputs[]> => {
  const committed = await bus.offsets(group, topics)
  const ends = new Map<string, readonly PartitionBounds[]>()
  for (const topic of topics) ends.set(topic, await bus.ends(topic))
  const partitions = [...new Set(committed.map(({ partition }) => partition))]
  return partitions
    .toSorted((a, b) => a - b)
    .map((partition) => ({
      partition,
      inputs: topics.flatMap((topic) => {
        const own = ends.get(topic)?.find((each) => each.partition === partition)
        if (own === undefined) return []
        const last = committed.find((at) => at.topic === topic && at.partition === partition)
        const position = last?.offset ?? own.low
        return [{ topic, partition, position, ends: own, lost: lostOffsets(position, own) }]
      }),
    }))
}

const firstRecord = async (
  bus: Bus,
  { topic, partition, ends }: LaneInput,
  from: number,
): Promise<LogRecord | undefined> => {
  for await (const record of bus.read(topic, partition, from, ends.end)) return record
  return undefined
}

const seqOf = (record: LogRecord | undefined): number | undefined => {
  const seq = Number(record?.headers.seq ?? Number.NaN)
  return Number.isSafeInteger(seq) ? seq : undefined
}

/** True when the block operation of the next record is gone, although the record is there. */
const isMissingBlocks = async (
  bus: Bus,
  { inputs }: LaneInputs,
  { oldest }: BlockTopic,
): Promise<boolean> => {
  for (const input of inputs) {
    const seq = seqOf(await firstRecord(bus, input, Math.max(input.position, input.ends.low)))
    if (seq !== undefined && oldest !== null && seq < oldest.seq) return true
  }
  return false
}

interface ResumeContext {
  readonly bus: Bus
  readonly from: ResumeFrom
  readonly chain: string | null
  readonly blocks: BlockTopic | undefined
}

const planResume = async (
  { bus, from, chain, blocks }: ResumeContext,
  { group, stage }: ConsumerGroup,
  { partition, inputs }: LaneInputs,
): Promise<LostLane> => {
  const first = blocks ? await firstLostOperation(blocks, inputs) : null
  if (stage === undefined || chain === null || blocks === undefined) {
    const moved = inputs.map((input) => ({ input, next: nextIndependentOffset(input, from) }))
    const at = moved.find(({ input }) => input.lost > 0)
    const record = at && (await firstRecord(bus, at.input, at.next))
    const seq = seqOf(record)
    const next = seq === undefined || !blocks ? null : await blocks.at(seq)
    return { ...laneChanges(group, partition, moved), first, next, state: [] }
  }
  const seq = await resumeSeq({ bus, from, blocks }, inputs)
  const moved: MovedInput[] = []
  for (const input of inputs) moved.push({ input, next: await offsetOfSeq(bus, input, seq) })
  const next = await blocks.at(seq)
  const blocksNext = next?.offset ?? blocks.end
  const state = [progressStateChange(stage, chain, partition, { seq: seq - 1, blocksNext })]
  return { ...laneChanges(group, partition, moved), first, next, state }
}

interface MovedInput {
  readonly input: LaneInput
  readonly next: number
}

const laneChanges = (
  group: string,
  partition: number,
  moved: readonly MovedInput[],
): Pick<LostLane, 'group' | 'partition' | 'records' | 'offsets'> => ({
  group,
  partition,
  records: moved
    .filter(({ input, next }) => next !== input.position)
    .map(({ input: { topic, position, ends, lost }, next }) => ({
      topic,
      partition,
      place: position,
      next,
      offsets: position > ends.end ? lost : next - position,
    })),
  offsets: moved.map(({ input: { topic }, next }) => ({ topic, partition, offset: next })),
})

/** Inputs that depend on no others: each continues for itself, and only where something is lost. */
const nextIndependentOffset = ({ position, ends, lost }: LaneInput, from: ResumeFrom): number => {
  if (lost === 0) return position
  return from === 'now' ? ends.end : ends.low
}

/** First operation whose records are whole in every input. The oldest one that is left may have lost its first records. */
const resumeSeq = async (
  {
    bus,
    from,
    blocks,
  }: Required<Pick<ResumeContext, 'bus' | 'from'>> & { readonly blocks: BlockTopic },
  inputs: readonly LaneInput[],
): Promise<number> => {
  const after = (blocks.newest?.seq ?? 0) + 1
  if (from === 'now') return after
  let seq = blocks.oldest?.seq ?? 1
  for (const input of inputs) {
    if (input.lost === 0) continue
    const { topic, partition, ends } = input
    const left = seqOf(await firstRecord(bus, input, ends.low))
    const isWhole = left !== undefined && (await blocks.isWhole(left, topic, partition, ends.low))
    seq = Math.max(seq, left === undefined ? after : isWhole ? left : left + 1)
  }
  return seq
}

/** Offset of an input's first record of the operation or a later one. */
const offsetOfSeq = async (bus: Bus, input: LaneInput, seq: number): Promise<number> => {
  const { topic, partition, position, ends } = input
  const start = input.lost > 0 ? ends.low : position
  const { end = ends.end } =
    (await bus.ends(topic)).find((row) => row.partition === partition) ?? {}
  for await (const record of bus.read(topic, partition, start, end)) {
    if ((seqOf(record) ?? -1) >= seq) return record.offset
  }
  return end
}

/** First operation whose records a lane has not read, where an input is one that the blocks' spans tell of. */
const firstLostOperation = async (
  blocks: BlockTopic,
  inputs: readonly LaneInput[],
): Promise<BlockOperation | null> => {
  const found: BlockOperation[] = []
  for (const { topic, partition, position, lost } of inputs) {
    if (lost === 0) continue
    const operation = await blocks.holding(topic, partition, position)
    if (operation !== null) found.push(operation)
  }
  return found.toSorted((a, b) => a.seq - b.seq)[0] ?? null
}
