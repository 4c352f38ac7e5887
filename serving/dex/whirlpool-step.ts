import { ceilDiv, integerSqrt } from '../../core/bigint-math.ts'
import { PIPS } from './constant-product.ts'

/**
 * Prices, amounts and steps of Orca's Whirlpools in exact integers: square roots of prices are Q64.64, amounts 64 bits. Source:
 * orca-so/whirlpools programs/whirlpool/src/math (tick_math.rs, token_math.rs, swap_math.rs).
 */

/** Ticks are between this and its negative. */
export const LAST_TICK = 443_636

const [LARGEST_AMOUNT, WORD] = [(1n << 64n) - 1n, 1n << 128n]

/** sqrt(1.0001^±(2^i)) with so many bits behind the point, rounded down, one per bit of a tick. */
const tickFactors = (rises: boolean, bits: bigint): readonly bigint[] => {
  const guardBits = 512n
  const [of, by] = rises ? [10_001n, 10_000n] : [10_000n, 10_001n]
  const factors: bigint[] = []
  let factor = integerSqrt((of << (guardBits * 2n)) / by)
  for (let bit = 0; bit < 19; bit += 1) {
    factors.push(factor >> (guardBits - bits))
    factor = (factor * factor) >> guardBits
  }
  return factors
}

const RISING_BITS = 96n
const FALLING_BITS = 64n
const RISING = tickFactors(true, RISING_BITS)
const FALLING = tickFactors(false, FALLING_BITS)

/** Square root price of a tick, Q64.64, as the program rounds it. Throws RangeError outside of the ticks. */
export const whirlpoolSqrtPrice = (tick: number): bigint => {
  const distance = Math.abs(tick)
  if (!(distance <= LAST_TICK)) throw new RangeError(`tick ${tick} is beyond ±${LAST_TICK}`)
  const [factors, bits] = tick >= 0 ? [RISING, RISING_BITS] : [FALLING, FALLING_BITS]
  let ratio = 1n << bits
  for (const [bit, factor] of factors.entries()) {
    if (((distance >> bit) & 1) === 1) ratio = (ratio * factor) >> bits
  }
  return ratio >> (bits - 64n)
}

/** Prices at which a pool stops. */
const [LOWEST_PRICE, HIGHEST_PRICE] = [
  whirlpoolSqrtPrice(-LAST_TICK),
  whirlpoolSqrtPrice(LAST_TICK),
]

/** What does not change over the steps of a swap. */
export interface WhirlpoolDirection {
  /** Token A is sold: the price falls. */
  readonly sellsA: boolean
  readonly exactIn: boolean
  /** Hundredths of a basis point. */
  readonly feePips: number
}

interface StepState {
  readonly sqrtPrice: bigint
  /** Price at which the step ends at the latest. */
  readonly target: bigint
  readonly liquidity: bigint
  /** Input, or output where that is the exact side, that is still to be swapped. */
  readonly remaining: bigint
}

/** One step; the input is without the fee. */
export interface WhirlpoolStep {
  readonly sqrtPrice: bigint
  readonly amountIn: bigint
  readonly amountOut: bigint
  readonly fee: bigint
}

interface Span {
  readonly low: bigint
  readonly high: bigint
  readonly liquidity: bigint
}

const spanOf = (one: bigint, other: bigint, liquidity: bigint): Span =>
  one < other ? { low: one, high: other, liquidity } : { low: other, high: one, liquidity }

const within = (amount: bigint): bigint | undefined =>
  amount > LARGEST_AMOUNT ? undefined : amount

/** Token A between two prices; undefined: more than 64 bits. */
const amountA = ({ low, high, liquidity }: Span, up: boolean): bigint | undefined => {
  const [of, by] = [(liquidity * (high - low)) << 64n, high * low]
  return within(up ? ceilDiv(of, by) : of / by)
}

/** Token B between two prices; undefined: more than 64 bits. */
const amountB = ({ low, high, liquidity }: Span, up: boolean): bigint | undefined => {
  const product = liquidity * (high - low)
  return product >= WORD ? undefined : within(up ? ceilDiv(product, 1n << 64n) : product >> 64n)
}

/** Price after so much of the exact side; undefined where the program refuses it. */
const priceAfter = (
  { sellsA, exactIn }: WhirlpoolDirection,
  { sqrtPrice, liquidity }: StepState,
  amount: bigint,
): bigint | undefined => {
  if (sellsA !== exactIn) {
    const shifted = amount << 64n
    if (exactIn) return sqrtPrice + shifted / liquidity
    const delta = ceilDiv(shifted, liquidity)
    return delta < sqrtPrice ? sqrtPrice - delta : undefined
  }
  if (amount === 0n) return sqrtPrice
  const product = sqrtPrice * amount
  const by = (liquidity << 64n) + (exactIn ? product : -product)
  if (by <= 0n) return undefined
  const price = ceilDiv((liquidity * sqrtPrice) << 64n, by)
  return price < LOWEST_PRICE || price > HIGHEST_PRICE ? undefined : price
}

/** Beyond this the program's own products overflow: nothing that exists comes near it. */
const MAX_SPAN = 1n << 192n

/** Swaps up to `target` or until nothing remains; undefined where the program would refuse. */
export const whirlpoolStep = (
  direction: WhirlpoolDirection,
  state: StepState,
): WhirlpoolStep | undefined => {
  const { sellsA, exactIn, feePips } = direction
  const { sqrtPrice: from, target, liquidity, remaining } = state
  if (liquidity * from >= MAX_SPAN || liquidity * target >= MAX_SPAN) return undefined
  const [ofExact, ofOther] = sellsA === exactIn ? [amountA, amountB] : [amountB, amountA]
  const pips = BigInt(feePips)
  const net = exactIn ? (remaining * (PIPS - pips)) / PIPS : remaining
  const whole = ofExact(spanOf(from, target, liquidity), exactIn)
  const to = whole !== undefined && whole <= net ? target : priceAfter(direction, state, net)
  if (to === undefined) return undefined
  const isWhole = to === target
  const span = spanOf(from, to, liquidity)
  const other = ofOther(span, !exactIn)
  const exact = isWhole && whole !== undefined ? whole : ofExact(span, exactIn)
  if (other === undefined || exact === undefined) return undefined
  const amountIn = exactIn ? exact : other
  const given = exactIn ? other : exact
  const amountOut = !exactIn && given > remaining ? remaining : given
  const fee = exactIn && !isWhole ? remaining - amountIn : ceilDiv(amountIn * pips, PIPS - pips)
  if (exactIn && amountIn + fee > remaining) return undefined
  return { sqrtPrice: to, amountIn, amountOut, fee }
}
