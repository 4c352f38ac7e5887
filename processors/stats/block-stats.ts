import { parseDecimal } from '../../core/amounts.ts'
import type { DexPoolEvent, TradeEvent } from '../../schemas/wire.ts'
import type { Operation } from '../runtime/stage.ts'
import { isBuy } from '../runtime/valuation.ts'
import {
  emptyBucket,
  fromStoredBucket,
  mergeBuckets,
  type StatsBucket,
  type StoredBucket,
  toStoredBucket,
  tradeBucket,
} from './bucket.ts'
import { SEEN_KINDS, type SeenKind } from './distinct-counter.ts'

/** What one block, or some in a row, did to one token. */
export interface BlockStats {
  readonly bucket: StatsBucket
  /** Of the token as the last trade that knew them said; null = none did. */
  readonly decimals: number | null
  readonly seen: Readonly<Record<SeenKind, readonly string[]>>
}

interface BlockStatsBuilder {
  bucket: StatsBucket
  decimals: number | null
  readonly seen: Record<SeenKind, Set<string>>
}

const newBlockStatsBuilder = (second: number): BlockStatsBuilder => ({
  bucket: emptyBucket(second),
  decimals: null,
  seen: { buyers: new Set(), sellers: new Set(), pools: new Set(), programs: new Set() },
})

const addTrade = (draft: BlockStatsBuilder, event: TradeEvent, bucket: StatsBucket): void => {
  const { trade, d_app } = event
  if (trade === null) return
  draft.bucket = mergeBuckets(draft.bucket, bucket)
  draft.decimals = trade.token_a_decimals ?? draft.decimals
  draft.seen[isBuy(trade) ? 'buyers' : 'sellers'].add(trade.user_a_account_owner_address)
  draft.seen.pools.add(trade.pool_address)
  draft.seen.programs.add(d_app?.program_address ?? '')
}

const setLiquidity = (
  draft: BlockStatsBuilder,
  { pool_processed: processed }: DexPoolEvent,
): void => {
  const liquidityUsd = parseDecimal(processed?.token_a_liquidity?.liquidity_in_usd ?? '')
  if (liquidityUsd !== null) draft.bucket = { ...draft.bucket, liquidityUsd }
}

const buildBlockStats = ({ bucket, decimals, seen }: BlockStatsBuilder): BlockStats => ({
  bucket,
  decimals,
  seen: {
    buyers: [...seen.buyers],
    sellers: [...seen.sellers],
    pools: [...seen.pools],
    programs: [...seen.programs],
  },
})

const inBlockOrder = <
  Event extends { readonly instruction: { readonly event_index: number } | null },
>(
  events: readonly Event[],
): readonly Event[] =>
  events.toSorted(
    (one, other) => (one.instruction?.event_index ?? 0) - (other.instruction?.event_index ?? 0),
  )

/** What a block did, by base token; the block is at this second. */
export const blockStatsByToken = (
  { records }: Operation,
  second: number,
): ReadonlyMap<string, BlockStats> => {
  const drafts = new Map<string, BlockStatsBuilder>()
  const draftOf = (token: string): BlockStatsBuilder => {
    const draft = drafts.get(token) ?? newBlockStatsBuilder(second)
    drafts.set(token, draft)
    return draft
  }
  const trades = records.flatMap((one) => (one.topic === 'tradesProcessed' ? one.value.events : []))
  for (const event of inBlockOrder(trades)) {
    const bucket = tradeBucket(event, second)
    const token = event.trade?.token_a_address
    if (bucket !== undefined && token !== undefined) addTrade(draftOf(token), event, bucket)
  }
  const pools = records.flatMap((one) => (one.topic === 'poolsProcessed' ? one.value.events : []))
  for (const event of inBlockOrder(pools)) {
    const token = event.pool?.token_a_address
    if (token !== undefined) setLiquidity(draftOf(token), event)
  }
  return new Map([...drafts].map(([token, draft]) => [token, buildBlockStats(draft)]))
}

/** The older with the newer behind it. */
export const mergeBlockStats = (older: BlockStats, newer: BlockStats): BlockStats => {
  const names = (kind: SeenKind) => [...new Set([...older.seen[kind], ...newer.seen[kind]])]
  return {
    bucket: mergeBuckets(older.bucket, newer.bucket),
    decimals: newer.decimals ?? older.decimals,
    seen: {
      buyers: names('buyers'),
      sellers: names('sellers'),
      pools: names('pools'),
      programs: names('programs'),
    },
  }
}

/** As JSON keeps it. */
export type StoredBlockStats = readonly [
  bucket: StoredBucket,
  decimals: number | null,
  ...seen: readonly (readonly string[])[],
]

/** To what JSON keeps. */
export const toStoredBlockStats = ({ bucket, decimals, seen }: BlockStats): StoredBlockStats => [
  toStoredBucket(bucket),
  decimals,
  ...SEEN_KINDS.map((kind) => seen[kind]),
]

/** The inverse of `toStoredBlockStats`. */
export const fromStoredBlockStats = ([
  bucket,
  decimals,
  buyers = [],
  sellers = [],
  pools = [],
  programs = [],
]: StoredBlockStats): BlockStats => ({
  bucket: fromStoredBucket(bucket),
  decimals,
  seen: { buyers, sellers, pools, programs },
})
