import type { ChainExtra } from '../../core/config/settings.ts'
import type { NodeEndpoint } from './server.ts'

/** Things that exist and have trades, for a first look. */
export interface ExampleEntities {
  /** Name of the chain as the API takes it. */
  readonly chain: 'ethereum' | 'sol'
  readonly token: string
  readonly pool: string
  readonly wallet: string
  readonly txHash: string
}

/** The newest block; `height` is what orders blocks: the number, on Solana the slot. */
export interface ChainHead {
  readonly height: number
  readonly hash: string
  readonly timeMs: number
}

/** A simulated chain of any kind, ready to be served. */
export interface SimulatedChain {
  readonly chain: {
    readonly genesisHash: string
    reorg(depth: number): void
    stop(): Promise<void>
  }
  readonly endpoint: NodeEndpoint
  /** Settings of an ingestor for this chain. */
  readonly extra: ChainExtra
  readonly examples: ExampleEntities
  head(): ChainHead
}
