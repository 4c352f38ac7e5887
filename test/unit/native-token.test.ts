import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainExtra } from '../../core/config/settings.ts'
import { nativeFormOf, nativeTokensOf } from '../../core/prices/native-token.ts'
import { CHAINS, type ChainId } from '../../schemas/chains.ts'
import { packetToken } from '../../serving/http/red-packet-transactions.ts'

const PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
const OWN_WRAPPED = `0x${'7e'.repeat(20)}`
const TOKEN = `0x${'7f'.repeat(20)}`

/** A market of one's own, as for a local node: what wraps the native token is another contract. */
const REPLACED: ChainExtra = {
  factories: [],
  referencePools: [],
  quotes: [{ kind: 'native', symbol: 'WLOCAL', decimals: 18, address: OWN_WRAPPED }],
  replace: true,
}

const NATIVE: Readonly<Record<ChainId, readonly string[]>> = {
  sol: ['SOL', 'Solana', 'So11111111111111111111111111111111111111111'],
  eth: ['ETH', 'eth', 'Ether', `0x${'0'.repeat(40)}`],
  bsc: ['BNB', 'bnb'],
  base: ['ETH'],
  polygon: ['POL', 'MATIC', 'matic', '0x0000000000000000000000000000000000001010'],
  arbitrum: ['ETH'],
  optimism: ['ETH', '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0000'],
  avalanche: ['AVAX', 'Avalanche'],
  zksync: ['ETH', '0x000000000000000000000000000000000000800a'],
  sui: ['SUI', '0x2::sui::SUI'],
}
const WRAPPED: Readonly<Record<Exclude<ChainId, 'sui'>, readonly string[]>> = {
  sol: ['WSOL', 'Wrapped SOL'],
  eth: ['WETH', 'Wrapped Ether'],
  bsc: ['WBNB'],
  base: ['WETH'],
  polygon: ['WPOL', 'WMATIC', 'wmatic'],
  arbitrum: ['WETH'],
  optimism: ['WETH'],
  avalanche: ['WAVAX'],
  zksync: ['WETH'],
}

test('the native token of a chain is known under its names and addresses, former ones included', () => {
  for (const [id, texts] of Object.entries(NATIVE)) {
    for (const text of texts)
      assert.equal(nativeFormOf(CHAINS[id as ChainId], text), 'native', text)
  }
  for (const [id, texts] of Object.entries(WRAPPED)) {
    const row = CHAINS[id as ChainId]
    for (const text of [...texts, row.wrappedNative]) {
      assert.equal(nativeFormOf(row, text), 'wrapped', `${id} ${text}`)
    }
  }
  for (const row of Object.values(CHAINS)) {
    const isEvm = row.vm === 'evm'
    assert.equal(nativeFormOf(row, PLACEHOLDER.toLowerCase()), isEvm ? 'native' : undefined)
    for (const text of ['USDC', 'WBTC', TOKEN, '', ...row.quotes.map(({ address }) => address)]) {
      if (text !== row.wrappedNative) assert.equal(nativeFormOf(row, text), undefined, text)
    }
  }
  assert.equal(nativeFormOf(CHAINS.eth, 'MATIC'), undefined, 'a token of another chain')
})

test('a configured contract wraps the native token too', () => {
  assert.equal(nativeFormOf(CHAINS.eth, OWN_WRAPPED), undefined)
  for (const text of [OWN_WRAPPED, 'WLOCAL', CHAINS.eth.wrappedNative]) {
    assert.equal(nativeFormOf(CHAINS.eth, text, REPLACED), 'wrapped', text)
  }
})

test('transfers of the native token are looked for in the form that was named first', () => {
  const { nativeAddress, wrappedNative } = CHAINS.polygon
  assert.deepEqual(nativeTokensOf('polygon', 'MATIC'), [nativeAddress, wrappedNative])
  assert.deepEqual(nativeTokensOf('polygon', 'WMATIC'), [wrappedNative, nativeAddress])
  assert.deepEqual(nativeTokensOf('polygon', 'POL', REPLACED), [
    ...[nativeAddress, OWN_WRAPPED, wrappedNative],
  ])
  assert.deepEqual(nativeTokensOf('polygon', wrappedNative, REPLACED), [
    ...[wrappedNative, OWN_WRAPPED, nativeAddress],
  ])
  assert.deepEqual(nativeTokensOf('sui', 'SUI'), [CHAINS.sui.nativeAddress])
  assert.deepEqual(nativeTokensOf('polygon', 'USDC'), [])
})

test('a red packet is paid in the native token under each of its names and addresses', () => {
  for (const mint of [...NATIVE.polygon, ...WRAPPED.polygon, PLACEHOLDER]) {
    assert.equal(packetToken('polygon', mint), null, mint)
  }
  const checksummed = '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270'
  assert.equal(packetToken('polygon', checksummed), null)
  assert.equal(packetToken('polygon', TOKEN.toUpperCase().replace('0X', '0x')), TOKEN)
  assert.equal(packetToken('eth', OWN_WRAPPED), OWN_WRAPPED)
  assert.equal(packetToken('eth', OWN_WRAPPED, REPLACED), null)
  for (const mint of ['USDC', '', '0x12', 'MATIC']) {
    assert.throws(() => packetToken('eth', mint), { faultName: 'INVALID_TOKEN_ADDRESS' }, mint)
  }
})
