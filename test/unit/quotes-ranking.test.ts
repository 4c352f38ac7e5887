import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orient, quoteBook } from '../../core/prices/quote-assets.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { COIN, DAI, USDC, WBTC, WETH } from '../support/hand-chain.ts'
import { BOOK } from '../support/quote-trades.ts'

const OTHER = '0x00000000000000000000000000000000000000d9'

for (const [name, one, two, base] of [
  ['a coin against a stable', COIN, USDC, COIN],
  ['a coin against the native token', COIN, WETH, COIN],
  ['a coin against bitcoin', COIN, WBTC, COIN],
  ['bitcoin against the native token', WBTC, WETH, WBTC],
  ['the native token against a stable', WETH, USDC, WETH],
  ['two stables: the smaller address', USDC, DAI, DAI],
  ['two coins: the smaller address', OTHER, COIN, COIN],
] as const) {
  test(`base of ${name} follows from the pair alone`, () => {
    const quote = base === one ? two : one
    assert.deepEqual(orient(one, two, BOOK), { base, quote })
    assert.deepEqual(orient(two, one, BOOK), { base, quote })
  })
}

test('extra quotes join the chain table, or replace it', () => {
  const row = { address: COIN, symbol: 'USDX', decimals: 9, kind: 'stable' } as const
  const extra = { factories: [], quotes: [row], referencePools: [], replace: false }
  assert.equal(orient(WETH, COIN, quoteBook(CHAINS.eth, extra)).quote, COIN)
  const only = quoteBook(CHAINS.eth, { ...extra, replace: true })
  assert.deepEqual([...only.assets.keys()], [COIN])
  const native = { ...row, address: OTHER, kind: 'native' } as const
  const local = quoteBook(CHAINS.eth, { ...extra, quotes: [row, native], replace: true })
  assert.equal(local.native, OTHER)
})
