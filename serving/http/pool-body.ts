import { unitsToNumber } from '../../core/amounts.ts'
import type { DexPool, DexPoolTokenLiquidity } from '../../schemas/api/dex-pool.ts'
import { type Family, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'
import type { PoolRow } from '../queries/dex-pools.ts'
import { numberTextOrNull, productOrNull, requiredText, textOrNull } from './body-values.ts'

/** How pools keep liquidity, what curve they price along, and which version of a design they are. */
interface PoolDesign {
  readonly liquidityModel: number
  readonly type: number
  readonly version: number
}

const createDesign = (liquidityModel: number, type: number, version: number): PoolDesign => ({
  liquidityModel,
  type,
  version,
})

const UNKNOWN_DESIGN = createDesign(0, 0, 0)
const CONSTANT_PRODUCT_DESIGN = createDesign(1, 1, 0)
const CONCENTRATED_DESIGN = createDesign(2, 2, 0)
const BONDING_CURVE_DESIGN = createDesign(3, 1, 0)

/** Designs by decoder family. */
const DESIGN_BY_FAMILY: Readonly<Record<Family, PoolDesign>> = {
  uniswap_v2: createDesign(1, 1, 2),
  uniswap_v3: createDesign(2, 2, 3),
  uniswap_v4: CONCENTRATED_DESIGN,
  curve: createDesign(1, 4, 0),
  balancer_v2: createDesign(4, 3, 2),
  balancer_v3: createDesign(4, 3, 3),
  solidly: CONSTANT_PRODUCT_DESIGN,
  liquidity_book: CONCENTRATED_DESIGN,
  pancake_infinity: CONCENTRATED_DESIGN,
  syncswap: CONSTANT_PRODUCT_DESIGN,
  four_meme: BONDING_CURVE_DESIGN,
  open_four: BONDING_CURVE_DESIGN,
  virtuals: BONDING_CURVE_DESIGN,
  pump_fun: BONDING_CURVE_DESIGN,
  pumpswap: CONSTANT_PRODUCT_DESIGN,
  raydium_amm_v4: CONSTANT_PRODUCT_DESIGN,
  raydium_cpmm: CONSTANT_PRODUCT_DESIGN,
  raydium_clmm: CONCENTRATED_DESIGN,
  raydium_launchlab: BONDING_CURVE_DESIGN,
  orca_whirlpool: CONCENTRATED_DESIGN,
  meteora_dlmm: CONCENTRATED_DESIGN,
  meteora_damm_v1: CONSTANT_PRODUCT_DESIGN,
  meteora_damm_v2: CONCENTRATED_DESIGN,
  meteora_dbc: BONDING_CURVE_DESIGN,
  moonshot: BONDING_CURVE_DESIGN,
  cetus: CONCENTRATED_DESIGN,
  cetus_dlmm: CONCENTRATED_DESIGN,
  turbos: CONCENTRATED_DESIGN,
  momentum: CONCENTRATED_DESIGN,
  bluefin: CONCENTRATED_DESIGN,
  clanker: UNKNOWN_DESIGN,
  polymarket: UNKNOWN_DESIGN,
  red_packets: UNKNOWN_DESIGN,
  happy_red_packet: UNKNOWN_DESIGN,
  mask_red_packet: UNKNOWN_DESIGN,
  deepbook: UNKNOWN_DESIGN,
  aftermath: UNKNOWN_DESIGN,
}

/** Millionths: fees of pools are in hundredths of a basis point. */
const PIPS_PER_UNIT = 1_000_000

/** Amounts of a token that lie somewhere, with their value. */
export const vaultBalanceBody = (held: {
  readonly token: string
  readonly decimals: number | null
  readonly raw: string | null
  readonly priceUsd: number | null
  readonly priceNative: number | null
}) => {
  const units =
    held.raw === null || held.decimals === null
      ? null
      : unitsToNumber(BigInt(held.raw), held.decimals)
  return {
    tokenAddress: held.token,
    decimals: held.decimals ?? 0,
    vaultAmount: requiredText(held.raw),
    priceUsd: requiredText(numberTextOrNull(held.priceUsd)),
    priceNative: requiredText(numberTextOrNull(held.priceNative)),
    amountInUsd: requiredText(numberTextOrNull(productOrNull(units, held.priceUsd))),
    amountInNative: requiredText(numberTextOrNull(productOrNull(units, held.priceNative))),
  }
}

const tokenLiquidityBody = (row: PoolRow, side: 'a' | 'b'): DexPoolTokenLiquidity => ({
  ...vaultBalanceBody({
    token: row[`token_${side}`],
    decimals: row[`decimals_${side}`],
    raw: row[`reserve_${side}`],
    priceUsd: row[`price_${side}_usd`],
    priceNative: row[`price_${side}_native`],
  }),
  vaultAddress: null,
  vaultOwnerAddress: null,
})

const feeRate = (protocol: ProtocolRow | undefined): string | null =>
  protocol?.feePips === undefined ? null : numberTextOrNull(protocol.feePips / PIPS_PER_UNIT)

/** Row to body; `chain` is the caller's word. */
export const poolBody = (row: PoolRow, chain: string): DexPool => {
  const protocol = protocolRow(row.family)
  const { liquidityModel, type, version } =
    (protocol && DESIGN_BY_FAMILY[protocol.family]) ?? UNKNOWN_DESIGN
  return {
    chain,
    poolAddress: row.pool,
    tokenAAddress: row.token_a,
    tokenBAddress: row.token_b,
    programAddress: textOrNull(row.program),
    protocolFamily: textOrNull(row.family),
    protocolName: textOrNull(row.protocol),
    image: null,
    feeRate: feeRate(protocol),
    tickSpacing: null,
    tokenCount: 2,
    liquidityModel,
    type,
    version,
    tvlInUsd: row.liquidity_usd,
    tvlInSol: row.liquidity_native,
    createdBlockTimestamp: row.created_ms === '0' ? null : row.created_ms,
    tokenALiquidity: tokenLiquidityBody(row, 'a'),
    tokenBLiquidity: tokenLiquidityBody(row, 'b'),
    creatorAddress: textOrNull(row.creator),
    factoryAddress: textOrNull(row.program),
  }
}
