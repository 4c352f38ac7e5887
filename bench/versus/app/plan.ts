/** A pair of two tokens with 18 decimals each. */
interface PlannedPair {
  readonly pair: `0x${string}`
  /** True: prices are units of the pair's first token for one of its second. */
  readonly isQuoteFirst: boolean
}

/** What the app indexes, as JSON in `VERSUS_PLAN`. Addresses are in lower case. */
interface Plan {
  readonly rpcUrl: string
  readonly databaseFolder: string
  /** How often the node's address is listed: the limit of calls per second counts per listed address. */
  readonly nodes: number
  readonly tokens: readonly `0x${string}`[]
  readonly pairs: readonly PlannedPair[]
}

/** Throws where the variable is missing or no JSON. */
export const readPlan = (): Plan => JSON.parse(process.env.VERSUS_PLAN ?? '')
