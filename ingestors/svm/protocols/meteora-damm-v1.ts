import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { fieldOffsets, u64 } from '../layout/borsh-layout.ts'
import { nestedTransfers, receivedRaw, type TokenTransfer } from './spl-token.ts'
import { instructionPath, registerPool, type SvmTxContext, tokenAccountOf } from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventType,
  type InstructionReader,
  type ListedInstruction,
  readLogEvents,
  type SvmFamily,
} from './types.ts'

/** First eight bytes of `swap`. */
const SWAP_DISCRIMINATOR = 'f8c69e91e17587c8'
const SWAP = { pool: 0, userIn: 1, userOut: 2, vaultA: 5, vaultB: 6, user: 12 } as const

const SWAP_EVENT = fieldOffsets({ amountIn: 'u64', amountOut: 'u64' })

const sumRaw = (moved: readonly TokenTransfer[]): bigint =>
  moved.reduce((sum, { amountRaw }) => sum + amountRaw, 0n)

/**
 * A swap. Tokens lie in vaults that many pools share, whose program moves them one level down; what was got leaves one of
 * the two. `reported`: what the log states, which differs from what moved by the rounding of vault shares.
 */
const addSwap = (
  scope: SvmTxContext,
  { row, program, instruction, at }: ListedInstruction,
  reported: readonly [inRaw: bigint, outRaw: bigint] | undefined,
): DropReason | undefined => {
  const { accounts } = instruction
  if (accounts.length <= SWAP.user) return 'missing-account'
  const named = (index: number): string => accounts[index] ?? ''
  const pool = named(SWAP.pool)
  const vaults = [named(SWAP.vaultA), named(SWAP.vaultB)] as const
  const [tokenA, tokenB] = vaults.map((vault) => tokenAccountOf(scope, vault)?.mint)
  if (tokenA === undefined || tokenB === undefined) return 'unknown-token'
  const userIn = named(SWAP.userIn)
  const userOut = named(SWAP.userOut)
  const moved = nestedTransfers(scope, at)
  const got = moved.filter(({ to }) => to === userOut)
  const vaultOut = got[0]?.from
  if (vaultOut === undefined) return 'no-transfers'
  const paysA = vaultOut === vaults[1]
  if (!paysA && vaultOut !== vaults[0]) return 'unexpected-vault'
  const paidRaw = sumRaw(moved.filter(({ from }) => from === userIn))
  const [amountInRaw, amountOutRaw] = reported ?? [paidRaw, sumRaw(got)]
  if (amountInRaw === 0n && amountOutRaw === 0n) return 'zero-amount'
  registerPool(scope, { row, program }, { address: pool, tokenA, tokenB })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
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

const readSwapEvent: EventType['read'] = (scope, { row, program, view, caller, callerIndex }) => {
  const tag = Buffer.from(caller.data.subarray(0, 8)).toString('hex')
  if (tag !== SWAP_DISCRIMINATOR) return 'unknown-instruction'
  const inRaw = u64(view, EVENT_FIELDS_OFFSET + SWAP_EVENT.amountIn)
  const outRaw = u64(view, EVENT_FIELDS_OFFSET + SWAP_EVENT.amountOut)
  return addSwap(scope, { row, program, instruction: caller, at: callerIndex }, [inRaw, outRaw])
}

/** Where an instruction that moves liquidity names its accounts. */
interface LiquidityAccountLayout {
  readonly kind: PoolLiquidityChange['kind']
  readonly vaultA: number
  readonly vaultB: number
  readonly user: number
  /** Named only where the pool opens; else they are what the vaults hold. */
  readonly tokens?: readonly [a: number, b: number]
}

/** Takes what moved into the vaults or out of them. */
const readChange =
  ({ kind, vaultA, vaultB, user, tokens }: LiquidityAccountLayout): InstructionReader =>
  ({ scope, row, program, instruction, at }) => {
    const { accounts } = instruction
    const [pool] = accounts
    const owner = accounts[user]
    const vaults = [accounts[vaultA], accounts[vaultB]] as const
    if (!pool || !owner || !vaults[0] || !vaults[1]) return 'missing-account'
    const tokenOf = (side: 0 | 1): string | undefined =>
      tokens ? accounts[tokens[side]] : tokenAccountOf(scope, vaults[side] ?? '')?.mint
    const tokenA = tokenOf(0)
    const tokenB = tokenOf(1)
    if (tokenA === undefined || tokenB === undefined) return 'unknown-token'
    const moved = nestedTransfers(scope, at)
    const rawOf = (vault: string | undefined): bigint =>
      kind === 'decrease'
        ? sumRaw(moved.filter(({ from }) => from === vault))
        : moved
            .filter(({ to }) => to === vault)
            .reduce((sum, each) => sum + receivedRaw(scope, each), 0n)
    const [amountARaw, amountBRaw] = vaults.map(rawOf) as [bigint, bigint]
    if (amountARaw === 0n && amountBRaw === 0n && kind !== 'initialize') return 'no-transfers'
    registerPool(scope, { row, program }, { address: pool, tokenA, tokenB })
    scope.out.poolChanges.push({
      kind,
      txIndex: scope.tx.index,
      logIndex: at,
      path: instructionPath(instruction),
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

const ADD_LIQUIDITY: LiquidityAccountLayout = { kind: 'increase', vaultA: 9, vaultB: 10, user: 13 }
const REMOVE_LIQUIDITY: LiquidityAccountLayout = {
  kind: 'decrease',
  vaultA: 9,
  vaultB: 10,
  user: 13,
}
const REMOVE_SINGLE_SIDE: LiquidityAccountLayout = {
  kind: 'decrease',
  vaultA: 9,
  vaultB: 10,
  user: 12,
}
const INITIALIZE: LiquidityAccountLayout = {
  kind: 'initialize',
  vaultA: 6,
  vaultB: 7,
  user: 17,
  tokens: [2, 3],
}
const INITIALIZE_WITH_CONFIG: LiquidityAccountLayout = {
  kind: 'initialize',
  vaultA: 7,
  vaultB: 8,
  user: 18,
  tokens: [3, 4],
}
/** Opened empty: it names the vaults of the vault program in place of their token accounts. */
const INITIALIZE_PERMISSIONED: LiquidityAccountLayout = {
  kind: 'initialize',
  vaultA: 4,
  vaultB: 5,
  user: 15,
  tokens: [2, 3],
}

/** Meteora's first pools, over shared vaults. Source: MeteoraAg/damm-v1-sdk, its IDL. */
export const meteoraDammV1: SvmFamily = {
  family: 'meteora_damm_v1',
  reader: readLogEvents(
    { '516ce3becdd00ac4': { bytes: SWAP_EVENT.end, read: readSwapEvent } }, // Swap
    {
      [SWAP_DISCRIMINATOR]: (reading) => addSwap(reading.scope, reading, undefined),
      a8e3323ebdab54b0: readChange(ADD_LIQUIDITY), // add_balance_liquidity
      '4f237a54ad0f5dbf': readChange(ADD_LIQUIDITY), // add_imbalance_liquidity
      '04e4d747e1fd77ce': readChange(ADD_LIQUIDITY), // bootstrap_liquidity
      '856d2cb338ee7221': readChange(REMOVE_LIQUIDITY), // remove_balance_liquidity
      '5454b142feb90afb': readChange(REMOVE_SINGLE_SIDE), // remove_liquidity_single_side
      '4d55b29d3230d47e': readChange(INITIALIZE_PERMISSIONED), // initialize_permissioned_pool
      '76ad299dad486167': readChange(INITIALIZE), // initialize_permissionless_pool
      '06874493e552a971': readChange(INITIALIZE), // initialize_permissionless_pool_with_fee_tier
      '9118acc2db7d03be': readChange(INITIALIZE), // initialize_customizable_permissionless_constant_product_pool
      '07a68aabceabecf4': readChange(INITIALIZE_WITH_CONFIG), // initialize_permissionless_constant_product_pool_with_config
      '3095dc823d0b09b2': readChange(INITIALIZE_WITH_CONFIG), // initialize_permissionless_constant_product_pool_with_config2
    },
  ),
}
