import type { PoolChange } from '../../../schemas/events.ts'
import { byTag, offsetsOf, u64 } from '../layout/layout.ts'
import { pathOf, type SvmScope, showPool } from './tx-context.ts'
import {
  alsoTold,
  type CpiEvent,
  EVENT_START,
  type EventRow,
  type SvmFamily,
  selfCalls,
} from './types.ts'
import { takeVaultSwap } from './vault-swap.ts'

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

const isSwap = byTag<true>({
  f8c69e91e17587c8: true, // swap
  '414b3f4ceb5b5b88': true, // swap2
})

/** The first layout; direction 0 pays A, 1 pays B. */
const SWAPPED = offsetsOf({
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
const SWAPPED_2 = offsetsOf({
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
const SWAPPED_RESERVES = offsetsOf({
  receivedOut: 'u64',
  timestamp: 'i64',
  reserveA: 'u64',
  reserveB: 'u64',
})

const SWAPPED_2_TAG = 'bd4233a826507599'
const CHANGED_TAG = 'c5ab4e7fe0d3570d'

const amount = ({ view }: CpiEvent, offset: number): bigint => u64(view, EVENT_START + offset)

const reservesOf = (event: CpiEvent): readonly [bigint, bigint] | undefined => {
  const { end } = SWAPPED_2
  if (event.data.length < EVENT_START + end + SWAPPED_RESERVES.end) return undefined
  return [
    amount(event, end + SWAPPED_RESERVES.reserveA),
    amount(event, end + SWAPPED_RESERVES.reserveB),
  ]
}

const readSwap = (
  scope: SvmScope,
  event: CpiEvent,
  layout: Readonly<Record<'amountIn' | 'amountOut', number>>,
): string | undefined => {
  const { accounts, data } = event.caller
  if (isSwap(data, 0) === undefined) return 'unknown-instruction'
  if (accounts.length <= SWAP.user) return 'missing-account'
  const named = (index: number): string => accounts[index] ?? ''
  return takeVaultSwap(scope, event, {
    pool: named(SWAP.pool),
    trader: named(SWAP.user),
    tokens: [named(SWAP.tokenA), named(SWAP.tokenB)],
    vaults: [named(SWAP.vaultA), named(SWAP.vaultB)],
    paysFirst: event.view.getUint8(EVENT_START + SWAPPED.direction) === 0,
    userIn: named(SWAP.userIn),
    userOut: named(SWAP.userOut),
    toldRaw: [amount(event, layout.amountIn), amount(event, layout.amountOut)],
    reserves: layout === SWAPPED_2 ? reservesOf(event) : undefined,
  })
}

const readFirst: EventRow['read'] = (scope, event) =>
  alsoTold(scope, event, SWAPPED_2_TAG) ? undefined : readSwap(scope, event, SWAPPED)
const readSecond: EventRow['read'] = (scope, event) => readSwap(scope, event, SWAPPED_2)

/** Where an instruction that opens a pool or moves its liquidity names its accounts. */
interface Form {
  readonly pool: number
  readonly tokenA: number
  readonly tokenB: number
  readonly owner: number
}

const ADDS: Form = { pool: 0, tokenA: 6, tokenB: 7, owner: 9 }
const REMOVES: Form = { pool: 1, tokenA: 7, tokenB: 8, owner: 10 }

const formOf = byTag<Form>({
  b59d59438fb63448: ADDS, // add_liquidity
  '5055d14818ceb16c': REMOVES, // remove_liquidity
  '0a333d2370691855': REMOVES, // remove_all_liquidity
  '5fb40aac54aee828': { pool: 6, tokenA: 8, tokenB: 9, owner: 0 }, // initialize_pool
  '955248c5fdfc440f': { pool: 7, tokenA: 9, tokenB: 10, owner: 0 }, // initialize_pool_with_dynamic_config
  '14a1f118bdddb402': { pool: 5, tokenA: 7, tokenB: 8, owner: 0 }, // initialize_customizable_pool
})

type Change = Pick<PoolChange, 'kind' | 'amountARaw' | 'amountBRaw' | 'reserves'>

const takeChange = (scope: SvmScope, event: CpiEvent, change: Change): string | undefined => {
  const { accounts, data } = event.caller
  const form = formOf(data, 0)
  if (form === undefined) return 'unknown-instruction'
  const pool = accounts[form.pool]
  const tokenA = accounts[form.tokenA]
  const tokenB = accounts[form.tokenB]
  const owner = accounts[form.owner]
  if (!pool || !tokenA || !tokenB || !owner) return 'missing-account'
  showPool(scope, event, { address: pool, tokenA, tokenB })
  scope.out.poolChanges.push({
    txIndex: scope.tx.index,
    logIndex: event.callerAt,
    path: pathOf(event.caller),
    pool,
    protocol: event.row.id,
    owner,
    tokenA,
    tokenB,
    ...change,
  })
  return undefined
}

const CHANGED = offsetsOf({
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

const readChange: EventRow['read'] = (scope, event) => {
  const kind = CHANGE_KINDS[event.view.getUint8(EVENT_START + CHANGED.type)]
  if (kind === undefined) return 'unknown-type'
  return takeChange(scope, event, {
    kind,
    amountARaw: amount(event, CHANGED.amountA),
    amountBRaw: amount(event, CHANGED.amountB),
    reserves: [amount(event, CHANGED.reserveA), amount(event, CHANGED.reserveB)],
  })
}

/** Deposits and withdrawals before both became one event; for a while both were told. */
const MOVED = offsetsOf({
  pool: 'key',
  position: 'key',
  owner: 'key',
  liquidityDelta: 'u128',
  thresholdA: 'u64',
  thresholdB: 'u64',
  amountA: 'u64',
  amountB: 'u64',
})

const readMoved =
  (kind: PoolChange['kind']): EventRow['read'] =>
  (scope, event) =>
    alsoTold(scope, event, CHANGED_TAG)
      ? undefined
      : takeChange(scope, event, {
          kind,
          amountARaw: amount(event, MOVED.amountA),
          amountBRaw: amount(event, MOVED.amountB),
        })

/** Up to the fee that moves with the market, an option: one byte, then its fields. */
const INITIALIZED = offsetsOf({
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
const INITIALIZED_STATE = offsetsOf({
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

const readInitialized: EventRow['read'] = (scope, event) => {
  const hasDynamicFee = event.view.getUint8(EVENT_START + INITIALIZED.hasDynamicFee) !== 0
  const state = INITIALIZED.end + (hasDynamicFee ? DYNAMIC_FEE_BYTES : 0)
  if (event.data.length < EVENT_START + state + INITIALIZED_STATE.end) return 'short-data'
  const amountARaw = amount(event, state + INITIALIZED_STATE.amountA)
  const amountBRaw = amount(event, state + INITIALIZED_STATE.amountB)
  const reserves = [amountARaw, amountBRaw] as const
  return takeChange(scope, event, { kind: 'initialize', amountARaw, amountBRaw, reserves })
}

/** Meteora's second constant-product pools; contract/chains.md 4.6. Source: MeteoraAg/damm-v2 programs/cp-amm/src/event.rs. */
export const meteoraDammV2: SvmFamily = {
  family: 'meteora_damm_v2',
  reader: selfCalls({
    '1b3c15d58aaabb93': { bytes: SWAPPED.end, read: readFirst }, // EvtSwap
    [SWAPPED_2_TAG]: { bytes: SWAPPED_2.end, read: readSecond }, // EvtSwap2
    [CHANGED_TAG]: { bytes: CHANGED.end, read: readChange }, // EvtLiquidityChange
    aff2089d1ef7b9a9: { bytes: MOVED.end, read: readMoved('increase') }, // EvtAddLiquidity
    '572e5862af60225b': { bytes: MOVED.end, read: readMoved('decrease') }, // EvtRemoveLiquidity
    e432f655cb428625: { bytes: INITIALIZED.end, read: readInitialized }, // EvtInitializePool
  }),
}
