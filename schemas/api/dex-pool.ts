import { type Static, Type } from 'typebox'
import { Dex } from './chain.ts'
import { DIRECTION, decimalOrNull, namedObject, nullable, queryTime } from './common.ts'
import { Token } from './token.ts'

const text = (about: string) => nullable(Type.String({ description: about }))
const integer = (about: string) => nullable(Type.Integer({ description: about }))
const required = (about: string) => Type.String({ description: `${about}; "0" when not known` })

const POOL_HOLDING_FIELDS = {
  tokenAddress: Type.String(),
  decimals: Type.Integer({ description: '0 when not known' }),
  vaultAmount: Type.String({ description: 'Base units; "0" when not known' }),
  priceUsd: required('USD for one token'),
  priceNative: required('Native tokens for one token'),
  amountInUsd: required('USD'),
  amountInNative: required('Native tokens'),
}

/** What a pool holds of one of its tokens. */
export const DexPoolTokenLiquidity = namedObject('DexPoolTokenLiquidity', {
  ...POOL_HOLDING_FIELDS,
  vaultAddress: text('Not kept'),
  vaultOwnerAddress: text('Not kept'),
})
export type DexPoolTokenLiquidity = Static<typeof DexPoolTokenLiquidity>

/** What a pool held of one of its tokens. */
export const DexPoolTokenSnapshot = namedObject('DexPoolTokenSnapshot', POOL_HOLDING_FIELDS)
export type DexPoolTokenSnapshot = Static<typeof DexPoolTokenSnapshot>

/** A pool and what it holds. */
export const DexPool = namedObject('DexPool', {
  chain: Type.String(),
  poolAddress: Type.String(),
  tokenAAddress: Type.String(),
  tokenBAddress: Type.String(),
  programAddress: text('Program or factory'),
  protocolFamily: text('Protocol family'),
  protocolName: text('Name of the DEX'),
  image: text('Not known to this installation'),
  feeRate: decimalOrNull('Fraction, where every pool of the DEX has the same'),
  tickSpacing: integer('Not kept'),
  tokenCount: integer('Tokens of the pool'),
  liquidityModel: integer('0 unknown, 1 reserves, 2 positions, 3 virtual, 4 shared'),
  type: integer('0 unknown, 1 standard, 2 concentrated, 3 weighted, 4 stable'),
  version: integer('0 unknown'),
  tvlInUsd: decimalOrNull('Liquidity'),
  tvlInSol: decimalOrNull('Liquidity in native tokens'),
  createdBlockTimestamp: text('Epoch ms as text'),
  tokenALiquidity: nullable(DexPoolTokenLiquidity),
  tokenBLiquidity: nullable(DexPoolTokenLiquidity),
  creatorAddress: text('Who made the pool'),
  factoryAddress: text('Program or factory'),
})
export type DexPool = Static<typeof DexPool>

/** A pool with the token that it prices. */
export const DexPoolDetail = namedObject('DexPoolDetail', {
  ...DexPool.properties,
  token: nullable(Token),
})
export type DexPoolDetail = Static<typeof DexPoolDetail>

const bound = (about: string) =>
  Type.Optional(Type.String({ pattern: '^\\d{1,26}(\\.\\d{1,12})?$', description: about }))

/** Parameters of a token's pools; bounds inclusive. */
export const TOKEN_POOLS_QUERY = {
  sortBy: Type.Optional(Type.Enum(['tvlInSol', 'tvlInUsd'], { default: 'tvlInUsd' })),
  sortDirection: Type.Optional(DIRECTION),
  minTvlInSol: bound('Native tokens'),
  maxTvlInSol: bound('Native tokens'),
  minTvlInUsd: bound('USD'),
  maxTvlInUsd: bound('USD'),
}

/** Path parameter of one pool, beside the chain. */
export const POOL_PARAM = { poolAddress: Type.String({ maxLength: 256 }) }

/** Parameters of snapshots. */
export const SNAPSHOT_QUERY = { time: queryTime('Only the newest snapshot at or before') }

/** What a pool held after an event. */
export const DexPoolSnapshot = namedObject('DexPoolSnapshot', {
  poolAddress: Type.String(),
  blockHeight: Type.Integer(),
  blockSlot: nullable(Type.Integer()),
  blockTimestamp: Type.Integer({ description: 'Epoch ms' }),
  snapshotTime: Type.Integer({ description: 'Epoch ms' }),
  tokenA: DexPoolTokenSnapshot,
  tokenB: DexPoolTokenSnapshot,
  tvlInUsd: required('Liquidity'),
  tvlInNative: required('Liquidity'),
})
export type DexPoolSnapshot = Static<typeof DexPoolSnapshot>

/** Liquidity of a token over its pools at the end of an hour. */
export const TokenLiquiditySnapshot = namedObject('TokenLiquiditySnapshot', {
  snapshotTime: Type.Integer({ description: 'Start of the hour, epoch ms' }),
  calculatedAt: Type.Integer({ description: 'End of the hour, epoch ms' }),
  priceUsd: required('In the pool that holds most'),
  priceNative: required('In the pool that holds most'),
  poolCount: Type.Integer({ description: 'Pools with liquidity' }),
  totalLiquidityInUsd: required('Over all pools'),
  totalLiquidityInNative: required('Over all pools'),
  maxLiquidityInUsd: required('Of the pool that holds most'),
  maxLiquidityInNative: required('Of the pool that holds most'),
  maxLiquidityPoolAddress: Type.String({ description: 'The pool that holds most' }),
})
export type TokenLiquiditySnapshot = Static<typeof TokenLiquiditySnapshot>

/** Parameters of new pools. */
export const RANKING_POOLS_QUERY = {
  tag: Type.Optional(Type.String({ maxLength: 64, description: 'Family of the launch' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 100 })),
}

/** A new pool. */
export const RankingPool = namedObject('RankingPool', {
  poolAddress: Type.String(),
  tokenAAddress: Type.String(),
  tokenBAddress: Type.String(),
  chain: nullable(Type.String()),
  createdAtMs: integer('Epoch ms'),
  dex: nullable(Dex),
  token: nullable(Token),
  balance: nullable(
    namedObject('RankingPoolBalance', {
      poolAddress: Type.String(),
      tokenAAddress: Type.String(),
      tokenALiquidityInUsd: required('USD'),
      tokenBAddress: Type.String(),
      tokenBLiquidityInUsd: required('USD'),
    }),
  ),
})
export type RankingPool = Static<typeof RankingPool>
