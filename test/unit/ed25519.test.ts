import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ED25519_TORSION_SUBGROUP, ed25519 } from '@noble/curves/ed25519'
import {
  type Address,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getTransactionDecoder,
  lamports,
} from '@solana/kit'
import fc from 'fast-check'
import { FailedTransactionMetadata, LiteSVM } from 'litesvm'
import { base58Encode } from '../../core/base58.ts'
import { isEd25519Signature } from '../../core/ed25519.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { memo } from '../support/svm-payments.ts'

const { ExtendedPoint: Point, CURVE } = ed25519
const ORDER = CURVE.n
/** Source: RFC 8032, section 5.1. */
const FIELD_ORDER = 2n ** 255n - 19n
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))
const little = (value: bigint): Uint8Array =>
  bytesOf(value.toString(16).padStart(64, '0')).reverse()
const numberOf = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** Points whose order divides 8. */
const SMALL = ED25519_TORSION_SUBGROUP.map(bytesOf)
const torsion = Point.fromHex(ED25519_TORSION_SUBGROUP[1] ?? '')
/** Another writing of such points: y above the order of the field, or the sign of an x that is 0. */
const UNREDUCED = [
  little(FIELD_ORDER),
  little(FIELD_ORDER + 1n),
  little(FIELD_ORDER | (1n << 255n)),
  little((FIELD_ORDER + 1n) | (1n << 255n)),
  little(1n | (1n << 255n)),
  little((FIELD_ORDER - 1n) | (1n << 255n)),
]

const { scalar, pointBytes: key } = ed25519.utils.getExtendedPublicKey(new Uint8Array(32).fill(7))

/** The scalar that a signature is made with, from its point, its key and the message. */
const challenge = (point: Uint8Array, by: Uint8Array, message: Uint8Array): bigint =>
  numberOf(createHash('sha512').update(point).update(by).update(message).digest()) % ORDER

/** A signature of a key with this scalar, written with this point; `nonce`: the scalar of the point. */
const signed = (
  message: Uint8Array,
  { nonce = 5n, point = Point.BASE.multiply(5n).toRawBytes(), by = key, extra = 0n } = {},
): Uint8Array => {
  const rest = (nonce + challenge(point, by, message) * scalar) % ORDER
  return Uint8Array.from([...point, ...little(rest + extra)])
}

interface Case {
  readonly of: string
  readonly by: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
  readonly isGood: boolean
}

const mixedKey = Point.fromHex(key).add(torsion).toRawBytes()
const CASES: readonly Case[] = [
  { of: 'an honest signature', by: key, sign: (message) => signed(message), isGood: true },
  {
    of: 'a scalar that is not reduced',
    by: key,
    sign: (message) => signed(message, { extra: ORDER }),
    isGood: false,
  },
  {
    of: 'a point of small order',
    by: key,
    sign: (message) => signed(message, { nonce: 0n, point: SMALL[0] ?? key }),
    isGood: false,
  },
  {
    of: 'a point that is right but for a part of small order',
    by: key,
    sign: (message) =>
      signed(message, { point: Point.BASE.multiply(5n).add(torsion).toRawBytes() }),
    isGood: false,
  },
  ...[...SMALL, ...UNREDUCED].flatMap((by): Case[] =>
    [SMALL[0] ?? key, by, Point.BASE.multiply(5n).toRawBytes()].map((point) => ({
      of: `the key ${Buffer.from(by).toString('hex').slice(0, 8)}`,
      by,
      // Right for a key that is the neutral point, whose multiples are itself.
      sign: () => Uint8Array.from([...point, ...little(point === SMALL[0] ? 0n : 5n)]),
      isGood: false,
    })),
  ),
]

test('signatures that are odd are refused, the honest one is not', () => {
  const message = Buffer.from('a message')
  for (const { of, by, sign, isGood } of CASES)
    assert.equal(isEd25519Signature(sign(message), message, by), isGood, of)
  // A key with a part of small order: without the cofactor its signatures hold where their scalar is a multiple of 8.
  const results = Array.from({ length: 64 }, (_, index) => {
    const text = Buffer.from(`message ${index}`)
    const signature = signed(text, { by: mixedKey })
    const isEighth = challenge(signature.subarray(0, 32), mixedKey, text) % 8n === 0n
    assert.equal(isEd25519Signature(signature, text, mixedKey), isEighth)
    return isEighth
  })
  assert.deepEqual(new Set(results), new Set([true, false]))
  for (const [signature, by] of [
    [signed(message).subarray(1), key],
    [signed(message), key.subarray(1)],
    [new Uint8Array(64), new Uint8Array(32)],
    [new Uint8Array(64).fill(255), new Uint8Array(32).fill(255)],
    [new Uint8Array(), new Uint8Array()],
  ] as const)
    assert.equal(isEd25519Signature(signature, message, by), false)
})

test('nothing is accepted that RFC 8032 refuses, and no honest signature is refused', () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(bytes, fc.uint8Array(), fc.nat(), fc.nat(255), (seed, message, at, flip) => {
      const by = ed25519.getPublicKey(seed)
      const signature = ed25519.sign(message, seed)
      assert.ok(isEd25519Signature(signature, message, by))
      const changed = Uint8Array.from([...signature, ...by, ...message])
      const place = at % changed.length
      changed[place] = (changed[place] ?? 0) ^ flip
      const parts = [
        changed.subarray(0, 64),
        changed.subarray(96),
        changed.subarray(64, 96),
      ] as const
      const isAccepted = isEd25519Signature(...parts)
      let isRight = false
      try {
        isRight = ed25519.verify(...parts, { zip215: false })
      } catch {}
      assert.equal(isAccepted, isRight)
    }),
    { numRuns: 200 },
  )
})

test("what is accepted is what Solana's runtime accepts", () => {
  const svm = new LiteSVM()
  const blockhash = svm.latestBlockhash()
  const seen = CASES.map(({ of, by, sign }) => {
    const payer = base58Encode(by)
    svm.airdrop(payer as Address, lamports(1_000_000_000n))
    const lifetime = { blockhash, lastValidBlockHeight: 250 }
    const unsigned = unsignedTransaction(payer, lifetime, [memo('memo')])
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(unsigned))
    const message = Uint8Array.from(transaction.messageBytes)
    const signature = sign(message)
    const bytes = Buffer.from(
      getBase64EncodedWireTransaction({ ...transaction, signatures: { [payer]: null } }),
      'base64',
    )
    bytes.set(signature, 1)
    const outcome = svm.sendTransaction(getTransactionDecoder().decode(bytes))
    const isTaken = !(outcome instanceof FailedTransactionMetadata)
    assert.equal(isEd25519Signature(signature, message, by), isTaken, of)
    return isTaken
  })
  assert.deepEqual(
    seen,
    CASES.map(({ isGood }) => isGood),
  )
})
