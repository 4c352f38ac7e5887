import { ceilDiv, minBigint } from '../../core/bigint-math.ts'

/** Numbers of a bonding curve, base units. */
export interface BondingCurve {
  readonly virtualSol: bigint
  readonly virtualToken: bigint
  readonly realSol: bigint
  readonly realToken: bigint
}

/** Every curve starts like this. Source: recorded CreateEvents. */
export const NEW_CURVE: BondingCurve = {
  virtualSol: 30_000_000_000n,
  virtualToken: 1_073_000_000_000_000n,
  realSol: 0n,
  realToken: 793_100_000_000_000n,
}

/** Tokens of a launch: all, and those that go to the AMM pool with it. */
export const TOTAL_SUPPLY = 1_000_000_000_000_000n
export const MIGRATED_TOKENS = 206_900_000_000_000n

/** What migrating costs the curve. Source: recorded CompletePumpAmmMigrationEvent. */
export const MIGRATION_FEE = 15_000_001n

/** Fees of the curve in basis points. Source: recorded TradeEvents of 2026. */
export const CURVE_FEES = { protocol: 95n, creator: 30n } as const
/** Share of the protocol fee that buys back, basis points, since spring 2026. */
export const BUYBACK_SHARE = 5_000n

/** Fees of a PumpSwap pool in basis points. Source: recorded BuyEvents. */
export const PUMPSWAP_FEES = { lp: 20n, protocol: 5n, creator: 5n } as const

const BASIS = 10_000n

/** A fee in basis points, rounded up as the programs do. */
export const feeOf = (amount: bigint, basisPoints: bigint): bigint =>
  ceilDiv(amount * basisPoints, BASIS)

/** Lamports, without fees, that a number of tokens costs on a curve. */
export const curveCost = ({ virtualSol, virtualToken }: BondingCurve, tokens: bigint): bigint =>
  (tokens * virtualSol) / (virtualToken - tokens) + 1n

/** Tokens that lamports, without fees, buy on a curve; never more than it has. */
export const tokensForLamports = (
  { virtualSol, virtualToken, realToken }: BondingCurve,
  sol: bigint,
): bigint => {
  const tokens = ((sol - 1n) * virtualToken) / (virtualSol + sol - 1n)
  return minBigint(tokens, realToken)
}

/** Lamports, before fees, that a curve pays for tokens. */
export const curvePayout = ({ virtualSol, virtualToken }: BondingCurve, tokens: bigint): bigint =>
  (tokens * virtualSol) / (virtualToken + tokens)

/** The curve after a trade; both numbers are negative for a sell. */
export const curveAfter = (curve: BondingCurve, sol: bigint, tokens: bigint): BondingCurve => ({
  virtualSol: curve.virtualSol + sol,
  virtualToken: curve.virtualToken - tokens,
  realSol: curve.realSol + sol,
  realToken: curve.realToken - tokens,
})

/** Quote that a PumpSwap pool takes for base tokens, before fees. */
export const pumpSwapCost = (base: bigint, quote: bigint, baseOut: bigint): bigint =>
  ceilDiv(quote * baseOut, base - baseOut)

/** Quote that a PumpSwap pool gives for base tokens, before fees. */
export const pumpSwapPayout = (base: bigint, quote: bigint, baseIn: bigint): bigint =>
  (quote * baseIn) / (base + baseIn)

/** Output of a Raydium AMM v4 swap with a fixed input: 0.25 % stays with the pool. */
export const raydiumAmountOut = (
  reserveIn: bigint,
  reserveOut: bigint,
  amountIn: bigint,
): bigint => {
  const net = amountIn - ceilDiv(amountIn * 25n, BASIS)
  return (reserveOut * net) / (reserveIn + net)
}

/** Input of a Raydium AMM v4 swap with a fixed output. */
export const raydiumAmountIn = (reserveIn: bigint, reserveOut: bigint, amountOut: bigint): bigint =>
  ceilDiv(ceilDiv(reserveIn * amountOut, reserveOut - amountOut) * BASIS, BASIS - 25n)
