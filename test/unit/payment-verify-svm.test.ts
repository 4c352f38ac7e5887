import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  createKeyPairSignerFromPrivateKeyBytes,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getTransactionDecoder,
  type KeyPairSigner,
  partiallySignTransaction,
} from '@solana/kit'
import { loadConfig } from '../../core/config/load.ts'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import { computeLimit, computePrice, used } from '../../serving/dex/solana-calls.ts'
import type { SolanaInstruction } from '../../serving/dex/solana-message.ts'
import type { PresentedPayment, SvmTerms } from '../../serving/payments/contract.ts'
import { feeLamportsOf, tokenAccountOf, verifyExactSvm } from '../../serving/payments/exact-svm.ts'
import {
  FEE_PAYER,
  MEMO_PROGRAM,
  memo,
  type SvmPaymentChanges,
  svmTransaction,
  transferChecked,
} from '../support/svm-payments.ts'

const NOW_MS = 1_763_640_000_000
const NETWORK = 'solana'
const LIGHTHOUSE = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'
const TERMS: SvmTerms = { feePayer: FEE_PAYER, maxFeeLamports: 50_000 }
const MAINNET_MINT: string = PAYMENT_NETWORKS.solana.asset

let payer: KeyPairSigner
let payee: KeyPairSigner
before(async () => {
  payer = await createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(2))
  payee = await createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(3))
})

/** A payment as it is shown; the network is devnet unless another is given. */
const shown = (
  transaction: unknown,
  { svm = TERMS, network = 'solana-devnet' as 'solana' | 'solana-devnet' } = {},
): PresentedPayment => ({
  offer: {
    network,
    amountRaw: 1_000n,
    asset: PAYMENT_NETWORKS[network].asset,
    payTo: payee.address,
    svm,
  },
  payload: { transaction },
  version: 2,
  resource: { url: 'https://api.example.com/v2/token/search', description: 'search' },
})

const verdictOf = async (transaction: unknown, more = {}): Promise<string> => {
  const verified = await verifyExactSvm(shown(transaction, more), { nowMs: NOW_MS })
  return typeof verified === 'string' ? verified.replace('invalid_exact_svm_', '') : 'good'
}

const verdictWith = async (changes: SvmPaymentChanges, more = {}): Promise<string> =>
  verdictOf(await svmTransaction(payer, payee.address, changes), more)

/** Instructions with one replaced, added or left out. */
const replaced = (at: number, ...by: readonly SolanaInstruction[]): SvmPaymentChanges => ({
  change: (all) => [...all.slice(0, at), ...by, ...all.slice(at + 1)],
})

test('a transaction that pays what is asked verifies; its name is its message', async () => {
  const transaction = await svmTransaction(payer, payee.address, { memo: 'one' })
  const verified = await verifyExactSvm(shown(transaction), { nowMs: NOW_MS })
  assert.ok(typeof verified !== 'string', String(verified))
  assert.deepEqual(
    [verified.from, verified.to, verified.valueRaw],
    [payer.address, payee.address, 1_000n],
  )
  assert.equal(verified.validBefore, BigInt(NOW_MS / 1_000 + 120))
  const again = await verifyExactSvm(shown(transaction), { nowMs: NOW_MS + 1_000 })
  const other = await svmTransaction(payer, payee.address, { memo: 'two' })
  const another = await verifyExactSvm(shown(other), { nowMs: NOW_MS })
  assert.ok(typeof again !== 'string' && typeof another !== 'string')
  assert.equal(again.nonce, verified.nonce)
  assert.notEqual(another.nonce, verified.nonce)
})

test('a transaction with one wrong part is refused with the name of the error', async () => {
  const transfer = (change: Parameters<typeof transferChecked>[2], to = payee.address as string) =>
    replaced(2, transferChecked(payer.address, to, change))
  const instructions = 'payload_transaction_instructions_'
  const cases: readonly (readonly [string, SvmPaymentChanges])[] = [
    ['good', {}],
    ['good', replaced(3)],
    ['good', replaced(3, memo('a'), memo('b'), memo('c'))],
    ['fee_payer_mismatch', { feePayer: payee.address }],
    ['payload_signature_invalid', { isUnsigned: true }],
    ['payload_amount_mismatch', { amountRaw: 999n }],
    ['payload_amount_mismatch', { amountRaw: 1_001n }],
    ['payload_mint_mismatch', transfer({ mint: MAINNET_MINT })],
    ['payload_mint_mismatch', transfer({ decimals: 5 })],
    ['payload_recipient_mismatch', transfer({}, payer.address)],
    ['payload_recipient_mismatch', transfer({ destination: payee.address })],
    [`${instructions}length`, { change: (all) => all.slice(0, 2) }],
    [`${instructions}length`, { change: (all) => [...all, memo('a'), memo('b'), memo('c')] }],
    [`${instructions}compute_limit_instruction`, replaced(0, computePrice(1n))],
    [`${instructions}compute_limit_instruction`, replaced(0, memo('a'))],
    [`${instructions}compute_price_instruction`, replaced(1, computeLimit(20_000))],
    [`${instructions}compute_price_instruction_too_high`, replaced(1, computePrice(5_000_001n))],
    [`${instructions}compute_limit_instruction_too_high`, replaced(1, computePrice(2_000_001n))],
    ['good', replaced(1, computePrice(2_000_000n))],
    ['payload_no_transfer_instruction', replaced(2, memo('a'))],
    [
      'payload_no_transfer_instruction',
      replaced(2, {
        ...transferChecked(payer.address, payee.address),
        program: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
      }),
    ],
    [
      'payload_unknown_fourth_instruction',
      replaced(3, transferChecked(payer.address, payee.address)),
    ],
    [
      'payload_unknown_fifth_instruction',
      { change: (all) => [...all, transferChecked(payer.address, payee.address)] },
    ],
    [
      'payload_unknown_sixth_instruction',
      { change: (all) => [...all, memo('a'), computePrice(1n)] },
    ],
  ]
  for (const [wanted, changes] of cases)
    assert.equal(await verdictWith(changes), wanted, JSON.stringify(changes.change?.toString()))
  assert.equal(await verdictWith({}, { network: NETWORK }), 'payload_mint_mismatch')
})

/** A check of an account by Lighthouse. Bytes: kind, level of logs, then assertions. Source: Jac0xb/lighthouse, instruction.rs. */
const check = (kind: number, accounts: SolanaInstruction['accounts'], bytes = 16) => ({
  program: LIGHTHOUSE,
  accounts,
  data: Buffer.concat([Buffer.of(kind), Buffer.alloc(bytes - 1)]),
})

test('wallets may check the accounts of the payer, with up to three checks behind the transfer', async () => {
  const source = tokenAccountOf(payer.address, PAYMENT_NETWORKS['solana-devnet']) ?? ''
  for (const account of [payer.address, source])
    for (const kind of [5, 6, 9, 10])
      for (const bytes of [5, 16, 17, 27, 52, 128])
        assert.equal(
          await verdictWith(replaced(3, check(kind, [used(account, 'read')], bytes))),
          'good',
          `${kind} with ${bytes} bytes`,
        )
  const own = check(6, [used(payer.address, 'read')])
  assert.equal(await verdictWith(replaced(3, own, check(10, [used(source, 'read')]), own)), 'good')
  assert.equal(await verdictWith({ change: (all) => [...all, own] }), 'good')
})

test('a check is refused that time or strangers can let fail, and one of another form', async () => {
  const unknown = 'payload_unknown_fourth_instruction'
  const own = used(payer.address, 'read')
  // Slot and time of the clock. Source: Jac0xb/lighthouse, types/assert/clock.rs.
  assert.equal(await verdictWith(replaced(3, check(15, [], 12))), unknown)
  assert.equal(await verdictWith(replaced(3, check(15, [own], 12))), unknown)
  for (const kind of [0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 255])
    assert.equal(await verdictWith(replaced(3, check(kind, [own]))), unknown, `kind ${kind}`)
  const mint: string = PAYMENT_NETWORKS['solana-devnet'].asset
  const destination = tokenAccountOf(payee.address, PAYMENT_NETWORKS['solana-devnet']) ?? ''
  for (const account of [
    'SysvarC1ock11111111111111111111111111111111',
    mint,
    destination,
    payee.address,
    LIGHTHOUSE,
  ])
    for (const kind of [5, 6, 9, 10])
      assert.equal(await verdictWith(replaced(3, check(kind, [used(account, 'read')]))), unknown)
  assert.equal(await verdictWith(replaced(3, check(5, []))), unknown)
  assert.equal(await verdictWith(replaced(3, check(5, [own, own]))), unknown)
  for (const bytes of [1, 2, 4, 129, 400])
    assert.equal(await verdictWith(replaced(3, check(5, [own], bytes))), unknown, `${bytes} bytes`)
  const later = { change: (all: readonly SolanaInstruction[]) => [...all, check(15, [own], 12)] }
  assert.equal(await verdictWith(later), 'payload_unknown_fifth_instruction')
})

test('a fee is what two signatures and the limit of computation cost', async () => {
  const feeOf = async (changes: SvmPaymentChanges) =>
    feeLamportsOf({ transaction: await svmTransaction(payer, payee.address, changes) })
  assert.equal(await feeOf({}), 10_001n)
  assert.equal(await feeOf(replaced(1, computePrice(250_000n))), 15_000n)
  assert.equal(await feeOf(replaced(1, memo('a'))), 0n)
  assert.equal(feeLamportsOf({ transaction: 7 }), 0n)
  // What wallets set fits into the default: 20,000 units at up to a quarter of a lamport.
  const { x402SolanaMaxFee: maxFeeLamports } = loadConfig({}, { keyPepper: 'pepper' })
  const svm = { ...TERMS, maxFeeLamports }
  assert.equal(await verdictWith(replaced(1, computePrice(250_000n)), { svm }), 'good')
  assert.equal(
    await verdictWith(replaced(1, computePrice(250_001n)), { svm }),
    'payload_transaction_instructions_compute_limit_instruction_too_high',
  )
})

test('the fee payer pays the fee and is in no instruction', async () => {
  const transferring = 'payload_transaction_fee_payer_transferring_funds'
  const included = 'payload_transaction_fee_payer_included_in_instruction_accounts'
  const fromFeePayer = transferChecked(FEE_PAYER, payee.address)
  assert.equal(await verdictWith(replaced(2, fromFeePayer)), transferring)
  const source = transferChecked(payer.address, payee.address, { source: FEE_PAYER })
  assert.equal(await verdictWith(replaced(2, source)), transferring)
  const naming = { ...memo('a'), accounts: [used(FEE_PAYER, 'sign')] }
  assert.equal(await verdictWith(replaced(3, naming)), included)
  const reading = { program: LIGHTHOUSE, accounts: [used(FEE_PAYER, 'read')], data: Buffer.of(1) }
  assert.equal(await verdictWith(replaced(3, reading)), included)
  const limit = { ...computeLimit(20_000), accounts: [used(FEE_PAYER, 'write')] }
  assert.equal(await verdictWith(replaced(0, limit)), included)
})

test('only the fee payer and the owner of the tokens sign, and the owner did', async () => {
  const third = {
    program: MEMO_PROGRAM,
    accounts: [used(payee.address, 'sign')],
    data: Buffer.of(1),
  }
  assert.equal(await verdictWith(replaced(3, third)), 'payload_excessive_signers')
  const others = transferChecked(payee.address, payee.address)
  const unsigned = { change: () => [computeLimit(20_000), computePrice(1n), others] } as const
  const bySomebody = await svmTransaction(payee, payee.address, unsigned)
  assert.equal(await verdictOf(bySomebody), 'good')
  const bytes = Buffer.from(bySomebody, 'base64')
  // Behind their number and the empty place of the fee payer stands the owner's signature.
  const at = 1 + 64
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  assert.equal(await verdictOf(bytes.toString('base64')), 'payload_signature_invalid')
  const decoded = getTransactionDecoder().decode(getBase64Encoder().encode(bySomebody))
  const empty = { ...decoded, signatures: { ...decoded.signatures, [payee.address]: null } }
  const blank = getBase64EncodedWireTransaction(empty)
  assert.equal(await verdictOf(blank), 'payload_signature_invalid')
  await assert.rejects(partiallySignTransaction([payer.keyPair], decoded))
})

test('a memo that is asked for is there once and as it was asked for', async () => {
  const svm = { ...TERMS, memo: 'invoice 7' }
  assert.equal(await verdictWith({ memo: 'invoice 7' }, { svm }), 'good')
  assert.equal(await verdictWith({ memo: 'invoice 8' }, { svm }), 'payload_memo_mismatch')
  assert.equal(await verdictWith(replaced(3), { svm }), 'payload_memo_count')
  const twice = replaced(3, memo('invoice 7'), memo('invoice 7'))
  assert.equal(await verdictWith(twice, { svm }), 'payload_memo_count')
})

test('what is not one transaction in its one writing is refused', async () => {
  const good = await svmTransaction(payer, payee.address)
  const bytes = Buffer.from(good, 'base64')
  const decoding = 'payload_transaction_could_not_be_decoded'
  for (const wrong of [undefined, null, 7, {}, []])
    assert.equal(await verdictOf(wrong), 'invalid_payload')
  for (const wrong of ['', '%%%', `${good} `, `=${good}`, Buffer.alloc(1_233).toString('base64')])
    assert.equal(await verdictOf(wrong), 'payload_transaction', wrong.slice(0, 20))
  for (let length = 1; length < bytes.length; length += 1)
    assert.equal(await verdictOf(bytes.subarray(0, length).toString('base64')), decoding)
  const longer = Buffer.concat([bytes, Buffer.of(0)])
  assert.equal(await verdictOf(longer.toString('base64')), decoding)
  // The message ends with the number of look-up tables.
  const tables = Buffer.concat([
    bytes.subarray(0, -1),
    Buffer.of(1),
    Buffer.alloc(32, 5),
    Buffer.of(1, 0, 0),
  ])
  assert.equal(await verdictOf(tables.toString('base64')), decoding)
})

test('bytes that are changed anywhere are refused, and nothing is thrown', async () => {
  const bytes = Buffer.from(await svmTransaction(payer, payee.address), 'base64')
  let refused = 0
  // The fee payer's place is empty: what stands there is not looked at, the account signs over it.
  for (let at = 1 + 64; at < bytes.length; at += 3) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at)
    assert.notEqual(await verdictOf(changed.toString('base64')), 'good', `byte ${at}`)
    refused += 1
  }
  assert.ok(refused > 100, `${refused}`)
})
