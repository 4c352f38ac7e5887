import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { addressRules, type ResolveHost } from '../../core/http/guarded-client.ts'
import { createWebhookClient } from '../../serving/webhooks/http-client.ts'
import { validateWebhookUrl } from '../../serving/webhooks/validate-url.ts'

const PUBLIC = addressRules([])
const LOOPBACK = addressRules(['127.0.0.0/8', '::1/128'])

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'good.example': ['93.184.216.34', '2606:2800:220:1::1'],
  'inside.example': ['10.0.0.1'],
  'mixed.example': ['93.184.216.34', '192.168.1.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'six.example': ['fd00::1'],
  localhost: ['127.0.0.1', '::1'],
  'kafka.internal': ['127.0.0.2'],
}
const resolve: ResolveHost = async (name) => {
  const found = NAMES[name]
  if (!found) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
  return found
}

test('webhook target: internal addresses are blocked in every notation, public ones are allowed', () => {
  const blocked = [
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.16.0.1'],
    ...['172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.0.1', '198.18.0.1'],
    ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['168.63.129.16', '::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::7f00:1'],
    ...['64:ff9b::a00:1', '64:ff9b:1::1', '100::1', '2001:db8::1', '2002:a00:1::1', '2001::1'],
    ...['3fff::1', '5f00::1', 'fc00::1', 'fd12::1', 'fe80::1', 'fe80::1%eth0', 'ff02::1'],
    ...['200::1', '1::1', '100:0:0:1::1', '4000::1', '8000::1'],
    ...['', 'localhost', '2130706433', '0x7f.1'],
  ]
  for (const address of blocked) assert.ok(!PUBLIC.isOpen(address), address)
  for (const address of ['8.8.8.8', '93.184.216.34', '2606:2800:220:1::1', '::ffff:8.8.8.8']) {
    assert.ok(PUBLIC.isOpen(address), address)
  }
  assert.ok(LOOPBACK.isOpen('127.0.0.1') && LOOPBACK.isOpen('::ffff:127.0.0.1'))
  assert.ok(!LOOPBACK.isOpen('10.0.0.1'))
})

test('webhook target: invalid URLs are refused before they are stored', async () => {
  const refused = [
    ...['', 'no url', '/path', 'ftp://good.example/', 'javascript:alert(1)', 'https://'],
    ...['http://good.example/', 'https://good.example/#x', 'https://good.example:22/'],
    ...['https://good.example:25/', 'https://127.0.0.1/', 'https://[::1]/', 'https://10.0.0.1/'],
    ...['https://2130706433/', 'https://0x7f000001/', 'https://0177.0.0.1/', 'https://127.1/'],
    ...['https://134744072/', 'https://0x08080808/', 'https://010.8.8.8/', 'https://8.8.2056/'],
    ...['https://[::ffff:8.8.8.8]/', 'https://[::ffff:808:808]/', 'https://１２７.0.0.1/'],
    ...['https://localhost/', 'https://kafka/', 'https://db.internal/', 'https://a.local/'],
    ...['https://x.localhost/', 'https://x.cluster.local/', 'https://metadata.google.internal/'],
    ...['https://metadata.google.internal./', 'https://inside.example/', 'https://mixed.example/'],
    ...['https://mapped.example/', 'https://six.example/', 'https://good.example\\@10.0.0.1/'],
    ...[
      'https://good.example/ x',
      'https://good\t.example/',
      `https://good.example/${'x'.repeat(2_048)}`,
    ],
    ...[
      'https://user:100%@good.example/',
      'https://%zz@good.example/',
      'https://%ff@good.example/',
    ],
    ...['https://user:pass@10.0.0.1/', 'https://169.254.169.254/latest/meta-data/'],
  ]
  for (const url of refused) {
    await assert.rejects(
      validateWebhookUrl(url, PUBLIC, resolve),
      { name: 'Fault', code: 52010 },
      url,
    )
  }
})

test('webhook target: valid URLs are accepted without user and password; an unknown host gives only a warning', async () => {
  const passed: Readonly<Record<string, string>> = {
    'https://good.example/hook?a=1': 'https://good.example/hook?a=1',
    'https://good.example:8443/': 'https://good.example:8443/',
    'https://good.example:3000/x': 'https://good.example:3000/x',
    'https://8.8.8.8/': 'https://8.8.8.8/',
    'https://[2606:2800:220:1::1]/': 'https://[2606:2800:220:1::1]/',
    'https://unknown.example/': 'https://unknown.example/',
  }
  for (const [url, stored] of Object.entries(passed)) {
    assert.deepEqual(await validateWebhookUrl(url, PUBLIC, resolve), { url: stored, user: '' }, url)
  }
  assert.deepEqual(await validateWebhookUrl('https://me:p%40ss@good.example/x', PUBLIC, resolve), {
    url: 'https://good.example/x',
    user: 'me:p@ss',
  })
})

test('webhook target: hosts that the operator allows may be internal and without TLS; the others stay blocked', async () => {
  for (const url of ['http://127.0.0.1:3000/', 'http://localhost:3000/', 'http://[::1]:3000/']) {
    assert.equal((await validateWebhookUrl(url, LOOPBACK, resolve)).url, url)
  }
  assert.ok(await validateWebhookUrl('https://kafka.internal/', LOOPBACK, resolve))
  const refused = ['http://good.example/', 'http://10.0.0.1/', 'https://inside.example/']
  for (const url of [...refused, 'https://metadata.google.internal/', 'http://2130706433:3000/']) {
    await assert.rejects(
      validateWebhookUrl(url, LOOPBACK, resolve),
      { name: 'Fault', code: 52010 },
      url,
    )
  }
})

test('webhook target: a host that resolves to an internal address after the check is not connected to', async () => {
  let reached = 0
  const server = createServer((_request, response) => {
    reached += 1
    response.end('ok')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const answers = [['93.184.216.34'], ['127.0.0.1'], ['93.184.216.34', '127.0.0.1']]
  const rebinding: ResolveHost = async () => answers.shift() ?? ['127.0.0.1']
  const url = `https://rebind.example:${port}/`
  await validateWebhookUrl(url, PUBLIC, rebinding)
  const post = { orgId: 'org_1', url, headers: {}, body: '{}', timeoutMs: 2_000 }
  const guarded = createWebhookClient({
    rulesOf: () => PUBLIC,
    resolve: rebinding,
    nowMs: Date.now,
  })
  for (let call = 0; call < 3; call += 1) {
    const { errorKind, error } = await guarded.post(post)
    assert.deepEqual([errorKind, error], ['blocked', 'blocked address'])
  }
  for (const inside of [`https://127.0.0.1:${port}/`, `https://[::ffff:127.0.0.1]:${port}/`]) {
    assert.equal((await guarded.post({ ...post, url: inside })).errorKind, 'blocked')
  }
  assert.equal(
    (await guarded.post({ ...post, url: `http://127.0.0.1:${port}/` })).errorKind,
    'blocked',
  )
  await guarded.close()
  const listed = createWebhookClient({
    rulesOf: () => LOOPBACK,
    resolve: rebinding,
    nowMs: Date.now,
  })
  assert.equal((await listed.post({ ...post, url: `http://rebind.example:${port}/` })).status, 200)
  assert.equal((await listed.post(post)).errorKind, 'tls')
  await listed.close()
  assert.equal(reached, 1)
  server.closeAllConnections()
  server.close()
})
