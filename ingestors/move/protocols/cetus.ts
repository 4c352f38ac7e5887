import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { addLiquidityChange, addSwap } from './pool-events.ts'
import { registerPool } from './tx-context.ts'
import { eventReader, type MoveEventReader, type MoveFamily } from './types.ts'

const SWAP = {
  atob: 'bool',
  pool: 'address',
  partner: 'address',
  /** With the fee. */
  amount_in: 'u64',
  amount_out: 'u64',
  ref_amount: 'u64',
  fee_amount: 'u64',
  /** Before the swap. */
  vault_a_amount: 'u64',
  vault_b_amount: 'u64',
  before_sqrt_price: 'u128',
  after_sqrt_price: 'u128',
  steps: 'u64',
} as const

/** A swap's effect on the vaults. The partner's share of the fee, where there is a partner, never gets into them. */
interface VaultUpdate {
  readonly aToB: boolean
  readonly vaultA: bigint | undefined
  readonly vaultB: bigint | undefined
  readonly keptRaw: bigint
  readonly amountOutRaw: bigint
}

const reservesAfter = ({ aToB, vaultA, vaultB, keptRaw, amountOutRaw }: VaultUpdate) => {
  if (vaultA === undefined || vaultB === undefined) return undefined
  const after = aToB
    ? ([vaultA + keptRaw, vaultB - amountOutRaw] as const)
    : ([vaultA - amountOutRaw, vaultB + keptRaw] as const)
  return after[0] < 0n || after[1] < 0n ? undefined : after
}

const ZERO_ADDRESS = `0x${'0'.repeat(64)}`

const swapReader = eventReader({
  layout: SWAP,
  needs: ['atob', 'pool', 'amount_in', 'amount_out'],
  pool: 'pool',
  emit: (scope, listed, raw) => {
    const { atob: aToB, pool, amount_in: amountInRaw, amount_out: amountOutRaw } = raw
    const partnerRaw = (raw.partner ?? ZERO_ADDRESS) === ZERO_ADDRESS ? 0n : (raw.ref_amount ?? 0n)
    const vaults = { vaultA: raw.vault_a_amount, vaultB: raw.vault_b_amount }
    return addSwap(scope, listed, {
      pool,
      amountInRaw,
      amountOutRaw,
      direction: aToB ? 'a-to-b' : 'b-to-a',
      reserves: reservesAfter({ aToB, ...vaults, keptRaw: amountInRaw - partnerRaw, amountOutRaw }),
      sqrtPriceX64: raw.after_sqrt_price,
    })
  },
})

const LIQUIDITY_FIELDS = {
  pool: 'address',
  position: 'address',
  tick_lower: 'i32',
  tick_upper: 'i32',
  liquidity: 'u128',
  after_liquidity: 'u128',
} as const
const AMOUNTS = { amount_a: 'u64', amount_b: 'u64' } as const
const LIQUIDITY_V1 = { ...LIQUIDITY_FIELDS, ...AMOUNTS } as const
const LIQUIDITY_V2 = { ...LIQUIDITY_FIELDS, current_sqrt_price: 'u128', ...AMOUNTS } as const

const liquidityReader = (
  change: PoolLiquidityChange['kind'],
  layout: typeof LIQUIDITY_V1 | typeof LIQUIDITY_V2,
): MoveEventReader =>
  eventReader({
    layout,
    needs: ['pool', 'amount_a', 'amount_b'],
    pool: 'pool',
    emit: (scope, listed, { pool, amount_a: a, amount_b: b }) =>
      addLiquidityChange(scope, listed, { pool, change, amountsRaw: [a, b] }),
  })

const poolCreatedReader = eventReader({
  layout: { pool_id: 'address', coin_type_a: 'coin', coin_type_b: 'coin', tick_spacing: 'u32' },
  needs: ['pool_id', 'coin_type_a', 'coin_type_b'],
  emit: (scope, listed, { pool_id: pool, coin_type_a: a, coin_type_b: b }) => {
    registerPool(scope, listed, { pool, coins: [a, b] })
    return addLiquidityChange(scope, listed, { pool, change: 'initialize', amountsRaw: [0n, 0n] })
  },
})

/** Concentrated liquidity of Cetus. Source: CetusProtocol/cetus-contracts packages/cetus_clmm pool.move and factory.move. */
export const cetus: MoveFamily = {
  family: 'cetus',
  events: {
    'pool::SwapEvent': swapReader,
    'pool::AddLiquidityEvent': liquidityReader('increase', LIQUIDITY_V1),
    'pool::AddLiquidityV2Event': liquidityReader('increase', LIQUIDITY_V2),
    'pool::RemoveLiquidityEvent': liquidityReader('decrease', LIQUIDITY_V1),
    'pool::RemoveLiquidityV2Event': liquidityReader('decrease', LIQUIDITY_V2),
    'factory::CreatePoolEvent': poolCreatedReader,
  },
}
