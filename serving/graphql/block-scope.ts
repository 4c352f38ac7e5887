import type { Cube } from '../../schemas/cubes/types.ts'
import { bucketStartSql } from './bucket-start.ts'
import { type QueryParameters, TIME_PARAMETER_TYPE } from './query-parameters.ts'
import { formatBoundTime } from './scalars.ts'
import { type CubeSelection, isBucketField } from './selection.ts'

/** A block as the store names it. */
export interface BlockRef {
  readonly slot: number
  readonly height: number
  readonly hash: string
}

/** The blocks of one chain whose rows a delivery holds. */
export interface BlockScope {
  readonly chain: string
  /** Blocks that stand, oldest first. */
  readonly added: readonly BlockRef[]
  /** Blocks that were removed since the delivery before, newest first. */
  readonly removed: readonly BlockRef[]
  /** Least block time of all of them, epoch milliseconds. */
  readonly fromMs: number
  /** Least block operation of all of them: what they changed has its version or a later one. */
  readonly fromSeq: number
}

const MINUTE_MS = 60_000

/** Rows of these cubes are events: each belongs to one block and does not change. The others are the state of now, or buckets of time. */
export const hasEventRows = ({ layer }: Pick<Cube, 'layer'>): boolean => layer === 'DWD'

/** Least start of the buckets that the time falls into: those of the table, minutes, and those of the selection's intervals. */
const firstBucketSql = (
  { values }: Pick<CubeSelection, 'values'>,
  fromMs: number,
  binder: QueryParameters,
): string => {
  const minute = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS
  const from = binder.bind(formatBoundTime(minute), TIME_PARAMETER_TYPE)
  const intervals = new Map(
    values
      .filter(isBucketField)
      .map(({ interval }) => [[interval.unit, interval.count, interval.zone].join(' '), interval]),
  )
  const starts = [...intervals.values()].map((interval) =>
    bucketStartSql(`toDateTime(${from}, 'UTC')`, interval, binder),
  )
  return starts.length === 0 ? from : `least(${[from, ...starts].join(', ')})`
}

/**
 * Condition that keeps what the blocks brought: of events the rows of these very blocks, of states those that were written since:
 * a reorg writes older states again, with their times. Of buckets those that changed since, whole. `slot` bounds what the engine reads, the hash tells the forks apart.
 */
export const scopeCondition = (
  selection: Pick<CubeSelection, 'cube' | 'values'>,
  { added, fromMs, fromSeq }: BlockScope,
  binder: QueryParameters,
): string => {
  const { cube } = selection
  if (cube.versionBits !== undefined) {
    const version = BigInt(fromSeq) << BigInt(cube.versionBits)
    return `_ver >= ${binder.bind(String(version), 'UInt64')}`
  }
  if (!hasEventRows(cube)) return `${cube.time} >= ${firstBucketSql(selection, fromMs, binder)}`
  const slots = added.map(({ slot }) => slot)
  const bound = (value: number): string => binder.bind(String(value), 'UInt64')
  const [from, to] = [bound(Math.min(...slots)), bound(Math.max(...slots))]
  const hashes = binder.bind(
    added.map(({ hash }) => hash),
    'Array(String)',
  )
  return `block_slot BETWEEN ${from} AND ${to} AND block_hash IN ${hashes}`
}

/** A selection on the chain of the scope; of a cube that makes one row of several chains, on all of them. */
export const onScopeChain = (selection: CubeSelection, { chain }: BlockScope): CubeSelection => {
  if (selection.cube.merged !== undefined) return selection
  return { ...selection, chains: selection.chains.filter((each) => each === chain) }
}
