import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BURN_ADDRESSES } from '../../schemas/burn-addresses.ts'
import { marketDataBody } from '../../serving/http/token-body.ts'
import { walletHoldersQuery } from '../../serving/queries/holders.ts'
import { type TokenRow, tokensQuery } from '../../serving/queries/tokens.ts'

const row = (more: Partial<TokenRow>): TokenRow => ({
  ...({ holders: null, groups: {} } as TokenRow),
  decimals: 6,
  total_supply: '1000000000',
  market_supply: null,
  burnt_amount: '',
  price_usd: 2,
  price_native: 0.5,
  migrated_at_ms: null,
  curve_progress: null,
  ...more,
})

test('market cap uses the circulating supply, fully diluted value the total supply', () => {
  const { totalSupply, circulatingSupply, marketCapInUsd, marketCapInSol, fdvInUsd, fdvInSol } =
    marketDataBody(row({ burnt_amount: '250000000' }))
  assert.deepEqual([totalSupply, circulatingSupply], ['1000', '750'])
  assert.deepEqual([marketCapInUsd, marketCapInSol], ['1500', '375'])
  assert.deepEqual([fdvInUsd, fdvInSol], ['2000', '500'])
})

test('without burns the whole supply circulates; more burns than supply give 0, an unknown supply null', () => {
  assert.equal(marketDataBody(row({ market_supply: '12.5' })).circulatingSupply, '12.5')
  assert.equal(marketDataBody(row({ burnt_amount: null })).circulatingSupply, '1000')
  assert.equal(marketDataBody(row({ burnt_amount: '2000000000' })).circulatingSupply, '0')
  const unknown = row({ total_supply: null, burnt_amount: '5' })
  assert.equal(marketDataBody(unknown).circulatingSupply, null)
})

test('burn addresses of the queries depend on the chain', () => {
  for (const [chain, burnt] of [
    ['sol', BURN_ADDRESSES.svm],
    ['eth', BURN_ADDRESSES.evm],
  ] as const) {
    assert.deepEqual(tokensQuery(chain, ['T']).params?.burnt, burnt)
    assert.deepEqual(walletHoldersQuery(chain, 'T', ['W']).params?.burnt, burnt)
  }
})
