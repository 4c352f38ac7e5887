import type { DexPoolEvents } from '../../schemas/wire.ts'
import type { PoolBinRow, PoolStateRow, PoolTickRow } from '../queries/pool-states.ts'
import type { AccountPoolHead } from './account-pool.ts'
import { addToBin } from './bin-entry.ts'
import { isNearLastPrice } from './last-price.ts'
import { type Pool, spotPrice } from './pool.ts'
import {
  addToTick,
  applyPoolEvent,
  entryOfEvent,
  entryOfRow,
  exactPool,
  type PoolEntry,
} from './pool-entry.ts'
import { createPairIndex, type GraphLimits, type PoolGraph } from './pool-graph.ts'
import { type ChainVenues, isReadFromAccounts, pricingOf } from './quotable-protocols.ts'

/** Exact states of a chain's pools. Synchronous: a search sees one moment of all of them. */
export interface PoolBook {
  /** What the tables hold: the start of everything that follows. */
  load(
    pools: readonly PoolStateRow[],
    ticks: readonly PoolTickRow[],
    bins: readonly PoolBinRow[],
  ): void
  /** One record of the pool topic. */
  accept(record: DexPoolEvents): void
  /** Forgets everything: a pool is exact again with its next event, one with ranges not before the next start. */
  clear(): void
  /** Pools as they are now. Which tokens are beside each other is as of at most a few seconds ago. */
  graph(nowMs: number): PoolGraph
  /** A pool whose state is exact now; null: known and not exact. */
  pool(address: string, nowMs: number): Pool | null | undefined
  /** Pools between two tokens that are priced by their accounts, as far as none of what those said is good now. */
  unread(token: string, other: string, nowMs: number): readonly AccountPoolHead[]
  /** The same for one pool; undefined: it is none, or its accounts need not be read. */
  unreadPool(address: string, nowMs: number): AccountPoolHead | undefined
  /** What the accounts of such a pool said, and until when it is good; null: nothing that is exact. */
  keepRead(address: string, pool: Pool | null, untilMs: number): void
  /** False where what a node says is far from the price that the last swap of the pool paid; true where that is not known. */
  isPlausible(pool: Pool): boolean
  /** Decimals of a token, null where they are not known. */
  decimals(token: string): number | null
  readonly size: number
}

/** Most pools that are kept. Beyond, those with the least money at their price are forgotten, unknown ones first. */
export const MAX_POOLS = 20_000
/** What is forgotten at once, so that it is not done for every new pool. */
const PRUNED_SHARE = 0.1

const unreadHead = (entry: PoolEntry | undefined, nowMs: number): AccountPoolHead | undefined => {
  if (entry === undefined) return undefined
  const { address, row, tokens, tvlUsd, read } = entry
  const kind = pricingOf(row)
  if (kind === undefined || !isReadFromAccounts(row)) return undefined
  if (read !== undefined && nowMs < read.untilMs) return undefined
  return { kind, address, protocol: row.id, tokens, tvlUsd }
}

const poolNow = (entry: PoolEntry | undefined, nowMs: number): Pool | null | undefined =>
  entry && exactPool(entry, nowMs)

const isPriceOf = (entry: PoolEntry | undefined, read: Pool): boolean => {
  const lastPrice = entry?.lastPrice ?? null
  return lastPrice === null || isNearLastPrice(spotPrice(read, read.tokens[0]), lastPrice)
}

/** Makes the state of a pool one that is not exact, until its next event or reading; false: it is that already. */
const leaveOut = (entry: PoolEntry | undefined): boolean => {
  if (entry?.read?.pool) {
    entry.read = { pool: null, untilMs: entry.read.untilMs }
    return true
  }
  if (!entry?.pool) return false
  entry.pool = null
  return true
}

/** An empty book. Pools of a protocol that is not quotable, or whose factory is not listed, are not kept. `onFailed` is called once for each state that cannot be quoted. */
export const createPoolBook = (
  venues: ChainVenues,
  limits: GraphLimits,
  maxPools = MAX_POOLS,
  onFailed: NonNullable<PoolGraph['failed']> = () => undefined,
): PoolBook => {
  const entries = new Map<string, PoolEntry>()
  const decimals = new Map<string, number>()
  const index = createPairIndex<PoolEntry>(limits)

  const rowOf = (protocol: string, factory: string) => {
    const row = venues.ofFactory(factory)
    return row?.id === protocol && venues.quotable.has(row.id) ? row : undefined
  }

  const keep = (entry: PoolEntry): void => {
    const earlier = entries.get(entry.address)
    if (earlier !== undefined) index.remove(earlier)
    entries.set(entry.address, entry)
    index.add(entry)
    entry.tokens.forEach((token, side) => {
      const known = entry.decimals[side]
      if (known !== null && known !== undefined) decimals.set(token, known)
    })
  }

  const pruneShallow = (): void => {
    if (entries.size <= maxPools) return
    const byDepth = [...entries.values()].toSorted((a, b) => (a.tvlUsd ?? -1) - (b.tvlUsd ?? -1))
    const count = entries.size - maxPools + Math.floor(maxPools * PRUNED_SHARE)
    for (const entry of byDepth.slice(0, count)) {
      entries.delete(entry.address)
      index.remove(entry)
    }
    const left = new Set([...entries.values()].flatMap(({ tokens }) => tokens))
    for (const token of decimals.keys()) if (!left.has(token)) decimals.delete(token)
  }

  const failed = (pool: Pool, error: unknown): void => {
    if (leaveOut(entries.get(pool.address))) onFailed(pool, error)
  }

  return {
    load: (pools, ticks, bins) => {
      for (const stored of pools) {
        const row = rowOf(stored.family, stored.program)
        if (row !== undefined) keep(entryOfRow(row, stored))
      }
      for (const { pool, tick, net, version } of ticks) {
        const entry = entries.get(pool)
        if (entry === undefined) continue
        addToTick(entry, tick, BigInt(net))
        entry.ticksVersion = BigInt(version)
      }
      for (const { pool, bin, x, y, version } of bins) {
        const entry = entries.get(pool)
        if (entry === undefined) continue
        addToBin(entry.book, bin, BigInt(x), BigInt(y))
        entry.ticksVersion = BigInt(version)
      }
      pruneShallow()
    },
    accept: ({ meta, events }) => {
      if (meta === null) return
      for (const event of events) {
        const { pool, instruction, d_app } = event
        if (pool === null) continue
        let entry = entries.get(pool.address)
        if (entry === undefined) {
          const row = rowOf(instruction?.type ?? '', d_app?.program_address ?? '')
          if (row === undefined) continue
          entry = entryOfEvent(row, pool, { op: meta.op, event })
          keep(entry)
          pruneShallow()
        }
        applyPoolEvent(entry, meta, event)
      }
    },
    clear: () => {
      entries.clear()
      index.clear()
    },
    graph: (nowMs) => ({ ...index.graph((entry) => exactPool(entry, nowMs), nowMs), failed }),
    pool: (address, nowMs) => poolNow(entries.get(address), nowMs),
    unread: (token, other, nowMs) =>
      [...index.between(token, other)].flatMap((entry) => unreadHead(entry, nowMs) ?? []),
    unreadPool: (address, nowMs) => unreadHead(entries.get(address), nowMs),
    keepRead: (address, pool, untilMs) => {
      const entry = entries.get(address)
      if (entry !== undefined) entry.read = { pool, untilMs }
    },
    isPlausible: (pool) => isPriceOf(entries.get(pool.address), pool),
    decimals: (token) => decimals.get(token) ?? null,
    get size() {
      return entries.size
    },
  }
}
