import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { createKeyPairSignerFromBytes, type KeyPairSigner } from '@solana/kit'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme } from '@x402/svm/exact/facilitator'
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/facilitator'
import { ed25519PublicKey } from '../../core/ed25519.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { openRpcPool } from '../../core/rpc/pool.ts'
import { readSolanaKey, type SolanaKey } from '../../core/solana-key.ts'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import type { Facilitator, VerifiedPayment } from '../../serving/payments/contract.ts'
import { verifyExactSvm } from '../../serving/payments/exact-svm.ts'
import { createRemoteFacilitator } from '../../serving/payments/remote-facilitator.ts'
import { lookUpSvmTransfer, openSvmClient } from '../../serving/payments/svm-node.ts'
import { createSvmSettlement, payerBalance } from '../../serving/payments/svm-settlement.ts'
import { startApi } from '../support/api-stack.ts'
import { receiptOf } from '../support/payments.ts'
import {
  FEE_KEY,
  FEE_PAYER,
  newSvmWallet,
  type SvmPaymentChain,
  type SvmPaymentChanges,
  startSvmPaymentChain,
  svmPayingFetch,
  svmTransaction,
} from '../support/svm-payments.ts'

const NETWORK = 'solana-devnet'
const RESOURCE = { url: 'https://api.example.com/v2/token/search', description: 'search' }
const TERMS = { feePayer: FEE_PAYER, maxFeeLamports: 50_000 }
const log = makeSilentLogger()
const stopped = new AbortController()

let chain: SvmPaymentChain
let payer: KeyPairSigner
let payee: KeyPairSigner

before(async () => {
  chain = await startSvmPaymentChain()
  payer = await newSvmWallet()
  payee = await newSvmWallet()
  chain.hold(payer.address, 10_000_000n)
  chain.hold(payee.address, 0n)
})

after(async () => {
  stopped.abort()
  await chain.node.stop()
})

const openPool = (genesis: string = PAYMENT_NETWORKS[NETWORK].genesis) =>
  openRpcPool({
    role: 'serve',
    chain: NETWORK,
    urls: [chain.node.url],
    identity: {
      call: { method: 'getGenesisHash', params: [] },
      accepts: (answer) => String(answer).startsWith(genesis),
      name: 'genesis',
    },
    concurrency: 8,
    timeoutMs: 1_000,
    metrics: makeMetrics(),
    log,
    signal: stopped.signal,
  })

const keyOf = (text: string): SolanaKey => {
  const key = readSolanaKey(text)
  assert.ok(key !== undefined)
  return key
}

const settlement = (pool = openPool()): Promise<Facilitator> =>
  createSvmSettlement({
    network: NETWORK,
    pool,
    feeKey: keyOf(FEE_KEY),
    log,
    confirmTimeoutMs: 1_500,
  })

const newPayment = async (
  changes: SvmPaymentChanges = {},
  version: 1 | 2 = 2,
): Promise<VerifiedPayment> => {
  const { asset } = PAYMENT_NETWORKS[NETWORK]
  const blockhash = chain.node.svm.latestBlockhash()
  const transaction = await svmTransaction(payer, payee.address, { blockhash, ...changes })
  const verified = await verifyExactSvm(
    {
      offer: { network: NETWORK, amountRaw: 1_000n, asset, payTo: payee.address, svm: TERMS },
      payload: { transaction },
      version,
      resource: RESOURCE,
    },
    { nowMs: Date.now() },
  )
  assert.ok(typeof verified !== 'string', String(verified))
  return verified
}

const earned = async (work: () => Promise<unknown>): Promise<bigint> => {
  const before = chain.balanceOf(payee.address)
  await work()
  return chain.balanceOf(payee.address) - before
}

/** A settlement, and the transactions that were written down before they were sent. */
const settleWith = async (facilitator: Facilitator, payment: VerifiedPayment, earlier?: string) => {
  const sent: string[] = []
  const outcome = await facilitator.settle({
    payment,
    ...(earlier !== undefined && { earlier }),
    beforeSend: async (transaction) => void sent.push(transaction),
  })
  return { outcome, sent }
}

test('a payment is written down, sent and found again by its transaction', async () => {
  const facilitator = await settlement()
  const payment = await newPayment()
  const got = await earned(async () => {
    assert.equal(await facilitator.verify(payment, payment.valueRaw), undefined)
    assert.equal(await facilitator.verify(payment, 10n ** 9n), 'insufficient_funds')
    const { outcome, sent } = await settleWith(facilitator, payment)
    const [transaction = ''] = sent
    assert.deepEqual(outcome, { transaction })
    assert.deepEqual(await facilitator.lookUp(payment, transaction), { transaction })
    assert.deepEqual(await facilitator.lookUp(payment, ''), { transaction }, 'by its payer')
    const again = await settleWith(facilitator, payment, transaction)
    assert.deepEqual([again.outcome, again.sent], [{ transaction }, []])
  })
  assert.equal(got, 1_000n)
})

test('a payment whose record cannot be written is not sent', async () => {
  const facilitator = await settlement()
  const payment = await newPayment()
  const got = await earned(() =>
    assert.rejects(
      facilitator.settle({
        payment,
        beforeSend: async () => {
          throw new Error('the log is away')
        },
      }),
      /the log is away/,
    ),
  )
  assert.equal(got, 0n)
})

test('a transaction without an outcome stays open while a block can take it, and is over then', async () => {
  const facilitator = await settlement()
  const payment = await newPayment()
  const { answers, svm } = chain.node
  answers.set('sendTransaction', 'taken')
  const open = await settleWith(facilitator, payment)
  const [transaction = ''] = open.sent
  assert.deepEqual(open.outcome, { problem: 'unexpected_settle_error', isFinal: false })
  assert.equal(await facilitator.lookUp(payment, transaction), 'unknown')
  svm.expireBlockhash()
  assert.equal(await facilitator.lookUp(payment, transaction), 'unused')
  const over = await settleWith(facilitator, payment, transaction)
  assert.deepEqual(over.outcome, { problem: 'unexpected_settle_error', isFinal: true })
  answers.delete('sendTransaction')
})

test('a transaction that a busy chain dropped is sent again as it was', async () => {
  const facilitator = await settlement()
  const payment = await newPayment()
  const { answers } = chain.node
  answers.set('sendTransaction', 'taken')
  const { sent } = await settleWith(facilitator, payment)
  answers.delete('sendTransaction')
  const got = await earned(async () => {
    const again = await settleWith(facilitator, payment, sent[0])
    assert.deepEqual(again.outcome, { transaction: sent[0] })
    assert.deepEqual(again.sent, [], 'one transaction has one signature')
  })
  assert.equal(got, 1_000n)
})

test('a transaction of a fee payer of before is looked up and not signed', async () => {
  const facilitator = await settlement()
  const payment = await newPayment()
  const other = await createSvmSettlement({
    network: NETWORK,
    pool: openPool(),
    feeKey: keyOfSeed(new Uint8Array(32).fill(4)),
    log,
    confirmTimeoutMs: 500,
  })
  const refused = await settleWith(other, payment)
  assert.deepEqual(refused.outcome, {
    problem: 'invalid_exact_svm_fee_payer_mismatch',
    isFinal: true,
  })
  const { outcome, sent } = await settleWith(facilitator, payment)
  assert.deepEqual((await settleWith(other, payment, sent[0])).outcome, outcome)
  assert.deepEqual((await settleWith(other, payment, '')).outcome, outcome)
})

const keyOfSeed = (seed: Uint8Array): SolanaKey =>
  keyOf(JSON.stringify([...seed, ...ed25519PublicKey(seed)]))

test('a fee payer without SOL settles nothing, and no data is worked for', async () => {
  const facilitator = await createSvmSettlement({
    network: NETWORK,
    pool: openPool(),
    feeKey: keyOfSeed(new Uint8Array(32).fill(6)),
    log,
  })
  const payment = await newPayment()
  const { address } = keyOfSeed(new Uint8Array(32).fill(6))
  const transaction = await svmTransaction(payer, payee.address, {
    blockhash: chain.node.svm.latestBlockhash(),
    feePayer: address,
  })
  const poor = { ...payment, payload: { transaction } }
  const problem = 'invalid_exact_svm_transaction_simulation_failed'
  assert.equal(await facilitator.verify(poor, 1_000n), problem)
  const { outcome, sent } = await settleWith(facilitator, poor)
  assert.deepEqual([outcome, sent], [{ problem, isFinal: true }, []])
})

test('nodes of another network are not asked', async () => {
  const facilitator = await settlement(openPool(PAYMENT_NETWORKS.solana.genesis))
  const payment = await newPayment()
  await assert.rejects(facilitator.verify(payment, 1_000n))
})

/** The official facilitator behind its HTTP interface; `lose`: it settles and does not answer. */
const startOfficialFacilitator = async () => {
  const state = { lose: false }
  const signer = toFacilitatorSvmSigner(await createKeyPairSignerFromBytes(keyOf(FEE_KEY).bytes), {
    defaultRpcUrl: chain.node.url,
  })
  const facilitator = new x402Facilitator()
    .register('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', new ExactSvmScheme(signer))
    .registerV1(NETWORK as never, new ExactSvmSchemeV1(signer))
  const server = createServer(async (request, response) => {
    const { paymentPayload, paymentRequirements } = JSON.parse(await text(request))
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

test('the official facilitator settles in both versions; a lost answer is found by the payer', async () => {
  const official = await startOfficialFacilitator()
  const client = openSvmClient(openPool())
  const remote = createRemoteFacilitator({
    url: official.url,
    log,
    lookUp: (transfer, earlier) => lookUpSvmTransfer(client, transfer, earlier),
    payerBalanceRaw: (payment) => payerBalance(client, payment),
  })
  try {
    for (const version of [1, 2] as const) {
      const payment = await newPayment({}, version)
      const got = await earned(async () => {
        assert.equal(await remote.verify(payment, payment.valueRaw), undefined)
        assert.equal(await remote.verify(payment, 10n ** 9n), 'insufficient_funds')
        const { outcome } = await settleWith(remote, payment)
        assert.ok('transaction' in outcome, JSON.stringify(outcome))
        assert.deepEqual(await remote.lookUp(payment, ''), outcome)
      })
      assert.equal(got, 1_000n)
    }
    const payment = await newPayment()
    official.state.lose = true
    const got = await earned(async () => {
      const lost = await settleWith(remote, payment)
      assert.deepEqual(lost.outcome, { problem: 'unexpected_settle_error', isFinal: false })
      const found = await settleWith(remote, payment, '')
      assert.ok('transaction' in found.outcome)
      assert.deepEqual(found.sent, [])
    })
    assert.equal(got, 1_000n)
    const unsent = await newPayment()
    assert.equal(await remote.lookUp(unsent, ''), 'unknown', 'a block can take it yet')
    chain.node.svm.expireBlockhash()
    assert.equal(await remote.lookUp(unsent, ''), 'unused')
  } finally {
    await remote.close()
    official.close()
  }
})

test('an API with a facilitator elsewhere takes payments on Solana', async () => {
  const official = await startOfficialFacilitator()
  const api = await startApi({
    overrides: {
      x402Networks: [NETWORK],
      x402SolanaPayTo: payee.address,
      x402SolanaFeePayer: FEE_PAYER,
      x402Facilitator: 'remote',
      x402FacilitatorUrl: official.url,
    },
  })
  try {
    const got = await earned(async () => {
      const paying = svmPayingFetch(payer, 2, { rpcUrl: chain.node.url })
      const answer = await paying(`${api.base}/v2/token/search?q=a`)
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.equal(receiptOf(answer).success, true)
    })
    assert.equal(got, 1_000n)
  } finally {
    await api.stop()
    official.close()
  }
})
