import { LRUCache } from 'lru-cache'
import type { LaneState, StateChange } from '../../core/bus/contract.ts'
import {
  applyStoredChanges,
  diffQuoteStates,
  EMPTY_QUOTE_STATE,
  QUOTES_PREFIX,
  type QuoteState,
  type StoredChange,
} from '../../core/prices/quote-state.ts'
import type { PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import type { Facts, FetchedMetadata } from '../decode/contract.ts'

/** State changes of a block operation that wait for their commit. */
export interface Pending {
  readonly quotes: QuoteState
  readonly changes: readonly StoredChange[]
}

/** What an applied block changes. */
interface AppliedBlock {
  readonly seq: number
  readonly quotes: QuoteState
  readonly metadata: FetchedMetadata
  /** Running amounts to keep; null = delete. */
  readonly amounts: ReadonlyMap<string, bigint | null>
  /** Operations that can no longer be taken back. */
  readonly expired: readonly number[]
}

/** What an ingestor knows, at one moment of the chain: metadata, prices, and how to revert what is not final. */
export interface Ledger extends Facts {
  readonly quotes: () => QuoteState
  /** A running amount by its name. */
  readonly amount: (key: string) => bigint | undefined
  /** The changes of an applied block, with the undo that `revert` needs stored beside them. */
  readonly apply: (block: AppliedBlock) => Pending
  /** The changes that take the block of operation `seq` back. Throws when nothing is stored of it. */
  readonly revert: (seq: number) => Pending
  /** The changes that delete the undo entries of these operations. */
  readonly dropUndo: (seqs: readonly number[]) => Pending
  /** Takes over what will be committed: what is asked from now on is as of then. */
  readonly take: (pending: Pending) => void
  /** What was taken over is committed: it can be read from the lane's state. */
  readonly markCommitted: (pending: Pending) => void
}

/** Entries of each kind that are cached in memory; the others are read from the lane's state again. */
const MAX_CACHED = 50_000

const TOKEN_PREFIX = 'token/'
const POOL_PREFIX = 'pool/'
const AMOUNT_PREFIX = 'amount/'
const undoKey = (seq: number): string => `undo/${seq}`

/**
 * Opens the ledger over a lane's state. Nothing is written here: a commit of the bus does that, between `take` and `markCommitted`.
 * `maxCached`: entries of each kind that are held in memory.
 */
export const openLedger = (state: LaneState, maxCached = MAX_CACHED): Ledger => {
  /** Newest change of each key that is taken over and not committed. */
  const uncommitted = new Map<string, StoredChange>()
  const stored = (key: string): string | null => {
    const taken = uncommitted.get(key)
    if (taken !== undefined) return taken.json
    const bytes = state.get(key)
    return bytes === undefined ? null : Buffer.from(bytes).toString('utf8')
  }
  const tokens = metadataCache({ stored, maxCached }, TOKEN_PREFIX, reviveToken)
  const pools = metadataCache({ stored, maxCached }, POOL_PREFIX, revivePool)
  const amounts = metadataCache({ stored, maxCached }, AMOUNT_PREFIX, (value) => ({
    raw: BigInt(String(value)),
  }))
  let quotes = applyStoredChanges(EMPTY_QUOTE_STATE, storedValues(state, QUOTES_PREFIX))
  return {
    token: tokens.get,
    pool: pools.get,
    quotes: () => quotes,
    amount: (key) => amounts.get(key)?.raw,
    apply: ({ seq, quotes: next, metadata, amounts: changed, expired }) => {
      const writes: readonly StoredChange[] = [
        ...[...changed].map(([key, raw]) => amountChange(key, raw ?? undefined)),
        ...metadata.tokens.map((metadata) => tokenChange(metadata.address, metadata)),
        ...metadata.pools.map((metadata) => poolChange(metadata.address, metadata)),
      ]
      const undo: readonly StoredChange[] = [
        ...[...changed.keys()].map((key) => amountChange(key, amounts.get(key)?.raw)),
        ...metadata.tokens.map(({ address }) => tokenChange(address, tokens.get(address))),
        ...metadata.pools.map(({ address }) => poolChange(address, pools.get(address))),
        ...diffQuoteStates(next, quotes),
      ]
      const undoChange = { key: undoKey(seq), json: JSON.stringify(undo) }
      const changes = [
        ...writes,
        ...diffQuoteStates(quotes, next),
        undoChange,
        ...undoDeletions(expired),
      ]
      return { quotes: next, changes }
    },
    revert: (seq) => {
      const text = stored(undoKey(seq))
      if (text === null)
        throw new Error(`no undo entry is stored for operation ${seq}, it cannot be reverted`)
      const changes: readonly StoredChange[] = JSON.parse(text)
      return {
        quotes: applyStoredChanges(quotes, changes),
        changes: [...changes, ...undoDeletions([seq])],
      }
    },
    dropUndo: (seqs) => ({ quotes, changes: undoDeletions(seqs) }),
    markCommitted: ({ changes }) => {
      for (const change of changes) {
        if (uncommitted.get(change.key) === change) uncommitted.delete(change.key)
      }
    },
    take: (pending) => {
      quotes = pending.quotes
      for (const change of pending.changes) {
        uncommitted.set(change.key, change)
        tokens.take(change)
        pools.take(change)
        amounts.take(change)
      }
    },
  }
}

interface MetadataCache<Fact> {
  readonly get: (address: string) => Fact | undefined
  /** Takes over a change that is made, committed or not, if it is one of this kind. */
  readonly take: (change: StoredChange) => void
}

/** Where entries are read from, and how many are held. */
interface CacheOptions {
  readonly stored: (key: string) => string | null
  readonly maxCached: number
}

const metadataCache = <Fact extends object>(
  { stored, maxCached }: CacheOptions,
  prefix: string,
  revive: (value: unknown) => Fact,
): MetadataCache<Fact> => {
  // Bounded by size, not by count: for a count the cache makes room for all of them at once.
  const cache = new LRUCache<string, Fact | false>({
    maxSize: maxCached,
    sizeCalculation: () => 1,
  })
  const cacheValue = (address: string, json: string | null): Fact | undefined => {
    const metadata = json === null ? undefined : revive(JSON.parse(json))
    cache.set(address, metadata ?? false)
    return metadata
  }
  return {
    get: (address) => {
      const found = cache.get(address)
      return found === undefined
        ? cacheValue(address, stored(prefix + address))
        : found || undefined
    },
    take: ({ key, json }) => {
      if (key.startsWith(prefix)) cacheValue(key.slice(prefix.length), json)
    },
  }
}

const undoDeletions = (seqs: readonly number[]): readonly StoredChange[] =>
  seqs.map((seq) => ({ key: undoKey(seq), json: null }))

/** State outlives an upgrade: an earlier version stored `verified` by another name. */
const revivePool = (value: unknown): PoolMetadata => {
  const { proven, ...pool } = value as PoolMetadata & { readonly proven?: boolean }
  return proven === undefined ? pool : { ...pool, verified: proven }
}

const poolChange = (address: string, metadata: PoolMetadata | undefined): StoredChange => ({
  key: POOL_PREFIX + address,
  json: metadata === undefined ? null : JSON.stringify(metadata),
})

const amountChange = (key: string, raw: bigint | undefined): StoredChange => ({
  key: AMOUNT_PREFIX + key,
  json: raw === undefined ? null : JSON.stringify(raw.toString()),
})

const tokenChange = (address: string, metadata: TokenMetadata | undefined): StoredChange => ({
  key: TOKEN_PREFIX + address,
  json: metadata === undefined ? null : storedToken(metadata),
})

/** The changes as a commit of the bus takes them: of several changes of a key the last. */
export const stateChanges = (
  changes: readonly StoredChange[],
  store: string,
  partition: number,
): readonly StateChange[] => {
  const last = new Map(changes.map((change) => [change.key, change]))
  return [...last.values()].map(({ key, json }) => ({
    store,
    partition,
    key,
    value: json === null ? null : Buffer.from(json, 'utf8'),
  }))
}

function* storedValues(state: LaneState, prefix: string): Generator<StoredChange> {
  for (const [key, bytes] of state.entries(prefix)) {
    yield { key, json: Buffer.from(bytes).toString('utf8') }
  }
}

const storedToken = (metadata: TokenMetadata): string =>
  JSON.stringify({ ...metadata, totalSupplyRaw: metadata.totalSupplyRaw?.toString() ?? null })

const reviveToken = (value: unknown): TokenMetadata => {
  const { totalSupplyRaw, ...metadata } = value as Omit<TokenMetadata, 'totalSupplyRaw'> & {
    readonly totalSupplyRaw: string | null
  }
  return { ...metadata, totalSupplyRaw: totalSupplyRaw === null ? null : BigInt(totalSupplyRaw) }
}
