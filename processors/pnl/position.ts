import { minBigint } from '../../core/bigint-math.ts'
import { DAY_MS } from '../../core/time.ts'

/** What a wallet did with one token. Amounts in base units, USD in units of 10^-12. */
export interface Position {
  /** null: never reported by a trade. */
  readonly decimals: number | null
  /** Quantity with known cost, and that cost. */
  readonly heldRaw: bigint
  readonly costUsd: bigint
  readonly boughtRaw: bigint
  readonly boughtUsd: bigint
  /** Bought for a known value. */
  readonly valuedBoughtRaw: bigint
  readonly buys: number
  readonly soldRaw: bigint
  readonly soldUsd: bigint
  /** Sold for a known value. */
  readonly valuedSoldRaw: bigint
  readonly sells: number
  /** Realized in the current cycle, or in the last one while none is open. */
  readonly realizedUsd: bigint
  /** Realized in all cycles. */
  readonly totalRealizedUsd: bigint
  readonly wins: number
  readonly losses: number
  /** 0 before the first cycle. */
  readonly openMs: number
  /** 0 while a cycle is open. */
  readonly closeMs: number
  readonly firstMs: number
  readonly lastMs: number
  /** Last believed price of the token at the newest trade; "" = none. */
  readonly priceUsd: string
  /** Trades of the last 30 days by day since the epoch, oldest first. */
  readonly days: readonly (readonly [day: number, buys: number, sells: number])[]
}

/** One trade of the wallet in the token. */
export interface PositionTrade {
  readonly buy: boolean
  readonly amountRaw: bigint
  /** null: its value is unknown. */
  readonly usd: bigint | null
  readonly timeMs: number
  readonly decimals: number | null
  readonly priceUsd: string
}

/** What a trade did to the position. */
export interface PositionUpdate {
  readonly position: Position
  readonly realizedUsd: bigint
  /** Cost put in by a buy, taken out by a sell. */
  readonly costUsd: bigint
  /** Sold part whose cost is not known: it realizes nothing. */
  readonly unknownRaw: bigint
}

/** Before the first trade. */
export const NO_POSITION: Position = {
  decimals: null,
  heldRaw: 0n,
  costUsd: 0n,
  boughtRaw: 0n,
  boughtUsd: 0n,
  valuedBoughtRaw: 0n,
  buys: 0,
  soldRaw: 0n,
  soldUsd: 0n,
  valuedSoldRaw: 0n,
  sells: 0,
  realizedUsd: 0n,
  totalRealizedUsd: 0n,
  wins: 0,
  losses: 0,
  openMs: 0,
  closeMs: 0,
  firstMs: 0,
  lastMs: 0,
  priceUsd: '',
  days: [],
}

const DAYS_TRACKED = 30
/** Fewer base units than this count as nothing left. */
const DUST_LIMIT_RAW = 10n

const addToDay = (days: Position['days'], timeMs: number, buy: boolean): Position['days'] => {
  const today = Math.floor(timeMs / DAY_MS)
  const newest = days.at(-1)
  const [buys, sells] = newest?.[0] === today ? [newest[1], newest[2]] : [0, 0]
  const before = newest?.[0] === today ? days.slice(0, -1) : days
  const kept = before.filter(([day]) => day > today - DAYS_TRACKED)
  return [...kept, [today, buys + (buy ? 1 : 0), sells + (buy ? 0 : 1)]]
}

/** Buys and sells of the last `length` days, the newest trade's own day included. */
export const tradesInLastDays = (
  { days, lastMs }: Position,
  length: number,
): { readonly buys: number; readonly sells: number } => {
  const oldest = Math.floor(lastMs / DAY_MS) - length
  const within = days.filter(([day]) => day > oldest)
  return {
    buys: within.reduce((sum, [, buys]) => sum + buys, 0),
    sells: within.reduce((sum, [, , sells]) => sum + sells, 0),
  }
}

const applyBuy = (
  position: Position,
  { amountRaw, usd, timeMs }: PositionTrade,
): PositionUpdate => {
  const counted = {
    ...position,
    boughtRaw: position.boughtRaw + amountRaw,
    boughtUsd: position.boughtUsd + (usd ?? 0n),
    valuedBoughtRaw: position.valuedBoughtRaw + (usd === null ? 0n : amountRaw),
    buys: position.buys + 1,
  }
  if (usd === null || amountRaw === 0n) {
    return { position: counted, realizedUsd: 0n, costUsd: 0n, unknownRaw: 0n }
  }
  const opens = position.openMs === 0 || position.closeMs !== 0
  return {
    position: {
      ...counted,
      heldRaw: position.heldRaw + amountRaw,
      costUsd: position.costUsd + usd,
      ...(opens && { openMs: timeMs, closeMs: 0, realizedUsd: 0n }),
    },
    realizedUsd: 0n,
    costUsd: usd,
    unknownRaw: 0n,
  }
}

const applySell = (
  position: Position,
  { amountRaw, usd, timeMs }: PositionTrade,
): PositionUpdate => {
  const { heldRaw, costUsd } = position
  const knownRaw = minBigint(amountRaw, heldRaw)
  const cost = knownRaw === 0n ? 0n : (costUsd * knownRaw) / heldRaw
  const realizedUsd = usd === null || knownRaw === 0n ? 0n : (usd * knownRaw) / amountRaw - cost
  const closes = knownRaw > 0n && heldRaw - knownRaw < DUST_LIMIT_RAW
  return {
    position: {
      ...position,
      soldRaw: position.soldRaw + amountRaw,
      soldUsd: position.soldUsd + (usd ?? 0n),
      valuedSoldRaw: position.valuedSoldRaw + (usd === null ? 0n : amountRaw),
      sells: position.sells + 1,
      heldRaw: closes ? 0n : heldRaw - knownRaw,
      costUsd: closes ? 0n : costUsd - cost,
      realizedUsd: position.realizedUsd + realizedUsd,
      totalRealizedUsd: position.totalRealizedUsd + realizedUsd,
      wins: position.wins + (realizedUsd > 0n ? 1 : 0),
      losses: position.losses + (realizedUsd < 0n ? 1 : 0),
      closeMs: closes ? timeMs : position.closeMs,
    },
    realizedUsd,
    costUsd: cost,
    unknownRaw: amountRaw - knownRaw,
  }
}

/** Folds one trade by moving average cost, in exact arithmetic; divisions are cut towards zero. */
export const applyTrade = (position: Position, trade: PositionTrade): PositionUpdate => {
  const { buy, timeMs, decimals, priceUsd } = trade
  const outcome = buy ? applyBuy(position, trade) : applySell(position, trade)
  return {
    ...outcome,
    position: {
      ...outcome.position,
      decimals: decimals ?? position.decimals,
      priceUsd: priceUsd === '' ? position.priceUsd : priceUsd,
      firstMs: position.buys + position.sells === 0 ? timeMs : position.firstMs,
      lastMs: timeMs,
      days: addToDay(position.days, timeMs, buy),
    },
  }
}

/** A position as it is stored: base-10 texts for what is wider than a double. */
export type StoredPosition = {
  readonly [K in keyof Position]: Position[K] extends bigint ? string : Position[K]
}

/** For a state of JSON. */
export const toStoredPosition = (position: Position): StoredPosition => ({
  ...position,
  heldRaw: String(position.heldRaw),
  costUsd: String(position.costUsd),
  boughtRaw: String(position.boughtRaw),
  boughtUsd: String(position.boughtUsd),
  valuedBoughtRaw: String(position.valuedBoughtRaw),
  soldRaw: String(position.soldRaw),
  soldUsd: String(position.soldUsd),
  valuedSoldRaw: String(position.valuedSoldRaw),
  realizedUsd: String(position.realizedUsd),
  totalRealizedUsd: String(position.totalRealizedUsd),
})

/** The inverse of `toStoredPosition`. */
export const fromStoredPosition = (
  stored: Omit<StoredPosition, 'valuedBoughtRaw' | 'valuedSoldRaw'> & Partial<StoredPosition>,
): Position => ({
  ...stored,
  heldRaw: BigInt(stored.heldRaw),
  costUsd: BigInt(stored.costUsd),
  boughtRaw: BigInt(stored.boughtRaw),
  boughtUsd: BigInt(stored.boughtUsd),
  // A state of before these two were counted averages over everything, as it did then.
  valuedBoughtRaw: BigInt(stored.valuedBoughtRaw ?? stored.boughtRaw),
  soldRaw: BigInt(stored.soldRaw),
  soldUsd: BigInt(stored.soldUsd),
  valuedSoldRaw: BigInt(stored.valuedSoldRaw ?? stored.soldRaw),
  realizedUsd: BigInt(stored.realizedUsd),
  totalRealizedUsd: BigInt(stored.totalRealizedUsd),
})
