/** Quotes that a transaction of Solana can carry out: an instruction names what it sells, so what lies between two pools is certain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolGraph } from '../../serving/dex/pool-graph.ts'
import { maxAmountIn, minAmountOut } from '../../serving/dex/route.ts'
import { type SolanaQuoteOrder, solanaQuotes } from '../../serving/dex/solana-quotes.ts'
import { WRAPPED_SOL } from '../../serving/dex/solana-venues.ts'
import { addressFor } from '../support/builders/svm-block.ts'

const SOL = 1_000_000_000n
const [MINT, HUB, OWNER] = ['mint', 'hub', 'owner'].map(addressFor) as [string, string, string]

const poolOf = (
  name: string,
  tokens: readonly [string, string],
  reserves: readonly [bigint, bigint],
  protocol = 'raydium_cpmm',
): Pool => ({
  kind: 'fee_on_input',
  address: addressFor(name),
  protocol,
  feePips: 2_500,
  tokens,
  tvlUsd: 1_000_000,
  reserves,
})

const DEEP = 10n ** 15n
/** Over the hub 1,000 units are had for one of SOL, and by the pool of both tokens a part of that. */
const overHub = [
  poolOf('sol hub', [WRAPPED_SOL, HUB], [DEEP, 10n * DEEP]),
  poolOf('hub mint', [HUB, MINT], [DEEP, 100n * DEEP]),
]
const direct = (reserveOut: bigint, protocol?: string): Pool =>
  poolOf('direct', [WRAPPED_SOL, MINT], [DEEP, reserveOut], protocol)

const quotesOf = (pools: readonly Pool[], asked: Partial<SolanaQuoteOrder> = {}) => {
  const graph = createPoolGraph(pools, { minTvlUsd: 0, poolsPerPair: 8 })
  return solanaQuotes(
    { graph, hubs: new Set([HUB]) },
    {
      request: {
        tokenIn: WRAPPED_SOL,
        tokenOut: MINT,
        mode: 'exact_in',
        amountRaw: 12_345_678_901n,
      },
      slippageBps: 500,
      wanted: undefined,
      owner: OWNER,
      recipient: OWNER,
      ...asked,
    },
  )
}

const EXACT_OUT = {
  request: { tokenIn: WRAPPED_SOL, tokenOut: MINT, mode: 'exact_out', amountRaw: 7n * SOL },
} as const

test('the second pool sells what the first gives at least, half a percent of slippage between them', () => {
  const [quote] = quotesOf(overHub)
  const [first, second] = quote?.route.paths[0]?.hops ?? []
  assert.ok(quote && first && second)
  assert.equal(second.amountInRaw, minAmountOut(first.amountOutRaw, 50))
  assert.equal(quote.route.amountOutRaw, second.amountOutRaw)
  assert.equal(quote.minOutRaw, minAmountOut(second.amountOutRaw, 500))
  assert.equal(quote.maxInRaw, 12_345_678_901n)
})

test('for an exact output the first pool gives what the second takes at most', () => {
  const [quote] = quotesOf(overHub, EXACT_OUT)
  const [first, second] = quote?.route.paths[0]?.hops ?? []
  assert.ok(quote && first && second)
  assert.equal(first.amountOutRaw, maxAmountIn(second.amountInRaw, 50))
  assert.equal(second.amountOutRaw, 7n * SOL)
  assert.equal(quote.maxInRaw, maxAmountIn(first.amountInRaw, 500))
  assert.equal(quote.minOutRaw, 7n * SOL)
})

test('where the whole swap may slip less than half a percent, so may each part of it', () => {
  const [quote] = quotesOf(overHub, { slippageBps: 10 })
  const [first, second] = quote?.route.paths[0]?.hops ?? []
  assert.equal(second?.amountInRaw, minAmountOut(first?.amountOutRaw ?? 0n, 10))
})

test('one pool is preferred to two that give more only before what stays between them', () => {
  const hopsOf = (reserveOut: bigint) =>
    quotesOf([...overHub, direct(reserveOut)])[0]?.route.paths.map(({ hops }) => hops.length)
  // A pool that gives 0.6 % less than both others, whose two fees and half a percent between them cost more.
  assert.deepEqual(hopsOf((1_000n * DEEP * 994n) / 1_000n), [1])
  assert.deepEqual(hopsOf((1_000n * DEEP * 980n) / 1_000n), [2])
})

test('a split names a limit for each path, and smaller routes follow it', () => {
  const shallow = 20_000n * SOL
  const pools = [1, 2].map((number) =>
    poolOf(`split ${number}`, [WRAPPED_SOL, MINT], [shallow, shallow]),
  )
  const asked = { request: { ...quotesOfSplit, amountRaw: 2_000n * SOL } }
  const quotes = quotesOf(pools, asked)
  assert.deepEqual(
    quotes.map(({ route }) => route.paths.length),
    [2, 1, 1],
  )
  const [best] = quotes
  assert.equal(
    best?.minOutRaw,
    best?.route.paths.reduce((sum, path) => sum + minAmountOut(path.amountOutRaw, 500), 0n),
  )
})

const quotesOfSplit = { tokenIn: WRAPPED_SOL, tokenOut: MINT, mode: 'exact_in' } as const

test('another wallet is paid over one pool alone, and where no pool can pay it the reason is named', () => {
  const recipient = addressFor('recipient')
  const [quote, ...others] = quotesOf([...overHub, direct(900n * DEEP)], { recipient })
  assert.equal(others.length, 0)
  assert.deepEqual(
    quote?.route.paths.map(({ hops }) => hops.length),
    [1],
  )
  assert.throws(
    () => quotesOf([...overHub, direct(900n * DEEP, 'pumpswap')], { recipient }),
    (error) => error instanceof Fault && error.faultName === 'NOT_IMPLEMENTED',
  )
})

test('pools that no transaction can be built for, or that were not asked for, are passed over', () => {
  const other = [...overHub, direct(2_000n * DEEP, 'uniswap_v2')]
  assert.equal(quotesOf(other)[0]?.route.paths[0]?.hops.length, 2)
  const wanted = new Set(['raydium_amm_v4'])
  assert.throws(
    () => quotesOf([...overHub, direct(900n * DEEP)], { wanted }),
    (error) => error instanceof Fault && error.faultName === 'DEX_ROUTE_BUILD_FAILED',
  )
})
