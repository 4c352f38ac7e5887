import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePaymentRequired } from '@x402/core/schemas'
import { Fault } from '../../core/errors.ts'
import { PAYMENT_DECIMALS, PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import { isPayableRoute, ROUTE_MILLI_UNITS, type RouteName } from '../../schemas/plans.ts'
import { readPlanPrices } from '../../serving/payments/plan-sales.ts'
import { makeOffers, makeTerms, matchOffer, priceRaw } from '../../serving/payments/terms.ts'
import { decodePaymentHeader, encodeHeader } from '../../serving/payments/wire.ts'

const PAYEE = `0x${'22'.repeat(20)}` as const
const PRICES = {
  payTo: PAYEE,
  networks: ['base', 'base-sepolia'],
  minRaw: 1_000n,
  perUnitRaw: 10n,
} as const
const URL_OF_CALL = 'https://api.example.com/v2/token/search'
const RESOURCE = { url: URL_OF_CALL, description: 'GET /v2/token/search' }
const OFFERS = makeOffers(1_000n, PRICES)
const TERMS = makeTerms(OFFERS, RESOURCE)

const readV1 = (change: object = {}) =>
  decodePaymentHeader(
    encodeHeader({ x402Version: 1, scheme: 'exact', network: 'base', payload: {}, ...change }),
    1,
  )
const readV2 = (accepted: object = {}, rest: object = {}) =>
  decodePaymentHeader(
    encodeHeader({
      x402Version: 2,
      accepted: { ...TERMS.v2.accepts[0], ...accepted },
      payload: {},
      ...rest,
    }),
    2,
  )
const selectionOf = (header: ReturnType<typeof readV1>) => {
  const matched = matchOffer(header, OFFERS, URL_OF_CALL)
  return typeof matched === 'string' ? matched : matched.network
}

test('a price is rounded up to the base unit and has a minimum', () => {
  assert.equal(priceRaw(250, PRICES), 1_000n)
  assert.equal(priceRaw(100_000, PRICES), 1_000n)
  assert.equal(priceRaw(100_001, PRICES), 1_001n)
  assert.equal(priceRaw(183_600, PRICES), 1_836n)
  assert.equal(priceRaw(50, { minRaw: 1n, perUnitRaw: 10n }), 1n)
  assert.equal(priceRaw(Number.MAX_SAFE_INTEGER, PRICES), 90_071_992_547_410n)
})

test('a price in base units is the same money on every network', () => {
  for (const [network, { decimals }] of Object.entries(PAYMENT_NETWORKS))
    assert.equal(decimals, PAYMENT_DECIMALS, network)
  const [plan] = readPlanPrices(['starter:9.5'])
  assert.equal(Number(plan?.priceRaw) / 10 ** PAYMENT_DECIMALS, 9.5)
})

test('priced reads can be paid per call; routes that change data or are free need an account', () => {
  const payable = (Object.keys(ROUTE_MILLI_UNITS) as RouteName[]).filter(isPayableRoute)
  assert.ok(payable.includes('GET /token/search'))
  assert.ok(!payable.includes('GET /account/plan'))
  assert.deepEqual(
    payable.filter((name) => !name.startsWith('GET ')),
    ['POST /wallet/:chain/:walletAddress/calculate-pnl', 'POST /watchlist/:chain/:walletAddress'],
  )
})

test('the payment terms of both versions equal the published example and fit the protocol', () => {
  const extra = { name: 'USD Coin', version: '2' }
  const asset = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
  assert.deepEqual(TERMS.v2.accepts[0], {
    scheme: 'exact',
    network: 'eip155:8453',
    amount: '1000',
    asset,
    payTo: PAYEE,
    maxTimeoutSeconds: 60,
    extra,
  })
  assert.deepEqual(TERMS.v1.accepts[0], {
    scheme: 'exact',
    network: 'base',
    maxAmountRequired: '1000',
    asset,
    payTo: PAYEE,
    resource: URL_OF_CALL,
    description: 'GET /v2/token/search',
    mimeType: 'application/json',
    outputSchema: null,
    maxTimeoutSeconds: 60,
    extra,
  })
  assert.deepEqual(
    TERMS.v2.accepts[1]?.extra,
    { name: 'USDC', version: '2' },
    'the test token has a name of its own',
  )
  for (const terms of [TERMS.v1, TERMS.v2]) assert.equal(parsePaymentRequired(terms).success, true)
})

test('a payment is accepted only for an offered network, scheme, amount and payee', () => {
  assert.equal(selectionOf(readV1()), 'base')
  assert.equal(selectionOf(readV1({ network: 'base-sepolia' })), 'base-sepolia')
  assert.equal(selectionOf(readV1({ network: 'eip155:8453' })), 'invalid_network')
  assert.equal(selectionOf(readV1({ network: 'polygon' })), 'invalid_network')
  assert.equal(selectionOf(readV1({ scheme: 'upto' })), 'unsupported_scheme')
  assert.equal(selectionOf(readV2()), 'base')
  assert.equal(selectionOf(readV2({ payTo: PAYEE.toUpperCase().replace('0X', '0x') })), 'base')
  assert.equal(selectionOf(readV2({ network: 'eip155:1' })), 'invalid_network')
  assert.equal(selectionOf(readV2({ network: 'base:mainnet' })), 'invalid_network')
  assert.equal(selectionOf(readV2({ scheme: 'upto' })), 'unsupported_scheme')
  for (const amount of ['999', '1001', '01000', '1000.0', '1e3'])
    assert.equal(
      selectionOf(readV2({ amount })),
      'invalid_exact_evm_payload_authorization_value_mismatch',
    )
  assert.equal(
    selectionOf(readV2({ payTo: `0x${'33'.repeat(20)}` })),
    'invalid_exact_evm_payload_recipient_mismatch',
  )
  assert.equal(selectionOf(readV2({ asset: PAYEE })), 'invalid_payment_requirements')
})

test('terms of Solana name the account that pays the fee; case is a part of addresses there', () => {
  const payTo = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9'
  const feePayer = '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu'
  const svm = { payTo, feePayer, maxFeeLamports: 50_000, memo: 'invoice' }
  const offers = makeOffers(1_000n, { ...PRICES, networks: ['base', 'solana'], svm })
  const { v1, v2 } = makeTerms(offers, RESOURCE)
  assert.deepEqual(v2.accepts[1], {
    scheme: 'exact',
    network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    amount: '1000',
    asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    payTo,
    maxTimeoutSeconds: 60,
    extra: { feePayer, memo: 'invoice' },
  })
  assert.equal(v1.accepts[1]?.network, 'solana')
  for (const terms of [v1, v2]) assert.equal(parsePaymentRequired(terms).success, true)
  const chosen = (accepted: object) => {
    const header = encodeHeader({
      x402Version: 2,
      accepted: { ...v2.accepts[1], ...accepted },
      payload: {},
    })
    const matched = matchOffer(decodePaymentHeader(header, 2), offers, URL_OF_CALL)
    return typeof matched === 'string' ? matched : matched.network
  }
  assert.equal(chosen({}), 'solana')
  const mismatch = 'invalid_exact_svm_payload_recipient_mismatch'
  assert.equal(chosen({ payTo: payTo.toLowerCase() }), mismatch)
  assert.equal(chosen({ amount: '999' }), 'invalid_exact_svm_payload_amount_mismatch')
  const asset = v2.accepts[1]?.asset.toLowerCase()
  assert.equal(chosen({ asset }), 'invalid_payment_requirements')
  assert.equal(chosen({ network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' }), 'invalid_network')
})

test('a payment names the URL of its call, without the query', () => {
  const at = (url: string) => selectionOf(readV2({}, { resource: { url } }))
  assert.equal(at(`${URL_OF_CALL}?q=a&limit=1`), 'base')
  for (const url of [
    'https://api.example.com/v2/token/other',
    'https://evil.example.com/v2/token/search',
    'http://api.example.com/v2/token/search',
    'nowhere',
  ])
    assert.equal(at(url), 'invalid_payment_requirements', url)
})

test('an invalid payment header, or one of the other version, answers BAD_REQUEST', () => {
  const good = { x402Version: 1, scheme: 'exact', network: 'base', payload: {} }
  const deep = `${'['.repeat(99)}${']'.repeat(99)}`
  const texts = [
    '',
    '%%%',
    'e30',
    Buffer.from('not json').toString('base64'),
    Buffer.from(deep).toString('base64'),
    encodeHeader([]),
    encodeHeader({ ...good, x402Version: 3 }),
    encodeHeader({ ...good, payload: null }),
    encodeHeader({ ...good, scheme: '' }),
    encodeHeader({ ...good, payload: { pad: 'x'.repeat(9_000) } }),
  ]
  for (const text of texts) {
    assert.throws(
      () => decodePaymentHeader(text, 1),
      (error: unknown) => error instanceof Fault && error.faultName === 'BAD_REQUEST',
      text.slice(0, 40),
    )
  }
  assert.throws(() => decodePaymentHeader(encodeHeader(good), 2), /not valid base64 JSON of x402/)
})
