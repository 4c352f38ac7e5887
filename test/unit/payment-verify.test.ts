import assert from 'node:assert/strict'
import { test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import type { PresentedPayment, SettlementOrder } from '../../serving/payments/contract.ts'
import { readExactEvm, verifyExactEvm } from '../../serving/payments/exact-evm.ts'
import { TRANSFER_TYPES } from '../support/payments.ts'

const PAYER = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const PAYEE = `0x${'22'.repeat(20)}` as const
const NONCE = `0x${'ab'.repeat(32)}` as const
const NOW_MS = 1_763_640_000_000
const VECTOR_SIGNATURE =
  '0x81bbeb4ae2da78b05983a3225a9bc432a9fddfb3ded78d08def3bb5a50228aae0bf49ed8a03b5530bbdc00284506afdf5e9a9bcfb3dc494134d7074776572b901c'

const OFFER: PresentedPayment['offer'] = {
  network: 'base',
  amountRaw: 1_000n,
  asset: PAYMENT_NETWORKS.base.asset,
  payTo: PAYEE,
}
const AUTHORIZATION = {
  from: PAYER.address as string,
  to: PAYEE as string,
  value: '1000',
  validAfter: '1763639000',
  validBefore: '1763640060',
  nonce: NONCE as string,
}

const shown = (payload: Readonly<Record<string, unknown>>, offer = OFFER): PresentedPayment => ({
  offer,
  payload,
  version: 2,
  resource: { url: 'https://api.example.com/v2/token/search', description: 'search' },
})

const sign = (
  fields: typeof AUTHORIZATION,
  { chainId = 8_453, name = 'USD Coin', asset = OFFER.asset as string } = {},
) =>
  PAYER.signTypedData({
    domain: { name, version: '2', chainId, verifyingContract: asset as `0x${string}` },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: fields.from as `0x${string}`,
      to: fields.to as `0x${string}`,
      value: BigInt(fields.value),
      validAfter: BigInt(fields.validAfter),
      validBefore: BigInt(fields.validBefore),
      nonce: fields.nonce as `0x${string}`,
    },
  })

const verificationOf = async (
  fields: Partial<typeof AUTHORIZATION>,
  { domain = {}, offer = OFFER }: { domain?: object; offer?: typeof OFFER } = {},
) => {
  const authorization = { ...AUTHORIZATION, ...fields }
  const signature = await sign(authorization, domain)
  const verified = await verifyExactEvm(shown({ authorization, signature }, offer), {
    nowMs: NOW_MS,
  })
  return typeof verified === 'string' ? verified : 'good'
}

test('the published vector: its authorization gives its signature and verifies', async () => {
  assert.equal(await sign(AUTHORIZATION), VECTOR_SIGNATURE)
  const payload = { authorization: AUTHORIZATION, signature: VECTOR_SIGNATURE }
  const verified = await verifyExactEvm(shown(payload), { nowMs: NOW_MS })
  assert.ok(typeof verified !== 'string', String(verified))
  assert.equal(verified.from, PAYER.address.toLowerCase())
  assert.deepEqual([verified.valueRaw, verified.nonce], [1_000n, NONCE])
})

test('a payment with one wrong field is refused with the name of the error', async () => {
  const mismatch = 'invalid_exact_evm_payload_authorization_value_mismatch'
  const before = 'invalid_exact_evm_payload_authorization_valid_before'
  const signature = 'invalid_exact_evm_payload_signature'
  assert.equal(await verificationOf({}), 'good')
  assert.equal(await verificationOf({ value: '999' }), mismatch)
  assert.equal(await verificationOf({ value: '1001' }), mismatch)
  assert.equal(
    await verificationOf({ to: `0x${'33'.repeat(20)}` }),
    'invalid_exact_evm_payload_recipient_mismatch',
  )
  assert.equal(await verificationOf({ validBefore: '1763640005' }), before)
  assert.equal(await verificationOf({ validBefore: '1763640006' }), 'good')
  assert.equal(await verificationOf({ validBefore: '1763726401' }), before)
  assert.equal(await verificationOf({ validAfter: '1763640000' }), 'good')
  assert.equal(
    await verificationOf({ validAfter: '1763640001' }),
    'invalid_exact_evm_payload_authorization_valid_after',
  )
  assert.equal(await verificationOf({}, { domain: { chainId: 1 } }), signature)
  assert.equal(await verificationOf({}, { domain: { name: 'USDC' } }), signature)
  assert.equal(await verificationOf({}, { domain: { asset: `0x${'44'.repeat(20)}` } }), signature)
  assert.equal(await verificationOf({ from: `0x${'55'.repeat(20)}` }), signature)
  assert.equal(await verificationOf({}, { offer: { ...OFFER, network: 'polygon' } }), signature)
})

test('an invalid payload is refused before its signature is checked', async () => {
  const good = { authorization: AUTHORIZATION, signature: VECTOR_SIGNATURE }
  const wrong: readonly Readonly<Record<string, unknown>>[] = [
    {},
    { ...good, authorization: null },
    { ...good, authorization: [] },
    { ...good, signature: 7 },
    ...Object.keys(AUTHORIZATION).flatMap((field) =>
      [undefined, null, '', 7, '0x', '-1', '1.5', '1e3', `${2n ** 256n}`].map((value) => ({
        ...good,
        authorization: { ...AUTHORIZATION, [field]: value },
      })),
    ),
  ]
  for (const payload of wrong) {
    const verified = await verifyExactEvm(shown(payload), { nowMs: NOW_MS })
    assert.equal(verified, 'invalid_payload', JSON.stringify(payload))
  }
})

test('a signature is accepted in one form only: low s, v of 27 or 28, 65 bytes', async () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = BigInt(`0x${VECTOR_SIGNATURE.slice(66, 130)}`)
  const high = (order - s).toString(16).padStart(64, '0')
  const signatures = [
    `${VECTOR_SIGNATURE.slice(0, 66)}${high}1b`,
    `${VECTOR_SIGNATURE.slice(0, 130)}01`,
    `${VECTOR_SIGNATURE}00`,
    VECTOR_SIGNATURE.slice(0, 130),
    `0x${'00'.repeat(64)}1b`,
    `0x${'ff'.repeat(64)}1b`,
  ]
  for (const signature of signatures) {
    const payload = { authorization: AUTHORIZATION, signature }
    const verified = await verifyExactEvm(shown(payload), { nowMs: NOW_MS })
    assert.equal(verified, 'invalid_exact_evm_payload_signature', signature)
  }
})

test('a payment whose signature is not checked cannot be put into a settlement', async () => {
  const presented = shown({
    authorization: { ...AUTHORIZATION, nonce: `0x${'cd'.repeat(32)}` },
    signature: VECTOR_SIGNATURE,
  })
  const read = readExactEvm(presented)
  assert.ok(typeof read !== 'string', 'its form is good')
  // @ts-expect-error the compiler takes verified payments only
  const order: Pick<SettlementOrder, 'payment'> = { payment: read }
  assert.equal(
    await verifyExactEvm(order.payment, { nowMs: NOW_MS }),
    'invalid_exact_evm_payload_signature',
  )
})
