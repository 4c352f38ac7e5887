import { base58Encode } from '../../core/base58.ts'
import type { AccountPoolFamily, AccountPoolHead } from './account-pool.ts'
import type { InitializedTick } from './concentrated-liquidity.ts'
import type { WhirlpoolPool } from './pool.ts'
import { SYSTEM_PROGRAM } from './solana-calls.ts'
import { programAddress } from './solana-message.ts'
import type { SolanaAccount } from './solana-node.ts'
import { arrivesWhole } from './token-mint.ts'
import { ARRAY_TICKS, arrayStarts, type WhirlpoolState } from './whirlpool.ts'
import { LAST_TICK, whirlpoolSqrtPrice } from './whirlpool-step.ts'

/** Accounts of Orca's Whirlpools. Source: orca-so/whirlpools programs/whirlpool/src/state. */

/** Program of Orca's Whirlpools. */
export const WHIRLPOOL = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc'

/** First bytes of an account, by its kind: sha256 of `account:` and its name. */
const KINDS = {
  pool: '3f95d10ce1806309',
  fixedArray: '4561bdbe6e0742bb',
  dynamicArray: '11d8f68ee1c7da38',
} as const

/** Source: state/whirlpool.rs. */
export const WHIRLPOOL_LAYOUT = {
  tickSpacing: 41,
  feeTier: 43,
  feeRate: 45,
  liquidity: 49,
  sqrtPrice: 65,
  tick: 81,
  mintA: 101,
  vaultA: 133,
  mintB: 181,
  vaultB: 213,
  end: 653,
} as const

/** An array with room for every tick. Source: state/fixed_tick_array.rs, state/tick.rs. */
const FIXED_ARRAY = {
  start: 8,
  ticks: 12,
  tickBytes: 113,
  net: 1,
  pool: 9_956,
  end: 9_988,
} as const
/** An array with room for the initialized ticks only: one byte says whether more follow. Source: state/dynamic_tick_array.rs. */
const DYNAMIC_ARRAY = { start: 8, pool: 12, ticks: 60, tickBytes: 113, net: 1 } as const

const KEY_BYTES = 32

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)
const u128 = (view: DataView, at: number): bigint =>
  view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n)
const keyAt = (data: Uint8Array, at: number): string =>
  base58Encode(data.subarray(at, at + KEY_BYTES))
const isOfKind = (data: Uint8Array, kind: string): boolean =>
  Buffer.from(data.subarray(0, kind.length / 2)).toString('hex') === kind

/**
 * True where a price is at a tick, or between it and the next. At the next it is, too, after a swap whose falling price stopped there: the
 * program counts that as the tick below, also at the lowest.
 */
const isPriceOfTick = (sqrtPrice: bigint, tick: number): boolean =>
  tick >= -LAST_TICK - 1 &&
  tick <= LAST_TICK &&
  sqrtPrice >= whirlpoolSqrtPrice(Math.max(tick, -LAST_TICK)) &&
  sqrtPrice <= whirlpoolSqrtPrice(Math.min(tick + 1, LAST_TICK))

interface PoolAccount extends Omit<WhirlpoolState, 'ticks'> {
  readonly mints: readonly [string, string]
}

/** What a pool prices with; null: the account is not of a pool, or of one whose fee follows from its swaps. */
const readPool = (data: Uint8Array): PoolAccount | null => {
  const layout = WHIRLPOOL_LAYOUT
  if (data.length !== layout.end || !isOfKind(data, KINDS.pool)) return null
  const view = viewOf(data)
  const tickSpacing = view.getUint16(layout.tickSpacing, true)
  // Pools with an adaptive fee are of a fee tier that is not named by the spacing. Source: state/whirlpool.rs.
  if (tickSpacing === 0 || view.getUint16(layout.feeTier, true) !== tickSpacing) return null
  const sqrtPrice = u128(view, layout.sqrtPrice)
  const tick = view.getInt32(layout.tick, true)
  if (!isPriceOfTick(sqrtPrice, tick)) return null
  return {
    sqrtPrice,
    tickSpacing,
    tick,
    liquidity: u128(view, layout.liquidity),
    feePips: view.getUint16(layout.feeRate, true),
    mints: [keyAt(data, layout.mintA), keyAt(data, layout.mintB)],
  }
}

/** Arrays that swaps in both directions go through, from the lowest. */
const startsOf = (pool: PoolAccount): readonly number[] => [
  ...new Set([...arrayStarts(pool, true).toReversed(), ...arrayStarts(pool, false)]),
]

const arrayAddress = (pool: string, start: number): Promise<string> =>
  programAddress(WHIRLPOOL, [{ word: 'tick_array' }, { key: pool }, { word: String(start) }])

interface ArrayPlace {
  readonly pool: string
  readonly start: number
  readonly tickSpacing: number
}

/** Initialized ticks of an array, in rising order; null: the account is not what it should be. */
const readArray = (
  place: ArrayPlace,
  account: SolanaAccount | undefined,
): readonly InitializedTick[] | null => {
  // The program takes an array that was never made for one without liquidity.
  if (account === undefined) return []
  const { owner, data } = account
  if (owner === SYSTEM_PROGRAM && data.length === 0) return []
  if (owner !== WHIRLPOOL) return null
  const ticks = isOfKind(data, KINDS.fixedArray)
    ? readFixedArray(place, data)
    : isOfKind(data, KINDS.dynamicArray)
      ? readDynamicArray(place, data)
      : null
  // An array may reach beyond the last tick, but nothing begins or ends there.
  return ticks?.every(({ tick }) => Math.abs(tick) <= LAST_TICK) ? ticks : null
}

const netAt = (view: DataView, at: number): bigint => BigInt.asIntN(128, u128(view, at))

const readFixedArray = (
  { pool, start, tickSpacing }: ArrayPlace,
  data: Uint8Array,
): readonly InitializedTick[] | null => {
  const { ticks: first, tickBytes, net, end, ...at } = FIXED_ARRAY
  const view = viewOf(data)
  if (data.length !== end || view.getInt32(at.start, true) !== start) return null
  if (keyAt(data, at.pool) !== pool) return null
  return Array.from({ length: ARRAY_TICKS }, (_, index) => index).flatMap((index) => {
    const tickAt = first + index * tickBytes
    if (data[tickAt] === 0) return []
    return [{ tick: start + index * tickSpacing, liquidityNet: netAt(view, tickAt + net) }]
  })
}

const readDynamicArray = (
  { pool, start, tickSpacing }: ArrayPlace,
  data: Uint8Array,
): readonly InitializedTick[] | null => {
  const { ticks: first, tickBytes, net, ...places } = DYNAMIC_ARRAY
  const view = viewOf(data)
  if (data.length < first + ARRAY_TICKS || view.getInt32(places.start, true) !== start) return null
  if (keyAt(data, places.pool) !== pool) return null
  const ticks: InitializedTick[] = []
  let at: number = first
  for (let index = 0; index < ARRAY_TICKS; index += 1) {
    const isInitialized = data[at] === 1
    if (at + (isInitialized ? tickBytes : 1) > data.length) return null
    if (isInitialized)
      ticks.push({ tick: start + index * tickSpacing, liquidityNet: netAt(view, at + net) })
    at += isInitialized ? tickBytes : 1
  }
  return ticks
}

/** The pool of an account and of what it names; null where something of it is not what it should be. */
const poolOf = (
  head: AccountPoolHead,
  data: Uint8Array,
  found: Parameters<AccountPoolFamily['pool']>[2],
): WhirlpoolPool | null => {
  const read = readPool(data)
  if (read === null) return null
  const { mints, ...state } = read
  if (!head.tokens.every((token) => mints.includes(token))) return null
  const starts = startsOf(read)
  const [arrays, tokens] = [found.slice(0, starts.length), found.slice(starts.length)]
  if (tokens.length !== mints.length || !tokens.every(({ account }) => arrivesWhole(account)))
    return null
  const ticks: InitializedTick[] = []
  for (const [index, start] of starts.entries()) {
    const place = { pool: head.address, start, tickSpacing: state.tickSpacing }
    const inArray = readArray(place, arrays[index]?.account)
    if (inArray === null) return null
    ticks.push(...inArray)
  }
  return {
    ...head,
    kind: 'whirlpool',
    ...state,
    ticks,
    sideOfA: head.tokens[0] === mints[0] ? 0 : 1,
    arrays: starts.map((start, index) => ({ start, address: arrays[index]?.address ?? '' })),
  }
}

/** Pools of Orca's Whirlpools with one fee, of tokens whose transfers arrive whole. */
export const whirlpoolFamily: AccountPoolFamily = {
  program: WHIRLPOOL,
  accounts: async (address, data) => {
    const pool = readPool(data)
    if (pool === null) return []
    const arrays = await Promise.all(startsOf(pool).map((start) => arrayAddress(address, start)))
    return [...arrays, ...pool.mints]
  },
  pool: poolOf,
}
