import { LRUCache } from 'lru-cache'
import type { LaneState, StateChange } from '../core/bus-contract.ts'
import {
  NO_QUOTES,
  QUOTES_PREFIX,
  type QuoteState,
  quoteChanges,
  type StoredChange,
  withStored,
} from '../core/quote-state.ts'
import type { PoolFact, TokenFact } from '../schemas/events.ts'

/** Facts that a node or a file gave, by address. */
export interface Facts {
  readonly token: (address: string) => TokenFact | undefined
  readonly pool: (address: string) => PoolFact | undefined
}

/** Facts of one block. */
export interface Learned {
  readonly tokens: readonly TokenFact[]
  readonly pools: readonly PoolFact[]
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
  readonly learned: Learned
  /** Operations that can no longer be taken back. */
  readonly expired: readonly number[]
}

/** What an ingestor knows, at one moment of the chain: facts, prices, and how to take back what is not final. */
export interface Ledger extends Facts {
  readonly quotes: () => QuoteState
  /** The changes of an applied block, with the undo that `revert` needs stored beside them. */
  readonly apply: (block: AppliedBlock) => Pending
  /** The changes that take the block of operation `seq` back. Throws when nothing is stored of it. */
  readonly revert: (seq: number) => Pending
  /** The changes that forget how to take back the blocks of these operations. */
  readonly forget: (seqs: readonly number[]) => Pending
  /** Takes over what was committed. */
  readonly commit: (pending: Pending) => void
}

/** Values of the lane's state that are held in memory. */
const CACHED = 50_000

const tokenKey = (address: string): string => `token/${address}`
const poolKey = (address: string): string => `pool/${address}`
const undoKey = (seq: number): string => `undo/${seq}`

/** Opens the ledger over a lane's state. Nothing is written here: a commit of the bus does that, then `commit`. */
export const openLedger = (state: LaneState): Ledger => {
  const held = new LRUCache<string, string | false>({ max: CACHED })
  const json = (key: string): string | undefined => {
    const found = held.get(key)
    if (found !== undefined) return found === false ? undefined : found
    const bytes = state.get(key)
    const text = bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8')
    held.set(key, text ?? false)
    return text
  }
  let quotes = withStored(NO_QUOTES, storedValues(state, QUOTES_PREFIX))
  return {
    token: (address) => parsed(json(tokenKey(address)), reviveToken),
    pool: (address) => parsed(json(poolKey(address)), (fact) => fact as PoolFact),
    quotes: () => quotes,
    apply: ({ seq, quotes: next, learned: { tokens, pools }, expired }) => {
      const forward: readonly StoredChange[] = [
        ...tokens.map((fact) => ({ key: tokenKey(fact.address), json: storedToken(fact) })),
        ...pools.map((fact) => ({ key: poolKey(fact.address), json: JSON.stringify(fact) })),
        ...quoteChanges(quotes, next),
      ]
      const undo = forward.map(({ key }) => ({ key, json: json(key) ?? null }))
      const stored = { key: undoKey(seq), json: JSON.stringify(undo) }
      return { quotes: next, changes: [...forward, stored, ...forgotten(expired)] }
    },
    revert: (seq) => {
      const text = json(undoKey(seq))
      if (text === undefined) throw new Error(`no undo is stored for operation ${seq}`)
      const changes: readonly StoredChange[] = JSON.parse(text)
      return {
        quotes: withStored(quotes, changes),
        changes: [...changes, { key: undoKey(seq), json: null }],
      }
    },
    forget: (seqs) => ({ quotes, changes: forgotten(seqs) }),
    commit: (pending) => {
      quotes = pending.quotes
      for (const change of pending.changes) held.set(change.key, change.json ?? false)
    },
  }
}

const forgotten = (seqs: readonly number[]): readonly StoredChange[] =>
  seqs.map((seq) => ({ key: undoKey(seq), json: null }))

/** The same changes as a commit of the bus takes them. */
export const stateChanges = (
  changes: readonly StoredChange[],
  store: string,
  partition: number,
): readonly StateChange[] =>
  changes.map(({ key, json }) => ({
    store,
    partition,
    key,
    value: json === null ? null : Buffer.from(json, 'utf8'),
  }))

function* storedValues(state: LaneState, prefix: string): Generator<StoredChange> {
  for (const [key, bytes] of state.entries(prefix)) {
    yield { key, json: Buffer.from(bytes).toString('utf8') }
  }
}

const parsed = <T>(text: string | undefined, revive: (value: unknown) => T): T | undefined =>
  text === undefined ? undefined : revive(JSON.parse(text))

const storedToken = (fact: TokenFact): string =>
  JSON.stringify({ ...fact, totalSupplyRaw: fact.totalSupplyRaw?.toString() ?? null })

const reviveToken = (value: unknown): TokenFact => {
  const { totalSupplyRaw, ...fact } = value as Omit<TokenFact, 'totalSupplyRaw'> & {
    readonly totalSupplyRaw: string | null
  }
  return { ...fact, totalSupplyRaw: totalSupplyRaw === null ? null : BigInt(totalSupplyRaw) }
}
