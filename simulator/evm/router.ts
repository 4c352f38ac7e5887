import { balanceOf, type ExecutionContext, Reverted, transfer, unwrap, wrap } from './execution.ts'
import type { Pool, Token } from './scenario.ts'
import { amountOutOf } from './v2-math.ts'
import { pairReserves, pairSwap, readPoolField } from './v2-pair.ts'
import { poolSwap, quotePoolSwap } from './v3-pool.ts'

/** An exact input through one pool or several. */
export interface Route {
  readonly pools: readonly Pool[]
  readonly tokenIn: Token
  readonly amountIn: bigint
  /** Who sends the transaction and owns both ends. */
  readonly trader: number
  /** Contract that calls the pools; holds what is between two hops where a pool cannot take it directly. */
  readonly router: number
  /** Pay with native token, be paid in native token. */
  readonly nativeIn: boolean
  readonly nativeOut: boolean
}

/** The other token of a pool. */
export const otherToken = (pool: Pool, token: Token): Token =>
  pool.token0 === token ? pool.token1 : pool.token0

/** The token that a route ends in. */
export const tokenOutOf = ({ pools, tokenIn }: Route): Token =>
  pools.reduce((token, pool) => otherToken(pool, token), tokenIn)

/** What a pool would give now for an exact input without transfer taxes; undefined when it cannot. */
export const quoteOf = (
  machine: ExecutionContext,
  pool: Pool,
  tokenIn: Token,
  amountIn: bigint,
): bigint | undefined => {
  const zeroForOne = tokenIn === pool.token0
  if (readPoolField(machine, pool, 'number') === 0n) return undefined
  if (pool.version === 3) return quotePoolSwap(machine, pool, zeroForOne, amountIn)?.amountOut
  const [reserve0, reserve1] = pairReserves(machine, pool)
  return zeroForOne
    ? amountOutOf(amountIn, reserve0, reserve1)
    : amountOutOf(amountIn, reserve1, reserve0)
}

/** One V2 hop whose input already lies in the pair. Returns what was sent out. */
const swapThroughPair = (
  machine: ExecutionContext,
  pool: Pool,
  hop: { readonly tokenIn: Token; readonly to: number; readonly router: number },
): bigint => {
  const { tokenIn, to, router } = hop
  const [reserve0, reserve1] = pairReserves(machine, pool)
  const zeroForOne = tokenIn === pool.token0
  const [reserveIn, reserveOut] = zeroForOne ? [reserve0, reserve1] : [reserve1, reserve0]
  const received = balanceOf(machine, tokenIn, pool.account) - reserveIn
  const out = amountOutOf(received, reserveIn, reserveOut)
  pairSwap(machine, pool, {
    sender: router,
    to,
    amountsOut: zeroForOne ? [0n, out] : [out, 0n],
  })
  return out
}

/** Runs a route. Throws Reverted like the contracts do. Returns the raw amount that left the last pool. */
export const runRoute = (machine: ExecutionContext, route: Route): bigint => {
  const { pools, trader, router } = route
  if (route.nativeIn) wrapNativeInput(machine, route)
  let holder = route.nativeIn ? router : trader
  let token = route.tokenIn
  let amount = route.amountIn
  pools.forEach((pool, at) => {
    const next = pools[at + 1]
    const direct = next?.version === 2 ? next.account : router
    const to = next === undefined && !route.nativeOut ? trader : direct
    if (pool.version === 2) {
      if (holder !== pool.account)
        transfer(machine, token, { from: holder, to: pool.account, amount })
      amount = swapThroughPair(machine, pool, { tokenIn: token, to, router })
    } else {
      const zeroForOne = token === pool.token0
      amount = poolSwap(machine, pool, {
        sender: router,
        payer: holder,
        recipient: to,
        zeroForOne,
        amountIn: amount,
      })
    }
    holder = to
    token = otherToken(pool, token)
  })
  if (route.nativeOut) {
    unwrap(machine, router, amount)
    const { layout, state } = machine
    state.add(layout.ether(router), -amount)
    state.add(layout.ether(trader), amount)
  }
  return amount
}

const wrapNativeInput = (machine: ExecutionContext, { trader, router, amountIn }: Route): void => {
  const { layout, state } = machine
  if (state.get(layout.ether(trader)) < amountIn) throw new Reverted('insufficient funds')
  state.add(layout.ether(trader), -amountIn)
  state.add(layout.ether(router), amountIn)
  wrap(machine, router, amountIn)
}
