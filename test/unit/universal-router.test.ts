/** Calls of the Universal Router, and routes whose paths stay within one protocol. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeAbiParameters, decodeFunctionData, parseAbi, parseAbiParameters } from 'viem'
import { DEX_ROUTERS, UNIVERSAL_PROTOCOLS, UNIVERSAL_ROUTERS } from '../../schemas/dex-routers.ts'
import { PROTOCOLS, type ProtocolRow } from '../../schemas/protocols.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolGraph } from '../../serving/dex/pool-graph.ts'
import { quoteSwap } from '../../serving/dex/quote.ts'
import { parseRouterChoice, universalVenue, withinVenues } from '../../serving/dex/router-venues.ts'
import { isRouterWord, universalCall } from '../../serving/dex/universal-calls.ts'
import { filterGraph } from '../../serving/dex/venue-words.ts'

const ROUTER = parseAbi(['function execute(bytes, bytes[] inputs, uint256) payable'])
const [A, B, C] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`) as [
  string,
  string,
  string,
]
const OWNER = `0x${'1'.repeat(40)}`
const E18 = 10n ** 18n

const pair = (digit: string, protocol: string, tokens: readonly [string, string], depth: bigint) =>
  ({
    kind: 'constant_product',
    address: `0x${digit.repeat(40)}`,
    protocol,
    tokens,
    feePips: 3_000,
    tvlUsd: 1e6,
    reserves: [depth * E18, depth * E18],
  }) as const satisfies Pool

const POOLS = [
  pair('2', 'uniswap_v2', [A, B], 20_000n),
  // Deeper, but of another protocol: a path over both of the next pools mixes.
  pair('3', 'uniswap_v3', [A, C], 100_000n),
  pair('4', 'uniswap_v2', [B, C], 100_000n),
]
const GRAPH = createPoolGraph(POOLS, { minTvlUsd: 1_000, poolsPerPair: 8 })
const PARTS = ['uniswap_v2', 'uniswap_v3'].map((id) =>
  filterGraph(GRAPH, ({ protocol }) => protocol === id),
)

const quoteOver = (graph: typeof GRAPH, mode: 'exact_in' | 'exact_out') =>
  quoteSwap(
    { graph, hubs: new Set([C]) },
    { tokenIn: A, tokenOut: B, mode, amountRaw: 300n * E18 },
    5_000,
  )

test('a swap path stays within one part of a pool graph with parts', () => {
  for (const mode of ['exact_in', 'exact_out'] as const) {
    const free = quoteOver(GRAPH, mode)
    const protocolsOf = ({ route }: typeof free) =>
      route.paths.map(({ hops }) => new Set(hops.map(({ pool }) => pool.protocol)).size)
    assert.ok(protocolsOf(free).includes(2))
    assert.deepEqual(protocolsOf(quoteOver({ ...GRAPH, parts: PARTS }, mode)), [1])
  }
})

/** Commands and inputs of a call, in order. */
const commandsOf = (data: `0x${string}`): readonly string[] => {
  const [commands] = decodeFunctionData({ abi: ROUTER, data }).args
  return commands.slice(2).match(/../g) ?? []
}

test('the Universal Router is called with the commands of its own table', () => {
  const swap = {
    owner: OWNER,
    recipient: OWNER,
    deadline: 1,
    sellsNativeToken: false,
    buysNativeToken: false,
  }
  const exactIn = quoteOver({ ...GRAPH, parts: PARTS }, 'exact_in')
  const exactOut = quoteOver({ ...GRAPH, parts: PARTS }, 'exact_out')
  const call = (quote: typeof exactIn, more: object = {}) =>
    commandsOf(universalCall({ ...swap, quote, ...more }).data)
  assert.deepEqual(call(exactIn), ['08'])
  assert.deepEqual(call(exactOut), ['09'])
  assert.deepEqual(call(exactIn, { permitInput: '0x' }), ['8a', '08'])
  assert.deepEqual(call(exactIn, { buysNativeToken: true }), ['08', '0c'])
  // Coin that was not needed comes back.
  assert.deepEqual(call(exactOut, { sellsNativeToken: true }), ['0b', '09', '0c'])
  const split = quoteOver(GRAPH, 'exact_in')
  assert.equal(split.route.paths.length, 2)
  assert.equal(call(split).at(-1), '04')
  const { valueRaw } = universalCall({ ...swap, quote: exactOut, sellsNativeToken: true })
  assert.equal(valueRaw, exactOut.maxInRaw)
})

test('a pool that the Universal Router has no command for is refused, and not encoded as another kind', () => {
  const quote = quoteOver({ ...GRAPH, parts: PARTS }, 'exact_in')
  const swap = {
    owner: OWNER,
    recipient: OWNER,
    deadline: 1,
    sellsNativeToken: false,
    buysNativeToken: false,
  }
  const paths = quote.route.paths.map((path) => ({
    ...path,
    hops: path.hops.map((hop) => {
      assert.ok(hop.pool.kind === 'constant_product')
      return { ...hop, pool: { ...hop.pool, kind: 'fee_on_input' as const } }
    }),
  }))
  for (const mode of ['exact_in', 'exact_out'] as const) {
    const request = { ...quote.request, mode }
    const wrong = { ...quote, request, route: { ...quote.route, paths } }
    assert.throws(() => universalCall({ ...swap, quote: wrong }), {
      faultName: 'DEX_ROUTE_BUILD_FAILED',
    })
  }
})

test('the input limits of all paths of a split add up to that of the whole swap', () => {
  const pools = ['2', '3', '5'].map((digit) => pair(digit, 'uniswap_v2', [A, B], 7_777n))
  const graph = createPoolGraph(pools, { minTvlUsd: 1_000, poolsPerPair: 8 })
  const quote = quoteOver(graph, 'exact_out')
  assert.equal(quote.route.paths.length, 3)
  const swap = {
    owner: OWNER,
    recipient: OWNER,
    deadline: 1,
    sellsNativeToken: false,
    buysNativeToken: false,
  }
  const { data } = universalCall({ ...swap, quote })
  const [, inputs] = decodeFunctionData({ abi: ROUTER, data }).args
  const types = parseAbiParameters('address, uint256, uint256, address[], bool')
  const limits = inputs.map((input) => decodeAbiParameters(types, input)[2])
  assert.equal(
    limits.reduce((sum, limit) => sum + limit, 0n),
    quote.maxInRaw,
  )
  for (const [index, { amountInRaw }] of quote.route.paths.entries()) {
    assert.ok((limits[index] ?? 0n) >= amountInRaw)
  }
})

test('the reserved recipient addresses of the Universal Router are detected', () => {
  for (const digit of ['0', '1', '2']) assert.ok(isRouterWord(`0x${digit.padStart(40, '0')}`))
  assert.ok(!isRouterWord(`0x${'3'.padStart(40, '0')}`))
  assert.ok(!isRouterWord(OWNER))
})

test('each chain with a Universal Router has factories of its protocols', () => {
  const rows: readonly ProtocolRow[] = PROTOCOLS
  for (const [chain, { router, permit2 }] of Object.entries(UNIVERSAL_ROUTERS)) {
    for (const address of [router, permit2]) assert.match(address, /^0x[0-9a-f]{40}$/)
    for (const id of UNIVERSAL_PROTOCOLS) {
      assert.ok(rows.find((row) => row.id === id)?.factories[chain], `${id} on ${chain}`)
    }
    assert.ok(!DEX_ROUTERS.some(({ routers }) => routers[chain] === router))
  }
})

test('the configuration names another Universal Router, and a venue narrows it', () => {
  const own = { router: A, permit2: B }
  const extra = { factories: [], quotes: [], referencePools: [], replace: true }
  assert.equal(universalVenue('eth', extra), undefined)
  assert.equal(universalVenue('zksync', undefined), undefined)
  const venue = universalVenue('eth', { ...extra, universalRouter: own })
  assert.ok(venue)
  assert.equal(venue.router, A)
  assert.deepEqual(withinVenues(venue, new Set(['uniswap_v3']))?.protocols, ['uniswap_v3'])
  assert.equal(withinVenues(venue, new Set(['sushiswap_v2'])), undefined)
  assert.throws(() => parseRouterChoice('any'), { faultName: 'INVALID_PARAMETER' })
})
