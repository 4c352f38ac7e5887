import type { PoolChange } from '../../schemas/events.ts'
import { type ListedEvent, type MoveScope, showPool } from '../move/scope.ts'
import { takeChange, takeSwap } from '../move/settle.ts'
import { type MoveFamily, moveEvent } from './move-types.ts'

const HEAD = { pool_id: 'address', issuer: 'address', referrer: 'address?' } as const

/** Pools hold up to eight coins; of a swap of several against one nothing says which paid for what. */
const swap = moveEvent({
  layout: {
    ...HEAD,
    types_in: 'coin[]',
    amounts_in: 'u64[]',
    types_out: 'coin[]',
    amounts_out: 'u64[]',
    reserves: 'u64[]',
  },
  needs: ['pool_id', 'types_in', 'amounts_in', 'types_out', 'amounts_out'],
  take: (scope, listed, { pool_id: pool, issuer: trader, ...said }) => {
    const lists = [said.types_in, said.amounts_in, said.types_out, said.amounts_out]
    if (lists.some(({ length }) => length > 1)) return 'many-coins'
    const [coinIn] = said.types_in
    const [amountInRaw = 0n] = said.amounts_in
    const [coinOut] = said.types_out
    const [amountOutRaw = 0n] = said.amounts_out
    if (coinIn === undefined || coinOut === undefined) return 'zero-amount'
    const way = { in: coinIn, out: coinOut }
    return takeSwap(scope, listed, { pool, way, amountInRaw, amountOutRaw, trader })
  },
})

/** Both of a list of two. */
const pairOf = <T>(list: readonly T[]): readonly [T, T] | undefined => {
  const [a, b] = list
  return list.length !== 2 || a === undefined || b === undefined ? undefined : [a, b]
}

interface SaidLiquidity {
  readonly pool: string
  readonly owner: string | undefined
  readonly types: readonly string[]
  readonly amounts: readonly bigint[]
}

/** What the house knows of a pool has two sides: pools of more coins trade, and their liquidity is left out. */
const takeLiquidity = (
  scope: MoveScope,
  listed: ListedEvent,
  change: PoolChange['kind'],
  { pool, owner, types, amounts }: SaidLiquidity,
): string | undefined => {
  const coins = pairOf(types)
  const amountsRaw = pairOf(amounts)
  if (coins === undefined || amountsRaw === undefined) return 'many-coins'
  return takeChange(scope, listed, { pool, change, coins, amountsRaw, owner })
}

const deposited = moveEvent({
  layout: { ...HEAD, types: 'coin[]', deposits: 'u64[]' },
  needs: ['pool_id', 'types', 'deposits'],
  take: (scope, listed, { pool_id: pool, issuer: owner, types, deposits: amounts }) =>
    takeLiquidity(scope, listed, 'increase', { pool, owner, types, amounts }),
})

const withdrawn = moveEvent({
  layout: { ...HEAD, types: 'coin[]', withdrawn: 'u64[]' },
  needs: ['pool_id', 'types', 'withdrawn'],
  take: (scope, listed, { pool_id: pool, issuer: owner, types, withdrawn: amounts }) =>
    takeLiquidity(scope, listed, 'decrease', { pool, owner, types, amounts }),
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

/** Weighted pools of Aftermath. Source: AftermathFinance/move-interfaces packages/amm/amm/sources/events.move. */
export const aftermath: MoveFamily = {
  family: 'aftermath',
  events: {
    'events::SwapEvent': swap,
    'events::SwapEventV2': swap,
    'events::DepositEvent': deposited,
    'events::DepositEventV2': deposited,
    'events::WithdrawEvent': withdrawn,
    'events::WithdrawEventV2': withdrawn,
    'events::CreatedPoolEvent': created,
  },
}
