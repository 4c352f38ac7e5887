import { base58Encode } from '../../core/base58.ts'
import type { BinFeeTerms } from '../../core/prices/bin-math.ts'
import { type DlmmBin, dlmmPriceOfBin } from './dlmm-bin.ts'

/** Accounts of Meteora DLMM. Source: MeteoraAg/dlmm-sdk idls/dlmm.json, lb_clmm 0.12. */

/** First bytes of an account, by its kind: sha256 of `account:` and its name. */
const KINDS = { pair: '210b3162b565b10d', array: '5c8e5cdc059446b5' } as const

/** Source: types LbPair, StaticParameters and VariableParameters. */
export const DLMM_PAIR = {
  baseFactor: 8,
  filterPeriod: 10,
  decayPeriod: 12,
  reductionFactor: 14,
  variableFeeControl: 16,
  maxVolatility: 20,
  baseFeePower: 34,
  functionType: 35,
  collectFeeMode: 36,
  volatility: 40,
  volatilityReference: 44,
  binReference: 48,
  updatedAt: 56,
  pairType: 75,
  activeBin: 76,
  binStep: 80,
  status: 82,
  activationType: 86,
  mintX: 88,
  mintY: 120,
  reserveX: 152,
  reserveY: 184,
  firstReward: 264,
  secondReward: 408,
  oracle: 552,
  bitmap: 584,
  activationPoint: 816,
  version: 882,
  end: 904,
} as const

/** Source: types BinArray and Bin. */
const ARRAY = { index: 8, pair: 24, bins: 56, end: 10_136 } as const
const BIN = {
  bytes: 144,
  x: 0,
  y: 8,
  price: 16,
  openOrders: 112,
  begunOrders: 128,
  ordersSellX: 140,
} as const

/** Bins of one account. */
const ARRAY_BINS = 70
/** The bitmap of a pool tells of so many arrays on each side of bin 0. */
const BITMAP_SIDE = 512

const KEY_BYTES = 32
const NO_KEY = base58Encode(new Uint8Array(KEY_BYTES))

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)
const keyIn = (data: Uint8Array, at: number): string =>
  base58Encode(data.subarray(at, at + KEY_BYTES))
const isOfKind = (data: Uint8Array, kind: string): boolean =>
  Buffer.from(data.subarray(0, kind.length / 2)).toString('hex') === kind

/** How the account of a pool numbers what it is for. Source: conversions/pair_type.rs, status.rs, function_type.rs, collect_fee_mode.rs. */
const [ENABLED, LAST_PAIR_TYPE, FEE_IN_Y] = [0, 3, 1]
const OPENS_LATER: ReadonlySet<number> = new Set([1, 2])
const FUNCTION = { undetermined: 0, rewards: 1, orders: 2 } as const
const ACTIVATION = { bySlot: 0, byTime: 1 } as const

/** What the account of a pool says. */
interface DlmmPair {
  readonly mints: readonly [string, string]
  readonly activeBin: number
  readonly binStep: number
  readonly terms: BinFeeTerms
  readonly baseFeePower: number
  readonly isFeeInY: boolean
  readonly volatility: number
  readonly volatilityReference: number
  readonly binReference: number
  readonly updatedAtS: number
  /** Its bins may have limit orders; `unsure`: what stands in the place of orders may be older than they are. */
  readonly orders: 'none' | 'kept' | 'unsure'
  /** When swaps begin: a slot or unix seconds; null: they have. */
  readonly opensAt: { readonly unit: 'slot' | 'time'; readonly point: bigint } | null
  /** Arrays that hold something, by their number in rising order, as far as the pool's own bitmap goes. */
  readonly arrays: readonly number[]
}

const termsAt = (view: DataView): BinFeeTerms => ({
  baseFactor: view.getUint16(DLMM_PAIR.baseFactor, true),
  filterPeriod: view.getUint16(DLMM_PAIR.filterPeriod, true),
  decayPeriod: view.getUint16(DLMM_PAIR.decayPeriod, true),
  reductionFactor: view.getUint16(DLMM_PAIR.reductionFactor, true),
  variableFeeControl: view.getUint32(DLMM_PAIR.variableFeeControl, true),
  maxVolatility: view.getUint32(DLMM_PAIR.maxVolatility, true),
})

const arraysInBitmap = (data: Uint8Array): readonly number[] =>
  Array.from({ length: 2 * BITMAP_SIDE }, (_, place) => place)
    .filter((place) => ((data[DLMM_PAIR.bitmap + (place >> 3)] ?? 0) >> (place & 7)) & 1)
    .map((place) => place - BITMAP_SIDE)

/**
 * A pool without a stated use has orders as long as it has no rewards. Before there were orders, bins had sums of swaps in their place;
 * version 1 says that those are gone.
 */
const ordersOf = (data: Uint8Array, functionType: number): DlmmPair['orders'] => {
  const takesOrders =
    functionType === FUNCTION.orders ||
    (functionType === FUNCTION.undetermined &&
      keyIn(data, DLMM_PAIR.firstReward) === NO_KEY &&
      keyIn(data, DLMM_PAIR.secondReward) === NO_KEY)
  if (!takesOrders) return 'none'
  return data[DLMM_PAIR.version] === 0 ? 'unsure' : 'kept'
}

/** What a pool prices with; null: the account is not of an enabled pool, or of one with numbers that are not known here. */
export const readDlmmPair = (data: Uint8Array): DlmmPair | null => {
  if (data.length !== DLMM_PAIR.end || !isOfKind(data, KINDS.pair)) return null
  const view = viewOf(data)
  const byte = (at: number): number => view.getUint8(at)
  const [pairType, functionType] = [byte(DLMM_PAIR.pairType), byte(DLMM_PAIR.functionType)]
  const [feeMode, activation] = [byte(DLMM_PAIR.collectFeeMode), byte(DLMM_PAIR.activationType)]
  if (byte(DLMM_PAIR.status) !== ENABLED || pairType > LAST_PAIR_TYPE) return null
  if (functionType > FUNCTION.orders || feeMode > FEE_IN_Y || activation > ACTIVATION.byTime)
    return null
  const binStep = view.getUint16(DLMM_PAIR.binStep, true)
  const activeBin = view.getInt32(DLMM_PAIR.activeBin, true)
  if (binStep === 0 || dlmmPriceOfBin(activeBin, binStep) === undefined) return null
  const point = view.getBigUint64(DLMM_PAIR.activationPoint, true)
  const unit = activation === ACTIVATION.bySlot ? 'slot' : 'time'
  return {
    mints: [keyIn(data, DLMM_PAIR.mintX), keyIn(data, DLMM_PAIR.mintY)],
    activeBin,
    binStep,
    terms: termsAt(view),
    baseFeePower: byte(DLMM_PAIR.baseFeePower),
    isFeeInY: feeMode === FEE_IN_Y,
    volatility: view.getUint32(DLMM_PAIR.volatility, true),
    volatilityReference: view.getUint32(DLMM_PAIR.volatilityReference, true),
    binReference: view.getInt32(DLMM_PAIR.binReference, true),
    updatedAtS: Number(view.getBigInt64(DLMM_PAIR.updatedAt, true)),
    orders: ordersOf(data, functionType),
    opensAt: OPENS_LATER.has(pairType) ? { unit, point } : null,
    arrays: arraysInBitmap(data),
  }
}

/** Number of the array that a bin is in. */
export const dlmmArrayOf = (bin: number): number => Math.floor(bin / ARRAY_BINS)

/** True where the bitmap of a pool tells of the array. */
export const isInDlmmBitmap = (array: number): boolean =>
  array >= -BITMAP_SIDE && array < BITMAP_SIDE

const u128 = (view: DataView, at: number): bigint =>
  view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n)

/** The program writes the price of a bin once, from its number, and swaps at what it wrote: versions of it may round in other ways. */
const isPriceOfBin = (price: bigint, bin: number, binStep: number): boolean => {
  const computed = dlmmPriceOfBin(bin, binStep)
  if (computed === undefined || price === 0n) return false
  const distance = price > computed ? price - computed : computed - price
  return distance <= 2n + (computed >> 20n)
}

/** Bins of an array that hold something, in rising order; null: the account is not that array of the pool, a price is not that of its bin, or its orders are not known. */
export const readDlmmArray = (
  { data }: { readonly data: Uint8Array },
  place: { readonly pool: string; readonly array: number },
  { orders: kind, binStep }: Pick<DlmmPair, 'orders' | 'binStep'>,
): readonly DlmmBin[] | null => {
  if (data.length !== ARRAY.end || !isOfKind(data, KINDS.array)) return null
  const view = viewOf(data)
  if (view.getBigInt64(ARRAY.index, true) !== BigInt(place.array)) return null
  if (keyIn(data, ARRAY.pair) !== place.pool) return null
  const bins: DlmmBin[] = []
  for (let index = 0; index < ARRAY_BINS; index += 1) {
    const at = ARRAY.bins + index * BIN.bytes
    const bin = place.array * ARRAY_BINS + index
    const amount = (field: number): bigint => view.getBigUint64(at + field, true)
    const [x, y] = [amount(BIN.x), amount(BIN.y)]
    const [begunRaw, openRaw] = [amount(BIN.begunOrders), amount(BIN.openOrders)]
    const showsOrders = kind !== 'none' && begunRaw + openRaw > 0n
    if (showsOrders && kind === 'unsure') return null
    const sellX = view.getUint8(at + BIN.ordersSellX) !== 0
    const orders = showsOrders ? { sellX, begunRaw, openRaw } : null
    if (x === 0n && y === 0n && orders === null) continue
    const price = u128(view, at + BIN.price)
    if (!isPriceOfBin(price, bin, binStep)) return null
    bins.push({ bin, x, y, price, orders })
  }
  return bins
}
