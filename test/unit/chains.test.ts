import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { flashblocksUrl } from '../../core/config/flashblocks-settings.ts'
import { loadConfig } from '../../core/config/load.ts'
import {
  CHAIN_ID_BY_NAME,
  CHAINS,
  type ChainRow,
  canSimulate,
  chainRow,
  maxReorgBlocks,
  nativeTokenName,
  SIMULATED_CHAINS,
  signInChains,
  type Vm,
} from '../../schemas/chains.ts'
import { feedsOfChain } from '../../schemas/feeds.ts'
import { PREDICTION_CHAIN } from '../../schemas/predictions.ts'
import { PROTOCOLS, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'

const ROWS: readonly ChainRow[] = Object.values(CHAINS)
const PROTOCOL_ROWS: readonly ProtocolRow[] = PROTOCOLS
const ADDRESS = /^0x[0-9a-f]{40}$/
const WIRE = readFileSync(
  new URL('../../schemas/avro/token.holding.TokenHoldingEvents.avsc', import.meta.url),
  'utf8',
)

test('balances of the native token are a feed of every EVM chain, but where a contract logs its transfers', () => {
  const chains = ROWS.filter((row) => feedsOfChain(row, ['coin-balances']).has('coin-balances'))
  const expected = ROWS.filter(({ id, vm }) => vm === 'evm' && id !== 'zksync')
  assert.deepEqual(chains, expected)
  assert.ok(chains.includes(CHAINS.eth))
})

test('rewards of blocks, uncles and prediction markets are feeds of the chains whose rows name them', () => {
  const own = ROWS.flatMap((row) => {
    const feeds = feedsOfChain(row, ['miner-rewards', 'uncles', 'predictions'])
    return feeds.size === 0 ? [] : [[row.id, ...feeds]]
  })
  for (const wanted of [
    ['eth', 'miner-rewards', 'uncles'],
    ['bsc', 'miner-rewards'],
    ['polygon', 'miner-rewards', 'predictions'],
  ])
    assert.ok(
      own.some((one) => one.join() === wanted.join()),
      wanted.join(),
    )
  for (const { id } of ROWS.filter(({ feeds }) => feeds.length === 0))
    assert.ok(!own.some(([chain]) => chain === id), id)
})

const NETWORKS: Readonly<Record<Vm, (row: ChainRow) => readonly string[]>> = {
  evm: ({ id }) => [id],
  svm: ({ id, name }) => [name.toLowerCase(), id],
  move: () => [],
}

test('contracts of one EVM chain are asked for signatures: the one that messages of wallets name', () => {
  assert.deepEqual(
    signInChains('evm').map(({ chainId, signInNames }) => [String(chainId), ...signInNames]),
    [['8453', '8453']],
  )
})

test('Solana and Ethereum can be simulated, and no other word can', () => {
  assert.deepEqual(
    SIMULATED_CHAINS.map(({ id }) => id),
    ['sol', 'eth'],
  )
  const words = [...ROWS.map(({ id }) => id), 'ethereum', 'constructor', '']
  assert.deepEqual(words.filter(canSimulate), ['sol', 'eth'])
})

for (const row of ROWS) {
  test(`${row.name}: names, wire symbol and finality agree with each other`, () => {
    assert.equal(CHAINS[row.id as keyof typeof CHAINS], row)
    for (const word of [row.id, row.apiName, ...row.aliases])
      assert.equal(CHAIN_ID_BY_NAME[word], row.id)
    assert.ok(WIRE.includes(`"${row.wire}"`), row.wire)
    assert.deepEqual(row.networks, NETWORKS[row.vm](row))
    assert.equal(row.chainId === undefined, row.vm !== 'evm')
    assert.ok(row.finalityDepth <= row.reorgWindow, 'what is not final can be taken back')
    assert.ok(maxReorgBlocks(row) >= row.reorgWindow, 'the window grows while finality lags')
    assert.ok(maxReorgBlocks(row) <= 16_384, 'and is bounded')
    assert.ok(row.publicRpc.length > 0 && row.publicRpc.every((url) => /^(wss|https):/.test(url)))
  })

  test(`${row.name}: quote assets hold the wrapped native token once, reference pools price one in a better one`, () => {
    const ranks = { stable: 3, native: 2, btc: 1 }
    const quotes = new Map(row.quotes.map((quote) => [quote.address, quote]))
    assert.equal(quotes.size, row.quotes.length, 'no address twice')
    const natives = row.quotes.filter(({ kind }) => kind === 'native')
    assert.deepEqual(
      natives.map(({ address, decimals }) => [address, decimals]),
      [[row.wrappedNative, row.nativeDecimals]],
    )
    for (const { pool, token, quote, protocol } of row.referencePools) {
      const [priced, pays] = [quotes.get(token), quotes.get(quote)]
      assert.ok(priced && pays && ranks[pays.kind] > ranks[priced.kind], pool)
      assert.ok(protocolRow(protocol)?.factories[row.id], `${protocol} is on ${row.id}`)
    }
    if (row.vm !== 'evm') return
    for (const address of [
      row.wrappedNative,
      row.nativeAddress,
      ...quotes.keys(),
      ...row.referencePools.map(({ pool }) => pool),
    ]) {
      assert.match(address, ADDRESS)
    }
  })
}

test('a chain name belongs to one chain, and inherited object properties are not names', () => {
  const words = ROWS.flatMap((row) => [...new Set([row.id, row.apiName, ...row.aliases])])
  assert.equal(new Set(words).size, words.length)
  assert.equal(CHAIN_ID_BY_NAME.ethereum, 'eth')
  for (const word of ['constructor', '__proto__', 'toString', 'ETH', '']) {
    assert.equal(CHAIN_ID_BY_NAME[word], undefined, word)
    assert.equal(chainRow(word), undefined, word)
  }
})

test('chain ids and wire symbols name one chain each', () => {
  for (const key of ['chainId', 'wire', 'networks', 'signInNames', 'screeningNetwork'] as const) {
    const values = ROWS.flatMap((row) => row[key] ?? [])
    assert.equal(new Set(values).size, values.length, key)
  }
})

test('a factory belongs to one protocol, on chains that are known, in lower case', () => {
  const seen = new Map<string, string>()
  for (const { id, factories } of PROTOCOL_ROWS) {
    for (const [chain, addresses] of Object.entries(factories)) {
      const row = CHAINS[chain as keyof typeof CHAINS]
      for (const address of addresses) {
        if (row?.vm === 'evm') assert.match(address, ADDRESS, id)
        assert.equal(seen.get(`${chain} ${address}`), undefined, `${address} is not ${id} alone`)
        seen.set(`${chain} ${address}`, id)
      }
    }
  }
})

test('the native token of every chain and its wrapped form have a name and a symbol, other tokens do not', () => {
  for (const row of ROWS) {
    const [coin, wrapped] = [row.nativeAddress, row.wrappedNative].map((address) =>
      nativeTokenName(row, address),
    )
    assert.ok(coin?.name && wrapped?.name, row.id)
    const decimals = row.nativeDecimals
    assert.deepEqual([coin.decimals, wrapped.decimals], [decimals, decimals], row.id)
    assert.equal(coin.symbol, row.nativeSymbol)
    const quote = row.quotes.find(({ kind }) => kind === 'native')
    assert.equal(wrapped.symbol, quote?.symbol, row.id)
  }
  const symbolsOf = (row: ChainRow): readonly (string | undefined)[] =>
    [row.nativeAddress, row.wrappedNative].map((address) => nativeTokenName(row, address)?.symbol)
  assert.deepEqual(symbolsOf(CHAINS.sol), ['SOL', 'SOL'])
  assert.deepEqual(symbolsOf(CHAINS.eth), ['ETH', 'WETH'])
  assert.deepEqual(symbolsOf(CHAINS.polygon), ['POL', 'WPOL'])
  assert.deepEqual(symbolsOf(CHAINS.sui), ['SUI', 'SUI'])
  assert.equal(nativeTokenName(CHAINS.eth, '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'), undefined)
})

test('one chain has prediction markets: the routes that read them name none', () => {
  const having = ROWS.filter(({ feeds }) => feeds.includes('predictions'))
  assert.deepEqual(
    having.map(({ id }) => id),
    [PREDICTION_CHAIN],
  )
})

test('each chain with a stream of pre-confirmed blocks has a setting for its address', () => {
  const config = loadConfig({ FLASHBLOCKS_URL_BASE: 'wss://flash.example/ws' })
  const followed = ROWS.filter(({ id }) => flashblocksUrl(config, id) !== '')
  assert.deepEqual(
    followed.map(({ id, preconfirmedStream }) => [id, preconfirmedStream]),
    [['base', 'flashblocks']],
  )
})
