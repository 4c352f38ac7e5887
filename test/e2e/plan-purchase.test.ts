import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { DAY_MS } from '../../core/time.ts'
import { SCHEMA_EXAMPLES } from '../../schemas/api/examples.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { startPaidApi } from '../support/paid-api.ts'
import type { PaidApiOptions } from '../support/paid-api-child.ts'
import {
  GAS_KEY,
  type PaymentChain,
  payingFetch,
  receiptOf,
  signPayment,
  startPaymentChain,
} from '../support/payments.ts'
import { until } from '../support/until.ts'
import { signInMessage } from '../support/wallet-signer.ts'

const PAYEE = '0x00000000000000000000000000000000000000AB'
const NANO_RAW = 5_000_000n
const NANO = '/x402/purchase?plan=nano'
const STARTER = '/x402/purchase?plan=starter'
/** The limit of one address is not what is tested here. */
const METER = {
  ...createMeter(),
  take: async () => ({ allowed: true, limit: 1, remaining: 1, resetAt: 0, retryAfterSeconds: 1 }),
}

let chain: PaymentChain
let api: TestApi

const settings = () => ({
  x402PayTo: PAYEE,
  x402Networks: ['base-sepolia'],
  x402GasKey: GAS_KEY,
  x402RpcUrl: chain.anvil.httpUrl,
  x402Plans: ['nano:5', 'starter:9.5'],
})

before(async () => {
  chain = await startPaymentChain()
  api = await startApi({ meter: METER, overrides: settings() })
})

after(async () => {
  await api.stop()
  await chain.anvil.stop()
})

/** A wallet with money and without an account. */
const newWallet = async (valueRaw = 100_000_000n): Promise<PrivateKeyAccount> => {
  const account = privateKeyToAccount(generatePrivateKey())
  if (valueRaw > 0n) await chain.mint(account.address, valueRaw)
  return account
}

const payFor = (base: string, path: string, header: string, init: RequestInit = {}) =>
  fetch(base + path, { ...init, headers: { 'x-payment': header } })
const pay = (path: string, header: string, init: RequestInit = {}) =>
  payFor(api.base, path, header, init)
const signNano = (account: PrivateKeyAccount, more: object = {}): Promise<string> =>
  signPayment(account, PAYEE, { valueRaw: NANO_RAW, ...more })

/** How much the payee got while something ran. */
const earned = async (work: () => Promise<unknown>): Promise<bigint> => {
  const before = await chain.balanceOf(PAYEE)
  await work()
  return (await chain.balanceOf(PAYEE)) - before
}

interface Bought {
  readonly status: string
  readonly plan: string
  readonly chain: string
  readonly address: string
  readonly expiresAt: string
  readonly txHash: string
  readonly apiKey: string | null
}
const boughtOf = async (answer: Response): Promise<Bought> => {
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  return JSON.parse(text)
}
const problemOf = async (answer: Response) => {
  const { code, details } = (await answer.json()) as {
    readonly code: number
    readonly details?: Readonly<Record<string, unknown>>
  }
  return [answer.status, code, details?.errorReason ?? details?.reason ?? details?.parameter]
}
const statusOf = async (base: string, { address }: Pick<PrivateKeyAccount, 'address'>) => {
  const answer = await fetch(`${base}/x402/status?chain=evm&address=${address}`)
  assert.equal(answer.status, 200)
  return (await answer.json()) as {
    readonly plan: string | null
    readonly active: boolean
    readonly pending: boolean
    readonly expiresAt: string | null
    readonly quota: { readonly used: number; readonly total: number }
  }
}

/** Headers of a call that a wallet signs in. */
const signIn = async (account: PrivateKeyAccount) => {
  const message = signInMessage(
    { kind: 'evm', address: account.address },
    {
      domain: 'auth.test',
      uri: 'https://auth.test',
      issuedAt: new Date().toISOString(),
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    },
  )
  const signature = await account.signMessage({ message })
  return { authorization: `SIWX ${Buffer.from(message).toString('base64')}.${signature}` }
}
const planOf = async (headers: Readonly<Record<string, string>>, base = api.base) => {
  const answer = await fetch(`${base}/v2/account/plan`, { headers })
  return answer.status === 200
    ? ((await answer.json()) as { readonly plan: string }).plan
    : answer.status
}

/** The document says what is answered. */
interface DocumentedAnswer {
  readonly headers: object
  readonly content: object
}
interface DocumentedOperation {
  readonly 'x-payable'?: boolean
  readonly responses: Readonly<Record<number, unknown>>
}

const assertFields = (body: unknown, schema: string): void =>
  assert.deepEqual(
    Object.keys(body as object).toSorted(),
    Object.keys(SCHEMA_EXAMPLES[schema] as object).toSorted(),
  )

test('an unpaid call names where plans are bought', async () => {
  const { status, body } = await callApi(api, '/v2/token/search?q=a', { headers: {} })
  const { details } = body as { readonly details: object }
  assert.equal(status, 402)
  assertFields(body, 'PaymentRequired')
  const { accepts } = body as { readonly accepts: readonly unknown[] }
  for (const offer of accepts) assertFields(offer, 'PaymentOffer')
  const plans = { purchase: '/x402/purchase', pricing: '/x402/pricing' }
  assert.deepEqual(details, { cu: 0.25, ...plans })
  for (const path of Object.values(plans))
    assert.notEqual((await callApi(api, path, { headers: {} })).status, 404, path)
})

test('the API document has the terms and the headers of every operation that can be paid for', async () => {
  const { body } = await callApi(api, '/openapi.json', { headers: {} })
  const { paths, components } = body as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
    readonly components: { readonly responses: { readonly Status402: DocumentedAnswer } }
  }
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  const payable = operations.filter((operation) => operation['x-payable'] === true)
  assert.ok(payable.length > 100)
  const sales = [paths['/x402/purchase']?.get, paths['/x402/purchase']?.post]
  for (const operation of [...payable, ...sales])
    assert.deepEqual(operation?.responses[402], { $ref: '#/components/responses/Status402' })
  const { headers, content } = components.responses.Status402
  assert.deepEqual(Object.keys(headers), ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE'])
  const terms = { schema: { $ref: '#/components/schemas/PaymentRequired' } }
  assert.deepEqual(content, { 'application/problem+json': terms, 'application/json': terms })
})

test('the price list has the plans for sale, and a plan that is not for sale answers 400 with the allowed names', async () => {
  const { status, body } = await callApi(api, '/x402/pricing', { headers: {} })
  assert.equal(status, 200)
  assertFields(body, 'PlanPrices')
  const { plans, currency, networks } = body as Readonly<Record<string, unknown>>
  assert.deepEqual(plans, [
    { name: 'nano', priceUsd: 5, quotaTotal: 500_000, durationDays: 30 },
    { name: 'starter', priceUsd: 9.5, quotaTotal: 10_000_000, durationDays: 30 },
  ])
  assert.deepEqual([currency, networks], ['USDC', ['eip155:84532']])
  for (const path of ['/x402/purchase', '/x402/purchase?plan=pro', '/x402/purchase?plan=']) {
    const answer = await callApi(api, path, { headers: {} })
    const { code, details } = answer.body as { code: number; details: Record<string, unknown> }
    assert.deepEqual([answer.status, code, details.allowed], [400, 40002, ['nano', 'starter']])
  }
  assert.equal((await callApi(api, NANO, { method: 'HEAD' })).status, 405)
})

test('a purchase is offered with its terms in both versions', async () => {
  const { status, headers, body } = await callApi(api, NANO, { headers: {} })
  assert.equal(status, 402)
  const v2 = JSON.parse(Buffer.from(headers.get('payment-required') ?? '', 'base64').toString())
  assert.equal(v2.resource.url, `${api.base}/x402/purchase`)
  assert.equal(v2.accepts[0].amount, `${NANO_RAW}`)
  const v1 = body as { readonly accepts: readonly { readonly maxAmountRequired: string }[] }
  assert.equal(v1.accepts[0]?.maxAmountRequired, `${NANO_RAW}`)
})

for (const [version, method] of [
  [1, 'GET'],
  [2, 'POST'],
] as const) {
  test(`the official client buys a plan unchanged, version ${version} by ${method}`, async () => {
    const wallet = await newWallet()
    let answer = new Response()
    const got = await earned(async () => {
      answer = await payingFetch(wallet, version, '$10')(api.base + NANO, { method })
    })
    const bought = await boughtOf(answer)
    assertFields(bought, 'Purchase')
    const { status, plan, chain: kind, address, expiresAt, txHash, apiKey } = bought
    assert.equal(got, NANO_RAW)
    assert.deepEqual([status, plan, kind], ['ok', 'nano', 'evm'])
    assert.equal(address, wallet.address.toLowerCase())
    assert.equal(receiptOf(answer).transaction, txHash)
    assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 30 * DAY_MS) < 60_000)
    assert.equal(await planOf({ 'x-api-key': apiKey ?? '' }), 'nano')
    assert.equal(await planOf(await signIn(wallet)), 'nano')
    assert.deepEqual(await statusOf(api.base, wallet), {
      plan: 'nano',
      quota: { used: 0, total: 500_000 },
      expiresAt,
      active: true,
      pending: false,
    })
  })
}

test('a repeated payment returns the plan without a key, and is charged once', async () => {
  const wallet = await newWallet()
  const header = await signNano(wallet)
  let first = new Response()
  let again = new Response()
  const got = await earned(async () => {
    first = await pay(NANO, header)
    again = await pay(NANO, header)
    assert.equal((await pay(STARTER, header)).status, 402, 'another plan is another call')
    assert.equal((await pay(NANO, header, { method: 'POST' })).status, 402)
  })
  const [one, two] = [await boughtOf(first), await boughtOf(again)]
  assert.ok(one.apiKey)
  assert.deepEqual(two, { ...one, apiKey: null })
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(got, NANO_RAW)
})

test('plan purchase: of 100 concurrent uses of one nonce exactly one buys, and one account is created', async () => {
  const wallet = await newWallet()
  const header = await signNano(wallet)
  const orgs = api.organizations.registry.orgs().length
  let answers: Response[] = []
  const got = await earned(async () => {
    answers = await Promise.all(Array.from({ length: 100 }, () => pay(NANO, header)))
  })
  const isNew = (each: Response) =>
    each.status === 200 && each.headers.get('idempotent-replayed') === null
  assert.equal(answers.filter(isNew).length, 1)
  assert.ok(answers.every(({ status }) => status === 200 || status === 402))
  const keys = await Promise.all(answers.filter(({ status }) => status === 200).map(boughtOf))
  assert.equal(keys.filter(({ apiKey }) => apiKey !== null).length, 1)
  assert.equal(got, NANO_RAW)
  assert.equal(api.organizations.registry.orgs().length, orgs + 1)
})

test('of ten concurrent payments of one wallet only those that settle are paid: the others are refused and cost nothing', async () => {
  const wallet = await newWallet(1_000_000_000n)
  const headers = await Promise.all(Array.from({ length: 10 }, () => signNano(wallet)))
  const statuses: number[] = []
  const got = await earned(async () => {
    const answers = await Promise.all(headers.map((header) => pay(NANO, header)))
    statuses.push(...answers.map(({ status }) => status))
  })
  const bought = statuses.filter((status) => status === 200).length
  assert.ok(bought >= 1)
  assert.equal(got, BigInt(bought) * NANO_RAW, 'who is refused has not paid')
  assert.ok(statuses.every((status) => status === 200 || status === 409))
  assert.ok(statuses.includes(409))
})

test('a higher plan replaces a lower one; a lower one is refused before it is paid', async () => {
  const wallet = await newWallet()
  const nano = await boughtOf(await payingFetch(wallet, 2, '$10')(api.base + NANO))
  const starter = await boughtOf(await payingFetch(wallet, 2, '$10')(api.base + STARTER))
  assert.deepEqual([starter.plan, starter.apiKey], ['starter', null])
  assert.equal(await planOf({ 'x-api-key': nano.apiKey ?? '' }), 'starter')
  const got = await earned(async () => {
    const answer = await pay(NANO, await signNano(wallet))
    assert.deepEqual(await problemOf(answer), [409, 409, 'lower_plan'])
  })
  assert.equal(got, 0n)
})

test('a purchase raises the plan of the account that a wallet is linked to', async () => {
  const wallet = await newWallet()
  const owner = await api.organizations.createKey({ name: 'linked', plan: 'free' })
  const message = signInMessage(
    { kind: 'evm', address: wallet.address },
    {
      domain: 'auth.test',
      uri: 'https://auth.test',
      issuedAt: new Date().toISOString(),
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    },
  )
  const signature = await wallet.signMessage({ message })
  const linked = await callApi(api, '/x402/link-address', {
    method: 'POST',
    headers: { 'x-api-key': owner.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ chain: 'evm', address: wallet.address, message, signature }),
  })
  assert.equal(linked.status, 200, linked.text)
  assert.equal((await statusOf(api.base, wallet)).plan, null, 'what was not bought is not told')
  assert.equal(await planOf({ 'x-api-key': owner.apiKey }), 'free')
  const { apiKey } = await boughtOf(await payingFetch(wallet, 2, '$10')(api.base + STARTER))
  assert.equal(apiKey, null)
  assert.equal(await planOf({ 'x-api-key': owner.apiKey }), 'starter')
  await api.organizations.setSuspended(owner.orgId, true)
  const refused = await pay(STARTER, await signPayment(wallet, PAYEE, { valueRaw: 9_500_000n }))
  assert.deepEqual(await problemOf(refused), [403, 403, 'suspended'])
})

test('wrong amounts, payees, networks, clocks and signatures are refused and cost nothing', async () => {
  const wallet = await newWallet()
  const poor = await newWallet(0n)
  const word = 'invalid_exact_evm_payload'
  const now = BigInt(Math.floor(Date.now() / 1_000))
  const other = await signPayment(wallet, wallet.address, { valueRaw: NANO_RAW })
  const cases: readonly (readonly [string, string, string])[] = [
    [`${word}_authorization_value_mismatch`, NANO, await signNano(wallet, { valueRaw: 1_000n })],
    [
      `${word}_authorization_value_mismatch`,
      NANO,
      await signNano(wallet, { valueRaw: 5_000_001n }),
    ],
    [`${word}_authorization_value_mismatch`, STARTER, await signNano(wallet)],
    [`${word}_authorization_value_mismatch`, '/v2/token/search?q=a', await signNano(wallet)],
    [`${word}_recipient_mismatch`, NANO, other],
    ['invalid_network', NANO, await signNano(wallet, { network: 'base' })],
    [`${word}_signature`, NANO, await signNano(wallet, { chainId: 8_453 })],
    [`${word}_authorization_valid_before`, NANO, await signNano(wallet, { validBefore: now - 1n })],
    [
      `${word}_authorization_valid_before`,
      NANO,
      await signNano(wallet, { validBefore: now + 99_999n }),
    ],
    [`${word}_authorization_valid_after`, NANO, await signNano(wallet, { validAfter: now + 50n })],
    ['insufficient_funds', NANO, await signNano(poor)],
  ]
  const got = await earned(async () => {
    for (const [reason, path, header] of cases) {
      const answer = await pay(path, header)
      assert.deepEqual(await problemOf(answer), [402, 402, reason], reason)
    }
    assert.deepEqual((await problemOf(await pay(NANO, 'rubbish!'))).slice(0, 2), [400, 400])
  })
  assert.equal(got, 0n)
  assert.deepEqual(api.organizations.registry.open(), [])
  assert.equal(await planOf(await signIn(wallet)), 402)
})

test('a payment that the chain refuses when it is settled gives no plan and leaves no order', async () => {
  const wallet = await newWallet()
  const header = await signNano(wallet)
  const gas = privateKeyToAccount(GAS_KEY)
  const { client } = chain.anvil
  const balance = await client.getBalance(gas)
  const got = await earned(async () => {
    await client.setBalance({ address: gas.address, value: 0n })
    const answer = await pay(NANO, header)
    await client.setBalance({ address: gas.address, value: balance })
    assert.deepEqual(await problemOf(answer), [402, 402, 'unexpected_settle_error'])
    assert.equal(receiptOf(answer).success, false)
  })
  assert.equal(got, 0n)
  await until(() => api.organizations.registry.open().length === 0, 'the order is forgotten')
  assert.equal((await statusOf(api.base, wallet)).plan, null)
  assert.equal((await boughtOf(await pay(NANO, header))).plan, 'nano', 'the payment is good again')
})

test('the status of a wallet needs a chain and an address of it', async () => {
  const ask = (query: string) => callApi(api, `/x402/status?${query}`, { headers: {} })
  assert.equal((await ask('chain=evm')).status, 400)
  assert.equal((await ask('chain=btc&address=x')).status, 400)
  const wrong = (await ask('chain=solana&address=0x12')).body as { readonly code: number }
  assert.equal(wrong.code, 40005)
})

const PURCHASES = globalTopic('controlPlanPurchases')
const PAYMENTS = globalTopic('controlPayments')

/** What is killed in place of, whether the payer has paid, and how often the chain is asked for money in all. */
const KILLS: readonly (readonly [string, NonNullable<PaidApiOptions['killAt']>])[] = [
  ['the order', { topic: PURCHASES, commit: 1 }],
  ['the record that a payment is sent', { topic: PAYMENTS, commit: 1 }],
  ['the record that a payment is settled', { topic: PAYMENTS, commit: 2 }],
  ['the record of the account', { topic: PURCHASES, commit: 2 }],
]

for (const [what, killAt] of KILLS) {
  test(`a process killed in place of ${what} sells once and takes once`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-plan-'))
    const wallet = await newWallet()
    // Two starts of a process on a busy machine take longer than a minute.
    const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 900)
    const header = await signNano(wallet, { validBefore })
    const isPaid = killAt.commit === 2
    const got = await earned(async () => {
      const first = await startPaidApi({ folder, settings: settings(), killAt })
      await assert.rejects(payFor(first.base, NANO, header))
      await first.ended
      assert.equal((await chain.balanceOf(wallet.address)) < 100_000_000n, isPaid)
      const second = await startPaidApi({ folder, settings: settings() })
      try {
        // What is paid for comes without its payer; anything else waits for the same payment.
        if (isPaid) {
          await until(async () => (await statusOf(second.base, wallet)).active, 'the plan is given')
        } else {
          assert.equal((await statusOf(second.base, wallet)).active, false)
        }
        const bought = await boughtOf(await payFor(second.base, NANO, header))
        assert.equal(bought.apiKey === null, killAt !== KILLS[0]?.[1], 'a key is for who was first')
        assert.equal(await planOf(await signIn(wallet), second.base), 'nano')
        const { expiresAt, pending } = await statusOf(second.base, wallet)
        assert.deepEqual([expiresAt, pending], [bought.expiresAt, false])
      } finally {
        await second.kill()
      }
    })
    assert.equal(got, NANO_RAW)
    rmSync(folder, { recursive: true, force: true })
  })
}
