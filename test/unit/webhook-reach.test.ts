import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { networkInterfaces } from 'node:os'
import { after, before, test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { type ResolveHost, resolveWithDns } from '../../core/http/guarded-client.ts'
import { createAddressRules } from '../../serving/webhooks/address-rules.ts'
import { createWebhookClient } from '../../serving/webhooks/http-client.ts'
import { validateWebhookUrl } from '../../serving/webhooks/validate-url.ts'

const DEMO = 'org_demo'
const OTHER = 'org_other'

const servers: Server[] = []
const listen = async (): Promise<number> => {
  const server = createServer((_request, response) => response.end('ok'))
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, done))
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}
let ownPort: number
let strangePort: number
before(async () => {
  ownPort = await listen()
  strangePort = await listen()
})
after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

/** An address of this machine that is not a loopback one, where it has such. */
const interfaceAddress = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

const everything = ['0.0.0.0/0', '::/0']

/** What storing a URL, and then a request to it, come to. */
const outcomes = async (
  orgId: string,
  url: string,
  deps: {
    readonly allow?: readonly string[]
    readonly demo?: boolean
    readonly resolve?: ResolveHost
  },
): Promise<readonly [stored: boolean, status: number | string | null]> => {
  const { allow = [], demo = true, resolve = resolveWithDns } = deps
  const rulesOf = createAddressRules({
    config: { webhookAllow: [...allow] },
    ...(demo && { demoOrgId: DEMO }),
    ownPorts: new Set([ownPort]),
  })
  const stored = await validateWebhookUrl(url, rulesOf(orgId), resolve).then(
    () => true,
    (error: unknown) => {
      assert.ok(error instanceof Fault, String(error))
      return false
    },
  )
  const poster = createWebhookClient({ rulesOf, resolve, nowMs: Date.now })
  const post = { orgId, url, headers: {}, body: '{}', timeoutMs: 5_000 }
  const { status, errorKind } = await poster.post(post)
  await poster.close()
  return [stored, errorKind ?? status]
}

test('by default, only the demo organization may send webhooks to this machine', async () => {
  const url = `http://127.0.0.1:${strangePort}/`
  assert.deepEqual(await outcomes(DEMO, url, {}), [true, 200])
  assert.deepEqual(await outcomes(OTHER, url, {}), [false, 'blocked'])
  assert.deepEqual(await outcomes(DEMO, url, { demo: false }), [false, 'blocked'])
  assert.deepEqual(await outcomes(OTHER, url, { allow: ['127.0.0.0/8'] }), [true, 200])
  assert.deepEqual(await outcomes(OTHER, url, { allow: ['none'] }), [false, 'blocked'])
})

test('a webhook to a port of this process is blocked for every host name, address and allow list', async () => {
  const hosts = ['127.0.0.1', '127.0.0.2', '[::1]', 'localhost', interfaceAddress ?? '127.0.0.3']
  for (const host of hosts) {
    const url = `http://${host}:${ownPort}/`
    for (const orgId of [DEMO, OTHER]) {
      const found = await outcomes(orgId, url, { allow: everything })
      assert.deepEqual(found, [false, 'blocked'], `${orgId} ${host}`)
    }
    const strange = url.replace(String(ownPort), String(strangePort))
    assert.deepEqual(await outcomes(DEMO, strange, { allow: everything }), [true, 200], host)
  }
})

test('a webhook host that resolves to our own port after the check is blocked', async () => {
  const answers = [['93.184.216.34']]
  const resolve: ResolveHost = async () => answers.shift() ?? ['127.0.0.1']
  const url = `http://turning.example:${ownPort}/`
  assert.deepEqual(await outcomes(DEMO, url, { allow: everything, resolve }), [true, 'blocked'])
})
