import type { State } from './state.ts'

/** What decides every byte of a chain. */
export interface ChainSpec {
  readonly seed: number
  /** Pool swaps per second of chain time, on average. */
  readonly ratePerSecond: number
  /** Time of block 0, whole seconds. */
  readonly genesisMs: number
}

/** What the header of a block has on every chain. */
export interface BlockHeader {
  readonly height: number
  readonly hash: string
  readonly timeMs: number
}

/** A block as it stands on a chain; `writes` are the places of the state that it changed. */
export interface SimulatedBlock extends BlockHeader {
  readonly transactions: readonly { readonly hash: string }[]
  readonly writes: ReadonlyMap<number, bigint>
}

/** How headers and hashes lie in a checkpoint. */
export interface HeaderCodec<Head> {
  /** Raise it when the same spec gives another chain than before. */
  readonly model: number
  /** JSON value of a header. */
  pack(head: Head): unknown
  unpack(packed: unknown): Head
  /** The 32 bytes of a hash, and back. */
  hashBytes(hash: string): Uint8Array
  hashText(bytes: Uint8Array): string
}

/** Makes the blocks of one spec. */
export interface BlockProducer<Head extends BlockHeader, Block extends Head & SimulatedBlock> {
  readonly spec: ChainSpec
  readonly codec: HeaderCodec<Head>
  /** Blocks of one segment: making one again takes a second or two. */
  readonly segmentBlocks: number
  /** Transactions that an archive keeps in memory, in all blocks together. */
  readonly maxCachedTransactions: number
  /** Height of the newest block at a time. */
  heightAt(timeMs: number): number
  /** The header alone, without what makes a block heavy. */
  headOf(block: Head): Head
  genesis(): { readonly block: Block; readonly state: State }
  /** Next block on `parent`; writes `state`, which is that of `parent`. Yields between transactions. `branch` 0 is the canonical chain. */
  next(parent: Head, state: State, branch: number): Generator<undefined, Block>
}
