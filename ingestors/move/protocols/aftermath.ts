import { parseMoveType } from '../../../core/move-type.ts'
import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { addLiquidityChange, addSwap } from './pool-events.ts'
import {
  type CoinPair,
  knownCoins,
  type ListedEvent,
  type MoveTxContext,
  registerPool,
} from './tx-context.ts'
import { eventReader, type MoveEventReader, type MoveFamily } from './types.ts'

const COMMON_FIELDS = { pool_id: 'address', issuer: 'address', referrer: 'address?' } as const

/** What an event tells of its pool: coins of it, and, in the events' second version, how much of each it holds. */
interface ReportedPool {
  readonly pool: string
  readonly types: readonly string[]
  readonly reserves: readonly bigint[] | undefined
}

/** Two coins in the order of their names, which a pool's own list has to keep; undefined for fewer, for more, for one twice. */
const sortedPair = (types: readonly string[]): CoinPair | undefined => {
  const [a, b, ...others] = [...types].sort((one, other) =>
    fullCoinName(one) < fullCoinName(other) ? -1 : 1,
  )
  return a === undefined || b === undefined || a === b || others.length > 0 ? undefined : [a, b]
}

/** A name with all digits of its address. */
const fullCoinName = (coin: string): string => {
  const { package: owner = '', name = '', typeArguments = [] } = parseMoveType(coin) ?? {}
  return `${owner}::${name}<${typeArguments}>`
}

/** An event that names two coins of a pool that holds two shows the pool. */
const registerPair = (
  scope: MoveTxContext,
  listed: ListedEvent,
  { pool, types, reserves }: ReportedPool,
): CoinPair | undefined => {
  const known = knownCoins(scope, pool)
  const coins = known === undefined && reserves?.length === 2 ? sortedPair(types) : undefined
  if (coins !== undefined) registerPool(scope, listed, { pool, coins })
  return known ?? coins
}

/** Pools hold up to eight coins; of a swap of several against one nothing says which paid for what. */
const swapReader = eventReader({
  layout: {
    ...COMMON_FIELDS,
    types_in: 'coin[]',
    amounts_in: 'u64[]',
    types_out: 'coin[]',
    amounts_out: 'u64[]',
    /** Not in the first version. */
    reserves: 'u64[]',
  },
  needs: ['pool_id', 'types_in', 'amounts_in', 'types_out', 'amounts_out'],
  emit: (scope, listed, { pool_id: pool, issuer: trader, reserves, ...raw }) => {
    const lists = [raw.types_in, raw.amounts_in, raw.types_out, raw.amounts_out]
    if (lists.some(({ length }) => length > 1)) return 'unsupported-coin-count'
    const [coinIn] = raw.types_in
    const [amountInRaw = 0n] = raw.amounts_in
    const [coinOut] = raw.types_out
    const [amountOutRaw = 0n] = raw.amounts_out
    if (coinIn === undefined || coinOut === undefined) return 'zero-amount'
    registerPair(scope, listed, { pool, types: [coinIn, coinOut], reserves })
    const way = { in: coinIn, out: coinOut }
    return addSwap(scope, listed, { pool, direction: way, amountInRaw, amountOutRaw, trader })
  },
})

interface ReportedLiquidity extends ReportedPool {
  readonly owner: string | undefined
  readonly amounts: readonly bigint[]
}

/**
 * What moved, by the pool's own coins: an event names some of them or all. What is known of a pool has two sides: pools
 * of more coins trade, and their liquidity is left out.
 */
const addLiquidity = (
  scope: MoveTxContext,
  listed: ListedEvent,
  change: PoolLiquidityChange['kind'],
  { owner, amounts, ...raw }: ReportedLiquidity,
): DropReason | undefined => {
  const { pool, types, reserves } = raw
  if (types.length > 2 || (reserves !== undefined && reserves.length > 2))
    return 'unsupported-coin-count'
  if (types.length !== amounts.length || new Set(types).size < types.length) return 'bad-field'
  const coins = registerPair(scope, listed, raw)
  if (coins === undefined) return 'unknown-pool'
  if (types.some((type) => !coins.includes(type))) return 'unknown-token'
  const amountOf = (coin: string): bigint => amounts[types.indexOf(coin)] ?? 0n
  const amountsRaw = [amountOf(coins[0]), amountOf(coins[1])] as const
  return addLiquidityChange(scope, listed, { pool, change, coins, amountsRaw, owner })
}

const DEPOSIT = { ...COMMON_FIELDS, types: 'coin[]', deposits: 'u64[]' } as const
const DEPOSIT_V2 = { ...DEPOSIT, reserves: 'u64[]' } as const
const WITHDRAWAL = { ...COMMON_FIELDS, types: 'coin[]', withdrawn: 'u64[]' } as const
const WITHDRAWAL_V2 = { ...WITHDRAWAL, reserves: 'u64[]' } as const

const depositReader = (layout: typeof DEPOSIT | typeof DEPOSIT_V2): MoveEventReader =>
  eventReader({
    layout: layout as typeof DEPOSIT_V2,
    needs: ['pool_id', 'types', 'deposits'],
    emit: (scope, listed, { pool_id: pool, issuer: owner, types, deposits: amounts, reserves }) =>
      addLiquidity(scope, listed, 'increase', { pool, owner, types, amounts, reserves }),
  })

const withdrawalReader = (layout: typeof WITHDRAWAL | typeof WITHDRAWAL_V2): MoveEventReader =>
  eventReader({
    layout: layout as typeof WITHDRAWAL_V2,
    needs: ['pool_id', 'types', 'withdrawn'],
    emit: (scope, listed, { pool_id: pool, issuer: owner, types, withdrawn: amounts, reserves }) =>
      addLiquidity(scope, listed, 'decrease', { pool, owner, types, amounts, reserves }),
  })

const poolCreatedReader = eventReader({
  layout: {
    pool_id: 'address',
    name: 'text',
    creator: 'address',
    lp_type: 'text',
    coins: 'coin[]',
  },
  needs: ['pool_id', 'coins'],
  emit: (scope, listed, { pool_id: pool, creator: owner, coins: list }) => {
    const coins = sortedPair(list)
    if (coins === undefined) return 'unsupported-coin-count'
    registerPool(scope, listed, { pool, coins })
    return addLiquidityChange(scope, listed, {
      pool,
      change: 'initialize',
      amountsRaw: [0n, 0n],
      owner,
    })
  },
})

/**
 * Weighted pools of Aftermath. Sources: AftermathFinance/move-interfaces packages/amm/amm/sources/events.move; the package's modules
 * events, deposit, withdraw and pool.
 */
export const aftermath: MoveFamily = {
  family: 'aftermath',
  events: {
    'events::SwapEvent': swapReader,
    'events::SwapEventV2': swapReader,
    'events::DepositEvent': depositReader(DEPOSIT),
    'events::DepositEventV2': depositReader(DEPOSIT_V2),
    'events::WithdrawEvent': withdrawalReader(WITHDRAWAL),
    'events::WithdrawEventV2': withdrawalReader(WITHDRAWAL_V2),
    'events::CreatedPoolEvent': poolCreatedReader,
  },
}
