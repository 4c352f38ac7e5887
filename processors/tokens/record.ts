import type { EventMeta, Launch, Token, TokenEvent, Transaction } from '../../schemas/wire.ts'

/** What is known of a token: metadata, when it was created or was first seen, and where it trades. */
export interface TokenRecord {
  readonly token: Token
  readonly createdAtMs: number
  readonly createdSlot: number
  /** "" where the first sight was not a transaction. */
  readonly createdTx: string
  readonly dev: string
  readonly launch: Launch | null
  readonly migrated: Launch | null
  /** 0 = it did not migrate. */
  readonly migratedAtMs: number
}

/** A token of which only the address and perhaps its decimals are known; -1 = unknown. */
export const unknownToken = (address: string, decimals: number | null): Token => ({
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

/** A token as its first sight shows it. */
export const firstSeenRecord = (
  token: Token,
  meta: EventMeta,
  tx: Transaction | null,
): TokenRecord => ({
  token,
  createdAtMs: meta.block_time,
  createdSlot: meta.slot,
  createdTx: tx?.signature ?? '',
  dev: '',
  launch: null,
  migrated: null,
  migratedAtMs: 0,
})

/** A token as its creation says; what a sight before it in the same block knew is replaced. */
export const createdRecord = (event: TokenEvent, token: Token): TokenRecord => ({
  token,
  createdAtMs: event.created_at,
  createdSlot: event.created_slot,
  createdTx: event.created_tx,
  dev: event.dev,
  launch: event.launch_from,
  migrated: null,
  migratedAtMs: 0,
})

/** Newer metadata over older; what it leaves unknown stays. */
export const mergeMetadata = (before: Token, newer: Token): Token => ({
  ...before,
  ...newer,
  name: newer.name || before.name,
  symbol: newer.symbol || before.symbol,
  uri: newer.uri || before.uri,
  decimals: newer.decimals === -1 ? before.decimals : newer.decimals,
  creators: newer.creators.length > 0 ? newer.creators : before.creators,
  solana_extra: newer.solana_extra ?? before.solana_extra,
  evm_extra: newer.evm_extra ?? before.evm_extra,
})

/** Metadata of a token with the height at which it was read. */
export const withMetadataHeight = (token: Token, height: number): Token => ({
  ...token,
  additional_metadata: { ...token.additional_metadata, facts_height: String(height) },
})

/** The whole record as an upsert carries it. */
export const upsertEvent = (record: TokenRecord): TokenEvent => ({
  instruction: null,
  block: null,
  transaction: null,
  d_app: null,
  type: 'EVENT_TYPE_UPDATED',
  token: record.token,
  token_processed: null,
  launch_from: record.launch,
  migrated_to: record.migrated,
  created_at: record.createdAtMs,
  created_slot: record.createdSlot,
  created_tx: record.createdTx,
  dev: record.dev,
  migrated_at: record.migratedAtMs,
})

/** A migration with everything that is known of its token. */
export const migrationEvent = (event: TokenEvent, record: TokenRecord): TokenEvent => ({
  ...event,
  token: record.token,
  launch_from: record.launch ?? event.launch_from,
  created_at: record.createdAtMs,
  created_slot: record.createdSlot,
  created_tx: record.createdTx,
  dev: record.dev,
})
