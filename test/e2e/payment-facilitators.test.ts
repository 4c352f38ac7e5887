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
import type { RpcCall } from '../../core/rpc/endpoint.ts'
import { openRpcPool, RpcError } from '../../core/rpc/pool.ts'
import type { Facilitator, VerifiedPayment } from '../../serving/payments/contract.ts'
import { lookUpTransfer, openClient, transferCall } from '../../serving/payments/evm-node.ts'
import { createEvmSettlement } from '../../serving/payments/evm-settlement.ts'
import { createRemoteFacilitator } from '../../serving/payments/remote-facilitator.ts'
import { callApi, startApi } from '../support/api-stack.ts'
import { devAccount } from '../support/nodes/anvil.ts'
import {
  GAS_KEY,
  type PaymentChain,
  payingFetch,
  receiptOf,
  signedAndVerified,
  signPayment,
  startPaymentChain,
} from '../support/payments.ts'
import { until } from '../support/until.ts'

const PAYEE = '0x00000000000000000000000000000000000000bb'
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
    role: 'serve',
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

const newPayment = (version: 1 | 2 = 1, account = payer): Promise<VerifiedPayment> =>
  signedAndVerified(account, PAYEE, version)

type AskedNode = ReturnType<typeof openPool>

/** The same nodes, which refuse some calls as a node that does not know them. */
const refusingPool = (
  pool: AskedNode,
  isRefused: (asked: RpcCall) => boolean,
): Pick<AskedNode, 'attempt' | 'close'> => ({
  close: pool.close,
  attempt: (work) =>
    pool.attempt((call) =>
      work(async (asked) => {
        if (isRefused(asked)) throw new RpcError(-32_601, 'the method does not exist', undefined)
        return call(asked)
      }),
    ),
})

/** The node as one that fills no transactions and has no pending state. */
const startPlainNode = async () => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
    const isUnknown =
      method === 'eth_fillTransaction' ||
      (/^eth_(call|estimateGas)$/.test(method) && params[1] === 'pending')
    const error = { code: -32_601, message: 'pending state is not available' }
    const asked = method === 'eth_estimateGas' ? [params[0], 'latest'] : params
    const answer = isUnknown
      ? JSON.stringify({ jsonrpc: '2.0', id, error })
      : await (
          await fetch(chain.anvil.httpUrl, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ jsonrpc: '2.0', id, method, params: asked }),
          })
        ).text()
    response.setHeader('content-type', 'application/json').end(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}

const earned = async (work: () => Promise<unknown>): Promise<bigint> => {
  const before = await chain.balanceOf(PAYEE)
  await work()
  return (await chain.balanceOf(PAYEE)) - before
}

test('a transaction that is not mined in time stays open, and a later attempt finds it without sending again', async () => {
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

test('a repeat while the transaction waits sends nothing and forgets nothing', async () => {
  const { client } = chain.anvil
  const facilitator = settlement(300)
  const payment = await newPayment()
  const sent: string[] = []
  const beforeSend = async (transaction: string) => {
    sent.push(transaction)
  }
  await client.setAutomine(false)
  await facilitator.settle({ payment, beforeSend })
  const [earlier = ''] = sent
  const waiting = { problem: 'unexpected_settle_error', isFinal: false }
  assert.deepEqual(await facilitator.settle({ payment, earlier, beforeSend }), waiting)
  // Of a try whose transaction is not known: what waits at the node makes another one revert.
  const unknown = await facilitator.settle({ payment, earlier: '', beforeSend })
  assert.deepEqual(unknown, { problem: 'invalid_transaction_state', isFinal: false })
  await client.mine({ blocks: 1 })
  await client.setAutomine(true)
  const done = await facilitator.settle({ payment, earlier, beforeSend })
  assert.deepEqual([done, sent.length], [{ transaction: earlier }, 1])
})

test('a transaction whose answer is lost, and that the next node already has, is waited for', async () => {
  const pool = openPool()
  // The first answer is lost behind the node; the pool asks another, which has the transaction by then.
  const losing: Pick<AskedNode, 'attempt' | 'close'> = {
    close: pool.close,
    attempt: (work) =>
      pool.attempt((call) =>
        work(async (asked) => {
          const answer = await call(asked)
          return asked.method === 'eth_sendRawTransaction' ? call(asked) : answer
        }),
      ),
  }
  const gas = { network: 'base-sepolia', gasKey: GAS_KEY, log, receiptTimeoutMs: 10_000 } as const
  const facilitator = createEvmSettlement({ ...gas, pool: losing })
  const payment = await newPayment()
  await chain.anvil.client.setAutomine(false)
  const beforeSend = async () => undefined
  const settled = facilitator.settle({ payment, beforeSend })
  await until(async () => {
    const { pending } = await chain.anvil.client.getTxpoolStatus()
    return pending === 1
  }, 'the transaction waits')
  await chain.anvil.client.mine({ blocks: 1 })
  await chain.anvil.client.setAutomine(true)
  assert.ok('transaction' in (await settled))
})

test('an authorization that was used many blocks ago is found', async () => {
  const facilitator = settlement(5_000)
  const payment = await newPayment()
  const { to, data } = transferCall(payment)
  const from = devAccount(5).address
  const hash = await chain.anvil.client.sendUnsignedTransaction({ from, to, data })
  await chain.anvil.client.waitForTransactionReceipt({ hash })
  await chain.anvil.client.mine({ blocks: 1_200 })
  const beforeSend = async () => undefined
  assert.deepEqual(await facilitator.settle({ payment, earlier: '', beforeSend }), {
    transaction: hash,
  })
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
  await chain.anvil.client.waitForTransactionReceipt({ hash })
  const beforeSend = async () => undefined
  assert.equal(await facilitator.verify(payment, payment.valueRaw), 'invalid_transaction_state')
  assert.deepEqual(await facilitator.settle({ payment, earlier: '', beforeSend }), {
    transaction: hash,
  })
})

test('a payment whose record cannot be written is not sent', async () => {
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
  assert.equal(await facilitator.verify(payment, payment.valueRaw), undefined)
})

test('payment facilitators: concurrent payments are each made with a transaction of their own', async () => {
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

test('what was sent and is not mined counts against the balance: nothing is sent that would revert', async () => {
  const { client } = chain.anvil
  const poor = privateKeyToAccount(generatePrivateKey())
  await chain.mint(poor.address, 1_000n)
  const pool = openPool()
  const facilitator = createEvmSettlement({
    network: 'base-sepolia',
    pool: refusingPool(pool, ({ method }) => method === 'eth_fillTransaction'),
    gasKey: GAS_KEY,
    log,
  })
  const payments = await Promise.all([newPayment(1, poor), newPayment(1, poor)])
  const beforeSend = async () => undefined
  await client.setAutomine(false)
  const settling = payments.map((payment) => facilitator.settle({ payment, beforeSend }))
  try {
    await Promise.race(settling)
    assert.equal((await client.getTxpoolStatus()).pending, 1)
  } finally {
    await client.mine({ blocks: 1 })
    await client.setAutomine(true)
  }
  const outcomes = await Promise.all(settling)
  assert.equal(outcomes.filter((each) => 'transaction' in each).length, 1)
  assert.deepEqual(
    outcomes.filter((each) => 'problem' in each),
    [{ problem: 'insufficient_funds', isFinal: true }],
  )
})

test('a node without a pending state is asked for the newest block', async () => {
  const pool = refusingPool(
    openPool(),
    ({ method, params }) =>
      method.startsWith('eth_fill') ||
      (method !== 'eth_getTransactionCount' && params[1] === 'pending'),
  )
  const facilitator = createEvmSettlement({ network: 'base-sepolia', pool, gasKey: GAS_KEY, log })
  const payment = await newPayment()
  assert.equal(await facilitator.verify(payment, 1_000n), undefined)
  assert.equal(await facilitator.verify(payment, 10n ** 12n), 'insufficient_funds')
  const outcome = await facilitator.settle({ payment, beforeSend: async () => undefined })
  assert.ok('transaction' in outcome, JSON.stringify(outcome))
  assert.equal(await facilitator.verify(payment, 1_000n), 'invalid_transaction_state')
})

test('of many calls at once a wallet gets those its balance covers, and the gas account sends no other', async () => {
  const { client } = chain.anvil
  const node = await startPlainNode()
  const poor = privateKeyToAccount(generatePrivateKey())
  await chain.mint(poor.address, 1_000n)
  const api = await startApi({
    overrides: {
      x402PayTo: PAYEE,
      x402Networks: ['base-sepolia'],
      x402GasKey: GAS_KEY,
      x402RpcUrl: node.url,
    },
  })
  const gasAccount = devAccount(3).address
  const sentBefore = await client.getTransactionCount({ address: gasAccount })
  await client.setAutomine(false)
  await client.setIntervalMining({ interval: 1 })
  try {
    const headers = await Promise.all(Array.from({ length: 40 }, () => signPayment(poor, PAYEE)))
    const answers = await Promise.all(
      headers.map((header, at) =>
        callApi(api, `/v2/token/search?q=x${at}`, { headers: { 'x-payment': header } }),
      ),
    )
    const of = (status: number) => answers.filter((each) => each.status === status)
    assert.equal(of(200).length, 1)
    assert.equal(of(402).length + of(429).length, 39)
    for (const { body } of of(402)) {
      const { details } = body as { readonly details: { readonly errorReason: string } }
      assert.equal(details.errorReason, 'insufficient_funds')
    }
    assert.equal((await client.getTransactionCount({ address: gasAccount })) - sentBefore, 1)
  } finally {
    await client.setIntervalMining({ interval: 0 })
    await client.setAutomine(true)
    await api.stop()
    node.close()
  }
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
        assert.equal(await remote.verify(payment, payment.valueRaw), undefined)
        const outcome = await remote.settle({ payment, beforeSend })
        assert.ok('transaction' in outcome, JSON.stringify(outcome))
        assert.match(outcome.transaction, /^0x[0-9a-f]{64}$/)
      })
      assert.equal(got, 1_000n)
      assert.notEqual(
        await remote.verify(payment, payment.valueRaw),
        undefined,
        'a used nonce is not good',
      )
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
