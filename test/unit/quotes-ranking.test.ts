import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeQuoteAssets, orientPair } from '../../core/prices/quote-assets.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { DAI, TOKEN, USDC, WBTC, WETH } from '../support/builders/evm-block.ts'
import { QUOTE_ASSETS } from '../support/builders/quote-trade.ts'

const OTHER = '0x00000000000000000000000000000000000000d9'

for (const [name, one, two, base] of [
  ['a coin against a stable', TOKEN, USDC, TOKEN],
  ['a coin against the native token', TOKEN, WETH, TOKEN],
  ['a coin against bitcoin', TOKEN, WBTC, TOKEN],
  ['bitcoin against the native token', WBTC, WETH, WBTC],
  ['the native token against a stable', WETH, USDC, WETH],
  ['two stables: the smaller address', USDC, DAI, DAI],
  ['two coins: the smaller address', OTHER, TOKEN, TOKEN],
] as const) {
  test(`the base token of ${name} follows from the pair alone`, () => {
    const quote = base === one ? two : one
    assert.deepEqual(orientPair(one, two, QUOTE_ASSETS), { base, quote })
    assert.deepEqual(orientPair(two, one, QUOTE_ASSETS), { base, quote })
  })
}

test('extra quote assets are added to the chain table, or replace it', () => {
  const row = { address: TOKEN, symbol: 'USDX', decimals: 9, kind: 'stable' } as const
  const extra = { factories: [], quotes: [row], referencePools: [], replace: false }
  assert.equal(orientPair(WETH, TOKEN, makeQuoteAssets(CHAINS.eth, extra)).quote, TOKEN)
  const only = makeQuoteAssets(CHAINS.eth, { ...extra, replace: true })
  assert.deepEqual([...only.assets.keys()], [TOKEN])
  const native = { ...row, address: OTHER, kind: 'native' } as const
  const local = makeQuoteAssets(CHAINS.eth, { ...extra, quotes: [row, native], replace: true })
  assert.equal(local.native, OTHER)
})
