/** What callers have nodes asked: in turn by organization, behind nothing that is sent, and never more than an answer may be long. */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { evmChainCheck } from '../../core/rpc/evm-chain-check.ts'
import { OversizedAnswer, openRpcPool } from '../../core/rpc/pool.ts'
import { gasBoundsOf } from '../../schemas/chains.ts'
import { createEvmAccountReader } from '../../serving/dex/evm-account.ts'
import { buildCreation } from '../../serving/red-packets/build.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { type FaultyNode, startFaultyNode } from '../support/nodes/faulty.ts'
import { until } from '../support/until.ts'

const OWNER = devAccount(0).address
const [SLOW, LONG, USDC] = [
  `0x${'55'.repeat(20)}`,
  `0x${'66'.repeat(20)}`,
  '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
] as const
/** PUSH3 one mebibyte, PUSH1 0, RETURN: two million digits of zeros to every question. */
const RETURNS_MUCH = '0x621000006000f3'

let anvil: Anvil
let faulty: FaultyNode
let api: TestApi
before(async () => {
  anvil = await startAnvil()
  faulty = await startFaultyNode(anvil.httpUrl)
  await anvil.client.setCode({ address: LONG, bytecode: RETURNS_MUCH })
  api = await startApi({
    overrides: { chainRpcUrls: { eth: [faulty.httpUrl] }, rpcConcurrency: 8, rpcTimeoutMs: 20_000 },
  })
  const now = { block_time: new Date(Date.now() + 3_600_000).toISOString(), block_hash: '0x07' }
  const place = { block_slot: 7, block_height: 7, _ver: 1, parent_hash: '0x06', seq: 1 }
  await api.warehouse.insert('eth_blocks', [{ ...now, ...place }])
  api.market.progress.block({ seq: 1, place: { height: 7, slot: 7 }, records: 0 })
})
afterEach(() => {
  faulty.meddle = () => undefined
  faulty.asked.length = 0
})
after(async () => {
  await api.stop()
  await faulty.stop()
  await anvil.stop()
})

const openPool = (url: string, metrics = makeMetrics()) =>
  openRpcPool({
    chain: 'eth',
    urls: [url],
    identity: evmChainCheck(1),
    role: 'serve',
    concurrency: 4,
    timeoutMs: 5_000,
    metrics,
    log: makeSilentLogger(),
    signal: new AbortController().signal,
  })
const post = async (path: string, body: object, apiKey = api.apiKey) => {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  return callApi(api, path, { method: 'POST', headers, body: JSON.stringify(body) })
}
const codeOf = ({ body }: { readonly body: unknown }): unknown => Object(body).code
const estimate = (to: string, apiKey?: string) =>
  post('/v2/transaction/eth/estimate-gas-limit', { from: OWNER, to, data: '0x' }, apiKey)

test('a part of a balance is asked for only where pools trade the token', async () => {
  const order = { dex: 'auto', userAddress: OWNER, amount: 'auto', slippage: 1 }
  for (const path of ['route', 'swap']) {
    const answer = await post(`/v2/dex/eth/${path}`, {
      ...order,
      swapMode: 'ExactIn',
      inputMint: SLOW,
      outputMint: USDC,
    })
    assert.equal(codeOf(answer), 50_010, `${path}: ${answer.text}`)
  }
  assert.deepEqual(
    faulty.asked.filter(({ method }) => method !== 'eth_chainId'),
    [],
  )
})

test('reads of one organization hold up neither those of another nor what is sent', async () => {
  const other = await api.organizations.createKey({ name: 'other', plan: 'selfhost' })
  faulty.meddle = ({ method, params }) =>
    method === 'eth_estimateGas' && JSON.stringify(params).includes(SLOW) ? 'hang' : undefined
  const held = new AbortController()
  const path = '/v2/transaction/eth/estimate-gas-limit'
  const reads = Array.from({ length: 12 }, () =>
    callApi(api, path, {
      method: 'POST',
      headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ from: OWNER, to: SLOW, data: '0x' }),
      signal: held.signal,
    }).catch(() => undefined),
  )
  await until(() => faulty.asked.some(({ method }) => method === 'eth_estimateGas'), 'a slow read')
  const startedMs = performance.now()
  assert.equal((await estimate(OWNER, other.apiKey)).status, 200)
  const signer = devAccount(1)
  const signedTx = await signer.signTransaction({
    chainId: 1,
    gas: 21_000n,
    to: SLOW,
    value: 1n,
    nonce: 0,
    maxFeePerGas: 30_000_000_000n,
    maxPriorityFeePerGas: 1n,
  })
  for (const key of [api.apiKey, other.apiKey]) {
    const sent = await post('/v2/transaction/eth/send', { signedTx }, key)
    assert.equal(sent.status, 200, sent.text)
  }
  assert.ok(performance.now() - startedMs < 4_000, 'within less time than a read may wait')
  held.abort()
  await Promise.all(reads)
})

test('an answer that a contract makes too long is not read, and the node is not rested for it', async () => {
  for (const url of [anvil.httpUrl, anvil.wsUrl]) {
    const metrics = makeMetrics()
    const rpc = openPool(url, metrics)
    const reader = createEvmAccountReader(rpc, gasBoundsOf('eth'))
    const [held, coin] = await Promise.all([
      reader.balance(OWNER, LONG),
      reader.balance(OWNER, null),
    ])
    assert.deepEqual([held, coin > 0n], [0n, true])
    const { values } = await metrics.rpcBytes.get()
    assert.ok(
      values.every(({ value }) => value < 16_384),
      JSON.stringify(values),
    )
    const call = { method: 'eth_call', params: [{ to: LONG }, 'latest'] }
    const read = (maxBytes?: number): Promise<unknown> =>
      rpc.attempt((ask) => ask(maxBytes === undefined ? call : { ...call, maxBytes }))
    assert.equal(String(await read()).length, 2 + 2 * 2 ** 20)
    assert.deepEqual(rpc.unavailable(), [])
    await assert.rejects(read(2 ** 20), OversizedAnswer)
    rpc.close()
  }
})

test("the key of a packet's password is derived only where its creator can pay", async () => {
  const rpc = openPool(anvil.httpUrl)
  const reader = createEvmAccountReader(rpc, gasBoundsOf('eth'))
  let derived = 0
  const terms = {
    salt: `0x${'11'.repeat(32)}` as const,
    token: null,
    totalRaw: 5n,
    maxClaims: 1,
    memo: '',
    isRandom: false,
    seconds: 60,
    authority: null,
    authorityOf: async () => {
      derived += 1
      return USDC
    },
  }
  const contract = { chainId: 1, address: SLOW }
  await assert.rejects(buildCreation(reader, contract, USDC, terms), {
    faultName: 'INSUFFICIENT_BALANCE',
  })
  assert.equal(derived, 0)
  const { transaction } = await buildCreation(reader, contract, OWNER, terms)
  assert.equal(derived, 1)
  assert.ok(transaction.data.includes(USDC.slice(2)))
  rpc.close()
})
