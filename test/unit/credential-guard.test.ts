import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type CryptoKey, exportSPKI, importJWK, importPKCS8, SignJWT, UnsecuredJWT } from 'jose'
import { Fault } from '../../core/errors.ts'
import { generateApiKey } from '../../serving/auth/api-keys.ts'
import type { SignatureAnswer } from '../../serving/auth/contract-signatures.ts'
import { createGuard, type GuardDeps } from '../../serving/auth/guard.ts'
import {
  createSigner,
  createVerifier,
  generateKeyPairPem,
  newTokenId,
  readKeyPair,
  type TokenClaims,
} from '../../serving/auth/jwt.ts'
import type { CredentialLookup } from '../../serving/auth/organization-registry.ts'
import { readSignInToken } from '../../serving/auth/siwx.ts'
import type { Credentials, Guard, Principal } from '../../serving/interfaces.ts'
import {
  evmWallet,
  type MessageFields,
  signInMessage,
  signInToken,
  type TestWallet,
} from '../support/wallet-signer.ts'

const PRINCIPAL: Principal = {
  kind: 'api-key',
  orgId: 'org_1',
  appId: 'app_1',
  credentialId: 'key_1',
  plan: 'free',
  scopes: [],
  expiresAtMs: null,
}
const KEY = generateApiKey('sluice', 'live')
const PLACE = { issuer: 'https://auth.test/', audience: 'https://api.test' }
const NOW_MS = Date.now()
const NOW = Math.floor(NOW_MS / 1_000)
const CLAIMS: TokenClaims = {
  clientId: 'client_1',
  orgId: 'org_1',
  tokenId: newTokenId(NOW_MS),
  scopes: ['kyt.read'],
  issuedAt: NOW,
  expiresAt: NOW + 60,
}
const pair = await generateKeyPairPem()
const sign = await createSigner(pair)

const wallet = evmWallet(0x11)
const WALLET_PRINCIPAL: Principal = {
  ...PRINCIPAL,
  kind: 'siwx',
  credentialId: `evm:${wallet.address.toLowerCase()}`,
}
const SIGN_IN_RULES = {
  domains: ['api.test'],
  origins: ['https://api.test'],
  maxLifetimeMs: 86_400_000,
}
const signedBy = async (who: TestWallet, more: Partial<MessageFields> = {}): Promise<string> => {
  const fields = {
    domain: 'api.test',
    uri: 'https://api.test',
    issuedAt: new Date(NOW_MS).toISOString(),
    expiresAt: new Date(NOW_MS + 60_000).toISOString(),
    ...more,
  }
  return `SIWX ${await signInToken(who, signInMessage(who, fields))}`
}

const guardOf = (more: Partial<GuardDeps> = {}): Omit<Guard, 'onRevoked'> => {
  const verify = createVerifier([pair.publicKey])
  return createGuard({
    isFresh: () => true,
    findKey: (text) =>
      text === KEY ? { kind: 'good', principal: PRINCIPAL } : { kind: 'unknown' },
    findToken: ({ scopes }): CredentialLookup => ({
      kind: 'good',
      principal: { ...PRINCIPAL, kind: 'jwt', scopes },
    }),
    findWallet: (key, { expiresAtMs }) =>
      key === WALLET_PRINCIPAL.credentialId
        ? { kind: 'good', principal: { ...WALLET_PRINCIPAL, expiresAtMs } }
        : { kind: 'unlinked' },
    readSignIn: (token) => readSignInToken(token, SIGN_IN_RULES, NOW_MS),
    contracts: { check: async () => 'wrong' },
    verifier: () => verify,
    verify: (check, token) => check(token, PLACE),
    ...more,
  })
}

const reasonOf = (answer: Principal | Fault | undefined): unknown => {
  assert.ok(answer instanceof Fault, 'a fault was expected')
  return answer.details?.reason ?? answer.faultName
}

test('a malformed API key is rejected without an account lookup', async () => {
  const asked: string[] = []
  const guard = guardOf({
    findKey: (text) => {
      asked.push(text)
      return { kind: 'unknown' }
    },
  })
  assert.equal(
    reasonOf(await guard.identify({ apiKey: `${KEY.slice(0, -1)}!` })),
    'invalid_api_key',
  )
  assert.deepEqual(asked, [])
})

test('the first credential of a request decides', async () => {
  const token = await sign(CLAIMS, PLACE)
  const ofToken = { ...PRINCIPAL, kind: 'jwt', scopes: ['kyt.read'] }
  const ofWallet = { ...WALLET_PRINCIPAL, expiresAtMs: NOW_MS + 60_000 }
  const cases: readonly (readonly [Credentials, unknown])[] = [
    [{}, undefined],
    [{ apiKey: KEY }, PRINCIPAL],
    [{ authorization: `Bearer ${KEY}` }, PRINCIPAL],
    [{ authorization: `bearer ${KEY}` }, PRINCIPAL],
    [{ token: KEY }, PRINCIPAL],
    [{ token }, ofToken],
    [{ authorization: `Bearer ${token}` }, ofToken],
    [{ authorization: `bearer  ${token}` }, ofToken],
    [{ apiKey: token }, 'invalid_api_key'],
    [{ apiKey: KEY, authorization: 'Bearer nonsense' }, PRINCIPAL],
    [{ apiKey: 'nonsense', authorization: `Bearer ${token}` }, 'invalid_api_key'],
    [{ apiKey: '' }, 'invalid_api_key'],
    [{ authorization: 'SIWX abc.def', apiKey: KEY }, 'malformed_message'],
    [{ authorization: await signedBy(wallet), apiKey: 'nonsense', token: 'a.b.c' }, ofWallet],
    [{ authorization: (await signedBy(wallet)).replace('SIWX', 'siwx ') }, ofWallet],
    [{ authorization: await signedBy(evmWallet(0x12)), apiKey: KEY }, 'no_subscription'],
    [{ authorization: 'Basic abc' }, 'unsupported_credential'],
    [{ authorization: 'Bearer a.b.c', token }, 'invalid_token'],
    [{ token: 'a.b.c' }, 'invalid_token'],
    [{ token: '..' }, 'invalid_token'],
    [{ token: `${'a'.repeat(5_000)}.b.c` }, 'invalid_token'],
    [{ apiKey: generateApiKey('sluice', 'live') }, 'invalid_api_key'],
  ]
  for (const [credentials, expected] of cases) {
    const answer = await guardOf().identify(credentials)
    if (typeof expected === 'string') assert.equal(reasonOf(answer), expected)
    else assert.deepEqual(answer, expected)
  }
})

test('a credential that is suspended, expired, revoked or unknown is refused with that reason', async () => {
  const token = await sign(CLAIMS, PLACE)
  const expected = {
    suspended: ['FORBIDDEN', 'suspended', 'suspended'],
    expired: ['UNAUTHORIZED', 'expired_token', 'expired_token'],
    revoked: ['UNAUTHORIZED', 'revoked', 'revoked'],
    unknown: ['UNAUTHORIZED', 'invalid_api_key', 'invalid_token'],
  } as const
  for (const kind of ['suspended', 'expired', 'revoked', 'unknown'] as const) {
    const guard = guardOf({ findKey: () => ({ kind }), findToken: () => ({ kind }) })
    const [faultName, ofKey, ofToken] = expected[kind]
    const byKey = await guard.identify({ apiKey: KEY })
    assert.equal(byKey instanceof Fault && byKey.faultName, faultName)
    assert.equal(reasonOf(byKey), ofKey)
    assert.equal(reasonOf(await guard.identify({ token })), ofToken)
  }
})

test('with stale accounts every credential answers DATABASE_ERROR', async () => {
  const guard = guardOf({ isFresh: () => false })
  for (const credentials of [
    { apiKey: KEY },
    { token: await sign(CLAIMS, PLACE) },
    { authorization: await signedBy(wallet) },
  ]) {
    assert.equal(reasonOf(await guard.identify(credentials)), 'DATABASE_ERROR')
  }
})

test('a token authenticates synchronously only after it was identified, and no longer once its signing key is removed', async () => {
  const token = await sign(CLAIMS, PLACE)
  let verify = createVerifier([pair.publicKey])
  const guard = guardOf({ verifier: () => verify })
  assert.equal(reasonOf(guard.authenticate({ token })), 'invalid_token')
  await guard.identify({ token })
  assert.equal((guard.authenticate({ token }) as Principal).kind, 'jwt')
  verify = createVerifier([])
  assert.equal(reasonOf(guard.authenticate({ token })), 'invalid_token')
  assert.equal(reasonOf(await guard.identify({ token })), 'invalid_token')
})

test('a token that was being checked while its signing key was removed does not authenticate', async () => {
  const token = await sign(CLAIMS, PLACE)
  let verify = createVerifier([pair.publicKey])
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const guard = guardOf({
    verifier: () => verify,
    verify: async (check, text) => {
      const claims = await check(text, PLACE)
      await gate
      return claims
    },
  })
  const identified = guard.identify({ token })
  verify = createVerifier([])
  assert.equal(reasonOf(guard.authenticate({ token })), 'invalid_token')
  open()
  await identified
  assert.equal(reasonOf(guard.authenticate({ token })), 'invalid_token')
})

test('forged and foreign tokens are refused', async () => {
  const other = await generateKeyPairPem()
  const privateKey = await importPKCS8(pair.privatePem, 'RS256')
  const publicPem = await exportSPKI(
    (await importJWK({ ...pair.publicKey }, 'RS256', { extractable: true })) as CryptoKey,
  )
  const header = { alg: 'RS256', kid: pair.publicKey.kid, typ: 'at+jwt' }
  const payload = {
    client_id: 'client_1',
    iss: PLACE.issuer,
    aud: PLACE.audience,
    sub: 'client_1@clients',
    jti: 'j',
    iat: NOW,
    exp: NOW + 60,
  }
  const made = (claims: object, more: object = {}, key = privateKey): Promise<string> =>
    new SignJWT({ ...payload, ...claims }).setProtectedHeader({ ...header, ...more }).sign(key)
  const good = await made({})
  const [head = '', body = '', signature = ''] = good.split('.')
  const encoded = (value: object): string =>
    Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encoded({ ...header, alg: 'HS256' })}.${body}`
  const hmac = createHmac('sha256', publicPem).update(signed).digest('base64url')
  const without = (claim: string) => made({ [claim]: undefined })

  const check = createVerifier([pair.publicKey])
  assert.equal((await check(good, PLACE))?.clientId, 'client_1')
  const forged: Readonly<Record<string, string>> = {
    'alg none': new UnsecuredJWT(payload).encode(),
    'alg none with a kid': `${encoded({ ...header, alg: 'none' })}.${body}.`,
    'alg None': `${encoded({ ...header, alg: 'None' })}.${body}.${signature}`,
    'HS256 with the public key': `${signed}.${hmac}`,
    'another key under our kid': await made({}, {}, await importPKCS8(other.privatePem, 'RS256')),
    'another kid': await made({}, { kid: other.publicKey.kid }),
    'wrong audience': await made({ aud: 'https://other.test' }),
    'wrong issuer': await made({ iss: 'https://other.test/' }),
    'issuer without its slash': await made({ iss: PLACE.issuer.slice(0, -1) }),
    'typ JWT': await made({}, { typ: 'JWT' }),
    'no typ': await made({}, { typ: undefined }),
    'unknown critical header': `${encoded({ ...header, crit: ['b64x'], b64x: 1 })}.${body}.${signature}`,
    'changed payload': `${head}.${encoded({ ...payload, client_id: 'client_2' })}.${signature}`,
    'no signature': `${head}.${body}.`,
    'not yet': await made({ nbf: NOW + 600 }),
    'text as exp': await made({ exp: 'tomorrow' }),
    ...Object.fromEntries(
      await Promise.all(
        ['exp', 'iat', 'jti', 'client_id', 'sub', 'aud', 'iss'].map(async (claim) => [
          `without ${claim}`,
          await without(claim),
        ]),
      ),
    ),
  }
  for (const [name, token] of Object.entries(forged)) {
    assert.equal(await check(token, PLACE), undefined, name)
    assert.equal(reasonOf(await guardOf().identify({ token })), 'invalid_token', name)
  }
})

test('an expired token returns its claims, a token for another audience returns undefined', async () => {
  const check = createVerifier([pair.publicKey])
  const over = { ...CLAIMS, issuedAt: NOW - 600, expiresAt: NOW - 300 }
  assert.deepEqual(await check(await sign(over, PLACE), PLACE), over)
  assert.equal(await check(await sign(over, { ...PLACE, audience: 'x' }), PLACE), undefined)
})

test('a signing key file must hold an RSA key of at least 2048 bits', async () => {
  const pem = (bits: number): string =>
    generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }) as string
  const read = await readKeyPair(pair.privatePem)
  assert.deepEqual(read.publicKey, pair.publicKey)
  await assert.rejects(readKeyPair(pem(1_024)), /2048/)
  await assert.rejects(readKeyPair('no key'), /PEM/)
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  await assert.rejects(readKeyPair(ec.export({ type: 'pkcs8', format: 'pem' }) as string), /RSA/)
})

test('token ids are UUIDs of version 7 that sort by time', () => {
  const id = newTokenId(1_760_000_000_000)
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.ok(id < newTokenId(1_760_000_000_001))
})

test('a wallet authenticates once its signature was verified, until its message expires or its link is removed', async () => {
  let [nowMs, isLinked] = [NOW_MS, true]
  const guard = guardOf({
    readSignIn: (token) => readSignInToken(token, SIGN_IN_RULES, nowMs),
    findWallet: (_key, { expiresAtMs }) =>
      isLinked
        ? { kind: 'good', principal: { ...WALLET_PRINCIPAL, expiresAtMs } }
        : { kind: 'unlinked' },
  })
  const authorization = await signedBy(wallet)
  assert.equal(reasonOf(guard.authenticate({ authorization })), 'bad_signature')
  assert.ok(!((await guard.identify({ authorization })) instanceof Fault))
  assert.ok(!(guard.authenticate({ authorization }) instanceof Fault))
  isLinked = false
  const unlinked = await guard.identify({ authorization })
  assert.ok(unlinked instanceof Fault && unlinked.status === 402)
  isLinked = true
  nowMs += 60_000
  assert.equal(reasonOf(await guard.identify({ authorization })), 'expired_token')
  assert.equal(reasonOf(guard.authenticate({ authorization })), 'expired_token')
})

test('a signature that is not of the key is verified by the contract, and again after five minutes', async (t) => {
  freezeClock(t)
  let answer: SignatureAnswer = 'good'
  const asked: string[] = []
  const guard = guardOf({
    readSignIn: (token) => readSignInToken(token, SIGN_IN_RULES, Date.now()),
    contracts: {
      check: async ({ signature }, caller) => {
        asked.push(`${caller} ${signature}`)
        return answer
      },
    },
  })
  const end = new Date(NOW_MS + 3_600_000).toISOString()
  const [message] = (await signedBy(wallet, { expiresAt: end })).split('.')
  const authorization = `${message}.0xabcd`
  const identify = () => guard.identify({ authorization, address: '192.0.2.1' })
  assert.ok(!((await identify()) instanceof Fault))
  assert.ok(!((await identify()) instanceof Fault))
  assert.deepEqual(asked, ['192.0.2.1 0xabcd'])
  t.mock.timers.tick(299_000)
  assert.ok(!(guard.authenticate({ authorization }) instanceof Fault))
  t.mock.timers.tick(1_001)
  answer = new Fault('CHAIN_CONNECTION_ERROR', undefined, { reason: 'unchecked_signature' })
  assert.equal(reasonOf(await identify()), 'unchecked_signature')
  answer = 'wrong'
  assert.equal(reasonOf(await identify()), 'bad_signature')
  assert.equal(asked.length, 3)
})

test('an undecided signature is not counted as wrong, and delays no wallet with a key', async (t) => {
  freezeClock(t)
  const undecided = new Fault('CHAIN_CONNECTION_ERROR')
  const waiting: ((answer: SignatureAnswer) => void)[] = []
  const guard = guardOf({
    contracts: { check: () => new Promise((resolve) => waiting.push(resolve)) },
  })
  const [message] = (await signedBy(wallet)).split('.')
  const address = '192.0.2.1'
  const flood = Array.from({ length: 30 }, (_, n) =>
    guard.identify({ authorization: `${message}.0x${n + 10}`, address }),
  )
  // All of them wait for their contracts, more than are computed at the same time.
  const authorization = await signedBy(wallet)
  assert.ok(!((await guard.identify({ authorization, address })) instanceof Fault))
  assert.equal(waiting.length, 30)
  for (const answer of waiting) answer(undecided)
  assert.deepEqual(
    [...new Set((await Promise.all(flood)).map(reasonOf))],
    ['CHAIN_CONNECTION_ERROR'],
  )
  const next = await signedBy(wallet, { nonce: 'another12' })
  assert.ok(!((await guard.identify({ authorization: next, address })) instanceof Fault))
})

/** Limits per second stand still, however slow the machine is; `t.mock.timers.tick` moves them. */
const freezeClock = (t: TestContext): void =>
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })

const identifyWrongTokens = (
  guard: Pick<Guard, 'identify'>,
  count: number,
  address: (n: number) => string,
) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      guard.identify({ token: `a.b.${n}`, address: address(n) }),
    ),
  )

test('wrong tokens are counted by address and refused unchecked beyond their limit', async (t) => {
  freezeClock(t)
  let checks = 0
  const guard = guardOf({
    verify: async (check, token) => {
      checks += 1
      return check(token, PLACE)
    },
  })
  // One caller that takes its addresses from the 2^64 of its network.
  const flood = await identifyWrongTokens(guard, 150, (n) => `2001:db8::${n.toString(16)}`)
  const refused = flood.map(reasonOf).filter((reason) => reason === 'RATE_LIMIT')
  // Of those at once a few are on their way when the limit is reached.
  assert.ok(checks >= 100 && checks <= 103, `${checks} checks`)
  assert.equal(refused.length, 150 - checks)
  const token = await sign(CLAIMS, PLACE)
  assert.ok(!((await guard.identify({ token, address: '2001:db8:0:1::1' })) instanceof Fault))
  assert.ok(!((await guard.identify({ token, address: '2001:db8::1' })) instanceof Fault), 'known')
})

test('a new token behind an address with wrong ones waits at most a second; valid tokens alone never wait', async (t) => {
  freezeClock(t)
  const guard = guardOf({ verify: (check, token) => check(token, PLACE) })
  const address = '192.0.2.1'
  const good = await Promise.all(
    Array.from({ length: 120 }, (_, n) => sign({ ...CLAIMS, tokenId: `t${n}` }, PLACE)),
  )
  const opened = await Promise.all(good.map((token) => guard.identify({ token, address })))
  assert.deepEqual(
    opened.filter((found) => found instanceof Fault),
    [],
  )
  await identifyWrongTokens(guard, 150, () => address)
  const token = await sign(CLAIMS, PLACE)
  assert.equal(reasonOf(await guard.identify({ token, address })), 'RATE_LIMIT')
  t.mock.timers.tick(1_000)
  assert.ok(!((await guard.identify({ token, address })) instanceof Fault))
})

test('concurrent wrong wallet signatures of one IPv6 network are counted together', async (t) => {
  freezeClock(t)
  const guard = guardOf()
  const stolen = (await signedBy(wallet)).split('.')[0]
  const flood = Array.from({ length: 40 }, (_, n) => {
    const signature = `0x${n.toString(16).padStart(64, '1')}${'1'.repeat(64)}1b`
    return guard.identify({ authorization: `${stolen}.${signature}`, address: `2001:db8::${n}` })
  })
  const reasons = (await Promise.all(flood)).map(reasonOf)
  const checked = reasons.filter((reason) => reason === 'bad_signature').length
  // Beside those on their way here, contracts are asked for others.
  assert.ok(checked >= 20 && checked <= 31, `${checked} checked`)
})

test('good signatures of wallets without an account are counted as wrong ones, by key and by contract', async (t) => {
  freezeClock(t)
  const stranger = evmWallet(0x12)
  const tokens = await Promise.all(
    Array.from({ length: 25 }, (_, n) => signedBy(stranger, { nonce: `stranger${n}` })),
  )
  const reasonsOf = async (
    guard: Pick<Guard, 'identify'>,
    toToken: (token: string) => string,
  ): Promise<readonly unknown[]> => {
    const reasons: unknown[] = []
    for (const token of tokens) {
      const authorization = toToken(token)
      reasons.push(reasonOf(await guard.identify({ authorization, address: '192.0.2.1' })))
    }
    return reasons
  }
  const expected = [...Array(20).fill('no_subscription'), ...Array(5).fill('RATE_LIMIT')]
  const guard = guardOf()
  assert.deepEqual(await reasonsOf(guard, (token) => token), expected)
  const [known = ''] = tokens
  const again = await guard.identify({ authorization: known, address: '192.0.2.1' })
  assert.equal(reasonOf(again), 'no_subscription', 'checked before')
  const byContract = guardOf({ contracts: { check: async () => 'good' } })
  assert.deepEqual(await reasonsOf(byContract, (token) => `${token}00`), expected)
  // An account may sign a new token for each call.
  for (let n = 0; n < 25; n += 1) {
    const authorization = await signedBy(wallet, { nonce: `account${n}` })
    const found = await guard.identify({ authorization, address: '192.0.2.2' })
    assert.ok(!(found instanceof Fault))
  }
})

test('a signature is checked once, however it and its message are written', async () => {
  const asked: string[] = []
  const guard = guardOf({
    contracts: {
      check: async ({ signature }) => {
        asked.push(signature)
        return 'good'
      },
    },
  })
  const [message = ''] = (await signedBy(wallet)).split('.')
  for (const signature of ['0xabcdef', '0xABCDEF', '0xAbCdEf'])
    for (const text of [message, message.replace(' ', '  '), message.replace(/=*$/, '')]) {
      const authorization = `${text}.${signature}`
      assert.ok(!((await guard.identify({ authorization })) instanceof Fault))
      assert.ok(!(guard.authenticate({ authorization }) instanceof Fault))
    }
  assert.deepEqual(asked, ['0xabcdef'])
  for (const authorization of [`${message}.0Xabcdef`, `${message}.abcdef`])
    assert.equal(reasonOf(await guard.identify({ authorization })), 'bad_signature')
})

test('wrong wallet signatures are counted by address; other addresses sign in meanwhile', async (t) => {
  freezeClock(t)
  const guard = guardOf()
  const stolen = (await signedBy(wallet)).split('.')[0]
  const reasons: unknown[] = []
  for (let n = 0; n < 25; n += 1) {
    const signature = `0x${n.toString(16).padStart(64, '1')}${'1'.repeat(64)}1b`
    const authorization = `${stolen}.${signature}`
    reasons.push(reasonOf(await guard.identify({ authorization, address: '192.0.2.1' })))
  }
  assert.deepEqual(reasons, [...Array(20).fill('bad_signature'), ...Array(5).fill('RATE_LIMIT')])
  const authorization = await signedBy(wallet)
  const refused = await guard.identify({ authorization, address: '192.0.2.1' })
  assert.ok(refused instanceof Fault && refused.status === 429)
  assert.ok(!((await guard.identify({ authorization, address: '192.0.2.2' })) instanceof Fault))
  // Checked before: it costs no computing, so nothing holds it up.
  assert.ok(!((await guard.identify({ authorization, address: '192.0.2.1' })) instanceof Fault))
})
