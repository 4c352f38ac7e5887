import { type AmountQuote, type Pool, quoteExactIn, quoteExactOut } from './pool.ts'
import type { PoolGraph } from './pool-graph.ts'

/** One swap of a route. */
export interface Hop {
  readonly pool: Pool
  readonly tokenIn: string
  readonly tokenOut: string
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
  /** What the pool keeps of the input, where `feePips` do not tell it. */
  readonly feeRaw?: bigint
}

/** Swaps one after the other; what one gives is what the next sells. */
export interface Path {
  readonly hops: readonly Hop[]
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
}

/** What is to be swapped. */
export interface SwapRequest {
  readonly tokenIn: string
  readonly tokenOut: string
  /** `exact_in`: `amountRaw` is what is sold; `exact_out`: what is bought. */
  readonly mode: 'exact_in' | 'exact_out'
  readonly amountRaw: bigint
}

/** Work of a search in units that are counted; the same request on the same graph ends at the same step on any machine. */
export interface WorkBudget {
  left: number
}

/** What searches of one request have made of the graph: who is beside a token does not change between them. */
export interface SearchMemory {
  /** The same tokens as a set, by the list itself. */
  readonly sets: WeakMap<readonly string[], ReadonlySet<string>>
  /** Tokens between two others, by the lists of who is beside each. */
  readonly between: WeakMap<readonly string[], WeakMap<readonly string[], readonly string[]>>
}

/** Memory of nothing. */
export const createSearchMemory = (): SearchMemory => ({
  sets: new WeakMap(),
  between: new WeakMap(),
})

/** What a search may use. */
export interface SearchScope {
  readonly graph: PoolGraph
  /** Tokens that paths may lead through beside those that trade with both ends. */
  readonly hubs: ReadonlySet<string>
  readonly budget: WorkBudget
  readonly memory: SearchMemory
  /** Pools that may not be used, by address. */
  readonly excluded: ReadonlySet<string>
}

/** Swaps that lead from the exact end of a path to a token, the exact one first. */
interface Reached {
  readonly amountRaw: bigint
  readonly hops: readonly Hop[]
}

/** A search in the direction of the exact amount: forward from what is sold, or backward from what is bought. */
interface Direction {
  readonly from: string
  readonly to: string
  readonly isForward: boolean
}

const isBetter = (isForward: boolean, amount: bigint, than: bigint | undefined): boolean =>
  than === undefined || (isForward ? amount > than : amount < than)

/** What a pool gives for what is sold, or takes for what is bought. One whose mathematics throw gives nothing: that is no other pool's matter. */
const quoteHop = (
  { failed }: PoolGraph,
  pool: Pool,
  tokenIn: string,
  { isForward, amountRaw }: { readonly isForward: boolean; readonly amountRaw: bigint },
): AmountQuote => {
  try {
    return (isForward ? quoteExactIn : quoteExactOut)(pool, tokenIn, amountRaw)
  } catch (error) {
    failed?.(pool, error)
    return { refused: 'insufficient_liquidity', steps: 1 }
  }
}

/**
 * Work of looking at a pair, and of one step of a pool's mathematics, in units of about a microsecond: a step over ticks takes as
 * long as five quotes of a product of reserves.
 */
const PAIR_UNITS = 1
/** Tokens beside another that are looked through in the time of one unit. */
const TOKENS_PER_UNIT = 16
const STEP_UNITS: Readonly<Record<Pool['kind'], number>> = {
  constant_product: 1,
  fee_on_input: 1,
  fee_on_quote: 1,
  bins: 3,
  dlmm: 3,
  concentrated: 5,
  whirlpool: 5,
}

/** The best of a pair's pools for one more hop; undefined where none can make it or the budget is spent. */
const bestHop = (
  { graph, budget, excluded }: SearchScope,
  direction: Direction,
  reached: Reached,
  tokens: { readonly near: string; readonly far: string },
): Reached | undefined => {
  const { isForward } = direction
  let best: (Extract<AmountQuote, { amountRaw: bigint }> & { readonly pool: Pool }) | undefined
  if (budget.left <= 0) return undefined
  budget.left -= PAIR_UNITS
  for (const pool of graph.poolsOf(tokens.near, tokens.far)) {
    if (budget.left <= 0) break
    if (excluded.has(pool.address)) continue
    const { amountRaw } = reached
    const tokenIn = isForward ? tokens.near : tokens.far
    const quote = quoteHop(graph, pool, tokenIn, { isForward, amountRaw })
    budget.left -= quote.steps * STEP_UNITS[pool.kind]
    if ('refused' in quote || !isBetter(isForward, quote.amountRaw, best?.amountRaw)) continue
    best = { ...quote, pool }
  }
  if (best === undefined) return undefined
  const { near, far } = tokens
  const hop = isForward
    ? { tokenIn: near, tokenOut: far, amountInRaw: reached.amountRaw, amountOutRaw: best.amountRaw }
    : { tokenIn: far, tokenOut: near, amountInRaw: best.amountRaw, amountOutRaw: reached.amountRaw }
  return {
    amountRaw: best.amountRaw,
    hops: [...reached.hops, { pool: best.pool, ...hop, ...feeOf(best) }],
  }
}

const feeOf = ({ feeRaw }: { readonly feeRaw?: bigint }): Pick<Hop, 'feeRaw'> =>
  feeRaw === undefined ? {} : { feeRaw }

/** Looks through so many tokens; false where the budget does not allow it. */
const spendOnTokens = (budget: WorkBudget, tokens: number): boolean => {
  if (budget.left <= 0) return false
  budget.left -= Math.ceil(tokens / TOKENS_PER_UNIT)
  return true
}

/** The set of a list of tokens, made once in a request; undefined where the budget does not allow it. */
const setOf = (
  { memory, budget }: SearchScope,
  tokens: readonly string[],
): ReadonlySet<string> | undefined => {
  const known = memory.sets.get(tokens)
  if (known !== undefined) return known
  if (!spendOnTokens(budget, tokens.length)) return undefined
  const made = new Set(tokens)
  memory.sets.set(tokens, made)
  return made
}

/** Tokens that a path may lead through on its way from one end: hubs, and those that trade with both ends; none without a budget. */
const intermediates = (scope: SearchScope, { from, to }: Direction): readonly string[] => {
  const { graph, hubs, memory, budget } = scope
  const [beside, besideTarget] = [graph.neighbours(from), graph.neighbours(to)]
  const known = memory.between.get(beside)?.get(besideTarget)
  if (known !== undefined) return known
  const tradesWithTarget = setOf(scope, besideTarget)
  if (tradesWithTarget === undefined || !spendOnTokens(budget, beside.length)) return []
  const made = [
    ...beside.filter((token) => token !== to && hubs.has(token)),
    ...beside.filter((token) => token !== to && !hubs.has(token) && tradesWithTarget.has(token)),
  ]
  const others = memory.between.get(beside) ?? new WeakMap()
  memory.between.set(beside, others.set(besideTarget, made))
  return made
}

/** The best path of at most three hops; where the graph has parts, the best of those within one of them. */
export const bestPath = (scope: SearchScope, request: SwapRequest): Path | undefined => {
  const { parts } = scope.graph
  if (parts === undefined) return bestPathWithin(scope, request)
  const isForward = request.mode === 'exact_in'
  const otherOf = (path: Path): bigint => (isForward ? path.amountOutRaw : path.amountInRaw)
  let best: Path | undefined
  for (const [index, graph] of parts.entries()) {
    // Each part has its share of the work, or the first would leave none for the others.
    const share = Math.floor(scope.budget.left / (parts.length - index))
    const budget = { left: share }
    const path = bestPathWithin({ ...scope, graph, budget }, request)
    scope.budget.left -= share - budget.left
    if (path && isBetter(isForward, otherOf(path), best && otherOf(best))) best = path
  }
  return best
}

/**
 * Layer by layer it keeps the best way to each token: because more in never gives less out, the
 * best path leads over the best way to its last token but one.
 */
const bestPathWithin = (scope: SearchScope, request: SwapRequest): Path | undefined => {
  const isForward = request.mode === 'exact_in'
  const { tokenIn, tokenOut } = request
  const direction = isForward
    ? { from: tokenIn, to: tokenOut, isForward }
    : { from: tokenOut, to: tokenIn, isForward }
  const start: Reached = { amountRaw: request.amountRaw, hops: [] }
  const { from, to } = direction
  let best: Reached | undefined
  const consider = (found: Reached | undefined): void => {
    if (found && isBetter(isForward, found.amountRaw, best?.amountRaw)) best = found
  }
  consider(bestHop(scope, direction, start, { near: from, far: to }))
  const first = new Map<string, Reached>()
  for (const token of intermediates(scope, direction)) {
    const way = bestHop(scope, direction, start, { near: from, far: token })
    if (way === undefined) continue
    first.set(token, way)
    consider(bestHop(scope, direction, way, { near: token, far: to }))
  }
  for (const last of intermediates(scope, { ...direction, from: to, to: from })) {
    const way = bestSecondHop(scope, direction, first, last)
    if (way) consider(bestHop(scope, direction, way, { near: last, far: to }))
  }
  return best && pathOf(best.hops, isForward)
}

/** The best way over one of the tokens of the first layer to `last`. */
const bestSecondHop = (
  scope: SearchScope,
  direction: Direction,
  first: ReadonlyMap<string, Reached>,
  last: string,
): Reached | undefined => {
  let best: Reached | undefined
  for (const token of reachedBeside(scope, first, last)) {
    const way = first.get(token)
    if (way === undefined) continue
    const found = bestHop(scope, direction, way, { near: token, far: last })
    if (found && isBetter(direction.isForward, found.amountRaw, best?.amountRaw)) best = found
  }
  return best
}

/** Tokens beside `last`, those among them that were not reached perhaps left out: the shorter of both lists is looked through. */
const reachedBeside = (
  scope: SearchScope,
  first: ReadonlyMap<string, Reached>,
  last: string,
): readonly string[] => {
  const beside = scope.graph.neighbours(last)
  if (!spendOnTokens(scope.budget, Math.min(beside.length, first.size))) return []
  if (beside.length <= first.size) return beside
  const set = setOf(scope, beside)
  return set === undefined ? [] : [...first.keys()].filter((token) => set.has(token))
}

const pathOf = (found: readonly Hop[], isForward: boolean): Path => {
  const hops = isForward ? found : found.toReversed()
  return {
    hops,
    amountInRaw: hops[0]?.amountInRaw ?? 0n,
    amountOutRaw: hops.at(-1)?.amountOutRaw ?? 0n,
  }
}

/** The same pools of a graph with another amount; undefined where they cannot make it. */
export const requotePath = (
  { graph, budget }: Pick<SearchScope, 'graph' | 'budget'>,
  { hops }: Pick<Path, 'hops'>,
  mode: SwapRequest['mode'],
  amountRaw: bigint,
): Path | undefined => {
  const isForward = mode === 'exact_in'
  const requoted: Hop[] = []
  let amount = amountRaw
  for (const { pool, tokenIn, tokenOut } of isForward ? hops : hops.toReversed()) {
    const quote = quoteHop(graph, pool, tokenIn, { isForward, amountRaw: amount })
    budget.left -= quote.steps * STEP_UNITS[pool.kind]
    if ('refused' in quote) return undefined
    const [amountInRaw, amountOutRaw] = isForward
      ? [amount, quote.amountRaw]
      : [quote.amountRaw, amount]
    requoted.push({ pool, tokenIn, tokenOut, amountInRaw, amountOutRaw, ...feeOf(quote) })
    amount = quote.amountRaw
  }
  return pathOf(requoted, isForward)
}
