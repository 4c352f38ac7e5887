import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/fault.ts'
import { authenticate, type FindKey } from '../../serving/auth/guard.ts'
import { hashSecret, isKeyShaped, makeKey, sameHash } from '../../serving/auth/keys.ts'
import type { Principal } from '../../serving/contract.ts'

const PRINCIPAL: Principal = {
  kind: 'api-key',
  orgId: 'org_1',
  appId: 'app_1',
  credentialId: 'key_1',
  plan: 'free',
  scopes: [],
  expiresAtMs: null,
}
const KEY = makeKey('sluice', 'live')
const find: FindKey = (text) =>
  text === KEY ? { kind: 'good', principal: PRINCIPAL } : { kind: 'unknown' }

const reasonOf = (answer: Principal | Fault | undefined): unknown => {
  assert.ok(answer instanceof Fault)
  return answer.details?.reason
}

test('a key has brand, mode, 32 random and 6 check characters', () => {
  assert.match(makeKey('acme', 'test'), /^acme_test_[0-9A-Za-z]{38}$/)
  assert.notEqual(makeKey('acme', 'test'), makeKey('acme', 'test'))
})

test('the check characters are CRC-32 of what stands before them', () => {
  const key = makeKey('sluice', 'live', () => 0)
  const body = `sluice_live_${'0'.repeat(32)}`
  assert.ok(key.startsWith(body))
  assert.equal(key.slice(body.length), base62(crc(body)))
})

test('every single changed, swapped or missing character is seen without a look-up', () => {
  for (let at = 0; at < KEY.length; at += 1) {
    const other = KEY[at] === 'x' ? 'y' : 'x'
    assert.equal(isKeyShaped(KEY.slice(0, at) + other + KEY.slice(at + 1)), false, `at ${at}`)
    assert.equal(isKeyShaped(KEY.slice(0, at) + KEY.slice(at + 1)), false, `without ${at}`)
  }
  assert.equal(isKeyShaped(KEY), true)
})

test('a typo never reaches the accounts', () => {
  const asked: string[] = []
  const answer = authenticate({ apiKey: `${KEY.slice(0, -1)}!` }, (text) => {
    asked.push(text)
    return { kind: 'unknown' }
  })
  assert.equal(reasonOf(answer), 'invalid_api_key')
  assert.deepEqual(asked, [])
})

test('a hash depends on the pepper, and hashes compare by value', () => {
  assert.equal(hashSecret('a', 'p'), hashSecret('a', 'p'))
  assert.notEqual(hashSecret('a', 'p'), hashSecret('a', 'q'))
  assert.equal(sameHash('ab', 'ab'), true)
  assert.equal(sameHash('ab', 'ac'), false)
  assert.equal(sameHash('ab', 'abc'), false)
})

test('the first credential that is present decides', () => {
  const cases: readonly (readonly [Parameters<typeof authenticate>[0], unknown])[] = [
    [{}, undefined],
    [{ apiKey: KEY }, PRINCIPAL],
    [{ authorization: `Bearer ${KEY}` }, PRINCIPAL],
    [{ authorization: `bearer ${KEY}` }, PRINCIPAL],
    [{ token: KEY }, PRINCIPAL],
    [{ apiKey: KEY, authorization: 'Bearer nonsense' }, PRINCIPAL],
    [{ apiKey: 'nonsense', authorization: `Bearer ${KEY}` }, 'invalid_api_key'],
    [{ apiKey: '' }, 'invalid_api_key'],
    [{ authorization: 'SIWX abc.def', apiKey: KEY }, 'unsupported_credential'],
    [{ authorization: 'Basic abc' }, 'unsupported_credential'],
    [{ authorization: 'Bearer a.b.c' }, 'invalid_token'],
    [{ token: 'a.b.c' }, 'invalid_token'],
    [{ apiKey: makeKey('sluice', 'live') }, 'invalid_api_key'],
  ]
  for (const [credentials, expected] of cases) {
    const answer = authenticate(credentials, find)
    if (typeof expected === 'string') assert.equal(reasonOf(answer), expected)
    else assert.deepEqual(answer, expected)
  }
})

test('a suspended organization is 403, stale accounts let nobody in', () => {
  const faultName = (kind: 'suspended' | 'unusable'): string => {
    const answer = authenticate({ apiKey: KEY }, () => ({ kind }))
    assert.ok(answer instanceof Fault)
    return answer.faultName
  }
  assert.equal(faultName('suspended'), 'FORBIDDEN')
  assert.equal(faultName('unusable'), 'DATABASE_ERROR')
})

/** Bitwise CRC-32 (IEEE 802.3), independent of the one in the product. */
function crc(text: string): number {
  let rest = 0xffffffff
  for (const byte of Buffer.from(text)) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1
  }
  return (rest ^ 0xffffffff) >>> 0
}

function base62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let rest = BigInt(value)
  let text = ''
  for (let place = 0; place < 6; place += 1) {
    text = digits.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}
