import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getTransactionDecoder,
  partiallySignTransaction,
} from '@solana/kit'
import { Fault } from '../../core/errors.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { readSignedSolanaTransaction } from '../../serving/dex/solana-signed-transaction.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { MEMO_PROGRAM } from '../support/svm-payments.ts'

/** A transaction that so many accounts have signed, but for `missing` of them. */
const signedBy = async (count: number, missing = 0): Promise<string> => {
  const signers = await Promise.all(Array.from({ length: count }, () => generateKeyPairSigner()))
  const unsigned = unsignedTransaction(
    signers[0]?.address ?? '',
    { blockhash: addressFor('blockhash'), lastValidBlockHeight: 250 },
    [
      {
        program: MEMO_PROGRAM,
        accounts: signers.map(({ address }) => [address, 'sign'] as const),
        data: Buffer.from('memo'),
      },
    ],
  )
  const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(unsigned))
  const pairs = signers.slice(0, count - missing).map(({ keyPair }) => keyPair)
  return getBase64EncodedWireTransaction(await partiallySignTransaction(pairs, transaction))
}

const faultOf = async (text: string): Promise<readonly unknown[]> => {
  const fault = await readSignedSolanaTransaction(text).catch((error: unknown) => error)
  assert.ok(fault instanceof Fault, String(fault))
  const { reason, size, max_allowed: most } = fault.details ?? {}
  return [fault.faultName, reason, size, most]
}

test('up to eight accounts sign a transaction that is sent', async () => {
  for (const count of [1, 2, 8]) {
    const text = await signedBy(count)
    assert.equal((await readSignedSolanaTransaction(text)).text, text)
  }
  for (const count of [9, 11])
    assert.deepEqual(await faultOf(await signedBy(count)), [
      'INVALID_PARAMETER',
      'too_many_signers',
      count,
      8,
    ])
})

test('every signature is looked at, the last one too', async () => {
  const text = await signedBy(8)
  for (let at = 0; at < 8; at += 1) {
    const bytes = Buffer.from(text, 'base64')
    const place = 1 + 64 * at + 5
    bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place)
    const [name] = await faultOf(bytes.toString('base64'))
    assert.equal(name, 'TRANSACTION_SIGNATURE_MISSING', `signature ${at}`)
  }
  const [name] = await faultOf(await signedBy(3, 1))
  assert.equal(name, 'TRANSACTION_SIGNATURE_MISSING')
})

test('others get a turn while many signatures are checked', async () => {
  const text = await signedBy(8)
  let isTurn = false
  setImmediate(() => {
    isTurn = true
  })
  await readSignedSolanaTransaction(text)
  assert.ok(isTurn)
})
