import { parseDecimal, unitsToNumber } from '../../core/amounts.ts'
import { hasEqualValueSides, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'
import type { DexPool, DexPoolEvent } from '../../schemas/wire.ts'
import { divide, knownAmount, multiply, tokenUnits } from '../runtime/valuation.ts'
import { type Reserves, type VaultAmounts, virtualReserves } from './bonding-curve.ts'

/** Value of an amount in USD and in the chain's native token; null = unknown. */
export interface UsdAndNative {
  readonly usd: number | null
  readonly native: number | null
}

/** Values of one side's vault around an event. */
interface VaultValuation {
  readonly pre: UsdAndNative
  readonly post: UsdAndNative
}

/** What a pool event says in money. */
export interface PoolValuation {
  /** What moved. */
  readonly amountA: UsdAndNative
  readonly amountB: UsdAndNative
  readonly vaultA: VaultValuation
  readonly vaultB: VaultValuation
}

const UNKNOWN_VALUE: UsdAndNative = { usd: null, native: null }

const valueAtPrice = (units: number | null, price: UsdAndNative): UsdAndNative => ({
  usd: multiply(units, price.usd),
  native: multiply(units, price.native),
})

const knownUnits = (text: string, decimals: number | null): number | null => {
  const raw = knownAmount(text)
  return raw === null || decimals === null ? null : unitsToNumber(raw, decimals)
}

/** Row of the protocol whose pool an event is of. */
export const poolProtocol = ({ instruction }: DexPoolEvent): ProtocolRow | undefined =>
  protocolRow(instruction?.type ?? '')

const vaultAmounts = (pool: DexPool): VaultAmounts => ({
  preA: pool.token_a_vault_pre_amount,
  preB: pool.token_b_vault_pre_amount,
  postA: pool.token_a_vault_post_amount,
  postB: pool.token_b_vault_post_amount,
})

type AmountPair = readonly [a: bigint, b: bigint]

const reservesPrice = (reserves: AmountPair, pool: DexPool): number | null => {
  const { token_a_decimals: a, token_b_decimals: b } = pool
  return a === null || b === null
    ? null
    : divide(unitsToNumber(reserves[1], b), unitsToNumber(reserves[0], a))
}

/** What a swap paid of b for one a; null for what is not a swap. */
const swapPrice = ({ type }: DexPoolEvent, pool: DexPool): number | null =>
  type === 'DEX_POOL_EVENT_TYPE_SWAP'
    ? divide(
        tokenUnits(pool.token_b_amount, pool.token_b_decimals),
        tokenUnits(pool.token_a_amount, pool.token_a_decimals),
      )
    : null

const curveReserves = (event: DexPoolEvent, pool: DexPool): Reserves | null =>
  event.bonding_curve && virtualReserves(event.bonding_curve, vaultAmounts(pool))

/**
 * Units of token b for one of a as an event left its pool: the quotient of its virtual reserves where it has such, of a pool with
 * even sides that of its vaults; else what a swap paid. null where none of these is reported.
 */
export const poolPrice = (event: DexPoolEvent, pool: DexPool): number | null => {
  const row = poolProtocol(event)
  const curve = curveReserves(event, pool)
  if (curve !== null) return reservesPrice(curve.post, pool)
  const a = knownAmount(pool.token_a_vault_post_amount)
  const b = knownAmount(pool.token_b_vault_post_amount)
  return row !== undefined && hasEqualValueSides(row) && a !== null && b !== null
    ? reservesPrice([a, b], pool)
    : swapPrice(event, pool)
}

/**
 * Token a's vault: worth as much as token b's where sides are even, at its own price where a pool prices with virtual reserves, on a
 * curve without them at what was paid, else unknown.
 */
const vaultAValuation = (
  event: DexPoolEvent,
  pool: DexPool,
  vaultB: VaultValuation,
  quote: UsdAndNative,
): VaultValuation => {
  const row = poolProtocol(event)
  if (row === undefined) return { pre: UNKNOWN_VALUE, post: UNKNOWN_VALUE }
  const curve = curveReserves(event, pool)
  if (curve === null && hasEqualValueSides(row)) return vaultB
  if (curve === null && row.launchpad !== true) return { pre: UNKNOWN_VALUE, post: UNKNOWN_VALUE }
  const paid = swapPrice(event, pool)
  const at = (text: string, reserves: AmountPair | undefined): UsdAndNative => {
    const price = reserves === undefined ? paid : reservesPrice(reserves, pool)
    return valueAtPrice(multiply(knownUnits(text, pool.token_a_decimals), price), quote)
  }
  // Liquidity that moves leaves the price as it is.
  const before = event.type === 'DEX_POOL_EVENT_TYPE_SWAP' ? curve?.pre : curve?.post
  return {
    pre: at(pool.token_a_vault_pre_amount, before),
    post: at(pool.token_a_vault_post_amount, curve?.post),
  }
}

/** Values of what moved and of what the vaults hold. */
export const poolValuation = (event: DexPoolEvent, pool: DexPool): PoolValuation => {
  const quote: UsdAndNative = {
    usd: parseDecimal(event.quote_price_in_usd),
    native: parseDecimal(event.quote_price_in_native),
  }
  const inB = (text: string): UsdAndNative =>
    valueAtPrice(knownUnits(text, pool.token_b_decimals), quote)
  const vaultB: VaultValuation = {
    pre: inB(pool.token_b_vault_pre_amount),
    post: inB(pool.token_b_vault_post_amount),
  }
  const price = swapPrice(event, pool) ?? poolPrice(event, pool)
  return {
    amountA: valueAtPrice(
      multiply(tokenUnits(pool.token_a_amount, pool.token_a_decimals), price),
      quote,
    ),
    amountB: valueAtPrice(tokenUnits(pool.token_b_amount, pool.token_b_decimals), quote),
    vaultA: vaultAValuation(event, pool, vaultB, quote),
    vaultB,
  }
}

/** True for a curve that has sold all: what it holds is on its way to the pool that its token moves to. */
export const isSoldOut = (event: DexPoolEvent, pool: DexPool): boolean =>
  poolProtocol(event)?.launchpad === true &&
  (event.pool_processed?.curve_progress === '1' ||
    (event.bonding_curve?.real_token_reserves || pool.token_a_vault_post_amount) === '0')
