/**
 * Profit and loss the slow way: every wallet's trades from the first one on, by moving average cost in exact
 * arithmetic of 12 places. Imports nothing of the product.
 */

/** A trade as its wallet sees it, in chain order. */
export interface BrutePnlTrade {
  readonly wallet: string
  readonly token: string
  readonly buy: boolean
  readonly raw: bigint
  /** Units of 10^-12 USD; null = unknown. */
  readonly usd: bigint | null
  readonly timeMs: number
}

/** A position in numbers; USD in units of 10^-12. */
export interface BrutePosition {
  buys: number
  sells: number
  boughtRaw: bigint
  boughtUsd: bigint
  soldRaw: bigint
  soldUsd: bigint
  held: bigint
  cost: bigint
  realized: bigint
  total: bigint
  wins: number
  losses: number
  openMs: number
  closeMs: number
  firstMs: number
  lastMs: number
}

/** What one trade did. */
export interface BrutePnlTradeResult {
  readonly trade: BrutePnlTrade
  readonly realized: bigint
  readonly cost: bigint
  readonly unknown: bigint
}

const minBigInt = (one: bigint, other: bigint): bigint => (one < other ? one : other)

const emptyPosition = (timeMs: number): BrutePosition => ({
  buys: 0,
  sells: 0,
  boughtRaw: 0n,
  boughtUsd: 0n,
  soldRaw: 0n,
  soldUsd: 0n,
  held: 0n,
  cost: 0n,
  realized: 0n,
  total: 0n,
  wins: 0,
  losses: 0,
  openMs: 0,
  closeMs: 0,
  firstMs: timeMs,
  lastMs: timeMs,
})

const applyBuy = (
  at: BrutePosition,
  { raw, usd, timeMs }: BrutePnlTrade,
): Omit<BrutePnlTradeResult, 'trade'> => {
  at.buys += 1
  at.boughtRaw += raw
  if (usd === null) return { realized: 0n, cost: 0n, unknown: 0n }
  at.boughtUsd += usd
  at.held += raw
  at.cost += usd
  if (at.openMs === 0 || at.closeMs > 0) {
    at.openMs = timeMs
    at.closeMs = 0
    at.realized = 0n
  }
  return { realized: 0n, cost: usd, unknown: 0n }
}

const applySell = (
  at: BrutePosition,
  { raw, usd, timeMs }: BrutePnlTrade,
): Omit<BrutePnlTradeResult, 'trade'> => {
  at.sells += 1
  at.soldRaw += raw
  if (usd !== null) at.soldUsd += usd
  const known = minBigInt(raw, at.held)
  if (known === 0n) return { realized: 0n, cost: 0n, unknown: raw }
  const cost = (at.cost * known) / at.held
  const realized = usd === null ? 0n : (usd * known) / raw - cost
  at.held -= known
  at.cost -= cost
  at.realized += realized
  at.total += realized
  if (realized > 0n) at.wins += 1
  if (realized < 0n) at.losses += 1
  if (at.held < 10n) {
    at.held = 0n
    at.cost = 0n
    at.closeMs = timeMs
  }
  return { realized, cost, unknown: raw - known }
}

/** Positions by `token|wallet` after the trades, and what each trade did, in order. */
export const brutePnl = (
  trades: readonly BrutePnlTrade[],
): {
  readonly positions: ReadonlyMap<string, BrutePosition>
  readonly rows: readonly BrutePnlTradeResult[]
} => {
  const positions = new Map<string, BrutePosition>()
  const rows = trades.map((trade) => {
    const key = `${trade.token}|${trade.wallet}`
    const at = positions.get(key) ?? emptyPosition(trade.timeMs)
    positions.set(key, at)
    at.lastMs = trade.timeMs
    return { trade, ...(trade.buy ? applyBuy(at, trade) : applySell(at, trade)) }
  })
  return { positions, rows }
}

/** Trades of the position's last `days` days, its newest trade's day included. */
export const countTradesWithin = (
  trades: readonly BrutePnlTrade[],
  key: string,
  days: number,
): { readonly buys: number; readonly sells: number } => {
  const own = trades.filter(({ token, wallet }) => `${token}|${wallet}` === key)
  const day = (timeMs: number): number => Math.floor(timeMs / 86_400_000)
  const today = day(own.at(-1)?.timeMs ?? 0)
  const inside = own.filter(({ timeMs }) => today - day(timeMs) < days)
  const buys = inside.filter((trade) => trade.buy).length
  return { buys, sells: inside.length - buys }
}
