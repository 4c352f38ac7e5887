import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Topic } from '../../schemas/topics.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import type { StageRecord } from './stage.ts'
import {
  validateBalanceDeltas,
  validateBalances,
  validatePools,
  validateSupplies,
  validateTokens,
  validateTrades,
  validateTransfers,
} from './validate-records.ts'

type InputDecoder = (codec: Codec, bytes: Uint8Array) => StageRecord

/** Topics that come from the log: what the ingestor writes. Everything else a stage reads comes from a stage before it. */
const INPUT_DECODERS = {
  trades: (codec, bytes) => ({
    topic: 'trades',
    value: validateTrades(codec.decode('dex.trade.TradeEvents', bytes)),
  }),
  pools: (codec, bytes) => ({
    topic: 'pools',
    value: validatePools(codec.decode('dex.pool.DexPoolEvents', bytes)),
  }),
  tokens: (codec, bytes) => ({
    topic: 'tokens',
    value: validateTokens(codec.decode('token.TokenEvents', bytes)),
  }),
  tokenMetadata: (codec, bytes) => ({
    topic: 'tokenMetadata',
    value: validateTokens(codec.decode('token.TokenEvents', bytes)),
  }),
  transfers: (codec, bytes) => ({
    topic: 'transfers',
    value: validateTransfers(codec.decode('transfer.TransferEvents', bytes)),
  }),
  balances: (codec, bytes) => ({
    topic: 'balances',
    value: validateBalances(codec.decode('balance.BalanceEvents', bytes)),
  }),
  holderDeltas: (codec, bytes) => ({
    topic: 'holderDeltas',
    value: validateBalanceDeltas(codec.decode('balance.BalanceEvents', bytes)),
  }),
  tokenSupplies: (codec, bytes) => ({
    topic: 'tokenSupplies',
    value: validateSupplies(codec.decode('token.supply.TokenSupplyEvents', bytes)),
  }),
} as const satisfies { readonly [T in Topic]?: InputDecoder }

/** A topic that stages read from the log. */
export type InputTopic = keyof typeof INPUT_DECODERS

/** True for topics that the ingestor writes and stages read. */
export const isInputTopic = (topic: string): topic is InputTopic => topic in INPUT_DECODERS

/** A decoded input record. */
export type InputRecord = Extract<StageRecord, { readonly topic: InputTopic }>

/** Decodes and checks one input record. Throws `InvalidInput`. */
export const decodeInput = (
  codec: Codec,
  topic: InputTopic,
  bytes: Uint8Array | null,
): InputRecord => {
  if (bytes === null) throw new InvalidInput('tombstone', 'unexpected tombstone')
  const record = INPUT_DECODERS[topic](codec, bytes)
  if (record.value.meta === null) throw new InvalidInput('meta', 'the record has no meta')
  return record
}

/** Stands in for a dead-lettered record: same position, no events, so that one to one topics stay so. */
export const emptyInputRecord = (topic: InputTopic, meta: EventMeta): InputRecord => ({
  topic,
  value: { meta, events: [] },
})
