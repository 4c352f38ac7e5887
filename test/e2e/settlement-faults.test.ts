/** Nodes that take a payment's transaction and say otherwise, and nodes that are behind. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { RpcCall } from '../../core/rpc/endpoint.ts'
import { openRpcPool, RpcError, type RpcPool } from '../../core/rpc/pool.ts'
import type { VerifiedPayment } from '../../serving/payments/contract.ts'
import { createEvmSettlement } from '../../serving/payments/evm-settlement.ts'
import {
  GAS_KEY,
  type PaymentChain,
  signedAndVerified,
  startPaymentChain,
} from '../support/payments.ts'

const PAYEE = '0x00000000000000000000000000000000000000bb'
const NETWORK = 'base-sepolia'
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

type Answer = (asked: RpcCall, call: (asked: RpcCall) => Promise<unknown>) => Promise<unknown>

/** Endpoints of the same node; what each answers goes through a function of its own. */
const poolOf = (answers: readonly Answer[]): Pick<RpcPool, 'attempt' | 'close'> => {
  const pool = openRpcPool({
    role: 'serve',
    chain: NETWORK,
    urls: answers.map((_, index) => `${chain.anvil.httpUrl}?node=${index}`),
    identity: null,
    concurrency: 8,
    timeoutMs: 5_000,
    metrics: makeMetrics(),
    log,
    signal: stopped.signal,
  })
  return {
    close: pool.close,
    attempt: (work) => {
      let index = -1
      return pool.attempt((call) => {
        index += 1
        const answer = answers[index] as Answer
        return work((asked) => answer(asked, call))
      })
    },
  }
}

const settlement = (...answers: readonly Answer[]) =>
  createEvmSettlement({
    network: NETWORK,
    pool: poolOf(answers),
    gasKey: GAS_KEY,
    log,
    receiptTimeoutMs: 300,
  })

const newPayment = (): Promise<VerifiedPayment> => signedAndVerified(payer, PAYEE)

const direct: Answer = (asked, call) => call(asked)

/** Passes a transaction on and answers with an error; of one that it is asked for it knows nothing, as another machine behind one address. */
const takesAndComplains =
  (code: number, message: string): Answer =>
  async (asked, call) => {
    if (asked.method === 'eth_getTransactionByHash') return null
    const answer = await call(asked)
    if (asked.method === 'eth_sendRawTransaction') throw new RpcError(code, message, undefined)
    return answer
  }

for (const [code, message] of [
  [-32_603, 'Internal error'],
  [-32_000, 'request timed out'],
  [-32_005, 'rate limit exceeded'],
] as const) {
  test(`a payment stays open where the node says "${message}" and has passed it on`, async () => {
    const { client } = chain.anvil
    const payment = await newPayment()
    const sent: string[] = []
    const beforeSend = async (transaction: string) => void sent.push(transaction)
    await client.setAutomine(false)
    const open = await settlement(takesAndComplains(code, message)).settle({ payment, beforeSend })
    assert.deepEqual(open, { problem: 'unexpected_settle_error', isFinal: false })
    await client.mine({ blocks: 1 })
    await client.setAutomine(true)
    const [earlier = ''] = sent
    const found = await settlement(direct).settle({ payment, earlier, beforeSend })
    assert.deepEqual([found, sent.length], [{ transaction: earlier }, 1])
  })
}

test('a node that limits its caller holds up no payment that another node takes', async () => {
  const limited: Answer = async (asked, call) => {
    if (asked.method !== 'eth_sendRawTransaction') return call(asked)
    throw new RpcError(-32_005, 'rate limit exceeded', undefined)
  }
  const payment = await newPayment()
  const done = await settlement(limited, direct).settle({
    payment,
    beforeSend: async () => undefined,
  })
  assert.ok('transaction' in done, JSON.stringify(done))
})

test('a payment that the node refuses is over, and the payer may try again', async () => {
  const refusing: Answer = async (asked, call) => {
    if (asked.method !== 'eth_sendRawTransaction') return call(asked)
    throw new RpcError(-32_000, 'insufficient funds for gas * price + value', undefined)
  }
  const payment = await newPayment()
  const beforeSend = async () => undefined
  const refused = await settlement(refusing).settle({ payment, beforeSend })
  assert.deepEqual(refused, { problem: 'unexpected_settle_error', isFinal: true })
  assert.ok('transaction' in (await settlement(direct).settle({ payment, beforeSend })))
})

test('a transaction of the gas account bears a base fee five times as high as when it was signed', async () => {
  const { client } = chain.anvil
  let hash: Hex | undefined
  const baseFee = (await client.getBlock()).baseFeePerGas ?? 0n
  const done = await settlement(direct).settle({
    payment: await newPayment(),
    beforeSend: async (transaction) => {
      hash = transaction as Hex
    },
  })
  assert.ok('transaction' in done)
  assert.ok(hash !== undefined)
  const { maxFeePerGas = 0n } = await client.getTransaction({ hash })
  assert.ok(baseFee > 0n && maxFeePerGas >= 5n * baseFee, `${maxFeePerGas} of ${baseFee}`)
})

test('a payment counts as not made once the chain is past its end, and not by our clock', async () => {
  const { client } = chain.anvil
  const payment = await newPayment()
  const facilitator = settlement(direct)
  assert.equal(await facilitator.lookUp(payment, ''), 'unknown')
  await client.setNextBlockTimestamp({ timestamp: payment.validBefore })
  await client.mine({ blocks: 1 })
  assert.equal(await facilitator.lookUp(payment, ''), 'unused')
})
