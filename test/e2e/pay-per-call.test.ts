import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { importLabels } from '../../core/clickhouse/label-store.ts'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { parseLabels } from '../../serving/risk/label-formats.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { devAccount } from '../support/nodes/anvil.ts'
import { startPaidApi } from '../support/paid-api.ts'
import {
  GAS_KEY,
  type PaymentChain,
  payingFetch,
  receiptOf,
  signPayment,
  startPaymentChain,
} from '../support/payments.ts'
import { until } from '../support/until.ts'

const PAYEE = '0x00000000000000000000000000000000000000AA'
const PRICE_RAW = 1_000n
const PATH = '/v2/token/search?q=a'

/** The limit of one address is not what is tested here. */
const METER = {
  ...createMeter(),
  take: async () => ({ allowed: true, limit: 1, remaining: 1, resetAt: 0, retryAfterSeconds: 1 }),
}

let chain: PaymentChain
let api: TestApi
const payer = privateKeyToAccount(generatePrivateKey())

before(async () => {
  chain = await startPaymentChain()
  await chain.mint(payer.address, 10_000_000n)
  assert.equal(await chain.balanceOf(payer.address), 10_000_000n)
  api = await startApi({ meter: METER, overrides: settings() })
})

const settings = () => ({
  x402PayTo: PAYEE,
  x402Networks: ['base-sepolia'],
  x402GasKey: GAS_KEY,
  x402RpcUrl: chain.anvil.httpUrl,
})

after(async () => {
  await api.stop()
  await chain.anvil.stop()
})

const pay = (path: string, header: string, init: RequestInit = {}) =>
  fetch(api.base + path, { ...init, headers: { 'x-payment': header, ...init.headers } })

const toHeader = (payment: object): string =>
  Buffer.from(JSON.stringify(payment)).toString('base64')

/** How much the payee got while something ran. */
const earned = async (work: () => Promise<unknown>): Promise<bigint> => {
  const before = await chain.balanceOf(PAYEE)
  await work()
  return (await chain.balanceOf(PAYEE)) - before
}

/** Status and reason of a refusal. */
const refusedAs = async (answer: Promise<Response>) => {
  const { status, headers } = await answer
  const receipt = headers.get('x-payment-response')
  return [status, receipt && JSON.parse(Buffer.from(receipt, 'base64').toString()).errorReason]
}

test('a call without a credential answers 402 with its payment terms, in both versions', async () => {
  const { status, headers, body } = await callApi(api, PATH, { headers: {} })
  assert.equal(status, 402)
  assert.equal(headers.get('cache-control'), 'no-store')
  const header = headers.get('payment-required') ?? ''
  assert.equal(headers.get('x-payment-required'), header)
  const v2 = JSON.parse(Buffer.from(header, 'base64').toString())
  assert.equal(v2.resource.url, `${api.base}/v2/token/search`)
  assert.equal(v2.accepts[0].amount, `${PRICE_RAW}`)
  const v1 = body as {
    readonly code: number
    readonly accepts: readonly { readonly resource: string }[]
    readonly details: object
  }
  assert.equal(v1.code, 402)
  assert.equal(v1.accepts[0]?.resource, `${api.base}/v2/token/search`)
  assert.deepEqual(v1.details, { cu: 0.25 })
})

for (const version of [1, 2] as const) {
  test(`the official client pays a call unchanged, version ${version}`, async () => {
    let answer = new Response()
    const got = await earned(async () => {
      answer = await payingFetch(payer, version)(`${api.base}${PATH}&limit=${version}`)
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.equal(got, PRICE_RAW)
    const { success, transaction, network, payer: who } = receiptOf(answer)
    assert.deepEqual(
      [success, network, who],
      [true, version === 1 ? 'base-sepolia' : 'eip155:84532', payer.address.toLowerCase()],
    )
    const { status, to } = await chain.anvil.client.getTransactionReceipt({
      hash: transaction as `0x${string}`,
    })
    assert.equal(status, 'success')
    assert.equal(to, PAYMENT_NETWORKS['base-sepolia'].asset.toLowerCase())
    assert.equal(answer.headers.get('x-cu-cost'), '0.25')
    const counted = METER.month('x402').byRoute.get('GET /token/search')
    assert.deepEqual([counted?.calls, counted?.milliUnits], [version, version * 250])
  })
}

test('pay per call: the same payment for the same call returns the same response again and is paid once', async () => {
  const header = await signPayment(payer, PAYEE)
  const answers: Response[] = []
  const got = await earned(async () => {
    for (let time = 0; time < 3; time += 1) answers.push(await pay(PATH, header))
  })
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.deepEqual(
    answers.map(({ headers }) => headers.get('idempotent-replayed')),
    [null, 'true', 'true'],
  )
  const texts = await Promise.all(answers.map((each) => each.text()))
  assert.equal(new Set(texts).size, 1)
  assert.equal(new Set(answers.map((each) => receiptOf(each).transaction)).size, 1)
  assert.equal(got, PRICE_RAW)
})

test('a paid call gives its answer again after its payment is no longer valid', async () => {
  const validBefore = BigInt(Math.ceil(Date.now() / 1_000)) + 12n
  const header = await signPayment(payer, PAYEE, { validBefore })
  const unused = await signPayment(payer, PAYEE, { validBefore })
  assert.equal((await pay(PATH, header)).status, 200)
  await until(() => BigInt(Math.floor(Date.now() / 1_000)) >= validBefore, 'the payment expires')
  const again = await pay(PATH, header)
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  assert.deepEqual(await refusedAs(pay('/v2/token/search?q=b', header)), [
    402,
    'invalid_transaction_state',
  ])
  assert.deepEqual(await refusedAs(pay(PATH, unused)), [
    402,
    'invalid_exact_evm_payload_authorization_valid_before',
  ])
})

test('a payment buys one call: another path, query or method is refused', async () => {
  const header = await signPayment(payer, PAYEE)
  const got = await earned(async () => {
    assert.equal((await pay(PATH, header)).status, 200)
    for (const [path, init] of [
      ['/v2/token/search?q=b', {}],
      ['/v1/token/search?q=a', {}],
      ['/v2/blockchain', {}],
      [PATH, { method: 'HEAD' }],
    ] as const) {
      const answer = await pay(path, header, init)
      assert.equal(answer.status, 402, path)
      assert.equal(receiptOf(answer).errorReason, 'invalid_transaction_state')
    }
  })
  assert.equal(got, PRICE_RAW)
})

test('a call by POST that changes nothing is charged as well', async () => {
  const header = await signPayment(payer, PAYEE)
  const path = `/v2/watchlist/eth/0x${'12'.repeat(20)}`
  const got = await earned(async () => {
    const answer = await pay(path, header, { method: 'POST' })
    assert.equal(answer.status, 200, await answer.clone().text())
    const other = await pay(path, header, {
      method: 'POST',
      body: '{"note":1}',
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(other.status, 402, 'another body is another call')
  })
  assert.equal(got, PRICE_RAW)
})

test('pay per call: of 100 concurrent uses of one nonce for different calls exactly one gets data', async () => {
  const header = await signPayment(payer, PAYEE)
  let statuses: number[] = []
  const got = await earned(async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, place) => pay(`/v2/token/search?q=x${place}`, header)),
    )
    statuses = answers.map(({ status }) => status)
  })
  assert.equal(statuses.filter((status) => status === 200).length, 1)
  assert.equal(statuses.filter((status) => status === 402).length, 99)
  assert.equal(got, PRICE_RAW)
})

test('calls that answer 404 or 400 cost nothing, and their payment is valid for another call', async () => {
  const header = await signPayment(payer, PAYEE)
  const got = await earned(async () => {
    for (const [path, status] of [
      [`/v2/token/eth/0x${'12'.repeat(20)}/price`, 404],
      ['/v2/token/search?limit=0', 400],
      ['/v2/token/nowhere/list', 404],
    ] as const)
      assert.equal((await pay(path, header)).status, status, path)
  })
  assert.equal(got, 0n)
  assert.equal(await earned(() => pay(PATH, header)), PRICE_RAW)
})

test('a payment that settles for nothing gives no data', async () => {
  const poor = privateKeyToAccount(generatePrivateKey())
  const { client } = chain.anvil
  const cases = {
    insufficient_funds: async () => pay(PATH, await signPayment(poor, PAYEE)),
    invalid_transaction_state: async () => {
      await chain.setPaused(true)
      const answer = await pay(PATH, await signPayment(payer, PAYEE))
      await chain.setPaused(false)
      return answer
    },
    // The account that pays the gas has none: the payment is good and cannot be brought to the chain.
    unexpected_settle_error: async () => {
      const { address } = devAccount(3)
      const balance = await client.getBalance({ address })
      await client.setBalance({ address, value: 0n })
      const answer = await pay(PATH, await signPayment(payer, PAYEE))
      await client.setBalance({ address, value: balance })
      return answer
    },
  }
  const got = await earned(async () => {
    for (const [reason, run] of Object.entries(cases)) {
      const answer = await run()
      assert.equal(answer.status, 402, reason)
      assert.deepEqual([receiptOf(answer).success, receiptOf(answer).errorReason], [false, reason])
      const text = await answer.text()
      assert.equal(JSON.parse(text).details.errorReason, reason)
      assert.equal('data' in JSON.parse(text), false)
      assert.equal(answer.headers.get('etag'), null)
    }
  })
  assert.equal(got, 0n)
})

test('pay per call: a wrong amount or payee, an invalid header and a route that needs an account are refused', async () => {
  const mismatch = 'invalid_exact_evm_payload_authorization_value_mismatch'
  const less = await signPayment(payer, PAYEE, { valueRaw: 999n })
  const more = await signPayment(payer, PAYEE, { valueRaw: 1_001n })
  const other = await signPayment(payer, payer.address)
  const late = await signPayment(payer, PAYEE, { validBefore: 1n })
  assert.deepEqual(await refusedAs(pay(PATH, less)), [402, mismatch])
  assert.deepEqual(await refusedAs(pay(PATH, more)), [402, mismatch])
  assert.deepEqual(await refusedAs(pay(PATH, other)), [
    402,
    'invalid_exact_evm_payload_recipient_mismatch',
  ])
  assert.deepEqual(await refusedAs(pay(PATH, late)), [
    402,
    'invalid_exact_evm_payload_authorization_valid_before',
  ])
  assert.deepEqual(await refusedAs(pay(PATH, 'rubbish!')), [400, null])
  const good = await signPayment(payer, PAYEE)
  assert.deepEqual(await refusedAs(pay('/v2/webhook/endpoint', good)), [403, null])
  assert.deepEqual(await refusedAs(pay('/v2/account/plan', good)), [401, null])
  const both = pay(PATH, good, { headers: { 'payment-signature': good } })
  assert.deepEqual(await refusedAs(both), [400, null])
  const withKey = await pay(PATH, good, { headers: { 'x-api-key': 'wrong' } })
  assert.equal(withKey.status, 401, 'the first credential decides')
})

test('a paid call gets its body and is charged whatever it says of entity tags', async () => {
  const known = (await pay(PATH, await signPayment(payer, PAYEE))).headers.get('etag') ?? ''
  for (const tag of ['*', known]) {
    const got = await earned(async () => {
      const header = await signPayment(payer, PAYEE)
      const answer = await pay(PATH, header, { headers: { 'if-none-match': tag } })
      assert.equal(answer.status, 200, tag)
      assert.ok((await answer.text()).length > 0)
    })
    assert.equal(got, PRICE_RAW)
  }
})

test('a payment of a wrong form, recipient or amount is refused before the body is read', async () => {
  const path = `/v2/watchlist/eth/0x${'12'.repeat(20)}`
  const init = {
    method: 'POST',
    body: '{not json',
    headers: { 'content-type': 'application/json' },
  }
  const good = JSON.parse(Buffer.from(await signPayment(payer, PAYEE), 'base64').toString())
  const malformed = { ...good, payload: { ...good.payload, signature: '0x' } }
  const empty = { ...good, payload: {} }
  for (const [payment, reason] of [
    [toHeader(empty), 'invalid_payload'],
    [toHeader(malformed), 'invalid_exact_evm_payload_signature'],
    [await signPayment(payer, payer.address), 'invalid_exact_evm_payload_recipient_mismatch'],
    [
      await signPayment(payer, PAYEE, { valueRaw: 1n }),
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
  ] as const)
    assert.deepEqual(await refusedAs(pay(path, payment, init)), [402, reason])
  assert.equal((await pay(path, toHeader(good), init)).status, 400)
})

test('a payer with a label of severe risk is refused with 403 and keeps the money', async () => {
  const wallet = privateKeyToAccount(generatePrivateKey())
  await chain.mint(wallet.address, 10n * PRICE_RAW)
  const labels = parseLabels('csv', `address,category\n${wallet.address},sanctions\n`)
  const source = { source: 'test', format: 'csv', nowMs: Date.now() - 1_000 }
  await importLabels(api.warehouse, { ...source, labels })
  const got = await earned(async () => {
    const answer = await pay(PATH, await signPayment(wallet, PAYEE))
    const { details } = (await answer.json()) as { readonly details: object }
    assert.deepEqual([answer.status, details], [403, { reason: 'payer_severe_risk' }])
  })
  assert.equal(got, 0n)
})

test('calls that find nothing are limited for one payer: 429 tells when to come back', async () => {
  const wallet = privateKeyToAccount(generatePrivateKey())
  await chain.mint(wallet.address, PRICE_RAW)
  const header = await signPayment(wallet, PAYEE)
  const nothing = `/v2/token/eth/0x${'12'.repeat(20)}/price`
  let answer = await pay(nothing, header)
  let found = 0
  for (; answer.status === 404 && found < 40; found += 1) answer = await pay(nothing, header)
  assert.equal(answer.status, 429, await answer.clone().text())
  // One is refilled every two seconds.
  assert.ok(found >= 30 && found < 40, `${found}`)
  assert.ok(Number(answer.headers.get('retry-after')) >= 1)
})

test('a killed process sells no nonce twice, and pays out what was interrupted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-paid-'))
  // Processes take long to start: what is signed here has to be good when the last of them is up.
  const validBefore = BigInt(Math.ceil(Date.now() / 1_000)) + 3_600n
  const header = await signPayment(payer, PAYEE, { validBefore })
  const { client } = chain.anvil
  const run = async (work: (base: string) => Promise<unknown>): Promise<void> => {
    const { base, kill } = await startPaidApi({ folder, settings: settings() })
    try {
      await work(base)
    } finally {
      await kill()
    }
  }
  const ask = (base: string, path: string, payment = header) =>
    fetch(base + path, { headers: { 'x-payment': payment } })
  const interrupted = await signPayment(payer, PAYEE, { validBefore })
  const got = await earned(async () => {
    await run(async (base) => assert.equal((await ask(base, PATH)).status, 200))
    await run(async (base) => {
      const again = await ask(base, PATH)
      assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
      assert.equal((await ask(base, '/v2/token/search?q=b')).status, 402)
      // Killed between sending and mining.
      await client.setAutomine(false)
      ask(base, PATH, interrupted).catch(() => undefined)
      await until(async () => (await client.getTxpoolStatus()).pending > 0, 'the payment is sent')
    })
    await client.setAutomine(true)
    await client.mine({ blocks: 1 })
    await run(async (base) => {
      const other = await ask(base, '/v2/token/search?q=b', interrupted)
      assert.equal(receiptOf(other).errorReason, 'invalid_transaction_state')
      const answer = await ask(base, PATH, interrupted)
      assert.equal(answer.status, 200, await answer.clone().text())
    })
  })
  assert.equal(got, 2n * PRICE_RAW)
  rmSync(folder, { recursive: true, force: true })
})
