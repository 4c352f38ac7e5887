import { amount0Delta, amount1Delta } from '../../core/prices/tick-math.ts'
import { LOG_ENCODERS } from './event-logs.ts'
import { accountAddress, type ExecutionContext, Reverted, transfer } from './execution.ts'
import type { Pool } from './scenario.ts'
import { TICK_OFFSET } from './state-layout.ts'
import { readPoolField, writePoolField } from './v2-pair.ts'
import { initialSqrtPrice, liquidityFor, swapWithin, tickAtSqrtPrice } from './v3-math.ts'

/** `tick` of slot0. */
const tickOf = (stored: bigint): number => Number(stored - TICK_OFFSET)

const setPrice = (machine: ExecutionContext, pool: Pool, sqrtPriceX96: bigint): number => {
  const tick = tickAtSqrtPrice(
    sqrtPriceX96,
    tickOf(readPoolField(machine, pool, 'tick') || TICK_OFFSET),
  )
  writePoolField(machine, pool, 'sqrtPrice', sqrtPriceX96)
  writePoolField(machine, pool, 'tick', BigInt(tick) + TICK_OFFSET)
  return tick
}

/** `initialize` at the price of two amounts. */
export const poolInitialize = (
  machine: ExecutionContext,
  pool: Pool,
  amounts: readonly [bigint, bigint],
) => {
  const sqrtPriceX96 = initialSqrtPrice(...amounts)
  const tick = setPrice(machine, pool, sqrtPriceX96)
  machine.logs.push(LOG_ENCODERS.initialize(pool.address, sqrtPriceX96, tick))
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
export const quotePoolSwap = (
  machine: ExecutionContext,
  pool: Pool,
  zeroForOne: boolean,
  amountIn: bigint,
) => {
  const [low, high] = pool.limits
  return swapWithin(
    readPoolField(machine, pool, 'sqrtPrice'),
    readPoolField(machine, pool, 'liquidity'),
    {
      amountIn,
      feePips: pool.feePips,
      zeroForOne,
      limit: zeroForOne ? low : high,
    },
  )
}

/** `swap` of a pool: pays out, is paid, logs. Returns the output. Throws Reverted outside of the range. */
export const poolSwap = (machine: ExecutionContext, pool: Pool, swap: PoolSwap): bigint => {
  const { scenario } = machine
  const { zeroForOne, amountIn } = swap
  const step = quotePoolSwap(machine, pool, zeroForOne, amountIn)
  if (step === undefined || amountIn <= 0n) throw new Reverted('AS')
  const [tokenIn, tokenOut] = zeroForOne ? [pool.token0, pool.token1] : [pool.token1, pool.token0]
  const tick = setPrice(machine, pool, step.sqrtPriceX96)
  machine.state.add(machine.layout.pool(pool.index, zeroForOne ? 'fee0' : 'fee1'), step.fee)
  if (step.amountOut > 0n)
    transfer(machine, tokenOut, { from: pool.account, to: swap.recipient, amount: step.amountOut })
  transfer(machine, tokenIn, { from: swap.payer, to: pool.account, amount: amountIn })
  machine.logs.push(
    LOG_ENCODERS.swapV3(
      pool.address,
      accountAddress(scenario, swap.sender),
      accountAddress(scenario, swap.recipient),
      zeroForOne ? amountIn : -step.amountOut,
      zeroForOne ? -step.amountOut : amountIn,
      step.sqrtPriceX96,
      readPoolField(machine, pool, 'liquidity'),
      tick,
    ),
  )
  return step.amountOut
}

const amountsFor = (
  machine: ExecutionContext,
  pool: Pool,
  liquidity: bigint,
  up: boolean,
): readonly [bigint, bigint] => {
  const price = readPoolField(machine, pool, 'sqrtPrice')
  const [low, high] = pool.limits
  return [amount0Delta(price, high, liquidity, up), amount1Delta(low, price, liquidity, up)]
}

/** `mint` over the full range with as much as both amounts allow, paid by `payer`, held by the position manager. */
export const poolMint = (
  machine: ExecutionContext,
  pool: Pool,
  payer: number,
  amounts: readonly [bigint, bigint],
): void => {
  const { scenario } = machine
  const range = pool.range
  const price = readPoolField(machine, pool, 'sqrtPrice')
  const liquidity = liquidityFor(price, pool.limits, amounts)
  if (liquidity <= 0n) throw new Reverted('no liquidity')
  const [amount0, amount1] = amountsFor(machine, pool, liquidity, true)
  transfer(machine, pool.token0, { from: payer, to: pool.account, amount: amount0 })
  transfer(machine, pool.token1, { from: payer, to: pool.account, amount: amount1 })
  machine.state.add(machine.layout.pool(pool.index, 'liquidity'), liquidity)
  const manager = scenario.positionManager.address
  machine.logs.push(
    LOG_ENCODERS.mintV3(pool.address, manager, manager, ...range, liquidity, amount0, amount1),
  )
}

/** `burn` and `collect`: the amounts and all fees so far go to `recipient`. */
export const poolBurn = (
  machine: ExecutionContext,
  pool: Pool,
  recipient: number,
  liquidity: bigint,
): void => {
  const { scenario } = machine
  if (liquidity <= 0n || liquidity >= readPoolField(machine, pool, 'liquidity'))
    throw new Reverted('LS')
  const range = pool.range
  const [amount0, amount1] = amountsFor(machine, pool, liquidity, false)
  writePoolField(machine, pool, 'liquidity', readPoolField(machine, pool, 'liquidity') - liquidity)
  const manager = scenario.positionManager.address
  machine.logs.push(
    LOG_ENCODERS.burnV3(pool.address, manager, ...range, liquidity, amount0, amount1),
  )
  const owed0 = amount0 + readPoolField(machine, pool, 'fee0')
  const owed1 = amount1 + readPoolField(machine, pool, 'fee1')
  writePoolField(machine, pool, 'fee0', 0n)
  writePoolField(machine, pool, 'fee1', 0n)
  const source = { from: pool.account, to: recipient }
  if (owed0 > 0n) transfer(machine, pool.token0, { ...source, amount: owed0 })
  if (owed1 > 0n) transfer(machine, pool.token1, { ...source, amount: owed1 })
  const to = accountAddress(scenario, recipient)
  machine.logs.push(LOG_ENCODERS.collect(pool.address, manager, to, ...range, owed0, owed1))
}
