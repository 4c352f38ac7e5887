import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { addLiquidityChange, addSwap } from './pool-events.ts'
import { type CoinPair, poolCoins, registerPool } from './tx-context.ts'
import { eventReader, type MoveEventReader, type MoveFamily } from './types.ts'

const SWAP = {
  pool: 'address',
  from: 'coin',
  target: 'coin',
  partner: 'address',
  /** With the fee. */
  amount_in: 'u64',
  amount_out: 'u64',
  fee: 'u64',
  protocol_fee: 'u64',
  /** Part of the protocol's fee, nothing without a partner. */
  ref_fee: 'u64',
  /** What went out is out already, what comes in is paid afterwards. */
  vault_a: 'u64',
  vault_b: 'u64',
} as const

/** A swap's effect on the vaults. */
interface VaultUpdate {
  readonly coins: CoinPair | undefined
  readonly from: string
  readonly target: string
  readonly vaultA: bigint | undefined
  readonly vaultB: bigint | undefined
  /** What stays in the pool of what comes in: all but the partner's share of the fee. */
  readonly keptRaw: bigint
}

const reservesAfter = ({ coins, from, target, vaultA, vaultB, keptRaw }: VaultUpdate) => {
  if (coins === undefined || vaultA === undefined || vaultB === undefined) return undefined
  const [a, b] = coins
  if (keptRaw < 0n) return undefined
  if (from === a && target === b) return [vaultA + keptRaw, vaultB] as const
  return from === b && target === a ? ([vaultA, vaultB + keptRaw] as const) : undefined
}

const swapReader = eventReader({
  layout: SWAP,
  needs: ['pool', 'from', 'target', 'amount_in', 'amount_out'],
  pool: 'pool',
  emit: (scope, listed, { pool, from, target, ...raw }) => {
    const { amount_in: amountInRaw, amount_out: amountOutRaw, ref_fee: partnerRaw = 0n } = raw
    const vaults = { vaultA: raw.vault_a, vaultB: raw.vault_b, keptRaw: amountInRaw - partnerRaw }
    const coins = poolCoins(scope, listed, pool)
    return addSwap(scope, listed, {
      pool,
      amountInRaw,
      amountOutRaw,
      direction: { in: from, out: target },
      reserves: reservesAfter({ coins, from, target, ...vaults }),
    })
  },
})

/** How all changes of a position begin. Fees that a closed one takes along are not part of the amounts. */
const liquidityReader = (change: PoolLiquidityChange['kind']): MoveEventReader =>
  eventReader({
    layout: {
      pool: 'address',
      position_id: 'address',
      active_id: 'i32',
      total_amount_a: 'u64',
      total_amount_b: 'u64',
    },
    needs: ['pool', 'total_amount_a', 'total_amount_b'],
    pool: 'pool',
    emit: (scope, listed, { pool, total_amount_a: a, total_amount_b: b }) =>
      addLiquidityChange(scope, listed, { pool, change, amountsRaw: [a, b] }),
  })

/** Its fee is left alone: it moves with the price, and is changed without a new pool. */
const poolCreatedReader = eventReader({
  layout: { pool_id: 'address', coin_type_a: 'coin', coin_type_b: 'coin' },
  needs: ['pool_id', 'coin_type_a', 'coin_type_b'],
  emit: (scope, listed, { pool_id: pool, coin_type_a: a, coin_type_b: b }) => {
    registerPool(scope, listed, { pool, coins: [a, b] })
    return addLiquidityChange(scope, listed, { pool, change: 'initialize', amountsRaw: [0n, 0n] })
  },
})

/**
 * Liquidity in bins of Cetus, a protocol of its own. What opens a position logs its first liquidity as added. Source: the
 * package's modules pool, registry and bin.
 */
export const cetusDlmm: MoveFamily = {
  family: 'cetus_dlmm',
  events: {
    'pool::SwapEvent': swapReader,
    'pool::AddLiquidityEvent': liquidityReader('increase'),
    'pool::RemoveLiquidityEvent': liquidityReader('decrease'),
    'pool::ClosePositionEvent': liquidityReader('decrease'),
    'registry::CreatePoolEvent': poolCreatedReader,
  },
}
