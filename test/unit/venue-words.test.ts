import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChainMarket } from '../../serving/dex/chain-market.ts'
import { chainVenues } from '../../serving/dex/quotable-protocols.ts'
import { parseVenue } from '../../serving/dex/venue-words.ts'
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
