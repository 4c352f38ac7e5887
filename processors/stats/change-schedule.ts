/**
 * Tokens by the second of block time at which one of their windows changes next without a trade. Such seconds are few, as changes
 * are published in steps of five seconds to 24 minutes. Memory: one entry per token.
 */
export interface ChangeSchedule {
  /** When the token's next change is; undefined = it has to be looked at. */
  at(token: string): number | undefined
  /** Infinite = nothing will change; undefined = to be looked at at the next notice. */
  set(token: string, second: number | undefined): void
  delete(token: string): void
  /** Tokens to be looked at, and those of which a window changes up to this second. */
  dueBy(second: number): readonly string[]
}

/** Before all seconds: the entry of tokens that are due at once. */
const UNKNOWN = Number.NEGATIVE_INFINITY

/** No token yet. */
export const createChangeSchedule = (): ChangeSchedule => {
  const secondOf = new Map<string, number>()
  const tokensAt = new Map<number, Set<string>>()
  const remove = (token: string): void => {
    const second = secondOf.get(token)
    if (second === undefined) return
    secondOf.delete(token)
    const tokens = tokensAt.get(second)
    tokens?.delete(token)
    if (tokens?.size === 0) tokensAt.delete(second)
  }
  return {
    at: (token) => {
      const second = secondOf.get(token)
      return second === UNKNOWN ? undefined : second
    },
    set: (token, next = UNKNOWN) => {
      if (secondOf.get(token) === next) return
      remove(token)
      secondOf.set(token, next)
      const tokens = tokensAt.get(next)
      if (tokens === undefined) tokensAt.set(next, new Set([token]))
      else tokens.add(token)
    },
    delete: remove,
    dueBy: (second) => [...tokensAt].flatMap(([at, tokens]) => (at <= second ? [...tokens] : [])),
  }
}
