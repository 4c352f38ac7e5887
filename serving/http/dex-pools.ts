import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import {
  DexPool,
  DexPoolDetail,
  DexPoolSnapshot,
  type DexPoolTokenSnapshot,
  POOL_PARAM,
  RANKING_POOLS_QUERY,
  RankingPool,
  SNAPSHOT_QUERY,
  TOKEN_POOLS_QUERY,
} from '../../schemas/api/dex-pool.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import {
  newPoolsQuery,
  type PoolRow,
  poolSnapshotsList,
  poolsQuery,
  type SnapshotRow,
  tokenPoolsList,
} from '../queries/dex-pools.ts'
import type { Placed } from '../queries/keyset.ts'
import { type ChainRoute, chainPage, chainRead } from './chain-route.ts'
import { stockFamily } from './dex-families.ts'
import { heldAmount, poolBody } from './pool-body.ts'
import { tokenBody } from './token-body.ts'
import { keyOf, rowsOf } from './token-rows.ts'
import { isDescending, numeric, product, ratio, requiredText } from './values.ts'

/** The token that a pool prices. */
const baseOf = (row: PoolRow): string => (row.base_is_a === 1 ? row.token_a : row.token_b)

const detail = chainRead({
  path: '/dexpools/:chain/:poolAddress',
  summary: 'A pool and what it holds',
  tag: 'pool',
  params: POOL_PARAM,
  query: {},
  response: DexPoolDetail,
  absent: 'POOL_NOT_FOUND',
  answer: async ({ chain, params, rows, deps }) => {
    const [row] = await rows<PoolRow>(poolsQuery(chain.id, [params.poolAddress]))
    if (row === undefined) throw new Fault('POOL_NOT_FOUND')
    const base = { chain: chain.id, address: baseOf(row) }
    const token = (await rowsOf(deps, [base])).get(keyOf(base.chain, base.address))
    return {
      ...poolBody(row, chain.word),
      token: token === undefined ? null : tokenBody(token, chain.word),
    }
  },
})

const ofToken = chainPage({
  path: '/token/:chain/:tokenAddress/pools',
  summary: 'Pools of a token by their liquidity',
  tag: 'token',
  params: TOKEN_PARAM,
  query: TOKEN_POOLS_QUERY,
  item: DexPool,
  list: ({ chain, params, query }) =>
    tokenPoolsList(chain.id, params.tokenAddress, query, isDescending(query.sortDirection)),
  bodies: (rows: readonly (PoolRow & Placed)[], { chain }) =>
    rows.map((row) => poolBody(row, chain.word)),
})

const snapshotBody = (row: SnapshotRow): DexPoolSnapshot => {
  const native = ratio(numeric(row.liquidity_native), numeric(row.liquidity_usd))
  const side = (name: 'base' | 'quote'): DexPoolTokenSnapshot =>
    heldAmount({
      token: row[name],
      decimals: row[`${name}_decimals`],
      raw: row[`${name}_post`],
      priceUsd: row[`${name}_price_usd`],
      priceNative: product(row[`${name}_price_usd`], native),
    })
  return {
    poolAddress: row.pool,
    blockHeight: Number(row.height),
    blockSlot: Number(row.slot),
    blockTimestamp: Number(row.time_ms),
    snapshotTime: Number(row.time_ms),
    tokenA: side('base'),
    tokenB: side('quote'),
    tvlInUsd: requiredText(row.liquidity_usd),
    tvlInNative: requiredText(row.liquidity_native),
  }
}

const snapshots = chainPage({
  path: '/dexpools/:chain/:poolAddress/snapshots',
  summary: 'What a pool held: at the end of each hour and after each change of its liquidity',
  tag: 'pool',
  params: POOL_PARAM,
  query: SNAPSHOT_QUERY,
  item: DexPoolSnapshot,
  list: ({ chain, params, query }) => poolSnapshotsList(chain.id, params.poolAddress, query.time),
  bodies: (rows: readonly SnapshotRow[]) => rows.map(snapshotBody),
})

/** A family as text is compared: without case and `_`. */
const familyWord = (text: string): string => text.toLowerCase().replaceAll('_', '')

const newPools = chainRead({
  path: '/ranking-pools/:chain/:rankingType',
  summary: 'The newest pools, newest first',
  tag: 'ranking',
  params: { rankingType: Type.Enum(['new-pool']) },
  query: RANKING_POOLS_QUERY,
  response: Type.Array(RankingPool),
  absent: 'list',
  answer: async ({ chain, query, rows, deps }) => {
    const families = query.tag === undefined ? [] : [familyWord(query.tag)]
    const newest = await rows<{ readonly pool: string }>(
      newPoolsQuery(chain.id, families, query.limit ?? 100),
    )
    if (newest.length === 0) return []
    const pools = newest.map(({ pool }) => pool)
    const found = await rows<PoolRow>(poolsQuery(chain.id, pools))
    const byAddress = new Map(found.map((row) => [row.pool, row]))
    const tokens = await rowsOf(
      deps,
      found.map((row) => ({ chain: chain.id, address: baseOf(row) })),
    )
    return pools.flatMap((pool) => {
      const row = byAddress.get(pool)
      if (row === undefined) return []
      const token = tokens.get(keyOf(chain.id, baseOf(row)))
      return [rankingBody(row, chain.word, token ? tokenBody(token, chain.word) : null)]
    })
  },
})

const rankingBody = (row: PoolRow, chain: string, token: RankingPool['token']): RankingPool => {
  const pool = poolBody(row, chain)
  return {
    poolAddress: row.pool,
    tokenAAddress: row.token_a,
    tokenBAddress: row.token_b,
    chain,
    createdAtMs: row.created_ms === '0' ? null : Number(row.created_ms),
    dex: {
      chain,
      programAddress: pool.programAddress,
      protocolFamily: stockFamily(row.family),
      protocolName: pool.protocolName,
      image: null,
    },
    token,
    balance: {
      poolAddress: row.pool,
      tokenAAddress: row.token_a,
      tokenALiquidityInUsd: pool.tokenALiquidity?.amountInUsd ?? '0',
      tokenBAddress: row.token_b,
      tokenBLiquidityInUsd: pool.tokenBLiquidity?.amountInUsd ?? '0',
    },
  }
}

/** Pools: one, those of a token, their past, and the newest. */
export const dexPoolRoutes: readonly ChainRoute[] = [detail, ofToken, snapshots, newPools]
