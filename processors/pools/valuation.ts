import { decimalNumber, unitsNumber } from '../../core/amounts.ts'
import { hasEvenSides, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'
import type { DexPool, DexPoolEvent } from '../../schemas/wire.ts'
import { knownRaw, over, times, unitsOf } from '../runtime/valuation.ts'
import { curveAround, type Reserves, type VaultTexts } from './bonding-curve.ts'

/** Value of an amount in USD and in the chain's coin; null = unknown. */
export interface Worth {
  readonly usd: number | null
  readonly native: number | null
}

/** Values of one side's vault around an event. */
interface Side {
  readonly pre: Worth
  readonly post: Worth
}

/** What a pool event says in money (contract/rest.md 4.3). */
export interface PoolWorth {
  /** What moved. */
  readonly amountA: Worth
  readonly amountB: Worth
  readonly vaultA: Side
  readonly vaultB: Side
}

const NOTHING_KNOWN: Worth = { usd: null, native: null }

const worthOf = (units: number | null, price: Worth): Worth => ({
  usd: times(units, price.usd),
  native: times(units, price.native),
})

const knownUnits = (text: string, decimals: number | null): number | null => {
  const raw = knownRaw(text)
  return raw === null || decimals === null ? null : unitsNumber(raw, decimals)
}

/** Row of the protocol whose pool an event is of. */
export const rowOf = ({ instruction }: DexPoolEvent): ProtocolRow | undefined =>
  protocolRow(instruction?.type ?? '')

const textsOf = (pool: DexPool): VaultTexts => ({
  preA: pool.token_a_vault_pre_amount,
  preB: pool.token_b_vault_pre_amount,
  postA: pool.token_a_vault_post_amount,
  postB: pool.token_b_vault_post_amount,
})

type Pair = readonly [a: bigint, b: bigint]

const quotient = (reserves: Pair, pool: DexPool): number | null => {
  const { token_a_decimals: a, token_b_decimals: b } = pool
  return a === null || b === null
    ? null
    : over(unitsNumber(reserves[1], b), unitsNumber(reserves[0], a))
}

/** What a swap paid of b for one a; null for what is no swap. */
const paidPrice = ({ type }: DexPoolEvent, pool: DexPool): number | null =>
  type === 'DEX_POOL_EVENT_TYPE_SWAP'
    ? over(
        unitsOf(pool.token_b_amount, pool.token_b_decimals),
        unitsOf(pool.token_a_amount, pool.token_a_decimals),
      )
    : null

const curveOf = (event: DexPoolEvent, pool: DexPool): Reserves | null =>
  event.bonding_curve && curveAround(event.bonding_curve, textsOf(pool))

/**
 * Units of token b for one of a as an event left its pool: the quotient of its virtual reserves where it has such, of a pool with
 * even sides that of its vaults; else what a swap paid. null where none of these is told.
 */
export const poolPrice = (event: DexPoolEvent, pool: DexPool): number | null => {
  const row = rowOf(event)
  const curve = curveOf(event, pool)
  if (curve !== null) return quotient(curve.post, pool)
  const a = knownRaw(pool.token_a_vault_post_amount)
  const b = knownRaw(pool.token_b_vault_post_amount)
  return row !== undefined && hasEvenSides(row) && a !== null && b !== null
    ? quotient([a, b], pool)
    : paidPrice(event, pool)
}

/**
 * Token a's vault: worth as much as token b's where sides are even, at its own price where a pool prices with virtual reserves, on a
 * curve without them at what was paid, else unknown.
 */
const vaultOfA = (event: DexPoolEvent, pool: DexPool, vaultB: Side, quote: Worth): Side => {
  const row = rowOf(event)
  if (row === undefined) return { pre: NOTHING_KNOWN, post: NOTHING_KNOWN }
  const curve = curveOf(event, pool)
  if (curve === null && hasEvenSides(row)) return vaultB
  if (curve === null && row.launchpad !== true) return { pre: NOTHING_KNOWN, post: NOTHING_KNOWN }
  const paid = paidPrice(event, pool)
  const at = (text: string, reserves: Pair | undefined): Worth => {
    const price = reserves === undefined ? paid : quotient(reserves, pool)
    return worthOf(times(knownUnits(text, pool.token_a_decimals), price), quote)
  }
  // Liquidity that moves leaves the price as it is.
  const before = event.type === 'DEX_POOL_EVENT_TYPE_SWAP' ? curve?.pre : curve?.post
  return {
    pre: at(pool.token_a_vault_pre_amount, before),
    post: at(pool.token_a_vault_post_amount, curve?.post),
  }
}

/** Values of what moved and of what the vaults hold. */
export const poolWorth = (event: DexPoolEvent, pool: DexPool): PoolWorth => {
  const quote: Worth = {
    usd: decimalNumber(event.quote_price_in_usd),
    native: decimalNumber(event.quote_price_in_native),
  }
  const inB = (text: string): Worth => worthOf(knownUnits(text, pool.token_b_decimals), quote)
  const vaultB: Side = {
    pre: inB(pool.token_b_vault_pre_amount),
    post: inB(pool.token_b_vault_post_amount),
  }
  const price = paidPrice(event, pool) ?? poolPrice(event, pool)
  return {
    amountA: worthOf(times(unitsOf(pool.token_a_amount, pool.token_a_decimals), price), quote),
    amountB: worthOf(unitsOf(pool.token_b_amount, pool.token_b_decimals), quote),
    vaultA: vaultOfA(event, pool, vaultB, quote),
    vaultB,
  }
}

/** True for a curve that has sold all: what it holds is on its way to the pool that its token moves to. */
export const isSoldOut = (event: DexPoolEvent, pool: DexPool): boolean =>
  rowOf(event)?.launchpad === true &&
  (event.pool_processed?.curve_progress === '1' ||
    (event.bonding_curve?.real_token_reserves || pool.token_a_vault_post_amount) === '0')
