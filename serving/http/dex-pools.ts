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
  type PoolPlaceRow,
  type PoolRow,
  poolSnapshotsList,
  poolsQuery,
  type SnapshotRow,
  tokenPoolsList,
} from '../queries/dex-pools.ts'
import {
  isDescending,
  numberOrNull,
  productOrNull,
  ratioOrNull,
  requiredText,
} from './body-values.ts'
import {
  type ChainRequest,
  type ChainRoute,
  definePageRoute,
  defineReadRoute,
} from './chain-route.ts'
import { clientFamilyName } from './client-family-names.ts'
import { poolBody, vaultBalanceBody } from './pool-body.ts'
import { readTokenRows, tokenKey } from './read-token-rows.ts'
import { tokenBody } from './token-body.ts'
import { normalizeFamily } from './token-filters.ts'

/** The token that a pool prices. */
const baseToken = (row: PoolRow): string => (row.base_is_a === 1 ? row.token_a : row.token_b)

const poolDetail = defineReadRoute({
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
    const base = { chain: chain.id, address: baseToken(row) }
    const token = (await readTokenRows(deps, [base])).get(tokenKey(base.chain, base.address))
    return {
      ...poolBody(row, chain.word),
      token: token === undefined ? null : tokenBody(token, chain.word),
    }
  },
})

/** Pools by their addresses; unknown ones are missing. */
const readPools = async (
  { chain, rows }: ChainRequest<object, object>,
  pools: readonly string[],
): Promise<ReadonlyMap<string, PoolRow>> => {
  const found = pools.length === 0 ? [] : await rows<PoolRow>(poolsQuery(chain.id, pools))
  return new Map(found.map((row) => [row.pool, row]))
}

const tokenPools = definePageRoute({
  path: '/token/:chain/:tokenAddress/pools',
  summary: 'Pools of a token by their liquidity',
  tag: 'token',
  params: TOKEN_PARAM,
  query: TOKEN_POOLS_QUERY,
  item: DexPool,
  list: ({ chain, params, query }) =>
    tokenPoolsList(chain.id, params.tokenAddress, query, isDescending(query.sortDirection)),
  bodies: async (rows: readonly PoolPlaceRow[], request) => {
    const pools = rows.map(({ pool }) => pool)
    const found = await readPools(request, pools)
    return pools.flatMap((pool) => {
      const row = found.get(pool)
      return row === undefined ? [] : [poolBody(row, request.chain.word)]
    })
  },
})

const snapshotBody = (row: SnapshotRow): DexPoolSnapshot => {
  const native = ratioOrNull(numberOrNull(row.liquidity_native), numberOrNull(row.liquidity_usd))
  const side = (name: 'base' | 'quote'): DexPoolTokenSnapshot =>
    vaultBalanceBody({
      token: row[name],
      decimals: row[`${name}_decimals`],
      raw: row[`${name}_post`],
      priceUsd: row[`${name}_price_usd`],
      priceNative: productOrNull(row[`${name}_price_usd`], native),
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

const snapshots = definePageRoute({
  path: '/dexpools/:chain/:poolAddress/snapshots',
  summary: 'What a pool held: at the end of each hour and after each change of its liquidity',
  tag: 'pool',
  params: POOL_PARAM,
  query: SNAPSHOT_QUERY,
  item: DexPoolSnapshot,
  list: ({ chain, params, query }) => poolSnapshotsList(chain.id, params.poolAddress, query.time),
  bodies: (rows: readonly SnapshotRow[]) => rows.map(snapshotBody),
})

const newPools = defineReadRoute({
  path: '/ranking-pools/:chain/:rankingType',
  summary: 'The newest pools, newest first',
  tag: 'ranking',
  params: { rankingType: Type.Enum(['new-pool']) },
  query: RANKING_POOLS_QUERY,
  response: Type.Array(RankingPool),
  absent: 'list',
  answer: async ({ chain, query, rows, deps }) => {
    const families = query.tag === undefined ? [] : [normalizeFamily(query.tag)]
    const newest = await rows<{ readonly pool: string }>(
      newPoolsQuery(chain.id, families, query.limit ?? 100),
    )
    if (newest.length === 0) return []
    const pools = newest.map(({ pool }) => pool)
    const found = await rows<PoolRow>(poolsQuery(chain.id, pools))
    const byAddress = new Map(found.map((row) => [row.pool, row]))
    const tokens = await readTokenRows(
      deps,
      found.map((row) => ({ chain: chain.id, address: baseToken(row) })),
    )
    return pools.flatMap((pool) => {
      const row = byAddress.get(pool)
      if (row === undefined) return []
      const token = tokens.get(tokenKey(chain.id, baseToken(row)))
      return [rankingPoolBody(row, chain.word, token ? tokenBody(token, chain.word) : null)]
    })
  },
})

const rankingPoolBody = (row: PoolRow, chain: string, token: RankingPool['token']): RankingPool => {
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
      protocolFamily: clientFamilyName(row.family),
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
export const dexPoolRoutes: readonly ChainRoute[] = [poolDetail, tokenPools, snapshots, newPools]
