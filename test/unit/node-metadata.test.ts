import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resetPricesAfterGap } from '../../core/prices/fold-block.ts'
import { MAX_PRICE_AGE_MS, quoteAssetPricesAt } from '../../core/prices/quote-assets.ts'
import { EMPTY_QUOTE_STATE } from '../../core/prices/quote-state.ts'
import { fetchMissing } from '../../ingestors/decode/metadata-reader.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { seedPricesFromPools } from '../../ingestors/decode/seed-prices.ts'
import type { Call, CallAnswer, StateReader } from '../../ingestors/evm/abi/call.ts'
import { nodeMetadataReader } from '../../ingestors/evm/metadata/reader.ts'
import { CHAINS } from '../../schemas/chains.ts'
import {
  buildEvmBlock,
  buildPoolMetadata,
  FACTORY,
  TOKEN,
  TOKEN_POOL,
  USDC,
  WBTC,
  WETH,
} from '../support/builders/evm-block.ts'
import { blockTimeMs, QUOTE_ASSETS } from '../support/builders/quote-trade.ts'

const word = (value: bigint | string): string => BigInt(value).toString(16).padStart(64, '0')
const value = (...words: readonly (bigint | string)[]): CallAnswer => ({
  kind: 'value',
  data: `0x${words.map(word).join('')}`,
})
const reverted: CallAnswer = { kind: 'reverted' }
const noState: CallAnswer = { kind: 'no-state' }
const { signal } = new AbortController()
const protocols = protocolRegistry('eth')
const block = buildEvmBlock({ height: 100 }, [])
const nothing = { token: () => undefined, pool: () => undefined }

/** A node whose answers are a table by contract and selector; it keeps what it was asked. */
const node = (answers: Readonly<Record<string, CallAnswer>>, fallback: CallAnswer = reverted) => {
  const asked: { readonly calls: readonly Call[]; readonly hash: string }[] = []
  const reader: StateReader = {
    calls: async (calls, hash) => {
      asked.push({ calls, hash })
      return calls.map(({ to, data }) => answers[`${to} ${data.slice(0, 10)}`] ?? fallback)
    },
  }
  return { reader, asked }
}

const [TOKEN0 = '', TOKEN1 = ''] = [TOKEN, WETH].sort()
const PROVEN = {
  [`${TOKEN_POOL} 0xc45a0155`]: value(FACTORY),
  [`${TOKEN_POOL} 0x0dfe1681`]: value(TOKEN0),
  [`${TOKEN_POOL} 0xd21220a7`]: value(TOKEN1),
  [`${FACTORY} 0xe6a43905`]: value(TOKEN_POOL),
  [`${TOKEN} 0x313ce567`]: value(9n),
}
const subjects = { pools: [{ address: TOKEN_POOL, family: 'uniswap_v2' }], tokens: [TOKEN] }

test('of 300 new pools in one block 256 are requested, the next block requests the other 44', async () => {
  const pools = Array.from({ length: 300 }, (_, n) => ({
    address: `0x${n.toString(16).padStart(40, '0')}`,
    family: 'uniswap_v2',
  }))
  const { reader } = node({})
  const facts = nodeMetadataReader(reader, protocols)
  const first = await fetchMissing(
    { reader: facts, known: nothing },
    { pools, tokens: [] },
    block,
    signal,
  )
  assert.equal(first.pools.length, 256)
  const byAddress = new Map(first.pools.map((fact) => [fact.address, fact]))
  const known = { ...nothing, pool: (address: string) => byAddress.get(address) }
  const next = buildEvmBlock({ height: 101 }, [])
  const second = await fetchMissing({ reader: facts, known }, { pools, tokens: [] }, next, signal)
  assert.equal(second.pools.length, 44)
})

test('metadata calls use the hash of the block, pools first, then tokens and those of the pools', async () => {
  const { reader, asked } = node(PROVEN)
  const facts = nodeMetadataReader(reader, protocols)
  const learned = await fetchMissing({ reader: facts, known: nothing }, subjects, block, signal)
  assert.deepEqual(learned.pools, [buildPoolMetadata(TOKEN_POOL, TOKEN, WETH)])
  assert.deepEqual(
    learned.tokens.map(({ address, decimals }) => [address, decimals]),
    [
      [TOKEN, 9],
      [WETH, null],
    ],
  )
  assert.ok(asked.every(({ hash }) => hash === block.hash))
})

test('known metadata is not requested again; a revert counts as a stored answer', async () => {
  const { reader, asked } = node({})
  const facts = nodeMetadataReader(reader, protocols)
  const first = await fetchMissing({ reader: facts, known: nothing }, subjects, block, signal)
  assert.deepEqual(
    first.pools.map(({ verified, tokenA }) => [verified, tokenA]),
    [[false, '']],
  )
  assert.deepEqual(
    first.tokens.map(({ decimals, name }) => [decimals, name]),
    [[null, null]],
  )
  const known = { token: () => first.tokens[0], pool: () => first.pools[0] }
  const before = asked.length
  assert.deepEqual(await fetchMissing({ reader: facts, known }, subjects, block, signal), {
    pools: [],
    tokens: [],
  })
  assert.equal(asked.length, before)
})

test('without the state of a block no metadata is stored, and the node is queried again 64 blocks later', async () => {
  const { reader, asked } = node({}, noState)
  const facts = nodeMetadataReader(reader, protocols)
  const at = (height: number) =>
    fetchMissing({ reader: facts, known: nothing }, subjects, buildEvmBlock({ height }, []), signal)
  assert.deepEqual(await at(100), { pools: [], tokens: [] })
  const calls = () => asked.reduce((sum, { calls: { length } }) => sum + length, 0)
  const once = calls()
  await at(163)
  assert.equal(calls(), once)
  await at(164)
  assert.equal(calls(), 2 * once)
})

test('seed prices come from reserves and from square root prices, in whole tokens', async () => {
  const [v3, v2, btc] = CHAINS.eth.referencePools
  // USDC is token 0: raw WETH per raw USDC at 2,500 USD is 1e18 / 2.5e9 = 4e8, its root is 2e4.
  const root = 20_000n << 96n
  const { reader } = node({
    [`${v3.pool} 0x3850c7bd`]: value(root, 0n),
    [`${v2.pool} 0x0902f1ac`]: value(9_000_000n * 10n ** 6n, 3_000n * 10n ** 18n, 0n),
  })
  const at = { hash: block.parentHash, timeMs: blockTimeMs(1), signal }
  const all = await seedPricesFromPools(reader, [v3, v2, btc], QUOTE_ASSETS, at)
  assert.deepEqual(
    all.map(({ token, quote, price }) => [token, quote, Math.round(price)]),
    [[WETH, USDC, 2_500]],
    'the first pool that answers counts',
  )
  const [only] = await seedPricesFromPools(reader, [v2], QUOTE_ASSETS, at)
  assert.equal(Math.round(only?.price ?? 0), 3_000)
  const stamp = quoteAssetPricesAt(
    resetPricesAfterGap(EMPTY_QUOTE_STATE, 2, all),
    blockTimeMs(1) + MAX_PRICE_AGE_MS,
    QUOTE_ASSETS,
  )
  assert.equal(Math.round(stamp.get(WETH)?.usd ?? 0), 2_500)
  assert.equal(stamp.get(WBTC)?.usd, null)
})

test('pools of every family with reserves give seed prices', async () => {
  const [, v2] = CHAINS.eth.referencePools
  const at = { hash: block.parentHash, timeMs: blockTimeMs(1), signal }
  const { reader } = node({
    [`${v2.pool} 0x0902f1ac`]: value(9_000_000n * 10n ** 6n, 3_000n * 10n ** 18n),
  })
  for (const protocol of ['uniswap_v2', 'aerodrome', 'syncswap', 'lfj_v1']) {
    const [only] = await seedPricesFromPools(reader, [{ ...v2, protocol }], QUOTE_ASSETS, at)
    assert.equal(Math.round(only?.price ?? 0), 3_000, protocol)
  }
})

test('an empty, missing or unrelated reference pool gives no seed price', async () => {
  const [, v2] = CHAINS.eth.referencePools
  const at = { hash: block.parentHash, timeMs: blockTimeMs(1), signal }
  const empty = node({ [`${v2.pool} 0x0902f1ac`]: value(0n, 0n, 0n) })
  assert.deepEqual(await seedPricesFromPools(empty.reader, [v2], QUOTE_ASSETS, at), [])
  const short = node({ [`${v2.pool} 0x0902f1ac`]: { kind: 'value', data: '0x' } })
  assert.deepEqual(await seedPricesFromPools(short.reader, [v2], QUOTE_ASSETS, at), [])
  const coin = { ...v2, token: TOKEN }
  assert.deepEqual(await seedPricesFromPools(node({}).reader, [coin], QUOTE_ASSETS, at), [])
})
