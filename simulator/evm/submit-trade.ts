import type { Hex } from 'viem'
import type { BlockBuilder } from './block-builder.ts'
import { accountAddress } from './execution.ts'
import { type Route, runRoute, tokenOutOf } from './router.ts'
import type { Pool, Token } from './scenario.ts'
import { callDataEncoder, type LazyCallData } from './transactions.ts'

const exactTokens = callDataEncoder(
  'swapExactTokensForTokens(uint256,uint256,address[],address,uint256)',
)
const exactEther = callDataEncoder('swapExactETHForTokens(uint256,address[],address,uint256)')
const tokensForEther = callDataEncoder(
  'swapExactTokensForETH(uint256,uint256,address[],address,uint256)',
)
const exactInput = callDataEncoder('exactInput(bytes,address,uint256,uint256)')

const toHex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

const tokenPath = (route: Route): readonly Token[] => {
  const path = [route.tokenIn]
  for (const pool of route.pools) {
    const last = path.at(-1)
    path.push(pool.token0 === last ? pool.token1 : pool.token0)
  }
  return path
}

const encodeV3Path = (route: Route): Hex => {
  const tokens = tokenPath(route).map(({ address }) => address.slice(2))
  const fees = route.pools.map(({ feePips }) => toHex(feePips, 6))
  return `0x${tokens.map((token, at) => `${token}${fees[at] ?? ''}`).join('')}`
}

const encodeRouteInput = (builder: BlockBuilder, route: Route, minimum: bigint): LazyCallData => {
  const trader = accountAddress(builder.context.scenario, route.trader)
  const path = tokenPath(route).map(({ address }) => address)
  const deadline = BigInt(builder.context.height * 12 + 1_700_000_000)
  if (route.pools[0]?.version === 3)
    return exactInput(encodeV3Path(route), trader, route.amountIn, minimum)
  if (route.nativeIn) return exactEther(minimum, path, trader, deadline)
  const swap = route.nativeOut ? tokensForEther : exactTokens
  return swap(route.amountIn, minimum, path, trader, deadline)
}

/** How a trader wants to swap; native token is used for WETH when `native`. */
export interface TradeIntent {
  readonly trader: number
  readonly pools: readonly Pool[]
  readonly tokenIn: Token
  readonly amountIn: bigint
  readonly useNative?: boolean
  /** Contract to go through instead of the venue's router. */
  readonly via?: number
}

/** Full route of an intent. */
const routeOf = (builder: BlockBuilder, intent: TradeIntent): Route => {
  const { weth, venues } = builder.context.scenario
  const venue = intent.pools[0]?.venue ?? 'uniswap_v2'
  const same = intent.pools.every((pool) => pool.venue === venue)
  const base = { ...intent, nativeIn: false, nativeOut: false }
  const native = intent.useNative === true
  return {
    ...base,
    router: intent.via ?? venues[same ? venue : 'uniswap_v3'].router.index,
    nativeIn: native && intent.tokenIn === weth,
    nativeOut: native && tokenOutOf({ ...base, router: 0 }) === weth,
  }
}

/** Sends a swap through its router. Returns the number of pools it went through, 0 when it was not sent. */
export const submitTrade = (builder: BlockBuilder, intent: TradeIntent): number => {
  if (intent.amountIn <= 0n) return 0
  const route = routeOf(builder, intent)
  if (!route.nativeIn && !builder.fund(route.trader, route.tokenIn, route.amountIn)) return 0
  const sent = builder.submit({
    from: route.trader,
    to: accountAddress(builder.context.scenario, route.router),
    valueRaw: route.nativeIn ? route.amountIn : 0n,
    input: encodeRouteInput(builder, route, 0n),
    gas: 60_000 + 75_000 * route.pools.length + (route.nativeOut ? 20_000 : 0),
    run: () => {
      runRoute(builder.context, route)
    },
  })
  return sent ? route.pools.length : 0
}

/** Sends a swap that asks for more than the pools give: it fails. */
export const submitFailingTrade = (
  builder: BlockBuilder,
  intent: TradeIntent,
  fail: () => never,
): void => {
  const route = routeOf(builder, { ...intent, useNative: false })
  builder.submit({
    from: route.trader,
    to: accountAddress(builder.context.scenario, route.router),
    input: encodeRouteInput(builder, route, intent.amountIn * 1_000n),
    gas: 60_000 + 75_000 * route.pools.length,
    sendAnyway: true,
    run: fail,
  })
}
