import { isFeeOnInputSwap } from '../../../core/prices/fee-on-input.ts'
import type { ReservePricing } from '../../../schemas/reserve-pricing.ts'
import { dataViewOf, fieldOffsets, u64 } from '../layout/borsh-layout.ts'
import { balanceAfter } from './spl-token.ts'
import {
  type InstructionContext,
  type InstructionReader,
  LOG_EVENT_FIELDS_OFFSET,
  readByInstruction,
  type SvmFamily,
} from './types.ts'
import {
  type AmountPair,
  accountsByName,
  addHopSwap,
  addLiquidityChange,
  type LiquidityChange,
  poolLogEvent,
} from './vault-hops.ts'

/** Vaults before the swap without the fees that they keep for others; the amounts are what the curve saw. */
const SWAP_EVENT = fieldOffsets({
  pool: 'key',
  inputVault: 'u64',
  outputVault: 'u64',
  inputAmount: 'u64',
  outputAmount: 'u64',
})

/** Behind it, since 2025: mints, then what the trade cost. */
const SWAP_FEES = fieldOffsets({
  inputTransferFee: 'u64',
  outputTransferFee: 'u64',
  isBaseInput: 'bool',
  inputMint: 'key',
  outputMint: 'key',
  tradeFee: 'u64',
  creatorFee: 'u64',
})

/** Vaults before the change. */
const CHANGE_EVENT = fieldOffsets({
  pool: 'key',
  lpAmount: 'u64',
  vault0: 'u64',
  vault1: 'u64',
  amount0: 'u64',
  amount1: 'u64',
  transferFee0: 'u64',
  transferFee1: 'u64',
})

const SWAP_LOG = { tag: '40c6cde8260871e2', bytes: SWAP_EVENT.end }
const CHANGE_LOG = { tag: '79a3cdc939da753c', bytes: CHANGE_EVENT.end }

/** Numbers of the log event that tells of this pool, by the place of their field; 0 behind its end. */
const logFieldReader = (reading: InstructionContext, event: typeof SWAP_LOG, pool: string) => {
  const data = poolLogEvent(reading, event, { pool })
  if (data === undefined) return undefined
  const view = dataViewOf(data)
  return (offset: number): bigint => {
    const at = LOG_EVENT_FIELDS_OFFSET + offset
    return at + 8 > view.byteLength ? 0n : u64(view, at)
  }
}

const PIPS = 1_000_000n
/** Parts of the trade fee that stay in the vault for the protocol and its fund, the same in every fee tier. */
const [PROTOCOL_PART, FUND_PART] = [120_000n, 40_000n]

/** The rate of which a fee is what the program keeps of an amount; undefined where several are. */
const rateOf = (fee: bigint, amount: bigint): number | undefined => {
  const highest = (fee * PIPS) / amount
  const lowest = ((fee - 1n) * PIPS) / amount + 1n
  return highest === lowest ? Number(highest) : undefined
}

/**
 * What a swap proves of the pool: nothing where a token keeps a part of its transfers or the pool's creator one of its swaps, because
 * these rates are not logged, nor where the amounts are not those of the curve.
 */
const pricingOf = (at: (offset: number) => bigint): ReservePricing | undefined => {
  const amountIn = at(SWAP_EVENT.inputAmount)
  const amountOut = at(SWAP_EVENT.outputAmount)
  const feeAt = (name: keyof typeof SWAP_FEES): bigint => at(SWAP_EVENT.end + SWAP_FEES[name])
  const tradeFee = feeAt('tradeFee')
  const isPlain = [feeAt('inputTransferFee'), feeAt('outputTransferFee'), feeAt('creatorFee')]
  if (tradeFee === 0n || isPlain.some((fee) => fee > 0n)) return undefined
  const [reserveIn, reserveOut] = [at(SWAP_EVENT.inputVault), at(SWAP_EVENT.outputVault)]
  const rate = rateOf(tradeFee, amountIn)
  const pool = { in: reserveIn, out: reserveOut, feePips: rate ?? 0 }
  if (rate !== undefined && !isFeeOnInputSwap(pool, amountIn, amountOut)) return undefined
  const kept = (tradeFee * PROTOCOL_PART) / PIPS + (tradeFee * FUND_PART) / PIPS
  return {
    reserves: [reserveIn + amountIn - kept, reserveOut - amountOut],
    found: [reserveIn, reserveOut],
    feePips: rate === undefined ? [] : [rate],
    feeToken: null,
  }
}

const pricingField = (pricing: ReservePricing | undefined) => pricing && { pricing }

const SWAP = { trader: 0, pool: 3, vaultIn: 6, vaultOut: 7, mintIn: 10, mintOut: 11 } as const

const readSwap: InstructionReader = (reading) => {
  const named = accountsByName(reading, SWAP)
  if (named === undefined) return 'missing-account'
  const { trader, pool, vaultIn, vaultOut, mintIn, mintOut } = named
  const at = logFieldReader(reading, SWAP_LOG, pool)
  const reservesInOut: AmountPair | undefined = at && [
    at(SWAP_EVENT.inputVault) + at(SWAP_EVENT.inputAmount),
    at(SWAP_EVENT.outputVault) - at(SWAP_EVENT.outputAmount),
  ]
  return addHopSwap(reading, {
    pool,
    trader,
    vaults: [vaultIn, vaultOut],
    mints: [mintIn, mintOut],
    fromLog: at && reservesInOut && { reservesInOut, ...pricingField(pricingOf(at)) },
  })
}

/** Where a change of liquidity names its accounts. */
type LiquidityAccountLayout = Readonly<
  Record<'owner' | 'pool' | 'vault0' | 'vault1' | 'mint0' | 'mint1', number>
>

const LIQUIDITY: LiquidityAccountLayout = {
  owner: 0,
  pool: 2,
  vault0: 6,
  vault1: 7,
  mint0: 10,
  mint1: 11,
}
const INITIALIZE: LiquidityAccountLayout = {
  owner: 0,
  pool: 3,
  vault0: 10,
  vault1: 11,
  mint0: 4,
  mint1: 5,
}
const INITIALIZE_WITH_PERMISSION: LiquidityAccountLayout = {
  owner: 1,
  pool: 4,
  vault0: 11,
  vault1: 12,
  mint0: 5,
  mint1: 6,
}

/** What a change says of the pool: what the vaults got or gave, where its transfers do not tell, and what they hold then. */
interface ReportedChange {
  readonly amountsRaw?: AmountPair | undefined
  readonly reserves?: AmountPair | undefined
  readonly pricing?: ReservePricing | undefined
}

/** A deposit's amounts are without, a withdrawal's are before what the token keeps of a transfer. */
const reportedChange = (
  reading: InstructionContext,
  pool: string,
  kind: 'increase' | 'decrease',
): ReportedChange => {
  const at = logFieldReader(reading, CHANGE_LOG, pool)
  if (at === undefined) return {}
  const amountsRaw: AmountPair = [at(CHANGE_EVENT.amount0), at(CHANGE_EVENT.amount1)]
  const found: AmountPair = [at(CHANGE_EVENT.vault0), at(CHANGE_EVENT.vault1)]
  const fees: AmountPair = [at(CHANGE_EVENT.transferFee0), at(CHANGE_EVENT.transferFee1)]
  const reserves: AmountPair =
    kind === 'increase'
      ? [found[0] + amountsRaw[0], found[1] + amountsRaw[1]]
      : [found[0] - amountsRaw[0] - fees[0], found[1] - amountsRaw[1] - fees[1]]
  const isPlain = fees[0] === 0n && fees[1] === 0n
  return {
    reserves,
    ...(kind === 'increase' && { amountsRaw }),
    ...(isPlain && { pricing: { reserves, found, feePips: [], feeToken: null } }),
  }
}

/** A pool opens with what its vaults hold then; nothing logs it. */
const initialBalances = (
  { scope, at }: InstructionContext,
  vaults: readonly [string, string],
): ReportedChange => {
  const held0 = balanceAfter(scope, at, vaults[0])
  const held1 = balanceAfter(scope, at, vaults[1])
  return held0 === undefined || held1 === undefined ? {} : { amountsRaw: [held0, held1] }
}

const readChange =
  (
    kind: Exclude<LiquidityChange['kind'], 'state'>,
    form: LiquidityAccountLayout,
  ): InstructionReader =>
  (reading) => {
    const named = accountsByName(reading, form)
    if (named === undefined) return 'missing-account'
    const { owner, pool, vault0, vault1, mint0, mint1 } = named
    const vaults = [vault0, vault1] as const
    const opens = kind === 'initialize'
    const {
      amountsRaw: statedRaw,
      reserves,
      pricing,
    } = opens ? initialBalances(reading, vaults) : reportedChange(reading, pool, kind)
    return addLiquidityChange(reading, {
      kind,
      pool,
      owner,
      vaults,
      reportedRaw: statedRaw,
      mints: [mint0, mint1],
      reservesOf: (amountsRaw) => (opens ? amountsRaw : reserves),
      pricing,
    })
  }

/** Raydium's constant-product pools. Source: raydium-io/raydium-cp-swap programs/cp-swap. */
export const raydiumCpmm: SvmFamily = {
  family: 'raydium_cpmm',
  reader: readByInstruction({
    '8fbe5adac41e33de': readSwap, // swap_base_input
    '37d96256a34ab4ad': readSwap, // swap_base_output
    afaf6d1f0d989bed: readChange('initialize', INITIALIZE), // initialize
    '3f37fe4131b25979': readChange('initialize', INITIALIZE_WITH_PERMISSION), // initialize_with_permission
    f223c68952e1f2b6: readChange('increase', LIQUIDITY), // deposit
    b712469c946da122: readChange('decrease', LIQUIDITY), // withdraw
  }),
}
