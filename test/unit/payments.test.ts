import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import type { KeyPairSigner } from '@solana/kit'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import type { Payment } from '../../schemas/wire.ts'
import type { Facilitator } from '../../serving/payments/contract.ts'
import type { OpenPayment, PaidCall, StartedPayment } from '../../serving/payments/payments.ts'
import { createPayments } from '../../serving/payments/payments.ts'
import { transferOf } from '../../serving/payments/plan-sales.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { type PaymentChanges, signPayment } from '../support/payments.ts'
import { FEE_PAYER, newSvmWallet, svmTransaction } from '../support/svm-payments.ts'
import { until } from '../support/until.ts'

const PAYEE = '0x00000000000000000000000000000000000000AA'
const OFFER = {
  network: 'base-sepolia',
  amountRaw: 1_000n,
  asset: PAYMENT_NETWORKS['base-sepolia'].asset,
  payTo: PAYEE,
} as const
const RESOURCE = { url: 'https://api.example.com/v2/token/search', description: 'search' }

const newAccount = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey())

/** A call with a payment of its own. */
const newCall = async (
  account: PrivateKeyAccount,
  changes: PaymentChanges & { readonly address?: string; readonly signature?: string } = {},
): Promise<PaidCall> => {
  const header = await signPayment(account, PAYEE, changes)
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString())
  return {
    offer: OFFER,
    resource: RESOURCE,
    version: 1,
    route: 'search',
    call: 'digest',
    payload: { ...payload, ...(changes.signature && { signature: changes.signature }) },
    address: changes.address ?? '192.0.2.1',
  }
}

/** Payments with a log in memory over a chain on which every payer has `balanceRaw`. */
const openPayments = ({
  balanceRaw = 1_000_000n,
  settle = (async () => ({ transaction: '0x1' })) as Facilitator['settle'],
  /** Resolves when the chain answers about a payment of an address. */
  answered = async (_from: string): Promise<unknown> => undefined,
  hasSevereLabel = async (_address: string): Promise<boolean> => false,
  failedFeesPerHour = 1_000_000,
} = {}) => {
  const metrics = makeMetrics()
  const clock = { ms: Date.now() }
  const facilitator: Facilitator = {
    verify: async ({ from }, openRaw) => {
      await answered(from)
      return openRaw > balanceRaw ? 'insufficient_funds' : undefined
    },
    settle,
    lookUp: async () => 'unused',
    close: async () => undefined,
  }
  const rows = new Map<string, Payment>()
  const payments = createPayments({
    facilitatorOf: () => facilitator,
    hasSevereLabel,
    paymentLog: {
      find: (id) => rows.get(id),
      bodyOf: (id) => rows.get(id)?.body,
      put: async (row) => Boolean(rows.set(row.payment_id, row)),
      drop: async (id) => void rows.delete(id),
      isFresh: () => true,
    },
    metrics,
    nowMs: () => clock.ms,
    log: makeSilentLogger(),
    failedFeesPerHour,
  })
  return { payments, clock, metrics }
}

/** The open payment, or the name of what was wrong. */
const startedAs = async (started: Promise<StartedPayment>): Promise<OpenPayment | string> => {
  try {
    const outcome = await started
    if (outcome.kind === 'open') return outcome.payment
    return outcome.kind === 'refused' ? outcome.problem : outcome.kind
  } catch (error) {
    if (error instanceof Fault) return error.faultName
    throw error
  }
}

const opened = (outcome: OpenPayment | string): OpenPayment => {
  assert.ok(typeof outcome !== 'string', String(outcome))
  return outcome
}

test('payments of one payer are verified as long as the balance covers all that are open', async () => {
  const { payments } = openPayments({ balanceRaw: 3_000n })
  const [payer, other] = [newAccount(), newAccount()]
  const calls = await Promise.all(Array.from({ length: 10 }, () => newCall(payer)))
  const outcomes = await Promise.all(calls.map((call) => startedAs(payments.start(call))))
  const open = outcomes.filter((each) => typeof each !== 'string')
  assert.equal(open.length, 3)
  assert.deepEqual(
    outcomes.filter((each) => typeof each === 'string'),
    Array.from({ length: 7 }, () => 'insufficient_funds'),
  )
  opened(await startedAs(payments.start(await newCall(other))))
  opened(open[0] ?? '').release()
  opened(await startedAs(payments.start(await newCall(payer))))
  assert.equal(await startedAs(payments.start(await newCall(payer))), 'insufficient_funds')
})

test('a payment that may still be mined counts against the balance until its authorization ends', async () => {
  const undecided = async () => ({ problem: 'unexpected_settle_error', isFinal: false })
  const { payments, clock } = openPayments({ balanceRaw: 1_000n, settle: undecided })
  const payer = newAccount()
  const open = opened(await startedAs(payments.start(await newCall(payer))))
  assert.ok('problem' in (await open.settle()))
  assert.equal(await startedAs(payments.start(await newCall(payer))), 'insufficient_funds')
  clock.ms += 61_000
  const validBefore = BigInt(Math.ceil(clock.ms / 1_000)) + 60n
  opened(await startedAs(payments.start(await newCall(payer, { validBefore }))))
})

test('one payer has a bounded number of payments under way', async () => {
  const { payments } = openPayments()
  const payer = newAccount()
  const calls = await Promise.all(Array.from({ length: 20 }, () => newCall(payer)))
  const outcomes = await Promise.all(calls.map((call) => startedAs(payments.start(call))))
  assert.equal(outcomes.filter((each) => typeof each !== 'string').length, 16)
  assert.equal(outcomes.filter((each) => each === 'CONCURRENCY_LIMIT').length, 4)
  opened(await startedAs(payments.start(await newCall(newAccount()))))
})

test('payments of random keys from three addresses keep out no client that pays', async () => {
  const gate = new EventEmitter()
  const chainAnswer = once(gate, 'open')
  const client = newAccount()
  const { payments } = openPayments({
    answered: async (from) => {
      if (from !== client.address.toLowerCase()) await chainAnswer
    },
  })
  const flood: Promise<unknown>[] = []
  const outcomes: (OpenPayment | string)[] = []
  for (let sent = 0; sent < 300; sent += 1) {
    const call = await newCall(newAccount(), { address: `192.0.2.${sent % 3}` })
    flood.push(startedAs(payments.start(call)).then((each) => outcomes.push(each)))
  }
  const paying = await newCall(client, { address: '198.51.100.1' })
  opened(await startedAs(payments.start(paying)))
  await until(() => outcomes.length >= 300 - 3 * 16, 'the others are refused')
  assert.deepEqual(new Set(outcomes), new Set(['CONCURRENCY_LIMIT']))
  gate.emit('open')
  await Promise.all(flood)
  assert.equal(outcomes.filter((each) => typeof each !== 'string').length, 3 * 16)
  const more = await newCall(newAccount(), { address: '192.0.2.0' })
  opened(await startedAs(payments.start(more)))
})

test('a payer with a severe label is refused before anything is settled, and takes no place', async () => {
  const labelled = newAccount()
  let settled = 0
  const { payments } = openPayments({
    hasSevereLabel: async (address) => address === labelled.address.toLowerCase(),
    settle: async () => {
      settled += 1
      return { transaction: '0x1' }
    },
  })
  for (let time = 0; time < 40; time += 1) {
    const start = payments.start(await newCall(labelled))
    await assert.rejects(start, ({ status, details }: Fault) => {
      assert.deepEqual([status, details], [403, { reason: 'payer_severe_risk' }])
      return true
    })
  }
  const open = opened(await startedAs(payments.start(await newCall(newAccount()))))
  assert.ok('transaction' in (await open.settle()))
  assert.equal(settled, 1)
})

test('a process holds a bounded number of verified payments', async () => {
  const { payments } = openPayments()
  const open: OpenPayment[] = []
  for (let place = 0; place < 256; place += 1) {
    const call = await newCall(newAccount(), { address: `192.0.2.${place}` })
    open.push(opened(await startedAs(payments.start(call))))
  }
  const late = await newCall(newAccount(), { address: '198.51.100.1' })
  assert.equal(await startedAs(payments.start(late)), 'SERVER_BUSY')
  open[0]?.release()
  opened(await startedAs(payments.start(late)))
})

test('calls that give their payment back are limited per payer, paid ones are not', async () => {
  const { payments, clock } = openPayments()
  const payer = newAccount()
  for (let paid = 0; paid < 50; paid += 1) {
    const open = opened(await startedAs(payments.start(await newCall(payer))))
    assert.ok('transaction' in (await open.settle()))
  }
  const sameCall = await newCall(payer)
  for (let free = 0; free < 50; free += 1)
    opened(await startedAs(payments.start(sameCall))).release(true)
  for (let unpaid = 0; unpaid < 30; unpaid += 1)
    opened(await startedAs(payments.start(sameCall))).release()
  const elsewhere = { ...sameCall, address: '198.51.100.1' }
  assert.equal(await startedAs(payments.start(elsewhere)), 'RATE_LIMIT')
  opened(await startedAs(payments.start(await newCall(newAccount()))))
  clock.ms += 2_000
  opened(await startedAs(payments.start(sameCall)))
})

test('calls that give their payment back are limited per address, over all payers', async () => {
  const { payments } = openPayments()
  const address = '2001:db8::1'
  for (let unpaid = 0; unpaid < 120; unpaid += 1) {
    const open = payments.start(await newCall(newAccount(), { address }))
    opened(await startedAs(open)).release()
  }
  const neighbour = await newCall(newAccount(), { address: '2001:db8::2' })
  assert.equal(await startedAs(payments.start(neighbour)), 'RATE_LIMIT')
  opened(await startedAs(payments.start({ ...neighbour, address: '2001:db8:0:1::1' })))
})

test('a settlement that fails counts as a call that was not paid', async () => {
  const failed = async () => ({ problem: 'unexpected_settle_error', isFinal: true })
  const { payments } = openPayments({ settle: failed })
  const call = await newCall(newAccount())
  for (let unpaid = 0; unpaid < 30; unpaid += 1)
    assert.ok('problem' in (await opened(await startedAs(payments.start(call))).settle()))
  assert.equal(await startedAs(payments.start(call)), 'RATE_LIMIT')
})

test('wrong payment signatures are limited per address; what is wrong beside them is found before', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: Date.now() })
  const { payments } = openPayments()
  const wrong = await newCall(newAccount(), { chainId: 1 })
  const outcomes: unknown[] = []
  for (let time = 0; time < 40; time += 1) outcomes.push(await startedAs(payments.start(wrong)))
  assert.deepEqual(outcomes.slice(0, 20), Array(20).fill('invalid_exact_evm_payload_signature'))
  assert.deepEqual(outcomes.slice(20), Array(20).fill('RATE_LIMIT'))
  t.mock.timers.tick(999)
  assert.equal(await startedAs(payments.start(wrong)), 'RATE_LIMIT')
  t.mock.timers.tick(1)
  assert.equal(await startedAs(payments.start(wrong)), 'invalid_exact_evm_payload_signature')
  const good = await newCall(newAccount(), { address: '198.51.100.1' })
  opened(await startedAs(payments.start(good)))
  const wrongAmount = await newCall(newAccount(), { chainId: 1, valueRaw: 999n })
  assert.equal(
    await startedAs(payments.start(wrongAmount)),
    'invalid_exact_evm_payload_authorization_value_mismatch',
  )
  const late = await newCall(newAccount(), { chainId: 1, validBefore: 1n })
  assert.equal(
    await startedAs(payments.start(late)),
    'invalid_exact_evm_payload_authorization_valid_before',
  )
})

const SVM_PAYEE = addressFor('payee')

/** A call with a payment of its own on Solana, for a fee of 10,001 lamports. */
const newSvmCall = async (
  wallet: KeyPairSigner,
  { address = '192.0.2.1', call = 'digest' } = {},
): Promise<PaidCall> => ({
  offer: {
    network: 'solana-devnet',
    amountRaw: 1_000n,
    asset: PAYMENT_NETWORKS['solana-devnet'].asset,
    payTo: SVM_PAYEE,
    svm: { feePayer: FEE_PAYER, maxFeeLamports: 15_000 },
  },
  resource: RESOURCE,
  version: 1,
  route: 'search',
  call,
  payload: { transaction: await svmTransaction(wallet, SVM_PAYEE) },
  address,
})

/** Payments whose settlement ends as `outcomes` says for the payer; else it succeeds. */
const openFailing = (failedFeesPerHour?: number) => {
  const failing = new Set<string>()
  const settle: Facilitator['settle'] = async ({ payment: { from } }) =>
    failing.has(from)
      ? { problem: 'invalid_exact_svm_transaction_failed', isFinal: true }
      : { transaction: 'signature' }
  const opened = openPayments({ settle, ...(failedFeesPerHour && { failedFeesPerHour }) })
  const pay = async (call: PaidCall): Promise<string> => {
    const started = await startedAs(opened.payments.start(call))
    if (typeof started === 'string') return started
    const outcome = await started.settle()
    return 'problem' in outcome ? outcome.problem : 'settled'
  }
  return { ...opened, failing, pay }
}

test('after a payment that failed in its block those of its payer and its address rest', async () => {
  const { payments, clock, failing, pay } = openFailing()
  const [payer, other, third] = [await newSvmWallet(), await newSvmWallet(), await newSvmWallet()]
  failing.add(payer.address)
  const early = await newSvmCall(payer)
  const settled = await newSvmCall(payer, { address: '198.51.100.1' })
  const held = opened(await startedAs(payments.start(early)))
  const elsewhere = { address: '198.51.100.1' }
  assert.equal(await pay(await newSvmCall(payer)), 'invalid_exact_svm_transaction_failed')
  // One that was held meanwhile is not sent, and costs nothing.
  const problem = await held.settle()
  assert.deepEqual('problem' in problem && [problem.problem, problem.isPending], [
    'unexpected_settle_error',
    undefined,
  ])
  failing.clear()
  assert.equal(await pay(settled), 'RATE_LIMIT')
  assert.equal(await pay(await newSvmCall(other)), 'RATE_LIMIT')
  assert.equal(await pay(await newSvmCall(third, elsewhere)), 'settled')
  assert.equal(await pay(await newCall(newAccount())), 'settled', 'other networks are taken')
  clock.ms += 60_000
  assert.equal(await pay(await newSvmCall(other)), 'settled')
  assert.equal(await pay(settled), 'RATE_LIMIT')
  clock.ms += 540_000
  assert.equal(await pay(settled), 'settled')
})

test('a payment that was tried before is finished while its payer rests', async () => {
  let isKnown = false
  const { payments, clock } = openPayments({
    settle: async ({ payment: { nonce }, beforeSend }) => {
      if (isKnown && nonce === firstNonce) return { transaction: 'signature' }
      if (nonce !== firstNonce)
        return { problem: 'invalid_exact_svm_transaction_failed', isFinal: true }
      await beforeSend('signature')
      return { problem: 'unexpected_settle_error', isFinal: false }
    },
  })
  const payer = await newSvmWallet()
  const first = await newSvmCall(payer)
  const open = opened(await startedAs(payments.start(first)))
  const firstNonce = open.authorization.nonce
  assert.ok('problem' in (await open.settle()))
  await opened(await startedAs(payments.start(await newSvmCall(payer)))).settle()
  assert.equal(await startedAs(payments.start(await newSvmCall(payer))), 'RATE_LIMIT')
  isKnown = true
  clock.ms += 1_000
  const again = opened(await startedAs(payments.start(first)))
  assert.deepEqual(await again.settle(), { transaction: 'signature' })
})

test('the fees of failed payments of an hour are bounded over all payers', async () => {
  const { clock, failing, pay, metrics } = openFailing(50_000)
  const tried: string[] = []
  const wallets = await Promise.all(Array.from({ length: 8 }, newSvmWallet))
  for (const [index, wallet] of wallets.entries()) {
    failing.add(wallet.address)
    tried.push(await pay(await newSvmCall(wallet, { address: `198.51.100.${index}` })))
  }
  const failed = 'invalid_exact_svm_transaction_failed'
  assert.deepEqual(tried, [
    ...Array.from({ length: 5 }, () => failed),
    ...Array(3).fill('SERVER_BUSY'),
  ])
  const honest = await newSvmWallet()
  const busy = await newSvmCall(honest, { address: '203.0.113.1' })
  assert.equal(await pay(busy), 'SERVER_BUSY')
  assert.equal(await pay(await newCall(newAccount())), 'settled', 'other networks are taken')
  const text = await metrics.registry.metrics()
  assert.match(text, /sluice_payment_failed_fees_lamports_total 50005/)
  assert.match(text, /sluice_payments_total\{outcome="rested"\} 4/)
  // Five fees of 10,001 lamports of 50,000: a little after the limit.
  clock.ms += 1_000
  assert.equal(await pay(busy), 'settled')
  assert.equal(
    await pay(await newSvmCall(wallets[0] ?? honest, { address: '203.0.113.9' })),
    'RATE_LIMIT',
  )
})

test('what was paid for is fetched again at its own price, after the price has changed', async () => {
  const { payments } = openPayments()
  const call = await newCall(newAccount())
  const open = opened(await startedAs(payments.start(call)))
  await open.settle({ status: 200, contentType: 'text/plain', body: 'the answer' })
  const dearer = { ...OFFER, amountRaw: 2_000n, payTo: `0x${'bb'.repeat(20)}` } as const
  const [offer = dearer] = payments.offersAsTaken([dearer], call.payload)
  assert.deepEqual(offer, OFFER)
  assert.equal(payments.problemOf({ ...call, offer }), undefined)
  const again = await payments.start({ ...call, offer })
  assert.ok(again.kind === 'paid')
  assert.equal(String(again.answer?.body), 'the answer')
  assert.equal(
    await startedAs(payments.start({ ...call, offer, call: 'other' })),
    'invalid_transaction_state',
  )
  const fresh = await newCall(newAccount())
  assert.deepEqual(payments.offersAsTaken([dearer], fresh.payload), [dearer])
  assert.deepEqual(payments.offersAsTaken([dearer], { authorization: 'none' }), [dearer])
})

test('a purchase is looked up by its payee in lower case on the EVM, as it is written on Solana', () => {
  const order = {
    payment_id: '',
    state: 'ordered',
    plan: 'nano',
    org_id: '',
    transaction: '',
    asset: 'A',
    nonce: 'hash.digest',
    amount_raw: '5000000',
    valid_before: 1,
    ordered_at: 1,
    starts_at: 0,
    ends_at: 0,
    used_before: 0,
    version: 1,
  }
  const evm = { ...order, chain: 'evm', network: 'base', address: '0xaa', pay_to: PAYEE }
  assert.equal(transferOf(evm).to, PAYEE.toLowerCase())
  const payTo = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9'
  const svm = { ...order, chain: 'solana', network: 'solana', address: 'Wallet', pay_to: payTo }
  const { to, from, valueRaw, nonce } = transferOf(svm)
  assert.deepEqual([to, from, valueRaw, nonce], [payTo, 'Wallet', 5_000_000n, 'hash.digest'])
})
