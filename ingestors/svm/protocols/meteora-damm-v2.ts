import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { fieldOffsets, matchDiscriminator } from '../layout/borsh-layout.ts'
import { instructionPath, registerPool, type SvmTxContext } from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventType,
  emittedAlso,
  eventU64,
  type ProgramEvent,
  readCpiEvents,
  type SvmFamily,
} from './types.ts'
import { addVaultSwap } from './vault-swap.ts'

/** Where both forms of a swap name their accounts. */
const SWAP = {
  pool: 1,
  userIn: 2,
  userOut: 3,
  vaultA: 4,
  vaultB: 5,
  tokenA: 6,
  tokenB: 7,
  user: 8,
} as const

const isSwap = matchDiscriminator<true>({
  f8c69e91e17587c8: true, // swap
  '414b3f4ceb5b5b88': true, // swap2
})

/** The first layout; direction 0 pays A, 1 pays B. */
const SWAP_EVENT = fieldOffsets({
  pool: 'key',
  direction: 'u8',
  hasReferral: 'bool',
  paramIn: 'u64',
  minimumOut: 'u64',
  amountOut: 'u64',
  nextSqrtPrice: 'u128',
  lpFee: 'u64',
  protocolFee: 'u64',
  partnerFee: 'u64',
  referralFee: 'u64',
  amountIn: 'u64',
})

/** Amounts with what the tokens' transfer fees take. */
const SWAP_2_EVENT = fieldOffsets({
  pool: 'key',
  direction: 'u8',
  collectFeeMode: 'u8',
  hasReferral: 'bool',
  param0: 'u64',
  param1: 'u64',
  swapMode: 'u8',
  includedFeeIn: 'u64',
  excludedFeeIn: 'u64',
  amountLeft: 'u64',
  resultOut: 'u64',
  nextSqrtPrice: 'u128',
  claimingFee: 'u64',
  protocolFee: 'u64',
  compoundingFee: 'u64',
  referralFee: 'u64',
  amountIn: 'u64',
  amountOut: 'u64',
})

/** Behind the amount that arrived and the time: reserves after the swap, unclaimed fees left out. */
const SWAP_2_RESERVES = fieldOffsets({
  receivedOut: 'u64',
  timestamp: 'i64',
  reserveA: 'u64',
  reserveB: 'u64',
})

const SWAP_2_DISCRIMINATOR = 'bd4233a826507599'
const LIQUIDITY_CHANGE_DISCRIMINATOR = 'c5ab4e7fe0d3570d'

const reservesAfterSwap = (event: ProgramEvent): readonly [bigint, bigint] | undefined => {
  const { end } = SWAP_2_EVENT
  if (event.data.length < EVENT_FIELDS_OFFSET + end + SWAP_2_RESERVES.end) return undefined
  return [
    eventU64(event, end + SWAP_2_RESERVES.reserveA),
    eventU64(event, end + SWAP_2_RESERVES.reserveB),
  ]
}

const readSwap = (
  scope: SvmTxContext,
  event: ProgramEvent,
  layout: Readonly<Record<'amountIn' | 'amountOut', number>>,
): DropReason | undefined => {
  const { accounts, data } = event.caller
  if (isSwap(data, 0) === undefined) return 'unknown-instruction'
  if (accounts.length <= SWAP.user) return 'missing-account'
  const named = (index: number): string => accounts[index] ?? ''
  return addVaultSwap(scope, event, {
    pool: named(SWAP.pool),
    trader: named(SWAP.user),
    tokens: [named(SWAP.tokenA), named(SWAP.tokenB)],
    vaults: [named(SWAP.vaultA), named(SWAP.vaultB)],
    firstTokenIn: event.view.getUint8(EVENT_FIELDS_OFFSET + SWAP_EVENT.direction) === 0,
    userIn: named(SWAP.userIn),
    userOut: named(SWAP.userOut),
    reportedRaw: [eventU64(event, layout.amountIn), eventU64(event, layout.amountOut)],
    reserves: layout === SWAP_2_EVENT ? reservesAfterSwap(event) : undefined,
  })
}

const readSwapEvent: EventType['read'] = (scope, event) =>
  emittedAlso(scope, event, SWAP_2_DISCRIMINATOR) ? undefined : readSwap(scope, event, SWAP_EVENT)
const readSwap2Event: EventType['read'] = (scope, event) => readSwap(scope, event, SWAP_2_EVENT)

/** Where an instruction that opens a pool or moves its liquidity names its accounts. */
interface LiquidityAccountLayout {
  readonly pool: number
  readonly tokenA: number
  readonly tokenB: number
  readonly owner: number
}

const ADD_LIQUIDITY: LiquidityAccountLayout = { pool: 0, tokenA: 6, tokenB: 7, owner: 9 }
const REMOVE_LIQUIDITY: LiquidityAccountLayout = { pool: 1, tokenA: 7, tokenB: 8, owner: 10 }

const accountLayoutOf = matchDiscriminator<LiquidityAccountLayout>({
  b59d59438fb63448: ADD_LIQUIDITY, // add_liquidity
  '5055d14818ceb16c': REMOVE_LIQUIDITY, // remove_liquidity
  '0a333d2370691855': REMOVE_LIQUIDITY, // remove_all_liquidity
  '5fb40aac54aee828': { pool: 6, tokenA: 8, tokenB: 9, owner: 0 }, // initialize_pool
  '955248c5fdfc440f': { pool: 7, tokenA: 9, tokenB: 10, owner: 0 }, // initialize_pool_with_dynamic_config
  '14a1f118bdddb402': { pool: 5, tokenA: 7, tokenB: 8, owner: 0 }, // initialize_customizable_pool
})

type ChangeAmounts = Pick<PoolLiquidityChange, 'kind' | 'amountARaw' | 'amountBRaw' | 'reserves'>

const addPoolChange = (
  scope: SvmTxContext,
  event: ProgramEvent,
  change: ChangeAmounts,
): DropReason | undefined => {
  const { accounts, data } = event.caller
  const form = accountLayoutOf(data, 0)
  if (form === undefined) return 'unknown-instruction'
  const pool = accounts[form.pool]
  const tokenA = accounts[form.tokenA]
  const tokenB = accounts[form.tokenB]
  const owner = accounts[form.owner]
  if (!pool || !tokenA || !tokenB || !owner) return 'missing-account'
  registerPool(scope, event, { address: pool, tokenA, tokenB })
  scope.out.poolChanges.push({
    txIndex: scope.tx.index,
    logIndex: event.callerIndex,
    path: instructionPath(event.caller),
    pool,
    protocol: event.row.id,
    owner,
    tokenA,
    tokenB,
    ...change,
  })
  return undefined
}

const LIQUIDITY_CHANGE_EVENT = fieldOffsets({
  pool: 'key',
  position: 'key',
  owner: 'key',
  amountA: 'u64',
  amountB: 'u64',
  sentA: 'u64',
  sentB: 'u64',
  reserveA: 'u64',
  reserveB: 'u64',
  liquidityDelta: 'u128',
  thresholdA: 'u64',
  thresholdB: 'u64',
  type: 'u8',
})

const CHANGE_KINDS = ['increase', 'decrease'] as const

const readLiquidityChange: EventType['read'] = (scope, event) => {
  const kind = CHANGE_KINDS[event.view.getUint8(EVENT_FIELDS_OFFSET + LIQUIDITY_CHANGE_EVENT.type)]
  if (kind === undefined) return 'unknown-type'
  return addPoolChange(scope, event, {
    kind,
    amountARaw: eventU64(event, LIQUIDITY_CHANGE_EVENT.amountA),
    amountBRaw: eventU64(event, LIQUIDITY_CHANGE_EVENT.amountB),
    reserves: [
      eventU64(event, LIQUIDITY_CHANGE_EVENT.reserveA),
      eventU64(event, LIQUIDITY_CHANGE_EVENT.reserveB),
    ],
  })
}

/** Deposits and withdrawals before both became one event; for a while both were told. */
const ADD_REMOVE_EVENT = fieldOffsets({
  pool: 'key',
  position: 'key',
  owner: 'key',
  liquidityDelta: 'u128',
  thresholdA: 'u64',
  thresholdB: 'u64',
  amountA: 'u64',
  amountB: 'u64',
})

const readAddOrRemove =
  (kind: PoolLiquidityChange['kind']): EventType['read'] =>
  (scope, event) =>
    emittedAlso(scope, event, LIQUIDITY_CHANGE_DISCRIMINATOR)
      ? undefined
      : addPoolChange(scope, event, {
          kind,
          amountARaw: eventU64(event, ADD_REMOVE_EVENT.amountA),
          amountBRaw: eventU64(event, ADD_REMOVE_EVENT.amountB),
        })

/** Up to the fee that moves with the market, an option: one byte, then its fields. */
const INITIALIZE_POOL_EVENT = fieldOffsets({
  pool: 'key',
  tokenA: 'key',
  tokenB: 'key',
  creator: 'key',
  payer: 'key',
  alphaVault: 'key',
  cliffFee: 'u64',
  periods: 'u16',
  periodFrequency: 'u64',
  reductionFactor: 'u64',
  feeMode: 'u8',
  compoundingFee: 'u16',
  padding: 'u8',
  hasDynamicFee: 'bool',
})

const DYNAMIC_FEE_BYTES = 32

/** Behind that option. */
const INITIALIZE_POOL_STATE = fieldOffsets({
  sqrtMinPrice: 'u128',
  sqrtMaxPrice: 'u128',
  activationType: 'u8',
  collectFeeMode: 'u8',
  liquidity: 'u128',
  sqrtPrice: 'u128',
  activationPoint: 'u64',
  tokenAFlag: 'u8',
  tokenBFlag: 'u8',
  amountA: 'u64',
  amountB: 'u64',
})

const readInitializePool: EventType['read'] = (scope, event) => {
  const hasDynamicFee =
    event.view.getUint8(EVENT_FIELDS_OFFSET + INITIALIZE_POOL_EVENT.hasDynamicFee) !== 0
  const state = INITIALIZE_POOL_EVENT.end + (hasDynamicFee ? DYNAMIC_FEE_BYTES : 0)
  if (event.data.length < EVENT_FIELDS_OFFSET + state + INITIALIZE_POOL_STATE.end)
    return 'truncated-data'
  const amountARaw = eventU64(event, state + INITIALIZE_POOL_STATE.amountA)
  const amountBRaw = eventU64(event, state + INITIALIZE_POOL_STATE.amountB)
  const reserves = [amountARaw, amountBRaw] as const
  return addPoolChange(scope, event, { kind: 'initialize', amountARaw, amountBRaw, reserves })
}

/** Meteora's second constant-product pools. Source: MeteoraAg/damm-v2 programs/cp-amm/src/event.rs. */
export const meteoraDammV2: SvmFamily = {
  family: 'meteora_damm_v2',
  reader: readCpiEvents({
    '1b3c15d58aaabb93': { bytes: SWAP_EVENT.end, read: readSwapEvent }, // EvtSwap
    [SWAP_2_DISCRIMINATOR]: { bytes: SWAP_2_EVENT.end, read: readSwap2Event }, // EvtSwap2
    [LIQUIDITY_CHANGE_DISCRIMINATOR]: {
      bytes: LIQUIDITY_CHANGE_EVENT.end,
      read: readLiquidityChange,
    }, // EvtLiquidityChange
    aff2089d1ef7b9a9: { bytes: ADD_REMOVE_EVENT.end, read: readAddOrRemove('increase') }, // EvtAddLiquidity
    '572e5862af60225b': { bytes: ADD_REMOVE_EVENT.end, read: readAddOrRemove('decrease') }, // EvtRemoveLiquidity
    e432f655cb428625: { bytes: INITIALIZE_POOL_EVENT.end, read: readInitializePool }, // EvtInitializePool
  }),
}
