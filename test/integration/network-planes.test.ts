import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import { CHAINS } from '../../schemas/chains.ts'
import { OPS_PATHS } from '../support/access-matrix.ts'
import { type AppStack, startAppStack } from '../support/app-stack.ts'
import { createScriptedSource } from '../support/builders/evm-block.ts'

const PUBLIC_URL = 'https://api.example.test'
const OPS_TOKEN = 'the token of the operators'
/** This machine, but not the address that loopback listeners are bound to. */
const ELSEWHERE = '127.0.0.2'

let product: AppStack
before(async () => {
  product = await startAppStack({
    chain: { row: CHAINS.eth, source: createScriptedSource() },
    overrides: {
      host: '0.0.0.0',
      publicUrl: PUBLIC_URL,
      webhookAllow: ['127.0.0.0/8'],
      adminToken: 'the token of the administration',
      opsToken: OPS_TOKEN,
    },
  })
})
after(() => product.stop())

const portOf = (url: string): number => Number(new URL(url).port)

const reaches = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host)
    const done = (is: boolean) => (): void => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', done(true))
    socket.once('error', done(false))
  })

test('HOST opens the public plane alone; admin and operators stay on loopback', async () => {
  const { ports, adminUrl, opsUrl } = product.app
  for (const port of [ports.http, ports.streams]) assert.ok(await reaches(ELSEWHERE, port))
  for (const url of [adminUrl, opsUrl]) {
    const port = portOf(url)
    assert.ok(await reaches('127.0.0.1', port), url)
    assert.ok(!(await reaches(ELSEWHERE, port)), url)
  }
})

test('metrics, status and checksum are served on the operators port only, and need its token', async () => {
  const { ports, opsUrl, adminUrl } = product.app
  const publicUrl = `http://127.0.0.1:${ports.http}`
  for (const path of OPS_PATHS.token) {
    assert.equal((await fetch(publicUrl + path)).status, 404, path)
    assert.equal((await fetch(new URL(path, adminUrl))).status, 404, path)
    const ask = async (authorization?: string): Promise<number> => {
      const headers = authorization === undefined ? {} : { authorization }
      return (await fetch(opsUrl + path, { headers })).status
    }
    assert.deepEqual(
      [await ask(), await ask('Bearer wrong'), await ask(OPS_TOKEN)],
      [401, 401, 401],
      path,
    )
    assert.notEqual(await ask(`Bearer ${OPS_TOKEN}`), 401, path)
  }
  for (const path of OPS_PATHS.open) {
    assert.equal((await fetch(opsUrl + path)).status, 200, path)
    const { status } = (await (await fetch(publicUrl + path)).json()) as { status: string }
    assert.match(status, /^(ok|ready)$/)
  }
})

test('tokens and links name PUBLIC_URL, never the address that is listened on', async () => {
  const { app } = product
  const { clientId, clientSecret } = await app.organizations.createDemo()
  const answer = await fetch(`http://127.0.0.1:${app.ports.http}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      audience: app.audience,
    }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  assert.equal(decodeJwt(token).iss, `${PUBLIC_URL}/`)
  assert.deepEqual(
    [app.baseUrl, app.wsUrl, app.tokenUrl],
    [PUBLIC_URL, 'wss://api.example.test/connection/websocket', `${PUBLIC_URL}/oauth/token`],
  )
})

test('the operators plane has the paths of the table and no other', async () => {
  const answer = await fetch(`${product.app.opsUrl}/nothing`, {
    headers: { authorization: `Bearer ${OPS_TOKEN}` },
  })
  const { error } = (await answer.json()) as { error: string }
  const named = error.match(/\/\w+/g) ?? []
  assert.deepEqual(named.toSorted(), [...OPS_PATHS.open, ...OPS_PATHS.token].toSorted())
})

test('a webhook endpoint on a port of this process is refused, also where its address is allowed', async () => {
  const { ports, adminUrl, opsUrl } = product.app
  const create = async (port: number): Promise<readonly unknown[]> => {
    const url = `http://127.0.0.1:${port}/`
    const answer = await fetch(`http://127.0.0.1:${ports.http}/v2/webhook/endpoint`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': product.apiKey },
      body: JSON.stringify({ url, channels: ['sol.token.created'] }),
    })
    const { details } = (await answer.json()) as { details?: { reason?: string } }
    return [answer.status, details?.reason]
  }
  for (const port of [ports.http, ports.streams, portOf(adminUrl), portOf(opsUrl)]) {
    assert.deepEqual(await create(port), [400, 'leads to a port of this service'])
  }
  assert.equal((await create(9))[1], 'names a port that is not allowed')
  const taken = [...Object.values(ports), portOf(adminUrl), portOf(opsUrl)]
  assert.deepEqual(await create(portBeside(taken)), [200, undefined])
})

/** A port above the system's that is not one of these. */
const portBeside = (taken: readonly number[]): number =>
  [40_001, 40_002, 40_003, 40_004, 40_005].find((port) => !taken.includes(port)) ?? 0

test('a wildcard without PUBLIC_URL is refused before anything is served', async () => {
  const start = startAppStack({
    chain: { row: CHAINS.eth, source: createScriptedSource() },
    overrides: { host: '0.0.0.0' },
  })
  await assert.rejects(start, /PUBLIC_URL: is needed where HOST is 0\.0\.0\.0/)
})
