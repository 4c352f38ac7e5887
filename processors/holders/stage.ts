import { LRUCache } from 'lru-cache'
import { HOUR_MS } from '../../core/time.ts'
import { burnAddressesOf } from '../../schemas/burn-addresses.ts'
import type { EventMeta, TokenHoldingEvent } from '../../schemas/wire.ts'
import { recordVersion } from '../candles/series.ts'
import { prefixedState } from '../runtime/pipeline.ts'
import type {
  FlushResult,
  Operation,
  Publication,
  Stage,
  StageProcessor,
  StageState,
} from '../runtime/stage.ts'
import { createVersionedStore, type VersionedStore } from '../runtime/versioned-store.ts'
import {
  BlockHolderChanges,
  type HolderEntry,
  ownerKey,
  splitOwnerKey,
  type TokenHolders,
  VAULT_BIT,
} from './block-changes.ts'
import { holdingEvent, TOP_HOLDERS } from './holding-event.ts'
import { applyBlock } from './tag-rules.ts'
import { TopHolders } from './top-holders.ts'

const TOKENS_PREFIX = 't/'
const OWNERS_PREFIX = 'o/'
/** Tokens whose largest holders stay in memory; others are looked up again when they change. */
const MAX_CACHED_TOP_HOLDERS = 4_096

/** A token that changed since the last flush. */
interface ChangedToken {
  version: number
  /** States of hours that are over, or that a reorg emptied, by hour. */
  readonly past: Map<number, TokenHoldingEvent>
}

const hourAt = (timeMs: number): number => Math.floor(timeMs / HOUR_MS)

/** Holders of the tokens of one lane that were created within the run: sums per token, one entry per owner on disk. */
class HolderProcessor implements StageProcessor {
  readonly #tokens: VersionedStore<TokenHolders, null>
  readonly #owners: VersionedStore<HolderEntry, null>
  readonly #tops = new LRUCache<string, TopHolders>({ max: MAX_CACHED_TOP_HOLDERS })
  readonly #dirty = new Map<string, ChangedToken>()
  #burned: ReadonlySet<string> = new Set()
  #newest: EventMeta | undefined

  constructor(state: StageState) {
    this.#tokens = createVersionedStore(prefixedState(state, TOKENS_PREFIX))
    this.#owners = createVersionedStore(prefixedState(state, OWNERS_PREFIX))
  }

  step(operation: Operation): readonly Publication[] {
    const { meta, final_height: finalHeight } = operation.block
    if (this.#newest?.chain !== meta.chain) {
      this.#burned = new Set(burnAddressesOf(meta.chain))
    }
    this.#newest = meta
    if (meta.op === 'OP_APPLY') this.#apply(operation)
    else if (meta.op === 'OP_REVERT') this.#revert(meta)
    else {
      this.#tokens.finalize(finalHeight)
      this.#owners.finalize(finalHeight)
    }
    return []
  }

  flush(): FlushResult {
    const meta = this.#newest
    const publications = meta === undefined ? [] : this.#publications(meta)
    this.#dirty.clear()
    const under = (prefix: string, changes: FlushResult['changes']): FlushResult['changes'] =>
      changes.map(([key, value]) => [prefix + key, value])
    return {
      publications,
      changes: [
        ...under(TOKENS_PREFIX, this.#tokens.changes()),
        ...under(OWNERS_PREFIX, this.#owners.changes()),
      ],
    }
  }

  #apply(operation: Operation): void {
    if (operation.records.length === 0) return
    const { meta } = operation.block
    const { hash, height, block_time: timeMs, seq } = meta
    const committed = {
      token: (token: string) => this.#tokens.get(token),
      owner: (key: string) => this.#owners.get(key),
    }
    const draft = new BlockHolderChanges(committed, this.#burned, timeMs)
    applyBlock(draft, operation)
    const tokens = draft.tokens()
    if (tokens.size === 0) return
    for (const token of tokens.keys()) this.#enter(token, meta)
    const block = { hash, height, timeMs, extra: null }
    this.#tokens.apply({ ...block, values: tokens })
    this.#owners.apply({ ...block, values: draft.owners })
    for (const token of tokens.keys()) this.#dirtyAt(token, seq)
    this.#reorder(draft.owners.keys())
  }

  /** Before a block changes a token: the state of an hour that is over is kept, a new token begins without holders. */
  #enter(token: string, { chain, block_time: timeMs }: EventMeta): void {
    const before = this.#tokens.get(token)
    if (before === undefined) {
      this.#tops.set(token, new TopHolders())
      return
    }
    const dirty = this.#dirty.get(token)
    const hour = hourAt(before.changedMs)
    if (dirty === undefined || hour === hourAt(timeMs)) return
    dirty.past.set(hour, this.#event(chain, token, before, dirty.version))
  }

  #revert({ hash, chain, seq }: EventMeta): void {
    const tokens = this.#tokens.revert(hash)
    const owners = this.#owners.revert(hash)
    this.#reorder(owners?.values.keys() ?? [])
    for (const [token, removed] of tokens?.values ?? []) {
      const before = this.#tokens.get(token)
      const dirty = this.#dirtyAt(token, seq)
      if (before === undefined) this.#tops.delete(token)
      if (removed === null) continue
      const { changedMs: timeMs } = removed
      if (before !== undefined && hourAt(before.changedMs) === hourAt(timeMs)) continue
      const eventFields = { chain, token, timeMs, version: dirty.version }
      dirty.past.set(hourAt(timeMs), holdingEvent(eventFields))
    }
  }

  #dirtyAt(token: string, seq: number): ChangedToken {
    const version = recordVersion(seq, 0)
    const dirty = this.#dirty.get(token) ?? { version, past: new Map() }
    dirty.version = version
    this.#dirty.set(token, dirty)
    return dirty
  }

  /** Holding that counts for the largest: neither burned nor in a vault. */
  #ranked(owner: string, held: HolderEntry | undefined): bigint {
    if (held === undefined || (held.tags & VAULT_BIT) !== 0 || this.#burned.has(owner)) return 0n
    return BigInt(held.raw)
  }

  #reorder(keys: Iterable<string>): void {
    for (const key of keys) {
      const [token, owner] = splitOwnerKey(key)
      this.#tops.get(token)?.set(owner, this.#ranked(owner, this.#owners.get(key)))
    }
  }

  #best(token: string, held: TokenHolders): readonly bigint[] {
    const top = this.#tops.get(token) ?? this.#filled(token, held, new TopHolders())
    const best = top.best(TOP_HOLDERS) ?? this.#filled(token, held, top).best(TOP_HOLDERS) ?? []
    return best.map(({ raw }) => raw)
  }

  #filled(token: string, held: TokenHolders, top: TopHolders): TopHolders {
    top.fill(this.#all(token), held.holders)
    this.#tops.set(token, top)
    return top
  }

  *#all(token: string): Iterable<readonly [owner: string, raw: bigint]> {
    for (const [key, held] of this.#owners.entries(ownerKey(token, ''))) {
      const [, owner] = splitOwnerKey(key)
      yield [owner, this.#ranked(owner, held)]
    }
  }

  #event(chain: string, token: string, held: TokenHolders, version: number): TokenHoldingEvent {
    const eventFields = { chain, token, timeMs: held.changedMs, version }
    return holdingEvent(eventFields, held, this.#best(token, held))
  }

  #publications(meta: EventMeta): readonly Publication[] {
    return [...this.#dirty].map(([token, { version, past }], part) => {
      const held = this.#tokens.get(token)
      if (held !== undefined) past.delete(hourAt(held.changedMs))
      const over = [...past].toSorted(([one], [other]) => one - other).map(([, event]) => event)
      const now = held === undefined ? [] : [this.#event(meta.chain, token, held, version)]
      const parts = this.#dirty.size
      return {
        topic: 'tokenHoldings',
        key: token,
        value: { meta: { ...meta, op: 'OP_APPLY', part, parts }, events: [...over, ...now] },
      }
    })
  }
}

/**
 * Balance changes by token to `token-holdings`: number of holders, the largest ones, and groups of owners of each token that
 * was created within the run, an upsert by hour. An hour that a reorg emptied is published once, all zero; a
 * record's last event is the current state.
 */
export const HOLDERS: Stage = {
  app: 'holders',
  inputs: ['tokens', 'pools', 'trades', 'holderDeltas'],
  outputs: ['tokenHoldings'],
  load: (state) => new HolderProcessor(state),
}
