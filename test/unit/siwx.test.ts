import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519'
import { secp256k1 } from '@noble/curves/secp256k1'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import { readSignInToken, type SignInRules } from '../../serving/auth/siwx.ts'
import { parseSignInMessage } from '../../serving/auth/siwx-message.ts'
import {
  MAX_SIGNATURE_LENGTH,
  signatureDigest,
  verifyKeySignature,
} from '../../serving/auth/wallet-signature.ts'
import {
  evmWallet,
  type MessageFields,
  signInMessage,
  signInToken,
  solanaWallet,
  type TestWallet,
} from '../support/wallet-signer.ts'

const FIELDS: MessageFields = {
  domain: 'api.example.com',
  uri: 'https://api.example.com',
  issuedAt: '2026-11-20T12:00:00Z',
  expiresAt: '2026-11-20T13:00:00Z',
}
const RULES: SignInRules = {
  domains: ['api.example.com'],
  origins: ['https://api.example.com'],
  maxLifetimeMs: 7 * 86_400_000,
}
const NOW_MS = Date.parse('2026-11-20T12:30:00Z')
const evm = evmWallet(0x11)
const solana = solanaWallet(0x22)

const reading = async (wallet: TestWallet, fields: Partial<MessageFields>, nowMs = NOW_MS) => {
  const read = readSignInToken(
    await signInToken(wallet, signInMessage(wallet, { ...FIELDS, ...fields })),
    RULES,
    nowMs,
  )
  return typeof read === 'string' ? read : 'good'
}

test('the published example of a wallet token gives its message, address and signature', async () => {
  const message = signInMessage(evm, FIELDS)
  assert.equal(evm.address, '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A')
  assert.equal(
    createHash('sha256').update(message).digest('hex'),
    '499c86cdfdf4bbd6656887c3b03efd7f0823019f1070083c651c9d9bb25b2e3f',
  )
  const signature =
    '0x98e7aef35d46a4f1c3300f7234012b332713a0e01f348b30d3924bbf130b505267f7218f9122fec2e49d586e9f365adff7993fdc034e3ed526a9e5f145bba57e1b'
  const read = readSignInToken(`${btoa(message)}.${signature}`, RULES, NOW_MS)
  assert.ok(typeof read !== 'string')
  assert.equal(read.address, evm.address.toLowerCase())
  assert.equal(read.expiresAtMs, Date.parse(FIELDS.expiresAt))
  assert.equal(await verifyKeySignature(read), 'good')
})

test('wallet tokens of clients in several languages are accepted', async () => {
  for (const [wallet, fields] of [
    [evm, {}],
    [solana, {}],
    [solana, { chainId: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }],
    [evm, { issuedAt: '2026-11-20T12:00:00.123456789+00:00' }],
    [evm, { domain: 'API.Example.com' }],
    [evm, { uri: 'https://api.example.com/v2/token/search?q=1' }],
    [evm, { more: ['Not Before: 2026-11-20T12:00:00Z', 'Request ID: 7', 'Resources:', '- a:b'] }],
    [evm, { issuedAt: '2026-11-20T12:34:59Z' }],
  ] as const) {
    assert.equal(await reading(wallet, fields), 'good', JSON.stringify(fields))
  }
  const bare = signInMessage(evm, FIELDS).replace('Sign in to ChainStream API\n', '')
  assert.notEqual(parseSignInMessage(bare), undefined)
})

test('an invalid wallet token is refused with its reason, but for the signature', async () => {
  for (const [fields, reason] of [
    [{ domain: 'evil.example.com' }, 'wrong_domain'],
    [{ domain: 'api.example.com.evil.com' }, 'wrong_domain'],
    [{ uri: 'https://api.example.com.evil.com' }, 'wrong_uri'],
    [{ uri: 'http://api.example.com' }, 'wrong_uri'],
    [{ uri: 'https://api.example.com@evil.com' }, 'wrong_uri'],
    [{ uri: 'javascript:alert(1)' }, 'wrong_uri'],
    [{ uri: 'nothing' }, 'wrong_uri'],
    [{ version: '2' }, 'unsupported_version'],
    [{ chainId: '1' }, 'wrong_chain'],
    [{ chainId: 'mainnet' }, 'wrong_chain'],
    [{ issuedAt: '2026-11-20T12:36:00Z' }, 'not_yet_valid'],
    [{ more: ['Not Before: 2026-11-20T12:30:01Z'] }, 'not_yet_valid'],
    [{ expiresAt: '2026-11-20T12:30:00Z' }, 'expired_token'],
    [{ expiresAt: '2026-11-27T12:00:01Z' }, 'lifetime_too_long'],
    [{ expiresAt: '2026-11-20T13:00:00+01:00' }, 'malformed_message'],
    [{ expiresAt: '2026-11-31T13:00:00Z' }, 'malformed_message'],
    [{ expiresAt: 'tomorrow' }, 'malformed_message'],
    [{ nonce: '1234567' }, 'malformed_message'],
    [{ nonce: '12345678-' }, 'malformed_message'],
    [{ more: ['Foo: bar'] }, 'malformed_message'],
    [{ more: ['Expiration Time: 2027-01-01T00:00:00Z'] }, 'malformed_message'],
    [{ more: [''] }, 'malformed_message'],
    [{ more: ['Resources:', ...Array(17).fill('- a:b')] }, 'malformed_message'],
    [{ more: [`Request ID: ${'x'.repeat(5_000)}`] }, 'oversized_message'],
  ] as const) {
    assert.equal(await reading(evm, fields), reason, JSON.stringify(fields))
  }
  assert.equal(await reading(solana, { chainId: '8453' }), 'wrong_chain')
})

test('malformed wallet tokens are refused', async () => {
  const message = signInMessage(evm, FIELDS)
  const token = await signInToken(evm, message)
  for (const [text, reason] of [
    ['', 'malformed_message'],
    ['.', 'malformed_message'],
    ['abc', 'malformed_message'],
    [token.replace('.', '. '), 'good'],
    [`\u0000${token}`, 'malformed_message'],
    [`${btoa('\xff\xfe')}.x`, 'malformed_message'],
    [`${btoa(message.replaceAll('\n', '\r\n'))}.x`, 'malformed_message'],
    [`${btoa(`${message}\n`)}.x`, 'malformed_message'],
    [`${btoa(message.replace('Ethereum', 'Bitcoin'))}.x`, 'malformed_message'],
    [`${btoa(message.replace('Ethereum', 'Solana'))}.x`, 'malformed_message'],
    [`${btoa(message.replace(evm.address, '0x12'))}.x`, 'malformed_message'],
    [`${'A'.repeat(10_000)}.x`, 'oversized_message'],
  ] as const) {
    const read = readSignInToken(text, RULES, NOW_MS)
    assert.equal(typeof read === 'string' ? read : 'good', reason, JSON.stringify(text))
  }
  const urlSafe = Buffer.from(message).toString('base64url')
  assert.notEqual(typeof readSignInToken(`${urlSafe}.x`, RULES, NOW_MS), 'string')
})

test('an EVM signature is accepted in one form, from one signer', async () => {
  const message = signInMessage(evm, FIELDS)
  const good = await evm.sign(message)
  const signed = { kind: 'evm', address: evm.address.toLowerCase(), message } as const
  const flipped = (): string => {
    const high = (secp256k1.CURVE.n - BigInt(`0x${good.slice(66, 130)}`)).toString(16)
    return `${good.slice(0, 66)}${high.padStart(64, '0')}${good.endsWith('1b') ? '1c' : '1b'}`
  }
  assert.equal(await verifyKeySignature({ ...signed, signature: good }), 'good')
  const answerTo = (signature: string) => verifyKeySignature({ ...signed, signature })
  // Not of the key: a contract at the address may take any bytes.
  for (const signature of [
    flipped(),
    await evmWallet(0x12).sign(message),
    await evm.sign(`${message} `),
    good.slice(0, -2),
    `${good}00`,
    `${good.slice(0, -2)}1d`,
    `${good.slice(0, -2)}${good.endsWith('1b') ? '00' : '01'}`,
    `0x${'0'.repeat(130)}`,
    `0x${'f'.repeat(130)}`,
    `0x${'0'.repeat(128)}1b`,
    '0x',
    '0x'.padEnd(MAX_SIGNATURE_LENGTH, 'a'),
  ]) {
    assert.equal(await answerTo(signature), 'unknown', signature)
  }
  for (const signature of [
    good.slice(2),
    good.slice(0, -1),
    `${good.slice(0, -1)}g`,
    '',
    '0x'.padEnd(MAX_SIGNATURE_LENGTH + 2, 'a'),
  ]) {
    assert.equal(await answerTo(signature), 'wrong', signature)
  }
})

test('a Solana signature is accepted in base 58, hex and base 64; a changed or foreign one is refused', async () => {
  const message = signInMessage(solana, FIELDS)
  const signed = { kind: 'solana', address: solana.address, message } as const
  const text = await solana.sign(message)
  const bytes = Buffer.from(base58Decode(text) ?? [])
  const digest = signatureDigest({ ...signed, signature: text })
  for (const signature of [
    text,
    bytes.toString('hex'),
    `0x${bytes.toString('hex')}`,
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]) {
    assert.equal(await verifyKeySignature({ ...signed, signature }), 'good', signature)
    assert.equal(signatureDigest({ ...signed, signature }), digest, signature)
  }
  // s + order: the other writing of the same signature.
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`)
  const high = Buffer.from((s + ed25519.CURVE.n).toString(16).padStart(64, '0'), 'hex').reverse()
  const malleable = Buffer.concat([bytes.subarray(0, 32), high])
  for (const signature of [
    malleable.toString('hex'),
    await solanaWallet(0x23).sign(message),
    await solana.sign(`${message} `),
    base58Encode(bytes.subarray(0, 63)),
    'f'.repeat(128),
    '0'.repeat(128),
    text.repeat(100),
    '',
  ]) {
    assert.equal(await verifyKeySignature({ ...signed, signature }), 'wrong', signature)
    assert.notEqual(signatureDigest({ ...signed, signature }), digest, signature)
  }
  // The neutral point as a key "signs" everything where points of small order are let in.
  const neutral = Buffer.alloc(32)
  neutral[0] = 1
  const forged = Buffer.concat([neutral, Buffer.alloc(32)]).toString('hex')
  const address = base58Encode(neutral)
  assert.equal(await verifyKeySignature({ ...signed, address, signature: forged }), 'wrong')
})
