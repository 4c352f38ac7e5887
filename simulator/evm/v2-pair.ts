import { zeroAddress } from 'viem'
import { integerSqrt, minBigint } from '../../core/bigint-math.ts'
import { LOG_ENCODERS } from './event-logs.ts'
import {
  accountAddress,
  balanceOf,
  type ExecutionContext,
  Reverted,
  transfer,
} from './execution.ts'
import type { Pool } from './scenario.ts'
import type { PoolField } from './state-layout.ts'
import { keepsProduct, MINIMUM_LIQUIDITY } from './v2-math.ts'

/** Reads one field of a pool. */
export const readPoolField = (
  { layout, state }: ExecutionContext,
  pool: Pool,
  field: PoolField,
): bigint => state.get(layout.pool(pool.index, field))

/** Writes one field of a pool. */
export const writePoolField = (
  machine: ExecutionContext,
  pool: Pool,
  field: PoolField,
  value: bigint,
): void => machine.state.set(machine.layout.pool(pool.index, field), value)

/** Reserves of a pair, token0 first. */
export const pairReserves = (machine: ExecutionContext, pool: Pool): readonly [bigint, bigint] => [
  readPoolField(machine, pool, 'reserve0'),
  readPoolField(machine, pool, 'reserve1'),
]

const balancesOf = (machine: ExecutionContext, pool: Pool): readonly [bigint, bigint] => [
  balanceOf(machine, pool.token0, pool.account),
  balanceOf(machine, pool.token1, pool.account),
]

const syncReserves = (machine: ExecutionContext, pool: Pool): void => {
  const [reserve0, reserve1] = balancesOf(machine, pool)
  writePoolField(machine, pool, 'reserve0', reserve0)
  writePoolField(machine, pool, 'reserve1', reserve1)
  machine.logs.push(LOG_ENCODERS.sync(pool.address, reserve0, reserve1))
}

/** What a caller asks of `swap`. */
export interface PairSwap {
  readonly sender: number
  readonly to: number
  readonly amountsOut: readonly [bigint, bigint]
  /** Runs after the outputs are sent: who has not paid before pays now. */
  readonly callback?: () => void
}

/** `swap` of a pair: what lies above the reserves is the input. Throws Reverted when the product would fall. */
export const pairSwap = (machine: ExecutionContext, pool: Pool, swap: PairSwap): void => {
  const { scenario } = machine
  const reserves = pairReserves(machine, pool)
  const [out0, out1] = swap.amountsOut
  if (out0 <= 0n && out1 <= 0n) throw new Reverted('UniswapV2: INSUFFICIENT_OUTPUT_AMOUNT')
  if (out0 >= reserves[0] || out1 >= reserves[1])
    throw new Reverted('UniswapV2: INSUFFICIENT_LIQUIDITY')
  const source = { from: pool.account, to: swap.to }
  if (out0 > 0n) transfer(machine, pool.token0, { ...source, amount: out0 })
  if (out1 > 0n) transfer(machine, pool.token1, { ...source, amount: out1 })
  swap.callback?.()
  const balances = balancesOf(machine, pool)
  const in0 = balances[0] - (reserves[0] - out0)
  const in1 = balances[1] - (reserves[1] - out1)
  if (in0 <= 0n && in1 <= 0n) throw new Reverted('UniswapV2: INSUFFICIENT_INPUT_AMOUNT')
  if (!keepsProduct(reserves, balances, [in0, in1])) throw new Reverted('UniswapV2: K')
  syncReserves(machine, pool)
  const sender = accountAddress(scenario, swap.sender)
  machine.logs.push(
    LOG_ENCODERS.swapV2(
      pool.address,
      sender,
      in0,
      in1,
      out0,
      out1,
      accountAddress(scenario, swap.to),
    ),
  )
}

/** `mint` of a pair: what lies above the reserves becomes liquidity of `to`. */
export const pairMint = (
  machine: ExecutionContext,
  pool: Pool,
  sender: number,
  to: number,
): void => {
  const { layout, state, scenario } = machine
  const reserves = pairReserves(machine, pool)
  const balances = balancesOf(machine, pool)
  const amounts = [balances[0] - reserves[0], balances[1] - reserves[1]] as const
  const supply = readPoolField(machine, pool, 'liquidity')
  const receiver = accountAddress(scenario, to)
  let made: bigint
  if (supply === 0n) {
    made = integerSqrt(amounts[0] * amounts[1]) - MINIMUM_LIQUIDITY
    machine.logs.push(
      LOG_ENCODERS.transfer(pool.address, zeroAddress, zeroAddress, MINIMUM_LIQUIDITY),
    )
    writePoolField(machine, pool, 'liquidity', made + MINIMUM_LIQUIDITY)
  } else {
    const by0 = (amounts[0] * supply) / reserves[0]
    const by1 = (amounts[1] * supply) / reserves[1]
    made = minBigint(by0, by1)
    writePoolField(machine, pool, 'liquidity', supply + made)
  }
  if (made <= 0n) throw new Reverted('UniswapV2: INSUFFICIENT_LIQUIDITY_MINTED')
  state.add(layout.share(pool.index, to), made)
  machine.logs.push(LOG_ENCODERS.transfer(pool.address, zeroAddress, receiver, made))
  syncReserves(machine, pool)
  machine.logs.push(LOG_ENCODERS.mintV2(pool.address, accountAddress(scenario, sender), ...amounts))
}

/** Liquidity tokens of `owner` go back to the pair and are burnt; both tokens go to the owner. */
export const pairBurn = (
  machine: ExecutionContext,
  pool: Pool,
  burn: { readonly sender: number; readonly owner: number; readonly shares: bigint },
): void => {
  const { layout, state, scenario } = machine
  const { owner, shares } = burn
  const supply = readPoolField(machine, pool, 'liquidity')
  const place = layout.share(pool.index, owner)
  const balances = balancesOf(machine, pool)
  const amounts = [(shares * balances[0]) / supply, (shares * balances[1]) / supply] as const
  if (shares > state.get(place) || amounts[0] <= 0n || amounts[1] <= 0n)
    throw new Reverted('UniswapV2: INSUFFICIENT_LIQUIDITY_BURNED')
  state.add(place, -shares)
  writePoolField(machine, pool, 'liquidity', supply - shares)
  const holder = accountAddress(scenario, owner)
  machine.logs.push(LOG_ENCODERS.transfer(pool.address, holder, pool.address, shares))
  machine.logs.push(LOG_ENCODERS.transfer(pool.address, pool.address, zeroAddress, shares))
  const source = { from: pool.account, to: owner }
  transfer(machine, pool.token0, { ...source, amount: amounts[0] })
  transfer(machine, pool.token1, { ...source, amount: amounts[1] })
  syncReserves(machine, pool)
  machine.logs.push(
    LOG_ENCODERS.burnV2(pool.address, accountAddress(scenario, burn.sender), ...amounts, holder),
  )
}
