import type { Random } from '../node/random.ts'
import type { ExecutionContext } from './execution.ts'
import type { Pool, Token } from './scenario.ts'
import { pairReserves, readPoolField } from './v2-pair.ts'

/** Doubles for decisions only: + - * / and sqrt are exact by IEEE 754, so a decision is the same on every machine. */

const FAIR_SCALE = 1e18
const Q96 = 2 ** 96

/** What a whole token is worth in USD, as everybody in this market believes. */
const fairUsd = ({ layout, state }: ExecutionContext, token: Token): number =>
  Number(state.get(layout.fairPrice(token.index))) / FAIR_SCALE

const setFairUsd = ({ layout, state }: ExecutionContext, token: Token, usd: number): void =>
  state.set(layout.fairPrice(token.index), BigInt(Math.round(usd * FAIR_SCALE)))

/** Moves the fair price of every token that floats by one block: a walk that is drawn back to where it started. */
export const stepFairPrices = (machine: ExecutionContext, random: Random): void => {
  for (const token of machine.scenario.tokens) {
    if (token.born > machine.height) continue
    const now = fairUsd(machine, token)
    if (now === 0) setFairUsd(machine, token, token.usd)
    else if (token.swing > 0) {
      const pull = 0.0004 * (token.usd / now - 1)
      const step = token.swing * random.gaussian() + Math.max(-0.002, Math.min(0.002, pull))
      setFairUsd(machine, token, now * (1 + step))
    }
  }
  machine.state.commit()
}

const POWERS_OF_TEN: readonly number[] = Array.from({ length: 40 }, (_, at) => Number(`1e${at}`))
const powerOfTen = (decimals: number): number => POWERS_OF_TEN[decimals] ?? Number.NaN

/** Base units that a USD amount buys at the fair price. */
export const rawForUsd = (machine: ExecutionContext, token: Token, usd: number): bigint =>
  BigInt(Math.floor((usd / fairUsd(machine, token)) * powerOfTen(token.decimals)))

/** USD of base units at the fair price. */
export const usdOf = (machine: ExecutionContext, token: Token, raw: bigint): number =>
  (Number(raw) / powerOfTen(token.decimals)) * fairUsd(machine, token)

/** Reserves as the constant product sees them; those of a V3 pool are virtual. */
const virtualReserves = (machine: ExecutionContext, pool: Pool): readonly [number, number] => {
  if (pool.version === 2) {
    const [reserve0, reserve1] = pairReserves(machine, pool)
    return [Number(reserve0), Number(reserve1)]
  }
  const root = Number(readPoolField(machine, pool, 'sqrtPrice')) / Q96
  const liquidity = Number(readPoolField(machine, pool, 'liquidity'))
  return [liquidity / root, liquidity * root]
}

/** Fair price of token0 in token1, both in base units. */
const fairRatio = (machine: ExecutionContext, { token0, token1 }: Pool): number =>
  (fairUsd(machine, token0) / fairUsd(machine, token1)) *
  (powerOfTen(token1.decimals) / powerOfTen(token0.decimals))

/** Pool price of token0 over its fair price, less 1; 0 while the pool does not exist. */
export const deviationOf = (machine: ExecutionContext, pool: Pool): number => {
  if (readPoolField(machine, pool, 'number') === 0n) return 0
  const [reserve0, reserve1] = virtualReserves(machine, pool)
  return reserve1 / reserve0 / fairRatio(machine, pool) - 1
}

/** What to put in, and how much, so that the pool goes a share of the way to its fair price. */
export const correctionOf = (
  machine: ExecutionContext,
  pool: Pool,
  share: number,
): { readonly tokenIn: Token; readonly amountIn: bigint } => {
  const [reserve0, reserve1] = virtualReserves(machine, pool)
  const ratio = fairRatio(machine, pool)
  const tooDear = reserve1 / reserve0 > ratio
  const product = reserve0 * reserve1
  const target = tooDear
    ? Math.sqrt(product / ratio) - reserve0
    : Math.sqrt(product * ratio) - reserve1
  const amountIn = BigInt(Math.max(0, Math.floor(target * share)))
  return { tokenIn: tooDear ? pool.token0 : pool.token1, amountIn }
}
