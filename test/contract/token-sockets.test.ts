import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Centrifuge } from 'centrifuge'
import { decodeJwt } from 'jose'
import { WebSocket } from 'ws'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { NewApplication } from '../../serving/auth/administration.ts'
import { createOrganizations, type Organizations } from '../../serving/auth/organizations.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import {
  openRawWebSocket,
  type RawWebSocket,
  readRefusedUpgrade,
} from '../support/raw-websocket.ts'
import { type RealtimeStack, startRealtimeStack } from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { evmWallet, signInMessage, signInToken, type TestWallet } from '../support/wallet-signer.ts'

let stack: RealtimeStack
let server: RealtimeServer
let quick: Organizations
let shiftMs = 0
const clients: Centrifuge[] = []

/** Accounts of another process on the same log, with tokens of another life. */
const accountsWith = (ttlSeconds: number): Promise<Organizations> =>
  createOrganizations({
    bus: stack.bus,
    codec: stack.codec,
    config: loadConfig({ AUTH_TOKEN_TTL_SECONDS: String(ttlSeconds) }),
    authUrl: () => 'https://auth.test',
    nowMs: () => Date.now() + shiftMs,
    log: makeSilentLogger(),
    metrics: makeMetrics(),
    checkEveryMs: 20,
  })

before(async () => {
  stack = await startRealtimeStack()
  server = await stack.serve({ env: { WS_CONNECTIONS_PER_ACCOUNT: '100' } })
  quick = await accountsWith(3)
})
after(async () => {
  for (const client of clients) client.disconnect()
  await quick.stop()
  await stack.close()
})

const address = (token = ''): string =>
  `ws://127.0.0.1:${server.port}/connection/websocket${token && `?token=${token}`}`
const tokenOf = async (
  { clientId, clientSecret }: NewApplication = stack.key,
  organizations: Organizations = stack.organizations,
): Promise<string> => {
  const { accessToken } = await organizations.tokens.issue({
    grantType: 'client_credentials',
    clientId,
    clientSecret,
    scope: undefined,
    audience: 'https://api.sluice.invalid',
    ip: '127.0.0.1',
  })
  return accessToken
}
const newApp = (name: string): Promise<NewApplication> =>
  stack.organizations.createKey({ name, plan: 'selfhost' })

/** A raw connection that was let in with a token. */
const connected = async (token: string): Promise<RawWebSocket> => {
  const raw = await openRawWebSocket(address())
  raw.send(`{"connect":{"token":"${token}"},"id":1}`)
  await raw.frame('"connect":{')
  return raw
}
/** Moves every clock; the accounts count as fresh again when this returns. */
const advance = async (ms: number): Promise<void> => {
  shiftMs += ms
  stack.advance(ms)
  await until(() => stack.organizations.check.run().ok && quick.check.run().ok, 'fresh accounts')
}

/** Seconds that a token has left. */
const lifeOf = (token: string): number =>
  (decodeJwt(token).exp ?? 0) - Math.floor((Date.now() + shiftMs) / 1_000)

interface Client {
  readonly centrifuge: Centrifuge
  readonly ends: { readonly code: number }[]
  readonly lost: { readonly code: number }[]
}
const stock = (options: object, url = address()): Client => {
  const centrifuge = new Centrifuge(url, {
    websocket: WebSocket,
    minReconnectDelay: 20,
    maxReconnectDelay: 50,
    ...options,
  })
  clients.push(centrifuge)
  const client: Client = { centrifuge, ends: [], lost: [] }
  centrifuge.on('disconnected', (context) => client.ends.push(context))
  centrifuge.on('connecting', (context) => {
    if (context.code !== 0) client.lost.push(context)
  })
  centrifuge.connect()
  return client
}

test('a token connects by command, URL and header; its lifetime is reported, a key has none [26]', async () => {
  const token = await tokenOf()
  const inUrl = await openRawWebSocket(address(token))
  const inHeader = await openRawWebSocket(address(), {
    headers: { authorization: `Bearer ${token}` },
  })
  for (const raw of [inUrl, inHeader]) raw.send('{"connect":{},"id":1}')
  const byCommand = await connected(token)
  for (const raw of [inUrl, inHeader, byCommand]) {
    const { connect } = JSON.parse(await raw.frame('"connect":{'))
    assert.equal(connect.expires, true)
    assert.ok(Math.abs(connect.ttl - lifeOf(token)) <= 1, `ttl ${connect.ttl}`)
    raw.ws.close()
  }
  const byKey = await connected(stack.key.apiKey)
  const { connect } = JSON.parse(await byKey.frame('"connect":{'))
  assert.equal('expires' in connect || 'ttl' in connect, false)
  byKey.ws.close()
})

test('an invalid token gets 401 at the upgrade and 3500 at connect, without a reconnect', async () => {
  const [head, body, signature = ''] = (await tokenOf()).split('.')
  const forged = `${head}.${body}.${signature.slice(0, -4)}AAAA`
  const refused = await readRefusedUpgrade(address(forged))
  assert.equal(refused.status, 401)
  assert.equal(JSON.parse(refused.body).details.reason, 'invalid_token')
  const client = stock({ token: forged })
  await until(() => client.ends.length > 0, 'the end')
  assert.deepEqual([client.ends[0]?.code, client.lost.length], [3500, 0])
})

test('an expired token: one 109, one getToken, connected; in the URL it is let pass [5] [6]', async () => {
  const old = await tokenOf(stack.key, quick)
  await advance(40_000)
  const fresh = await tokenOf()
  let asked = 0
  const client = stock({
    token: old,
    getToken: async () => {
      asked += 1
      return fresh
    },
  })
  await client.centrifuge.ready(5_000)
  assert.deepEqual([asked, client.ends.length], [1, 0])
  const raw = await openRawWebSocket(address(old))
  raw.send(`{"connect":{"token":"${fresh}"},"id":1}`)
  await raw.frame('"connect":{')
  raw.ws.close()
  const stale = await openRawWebSocket(address(old))
  stale.send('{"connect":{},"id":1}')
  assert.match(await stale.frame('"error"'), /"code":109,"message":"token expired"/)
  stale.ws.close()
})

test('a token of three seconds is refreshed in time, again and again, without a reconnect [27]', async () => {
  let asked = 0
  const client = stock({
    token: await tokenOf(stack.key, quick),
    getToken: () => {
      asked += 1
      return tokenOf(stack.key, quick)
    },
  })
  await client.centrifuge.ready(5_000)
  await until(() => asked >= 2, 'two refreshes')
  assert.deepEqual([client.lost.length, client.ends.length], [0, 0])
  assert.equal(client.centrifuge.state, 'connected')
  client.centrifuge.disconnect()
})

test('a token that is not refreshed: open for 25 s of grace, then 3005, and the client reconnects [28]', async () => {
  let answers = false
  const client = stock({
    token: await tokenOf(stack.key, quick),
    getToken: () => (answers ? tokenOf() : Promise.reject(new Error('no token yet'))),
  })
  await client.centrifuge.ready(5_000)
  const raw = await connected(await tokenOf(stack.key, quick))
  await advance(3_000 + 20_000)
  const from = raw.frames.length
  raw.send('{"ping":{},"id":9}')
  await raw.frame('"ping"', from)
  assert.deepEqual(client.lost, [])
  await advance(6_000)
  assert.deepEqual(await raw.closed(), { code: 3005, reason: 'connection expired' })
  await until(() => client.lost.some(({ code }) => code === 3005), '3005 at the client')
  answers = true
  await client.centrifuge.ready(5_000)
  client.centrifuge.disconnect()
})

test('refresh: the same account continues; another account, garbage and stale end it [29]', async () => {
  const other = await newApp('other account')
  const second = await stack.organizations.admin.createApplication({
    name: 'same account',
    orgId: stack.key.orgId,
  })
  const expired = await tokenOf(stack.key, quick)
  await advance(40_000)
  const cases: readonly (readonly [string, number | 'continues'])[] = [
    [await tokenOf(), 'continues'],
    [await tokenOf(second), 'continues'],
    [await tokenOf(other), 3500],
    ['a.b.c', 3500],
    ['', 3500],
    [expired, 3005],
  ]
  for (const [token, expected] of cases) {
    const raw = await connected(await tokenOf())
    raw.send(`{"refresh":{"token":"${token}"},"id":2}`)
    if (expected === 'continues') {
      const { refresh } = JSON.parse(await raw.frame('"refresh"'))
      assert.equal(refresh.expires, true)
      assert.ok(Math.abs(refresh.ttl - lifeOf(token)) <= 1)
      raw.ws.close()
    } else assert.equal((await raw.closed()).code, expected)
  }
})

test('connections of a revoked credential are closed within two seconds, also when another process revoked it', async () => {
  const elsewhere = quick.admin
  const revocations: Readonly<Record<string, (app: NewApplication) => Promise<unknown>>> = {
    'tokens revoked': ({ appId }) => elsewhere.revokeTokens(appId),
    'key revoked': ({ keyId }) => elsewhere.revokeKey(keyId),
    'application disabled': ({ appId }) => elsewhere.updateApplication(appId, { disabled: true }),
    'application deleted': ({ appId }) => elsewhere.deleteApplication(appId),
    'organization suspended': ({ orgId }) => elsewhere.updateOrg(orgId, { suspended: true }),
    'organization deleted': ({ orgId }) => elsewhere.deleteOrg(orgId),
  }
  for (const [name, revoke] of Object.entries(revocations)) {
    const app = await newApp(name)
    const token = await tokenOf(app)
    const sockets = { jwt: await connected(token), key: await connected(app.apiKey) }
    const bystander = await connected(await tokenOf())
    const startMs = Date.now()
    await revoke(app)
    const dead =
      name === 'tokens revoked' ? ['jwt'] : name === 'key revoked' ? ['key'] : ['jwt', 'key']
    for (const [kind, socket] of Object.entries(sockets)) {
      if (!dead.includes(kind))
        assert.equal(socket.ws.readyState, WebSocket.OPEN, `${name}: ${kind}`)
      else assert.equal((await socket.closed()).code, 3500, `${name}: ${kind}`)
    }
    assert.ok(Date.now() - startMs < 2_000, `${name} took ${Date.now() - startMs} ms`)
    assert.equal(bystander.ws.readyState, WebSocket.OPEN, name)
    for (const socket of [bystander, ...Object.values(sockets)]) socket.ws.close()
    if (dead.includes('jwt')) {
      const refused = await readRefusedUpgrade(address(token))
      assert.ok([401, 403].includes(refused.status), name)
    }
  }
})

test('a token revoked between upgrade and connect is not let in', async () => {
  const app = await newApp('in between')
  const raw = await openRawWebSocket(address(await tokenOf(app)))
  await stack.organizations.admin.deleteApplication(app.appId)
  raw.send('{"connect":{},"id":1}')
  assert.equal((await raw.closed()).code, 3500)
})

test('a linked wallet connects by the header of the upgrade, and is closed when its link ends', async () => {
  const [wallet, nobody] = [evmWallet(0x42), evmWallet(0x43)]
  const owner = await newApp('wallet')
  const nowMs = Date.now() + shiftMs
  const messageOf = (who: TestWallet, lifeMs: number): string =>
    signInMessage(who, {
      domain: 'auth.test',
      uri: 'https://auth.test',
      issuedAt: new Date(nowMs).toISOString(),
      expiresAt: new Date(nowMs + lifeMs).toISOString(),
    })
  const message = messageOf(wallet, 600_000)
  const proof = stack.organizations.readProof({ message, signature: await wallet.sign(message) })
  assert.ok(typeof proof !== 'string')
  const links = stack.organizations.walletsAs({ actor: 'test', address: '', requestId: '' })
  await links.link(owner, proof)
  const headersOf = async (who: TestWallet, text: string) => ({
    headers: { authorization: `SIWX ${await signInToken(who, text)}` },
  })
  const raw = await openRawWebSocket(address(), await headersOf(wallet, message))
  raw.send('{"connect":{},"id":1}')
  await raw.frame('"connect":{')
  const refused = await readRefusedUpgrade(
    address(),
    await headersOf(nobody, messageOf(nobody, 600_000)),
  )
  assert.equal(refused.status, 402)
  await links.unlink(owner.appId, `evm:${wallet.address.toLowerCase()}`)
  assert.equal((await raw.closed()).code, 3500)
})

test('a wallet whose signature cannot be verified gets 503 at the upgrade and error 100 at connect', async () => {
  const nowMs = Date.now() + shiftMs
  const wallet = evmWallet(0x44)
  const message = signInMessage(wallet, {
    domain: 'auth.test',
    uri: 'https://auth.test',
    issuedAt: new Date(nowMs).toISOString(),
    expiresAt: new Date(nowMs + 600_000).toISOString(),
  })
  // Longer than the signature of a key: a contract would have to say, and there is no node.
  const authorization = `SIWX ${await signInToken(wallet, message)}00`
  const refused = await readRefusedUpgrade(address(), { headers: { authorization } })
  assert.equal(refused.status, 503)
  const raw = await openRawWebSocket(address())
  raw.send(JSON.stringify({ connect: { headers: { authorization } }, id: 1 }))
  await raw.frame('"code":100')
})
