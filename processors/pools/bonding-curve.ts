import type { BondingCurve } from '../../schemas/wire.ts'
import { knownAmount } from '../runtime/valuation.ts'

/** Reserves of both sides, as [of token a, of token b], before and after an event. */
export interface Reserves {
  readonly pre: readonly [bigint, bigint]
  readonly post: readonly [bigint, bigint]
}

/** Vault amounts of both sides as the wire tells them. */
export interface VaultAmounts {
  readonly preA: string
  readonly preB: string
  readonly postA: string
  readonly postB: string
}

/** Reserves of a pool's vaults; null unless all four are known. */
export const vaultReserves = ({ preA, preB, postA, postB }: VaultAmounts): Reserves | null => {
  const pre = bothOrNull(knownAmount(preA), knownAmount(preB))
  const post = bothOrNull(knownAmount(postA), knownAmount(postB))
  return pre && post && { pre, post }
}

const bothOrNull = (a: bigint | null, b: bigint | null): readonly [bigint, bigint] | null =>
  a === null || b === null ? null : [a, b]

/**
 * The virtual reserves that a bonding curve prices with: they move as its vaults do, which start with no money at all. null where
 * they are not reported. Token a is the launched one but for curves quoted in a token that is listed nowhere: there the real
 * reserves tell the sides apart.
 */
export const virtualReserves = (curve: BondingCurve, texts: VaultAmounts): Reserves | null => {
  const token = knownAmount(curve.virtual_token_reserves)
  const quote = knownAmount(curve.virtual_quote_reserves)
  const real = vaultReserves(texts)
  if (!token || !quote || real === null) return null
  const { real_quote_reserves: realQuote, real_token_reserves: realToken } = curve
  const turned = texts.postA === realQuote && texts.postA !== realToken
  const post = turned ? ([quote, token] as const) : ([token, quote] as const)
  const before = (side: 0 | 1): bigint => post[side] - real.post[side] + real.pre[side]
  return { pre: [before(0), before(1)], post }
}
