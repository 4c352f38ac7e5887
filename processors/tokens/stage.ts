import type { EventMeta, TokenEvent, TokenEvents } from '../../schemas/wire.ts'
import type {
  Operation,
  OperationRecord,
  Publication,
  Stage,
  StageProcessor,
  StageState,
} from '../runtime/stage.ts'
import { createVersionedStore } from '../runtime/versioned-store.ts'
import {
  createdRecord,
  firstSeenRecord,
  mergeMetadata,
  migrationEvent,
  type TokenRecord,
  unknownToken,
  upsertEvent,
  withMetadataHeight,
} from './record.ts'

type RecordLookup = (address: string) => TokenRecord | undefined
type SetRecord = (address: string, record: TokenRecord) => void

const applyMetadata = (
  event: TokenEvent,
  meta: EventMeta,
  known: RecordLookup,
  note: SetRecord,
): void => {
  const { token, transaction } = event
  if (token === null) return
  const update = withMetadataHeight(token, meta.height)
  const before = known(token.address)
  note(
    token.address,
    before
      ? { ...before, token: mergeMetadata(before.token, update) }
      : firstSeenRecord(update, meta, transaction),
  )
}

const applyLaunch = (
  event: TokenEvent,
  meta: EventMeta,
  known: RecordLookup,
  note: SetRecord,
): void => {
  const { token, transaction } = event
  if (token === null) return
  const before = known(token.address)
  if (event.type === 'EVENT_TYPE_CREATED') {
    note(token.address, createdRecord(event, withMetadataHeight(token, meta.height)))
  } else if (event.type === 'EVENT_TYPE_MIGRATED') {
    const record = before ?? firstSeenRecord(token, meta, transaction)
    note(token.address, {
      ...record,
      launch: record.launch ?? event.launch_from,
      migrated: event.migrated_to,
      migratedAtMs: event.migrated_at,
    })
  }
}

/** Tokens that were first seen in a trade; the first trade in the block of the first sight names its transaction. */
const applyTrades = ({ block, records }: Operation, known: RecordLookup, note: SetRecord): void => {
  const { meta } = block
  const seen = new Set<string>()
  for (const { topic, value } of records) {
    if (topic !== 'trades') continue
    for (const { trade, transaction } of value.events) {
      if (trade === null || seen.has(trade.token_a_address)) continue
      const { token_a_address: address, token_a_decimals: decimals } = trade
      seen.add(address)
      const before = known(address)
      if (before === undefined) {
        note(address, firstSeenRecord(unknownToken(address, decimals), meta, transaction))
      } else if (before.createdTx === '' && before.createdSlot === meta.slot) {
        note(address, { ...before, createdTx: transaction?.signature ?? '' })
      }
    }
  }
}

const changedRecords = (
  operation: Operation,
  before: RecordLookup,
): ReadonlyMap<string, TokenRecord> => {
  const { meta } = operation.block
  const noted = new Map<string, TokenRecord>()
  const known: RecordLookup = (address) => noted.get(address) ?? before(address)
  const note: SetRecord = (address, record) => noted.set(address, record)
  for (const { topic, value } of operation.records) {
    if (topic === 'tokens') for (const event of value.events) applyLaunch(event, meta, known, note)
  }
  for (const { topic, value } of operation.records) {
    if (topic !== 'tokenMetadata') continue
    for (const event of value.events) applyMetadata(event, meta, known, note)
  }
  applyTrades(operation, known, note)
  return noted
}

interface RecordChange {
  readonly address: string
  readonly record: TokenRecord
  /** The token was first seen in a block that is gone. */
  readonly isRemoved: boolean
}

const tokenUpserts = (meta: EventMeta, outcomes: readonly RecordChange[]): readonly Publication[] =>
  outcomes.map(({ address, record, isRemoved }, part) => ({
    topic: 'tokensProcessed',
    key: address,
    value: {
      meta: { ...meta, op: isRemoved ? 'OP_REVERT' : 'OP_APPLY', part, parts: outcomes.length },
      events: [upsertEvent(record)],
    },
  }))

const launchPublication = (
  topic: 'tokensCreated' | 'tokensMigrated',
  { key, value }: { readonly key: string; readonly value: TokenEvents },
  events: readonly TokenEvent[],
): readonly Publication[] =>
  events.length === 0 ? [] : [{ topic, key, value: { meta: value.meta, events } }]

/** Creations and migrations of an operation, as `tokens` has them: a retraction repeats them with its own operation. */
const launchPublications = (
  records: readonly OperationRecord[],
  known: RecordLookup,
): readonly Publication[] =>
  records.flatMap((record) => {
    if (record.topic !== 'tokens') return []
    const { events } = record.value
    const created = events.filter(({ type }) => type === 'EVENT_TYPE_CREATED')
    const migrated = events.flatMap((event) => {
      const held = event.type === 'EVENT_TYPE_MIGRATED' && known(event.token?.address ?? '')
      return held ? [migrationEvent(event, held)] : []
    })
    return [
      ...launchPublication('tokensCreated', record, created),
      ...launchPublication('tokensMigrated', record, migrated),
    ]
  })

const loadTokens = (state: StageState): StageProcessor => {
  const layers = createVersionedStore<TokenRecord, null>(state)
  const apply = (operation: Operation): readonly Publication[] => {
    const { meta } = operation.block
    const { hash, height, block_time: timeMs } = meta
    const values = changedRecords(operation, layers.get)
    if (values.size > 0) layers.apply({ hash, height, timeMs, values, extra: null })
    const outcomes = [...values].map(([address, record]) => ({ address, record, isRemoved: false }))
    return [...launchPublications(operation.records, layers.get), ...tokenUpserts(meta, outcomes)]
  }
  const revert = (operation: Operation): readonly Publication[] => {
    const { meta } = operation.block
    const reverted = launchPublications(operation.records, layers.get)
    const block = layers.revert(meta.hash)
    const outcomes = [...(block?.values ?? [])].flatMap(([address, removed]) => {
      const before = layers.get(address)
      const record = before ?? removed
      return record === null ? [] : [{ address, record, isRemoved: before === undefined }]
    })
    return [...reverted, ...tokenUpserts(meta, outcomes)]
  }
  return {
    step: (operation) => {
      const { meta, final_height: height } = operation.block
      if (meta.op === 'OP_REVERT') return revert(operation)
      if (meta.op === 'OP_APPLY') return apply(operation)
      layers.finalize(height)
      return []
    },
    flush: () => ({ publications: [], changes: layers.changes() }),
  }
}

/**
 * The launch tracker: creations, migrations, metadata and first sights in trades to `tokens.processed`, the whole current record of a
 * token, an upsert; a token whose only sight was taken back is published once more as `OP_REVERT`. Creations and migrations also
 * go to `tokens.created` and `tokens.migrated`.
 */
export const TOKENS: Stage = {
  app: 'tokens',
  inputs: ['tokens', 'tokenMetadata', 'trades'],
  outputs: ['tokensProcessed', 'tokensCreated', 'tokensMigrated'],
  load: loadTokens,
}
