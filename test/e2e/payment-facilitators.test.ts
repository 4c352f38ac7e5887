import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { openRpcPool } from '../../core/rpc/pool.ts'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import type { Facilitator, VerifiedPayment } from '../../serving/payments/contract.ts'
import { lookUpTransfer, openClient, transferCall } from '../../serving/payments/evm-node.ts'
import { createEvmSettlement } from '../../serving/payments/evm-settlement.ts'
import { verifyExactEvm } from '../../serving/payments/exact-evm.ts'
import { createRemoteFacilitator } from '../../serving/payments/remote-facilitator.ts'
import { callApi, startApi } from '../support/api-stack.ts'
import { devAccount } from '../support/nodes/anvil.ts'
import {
  GAS_KEY,
  type PaymentChain,
  payingFetch,
  receiptOf,
  signPayment,
  startPaymentChain,
} from '../support/payments.ts'

const PAYEE = '0x00000000000000000000000000000000000000bb'
const RESOURCE = { url: 'https://api.example.com/v2/token/search', description: 'search' }
const log = makeSilentLogger()
const payer = privateKeyToAccount(generatePrivateKey())
const stopped = new AbortController()

let chain: PaymentChain

before(async () => {
  chain = await startPaymentChain()
  await chain.mint(payer.address, 10_000_000n)
})

after(async () => {
  stopped.abort()
  await chain.anvil.stop()
})

const openPool = () =>
  openRpcPool({
    chain: 'base-sepolia',
    urls: [chain.anvil.httpUrl],
    identity: {
      call: { method: 'eth_chainId', params: [] },
      accepts: (answer) => Number(answer) === 84_532,
      name: 'chain id 84532',
    },
    concurrency: 8,
    timeoutMs: 5_000,
    metrics: makeMetrics(),
    log,
    signal: stopped.signal,
  })

const settlement = (receiptTimeoutMs: number): Facilitator =>
  createEvmSettlement({
    network: 'base-sepolia',
    pool: openPool(),
    gasKey: GAS_KEY,
    log,
    receiptTimeoutMs,
  })

const newPayment = async (version: 1 | 2 = 1): Promise<VerifiedPayment> => {
  const header = JSON.parse(Buffer.from(await signPayment(payer, PAYEE), 'base64').toString())
  const { asset } = PAYMENT_NETWORKS['base-sepolia']
  const offer = { network: 'base-sepolia', amountRaw: 1_000n, asset, payTo: PAYEE } as const
  const shown = { offer, payload: header.payload, version, resource: RESOURCE }
  const verified = await verifyExactEvm(shown, Date.now())
  assert.ok(typeof verified !== 'string')
  return verified
}

const earned = async (work: () => Promise<unknown>): Promise<bigint> => {
  const before = await chain.balanceOf(PAYEE)
  await work()
  return (await chain.balanceOf(PAYEE)) - before
}

test('a transaction that is not mined in time stays open, and is found when it is asked for again', async () => {
  const { client } = chain.anvil
  const facilitator = settlement(300)
  const payment = await newPayment()
  const sent: string[] = []
  const beforeSend = async (transaction: string) => {
    sent.push(transaction)
  }
  await client.setAutomine(false)
  const open = await facilitator.settle({ payment, beforeSend })
  assert.deepEqual(open, { problem: 'unexpected_settle_error', isFinal: false })
  await client.mine({ blocks: 1 })
  await client.setAutomine(true)
  const [earlier = ''] = sent
  const done = await facilitator.settle({ payment, earlier, beforeSend })
  assert.deepEqual(done, { transaction: earlier })
  assert.equal(sent.length, 1, 'nothing is sent a second time')
})

test('an authorization that another sender brings to the chain is found as paid', async () => {
  const facilitator = settlement(5_000)
  const payment = await newPayment()
  const { to, data } = transferCall(payment)
  const hash = await chain.anvil.client.sendUnsignedTransaction({
    from: devAccount(5).address,
    to,
    data,
  })
  const beforeSend = async () => undefined
  assert.equal(await facilitator.verify(payment), 'invalid_transaction_state')
  assert.deepEqual(await facilitator.settle({ payment, earlier: '', beforeSend }), {
    transaction: hash,
  })
})

test('what cannot be written down is not sent', async () => {
  const facilitator = settlement(5_000)
  const payment = await newPayment()
  const got = await earned(async () => {
    const settling = facilitator.settle({
      payment,
      beforeSend: async () => {
        throw new Error('the log is away')
      },
    })
    await assert.rejects(settling, /the log is away/)
  })
  assert.equal(got, 0n)
  assert.equal(await facilitator.verify(payment), undefined)
})

test('many payments at once are each made with a transaction of their own', async () => {
  const facilitator = settlement(20_000)
  const payments = await Promise.all(Array.from({ length: 20 }, () => newPayment()))
  const transactions = new Set<unknown>()
  const got = await earned(async () => {
    const beforeSend = async () => undefined
    for (const outcome of await Promise.all(
      payments.map((payment) => facilitator.settle({ payment, beforeSend })),
    ))
      transactions.add('transaction' in outcome ? outcome.transaction : outcome.problem)
  })
  assert.equal(transactions.size, 20)
  assert.equal(got, 20_000n)
})

/** The official facilitator over HTTP. `lose`: answers of settlements do not arrive. */
const startOfficialFacilitator = async () => {
  const state = { lose: false }
  const wallet = createWalletClient({
    account: devAccount(4),
    chain: baseSepolia,
    transport: http(chain.anvil.httpUrl),
    pollingInterval: 20,
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({ ...wallet, address: devAccount(4).address } as never)
  const facilitator = new x402Facilitator()
    .register('eip155:84532', new ExactEvmScheme(signer))
    .registerV1('base-sepolia' as never, new ExactEvmSchemeV1(signer))
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString())
    const answer =
      request.url === '/x402/verify'
        ? await facilitator.verify(paymentPayload, paymentRequirements)
        : await facilitator.settle(paymentPayload, paymentRequirements)
    if (state.lose && request.url === '/x402/settle') response.destroy()
    else response.end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { state, url: `http://127.0.0.1:${port}/x402`, close: () => server.close() }
}

test('the official facilitator verifies and settles in both versions; a lost answer is looked up', async () => {
  const official = await startOfficialFacilitator()
  const client = openClient({ network: 'base-sepolia', pool: openPool() })
  const remote = createRemoteFacilitator({
    url: `${official.url}/`,
    log,
    lookUp: (transfer, earlier) => lookUpTransfer(client, transfer, earlier),
  })
  const blind = createRemoteFacilitator({ url: official.url, log })
  const beforeSend = async () => undefined
  try {
    for (const version of [1, 2] as const) {
      const payment = await newPayment(version)
      const got = await earned(async () => {
        assert.equal(await remote.verify(payment), undefined)
        const outcome = await remote.settle({ payment, beforeSend })
        assert.ok('transaction' in outcome, JSON.stringify(outcome))
        assert.match(outcome.transaction, /^0x[0-9a-f]{64}$/)
      })
      assert.equal(got, 1_000n)
      assert.notEqual(await remote.verify(payment), undefined, 'a used nonce is not good')
      const again = await remote.settle({ payment, beforeSend })
      assert.ok('problem' in again && again.isFinal, JSON.stringify(again))
    }
    const payment = await newPayment(2)
    official.state.lose = true
    const lost = await remote.settle({ payment, beforeSend })
    assert.deepEqual(lost, { problem: 'unexpected_settle_error', isFinal: false })
    official.state.lose = false
    const unknown = await blind.settle({ payment, earlier: '', beforeSend })
    assert.ok('problem' in unknown && !unknown.isFinal, 'without a node it stays open')
    const found = await remote.settle({ payment, earlier: '', beforeSend })
    assert.ok('transaction' in found)
    const facts = await Promise.all([remote.lookUp(payment, ''), blind.lookUp(payment, '')])
    assert.deepEqual(facts, [found, 'unknown'])
    assert.equal(await remote.lookUp(await newPayment(2), ''), 'unused')
  } finally {
    await remote.close()
    await blind.close()
    official.close()
  }
})

test('an API with a facilitator elsewhere takes payments; while that is away it gives no data', async () => {
  const official = await startOfficialFacilitator()
  const settings = {
    x402PayTo: PAYEE,
    x402Networks: ['base-sepolia'],
    x402Facilitator: 'remote',
    x402FacilitatorUrl: official.url,
  }
  const api = await startApi({ overrides: settings })
  try {
    const path = '/v2/token/search?q=a'
    const got = await earned(async () => {
      const answer = await payingFetch(payer, 2)(api.base + path)
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.equal(receiptOf(answer).success, true)
    })
    assert.equal(got, 1_000n)
    official.close()
    const headers = { 'x-payment': await signPayment(payer, PAYEE) }
    const { status, body } = await callApi(api, path, { headers })
    assert.equal(status, 402)
    const { details } = body as { readonly details: { readonly errorReason: string } }
    assert.equal(details.errorReason, 'unexpected_verify_error')
  } finally {
    await api.stop()
  }
})
