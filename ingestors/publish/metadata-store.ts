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

/** Facts that a node or a file gave, by address. */
export interface Facts {
  readonly token: (address: string) => TokenMetadata | undefined
  readonly pool: (address: string) => PoolMetadata | undefined
}

/** Facts of one block. */
export interface FetchedMetadata {
  readonly tokens: readonly TokenMetadata[]
  readonly pools: readonly PoolMetadata[]
  /** Names that tokens gave and that cannot be displayed. */
  readonly unread?: readonly UnreadName[]
}

/** What a token answered for its name or symbol. */
export interface UnreadName {
  readonly address: string
  readonly reason: string
  /** The beginning of the answer. */
  readonly said: string
}

/** State changes of a block operation that wait for their commit. */
export interface Pending {
  readonly quotes: QuoteState
  readonly changes: readonly StoredChange[]
}

/** What an applied block changes. */
interface AppliedBlock {
  readonly seq: number
  readonly quotes: QuoteState
  readonly learned: FetchedMetadata
  /** Running amounts to keep; null = forget. */
  readonly amounts: ReadonlyMap<string, bigint | null>
  /** Operations that can no longer be taken back. */
  readonly expired: readonly number[]
}

/** What an ingestor knows, at one moment of the chain: facts, prices, and how to take back what is not final. */
export interface Ledger extends Facts {
  readonly quotes: () => QuoteState
  /** A running amount by its name. */
  readonly amount: (key: string) => bigint | undefined
  /** The changes of an applied block, with the undo that `revert` needs stored beside them. */
  readonly apply: (block: AppliedBlock) => Pending
  /** The changes that take the block of operation `seq` back. Throws when nothing is stored of it. */
  readonly revert: (seq: number) => Pending
  /** The changes that forget how to take back the blocks of these operations. */
  readonly forget: (seqs: readonly number[]) => Pending
  /** Takes over what will be committed: what is asked from now on is as of then. */
  readonly take: (pending: Pending) => void
  /** What was taken over is committed: it can be read from the lane's state. */
  readonly markCommitted: (pending: Pending) => void
}

/** Facts of each kind that are held in memory; the others are read from the lane's state again. */
const CACHED = 50_000

const TOKEN_PREFIX = 'token/'
const POOL_PREFIX = 'pool/'
const AMOUNT_PREFIX = 'amount/'
const undoKey = (seq: number): string => `undo/${seq}`

/** Opens the ledger over a lane's state. Nothing is written here: a commit of the bus does that, between `take` and `markCommitted`. */
export const openLedger = (state: LaneState): Ledger => {
  /** Newest change of each key that is taken over and not committed. */
  const uncommitted = new Map<string, StoredChange>()
  const stored = (key: string): string | null => {
    const taken = uncommitted.get(key)
    if (taken !== undefined) return taken.json
    const bytes = state.get(key)
    return bytes === undefined ? null : Buffer.from(bytes).toString('utf8')
  }
  const tokens = factCache(stored, TOKEN_PREFIX, reviveToken)
  const pools = factCache(stored, POOL_PREFIX, revivePool)
  const amounts = factCache(stored, AMOUNT_PREFIX, (value) => ({ raw: BigInt(String(value)) }))
  let quotes = applyStoredChanges(EMPTY_QUOTE_STATE, storedValues(state, QUOTES_PREFIX))
  return {
    token: tokens.get,
    pool: pools.get,
    quotes: () => quotes,
    amount: (key) => amounts.get(key)?.raw,
    apply: ({ seq, quotes: next, learned, amounts: changed, expired }) => {
      const facts: readonly StoredChange[] = [
        ...[...changed].map(([key, raw]) => amountChange(key, raw ?? undefined)),
        ...learned.tokens.map((fact) => tokenChange(fact.address, fact)),
        ...learned.pools.map((fact) => poolChange(fact.address, fact)),
      ]
      const undo: readonly StoredChange[] = [
        ...[...changed.keys()].map((key) => amountChange(key, amounts.get(key)?.raw)),
        ...learned.tokens.map(({ address }) => tokenChange(address, tokens.get(address))),
        ...learned.pools.map(({ address }) => poolChange(address, pools.get(address))),
        ...diffQuoteStates(next, quotes),
      ]
      const undoChange = { key: undoKey(seq), json: JSON.stringify(undo) }
      const changes = [
        ...facts,
        ...diffQuoteStates(quotes, next),
        undoChange,
        ...forgotten(expired),
      ]
      return { quotes: next, changes }
    },
    revert: (seq) => {
      const text = stored(undoKey(seq))
      if (text === null) throw new Error(`no undo is stored for operation ${seq}`)
      const changes: readonly StoredChange[] = JSON.parse(text)
      return {
        quotes: applyStoredChanges(quotes, changes),
        changes: [...changes, ...forgotten([seq])],
      }
    },
    forget: (seqs) => ({ quotes, changes: forgotten(seqs) }),
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

interface FactCache<Fact> {
  readonly get: (address: string) => Fact | undefined
  /** Takes over a committed change, if it is one of this kind. */
  readonly take: (change: StoredChange) => void
}

const factCache = <Fact extends object>(
  stored: (key: string) => string | null,
  prefix: string,
  revive: (value: unknown) => Fact,
): FactCache<Fact> => {
  // Bounded by size, not by count: for a count the cache makes room for all of them at once.
  const held = new LRUCache<string, Fact | false>({ maxSize: CACHED, sizeCalculation: () => 1 })
  const hold = (address: string, json: string | null): Fact | undefined => {
    const fact = json === null ? undefined : revive(JSON.parse(json))
    held.set(address, fact ?? false)
    return fact
  }
  return {
    get: (address) => {
      const found = held.get(address)
      return found === undefined ? hold(address, stored(prefix + address)) : found || undefined
    },
    take: ({ key, json }) => {
      if (key.startsWith(prefix)) hold(key.slice(prefix.length), json)
    },
  }
}

const forgotten = (seqs: readonly number[]): readonly StoredChange[] =>
  seqs.map((seq) => ({ key: undoKey(seq), json: null }))

/** State outlives an upgrade: an earlier version stored `verified` by another name. */
const revivePool = (value: unknown): PoolMetadata => {
  const { proven, ...pool } = value as PoolMetadata & { readonly proven?: boolean }
  return proven === undefined ? pool : { ...pool, verified: proven }
}

const poolChange = (address: string, fact: PoolMetadata | undefined): StoredChange => ({
  key: POOL_PREFIX + address,
  json: fact === undefined ? null : JSON.stringify(fact),
})

const amountChange = (key: string, raw: bigint | undefined): StoredChange => ({
  key: AMOUNT_PREFIX + key,
  json: raw === undefined ? null : JSON.stringify(raw.toString()),
})

const tokenChange = (address: string, fact: TokenMetadata | undefined): StoredChange => ({
  key: TOKEN_PREFIX + address,
  json: fact === undefined ? null : storedToken(fact),
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

const storedToken = (fact: TokenMetadata): string =>
  JSON.stringify({ ...fact, totalSupplyRaw: fact.totalSupplyRaw?.toString() ?? null })

const reviveToken = (value: unknown): TokenMetadata => {
  const { totalSupplyRaw, ...fact } = value as Omit<TokenMetadata, 'totalSupplyRaw'> & {
    readonly totalSupplyRaw: string | null
  }
  return { ...fact, totalSupplyRaw: totalSupplyRaw === null ? null : BigInt(totalSupplyRaw) }
}
