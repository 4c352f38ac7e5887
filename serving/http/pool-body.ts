import { unitsToNumber } from '../../core/amounts.ts'
import type { DexPool, DexPoolTokenLiquidity } from '../../schemas/api/dex-pool.ts'
import {
  type PoolDesign,
  type ProtocolRow,
  poolDesign,
  protocolRow,
} from '../../schemas/protocols.ts'
import type { PoolRow } from '../queries/dex-pools.ts'
import { numberTextOrNull, productOrNull, requiredText, textOrNull } from './body-values.ts'

/** How the interface names a design: where its pools keep liquidity, and what curve they price along. */
const DESIGN_NUMBERS = {
  'constant-product': { liquidityModel: 1, type: 1 },
  concentrated: { liquidityModel: 2, type: 2 },
  'bonding-curve': { liquidityModel: 3, type: 1 },
  stable: { liquidityModel: 1, type: 4 },
  weighted: { liquidityModel: 4, type: 3 },
  none: { liquidityModel: 0, type: 0 },
} as const satisfies Record<PoolDesign, unknown>

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
  const { design, version } = protocol
    ? poolDesign(protocol.family)
    : { design: 'none' as const, version: 0 }
  const { liquidityModel, type } = DESIGN_NUMBERS[design]
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
