import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { KeyPairSigner } from '@solana/kit'
import { createMeter } from '../../serving/billing/meter.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { startPaidApi } from '../support/paid-api.ts'
import { receiptOf } from '../support/payments.ts'
import {
  FEE_KEY,
  FEE_PAYER,
  newSvmWallet,
  type SvmPaymentChain,
  type SvmPaymentChanges,
  signSvmPayment,
  startSvmPaymentChain,
  svmHeader,
  svmPayingFetch,
  svmTransaction,
} from '../support/svm-payments.ts'
import { until } from '../support/until.ts'

const PRICE_RAW = 1_000n
const NANO_RAW = 5_000_000n
const PATH = '/v2/token/search?q=a'
const NANO = '/x402/purchase?plan=nano'

/** The limit of one address is not what is tested here. */
const METER = {
  ...createMeter(),
  take: async () => ({ allowed: true, limit: 1, remaining: 1, resetAt: 0, retryAfterSeconds: 1 }),
}

let chain: SvmPaymentChain
let api: TestApi
let payer: KeyPairSigner
let payee: KeyPairSigner

before(async () => {
  chain = await startSvmPaymentChain()
  payer = await newSvmWallet()
  payee = await newSvmWallet()
  chain.hold(payer.address, 10_000_000n)
  chain.hold(payee.address, 0n)
  api = await startApi({ meter: METER, overrides: settings() })
})

after(async () => {
  await api.stop()
  await chain.node.stop()
})

const settings = () => ({
  x402Networks: ['solana-devnet'],
  x402SolanaPayTo: payee.address,
  x402SolanaFeeKey: FEE_KEY,
  x402SolanaRpcUrl: chain.node.url,
  x402Plans: ['nano:5'],
})

const pay = (path: string, header: string, init: RequestInit = {}) =>
  fetch(api.base + path, { ...init, headers: { 'x-payment': header, ...init.headers } })
const sign = (changes: SvmPaymentChanges = {}, wallet = payer) =>
  signSvmPayment(chain, wallet, payee.address, changes)

/** How much the payee got while something ran. */
const earned = async (work: () => Promise<unknown>): Promise<bigint> => {
  const before = chain.balanceOf(payee.address)
  await work()
  return chain.balanceOf(payee.address) - before
}

/** Status and reason of a refusal, which carries no data. */
const refusedAs = async (answer: Promise<Response>) => {
  const given = await answer
  const body = (await given.json()) as { readonly data?: unknown }
  assert.equal(body.data, undefined)
  return [given.status, receiptOf(given).errorReason]
}

/** The chain says something else while work runs. */
const saying = async <T>(method: string, answer: unknown, work: () => Promise<T>): Promise<T> => {
  chain.node.answers.set(method, answer)
  try {
    return await work()
  } finally {
    chain.node.answers.delete(method)
  }
}

test('a call without a credential answers 402 with terms of Solana, in both versions', async () => {
  const { status, headers, body } = await callApi(api, PATH, { headers: {} })
  assert.equal(status, 402)
  const v2 = JSON.parse(Buffer.from(headers.get('payment-required') ?? '', 'base64').toString())
  const shared = {
    scheme: 'exact',
    asset: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
    payTo: payee.address,
    maxTimeoutSeconds: 60,
    extra: { feePayer: FEE_PAYER },
  }
  const network = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'
  assert.deepEqual(v2.accepts, [{ ...shared, network, amount: '1000' }])
  const [v1] = (body as { readonly accepts: readonly object[] }).accepts
  assert.deepEqual(v1, {
    ...shared,
    network: 'solana-devnet',
    maxAmountRequired: '1000',
    resource: `${api.base}/v2/token/search`,
    description: 'GET /v2/token/search',
    mimeType: 'application/json',
    outputSchema: null,
  })
})

for (const version of [1, 2] as const) {
  test(`the official client for Solana pays a call unchanged, version ${version}`, async () => {
    const paying = svmPayingFetch(payer, version, { rpcUrl: chain.node.url })
    let answer = new Response()
    const got = await earned(async () => {
      answer = await paying(`${api.base}${PATH}&limit=${version}`)
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.equal(got, PRICE_RAW)
    const { success, transaction, network, payer: who } = receiptOf(answer)
    assert.deepEqual(
      [success, network, who],
      [
        true,
        version === 1 ? 'solana-devnet' : 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
        payer.address,
      ],
    )
    assert.match(transaction, /^[1-9A-HJ-NP-Za-km-z]{86,88}$/)
    assert.equal(METER.month('x402').byRoute.get('GET /token/search')?.calls, version)
  })
}

test('a transaction pays once: for its call its answer comes again, for another 402', async () => {
  const header = await sign()
  const got = await earned(async () => {
    const answers: Response[] = []
    for (let time = 0; time < 3; time += 1) answers.push(await pay(PATH, header))
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.get('idempotent-replayed')]),
      [
        [200, null],
        [200, 'true'],
        [200, 'true'],
      ],
    )
    assert.equal(new Set(await Promise.all(answers.map((each) => each.text()))).size, 1)
    const other = pay('/v2/token/search?q=b', header)
    assert.deepEqual(await refusedAs(other), [402, 'invalid_transaction_state'])
  })
  assert.equal(got, PRICE_RAW)
})

test('a second writing of a transaction is the same payment', async () => {
  const transaction = await svmTransaction(payer, payee.address, {
    blockhash: chain.node.svm.latestBlockhash(),
  })
  const bytes = Buffer.from(transaction, 'base64')
  // In the place of the fee payer's signature may stand anything.
  bytes.fill(7, 1, 65)
  const got = await earned(async () => {
    assert.equal((await pay(PATH, svmHeader(transaction))).status, 200)
    const again = await pay(PATH, svmHeader(bytes.toString('base64')))
    assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  })
  assert.equal(got, PRICE_RAW)
})

test('of 50 concurrent uses of one transaction for different calls exactly one gets data', async () => {
  const header = await sign()
  let statuses: number[] = []
  const got = await earned(async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, place) => pay(`/v2/token/search?q=y${place}`, header)),
    )
    statuses = answers.map(({ status }) => status)
  })
  assert.equal(statuses.filter((status) => status === 200).length, 1)
  assert.equal(statuses.filter((status) => status === 402).length, 49)
  assert.equal(got, PRICE_RAW)
})

test('calls that answer 404 or 400 cost nothing, and their transaction is good for another call', async () => {
  const header = await sign()
  const nothing = async () => {
    assert.equal((await pay(`/v2/token/eth/0x${'12'.repeat(20)}/price`, header)).status, 404)
    assert.equal((await pay('/v2/token/search?limit=0', header)).status, 400)
  }
  assert.equal(await earned(nothing), 0n)
  assert.equal(await earned(() => pay(PATH, header)), PRICE_RAW)
})

test('a transaction that pays nothing gives no data', async () => {
  const poor = await newSvmWallet()
  chain.hold(poor.address, PRICE_RAW - 1n)
  const nobody = await newSvmWallet()
  const { svm } = chain.node
  const got = await earned(async () => {
    assert.deepEqual(await refusedAs(pay(PATH, await sign({}, poor))), [402, 'insufficient_funds'])
    assert.deepEqual(await refusedAs(pay(PATH, await sign({}, nobody))), [
      402,
      'insufficient_funds',
    ])
    const old = await sign()
    svm.expireBlockhash()
    const expired = 'invalid_exact_svm_transaction_simulation_failed'
    assert.deepEqual(await refusedAs(pay(PATH, old)), [402, expired])
    // The balance is gone between the simulation and the sending: the node refuses what it would have passed on.
    const chargeless = await saying('simulateTransaction', { value: { err: null } }, async () =>
      refusedAs(pay(PATH, await sign({}, poor))),
    )
    assert.deepEqual(chargeless, [402, 'unexpected_settle_error'])
  })
  assert.equal(got, 0n)
})

test('hostile headers are refused with the names of the protocol, and cost nothing', async () => {
  const other = await newSvmWallet()
  const got = await earned(async () => {
    for (const [header, reason] of [
      [await sign({ amountRaw: 999n }), 'invalid_exact_svm_payload_amount_mismatch'],
      [
        await signSvmPayment(chain, payer, other.address),
        'invalid_exact_svm_payload_recipient_mismatch',
      ],
      [await sign({ feePayer: other.address }), 'invalid_exact_svm_fee_payer_mismatch'],
      [await sign({ isUnsigned: true }), 'invalid_exact_svm_payload_signature_invalid'],
      [
        await sign({ change: (all) => [...all, ...all.slice(2, 3)] }),
        'invalid_exact_svm_payload_unknown_fifth_instruction',
      ],
      [svmHeader(Buffer.alloc(1_233).toString('base64')), 'invalid_exact_svm_payload_transaction'],
      [svmHeader('AAAA'), 'invalid_exact_svm_payload_transaction_could_not_be_decoded'],
      [svmHeader({}), 'invalid_payload'],
    ] as const)
      assert.deepEqual(await refusedAs(pay(PATH, header)), [402, reason], reason)
    assert.equal((await pay(PATH, svmHeader('A'.repeat(9_000)))).status, 400)
    assert.equal((await pay('/v2/webhook/endpoint', await sign())).status, 403)
  })
  assert.equal(got, 0n)
})

test('payments of one wallet are worked for as long as its balance covers all that are open', async () => {
  const wallet = await newSvmWallet()
  chain.hold(wallet.address, 2n * PRICE_RAW)
  const headers = await Promise.all(Array.from({ length: 6 }, () => sign({}, wallet)))
  const got = await earned(async () => {
    const answers = await Promise.all(headers.map((header) => pay(PATH, header)))
    assert.ok(answers.filter(({ status }) => status === 200).length <= 2)
  })
  assert.ok(got >= PRICE_RAW && got <= 2n * PRICE_RAW, `${got}`)
})

test('a killed process takes no transaction twice, and pays out what was interrupted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-paid-'))
  const run = async (work: (base: string) => Promise<unknown>): Promise<void> => {
    const { base, kill } = await startPaidApi({ folder, settings: settings() })
    try {
      await work(base)
    } finally {
      await kill()
    }
  }
  const ask = (base: string, path: string, header: string) =>
    fetch(base + path, { headers: { 'x-payment': header } })
  const unseen = await sign()
  const unsent = await sign()
  const got = await earned(async () => {
    // Killed behind the sending, before its end is seen.
    await saying('getSignatureStatuses', { context: { slot: 1 }, value: [null] }, () =>
      run(async (base) => {
        const before = chain.balanceOf(payee.address)
        ask(base, PATH, unseen).catch(() => undefined)
        await until(() => chain.balanceOf(payee.address) > before, 'the payment is sent')
      }),
    )
    // Killed while the node has not answered.
    await saying('sendTransaction', null, () =>
      run(async (base) => {
        const { asked } = chain.node
        const before = asked.length
        ask(base, PATH, unsent).catch(() => undefined)
        const isSending = () => asked.indexOf('sendTransaction', before) >= 0
        await until(isSending, 'the payment is on its way')
      }),
    )
    await run(async (base) => {
      for (const header of [unseen, unsent]) {
        const other = await ask(base, '/v2/token/search?q=b', header)
        assert.equal(receiptOf(other).errorReason, 'invalid_transaction_state')
        const answer = await ask(base, PATH, header)
        assert.equal(answer.status, 200, await answer.clone().text())
      }
      const again = await ask(base, PATH, unsent)
      assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
    })
  })
  assert.equal(got, 2n * PRICE_RAW)
  rmSync(folder, { recursive: true, force: true })
})

test('a wallet of Solana buys a plan with the official client, in both versions', async () => {
  for (const version of [1, 2] as const) {
    const wallet = await newSvmWallet()
    chain.hold(wallet.address, NANO_RAW)
    const most = '$10' as const
    const paying = svmPayingFetch(wallet, version, { rpcUrl: chain.node.url, most })
    let answer = new Response()
    const got = await earned(async () => {
      answer = await paying(api.base + NANO)
    })
    assert.equal(got, NANO_RAW)
    assert.equal(answer.status, 200, await answer.clone().text())
    const bought = (await answer.json()) as Readonly<Record<string, unknown>>
    assert.deepEqual(
      [bought.status, bought.plan, bought.chain, bought.address],
      ['ok', 'nano', 'solana', wallet.address],
    )
    assert.equal(bought.txHash, receiptOf(answer).transaction)
    const withKey = await callApi(api, PATH, { headers: { 'x-api-key': String(bought.apiKey) } })
    assert.equal(withKey.status, 200)
    const { body } = await callApi(api, `/x402/status?chain=solana&address=${wallet.address}`, {
      headers: {},
    })
    const { plan, active, pending } = body as Readonly<Record<string, unknown>>
    assert.deepEqual([plan, active, pending], ['nano', true, false])
  }
})

test('a transaction that bought a plan shows the plan again, and no key', async () => {
  const wallet = await newSvmWallet()
  chain.hold(wallet.address, 2n * NANO_RAW)
  const header = await sign({ amountRaw: NANO_RAW }, wallet)
  const got = await earned(async () => {
    const keys: unknown[] = []
    for (let time = 0; time < 2; time += 1) {
      const answer = await pay(NANO, header)
      assert.equal(answer.status, 200, await answer.clone().text())
      keys.push(((await answer.json()) as { readonly apiKey: unknown }).apiKey)
    }
    assert.equal(typeof keys[0], 'string')
    assert.equal(keys[1], null)
  })
  assert.equal(got, NANO_RAW)
})

// The last one: the address of the tests waits behind it.
test('after a payment that failed in its block its payer and its address wait', async () => {
  const failed = { slot: 1, confirmationStatus: 'confirmed', err: { InstructionError: [2, 1] } }
  const statuses = { context: { slot: 1 }, value: [failed] }
  const got = await earned(async () => {
    const inBlock = await saying('getSignatureStatuses', statuses, () =>
      saying('sendTransaction', 'taken', async () => refusedAs(pay(PATH, await sign()))),
    )
    assert.deepEqual(inBlock, [402, 'invalid_exact_svm_transaction_failed'])
    const other = await newSvmWallet()
    chain.hold(other.address, PRICE_RAW)
    for (const wallet of [payer, other]) {
      const answer = await pay(PATH, await sign({}, wallet))
      const waitSeconds = Number(answer.headers.get('retry-after'))
      const mostSeconds = wallet === payer ? 601 : 61
      assert.equal(answer.status, 429)
      assert.ok(waitSeconds > mostSeconds - 20 && waitSeconds <= mostSeconds, `${waitSeconds} s`)
    }
  })
  assert.equal(got, 0n)
})
