import type { Cube } from '../../schemas/cubes/types.ts'
import { type QueryParameters, TIME_PARAMETER_TYPE } from './query-parameters.ts'
import { formatBoundTime } from './scalars.ts'
import type { CubeSelection } from './selection.ts'

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
}

const MINUTE_MS = 60_000

/** Rows of these cubes are events: each belongs to one block and does not change. The others are the state of now, or buckets of time. */
export const hasEventRows = ({ layer }: Pick<Cube, 'layer'>): boolean => layer === 'DWD'

/**
 * Condition that keeps what the blocks brought: of events the rows of these very blocks, of states and buckets those that
 * changed since. `slot` bounds what the engine reads, the hash tells the forks apart.
 */
export const scopeCondition = (
  cube: Cube,
  { added, fromMs }: BlockScope,
  binder: QueryParameters,
): string => {
  if (!hasEventRows(cube)) {
    const from = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS
    return `${cube.time} >= ${binder.bind(formatBoundTime(from), TIME_PARAMETER_TYPE)}`
  }
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
