import type {
  GroupOffset,
  Lane,
  LaneCommit,
  LogRecord,
  ProducerRecord,
  StateChange,
  StateLocation,
} from '../../core/bus/contract.ts'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { type PackedBytes, packBytes, unpackBytes } from '../../core/runtime/packed-bytes.ts'
import type { ThreadError } from '../../core/runtime/thread-error.ts'
import type { LaneStatus } from './stage-lane.ts'

/** A lane that a thread is to fold. */
export interface LaneOrder {
  /** Names the stage. */
  readonly app: string
  readonly chain: string
  readonly quoteAssets?: QuoteAssets
}

/** From the thread of the bus to one that folds; `lane` is the number of the lane's run. */
export type LaneRequest = { readonly lane: number } & (
  | {
      readonly kind: 'start'
      readonly order: LaneOrder
      readonly partition: number
      readonly location: StateLocation
    }
  | { readonly kind: 'records'; readonly records: PackedRecords }
  | { readonly kind: 'committed' }
  /** Nothing that the lane asked for will be answered any more. */
  | { readonly kind: 'stop' }
)

/** Ends a thread that has no lanes. */
export const END_THREAD = 'end'

/** From a thread that folds: what a lane wants or reports. It waits for the answer to `take` and `commit`. */
export type LaneReply = { readonly lane: number } & (
  | {
      readonly kind: 'take'
      readonly options: Parameters<Lane['take']>[0]
    }
  | { readonly kind: 'commit'; readonly commit: PackedCommit }
  | { readonly kind: 'status'; readonly status: LaneStatus }
  | { readonly kind: 'counted'; readonly records: number }
  | {
      readonly kind: 'undecodable'
      readonly topic: string
      readonly offset: number
      readonly error: ThreadError
    }
  /** The run of the lane is over. */
  | { readonly kind: 'ended'; readonly error?: ThreadError }
)

type WithoutValue<Row> = Omit<Row, 'value'>

interface Packed<Row extends { readonly value: Uint8Array | null }> {
  readonly rows: readonly WithoutValue<Row>[]
  readonly values: PackedBytes
}

/** Records of the log, values apart. */
export type PackedRecords = Packed<LogRecord>

/** A commit, values apart. */
export interface PackedCommit {
  readonly records: Packed<ProducerRecord>
  readonly state: Packed<StateChange>
  readonly offsets?: { readonly group: string; readonly next: readonly GroupOffset[] }
}

const pack = <Row extends { readonly value: Uint8Array | null }>(
  rows: readonly Row[],
): Packed<Row> => ({
  rows: rows.map(({ value: _, ...row }) => row),
  values: packBytes(rows.map(({ value }) => value)),
})

const unpack = <Row extends { readonly value: Uint8Array | null }>({
  rows,
  values,
}: Packed<Row>): readonly (WithoutValue<Row> & { readonly value: Buffer | null })[] => {
  const each = unpackBytes(values)
  return rows.map((row, index) => ({ ...row, value: each[index] ?? null }))
}

/** Records for a thread, and the memory that moves with them. */
export const packRecords = (
  records: readonly LogRecord[],
): { readonly packed: PackedRecords; readonly moved: readonly ArrayBuffer[] } => {
  const packed = pack(records)
  return { packed, moved: [packed.values.bytes.buffer] }
}

/** The records again. */
export const unpackRecords = (packed: PackedRecords): readonly LogRecord[] => unpack(packed)

/** A commit for the thread of the bus, and the memory that moves with it. */
export const packCommit = ({
  records = [],
  state = [],
  offsets,
}: LaneCommit): {
  readonly packed: PackedCommit
  readonly moved: readonly ArrayBuffer[]
} => {
  const packed = {
    records: pack(records),
    state: pack(state),
    ...(offsets !== undefined && { offsets }),
  }
  const moved = [packed.records.values.bytes.buffer, packed.state.values.bytes.buffer]
  return { packed, moved }
}

/** The commit again. */
export const unpackCommit = ({ records, state, offsets }: PackedCommit): LaneCommit => ({
  records: unpack(records),
  state: unpack(state),
  ...(offsets !== undefined && { offsets }),
})
