import { dataViewOf, fieldOffsets, u64, u128 } from '../layout/borsh-layout.ts'
import {
  type InstructionContext,
  type InstructionReader,
  LOG_EVENT_FIELDS_OFFSET,
  readByInstruction,
  type SvmFamily,
} from './types.ts'
import {
  accountsByName,
  addHopSwap,
  addLiquidityChange,
  appendPoolChange,
  type Hop,
  poolLogEvent,
  readEmptyPoolCreation,
} from './vault-hops.ts'

const TRADED_EVENT = fieldOffsets({
  pool: 'key',
  aToB: 'bool',
  sqrtPriceBeforeX64: 'u128',
  sqrtPriceX64: 'u128',
})

const TRADED_LOG = { tag: 'e1ca49af932ba096', bytes: TRADED_EVENT.end }

const priceFromLog = (reading: InstructionContext, pool: string, nth: number): Hop['fromLog'] => {
  const data = poolLogEvent(reading, TRADED_LOG, { pool, nth })
  if (data === undefined) return undefined
  const sqrtPriceX64 = u128(dataViewOf(data), LOG_EVENT_FIELDS_OFFSET + TRADED_EVENT.sqrtPriceX64)
  return { sqrtPriceX96: sqrtPriceX64 << 32n }
}

/** Where a swap names the accounts of one hop; two vaults in any order. */
type HopLayout = Readonly<Record<'trader' | 'pool' | 'vault0' | 'vault1', number>>

const SWAP: HopLayout = { trader: 1, pool: 2, vault0: 4, vault1: 6 }
const SWAP_V2: HopLayout = { trader: 3, pool: 4, vault0: 8, vault1: 10 }
const TWO_HOPS: readonly HopLayout[] = [
  { trader: 1, pool: 2, vault0: 5, vault1: 7 },
  { trader: 1, pool: 3, vault0: 9, vault1: 11 },
]
/** The token in between goes from the first pool's vault straight to the second's: one transfer is in both hops. */
const TWO_HOPS_V2: readonly HopLayout[] = [
  { trader: 14, pool: 0, vault0: 9, vault1: 10 },
  { trader: 14, pool: 1, vault0: 11, vault1: 12 },
]

const readSwap =
  (hops: readonly HopLayout[]): InstructionReader =>
  (reading) => {
    for (const [nth, form] of hops.entries()) {
      const named = accountsByName(reading, form)
      if (named === undefined) return 'missing-account'
      const { trader, pool, vault0, vault1 } = named
      const reported = priceFromLog(reading, pool, nth)
      const reason = addHopSwap(reading, {
        pool,
        trader,
        vaults: [vault0, vault1],
        fromLog: reported,
      })
      if (reason !== undefined) return reason
    }
    return undefined
  }

/** Where a change of liquidity names its accounts. */
type LiquidityAccountLayout = Readonly<Record<'owner' | 'pool' | 'vaultA' | 'vaultB', number>>

const LIQUIDITY: LiquidityAccountLayout = { owner: 2, pool: 0, vaultA: 7, vaultB: 8 }
const LIQUIDITY_V2: LiquidityAccountLayout = { owner: 4, pool: 0, vaultA: 11, vaultB: 12 }

/** Fees of a position are collected by an instruction of their own: what moves here is liquidity alone. */
const readChange =
  (kind: 'increase' | 'decrease', form: LiquidityAccountLayout): InstructionReader =>
  (reading) => {
    const named = accountsByName(reading, form)
    if (named === undefined) return 'missing-account'
    const { owner, pool, vaultA, vaultB } = named
    return addLiquidityChange(reading, { kind, owner, pool, vaults: [vaultA, vaultB] })
  }

const REPOSITION = { owner: 4, pool: 0, mintA: 8, mintB: 9 } as const

/** Amounts of the range that was left and of the one that was entered; only what differs is transferred. */
const REPOSITIONED_EVENT = fieldOffsets({
  pool: 'key',
  position: 'key',
  oldTickLower: 'i32',
  oldTickUpper: 'i32',
  newTickLower: 'i32',
  newTickUpper: 'i32',
  oldLiquidity: 'u128',
  newLiquidity: 'u128',
  oldAmountA: 'u64',
  oldAmountB: 'u64',
  newAmountA: 'u64',
  newAmountB: 'u64',
})

const REPOSITIONED_LOG = { tag: '5f82b584fb32c326', bytes: REPOSITIONED_EVENT.end }

const readReposition: InstructionReader = (reading) => {
  const named = accountsByName(reading, REPOSITION)
  if (named === undefined) return 'missing-account'
  const { owner, pool, mintA: tokenA, mintB: tokenB } = named
  const data = poolLogEvent(reading, REPOSITIONED_LOG, { pool })
  if (data === undefined) return 'no-event'
  const view = dataViewOf(data)
  const at = (offset: number): bigint => u64(view, LOG_EVENT_FIELDS_OFFSET + offset)
  for (const [kind, amountsRaw] of [
    ['decrease', [at(REPOSITIONED_EVENT.oldAmountA), at(REPOSITIONED_EVENT.oldAmountB)]],
    ['increase', [at(REPOSITIONED_EVENT.newAmountA), at(REPOSITIONED_EVENT.newAmountB)]],
  ] as const) {
    if (amountsRaw[0] === 0n && amountsRaw[1] === 0n) continue
    appendPoolChange(reading, { kind, pool, owner, tokenA, tokenB, amountsRaw })
  }
  return undefined
}

const INITIALIZE = { owner: 3, pool: 4, mintA: 1, mintB: 2 } as const
const INITIALIZE_V2 = { owner: 5, pool: 6, mintA: 1, mintB: 2 } as const
const INITIALIZE_ADAPTIVE = { owner: 5, pool: 7, mintA: 1, mintB: 2 } as const

/** Orca's concentrated liquidity. Source: orca-so/whirlpools programs/whirlpool. */
export const orcaWhirlpool: SvmFamily = {
  family: 'orca_whirlpool',
  reader: readByInstruction({
    f8c69e91e17587c8: readSwap([SWAP]), // swap
    '2b04ed0b1ac91e62': readSwap([SWAP_V2]), // swap_v2
    c360ed6c44a2dbe6: readSwap(TWO_HOPS), // two_hop_swap
    ba8fd11dfe02c275: readSwap(TWO_HOPS_V2), // two_hop_swap_v2
    '2e9cf3760dcdfbb2': readChange('increase', LIQUIDITY), // increase_liquidity
    '851d59df45eeb00a': readChange('increase', LIQUIDITY_V2), // increase_liquidity_v2
    effb097cd2c6352b: readChange('increase', LIQUIDITY_V2), // increase_liquidity_by_token_amounts_v2
    a026d06f685b2c01: readChange('decrease', LIQUIDITY), // decrease_liquidity
    '3a7fbc3e4f52c460': readChange('decrease', LIQUIDITY_V2), // decrease_liquidity_v2
    bfa9e00b83139efd: readReposition, // reposition_liquidity_v2
    '5fb40aac54aee828': readEmptyPoolCreation(INITIALIZE), // initialize_pool
    cf2d57f21b3fcc43: readEmptyPoolCreation(INITIALIZE_V2), // initialize_pool_v2
    '8f5e604cac7c77c7': readEmptyPoolCreation(INITIALIZE_ADAPTIVE), // initialize_pool_with_adaptive_fee
  }),
}
