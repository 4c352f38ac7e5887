import { unitsNumber } from '../../core/amounts.ts'
import type { DexPool, DexPoolTokenLiquidity } from '../../schemas/api/dex-pool.ts'
import { type Family, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'
import type { PoolRow } from '../queries/dex-pools.ts'
import { numberText, product, requiredText, textOrNull } from './values.ts'

/** How pools keep liquidity, what curve they price along, and which version of a design they are. */
interface PoolDesign {
  readonly liquidityModel: number
  readonly type: number
  readonly version: number
}

const design = (liquidityModel: number, type: number, version: number): PoolDesign => ({
  liquidityModel,
  type,
  version,
})

const UNKNOWN = design(0, 0, 0)
const RESERVES = design(1, 1, 0)
const POSITIONS = design(2, 2, 0)
const CURVE = design(3, 1, 0)

/** Designs by decoder family; families that are not here are unknown (0). */
const DESIGNS: Partial<Readonly<Record<Family, PoolDesign>>> = {
  uniswap_v2: design(1, 1, 2),
  uniswap_v3: design(2, 2, 3),
  uniswap_v4: POSITIONS,
  curve: design(1, 4, 0),
  balancer_v2: design(4, 3, 2),
  balancer_v3: design(4, 3, 3),
  solidly: RESERVES,
  liquidity_book: POSITIONS,
  pancake_infinity: POSITIONS,
  syncswap: RESERVES,
  four_meme: CURVE,
  open_four: CURVE,
  virtuals: CURVE,
  pump_fun: CURVE,
  pumpswap: RESERVES,
  raydium_amm_v4: RESERVES,
  raydium_cpmm: RESERVES,
  raydium_clmm: POSITIONS,
  raydium_launchlab: CURVE,
  orca_whirlpool: POSITIONS,
  meteora_dlmm: POSITIONS,
  meteora_damm_v1: RESERVES,
  meteora_damm_v2: POSITIONS,
  meteora_dbc: CURVE,
  moonshot: CURVE,
  cetus: POSITIONS,
  cetus_dlmm: POSITIONS,
  turbos: POSITIONS,
  momentum: POSITIONS,
  bluefin: POSITIONS,
}

/** Millionths: fees of pools are in hundredths of a basis point. */
const PIPS = 1_000_000

/** Amounts of a token that lie somewhere, with their value. */
export const heldAmount = (held: {
  readonly token: string
  readonly decimals: number | null
  readonly raw: string | null
  readonly priceUsd: number | null
  readonly priceNative: number | null
}) => {
  const units =
    held.raw === null || held.decimals === null
      ? null
      : unitsNumber(BigInt(held.raw), held.decimals)
  return {
    tokenAddress: held.token,
    decimals: held.decimals ?? 0,
    vaultAmount: requiredText(held.raw),
    priceUsd: requiredText(numberText(held.priceUsd)),
    priceNative: requiredText(numberText(held.priceNative)),
    amountInUsd: requiredText(numberText(product(units, held.priceUsd))),
    amountInNative: requiredText(numberText(product(units, held.priceNative))),
  }
}

const liquidityOf = (row: PoolRow, side: 'a' | 'b'): DexPoolTokenLiquidity => ({
  ...heldAmount({
    token: row[`token_${side}`],
    decimals: row[`decimals_${side}`],
    raw: row[`reserve_${side}`],
    priceUsd: row[`price_${side}_usd`],
    priceNative: row[`price_${side}_native`],
  }),
  vaultAddress: null,
  vaultOwnerAddress: null,
})

const feeRateOf = (protocol: ProtocolRow | undefined): string | null =>
  protocol?.feePips === undefined ? null : numberText(protocol.feePips / PIPS)

/** Row to body; `chain` is the caller's word. */
export const poolBody = (row: PoolRow, chain: string): DexPool => {
  const protocol = protocolRow(row.family)
  const { liquidityModel, type, version } = (protocol && DESIGNS[protocol.family]) ?? UNKNOWN
  return {
    chain,
    poolAddress: row.pool,
    tokenAAddress: row.token_a,
    tokenBAddress: row.token_b,
    programAddress: textOrNull(row.program),
    protocolFamily: textOrNull(row.family),
    protocolName: textOrNull(row.protocol),
    image: null,
    feeRate: feeRateOf(protocol),
    tickSpacing: null,
    tokenCount: 2,
    liquidityModel,
    type,
    version,
    tvlInUsd: row.liquidity_usd,
    tvlInSol: row.liquidity_native,
    createdBlockTimestamp: row.created_ms === '0' ? null : row.created_ms,
    tokenALiquidity: liquidityOf(row, 'a'),
    tokenBLiquidity: liquidityOf(row, 'b'),
    creatorAddress: textOrNull(row.creator),
    factoryAddress: textOrNull(row.program),
  }
}
