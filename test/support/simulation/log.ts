import type {
  Commit,
  GroupOffset,
  LaneState,
  LogRecord,
  OffsetRange,
  PartitionBounds,
  ProducerRecord,
  StateChange,
  TopicSpec,
} from '../../../core/bus/contract.ts'
import {
  type ChangeNotifier,
  makeChangeNotifier,
} from '../../../core/bus/embedded/change-notifier.ts'
import { partitionOf } from '../../../core/bus/partitioner.ts'
import { validateStateKey } from '../../../core/bus/validate-state-key.ts'
import { Outage } from '../../../core/errors.ts'

/** A partition as committed; records are in offset order and have holes where compaction took some. */
interface LogPartition {
  low: number
  next: number
  records: LogRecord[]
}

interface LogTopic {
  readonly id: number
  spec: TopicSpec
  readonly partitions: readonly LogPartition[]
}

/** Part of one partition. */
interface Range {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number
}

const ABOVE_BMP_ORDER = /[\ud800-\uffff]/

const compareUtf8 = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))

/** Entries of one store and partition, in the order of their keys' UTF-8 bytes. */
export class StateEntries implements LaneState {
  readonly #values: Map<string, Uint8Array>
  #keys: readonly string[] | undefined
  #isPlain: boolean

  constructor(values: ReadonlyMap<string, Uint8Array> = new Map(), isPlain = true) {
    this.#values = new Map(values)
    this.#isPlain = isPlain
  }

  copy(): StateEntries {
    return new StateEntries(this.#values, this.#isPlain)
  }

  get(key: string): Uint8Array | undefined {
    return this.#values.get(key)
  }

  *entries(prefix = ''): Iterable<readonly [string, Uint8Array]> {
    const keys = this.#sorted()
    for (let at = firstIndexWithPrefix(keys, prefix, this.#isPlain); at < keys.length; at += 1) {
      const key = keys[at] ?? ''
      if (!key.startsWith(prefix)) return
      const value = this.#values.get(key)
      if (value !== undefined) yield [key, value]
    }
  }

  change({ key, value }: Pick<StateChange, 'key' | 'value'>): void {
    if (value === null) {
      this.#values.delete(key)
      return
    }
    if (!this.#values.has(key)) {
      this.#keys = undefined
      this.#isPlain &&= !ABOVE_BMP_ORDER.test(key)
    }
    this.#values.set(key, value)
  }

  #sorted(): readonly string[] {
    const compare = this.#isPlain ? undefined : compareUtf8
    this.#keys ??= [...this.#values.keys()].sort(compare)
    return this.#keys
  }
}

const firstIndexWithPrefix = (
  keys: readonly string[],
  prefix: string,
  isPlain: boolean,
): number => {
  let [low, high] = [0, keys.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const key = keys[middle] ?? ''
    const isBelow = isPlain ? key < prefix : compareUtf8(key, prefix) < 0
    if (isBelow) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * What the processes of a simulation share: topics, state, offsets and who holds which writer id. Everything happens at once:
 * a call has happened whole when it returns, or has thrown and changed nothing.
 */
export class SimulatedLog {
  readonly id: string
  readonly wakeups: ChangeNotifier = makeChangeNotifier()
  readonly #nowMs: () => number
  readonly #topics = new Map<string, LogTopic>()
  readonly #state = new Map<string, StateEntries>()
  readonly #offsets = new Map<string, Map<string, GroupOffset>>()
  readonly #holders = new Map<string, symbol>()

  constructor(id: string, nowMs: () => number) {
    this.id = id
    this.#nowMs = nowMs
  }

  createTopics(specs: readonly TopicSpec[]): void {
    for (const { topic, partitions } of specs) {
      const held = this.#topics.get(topic)?.spec.partitions ?? partitions
      if (held !== partitions)
        throw finalOutage(`${topic} has ${held} partitions, not ${partitions}`)
    }
    for (const spec of specs) {
      const held = this.#topics.get(spec.topic)
      const empty = (): LogPartition => ({ low: 0, next: 0, records: [] })
      if (held) held.spec = spec
      else {
        const partitions = Array.from({ length: spec.partitions }, empty)
        this.#topics.set(spec.topic, { id: this.#topics.size + 1, spec, partitions })
      }
    }
  }

  topics(prefix: string): readonly string[] {
    return [...this.#topics.keys()].filter((name) => name.startsWith(prefix)).sort()
  }

  life(topic: string): string {
    return `${this.id}/${this.#topicOf(topic).id}`
  }

  ends(topic: string): readonly PartitionBounds[] {
    return this.#topicOf(topic).partitions.map(({ low, next }, partition) => ({
      partition,
      low,
      end: next,
    }))
  }

  /** Committed records of a range, oldest first. */
  records({ topic, partition, from, to }: Range, most = Number.POSITIVE_INFINITY): LogRecord[] {
    const { records = [] } = this.#topicOf(topic).partitions[partition] ?? {}
    let [low, high] = [0, records.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((records[middle]?.offset ?? 0) < from) low = middle + 1
      else high = middle
    }
    const found: LogRecord[] = []
    for (let at = low; at < records.length && found.length < most; at += 1) {
      const record = records[at]
      if (record === undefined || record.offset >= to) break
      found.push(record)
    }
    return found
  }

  offsets(group: string, topics: readonly string[]): readonly GroupOffset[] {
    const held = [...(this.#offsets.get(group)?.values() ?? [])]
    return topics.flatMap((topic) =>
      held
        .filter((offset) => offset.topic === topic)
        .sort((one, other) => one.partition - other.partition),
    )
  }

  /** The entries of a store as committed now; later commits do not show in them. */
  stateOf(store: string, partition: number): StateEntries {
    return this.#state.get(`${store}/${partition}`)?.copy() ?? new StateEntries()
  }

  /** Names of every store and partition that holds something, sorted. */
  stores(): readonly (readonly [store: string, partition: number])[] {
    return [...this.#state.keys()].sort().map((name) => {
      const at = name.lastIndexOf('/')
      return [name.slice(0, at), Number(name.slice(at + 1))] as const
    })
  }

  /** Takes a writer id; whoever held it is fenced. */
  hold(id: string): symbol {
    const holder = Symbol(id)
    this.#holders.set(id, holder)
    return holder
  }

  isHeldBy(id: string, holder: symbol): boolean {
    return this.#holders.get(id) === holder
  }

  release(id: string, holder: symbol): void {
    if (this.isHeldBy(id, holder)) this.#holders.delete(id)
  }

  /** Writes a commit whole, or throws and writes nothing. */
  commit({
    records = [],
    finalRecords: seal,
    state = [],
    offsets,
  }: Commit): readonly OffsetRange[] {
    const draft = new CommitDraft(this.#nowMs(), (topic) => this.#topicOf(topic))
    const spans: OffsetRange[] = []
    for (const record of records) draft.add(record, spans)
    for (const record of seal?.([...spans]) ?? []) draft.add(record, spans)
    for (const { key } of state) validateStateKey(key)
    draft.publish()
    for (const change of state) this.#change(change)
    if (offsets) this.#place(offsets.group, offsets.next)
    this.wakeups.wake(draft.topics())
    return spans
  }

  /** Makes every record that a topic holds now unreadable. */
  expire(topic: string): void {
    for (const partition of this.#topicOf(topic).partitions) {
      partition.low = partition.next
      partition.records = []
    }
  }

  /** Leaves the newest record of each key in the compacted topics that the name fits. */
  compact(prefix = ''): void {
    for (const [name, { spec, partitions }] of this.#topics) {
      if (!name.startsWith(prefix) || spec.cleanup === 'delete') continue
      for (const partition of partitions) {
        const newest = new Map(partition.records.map((record) => [record.key, record.offset]))
        partition.records = partition.records.filter(
          ({ key, offset }) => newest.get(key) === offset,
        )
      }
    }
  }

  #change(change: StateChange): void {
    const name = `${change.store}/${change.partition}`
    const held = this.#state.get(name) ?? new StateEntries()
    held.change(change)
    this.#state.set(name, held)
  }

  #place(group: string, next: readonly GroupOffset[]): void {
    const held = this.#offsets.get(group) ?? new Map<string, GroupOffset>()
    for (const offset of next) held.set(`${offset.topic}/${offset.partition}`, offset)
    this.#offsets.set(group, held)
  }

  #topicOf(topic: string): LogTopic {
    const found = this.#topics.get(topic)
    if (!found) throw finalOutage(`no topic ${topic}`)
    return found
  }
}

const finalOutage = (message: string): Outage => new Outage('bus', message, { final: true })

/** Records of one commit on top of the committed ones. */
class CommitDraft {
  readonly #timestampMs: number
  readonly #topicOf: (topic: string) => LogTopic
  readonly #added = new Map<LogPartition, LogRecord[]>()
  readonly #topics = new Set<string>()

  constructor(timestampMs: number, topicOf: (topic: string) => LogTopic) {
    this.#timestampMs = timestampMs
    this.#topicOf = topicOf
  }

  add({ topic, key, value, headers = {}, ...out }: ProducerRecord, spans: OffsetRange[]): void {
    const { spec, partitions } = this.#topicOf(topic)
    const at = out.partition ?? partitionOf(key, spec.partitions)
    const partition = partitions[at]
    if (partition === undefined) throw finalOutage(`${topic} has no partition ${at}`)
    const added = this.#added.get(partition) ?? []
    this.#added.set(partition, added)
    const offset = partition.next + added.length
    const timestampMs = this.#timestampMs
    added.push({ topic, partition: at, offset, key, value, headers, timestampMs })
    this.#topics.add(topic)
    const known = spans.findIndex((span) => span.topic === topic && span.partition === at)
    const span = spans[known]
    if (span) spans[known] = { ...span, records: span.records + 1 }
    else spans.push({ topic, partition: at, baseOffset: offset, records: 1 })
  }

  publish(): void {
    for (const [partition, added] of this.#added) {
      for (const record of added) partition.records.push(record)
      partition.next += added.length
    }
  }

  topics(): ReadonlySet<string> {
    return this.#topics
  }
}
