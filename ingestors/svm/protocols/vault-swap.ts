import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { Swap } from '../../../schemas/events.ts'
import { balanceAfter, innerTransfers } from './spl-token.ts'
import { instructionPath, registerPool, type SvmTxContext } from './tx-context.ts'
import type { ProgramEvent } from './types.ts'

/** A swap between a user's token accounts and a pool's vaults, as an event reported it. Sides are in the pool's own order. */
export interface VaultSwap {
  readonly pool: string
  readonly trader: string
  readonly tokens: readonly [string, string]
  readonly vaults: readonly [string, string]
  /** The trader pays the pool's first token. */
  readonly firstTokenIn: boolean
  readonly userIn: string
  readonly userOut: string
  /** What the event says was paid and got; a transfer fee may be left out of it. */
  readonly reportedRaw: readonly [inRaw: bigint, outRaw: bigint]
  /** Where the event tells them; else they are what the vaults hold. */
  readonly reserves?: readonly [bigint, bigint] | undefined
  /** What else the event says of the pool. */
  readonly more?: Pick<Swap, 'curve' | 'curveProgress'> | undefined
}

/**
 * Takes such a swap at the instruction that reported it. Amounts are those that moved below it: with a transfer fee, events of
 * these programs state what the pool reckons with, which is less than what the trader sent.
 */
export const addVaultSwap = (
  scope: SvmTxContext,
  event: ProgramEvent,
  swap: VaultSwap,
): DropReason | undefined => {
  const { pool, trader, tokens, firstTokenIn, userIn, userOut, reportedRaw } = swap
  const turned = <T>([first, second]: readonly [T, T]): readonly [T, T] =>
    firstTokenIn ? [first, second] : [second, first]
  const [tokenIn, tokenOut] = turned(tokens)
  const [vaultIn, vaultOut] = turned(swap.vaults)
  const moved = innerTransfers(scope, event.callerIndex)
  const paid = moved.find(({ to }) => to === vaultIn)
  const got = moved.find(({ from }) => from === vaultOut)
  const [amountInRaw, amountOutRaw] = paid && got ? [paid.amountRaw, got.amountRaw] : reportedRaw
  if (amountInRaw === 0n && amountOutRaw === 0n) return 'zero-amount'
  const reserves = swap.reserves ?? vaultBalancesAfter(scope, event, swap.vaults)
  registerPool(scope, event, { address: pool, tokenA: tokens[0], tokenB: tokens[1] })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: event.callerIndex,
    path: instructionPath(event.caller),
    pool,
    protocol: event.row.id,
    trader,
    tokenIn,
    tokenOut,
    amountInRaw,
    amountOutRaw,
    ...(reserves && { reservesInOut: turned(reserves) }),
    accounts: { userIn, userOut, vaultIn, vaultOut },
    ...swap.more,
  })
  return undefined
}

/** What both vaults hold behind the instruction that reported the event; undefined where later ones touch them again. */
export const vaultBalancesAfter = (
  scope: SvmTxContext,
  { callerIndex }: ProgramEvent,
  [first, second]: readonly [string, string],
): readonly [bigint, bigint] | undefined => {
  const firstRaw = balanceAfter(scope, callerIndex, first)
  const secondRaw = balanceAfter(scope, callerIndex, second)
  return firstRaw === undefined || secondRaw === undefined ? undefined : [firstRaw, secondRaw]
}
