import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'

/** A token's balances and prices at the ends of hours; hours count back from that of the newest block. */
export interface TokenHistory {
  readonly token: string
  readonly decimals: number | null
  /** By hour, base units; an hour without an entry is as the one before it. */
  readonly balances: ReadonlyMap<number, string>
  readonly prices: ReadonlyMap<number, number>
}

/** What was held of a token at the end of an hour. */
export interface PastHolding {
  readonly token: string
  readonly decimals: number | null
  readonly balance: string
  readonly units: number
  readonly valueUsd: number
  readonly priceUsd: number
}

const toUnits = (balance: string, decimals: number | null): number =>
  Number(balance) / 10 ** (decimals ?? 0)

/**
 * Worth at the end of each of the last `hours` hours, oldest first; undefined where nothing was known of the wallet yet. Each token is
 * walked once, and others get a turn between tokens.
 */
export const worthByHour = async (
  histories: readonly TokenHistory[],
  hours: number,
): Promise<readonly (number | undefined)[]> => {
  const worth: (number | undefined)[] = Array.from({ length: hours }, () => undefined)
  const yieldIfDue = makeYieldIfDue()
  for (const { balances, prices, decimals } of histories) {
    await yieldIfDue()
    let units: number | undefined
    let price: number | undefined
    for (let hour = hours; hour >= 0; hour -= 1) {
      const balance = balances.get(hour)
      if (balance !== undefined) units = toUnits(balance, decimals)
      price = prices.get(hour) ?? price
      const index = hours - 1 - hour
      if (units !== undefined && index >= 0)
        worth[index] = (worth[index] ?? 0) + units * (price ?? 0)
    }
  }
  return worth
}

/** Order of holdings: the most valuable first, equal ones by their token. */
const compareHoldings = (
  one: Pick<PastHolding, 'token' | 'valueUsd'>,
  other: Pick<PastHolding, 'token' | 'valueUsd'>,
): number => {
  if (one.valueUsd !== other.valueUsd) return other.valueUsd - one.valueUsd
  if (one.token === other.token) return 0
  return one.token < other.token ? -1 : 1
}

/** What was held with a price at the end of the oldest hour of the histories, in order. */
export const holdingsAtHour = (
  histories: readonly TokenHistory[],
  hour: number,
): readonly PastHolding[] =>
  histories
    .flatMap(({ token, decimals, balances, prices }): readonly PastHolding[] => {
      const [balance, priceUsd] = [balances.get(hour), prices.get(hour)]
      if (balance === undefined || priceUsd === undefined) return []
      const units = toUnits(balance, decimals)
      return units > 0
        ? [{ token, decimals, balance, units, priceUsd, valueUsd: units * priceUsd }]
        : []
    })
    .toSorted(compareHoldings)

/** The holdings beyond a place in the wanted direction, nearest first; the place itself may be gone. */
export const holdingsBeyond = (
  holdings: readonly PastHolding[],
  place: Pick<PastHolding, 'token' | 'valueUsd'> | undefined,
  direction: 'next' | 'prev',
): readonly PastHolding[] => {
  const ordered = direction === 'next' ? holdings : holdings.toReversed()
  if (place === undefined) return ordered
  const sign = direction === 'next' ? 1 : -1
  return ordered.filter((holding) => sign * compareHoldings(holding, place) > 0)
}
