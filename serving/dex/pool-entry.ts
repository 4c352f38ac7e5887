import { parseDecimal } from '../../core/amounts.ts'
import { ceilDiv } from '../../core/bigint-math.ts'
import { eventVersion } from '../../core/event-version.ts'
import { binFee } from '../../core/prices/bin-math.ts'
import { binsAfter } from '../../core/prices/bin-state.ts'
import { concentratedAfter, movedLiquidity } from '../../core/prices/concentrated-state.ts'
import { pricingAfter } from '../../core/prices/reserve-pricing.ts'
import { MAX_TICK, MIN_TICK } from '../../core/prices/tick-math.ts'
import type { ProtocolRow } from '../../schemas/protocols.ts'
import type {
  ConcentratedState,
  DexPool,
  DexPoolEvent,
  EventMeta,
  ReservePricing,
} from '../../schemas/wire.ts'
import type { PoolStateRow } from '../queries/pool-states.ts'
import { applyBinMoves, type BinEntry, binsOfRow, emptyBinEntry, exactBook } from './bin-entry.ts'
import { pricePerBase, swapPrice } from './last-price.ts'
import { type Pool, poolAt } from './pool.ts'
import { pricingOf, tickSpacingOf } from './quotable-protocols.ts'

/** What is kept of a pool, exact or not. */
export interface PoolEntry {
  readonly address: string
  readonly row: ProtocolRow
  /** The lower address first, as the contracts have them. */
  readonly tokens: readonly [string, string]
  /** What the newest event calls token a. */
  base: string
  /** By the order of `tokens`; null = not known. */
  readonly decimals: readonly [number | null, number | null]
  /** Version of the event that the state is after. */
  stateVersion: bigint
  /** Version of the newest event that moved a position, or what bins hold. */
  ticksVersion: bigint
  /** By the order of `tokens`; null = not reported. */
  reserves: readonly [bigint, bigint] | null
  concentrated: ConcentratedState | null
  pricing: ReservePricing | null
  /** What its last swap paid (`last-price.ts`); null = not known. */
  lastPrice: number | null
  /** Of a pool of Liquidity Book. */
  readonly book: BinEntry
  /** Net liquidity by tick, zeros left out. */
  readonly ticks: Map<number, bigint>
  /** False: positions and bins of before its first event here are not known. */
  readonly isFollowedFromStart: boolean
  tvlUsd: number | null
  /** What a quote takes of it; null: it is not exact. undefined: to be made. */
  pool: Pool | null | undefined
  /** What its accounts said, and until when that is good; of kinds that are priced by them. */
  read: { readonly pool: Pool | null; readonly untilMs: number } | undefined
}

/** Initialized ticks of one pool beyond which it is not kept exact. */
const MAX_TICKS = 20_000

const known = (text: string | null | undefined): bigint | null =>
  text === '' || text === null || text === undefined || text.startsWith('-') ? null : BigInt(text)

const bothKnown = (
  flips: boolean,
  one: string | null | undefined,
  other: string | null | undefined,
): readonly [bigint, bigint] | null => {
  const [a, b] = [known(one), known(other)]
  if (a === null || b === null) return null
  return flips ? [b, a] : [a, b]
}

const emptyEntry = (
  row: ProtocolRow,
  { address, token_a_address: a, token_b_address: b, ...sides }: PoolSides,
  isFollowedFromStart: boolean,
): PoolEntry => {
  const [decimalsA, decimalsB] = [sides.token_a_decimals, sides.token_b_decimals]
  return {
    address,
    row,
    tokens: a < b ? [a, b] : [b, a],
    base: a,
    decimals: a < b ? [decimalsA, decimalsB] : [decimalsB, decimalsA],
    stateVersion: -1n,
    ticksVersion: -1n,
    reserves: null,
    concentrated: null,
    pricing: null,
    lastPrice: null,
    book: emptyBinEntry(),
    ticks: new Map(),
    isFollowedFromStart,
    tvlUsd: null,
    pool: undefined,
    read: undefined,
  }
}

type PoolSides = Pick<
  DexPool,
  'address' | 'token_a_address' | 'token_b_address' | 'token_a_decimals' | 'token_b_decimals'
>

/** A pool that an event is the first to tell of; ranges are known where nothing was before it. */
export const entryOfEvent = (
  row: ProtocolRow,
  pool: DexPool,
  { op, event }: { readonly op: EventMeta['op']; readonly event: DexPoolEvent },
): PoolEntry => {
  const before = event.pool_processed?.before
  const hasPast = (before?.concentrated ?? before?.bins ?? null) !== null
  return emptyEntry(row, pool, op !== 'OP_REVERT' && !hasPast)
}

/** A pool as the table has it, without its ticks. */
export const entryOfRow = (row: ProtocolRow, stored: PoolStateRow): PoolEntry => {
  const sides = {
    address: stored.pool,
    token_a_address: stored.token_a,
    token_b_address: stored.token_b,
    token_a_decimals: stored.decimals_a,
    token_b_decimals: stored.decimals_b,
  }
  const entry = emptyEntry(row, sides, true)
  const { sqrt_price_x96, range_liquidity, tick, fee_pips } = stored
  entry.stateVersion = BigInt(stored.version)
  entry.reserves = bothKnown(stored.token_b < stored.token_a, stored.reserve_a, stored.reserve_b)
  entry.tvlUsd = stored.depth_usd
  entry.pricing = storedPricing(stored)
  entry.lastPrice = pricePerBase(entry, stored.token_a, stored.price)
  entry.book.bins = binsOfRow(stored)
  if (sqrt_price_x96 !== null && range_liquidity !== null && tick !== null) {
    const is_complete = stored.is_complete === 1
    entry.concentrated = {
      sqrt_price_x96,
      liquidity: range_liquidity,
      tick,
      fee_pips,
      is_complete,
      depth_in_usd: '',
    }
  }
  return entry
}

const storedPricing = (stored: PoolStateRow): ReservePricing | null => {
  const { priced_reserve_a: reserve_a, priced_reserve_b: reserve_b } = stored
  if (reserve_a === null || reserve_b === null) return null
  return {
    reserve_a,
    reserve_b,
    found_a: '',
    found_b: '',
    fee_token: stored.fee_token,
    fees: stored.priced_fees,
    is_doubted: stored.is_doubted === 1,
  }
}

/** Adds to a pool's net liquidity at a tick. */
export const addToTick = ({ ticks }: PoolEntry, tick: number, net: bigint): void => {
  const sum = (ticks.get(tick) ?? 0n) + net
  if (sum === 0n) ticks.delete(tick)
  else ticks.set(tick, sum)
}

/** Takes what an event did to its pool, or with a retraction what it undid; what is not newer than the entry changes nothing. */
export const applyPoolEvent = (
  entry: PoolEntry,
  meta: Pick<EventMeta, 'op' | 'seq' | 'block_time'>,
  event: DexPoolEvent,
): void => {
  const version = eventVersion(meta, event.instruction?.event_index ?? 0)
  const isRetraction = meta.op === 'OP_REVERT'
  const moved = movedLiquidity(event)
  const { tick_lower: lower = null, tick_upper: upper = null } = event.concentrated ?? {}
  if (moved !== 0n && lower !== null && upper !== null && version > entry.ticksVersion) {
    entry.ticksVersion = version
    addToTick(entry, lower, isRetraction ? -moved : moved)
    addToTick(entry, upper, isRetraction ? moved : -moved)
  }
  if (event.bins && event.bins.moves.length > 0 && version > entry.ticksVersion) {
    entry.ticksVersion = version
    applyBinMoves(entry.book, event.bins.moves, isRetraction)
  }
  if (version > entry.stateVersion) {
    entry.stateVersion = version
    if (isRetraction) takeStateBefore(entry, event)
    else takeStateAfter(entry, event, meta.block_time)
  }
  entry.pool = undefined
}

const isFlipped = ({ pool }: DexPoolEvent): boolean =>
  pool !== null && pool.token_b_address < pool.token_a_address

const takeStateBefore = (entry: PoolEntry, event: DexPoolEvent): void => {
  const before = event.pool_processed?.before ?? null
  entry.base = event.pool?.token_a_address ?? entry.base
  const [a, b] = [before?.token_a_vault_amount, before?.token_b_vault_amount]
  entry.reserves = bothKnown(isFlipped(event), a, b)
  entry.concentrated = before?.concentrated ?? null
  entry.pricing = before?.pricing ?? null
  entry.lastPrice = pricePerBase(entry, entry.base, before?.price)
  entry.book.bins = before?.bins ?? null
  entry.tvlUsd = depthOf(before?.liquidity_in_usd, entry)
}

const takeStateAfter = (entry: PoolEntry, event: DexPoolEvent, timeMs: number): void => {
  const { pool, pool_processed: processed } = event
  entry.base = pool?.token_a_address ?? entry.base
  const [a, b] = [pool?.token_a_vault_post_amount, pool?.token_b_vault_post_amount]
  entry.reserves = bothKnown(isFlipped(event), a, b)
  entry.concentrated = concentratedAfter(event, processed?.before?.concentrated ?? null)
  entry.pricing = pricingAfter(event, processed?.before?.pricing ?? null)
  entry.lastPrice = swapPrice(entry, event) ?? entry.lastPrice
  entry.book.bins = binsAfter(event, processed?.before?.bins ?? null, timeMs)
  const valueA = parseDecimal(processed?.token_a_vault_post_amount_in_usd ?? '')
  const valueB = parseDecimal(processed?.token_b_vault_post_amount_in_usd ?? '')
  entry.tvlUsd = valueA === null || valueB === null ? depthOf('', entry) : valueA + valueB
}

const depthOf = (
  liquidity: string | undefined,
  { concentrated, book }: Pick<PoolEntry, 'concentrated' | 'book'>,
): number | null =>
  parseDecimal(liquidity ?? '') ?? parseDecimal((book.bins ?? concentrated)?.depth_in_usd ?? '')

/** What a quote takes of a pool; null where its state is not exact. */
export const exactPool = (entry: PoolEntry, nowMs: number): Pool | null => {
  if (entry.read !== undefined && nowMs < entry.read.untilMs) return entry.read.pool
  if (entry.pool === undefined) entry.pool = poolOf(entry)
  return entry.pool && poolAt(entry.pool, nowMs)
}

const poolOf = (entry: PoolEntry): Pool | null => {
  const kind = pricingOf(entry.row)
  return kind === undefined ? null : POOL_MAKERS[kind](entry)
}

const headOf = ({ address, row, tokens, tvlUsd }: PoolEntry) => ({
  address,
  protocol: row.id,
  tokens,
  tvlUsd,
})

const constantProductPool = (entry: PoolEntry): Pool | null => {
  const { reserves, row } = entry
  if (reserves === null || row.feePips === undefined) return null
  if (reserves[0] === 0n || reserves[1] === 0n) return null
  return { ...headOf(entry), kind: 'constant_product', reserves, feePips: row.feePips }
}

/** What a pool prices with by the order of its tokens, and its whole fee; null where its events do not prove all of it. */
const provenPricing = ({ pricing, tokens, base }: PoolEntry) => {
  if (pricing === null || pricing.is_doubted || pricing.fees.length === 0) return null
  const reserves = bothKnown(tokens[0] !== base, pricing.reserve_a, pricing.reserve_b)
  if (reserves === null || reserves[0] === 0n || reserves[1] === 0n) return null
  const feePips = pricing.fees.reduce((sum, part) => sum + part, 0)
  return { reserves, feePips, feeParts: pricing.fees, feeToken: pricing.fee_token }
}

const feeOnInputPool = (entry: PoolEntry): Pool | null => {
  const proven = provenPricing(entry)
  if (proven === null || proven.feeToken !== '') return null
  const { reserves, feePips } = proven
  return { ...headOf(entry), kind: 'fee_on_input', reserves, feePips }
}

const quotedPool = (entry: PoolEntry): Pool | null => {
  const proven = provenPricing(entry)
  const { tokens, reserves: held, row } = entry
  if (proven === null || held === null) return null
  const { reserves, feePips, feeParts, feeToken } = proven
  if (!tokens.includes(feeToken)) return null
  const quoteSide = tokens[0] === feeToken ? 0 : 1
  // A curve that has sold everything is closed.
  if (held[1 - quoteSide] === 0n) return null
  return {
    ...headOf(entry),
    kind: 'fee_on_quote',
    program: row.launchpad === true ? 'curve' : 'pool',
    reserves,
    held,
    feePips,
    feeParts,
    quoteSide,
  }
}

/** Exact only where every position is known: then those around the price add up to the liquidity that the pool itself told. */
const concentratedPool = (entry: PoolEntry): Pool | null => {
  const state = entry.concentrated
  const feePips = state?.fee_pips ?? null
  if (!entry.isFollowedFromStart) return null
  if (!state?.is_complete || feePips === null || entry.ticks.size > MAX_TICKS) return null
  const tickSpacing = tickSpacingOf(feePips)
  if (tickSpacing === undefined) return null
  const ticks = [...entry.ticks]
    .map(([tick, liquidityNet]) => ({ tick, liquidityNet }))
    .toSorted((one, other) => one.tick - other.tick)
  const inRange = ticks.reduce(
    (sum, { tick, liquidityNet }) => (tick <= state.tick ? sum + liquidityNet : sum),
    0n,
  )
  const liquidity = BigInt(state.liquidity)
  if (inRange !== liquidity || ticks.length === 0) return null
  return {
    ...headOf(entry),
    kind: 'concentrated',
    feePips,
    tickSpacing,
    ticks,
    liquidity,
    tick: state.tick,
    sqrtPriceX96: BigInt(state.sqrt_price_x96),
    knownTicks: [MIN_TICK, MAX_TICK],
  }
}

const binPool = (entry: PoolEntry): Pool | null => {
  const { book, row, tokens } = entry
  const version = row.bookVersion
  if (version === undefined || !entry.isFollowedFromStart) return null
  const exact = exactBook(book, version === 3)
  const tokenX = book.bins?.token_x ?? ''
  if (exact === null || !tokens.includes(tokenX)) return null
  const { volatility, binStep, terms } = exact
  const feePips = Number(ceilDiv(binFee(volatility, binStep, terms), 10n ** 12n))
  const sideOfX = tokens[0] === tokenX ? 0 : 1
  return { ...headOf(entry), kind: 'bins', version, ...exact, timeS: 0, feePips, sideOfX }
}

const POOL_MAKERS: Readonly<Record<Pool['kind'], (entry: PoolEntry) => Pool | null>> = {
  bins: binPool,
  concentrated: concentratedPool,
  constant_product: constantProductPool,
  // Its state is in its accounts.
  dlmm: () => null,
  fee_on_input: feeOnInputPool,
  fee_on_quote: quotedPool,
  // Its state is in its accounts.
  whirlpool: () => null,
}
