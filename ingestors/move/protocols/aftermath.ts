import { moveType } from '../../../core/move-type.ts'
import type { PoolChange } from '../../../schemas/events.ts'
import { takeChange, takeSwap } from './resolve-swaps.ts'
import { type Coins, type ListedEvent, type MoveScope, shownCoins, showPool } from './tx-context.ts'
import { type MoveFamily, type MoveReader, moveEvent } from './types.ts'

const HEAD = { pool_id: 'address', issuer: 'address', referrer: 'address?' } as const

/** What an event tells of its pool: coins of it, and, in the events' second version, how much of each it holds. */
interface SaidPool {
  readonly pool: string
  readonly types: readonly string[]
  readonly reserves: readonly bigint[] | undefined
}

/** Two coins in the order of their names, which a pool's own list has to keep; undefined for fewer, for more, for one twice. */
const pairOf = (types: readonly string[]): Coins | undefined => {
  const [a, b, ...others] = [...types].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
  return a === undefined || b === undefined || a === b || others.length > 0 ? undefined : [a, b]
}

/** A name with all digits of its address. */
const nameOf = (coin: string): string => {
  const { package: owner = '', name = '', typeArguments = [] } = moveType(coin) ?? {}
  return `${owner}::${name}<${typeArguments}>`
}

/** An event that names two coins of a pool that holds two shows the pool. */
const showPair = (
  scope: MoveScope,
  listed: ListedEvent,
  { pool, types, reserves }: SaidPool,
): Coins | undefined => {
  const known = shownCoins(scope, pool)
  const coins = known === undefined && reserves?.length === 2 ? pairOf(types) : undefined
  if (coins !== undefined) showPool(scope, listed, { pool, coins })
  return known ?? coins
}

/** Pools hold up to eight coins; of a swap of several against one nothing says which paid for what. */
const swap = moveEvent({
  layout: {
    ...HEAD,
    types_in: 'coin[]',
    amounts_in: 'u64[]',
    types_out: 'coin[]',
    amounts_out: 'u64[]',
    /** Not in the first version. */
    reserves: 'u64[]',
  },
  needs: ['pool_id', 'types_in', 'amounts_in', 'types_out', 'amounts_out'],
  take: (scope, listed, { pool_id: pool, issuer: trader, reserves, ...said }) => {
    const lists = [said.types_in, said.amounts_in, said.types_out, said.amounts_out]
    if (lists.some(({ length }) => length > 1)) return 'many-coins'
    const [coinIn] = said.types_in
    const [amountInRaw = 0n] = said.amounts_in
    const [coinOut] = said.types_out
    const [amountOutRaw = 0n] = said.amounts_out
    if (coinIn === undefined || coinOut === undefined) return 'zero-amount'
    showPair(scope, listed, { pool, types: [coinIn, coinOut], reserves })
    const way = { in: coinIn, out: coinOut }
    return takeSwap(scope, listed, { pool, way, amountInRaw, amountOutRaw, trader })
  },
})

interface SaidLiquidity extends SaidPool {
  readonly owner: string | undefined
  readonly amounts: readonly bigint[]
}

/**
 * What moved, by the pool's own coins: an event names some of them or all. What the house knows of a pool has two sides: pools
 * of more coins trade, and their liquidity is left out.
 */
const takeLiquidity = (
  scope: MoveScope,
  listed: ListedEvent,
  change: PoolChange['kind'],
  { owner, amounts, ...said }: SaidLiquidity,
): string | undefined => {
  const { pool, types, reserves } = said
  if (types.length > 2 || (reserves !== undefined && reserves.length > 2)) return 'many-coins'
  if (types.length !== amounts.length || new Set(types).size < types.length) return 'bad-field'
  const coins = showPair(scope, listed, said)
  if (coins === undefined) return 'unknown-pool'
  if (types.some((type) => !coins.includes(type))) return 'unknown-token'
  const amountOf = (coin: string): bigint => amounts[types.indexOf(coin)] ?? 0n
  const amountsRaw = [amountOf(coins[0]), amountOf(coins[1])] as const
  return takeChange(scope, listed, { pool, change, coins, amountsRaw, owner })
}

const DEPOSIT = { ...HEAD, types: 'coin[]', deposits: 'u64[]' } as const
const DEPOSIT_V2 = { ...DEPOSIT, reserves: 'u64[]' } as const
const WITHDRAWAL = { ...HEAD, types: 'coin[]', withdrawn: 'u64[]' } as const
const WITHDRAWAL_V2 = { ...WITHDRAWAL, reserves: 'u64[]' } as const

const deposited = (layout: typeof DEPOSIT | typeof DEPOSIT_V2): MoveReader =>
  moveEvent({
    layout: layout as typeof DEPOSIT_V2,
    needs: ['pool_id', 'types', 'deposits'],
    take: (scope, listed, { pool_id: pool, issuer: owner, types, deposits: amounts, reserves }) =>
      takeLiquidity(scope, listed, 'increase', { pool, owner, types, amounts, reserves }),
  })

const withdrawn = (layout: typeof WITHDRAWAL | typeof WITHDRAWAL_V2): MoveReader =>
  moveEvent({
    layout: layout as typeof WITHDRAWAL_V2,
    needs: ['pool_id', 'types', 'withdrawn'],
    take: (scope, listed, { pool_id: pool, issuer: owner, types, withdrawn: amounts, reserves }) =>
      takeLiquidity(scope, listed, 'decrease', { pool, owner, types, amounts, reserves }),
  })

const created = moveEvent({
  layout: {
    pool_id: 'address',
    name: 'text',
    creator: 'address',
    lp_type: 'text',
    coins: 'coin[]',
  },
  needs: ['pool_id', 'coins'],
  take: (scope, listed, { pool_id: pool, creator: owner, coins: list }) => {
    const coins = pairOf(list)
    if (coins === undefined) return 'many-coins'
    showPool(scope, listed, { pool, coins })
    return takeChange(scope, listed, { pool, change: 'initialize', amountsRaw: [0n, 0n], owner })
  },
})

/**
 * Weighted pools of Aftermath. Sources: AftermathFinance/move-interfaces packages/amm/amm/sources/events.move; the package's modules
 * events, deposit, withdraw and pool.
 */
export const aftermath: MoveFamily = {
  family: 'aftermath',
  events: {
    'events::SwapEvent': swap,
    'events::SwapEventV2': swap,
    'events::DepositEvent': deposited(DEPOSIT),
    'events::DepositEventV2': deposited(DEPOSIT_V2),
    'events::WithdrawEvent': withdrawn(WITHDRAWAL),
    'events::WithdrawEventV2': withdrawn(WITHDRAWAL_V2),
    'events::CreatedPoolEvent': created,
  },
}
