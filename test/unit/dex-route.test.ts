import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../../core/errors.ts'
import { MAX_TICK, MIN_TICK, sqrtPriceAtTick } from '../../core/prices/tick-math.ts'
import type { ConcentratedPool, Pool } from '../../serving/dex/pool.ts'
import { createPoolGraph } from '../../serving/dex/pool-graph.ts'
import { quoteSwap } from '../../serving/dex/quote.ts'
import { graphsWithout } from '../../serving/dex/reroute.ts'
import {
  DEFAULT_ROUTE_LIMITS,
  findRoute,
  maxAmountIn,
  minAmountOut,
  priceImpactPercent,
  type Route,
} from '../../serving/dex/route.ts'
import type { SwapRequest } from '../../serving/dex/search.ts'
import { bestByBruteForce } from '../support/brute-force/dex-paths.ts'
import { buildPoolMarket, MARKET_HUBS, pairPool } from '../support/builders/pool-market.ts'

const LIMITS = { minTvlUsd: 1_000, poolsPerPair: 8 }
const SINGLE = { ...DEFAULT_ROUTE_LIMITS, maxPaths: 1 }
const TOKENS = ['a', 'b', 'c', 'd', 'e']
const HUBS = new Set(TOKENS)
const E12 = 10n ** 12n

const rangePool = (
  address: string,
  tokens: readonly [string, string],
  tick: number,
  liquidity: bigint,
): ConcentratedPool => ({
  kind: 'concentrated',
  protocol: 'uniswap_v3',
  feePips: 500,
  tvlUsd: 20_000,
  address,
  tokens,
  tick,
  liquidity,
  tickSpacing: 60,
  sqrtPriceX96: sqrtPriceAtTick(tick),
  ticks: [
    { tick: -887_220, liquidityNet: liquidity },
    { tick: 887_220, liquidityNet: -liquidity },
  ],
  knownTicks: [MIN_TICK, MAX_TICK],
})

const reserve = fc.bigInt({ min: 10n ** 9n, max: 10n ** 15n })
const somePool = fc
  .record({
    one: fc.integer({ min: 0, max: 4 }),
    step: fc.integer({ min: 1, max: 4 }),
    reserves: fc.tuple(reserve, reserve),
    tick: fc.integer({ min: -5_000, max: 5_000 }),
    concentrated: fc.boolean(),
  })
  .map((made) => (address: string): Pool => {
    const tokens = [TOKENS[made.one] ?? '', TOKENS[(made.one + made.step) % 5] ?? ''] as const
    return made.concentrated
      ? rangePool(address, tokens, made.tick, made.reserves[0])
      : pairPool(address, tokens, made.reserves)
  })
const somePools = fc
  .array(somePool, { minLength: 1, maxLength: 12 })
  .map((makers) => makers.map((make, index) => make(`pool${index}`)))
const someRequest = fc
  .record({
    mode: fc.constantFrom('exact_in' as const, 'exact_out' as const),
    amountRaw: fc.bigInt({ min: 1_000n, max: 10n ** 13n }),
  })
  .map((made): SwapRequest => ({ ...made, tokenIn: 'a', tokenOut: 'b' }))

const searched = (pools: readonly Pool[]) => ({ graph: createPoolGraph(pools, LIMITS), hubs: HUBS })

const otherSide = (route: Route | undefined, { mode }: SwapRequest): bigint | undefined =>
  mode === 'exact_in' ? route?.amountOutRaw : route?.amountInRaw

test('a single swap path is as good as the best of all paths of at most three pools', () => {
  fc.assert(
    fc.property(somePools, someRequest, (pools, request) => {
      const route = findRoute({ ...searched(pools), limits: SINGLE }, request)
      assert.equal(otherSide(route, request), bestByBruteForce(pools, request))
    }),
    { numRuns: 500 },
  )
})

test('a split moves the exact amount, uses no pool twice, and is never worse than a single path', () => {
  let splits = 0
  fc.assert(
    fc.property(somePools, someRequest, (pools, request) => {
      const graph = createPoolGraph(pools, LIMITS)
      const route = findRoute({ graph, hubs: HUBS }, request)
      const single = otherSide(findRoute({ graph, hubs: HUBS, limits: SINGLE }, request), request)
      if (route === undefined) return assert.equal(single, undefined)
      if (route.paths.length > 1) splits += 1
      const exact = request.mode === 'exact_in' ? route.amountInRaw : route.amountOutRaw
      assert.equal(exact, request.amountRaw)
      const other = otherSide(route, request) ?? 0n
      if (single !== undefined)
        assert.ok(request.mode === 'exact_in' ? other >= single : other <= single)
      const used = route.paths.flatMap(({ hops }) => hops.map(({ pool }) => pool.address))
      assert.equal(new Set(used).size, used.length)
      for (const { hops } of route.paths) {
        assert.ok(hops.length <= 3)
        assert.deepEqual([hops[0]?.tokenIn, hops.at(-1)?.tokenOut], ['a', 'b'])
        for (const [index, hop] of hops.slice(1).entries())
          assert.deepEqual(
            [hop.tokenIn, hop.amountInRaw],
            [hops[index]?.tokenOut, hops[index]?.amountOutRaw],
          )
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(splits > 3, `${splits} splits`)
})

test('the input of an exact output route, sold exactly, gives at least that output', () => {
  fc.assert(
    fc.property(somePools, fc.bigInt({ min: 1_000n, max: 10n ** 13n }), (pools, amountRaw) => {
      const scope = { ...searched(pools), limits: SINGLE }
      const ends = { tokenIn: 'a', tokenOut: 'b' }
      const bought = findRoute(scope, { ...ends, mode: 'exact_out', amountRaw })
      if (bought === undefined) return
      const cost = bought.amountInRaw
      const sold = findRoute(scope, { ...ends, mode: 'exact_in', amountRaw: cost })
      assert.ok((sold?.amountOutRaw ?? 0n) >= amountRaw)
    }),
  )
})

test('two equal pools share a large swap, a small swap takes one of them', () => {
  const pools = ['one', 'two'].map((address) => pairPool(address, ['a', 'b'], [E12, E12]))
  const graph = createPoolGraph(pools, LIMITS)
  const request = { tokenIn: 'a', tokenOut: 'b', mode: 'exact_in' } as const
  const large = findRoute({ graph, hubs: HUBS }, { ...request, amountRaw: 10n ** 11n })
  assert.deepEqual(
    large?.paths.map(({ amountInRaw }) => amountInRaw),
    [5n * 10n ** 10n, 5n * 10n ** 10n],
  )
  const small = findRoute({ graph, hubs: HUBS }, { ...request, amountRaw: 10n ** 6n })
  assert.equal(small?.paths.length, 1)
  const tooMuch = { ...request, mode: 'exact_out', amountRaw: 3n * E12 } as const
  assert.equal(findRoute({ graph, hubs: HUBS }, tooMuch), undefined)
  const ofBoth = findRoute({ graph, hubs: HUBS }, { ...tooMuch, amountRaw: (E12 * 3n) / 2n })
  assert.equal(ofBoth?.paths.length, 2, 'no pool alone holds that much')
})

test('a shallow pool serves its own pair only, not routes through it', () => {
  const shallow = { tvlUsd: 999 }
  const pools = [
    pairPool('ac', ['a', 'c'], [E12, E12], shallow),
    pairPool('cb', ['c', 'b'], [E12, E12]),
  ]
  const graph = createPoolGraph(pools, LIMITS)
  const request = { tokenOut: 'b', mode: 'exact_in', amountRaw: 10n ** 6n } as const
  assert.equal(findRoute({ graph, hubs: HUBS }, { ...request, tokenIn: 'a' }), undefined)
  assert.ok(findRoute({ graph, hubs: HUBS }, { ...request, tokenIn: 'a', tokenOut: 'c' }))
  const between = [
    pairPool('ad', ['a', 'd'], [E12, E12]),
    pairPool('de', ['d', 'e'], [E12, E12], shallow),
    pairPool('eb', ['e', 'b'], [E12, E12]),
  ]
  const long = createPoolGraph(between, LIMITS)
  assert.equal(findRoute({ graph: long, hubs: HUBS }, { ...request, tokenIn: 'a' }), undefined)
})

test('a route search keeps its work limit and gives the same route each time', () => {
  const pools = buildPoolMarket(3_000)
  const request = { tokenIn: 'h0', tokenOut: 'h1', mode: 'exact_in', amountRaw: 10n ** 9n } as const
  const find = (given: readonly Pool[], workUnits: number) =>
    findRoute(
      {
        graph: createPoolGraph(given, LIMITS),
        hubs: MARKET_HUBS,
        limits: { ...DEFAULT_ROUTE_LIMITS, workUnits },
      },
      request,
    )
  assert.deepEqual(find(pools, 20_000), find(pools.toReversed(), 20_000))
  assert.equal(find(pools, 0), undefined)
  const [little, enough] = [find(pools, 100), find(pools, 20_000)]
  assert.ok((enough?.amountOutRaw ?? 0n) >= (little?.amountOutRaw ?? 0n))
})

test('the price impact leaves out fees, over hops and over shares', () => {
  const pool = pairPool('ab', ['a', 'b'], [E12, 5n * E12])
  const request = { tokenIn: 'a', tokenOut: 'b', mode: 'exact_in', amountRaw: 10n ** 10n } as const
  const impactOf = (pools: readonly Pool[]): string => {
    const route = findRoute(searched(pools), request)
    assert.ok(route !== undefined)
    return priceImpactPercent(route)
  }
  assert.equal(impactOf([pool]), '0.9872')
  assert.equal(impactOf([pool, { ...pool, address: 'other' }]), '0.496')
  const flat = pairPool('bc', ['b', 'c'], [10n ** 24n, 10n ** 24n])
  const overTwo = findRoute(searched([pool, flat]), {
    ...request,
    tokenOut: 'c',
  })
  assert.ok(overTwo !== undefined && overTwo.paths[0]?.hops.length === 2)
  assert.equal(priceImpactPercent(overTwo), '0.9872')
})

test('slippage limits: the minimum output is rounded down, the maximum input up', () => {
  assert.equal(minAmountOut(10_001n, 50), 9_950n)
  assert.equal(maxAmountIn(10_001n, 50), 10_052n)
  assert.equal(minAmountOut(999n, 0), 999n)
})

test('a request without a route does no more than one with a route: its tries are few and look through no list again', () => {
  const star = (hub: string, tokens: number) =>
    Array.from({ length: tokens }, (_, index) =>
      pairPool(`${hub}${index}`, [hub, `t${index}`], [E12 ** 2n, E12 ** 2n]),
    )
  const pools = [...star('a', 12_000), ...star('b', 3_000), pairPool('ab', ['a', 'b'], [E12, E12])]
  const whole = createPoolGraph(pools, LIMITS)
  const asked = { pairs: 0, lists: 0 }
  const lists = new Map<string, readonly string[]>()
  const listOf = (token: string): readonly string[] => {
    const list = whole.neighbours(token)
    const filter = (...args: Parameters<typeof list.filter>) => {
      asked.lists += 1
      return list.filter(...args)
    }
    return Object.assign([...list], { filter, [Symbol.iterator]: () => list[Symbol.iterator]() })
  }
  const graph = {
    neighbours: (token: string) => {
      const held = lists.get(token) ?? listOf(token)
      lists.set(token, held)
      return held
    },
    poolsOf: (one: string, other: string) => {
      asked.pairs += 1
      return whole.poolsOf(one, other)
    },
  }
  const scope = { graph, hubs: new Set(['a', 'b']) }
  const request = { tokenIn: 'a', tokenOut: 'b' }
  const workOf = (mode: SwapRequest['mode'], amountRaw: bigint) => {
    Object.assign(asked, { pairs: 0, lists: 0 })
    let outcome = 'route'
    try {
      quoteSwap(scope, { ...request, mode, amountRaw }, 50)
    } catch (error) {
      outcome = error instanceof Fault ? error.faultName : String(error)
    }
    return { ...asked, outcome }
  }
  const found = workOf('exact_in', E12 / 1_000n)
  assert.equal(found.outcome, 'route')
  for (const [mode, amountRaw, fault] of [
    ['exact_out', 2n ** 256n - 1n, 'DEX_ROUTE_BUILD_FAILED'],
    ['exact_out', 2n ** 100n, 'LIQUIDITY_INSUFFICIENT'],
  ] as const) {
    const { outcome, pairs, lists } = workOf(mode, amountRaw)
    assert.equal(outcome, fault)
    assert.ok(lists <= 4, `${lists} passes over lists of tokens`)
    assert.ok(pairs < found.pairs, `${pairs} pairs, ${found.pairs} with a route`)
  }
})

const [E18, E6] = [10n ** 18n, 10n ** 6n]
/** A deep pool, and a token of a stranger between both of its tokens at a price that no swap gets. */
const poisonedMarket = (strange: bigint) => [
  pairPool('deep', ['c', 'e'], [40_000_000n * E6, 10_000n * E18], { tvlUsd: 80_000_000 }),
  pairPool('odd1', ['odd', 'e'], [strange, E18 / 4n], { tvlUsd: 2_000 }),
  pairPool('odd2', ['odd', 'c'], [1_000n * E18, 1_100n * E6], { tvlUsd: 2_100 }),
]

test("a stranger's token at an absurd price takes no swap off the market", () => {
  const scope = searched(poisonedMarket(1_000_000n * E18))
  for (const amountRaw of [E18 / 1_000n, E18 / 10n, E18, 3n * E18]) {
    const ends = { tokenIn: 'e', tokenOut: 'c', mode: 'exact_in', amountRaw } as const
    const { route, priceImpact } = quoteSwap(scope, ends, 50)
    const used = route.paths.flatMap(({ hops }) => hops.map(({ pool }) => pool.address))
    assert.deepEqual(used, ['deep'])
    assert.ok(Number(priceImpact) < 1)
  }
  const tooMuch = {
    tokenIn: 'e',
    tokenOut: 'c',
    mode: 'exact_in',
    amountRaw: 9_000n * E18,
  } as const
  assert.throws(
    () => quoteSwap(scope, tooMuch, 50),
    (error) => error instanceof Fault && error.faultName === 'PRICE_IMPACT_TOO_HIGH',
  )
})

test('after a failed run the search leads over hubs only, then over all, without the pools to blame', () => {
  const scope = searched([
    ...poisonedMarket(1_000n * E18),
    pairPool('side', ['c', 'e'], [4_000n * E6, E18], { tvlUsd: 8_000 }),
  ])
  const request = { tokenIn: 'e', tokenOut: 'c', mode: 'exact_in', amountRaw: E18 / 200n } as const
  const addressesOf = (route: Route) =>
    route.paths.flatMap(({ hops }) => hops.map(({ pool }) => pool.address))
  const { route } = quoteSwap(scope, request, 50)
  assert.deepEqual(addressesOf(route), ['odd1', 'odd2'])
  const others = graphsWithout(scope, route, request).map(
    (graph) => quoteSwap({ ...scope, graph }, request, 50).route,
  )
  assert.deepEqual(others.map(addressesOf), [['deep'], ['deep']])
  const [, direct] = others
  assert.ok(direct)
  for (const graph of graphsWithout({ ...scope, hubs: new Set() }, direct, request)) {
    const shown = graph.poolsOf('c', 'e').map(({ address }) => address)
    assert.deepEqual(shown, ['side'])
  }
})
