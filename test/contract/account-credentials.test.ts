import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { MAX_OWN_KEYS } from '../../schemas/plans.ts'
import { SCOPES, type Scope } from '../../schemas/scopes.ts'
import type { NewApplication } from '../../serving/auth/administration.ts'
import { createOrganizations, type Organizations } from '../../serving/auth/organizations.ts'
import { type ApiResponse, callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { until } from '../support/until.ts'
import {
  evmWallet,
  type MessageFields,
  signInMessage,
  signInToken,
  solanaWallet,
  type TestWallet,
} from '../support/wallet-signer.ts'

let api: TestApi
/** Another process on the same log. */
let second: Organizations

before(async () => {
  api = await startApi({ graphql: true })
  second = await createOrganizations({
    bus: api.bus,
    codec: localCodec(),
    config: loadConfig({}, { keyPepper: 'pepper' }),
    authUrl: () => 'https://auth.test',
    nowMs: Date.now,
    log: makeSilentLogger(),
    metrics: makeMetrics(),
  })
})
after(async () => {
  await second.stop()
  await api.stop()
})

const account = (name: string, more: { scopes?: Scope[]; expiresAtMs?: number } = {}) =>
  api.organizations.createKey({ name, plan: 'selfhost', ...more })

type Headers = Readonly<Record<string, string>>
const keyOf = ({ apiKey }: { readonly apiKey: string }): Headers => ({ 'x-api-key': apiKey })

const send = (
  headers: Headers,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiResponse> =>
  callApi(api, path, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

interface Body {
  readonly code?: number
  readonly details?: Readonly<Record<string, unknown>>
  readonly apiKey: string
  readonly keyId: string
  readonly items: readonly Readonly<Record<string, unknown>>[]
}
const bodyOf = ({ body }: ApiResponse): Body => body as Body
/** Status, code and reason of a refusal. */
const refusalOf = (answer: ApiResponse): readonly unknown[] => {
  const { code, details } = bodyOf(answer)
  return [answer.status, code, details?.reason ?? details?.parameter ?? details?.required_scope]
}

const fieldsAt = (atMs: number, lifeMs = 3_600_000): MessageFields => ({
  domain: 'auth.test',
  uri: 'https://auth.test',
  issuedAt: new Date(atMs).toISOString(),
  expiresAt: new Date(atMs + lifeMs).toISOString(),
})
const proofOf = async (wallet: TestWallet, more: Partial<MessageFields> = {}) => {
  const message = signInMessage(wallet, { ...fieldsAt(Date.now()), ...more })
  const { kind: chain, address } = wallet
  return { chain, address, message, signature: await wallet.sign(message) }
}
const siwx = async (wallet: TestWallet, more: Partial<MessageFields> = {}): Promise<Headers> => {
  const message = signInMessage(wallet, { ...fieldsAt(Date.now()), ...more })
  return { authorization: `SIWX ${await signInToken(wallet, message)}` }
}
const link = (owner: NewApplication, proof: unknown): Promise<ApiResponse> =>
  send(keyOf(owner), 'POST', '/x402/link-address', proof)
const plan = (headers: Headers): Promise<ApiResponse> => send(headers, 'GET', '/v2/account/plan')

test('an API key of an account is shown once, listed without its text, and refused at once when revoked', async () => {
  const owner = await account('own keys')
  const expiresAt = Date.now() + 3_600_000
  const made = await send(keyOf(owner), 'POST', '/v2/account/keys', {
    name: 'shop',
    scopes: ['webhook.read'],
    expiresAt,
  })
  assert.equal(made.status, 200, made.text)
  const { apiKey, keyId } = bodyOf(made)
  assert.equal((made.body as { lastUsedAt: unknown }).lastUsedAt, null)
  const askedAtMs = Date.now()
  assert.equal((await plan({ 'x-api-key': apiKey })).status, 200)
  const webhooks = await send({ 'x-api-key': apiKey }, 'GET', '/v2/webhook/endpoint')
  assert.equal(webhooks.status, 200)
  const listed = await send(keyOf(owner), 'GET', '/v1/account/keys')
  assert.ok(!listed.text.includes(apiKey))
  const row = bodyOf(listed).items.find((each) => each.keyId === keyId)
  assert.deepEqual(row?.scopes, ['webhook.read'])
  assert.deepEqual([row?.name, row?.prefix], ['shop', apiKey.slice(0, 16)])
  assert.equal(row?.expiresAt, new Date(expiresAt).toISOString())
  const lastUsedAtMs = Date.parse(String(row?.lastUsedAt))
  assert.ok(lastUsedAtMs >= askedAtMs && lastUsedAtMs <= Date.now(), `${row?.lastUsedAt}`)
  const pages = await send(keyOf(owner), 'GET', '/v2/account/keys?limit=1')
  const { nextCursor } = pages.body as { nextCursor: string }
  const rest = await send(keyOf(owner), 'GET', `/v2/account/keys?limit=1&cursor=${nextCursor}`)
  assert.equal(bodyOf(rest).items[0]?.keyId, keyId)
  assert.equal((await send(keyOf(owner), 'DELETE', `/v2/account/keys/${keyId}`)).status, 200)
  assert.deepEqual(refusalOf(await plan({ 'x-api-key': apiKey })), [401, 401, 'invalid_api_key'])
  assert.equal((await send(keyOf(owner), 'DELETE', `/v2/account/keys/${keyId}`)).status, 404)
})

test('a restricted or ending key makes nothing that outlasts or outranks it', async () => {
  const restricted = await account('restricted', { scopes: ['webhook.read', 'webhook.write'] })
  for (const [method, path, body] of [
    ['POST', '/v2/account/keys', {}],
    ['GET', '/v2/account/keys', undefined],
    ['DELETE', `/v2/account/keys/${restricted.keyId}`, undefined],
    ['GET', '/v2/account/wallets', undefined],
    ['POST', '/x402/link-address', await proofOf(evmWallet(0x31))],
  ] as const) {
    const answer = await send(keyOf(restricted), method, path, body)
    assert.deepEqual(refusalOf(answer), [403, 40301, 'kyt.read'], path)
  }
  const expiresAtMs = Date.now() + 60_000
  const ending = await account('ending', { expiresAtMs })
  const ask = (body: unknown) => send(keyOf(ending), 'POST', '/v2/account/keys', body)
  assert.deepEqual(refusalOf(await ask({})), [400, 40002, 'expiresAt'])
  assert.deepEqual(refusalOf(await ask({ expiresAt: expiresAtMs + 1 })), [400, 40002, 'expiresAt'])
  assert.equal((await ask({ expiresAt: expiresAtMs })).status, 200)
  const wallet = evmWallet(0x3d)
  assert.deepEqual(refusalOf(await link(ending, await proofOf(wallet))), [403, 403, 'ending_key'])
  assert.equal((await plan(await siwx(wallet))).status, 402)
  assert.deepEqual(bodyOf(await send(keyOf(ending), 'GET', '/v2/account/wallets')).items, [])
})

test('the scopes of an application restrict its access tokens, not its keys and wallets', async () => {
  const { admin, registry, guard } = api.organizations
  const made = await admin.createApplication({ name: 'no scopes', plan: 'selfhost', scopes: [] })
  assert.deepEqual(registry.application(made.appId)?.scopes, [])
  const wallet = evmWallet(0x40)
  assert.equal((await link(made, await proofOf(wallet))).status, 200)
  for (const credentials of [{ apiKey: made.apiKey }, await siwx(wallet)]) {
    const found = await guard.identify(credentials)
    assert.deepEqual(found && 'scopes' in found && found.scopes, SCOPES)
  }
  const ids = { clientId: made.clientId, orgId: made.orgId, tokenId: 't', scopes: SCOPES }
  const nowMs = Date.now()
  const claims = { ...ids, issuedAt: nowMs / 1_000, expiresAt: nowMs / 1_000 + 60 }
  const found = registry.findToken(claims, nowMs, 0)
  assert.deepEqual(found.kind === 'good' && found.principal.scopes, [])
})

test('a key without an end makes such keys and links wallets, also where a bought plan ends', async () => {
  const { address } = evmWallet(0x3e)
  const order = {
    payment_id: 'base:ends',
    plan: 'nano',
    chain: 'evm',
    address: address.toLowerCase(),
    nonce: '0x1',
    network: 'base',
    asset: '0xAA',
    pay_to: '0xBB',
    amount_raw: '5000000',
    valid_before: Date.now() + 60_000,
  }
  const purchases = api.organizations.purchasesAs({ actor: 'test', address: '', requestId: '' })
  await purchases.order(order)
  const { apiKey } = await purchases.complete(order.payment_id, '0xdead', () => 0)
  const buyer = { 'x-api-key': apiKey ?? '' }
  const made = await send(buyer, 'POST', '/v2/account/keys', {})
  assert.equal(made.status, 200, made.text)
  assert.equal((made.body as { expiresAt: unknown }).expiresAt, null)
  const linked = await send(buyer, 'POST', '/x402/link-address', await proofOf(evmWallet(0x3f)))
  assert.equal(linked.status, 200, linked.text)
})

test('an invalid body of a new key answers 400; the number of keys is bounded, and expired keys free their slot', async () => {
  const owner = await account('many keys')
  const ask = (body: unknown) => send(keyOf(owner), 'POST', '/v2/account/keys', body)
  for (const body of [
    { scopes: ['admin'] },
    { scopes: ['kyt.read', 'kyt.read'] },
    { scopes: 'kyt.read' },
    { expiresAt: 'tomorrow' },
    { expiresAt: -1 },
    { expiresAt: 1 },
    { expiresAt: Date.now() + 101 * 31_556_952_000 },
    { expiresAt: { $gt: 0 } },
    { name: '' },
    { title: 'x' },
    [],
    'text',
    null,
  ]) {
    const { status, text } = await ask(body)
    assert.equal(status, 400, `${JSON.stringify(body)}: ${text}`)
  }
  const brief = await ask({ expiresAt: Date.now() + 1_000 })
  assert.equal(brief.status, 200)
  for (let made = 2; made < MAX_OWN_KEYS; made += 1) assert.equal((await ask({})).status, 200)
  await until(async () => (await ask({})).status === 200, 'the ended key makes room')
  assert.deepEqual(refusalOf(await ask({})), [409, 409, 'too_many_keys'])
})

test('keys and wallets of another organization are reported as not found', async () => {
  const [owner, other] = [await account('owner'), await account('other')]
  const wallet = evmWallet(0x32)
  assert.equal((await link(owner, await proofOf(wallet))).status, 200)
  for (const path of [
    `/v2/account/keys/${owner.keyId}`,
    `/v2/account/wallets/evm/${wallet.address}`,
    '/v2/account/keys/key_none',
  ]) {
    assert.equal((await send(keyOf(other), 'DELETE', path)).status, 404, path)
  }
  for (const path of ['/v2/account/keys', '/v2/account/wallets']) {
    const { text } = await send(keyOf(other), 'GET', path)
    assert.ok(!text.includes(owner.keyId) && !text.includes(wallet.address.toLowerCase()), path)
  }
  const taken = await link(other, await proofOf(wallet))
  assert.deepEqual(refusalOf(taken), [409, 409, 'linked_elsewhere'])
  assert.ok(!taken.text.includes(owner.orgId))
  assert.equal((await plan(await siwx(wallet))).status, 200)
  const foreign = await send(keyOf(owner), 'GET', '/v2/account/keys?cursor=abc')
  assert.equal(bodyOf(foreign).code, 40027)
})

test('a linked wallet signs in on REST and GraphQL, as its organization and with every scope', async () => {
  for (const wallet of [evmWallet(0x33), solanaWallet(0x34)]) {
    const owner = await account('signs in')
    const before = await plan(await siwx(wallet))
    assert.deepEqual(refusalOf(before), [402, 402, 'no_subscription'])
    const proof = await proofOf(wallet)
    const linked = await link(owner, proof)
    assert.equal(linked.status, 200, linked.text)
    assert.equal((await link(owner, proof)).status, 200, 'twice is once')
    const headers = await siwx(wallet)
    assert.equal((await send(headers, 'GET', '/v2/webhook/endpoint')).status, 200)
    const keys = bodyOf(await send(headers, 'GET', '/v2/account/keys')).items
    assert.deepEqual(
      keys.map(({ keyId }) => keyId),
      [owner.keyId],
    )
    const query = { query: '{ __typename }' }
    assert.equal((await send(headers, 'POST', '/graphql', query)).status, 200)
    const unknown = await send(await siwx(evmWallet(0x35)), 'POST', '/graphql', query)
    assert.equal(unknown.status, 402)
    // The first credential that is there decides, also where a good one follows.
    const wrong = { ...keyOf(owner), ...(await siwx(wallet, { domain: 'evil.test' })) }
    const answer = await plan(wrong)
    assert.deepEqual(refusalOf(answer), [401, 401, 'wrong_domain'])
    assert.match(answer.headers.get('www-authenticate') ?? '', /invalid_token/)
    await api.organizations.setSuspended(owner.orgId, true)
    assert.deepEqual(refusalOf(await plan(headers)), [403, 403, 'suspended'])
    await api.organizations.setSuspended(owner.orgId, false)
    await api.organizations.admin.deleteApplication(owner.appId)
    assert.equal((await plan(headers)).status, 402)
  }
})

test('an invalid wallet token is rejected with its reason', async () => {
  const owner = await account('refusals')
  const wallet = evmWallet(0x36)
  await link(owner, await proofOf(wallet))
  const now = Date.now()
  const { authorization = '' } = await siwx(wallet)
  for (const [headers, reason] of [
    [{ authorization: 'SIWX' }, 'unsupported_credential'],
    [{ authorization: 'SIWX nonsense' }, 'malformed_message'],
    [{ authorization: `SIWX ${'A'.repeat(7_000)}.x` }, 'oversized_message'],
    [await siwx(wallet, { uri: 'https://evil.test' }), 'wrong_uri'],
    [await siwx(wallet, { chainId: '1' }), 'wrong_chain'],
    [await siwx(wallet, { version: '2' }), 'unsupported_version'],
    [await siwx(wallet, fieldsAt(now - 7_200_000)), 'expired_token'],
    [await siwx(wallet, fieldsAt(now + 600_000)), 'not_yet_valid'],
    [await siwx(wallet, fieldsAt(now, 8 * 86_400_000)), 'lifetime_too_long'],
    [{ authorization: `${authorization.slice(0, -2)}00` }, 'bad_signature'],
    [{ authorization: authorization.replace('.0x', '.') }, 'bad_signature'],
  ] as const) {
    assert.deepEqual(refusalOf(await plan(headers)), [401, 401, reason])
  }
  const text = await api.metrics.registry.metrics()
  assert.doesNotMatch(text, /sluice_auth_failures_total\{[^}]*reason="other"/)
})

test('without a node a signature that only a contract can verify is answered 503, not 401', async () => {
  const owner = await account('no node')
  const wallet = evmWallet(0x3a)
  const good = await proofOf(wallet)
  const undecided = await link(owner, { ...good, signature: `${good.signature}00` })
  assert.deepEqual(refusalOf(undecided), [503, 50018, 'unchecked_signature'])
  assert.equal(
    undecided.headers.get('retry-after'),
    null,
    'the same call fails until a node is set',
  )
  assert.equal((await link(owner, good)).status, 200)
  const { authorization = '' } = await siwx(wallet)
  const longer = { authorization: `${authorization}00` }
  assert.deepEqual(refusalOf(await plan(longer)), [503, 50018, 'unchecked_signature'])
  const graphql = await send(longer, 'POST', '/graphql', { query: '{ __typename }' })
  assert.equal(graphql.status, 503, graphql.text)
  assert.match(graphql.text, /"errors":.*unchecked_signature/)
  assert.equal((await plan({ authorization })).status, 200)
  const text = await api.metrics.registry.metrics()
  assert.match(text, /sluice_auth_failures_total\{surface="rest",reason="unavailable"\} 1/)
})

test('an invalid proof links no wallet and answers 400 with its reason', async () => {
  const owner = await account('proofs')
  const wallet = evmWallet(0x37)
  const good = await proofOf(wallet)
  const stranger = evmWallet(0x38)
  for (const [proof, expected] of [
    [{ ...good, signature: await stranger.sign(good.message) }, [400, 40002, 'bad_signature']],
    [{ ...good, address: stranger.address }, [400, 40002, 'wrong_address']],
    [{ ...good, chain: 'solana' }, [400, 40005, 'address']],
    [{ ...good, address: '0x12' }, [400, 40005, 'address']],
    [await proofOf(wallet, { domain: 'evil.test' }), [400, 40002, 'wrong_domain']],
    [await proofOf(wallet, fieldsAt(Date.now() - 660_000)), [400, 40002, 'old_proof']],
    [await proofOf(wallet, fieldsAt(Date.now() - 7_200_000)), [400, 40002, 'expired_token']],
    [{ ...good, message: 'hello' }, [400, 40002, 'malformed_message']],
  ] as const) {
    assert.deepEqual(refusalOf(await link(owner, proof)), expected)
  }
  for (const body of [
    { ...good, chain: 'bitcoin' },
    { ...good, chain: ['evm'] },
    { ...good, address: { a: 1 } },
    { ...good, message: ['x'] },
    { ...good, message: 'x'.repeat(5_000) },
    { ...good, signature: 7 },
    { ...good, signature: 'x'.repeat(133) },
    { ...good, more: 1 },
    {},
    null,
  ]) {
    const { status, text } = await link(owner, body)
    assert.equal(status, 400, `${JSON.stringify(body)}: ${text}`)
  }
  assert.deepEqual(bodyOf(await send(keyOf(owner), 'GET', '/v2/account/wallets')).items, [])
})

test('a wallet link and its removal take effect in every process; a proof is accepted once', async () => {
  const [owner, other] = [await account('one'), await account('two')]
  const wallet = solanaWallet(0x39)
  const proof = await proofOf(wallet)
  const { authorization } = await siwx(wallet)
  assert.equal((await link(owner, proof)).status, 200)
  await until(async () => {
    const found = await second.guard.identify({ authorization })
    return found !== undefined && 'orgId' in found && found.orgId === owner.orgId
  }, 'the link in the other process')
  const gone: string[] = []
  second.guard.onRevoked(({ credentialId }) => gone.push(credentialId ?? ''))
  const path = `/v2/account/wallets/solana/${wallet.address}`
  assert.equal((await send(keyOf(owner), 'DELETE', path)).status, 200)
  assert.equal((await plan({ authorization: authorization ?? '' })).status, 402)
  await until(() => gone.includes(`solana:${wallet.address}`), 'the end in the other process')
  const found = await second.guard.identify({ authorization })
  assert.ok(found !== undefined && 'status' in found && found.status === 402)
  for (const who of [owner, other]) {
    assert.deepEqual(refusalOf(await link(who, proof)), [409, 409, 'used_proof'])
    const claim = second.readProof(proof)
    assert.ok(typeof claim !== 'string')
    const actor = { actor: who.keyId, address: '', requestId: '' }
    await assert.rejects(second.walletsAs(actor).link(who, claim), /last change/)
  }
  assert.equal((await link(other, await proofOf(wallet))).status, 200)
})

test('what a wallet signed before its link ended opens no later link, in any process', async () => {
  const [owner, other] = [await account('first'), await account('next')]
  for (const wallet of [evmWallet(0x3b), solanaWallet(0x3c)]) {
    const { kind, address } = wallet
    const tokenOf = ({ message, signature }: Awaited<ReturnType<typeof proofOf>>): Headers => ({
      authorization: `SIWX ${btoa(message)}.${signature}`,
    })
    const early = await siwx(wallet, fieldsAt(Date.now() - 1_000))
    // A clock that is ahead: the end of the link comes before what the message says.
    const proof = await proofOf(wallet, fieldsAt(Date.now() + 1_500))
    assert.equal((await link(owner, proof)).status, 200)
    for (const token of [early, tokenOf(proof)]) assert.equal((await plan(token)).status, 200)
    const end = (who: NewApplication) =>
      send(keyOf(who), 'DELETE', `/v2/account/wallets/${kind}/${address}`)
    assert.equal((await end(owner)).status, 200)
    for (const who of [other, owner]) {
      let next = await proofOf(wallet)
      await until(async () => {
        next = await proofOf(wallet)
        return (await link(who, next)).status === 200
      }, 'a proof of behind the end of the link')
      for (const token of [early, tokenOf(proof)])
        assert.deepEqual(refusalOf(await plan(token)), [401, 401, 'revoked'])
      for (const token of [tokenOf(next), await siwx(wallet)])
        assert.equal((await plan(token)).status, 200)
      await until(async () => {
        const found = await second.guard.identify(tokenOf(next))
        return found !== undefined && 'orgId' in found && found.orgId === who.orgId
      }, 'the link in the other process')
      const found = await second.guard.identify(tokenOf(proof))
      assert.ok(found instanceof Fault && found.details?.reason === 'revoked')
      assert.equal((await end(who)).status, 200)
    }
  }
})

test('the account plan lists the limits of its calls, and refused calls carry Retry-After', async () => {
  const made = await api.organizations.createKey({ name: 'limits', plan: 'free' })
  const { body, headers } = await plan(keyOf(made))
  const { plan: name, total, rate, limits } = body as Readonly<Record<string, unknown>>
  assert.deepEqual([name, total], ['free', 1])
  const { resetAt, ...numbers } = rate as { readonly resetAt: number }
  assert.deepEqual(numbers, { limit: 10, burst: 20, remaining: 19 })
  assert.equal(String(resetAt), headers.get('x-ratelimit-reset'))
  assert.deepEqual(limits, {
    queriesAtOnce: 2,
    apiKeys: MAX_OWN_KEYS,
    wallets: 20,
    webhookEndpoints: 10,
  })
  for (let call = 0; call < 18; call += 1) await plan(keyOf(made))
  await until(async () => {
    const answer = await plan(keyOf(made))
    if (answer.status !== 429) return false
    assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    return true
  }, 'a refusal')
})
