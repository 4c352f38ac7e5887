import type { Codec } from '../core/codec-contract.ts'
import { Malformed } from '../core/fault.ts'
import type { Topic } from '../schemas/topics.ts'
import type {
  BlockEvent,
  CandlestickEvents,
  DexPoolEvents,
  EventMeta,
  TokenEvents,
  TradeEvents,
} from '../schemas/wire.ts'
import { checkPools, checkTokens, checkTrades } from './check.ts'

/** A decoded record of one input topic. */
export type InputRecord =
  | { readonly topic: 'trades' | 'tradesProcessed'; readonly value: TradeEvents }
  | { readonly topic: 'pools'; readonly value: DexPoolEvents }
  | { readonly topic: 'tokenMetadata'; readonly value: TokenEvents }

/** Topics that a stage can read. */
export type InputTopic = InputRecord['topic']

/** One record of an operation: which key and which part of the operation in its topic. */
export type OperationRecord = InputRecord & { readonly key: string; readonly part: number }

/** One block operation as a stage folds it; records in (topic, part) order, none for FINALIZE. */
export interface Operation {
  readonly block: BlockEvent
  readonly records: readonly OperationRecord[]
}

/** A record that a stage publishes to its one output topic, at the lane's own partition. */
export type Publication =
  | {
      readonly message: 'dex.trade.TradeEvents'
      readonly key: string
      readonly value: TradeEvents
    }
  | {
      readonly message: 'dex.pool.DexPoolEvents'
      readonly key: string
      readonly value: DexPoolEvents
    }
  | { readonly message: 'token.TokenEvents'; readonly key: string; readonly value: TokenEvents }
  | {
      readonly message: 'candlestick.CandlestickEvents'
      readonly key: string
      readonly value: CandlestickEvents
    }

/** What one flush gives to one commit. A null change removes the key. */
export interface Flushed {
  readonly publications: readonly Publication[]
  readonly changes: readonly (readonly [key: string, value: string | null])[]
}

/** The state of one lane in memory: same state and operations, same answers; no clock, no I/O. */
export interface Folding {
  step(operation: Operation): void
  /** Everything since the last flush. */
  flush(): Flushed
}

/** A stage: a fold over block operations. After a failed commit its state is thrown away and loaded again. */
export interface Stage {
  /** Names the consumer group `{app}.{c}` and the state store. */
  readonly app: string
  readonly inputs: readonly InputTopic[]
  readonly output: Topic
  /** From the entries that earlier flushes wrote. */
  load(entries: Iterable<readonly [string, string]>): Folding
}

type Decoder = (codec: Codec, bytes: Uint8Array) => InputRecord

const trades =
  (topic: 'trades' | 'tradesProcessed'): Decoder =>
  (codec, bytes) => ({ topic, value: checkTrades(codec.decode('dex.trade.TradeEvents', bytes)) })

const DECODERS: Readonly<Record<InputTopic, Decoder>> = {
  trades: trades('trades'),
  tradesProcessed: trades('tradesProcessed'),
  pools: (codec, bytes) => ({
    topic: 'pools',
    value: checkPools(codec.decode('dex.pool.DexPoolEvents', bytes)),
  }),
  tokenMetadata: (codec, bytes) => ({
    topic: 'tokenMetadata',
    value: checkTokens(codec.decode('token.TokenEvents', bytes)),
  }),
}

/** Raw topic whose spans count the records of an input. */
export const SPANS_OF: Readonly<Record<InputTopic, Topic>> = {
  trades: 'trades',
  tradesProcessed: 'trades',
  pools: 'pools',
  tokenMetadata: 'tokenMetadata',
}

/** Decodes and checks one input record. Throws `Malformed`. */
export const decodeInput = (
  codec: Codec,
  topic: InputTopic,
  bytes: Uint8Array | null,
): InputRecord => {
  if (bytes === null) throw new Malformed('tombstone', 'a fact cannot be removed')
  const record = DECODERS[topic](codec, bytes)
  if (record.value.meta === null) throw new Malformed('meta', 'the record has no meta')
  return record
}

/** Stands in for a dead-lettered record: same place, no events, so that one to one topics stay so. */
export const emptyInput = (topic: InputTopic, meta: EventMeta): InputRecord => ({
  topic,
  value: { meta, events: [] },
})
