import type { Block } from '../../schemas/events.ts'

/** A recording as a block. */
export interface Recorded {
  /** Without a recorded header everything that only a header tells is zero or empty. */
  readonly block: Block
  /** As far as the file tells, all transactions of the block are here. */
  readonly whole: boolean
  /** The block's time is recorded; otherwise `block.timeMs` is 0. */
  readonly timed: boolean
  /** The block's hash is recorded; otherwise it is simulated from the height. */
  readonly named: boolean
}
