import type { Bus, HaltedLane, LogCapacity } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { type Cursor, cursorOf } from '../../ingestors/publish/block-record.ts'
import type { ProcessorsHealth } from '../../processors/readiness.ts'
import { topicName } from '../../schemas/topics.ts'
import { createFreshnessReader } from '../../serving/chain-freshness.ts'
import { laneOffsets } from '../checksum/consumer-lag.ts'
import { LOOK_BACK_OFFSETS } from './block-operations.ts'

/** Where one chain stands in the log and in the warehouse; times in epoch milliseconds. */
export interface ChainStatus {
  readonly chain: string
  /** Newest block operation in the log; null before the first. */
  readonly head: {
    readonly seq: number
    readonly height: number
    readonly ageSeconds: number
  } | null
  /** Newest final height; null before the first. */
  readonly finalHeight: number | null
  /** Newest block that answers can hold; null: none, or no warehouse at hand. */
  readonly answers: { readonly height: number; readonly ageSeconds: number } | null
  readonly lanes: readonly LaneRow[]
}

/** Records that one group has before it in one topic. */
interface LaneRow {
  readonly group: string
  readonly topic: string
  /** By partition; transaction marks of a Kafka log count too. */
  readonly behind: readonly number[]
  /** Offsets that left the log before the group read them, by partition; absent where there are none. */
  readonly lost?: readonly number[]
}

/** What an ingestor of the process that answers says of itself. */
export interface IngestStatus {
  readonly chain: string
  readonly state: string
  readonly reason?: string
  readonly height: number | null
  /** Head of the node as last seen. */
  readonly nodeHeight: number | null
}

/** A partition that the process does not read any more, because its input contradicts itself. */
export interface StoppedPartition {
  readonly group: string
  readonly partition: number
  readonly reason: string
}

/** A partition, or a finalizer's, whose work fails and is repeated. */
export interface FailingPartition {
  readonly group: string
  readonly partition: number
  /** When it failed first, epoch milliseconds. */
  readonly sinceMs: number
  readonly error: string
}

/** A halted lane; `place` is its position, under the name of the report. */
type HaltedLaneReport = Omit<HaltedLane, 'position'> & { readonly place: number }

/** The whole report. */
export interface StatusReport {
  readonly atMs: number
  readonly chains: readonly ChainStatus[]
  /** Of the process that answers; empty when none runs. */
  readonly ingest: readonly IngestStatus[]
  /** Commits and inserts of the process that answers. */
  readonly inFlight: readonly string[]
  /** Size of the embedded log; absent on a cluster. */
  readonly log?: LogCapacity
  /** Lanes of the process that answers that are halted until `sluice resume`. */
  readonly halted: readonly HaltedLaneReport[]
  /** Partitions of the process that answers that invalid input stopped. */
  readonly stopped: readonly StoppedPartition[]
  /** Partitions of the process that answers whose work fails now. */
  readonly failing: readonly FailingPartition[]
}

/** What a report is made from. */
export interface StatusSources {
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse?: Warehouse
  readonly chains: readonly string[]
  readonly ingest?: () => readonly IngestStatus[]
  readonly inFlight?: () => readonly string[]
  readonly processors?: () => ProcessorsHealth
  readonly nowMs: () => number
}

/** Reads how far everything is. Throws `Outage` when the log does not answer. */
export const statusReport = async (sources: StatusSources): Promise<StatusReport> => {
  const log = sources.bus.capacity()
  return {
    atMs: sources.nowMs(),
    chains: await Promise.all(sources.chains.map((chain) => chainStatus(sources, chain))),
    ingest: sources.ingest?.() ?? [],
    inFlight: sources.inFlight?.() ?? [],
    ...(log && { log }),
    halted: sources.bus.halted().map(({ position: place, ...lane }) => ({ ...lane, place })),
    ...partitionTroubles(sources.processors?.() ?? { groups: {}, failing: {} }),
  }
}

const partitionTroubles = ({
  groups,
  failing,
}: ProcessorsHealth): Pick<StatusReport, 'stopped' | 'failing'> => ({
  stopped: Object.entries(groups).flatMap(([group, lanes]) =>
    lanes.flatMap(({ partition, halted: reason }) =>
      reason === undefined ? [] : [{ group, partition, reason }],
    ),
  ),
  failing: Object.entries(failing).flatMap(([group, lanes]) =>
    lanes.map(({ partition, sinceMs, error }) => ({ group, partition, sinceMs, error })),
  ),
})

const chainStatus = async (
  { bus, codec, warehouse, nowMs }: StatusSources,
  chain: string,
): Promise<ChainStatus> => {
  const ageOf = (timeMs: number): number => Math.max(0, Math.round((nowMs() - timeMs) / 1_000))
  const newest = await newestCursor(bus, codec, chain)
  const tip = newest?.cursor.tip
  const fresh = warehouse && (await createFreshnessReader(warehouse, [chain], nowMs).of(chain))
  return {
    chain,
    head:
      newest && tip ? { seq: newest.seq, height: tip.height, ageSeconds: ageOf(tip.timeMs) } : null,
    finalHeight: newest?.cursor.final?.height ?? null,
    answers: fresh ? { height: fresh.head, ageSeconds: ageOf(fresh.headTimeMs) } : null,
    lanes: await laneRows(bus, chain),
  }
}

const newestCursor = async (
  bus: Bus,
  codec: Codec,
  chain: string,
): Promise<{ readonly seq: number; readonly cursor: Cursor } | undefined> => {
  const topic = topicName('blocks', chain)
  const [{ low, end } = { low: 0, end: 0 }] = await bus.ends(topic)
  for (const back of LOOK_BACK_OFFSETS) {
    let last: Uint8Array | null = null
    for await (const { value } of bus.read(topic, 0, Math.max(low, end - back), end)) last = value
    if (last === null) continue
    const event = codec.decode('block.BlockEvent', last)
    return { seq: event.meta.seq, cursor: cursorOf(event) }
  }
  return undefined
}

const laneRows = async (bus: Bus, chain: string): Promise<readonly LaneRow[]> => {
  const rows = new Map<string, { group: string; topic: string; behind: number[]; lost: number[] }>()
  for (const { group, topic, partition, position, end, lost } of await laneOffsets(bus, chain)) {
    const row = rows.get(`${group} ${topic}`) ?? { group, topic, behind: [], lost: [] }
    row.behind[partition] = end - position
    row.lost[partition] = lost
    rows.set(`${group} ${topic}`, row)
  }
  return [...rows.values()].map(({ lost, ...row }) =>
    lost.some((count) => count > 0) ? { ...row, lost } : row,
  )
}

const lostOffsetsText = (chain: string, lost: readonly number[] | undefined): string =>
  lost === undefined
    ? ''
    : `, ${lost.join(' ')} left the log unread: \`sluice resume --chain ${chain}\` shows what and continues`

const BYTES_PER_GB = 1_073_741_824

/** Size of an embedded log, for people. */
export const capacityText = ({ usedBytes, limitBytes, fileBytes, retention }: LogCapacity) => {
  const [used, limit, file] = [usedBytes, limitBytes, fileBytes].map((n) =>
    (n / BYTES_PER_GB).toFixed(2),
  )
  const share = Math.round((100 * usedBytes) / limitBytes)
  return `${used} of ${limit} GB (${share} %), file ${file} GB, retention ${retention}`
}

/** A report as a table for people. */
export const statusLines = ({
  chains,
  ingest,
  inFlight,
  log,
  halted,
  stopped,
  failing,
  atMs,
}: StatusReport): readonly string[] => [
  ...chains.flatMap(({ chain, head, finalHeight, answers, lanes }) => {
    const own = ingest.find((each) => each.chain === chain)
    const node = own?.nodeHeight ?? null
    const rows: readonly (readonly [string, string])[] = [
      ['ingest', own ? `${own.state}${own.reason === undefined ? '' : `: ${own.reason}`}` : '-'],
      ['log', head ? `${head.height}, ${head.ageSeconds} s old, operation ${head.seq}` : 'empty'],
      ['node', node === null || head === null ? '-' : `${node}, ${node - head.height} ahead`],
      ['final', finalHeight === null ? '-' : String(finalHeight)],
      ['answers', answers ? `${answers.height}, ${answers.ageSeconds} s old` : '-'],
    ]
    return [
      chain,
      ...rows.map(([name, text]) => `  ${name.padEnd(10)}${text}`),
      ...lanes.map(
        ({ group, topic, behind, lost }) =>
          `  ${group.padEnd(36)} ${topic.padEnd(32)} ${behind.join(' ')} behind${lostOffsetsText(chain, lost)}`,
      ),
    ]
  }),
  ...(log ? [`embedded log: ${capacityText(log)}`] : []),
  ...halted.map(
    ({ group, lane, topic, partition, place, low }) =>
      `halted: ${group}/${lane} wants ${topic}/${partition}@${place}, the log begins at ${low}; see \`sluice resume\``,
  ),
  ...stopped.map(
    ({ group, partition, reason }) =>
      `stopped: ${group}/${partition}: ${reason}; see "Partition stopped by invalid input" in docs/runbook.md`,
  ),
  ...failing.map(
    ({ group, partition, sinceMs, error }) =>
      `failing: ${group}/${partition} for ${Math.max(0, Math.round((atMs - sinceMs) / 1_000))} s: ${error}`,
  ),
  ...(inFlight.length > 0 ? [`in flight: ${inFlight.join('; ')}`] : []),
]
