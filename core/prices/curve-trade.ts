/** A trade along a curve: reserves before it, and what it moved of both sides without fees; base units. */
export interface CurveTrade {
  readonly quote: bigint
  readonly base: bigint
  readonly quoteRaw: bigint
  readonly baseRaw: bigint
  readonly buys: boolean
}

/**
 * True where constant product explains a trade of pump.fun to the last unit: a purchase costs its price and one unit more, a sale gives
 * what is rounded down. Source: pump-fun/pump-public-docs idl/pump.json.
 */
export const isCurveTrade = ({ quote, base, quoteRaw, baseRaw, buys }: CurveTrade): boolean => {
  if (base <= 0n || quote <= 0n || base + baseRaw <= 0n) return false
  if (!buys) return (baseRaw * quote) / (base + baseRaw) === quoteRaw
  if (baseRaw >= base || quoteRaw < 1n) return false
  return (
    (baseRaw * quote) / (base - baseRaw) + 1n === quoteRaw ||
    ((quoteRaw - 1n) * base) / (quote + quoteRaw - 1n) === baseRaw
  )
}
