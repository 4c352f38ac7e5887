import type { Random } from '../node/random.ts'
import type { ExecutionContext } from './execution.ts'
import { LISTED_TOKENS, SOL_USD, SOL_VOLATILITY } from './listings.ts'
import type { RaydiumPool } from './scenario.ts'

/** Doubles for decisions only: + - * / and sqrt are exact by IEEE 754, so a decision is the same on every machine. */

/** What prices are read from. */
type PriceContext = Pick<ExecutionContext, 'state' | 'scenario'>

/** Fair prices are kept times this. */
const PRICE_SCALE = 1e18
/** Deviation of a graduated token's fair price from block to block. */
const POOL_VOLATILITY = 0.004

const nextPrice = (now: number, start: number, swing: number, random: Random): number => {
  const pull = 0.000_05 * (start / now - 1)
  return now * (1 + swing * random.gaussian() + Math.max(-0.000_2, Math.min(0.000_2, pull)))
}

/** Moves every fair price by one block. */
export const stepFairPrices = ({ state, scenario }: ExecutionContext, random: Random): void => {
  const { layout } = scenario
  const step = (place: number, start: number, swing: number): void => {
    const now = Number(state.get(place)) / PRICE_SCALE
    state.set(place, BigInt(Math.round(nextPrice(now, start, swing, random) * PRICE_SCALE)))
  }
  step(layout.common('solUsd'), SOL_USD, SOL_VOLATILITY)
  for (const [coin, { usd, swing }] of LISTED_TOKENS.entries())
    step(layout.fairPrice(coin), usd, swing)
  for (let slot = 0; slot < layout.launches; slot += 1) {
    const place = layout.launch(slot, 'fair')
    if (state.get(place) === 0n) continue
    const now = Number(state.get(place)) / PRICE_SCALE
    step(place, now, POOL_VOLATILITY)
  }
}

/** First fair prices. */
export const setInitialPrices = ({ state, scenario }: PriceContext): void => {
  const { layout } = scenario
  state.set(layout.common('solUsd'), BigInt(Math.round(SOL_USD * PRICE_SCALE)))
  for (const [coin, { usd }] of LISTED_TOKENS.entries())
    state.set(layout.fairPrice(coin), BigInt(Math.round(usd * PRICE_SCALE)))
}

const powerOfTen = (decimals: number): number => Number(`1e${decimals}`)

/** USD that one base unit of a mint of a pool is worth, as everybody believes. */
const usdPerUnit = ({ state, scenario }: PriceContext, mint: RaydiumPool['coin']): number => {
  if (mint === scenario.usdc) return 1e-6
  const { layout } = scenario
  const coin = scenario.coins.indexOf(mint)
  const place = coin < 0 ? layout.common('solUsd') : layout.fairPrice(coin)
  return Number(state.get(place)) / PRICE_SCALE / powerOfTen(mint.decimals)
}

/** Base units of a mint that a USD amount buys at the fair price. */
export const rawForUsd = (machine: PriceContext, mint: RaydiumPool['coin'], usd: number): bigint =>
  BigInt(Math.floor(usd / usdPerUnit(machine, mint)))

/** How far a pool stands off its fair price, and what to put in to bring it a share of the way back. */
export const correctionOf = (
  machine: ExecutionContext,
  pool: RaydiumPool,
  share: number,
): { readonly deviation: number; readonly paysPc: boolean; readonly amount: bigint } => {
  const { state } = machine
  const coin = Number(state.get(pool.coinVault.stateIndex) - 1n)
  const pc = Number(state.get(pool.pcVault.stateIndex) - 1n)
  const fair = usdPerUnit(machine, pool.coin) / usdPerUnit(machine, pool.pc)
  const deviation = pc / coin / fair - 1
  const product = coin * pc
  const paysPc = deviation < 0
  const target = paysPc ? Math.sqrt(product * fair) - pc : Math.sqrt(product / fair) - coin
  return { deviation, paysPc, amount: BigInt(Math.max(0, Math.floor(target * share))) }
}

/** Pool price of a graduated token over its fair price, less 1. */
export const poolDeviation = (
  { state, scenario }: ExecutionContext,
  slot: number,
  reserves: { readonly base: bigint; readonly quote: bigint },
): number => {
  const fair = Number(state.get(scenario.layout.launch(slot, 'fair'))) / PRICE_SCALE
  return Number(reserves.quote) / Number(reserves.base) / fair - 1
}

/** Sets the fair price of a token that just got its pool. */
export const setPoolFairPrice = (
  { state, scenario }: ExecutionContext,
  slot: number,
  facts: { readonly base: bigint; readonly quote: bigint; readonly factor: number },
): void => {
  const price = (Number(facts.quote) / Number(facts.base)) * facts.factor
  state.set(scenario.layout.launch(slot, 'fair'), BigInt(Math.round(price * PRICE_SCALE)))
}
