import type { EventMeta, Token, TokenEvent, Transaction } from '../schemas/wire.ts'
import { makeLayers } from './layers.ts'
import type { Folding, Operation, Publication, Stage, StageState } from './stage.ts'

/** What is known of a token, and when it was first seen. */
interface TokenRecord {
  readonly token: Token
  readonly createdAtMs: number
  readonly createdSlot: number
  /** "" where the first sight was no transaction. */
  readonly createdTx: string
}

const bareToken = (address: string, decimals: number | null): Token => ({
  address,
  name: '',
  symbol: '',
  decimals: decimals ?? -1,
  uri: '',
  metadata_address: '',
  creators: [],
  additional_metadata: {},
  solana_extra: null,
  evm_extra: null,
})

const firstSight = (token: Token, meta: EventMeta, tx: Transaction | null): TokenRecord => ({
  token,
  createdAtMs: meta.block_time,
  createdSlot: meta.slot,
  createdTx: tx?.signature ?? '',
})

/** Facts of a node with the height at which they held. */
const withHeight = (token: Token, height: number): Token => ({
  ...token,
  additional_metadata: { ...token.additional_metadata, facts_height: String(height) },
})

const eventOf = ({ token, createdAtMs, createdSlot, createdTx }: TokenRecord): TokenEvent => ({
  instruction: null,
  block: null,
  transaction: null,
  d_app: null,
  type: 'EVENT_TYPE_UPDATED',
  token,
  token_processed: null,
  launch_from: null,
  migrated_to: null,
  created_at: createdAtMs,
  created_slot: createdSlot,
  created_tx: createdTx,
  dev: '',
  migrated_at: 0,
})

type Known = (address: string) => TokenRecord | undefined
type Seen = readonly (readonly [address: string, record: TokenRecord])[]

const factsSeen = (operation: Operation, known: Known): Seen => {
  const { meta } = operation.block
  return operation.records.flatMap(({ topic, value }) =>
    topic === 'tokenMetadata'
      ? value.events.flatMap(({ token, transaction }) => {
          if (token === null) return []
          const facts = withHeight(token, meta.height)
          const before = known(token.address)
          const record = before ? { ...before, token: facts } : firstSight(facts, meta, transaction)
          return [[token.address, record] as const]
        })
      : [],
  )
}

const tradesSeen = (operation: Operation, known: Known): Seen => {
  const { meta } = operation.block
  const seen = new Map<string, TokenRecord>()
  for (const { topic, value } of operation.records) {
    if (topic !== 'trades') continue
    for (const { trade, transaction } of value.events) {
      if (trade === null || seen.has(trade.token_a_address)) continue
      const { token_a_address: address, token_a_decimals: decimals } = trade
      const before = known(address)
      if (before === undefined) {
        seen.set(address, firstSight(bareToken(address, decimals), meta, transaction))
      } else if (before.createdTx === '' && before.createdSlot === meta.slot) {
        seen.set(address, { ...before, createdTx: transaction?.signature ?? '' })
      }
    }
  }
  return [...seen]
}

interface Outcome {
  readonly address: string
  readonly record: TokenRecord
  /** The token was first seen in a block that is gone. */
  readonly gone: boolean
}

const publicationsOf = (meta: EventMeta, outcomes: readonly Outcome[]): readonly Publication[] =>
  outcomes.map(({ address, record, gone }, part) => ({
    topic: 'tokensProcessed',
    key: address,
    value: {
      meta: { ...meta, op: gone ? 'OP_REVERT' : 'OP_APPLY', part, parts: outcomes.length },
      events: [eventOf(record)],
    },
  }))

const loadTokens = (state: StageState): Folding => {
  const layers = makeLayers<TokenRecord, null>(state)
  const apply = (operation: Operation): readonly Outcome[] => {
    const { hash, height, block_time: timeMs } = operation.block.meta
    const values = new Map<string, TokenRecord>()
    const known: Known = (address) => values.get(address) ?? layers.get(address)
    for (const [address, record] of factsSeen(operation, known)) values.set(address, record)
    for (const [address, record] of tradesSeen(operation, known)) values.set(address, record)
    if (values.size > 0) layers.apply({ hash, height, timeMs, values, extra: null })
    return [...values].map(([address, record]) => ({ address, record, gone: false }))
  }
  const revert = (operation: Operation): readonly Outcome[] => {
    const block = layers.revert(operation.block.meta.hash)
    return [...(block?.values ?? [])].flatMap(([address, removed]) => {
      const before = layers.get(address)
      const record = before ?? removed
      return record === null ? [] : [{ address, record, gone: before === undefined }]
    })
  }
  return {
    step: (operation) => {
      const { meta, final_height: height } = operation.block
      if (meta.op === 'OP_FINALIZE') {
        layers.finalize(height)
        return []
      }
      return publicationsOf(meta, meta.op === 'OP_REVERT' ? revert(operation) : apply(operation))
    },
    flush: () => ({ publications: [], changes: layers.changes() }),
  }
}

/**
 * `token-metadata` and first sights in trades to `tokens.processed`: the whole current record of a token, an upsert. A
 * token whose only sight was taken back is published once more as `OP_REVERT`.
 */
export const TOKENS: Stage = {
  app: 'tokens',
  inputs: ['tokenMetadata', 'trades'],
  outputs: ['tokensProcessed'],
  load: loadTokens,
}
