import type { Pool } from './pool.ts'

/** Which pools trade which tokens. */
export interface PoolGraph {
  /** Tokens that a pool trades for `token`, those of the deepest pools first. */
  neighbours(token: string): readonly string[]
  /** The deepest pools of a pair, in any direction; `wanted` chooses before the deepest are taken. */
  poolsOf(token: string, other: string, wanted?: (pool: Pool) => boolean): readonly Pool[]
  /** Where a path must stay within some of the pools: the graphs of which each path may use one. */
  readonly parts?: readonly PoolGraph[]
  /** Called for a pool whose mathematics throw: its state is not what it must be, and no search may fail for it. */
  readonly failed?: (pool: Pool, error: unknown) => void
}

/** What enters a graph. */
export interface GraphLimits {
  /** A pair without a pool as deep serves only swaps between its own two tokens; USD. */
  readonly minTvlUsd: number
  /** Pools of one pair that are looked at. */
  readonly poolsPerPair: number
}

/** A pool as a graph holds it: its depth and its state may change. */
export interface GraphMember {
  readonly tokens: readonly [string, string]
  readonly tvlUsd: number | null
}

/** Pools by pair, added and removed one by one: building it anew would take longer than a quote may. */
export interface PairIndex<Member extends GraphMember> {
  add(member: Member): void
  remove(member: Member): void
  clear(): void
  /** Members between two tokens. */
  between(token: string, other: string): Iterable<Member>
  /** A graph of the members that `poolOf` knows as pools; who is beside whom is as of at most `CACHE_TTL_MS` ago. */
  graph(poolOf: (member: Member) => Pool | null, nowMs: number): PoolGraph
}

/** How long the order of a token's neighbours is good for. */
const CACHE_TTL_MS = 5_000
/** Tokens whose neighbours are held in order. */
const MAX_HELD_TOKENS = 10_000

const depthOf = ({ tvlUsd }: Pick<GraphMember, 'tvlUsd'>): number => tvlUsd ?? 0

/** Deepest first; the address decides between equals, so that the same pools give the same graph. */
const byDepth = (one: Pool, other: Pool): number =>
  depthOf(other) - depthOf(one) || (one.address < other.address ? -1 : 1)

const NONE: readonly Pool[] = []

/** An empty index. */
export const createPairIndex = <Member extends GraphMember>({
  minTvlUsd,
  poolsPerPair,
}: GraphLimits): PairIndex<Member> => {
  const pairs = new Map<string, Map<string, Set<Member>>>()
  const ordered = new Map<string, { readonly tokens: readonly string[]; readonly madeMs: number }>()

  const directions = ({ tokens: [first, second] }: Member) =>
    [
      [first, second],
      [second, first],
    ] as const

  const orderNeighbours = (token: string): readonly string[] => {
    const found: { readonly other: string; readonly depth: number }[] = []
    for (const [other, members] of pairs.get(token) ?? []) {
      let depth = -1
      for (const member of members) depth = Math.max(depth, depthOf(member))
      if (depth >= minTvlUsd) found.push({ other, depth })
    }
    found.sort((one, two) => two.depth - one.depth || (one.other < two.other ? -1 : 1))
    return found.map(({ other }) => other)
  }

  return {
    add: (member) => {
      for (const [token, other] of directions(member)) {
        const others = pairs.get(token) ?? new Map<string, Set<Member>>()
        const members = others.get(other) ?? new Set<Member>()
        pairs.set(token, others.set(other, members.add(member)))
      }
    },
    remove: (member) => {
      for (const [token, other] of directions(member)) {
        const others = pairs.get(token)
        const members = others?.get(other)
        members?.delete(member)
        if (members?.size === 0) others?.delete(other)
        if (others?.size === 0) pairs.delete(token)
      }
    },
    clear: () => {
      pairs.clear()
      ordered.clear()
    },
    between: (token, other) => pairs.get(token)?.get(other) ?? [],
    graph: (poolOf, nowMs) => ({
      neighbours: (token) => {
        const held = ordered.get(token)
        if (held !== undefined && nowMs - held.madeMs < CACHE_TTL_MS) return held.tokens
        if (ordered.size >= MAX_HELD_TOKENS) ordered.clear()
        const tokens = orderNeighbours(token)
        ordered.set(token, { tokens, madeMs: nowMs })
        return tokens
      },
      poolsOf: (token, other, wanted) => {
        const members = pairs.get(token)?.get(other)
        if (members === undefined) return NONE
        const pools: Pool[] = []
        for (const member of members) {
          const pool = poolOf(member)
          if (pool !== null && (wanted?.(pool) ?? true)) pools.push(pool)
        }
        return pools.length > 1 ? pools.sort(byDepth).slice(0, poolsPerPair) : pools
      },
    }),
  }
}

/** A graph of the given pools; it does not change with them. */
export const createPoolGraph = (pools: Iterable<Pool>, limits: GraphLimits): PoolGraph => {
  const index = createPairIndex<Pool>(limits)
  for (const pool of pools) index.add(pool)
  return index.graph((pool) => pool, 0)
}
