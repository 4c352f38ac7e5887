import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { type CoinPair, type ListedEvent, type MoveTxContext, poolCoins } from './tx-context.ts'

/** A swap as its event says it. */
export interface DecodedMoveSwap {
  readonly pool: string
  /** From the pool's first coin to its second, or the other way; or the coins themselves. */
  readonly direction: 'a-to-b' | 'b-to-a' | { readonly in: string; readonly out: string }
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
  /** Where the event says it; else who sent the transaction. */
  readonly trader?: string | undefined
  /** After the swap, in the pool's own order. */
  readonly reserves?: readonly [bigint, bigint] | undefined
  /** Square root price after the swap with 64 binary places. */
  readonly sqrtPriceX64?: bigint | undefined
  readonly liquidityRaw?: bigint | undefined
}

/** Adds a swap; the reason when nothing moved. Coins that nothing tells stay unknown. */
export const addSwap = (
  scope: MoveTxContext,
  listed: ListedEvent,
  raw: DecodedMoveSwap,
): DropReason | undefined => {
  const { pool, direction, amountInRaw, amountOutRaw, reserves, sqrtPriceX64, liquidityRaw } = raw
  if (amountInRaw === 0n && amountOutRaw === 0n) return 'zero-amount'
  const [tokenIn, tokenOut] =
    typeof direction === 'object'
      ? [direction.in, direction.out]
      : inAndOutCoins(poolCoins(scope, listed, pool), direction)
  scope.out.swaps.push({
    kind: 'swap',
    ...eventPosition(scope, listed),
    pool,
    protocol: listed.row.id,
    trader: raw.trader ?? scope.tx.from,
    tokenIn,
    tokenOut,
    amountInRaw,
    amountOutRaw,
    ...(reserves && { reserves }),
    ...(sqrtPriceX64 !== undefined && { sqrtPriceX96: sqrtPriceX64 << 32n }),
    ...(liquidityRaw !== undefined && { liquidityRaw }),
  })
  return undefined
}

const inAndOutCoins = (
  coins: CoinPair | undefined,
  way: 'a-to-b' | 'b-to-a',
): readonly [string | null, string | null] => {
  const [a, b] = coins ?? [null, null]
  return way === 'a-to-b' ? [a, b] : [b, a]
}

/** Liquidity that moved, or a pool that opened, as its event says it. */
export interface DecodedMoveLiquidityChange {
  readonly pool: string
  readonly change: PoolLiquidityChange['kind']
  readonly amountsRaw: readonly [bigint, bigint]
  /** Where the event names them; else the pool's. */
  readonly coins?: CoinPair
  readonly owner?: string | undefined
  readonly reserves?: readonly [bigint, bigint] | undefined
}

/**
 * Adds a change of a pool; the reason when nothing tells its coins. A position that moved no coins (a poke before fees are
 * collected) is not a change.
 */
export const addLiquidityChange = (
  scope: MoveTxContext,
  listed: ListedEvent,
  { pool, change, amountsRaw, reserves, ...raw }: DecodedMoveLiquidityChange,
): DropReason | undefined => {
  const [amountARaw, amountBRaw] = amountsRaw
  if (change !== 'initialize' && amountARaw === 0n && amountBRaw === 0n) return undefined
  const coins = raw.coins ?? poolCoins(scope, listed, pool)
  if (coins === undefined) return 'unknown-pool'
  const [tokenA, tokenB] = coins
  scope.out.poolChanges.push({
    kind: change,
    ...eventPosition(scope, listed),
    pool,
    protocol: listed.row.id,
    owner: raw.owner ?? scope.tx.from,
    tokenA,
    tokenB,
    amountARaw,
    amountBRaw,
    ...(reserves && { reserves }),
  })
  return undefined
}

const eventPosition = ({ tx }: MoveTxContext, { event }: ListedEvent) => ({
  txIndex: tx.index,
  logIndex: event.index,
})

/** Both, where both are there. */
export const pairIfBoth = (
  a: bigint | undefined,
  b: bigint | undefined,
): readonly [bigint, bigint] | undefined =>
  a === undefined || b === undefined ? undefined : [a, b]
