import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import type { TopicMessage } from '../../schemas/topics.ts'
import type { BlockEvent, Messages } from '../../schemas/wire.ts'

/** A topic that stages read or write. */
export type StageTopic =
  | 'trades'
  | 'tradesProcessed'
  | 'pools'
  | 'poolsProcessed'
  | 'tokens'
  | 'tokenMetadata'
  | 'tokensCreated'
  | 'tokensMigrated'
  | 'tokensProcessed'
  | 'transfers'
  | 'transfersProcessed'
  | 'balances'
  | 'balancesProcessed'
  | 'holderDeltas'
  | 'tokenSupplies'
  | 'tokenSuppliesProcessed'
  | 'tokenPrices'
  | 'tokenMarketCaps'
  | 'tokenHoldings'
  | 'candlesticks'
  | 'tradeStats'
  | 'walletTokenPnls'

/** The message of a topic, decoded. */
export type TopicValue<Topic extends StageTopic> = Messages[TopicMessage<Topic>]

/** A decoded record of one topic. */
export type StageRecord = {
  readonly [Topic in StageTopic]: { readonly topic: Topic; readonly value: TopicValue<Topic> }
}[StageTopic]

/** One record of an operation: which key and which part of the operation in its topic. */
export type OperationRecord = StageRecord & { readonly key: string; readonly part: number }

/** One block operation as a stage folds it; records in (topic, part) order, none for FINALIZE. */
export interface Operation {
  readonly block: BlockEvent
  readonly records: readonly OperationRecord[]
}

/** A record that a stage publishes; at the lane's own partition but for topics that are keyed otherwise (`REPARTITIONED_TOPICS`). */
export type Publication = StageRecord & { readonly key: string }

/** Topics whose key is not the lane's: a record goes to its key's partition and carries the lane as header `src`. */
export const REPARTITIONED_TOPICS: ReadonlySet<StageTopic> = new Set<StageTopic>([
  'walletTokenPnls',
])

/** What one flush gives to one commit. A null change removes the key. */
export interface FlushResult {
  readonly publications: readonly Publication[]
  readonly changes: readonly (readonly [key: string, value: string | null])[]
}

/** The state of one stage in one lane, as committed: what a flush gave is in it before the next step. Reads are synchronous. */
export interface StageState {
  get(key: string): string | undefined
  /** Entries whose key starts with the prefix, in the order of their keys' UTF-8 bytes. */
  entries(prefix: string): Iterable<readonly [key: string, value: string]>
}

/** The state of one lane at work: same state and operations, same answers; no clock, no I/O. */
export interface StageProcessor {
  /** Folds an operation. What it returns belongs to that operation: later stages of the pipeline fold it in the same step. */
  step(operation: Operation): readonly Publication[]
  /** Upserts and state changes since the last flush. They are committed before the next step. */
  flush(): FlushResult
}

/** A stage: a fold over block operations. After a failed commit its state is thrown away and loaded again. */
export interface Stage {
  /** Names the stage; its state lies under this prefix. */
  readonly app: string
  readonly inputs: readonly StageTopic[]
  readonly outputs: readonly StageTopic[]
  /** `quoteAssets`: absent, those of the chain's own table count. */
  load(state: StageState, quoteAssets?: QuoteAssets): StageProcessor
}
