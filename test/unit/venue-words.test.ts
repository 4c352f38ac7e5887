import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChainMarket } from '../../serving/dex/chain-market.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolGraph } from '../../serving/dex/pool-graph.ts'
import { chainVenues } from '../../serving/dex/quotable-protocols.ts'
import { filterGraph, parseVenue } from '../../serving/dex/venue-words.ts'
import { readOrder } from '../../serving/http/dex-route.ts'

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const market = createChainMarket('eth', undefined)
assert.ok(market)

const order = (dex: string) =>
  readOrder(
    market,
    {
      dex,
      userAddress: `0x${'11'.repeat(20)}`,
      amount: '5',
      inputMint: WETH,
      outputMint: USDC,
    },
    1_000,
  )

test('auto means every venue of its chain, on EVM chains kyberswap too, on Solana jupiter', () => {
  const words = (vm: 'evm' | 'svm') =>
    ['auto', 'kyberswap', 'jupiter'].map((word) => {
      try {
        return parseVenue(word, vm, market.venues)
      } catch (error) {
        return (error as { readonly faultName?: string }).faultName
      }
    })
  assert.deepEqual(words('evm'), [undefined, undefined, 'DEX_NOT_FOUND'])
  assert.deepEqual(words('svm'), [undefined, 'DEX_NOT_FOUND', undefined])
})

test('an order over auto may use every router of the chain, one over a venue only that of the venue', () => {
  const all = market.routers.map(({ protocol }) => protocol)
  assert.ok(all.includes('uniswap_v2') && all.includes('uniswap_v3') && market.universal)
  for (const dex of ['auto', 'kyberswap']) {
    const { routers, universal } = order(dex)
    assert.deepEqual(
      routers.map(({ protocol }) => protocol),
      all,
    )
    assert.deepEqual(universal?.protocols, market.universal.protocols)
  }
  const { routers, universal } = order('uniswap_v3')
  assert.deepEqual(
    routers.map(({ protocol }) => protocol),
    ['uniswap_v3'],
  )
  assert.deepEqual(universal?.protocols, ['uniswap_v3'])
})

test('a venue whose pools only a node knows is quotable where the chain has one', () => {
  const wanted = (readsAccounts: boolean) =>
    parseVenue('orca_whirlpool', 'svm', venuesOf(readsAccounts))
  const venuesOf = (readsAccounts: boolean) => chainVenues('sol', undefined, readsAccounts)
  assert.deepEqual(wanted(true), new Set(['orca_whirlpool']))
  assert.throws(() => wanted(false), { faultName: 'DEX_NOT_SUPPORTED' })
  assert.ok(venuesOf(false).quotable.has('raydium_cpmm'))
})

test('pools of a named venue are found behind deeper ones of others', () => {
  const pool = (address: string, protocol: string, tvlUsd: number): Pool => ({
    kind: 'constant_product',
    address,
    protocol,
    tokens: [USDC, WETH],
    feePips: 3_000,
    tvlUsd,
    reserves: [10n ** 15n, 10n ** 15n],
  })
  const deep = Array.from({ length: 8 }, (_, index) => pool(`deep${index}`, 'sushiswap_v2', 2_000))
  const all = [...deep, pool('wanted', 'uniswap_v2', 1_500)]
  const graph = createPoolGraph(all, { minTvlUsd: 1_000, poolsPerPair: 8 })
  const named = (wanted: string) =>
    filterGraph(graph, ({ protocol }) => protocol === wanted).poolsOf(USDC, WETH)
  assert.deepEqual(
    named('uniswap_v2').map(({ address }) => address),
    ['wanted'],
  )
  assert.equal(named('sushiswap_v2').length, 8)
  const twice = filterGraph(
    filterGraph(graph, ({ protocol }) => protocol === 'uniswap_v2'),
    ({ address }) => address !== 'wanted',
  )
  assert.deepEqual(twice.poolsOf(USDC, WETH), [])
})
