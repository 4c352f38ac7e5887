import type { PoolChange } from '../../../schemas/events.ts'
import { offsetsOf, u64 } from '../layout/layout.ts'
import { arrivedRaw, type Moved, movedWithin } from './spl-token.ts'
import { holderOf, pathOf, type SvmScope, showPool } from './tx-context.ts'
import {
  EVENT_START,
  type EventRow,
  type InstructionReader,
  logEvents,
  type Ran,
  type SvmFamily,
} from './types.ts'

/** First eight bytes of `swap`. */
const SWAP_TAG = 'f8c69e91e17587c8'
const SWAP = { pool: 0, userIn: 1, userOut: 2, vaultA: 5, vaultB: 6, user: 12 } as const

const SWAPPED = offsetsOf({ amountIn: 'u64', amountOut: 'u64' })

const sumOf = (moved: readonly Moved[]): bigint =>
  moved.reduce((sum, { amountRaw }) => sum + amountRaw, 0n)

/**
 * A swap. Tokens lie in vaults that many pools share, whose program moves them one level down; what was got leaves one of
 * the two. `told`: what the log states, which differs from what moved by the rounding of vault shares.
 */
const takeSwap = (
  scope: SvmScope,
  { row, program, instruction, at }: Ran,
  told: readonly [inRaw: bigint, outRaw: bigint] | undefined,
): string | undefined => {
  const { accounts } = instruction
  if (accounts.length <= SWAP.user) return 'missing-account'
  const named = (index: number): string => accounts[index] ?? ''
  const pool = named(SWAP.pool)
  const vaults = [named(SWAP.vaultA), named(SWAP.vaultB)] as const
  const [tokenA, tokenB] = vaults.map((vault) => holderOf(scope, vault)?.mint)
  if (tokenA === undefined || tokenB === undefined) return 'unknown-token'
  const userIn = named(SWAP.userIn)
  const userOut = named(SWAP.userOut)
  const moved = movedWithin(scope, at)
  const got = moved.filter(({ to }) => to === userOut)
  const vaultOut = got[0]?.from
  if (vaultOut === undefined) return 'no-transfers'
  const paysA = vaultOut === vaults[1]
  if (!paysA && vaultOut !== vaults[0]) return 'foreign-vault'
  const paidRaw = sumOf(moved.filter(({ from }) => from === userIn))
  const [amountInRaw, amountOutRaw] = told ?? [paidRaw, sumOf(got)]
  if (amountInRaw === 0n && amountOutRaw === 0n) return 'zero-amount'
  showPool(scope, { row, program }, { address: pool, tokenA, tokenB })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at,
    path: pathOf(instruction),
    pool,
    protocol: row.id,
    trader: named(SWAP.user),
    tokenIn: paysA ? tokenA : tokenB,
    tokenOut: paysA ? tokenB : tokenA,
    amountInRaw,
    amountOutRaw,
    accounts: { userIn, userOut, vaultIn: paysA ? vaults[0] : vaults[1], vaultOut },
  })
  return undefined
}

const readSwapped: EventRow['read'] = (scope, { row, program, view, caller, callerAt }) => {
  const tag = Buffer.from(caller.data.subarray(0, 8)).toString('hex')
  if (tag !== SWAP_TAG) return 'unknown-instruction'
  const inRaw = u64(view, EVENT_START + SWAPPED.amountIn)
  const outRaw = u64(view, EVENT_START + SWAPPED.amountOut)
  return takeSwap(scope, { row, program, instruction: caller, at: callerAt }, [inRaw, outRaw])
}

/** Where an instruction that moves liquidity names its accounts. */
interface Form {
  readonly kind: PoolChange['kind']
  readonly vaultA: number
  readonly vaultB: number
  readonly user: number
  /** Named only where the pool opens; else they are what the vaults hold. */
  readonly tokens?: readonly [a: number, b: number]
}

/** Takes what moved into the vaults or out of them. */
const readChange =
  ({ kind, vaultA, vaultB, user, tokens }: Form): InstructionReader =>
  ({ scope, row, program, instruction, at }) => {
    const { accounts } = instruction
    const [pool] = accounts
    const owner = accounts[user]
    const vaults = [accounts[vaultA], accounts[vaultB]] as const
    if (!pool || !owner || !vaults[0] || !vaults[1]) return 'missing-account'
    const tokenOf = (side: 0 | 1): string | undefined =>
      tokens ? accounts[tokens[side]] : holderOf(scope, vaults[side] ?? '')?.mint
    const tokenA = tokenOf(0)
    const tokenB = tokenOf(1)
    if (tokenA === undefined || tokenB === undefined) return 'unknown-token'
    const moved = movedWithin(scope, at)
    const rawOf = (vault: string | undefined): bigint =>
      kind === 'decrease'
        ? sumOf(moved.filter(({ from }) => from === vault))
        : moved
            .filter(({ to }) => to === vault)
            .reduce((sum, each) => sum + arrivedRaw(scope, each), 0n)
    const [amountARaw, amountBRaw] = vaults.map(rawOf) as [bigint, bigint]
    if (amountARaw === 0n && amountBRaw === 0n && kind !== 'initialize') return 'no-transfers'
    showPool(scope, { row, program }, { address: pool, tokenA, tokenB })
    scope.out.poolChanges.push({
      kind,
      txIndex: scope.tx.index,
      logIndex: at,
      path: pathOf(instruction),
      pool,
      protocol: row.id,
      owner,
      tokenA,
      tokenB,
      amountARaw,
      amountBRaw,
      ...(kind === 'initialize' && { reserves: [amountARaw, amountBRaw] as const }),
    })
    return undefined
  }

const ADDS: Form = { kind: 'increase', vaultA: 9, vaultB: 10, user: 13 }
const REMOVES: Form = { kind: 'decrease', vaultA: 9, vaultB: 10, user: 13 }
const REMOVES_ONE: Form = { kind: 'decrease', vaultA: 9, vaultB: 10, user: 12 }
const OPENS: Form = { kind: 'initialize', vaultA: 6, vaultB: 7, user: 17, tokens: [2, 3] }
const OPENS_WITH_CONFIG: Form = {
  kind: 'initialize',
  vaultA: 7,
  vaultB: 8,
  user: 18,
  tokens: [3, 4],
}
/** Opened empty: it names the vaults of the vault program in place of their token accounts. */
const OPENS_EMPTY: Form = { kind: 'initialize', vaultA: 4, vaultB: 5, user: 15, tokens: [2, 3] }

/** Meteora's first pools, over shared vaults; contract/chains.md 4.6. Source: MeteoraAg/damm-v1-sdk, its IDL. */
export const meteoraDammV1: SvmFamily = {
  family: 'meteora_damm_v1',
  reader: logEvents(
    { '516ce3becdd00ac4': { bytes: SWAPPED.end, read: readSwapped } }, // Swap
    {
      [SWAP_TAG]: (reading) => takeSwap(reading.scope, reading, undefined),
      a8e3323ebdab54b0: readChange(ADDS), // add_balance_liquidity
      '4f237a54ad0f5dbf': readChange(ADDS), // add_imbalance_liquidity
      '04e4d747e1fd77ce': readChange(ADDS), // bootstrap_liquidity
      '856d2cb338ee7221': readChange(REMOVES), // remove_balance_liquidity
      '5454b142feb90afb': readChange(REMOVES_ONE), // remove_liquidity_single_side
      '4d55b29d3230d47e': readChange(OPENS_EMPTY), // initialize_permissioned_pool
      '76ad299dad486167': readChange(OPENS), // initialize_permissionless_pool
      '06874493e552a971': readChange(OPENS), // initialize_permissionless_pool_with_fee_tier
      '9118acc2db7d03be': readChange(OPENS), // initialize_customizable_permissionless_constant_product_pool
      '07a68aabceabecf4': readChange(OPENS_WITH_CONFIG), // initialize_permissionless_constant_product_pool_with_config
      '3095dc823d0b09b2': readChange(OPENS_WITH_CONFIG), // initialize_permissionless_constant_product_pool_with_config2
    },
  ),
}
