import { amount0Between, amount1Between } from '../../core/prices/tick-math.ts'
import { TICK_OFFSET } from './layout.ts'
import { LOGS } from './logs.ts'
import { addressAt, type Machine, Reverted, transfer } from './machine.ts'
import type { Pool } from './scenario.ts'
import { poolValue, setPool } from './v2-pair.ts'
import { liquidityFor, sqrtPriceOf, swapWithin, tickAtSqrtPrice } from './v3-math.ts'

/** `tick` of slot0. */
const tickOf = (stored: bigint): number => Number(stored - TICK_OFFSET)

const setPrice = (machine: Machine, pool: Pool, sqrtPriceX96: bigint): number => {
  const tick = tickAtSqrtPrice(
    sqrtPriceX96,
    tickOf(poolValue(machine, pool, 'tick') || TICK_OFFSET),
  )
  setPool(machine, pool, 'sqrtPrice', sqrtPriceX96)
  setPool(machine, pool, 'tick', BigInt(tick) + TICK_OFFSET)
  return tick
}

/** `initialize` at the price of two amounts. */
export const poolInitialize = (
  machine: Machine,
  pool: Pool,
  amounts: readonly [bigint, bigint],
) => {
  const sqrtPriceX96 = sqrtPriceOf(...amounts)
  const tick = setPrice(machine, pool, sqrtPriceX96)
  machine.logs.push(LOGS.initialize(pool.address, sqrtPriceX96, tick))
}

/** An exact input to a pool. */
export interface PoolSwap {
  readonly sender: number
  readonly payer: number
  readonly recipient: number
  readonly zeroForOne: boolean
  readonly amountIn: bigint
}

/** What an exact input would give now; undefined when it would leave the range. */
export const quoteV3 = (machine: Machine, pool: Pool, zeroForOne: boolean, amountIn: bigint) => {
  const [low, high] = pool.limits
  return swapWithin(poolValue(machine, pool, 'sqrtPrice'), poolValue(machine, pool, 'liquidity'), {
    amountIn,
    feePips: pool.feePips,
    zeroForOne,
    limit: zeroForOne ? low : high,
  })
}

/** `swap` of a pool: pays out, is paid, logs. Returns the output. Throws Reverted outside of the range. */
export const poolSwap = (machine: Machine, pool: Pool, swap: PoolSwap): bigint => {
  const { world } = machine
  const { zeroForOne, amountIn } = swap
  const step = quoteV3(machine, pool, zeroForOne, amountIn)
  if (step === undefined || amountIn <= 0n) throw new Reverted('AS')
  const [tokenIn, tokenOut] = zeroForOne ? [pool.token0, pool.token1] : [pool.token1, pool.token0]
  const tick = setPrice(machine, pool, step.sqrtPriceX96)
  machine.state.add(machine.layout.pool(pool.index, zeroForOne ? 'fee0' : 'fee1'), step.fee)
  if (step.amountOut > 0n)
    transfer(machine, tokenOut, { from: pool.account, to: swap.recipient, amount: step.amountOut })
  transfer(machine, tokenIn, { from: swap.payer, to: pool.account, amount: amountIn })
  machine.logs.push(
    LOGS.swapV3(
      pool.address,
      addressAt(world, swap.sender),
      addressAt(world, swap.recipient),
      zeroForOne ? amountIn : -step.amountOut,
      zeroForOne ? -step.amountOut : amountIn,
      step.sqrtPriceX96,
      poolValue(machine, pool, 'liquidity'),
      tick,
    ),
  )
  return step.amountOut
}

const amountsFor = (
  machine: Machine,
  pool: Pool,
  liquidity: bigint,
  up: boolean,
): readonly [bigint, bigint] => {
  const price = poolValue(machine, pool, 'sqrtPrice')
  const [low, high] = pool.limits
  return [amount0Between(price, high, liquidity, up), amount1Between(low, price, liquidity, up)]
}

/** `mint` over the full range with as much as both amounts allow, paid by `payer`, held by the position manager. */
export const poolMint = (
  machine: Machine,
  pool: Pool,
  payer: number,
  amounts: readonly [bigint, bigint],
): void => {
  const { world } = machine
  const range = pool.range
  const price = poolValue(machine, pool, 'sqrtPrice')
  const liquidity = liquidityFor(price, pool.limits, amounts)
  if (liquidity <= 0n) throw new Reverted('no liquidity')
  const [amount0, amount1] = amountsFor(machine, pool, liquidity, true)
  transfer(machine, pool.token0, { from: payer, to: pool.account, amount: amount0 })
  transfer(machine, pool.token1, { from: payer, to: pool.account, amount: amount1 })
  machine.state.add(machine.layout.pool(pool.index, 'liquidity'), liquidity)
  const manager = world.positionManager.address
  machine.logs.push(
    LOGS.mintV3(pool.address, manager, manager, ...range, liquidity, amount0, amount1),
  )
}

/** `burn` and `collect`: the amounts and all fees so far go to `recipient`. */
export const poolBurn = (
  machine: Machine,
  pool: Pool,
  recipient: number,
  liquidity: bigint,
): void => {
  const { world } = machine
  if (liquidity <= 0n || liquidity >= poolValue(machine, pool, 'liquidity'))
    throw new Reverted('LS')
  const range = pool.range
  const [amount0, amount1] = amountsFor(machine, pool, liquidity, false)
  setPool(machine, pool, 'liquidity', poolValue(machine, pool, 'liquidity') - liquidity)
  const manager = world.positionManager.address
  machine.logs.push(LOGS.burnV3(pool.address, manager, ...range, liquidity, amount0, amount1))
  const owed0 = amount0 + poolValue(machine, pool, 'fee0')
  const owed1 = amount1 + poolValue(machine, pool, 'fee1')
  setPool(machine, pool, 'fee0', 0n)
  setPool(machine, pool, 'fee1', 0n)
  const source = { from: pool.account, to: recipient }
  if (owed0 > 0n) transfer(machine, pool.token0, { ...source, amount: owed0 })
  if (owed1 > 0n) transfer(machine, pool.token1, { ...source, amount: owed1 })
  const to = addressAt(world, recipient)
  machine.logs.push(LOGS.collect(pool.address, manager, to, ...range, owed0, owed1))
}
