import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { base58Encode } from '../../core/base58.ts'
import { envExample } from '../../core/config/env-example.ts'
import { ConfigError } from '../../core/config/errors.ts'
import { loadConfig } from '../../core/config/load.ts'
import { ed25519PublicKey } from '../../core/ed25519.ts'

test('defaults need no environment', () => {
  const config = loadConfig({})
  assert.equal(config.port, 8080)
  assert.deepEqual(config.chains, ['eth'])
})

test('command-line options override the environment', () => {
  assert.equal(loadConfig({ PORT: '9000' }, { port: 9001 }).port, 9001)
})

test('five mistakes are reported together', () => {
  const wrong = {
    PORT: 'eighty',
    LOG_LEVEL: 'loud',
    KAFKA_BROKERS: 'broker',
    RPC_URLS: 'ftp://x',
    CHAIN_EXTRA: '{not json',
  }
  assert.throws(
    () => loadConfig(wrong),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      const variables = new Set(error.problems.map(({ variable }) => variable))
      for (const name of Object.keys(wrong)) assert.ok(variables.has(name), `${name} not reported`)
      return true
    },
  )
})

test('brokers without a registry are refused', () => {
  assert.throws(() => loadConfig({ KAFKA_BROKERS: '127.0.0.1:9092' }), /SCHEMA_REGISTRY_URL/)
})

test('a secret does not print', () => {
  const config = loadConfig({ KEY_PEPPER: 'hush' })
  assert.equal(JSON.stringify({ pepper: config.keyPepper }), '{"pepper":"[redacted]"}')
  assert.equal(config.keyPepper.reveal(), 'hush')
})

test('.env.example lists every setting with its default', () => {
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
  assert.equal(text, envExample())
})

test('a price under a key that is not a token address is refused by its name', () => {
  const good = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
  assert.deepEqual(loadConfig({ PRICES_STATIC: `{"${good}":2}` }).pricesStatic, { [good]: 2 })
  for (const key of ['WETH', good.toUpperCase()]) {
    assert.throws(
      () => loadConfig({ PRICES_STATIC: `{"${good}":2,"${key}":3}` }),
      (error: unknown) =>
        error instanceof ConfigError &&
        /PRICES_STATIC/.test(error.message) &&
        error.message.includes(`"${key}"`),
    )
  }
})

test('JSON of a setting nests no deeper than other JSON from outside', () => {
  const levels = 49_000
  const nested = `{"eth":${'['.repeat(levels)}${']'.repeat(levels)}}`
  for (const text of [nested, '{"eth":']) {
    assert.throws(
      () => loadConfig({ PRICES_STATIC: text }),
      (error: unknown) =>
        error instanceof ConfigError && /PRICES_STATIC.*is not JSON/.test(String(error.message)),
    )
  }
})

test('an override of the wrong type is reported as a configuration mistake at any depth', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
  assert.throws(
    () => loadConfig({}, { port: deep }),
    (error: unknown) => error instanceof ConfigError && / PORT: .*not \[/.test(error.message),
  )
})

test('a storage for uploads has an address and credentials, or there is none', () => {
  const storage = {
    IPFS_UPLOAD_URL: 'https://storage.example.com/bucket/',
    IPFS_UPLOAD_KEY_ID: 'key-id',
    IPFS_UPLOAD_SECRET: 'secret',
  }
  assert.equal(loadConfig({}).ipfsUploadUrl, '')
  assert.equal(loadConfig(storage).ipfsUploadSecret.reveal(), 'secret')
  for (const name of Object.keys(storage)) {
    assert.throws(() => loadConfig({ ...storage, [name]: '' }), new RegExp(`${name}.*go together`))
  }
  for (const url of ['https://storage.example.com/bucket', 'https://a:b@storage.example.com/b/'])
    assert.throws(() => loadConfig({ ...storage, IPFS_UPLOAD_URL: url }), /IPFS_UPLOAD_URL/)
})

test('paying per call is off, or has a payee, a network and what settles', () => {
  const payTo = `0x${'22'.repeat(20)}`
  const gasKey = `0x${'11'.repeat(32)}`
  const on = { X402_PAY_TO: payTo, X402_NETWORKS: 'base' }
  const node = { X402_GAS_KEY: gasKey, X402_RPC_URL: 'https://node.example.com' }
  assert.equal(loadConfig({}).x402PayTo, '')
  assert.deepEqual(loadConfig({ ...on, ...node }).x402Networks, ['base'])
  loadConfig({ ...on, X402_GAS_KEY: gasKey, RPC_URLS_BASE: 'https://node.example.com' })
  const test = { ...on, X402_NETWORKS: 'base-sepolia', X402_FACILITATOR: 'mock' }
  assert.equal(loadConfig(test).x402Facilitator, 'mock')
  for (const [environment, complaint] of [
    [{ X402_PAY_TO: payTo }, /X402_NETWORKS go/],
    [{ X402_NETWORKS: 'base' }, /X402_PAY_TO and/],
    [{ ...on, X402_PAY_TO: '0x12' }, /X402_PAY_TO/],
    [{ ...on, ...node, X402_NETWORKS: 'tron' }, /X402_NETWORKS/],
    [{ ...on, ...node, X402_GAS_KEY: '' }, /is needed to settle payments/],
    [{ ...on, ...node, X402_GAS_KEY: '0x12' }, /is needed to settle payments/],
    [{ ...on, ...node, X402_RPC_URL: '' }, /no node of base/],
    [{ ...on, X402_FACILITATOR: 'remote' }, /X402_FACILITATOR_URL/],
    [{ ...on, X402_FACILITATOR: 'mock' }, /base is not a test network/],
    [{ ...on, ...node, X402_MIN_ATOMIC: '0' }, /X402_MIN_ATOMIC/],
  ] as const)
    assert.throws(() => loadConfig(environment), complaint, JSON.stringify(environment))
})

test('payments on Solana have a wallet, a key that fits its account, and a node of the network', () => {
  const address = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9'
  const seed = new Uint8Array(32).fill(1)
  const bytes = [...seed, ...ed25519PublicKey(seed)]
  const feeKey = base58Encode(Uint8Array.from(bytes))
  const on = { X402_SOLANA_PAY_TO: address, X402_NETWORKS: 'solana' }
  const node = { X402_SOLANA_RPC_URL: 'https://node.example.com' }
  const key = { X402_SOLANA_FEE_KEY: feeKey }
  assert.deepEqual(loadConfig({ ...on, ...key, ...node }).x402Networks, ['solana'])
  loadConfig({ ...on, X402_SOLANA_FEE_KEY: JSON.stringify(bytes), ...node })
  loadConfig({ ...on, ...key, RPC_URLS_SOL: 'https://node.example.com' })
  const remote = { X402_FACILITATOR: 'remote', X402_FACILITATOR_URL: 'https://pay.example.com' }
  loadConfig({ ...on, ...remote, X402_SOLANA_FEE_PAYER: address })
  const test = { ...on, X402_NETWORKS: 'solana-devnet', X402_FACILITATOR: 'mock' }
  loadConfig({ ...test, X402_SOLANA_FEE_PAYER: address })
  const both = { ...on, X402_NETWORKS: 'base,solana', X402_PAY_TO: `0x${'22'.repeat(20)}` }
  const gas = { X402_GAS_KEY: `0x${'11'.repeat(32)}`, X402_RPC_URL: 'https://node.example.com' }
  assert.equal(loadConfig({ ...both, ...key, ...node, ...gas }).x402SolanaMaxFee, 15_000)
  for (const [environment, complaint] of [
    [{ X402_NETWORKS: 'solana' }, /X402_SOLANA_PAY_TO and/],
    [{ X402_SOLANA_PAY_TO: address }, /X402_NETWORKS go/],
    [{ ...on, X402_NETWORKS: 'base' }, /X402_PAY_TO and/],
    [{ ...on, ...key, ...node, X402_PAY_TO: `0x${'22'.repeat(20)}` }, /X402_NETWORKS go/],
    [{ ...on, ...key, ...node, X402_SOLANA_PAY_TO: '1'.repeat(33) }, /X402_SOLANA_PAY_TO/],
    [{ ...on, ...key, ...node, X402_SOLANA_PAY_TO: `0${address.slice(1)}` }, /X402_SOLANA_PAY_TO/],
    [{ ...on, ...node }, /X402_SOLANA_FEE_KEY/],
    [{ ...on, ...node, X402_SOLANA_FEE_KEY: address }, /X402_SOLANA_FEE_KEY/],
    [{ ...on, ...node, X402_SOLANA_FEE_KEY: JSON.stringify(bytes.map(() => 7)) }, /_FEE_KEY/],
    [{ ...on, ...node, X402_SOLANA_FEE_KEY: JSON.stringify([...bytes, 1]) }, /_FEE_KEY/],
    [{ ...on, ...key }, /no node of solana/],
    [{ ...both, ...key, ...node, X402_GAS_KEY: gas.X402_GAS_KEY }, /no node of base/],
    [{ ...both, ...key, ...gas }, /no node of solana/],
    [{ ...on, ...remote }, /X402_SOLANA_FEE_PAYER/],
    [{ ...on, X402_FACILITATOR: 'mock', X402_SOLANA_FEE_PAYER: address }, /not a test network/],
    [{ ...on, ...key, ...node, X402_SOLANA_MAX_FEE: '10000' }, /X402_SOLANA_MAX_FEE/],
  ] as const)
    assert.throws(() => loadConfig(environment), complaint, JSON.stringify(environment))
})
