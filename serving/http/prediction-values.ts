import { formatUnits } from '../../core/amounts.ts'
import { PREDICTION_DECIMALS } from '../../schemas/predictions.ts'
import { numberTextOrNull, ratioOrNull, requiredText } from './body-values.ts'

/** How far positions can be trusted: quantities follow every move since the first block that was followed. */
export const STATE_QUALITY = 'followed'

/** Outcome tokens or collateral. */
export const predictionUnits = (raw: string | bigint): string =>
  formatUnits(BigInt(raw), PREDICTION_DECIMALS)

/** A quotient of two amounts; null where the divisor is 0. */
export const amountRatio = (one: string | bigint, other: string | bigint): number | null =>
  ratioOrNull(Number(one), Number(other))

/** A quotient of two amounts as text, "0" where the divisor is 0. */
export const requiredRatio = (one: string | bigint, other: string | bigint): string =>
  requiredText(numberTextOrNull(amountRatio(one, other)))

/** A sum of amounts. */
export const sumOf = (...amounts: readonly string[]): bigint =>
  amounts.reduce((sum, amount) => sum + BigInt(amount), 0n)
