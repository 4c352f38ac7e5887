import assert from 'node:assert/strict'
import { request } from 'node:https'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { loadConfig } from '../../core/config/load.ts'
import { readTlsFiles, type TlsFiles } from '../../core/config/tls-files.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createBaseApp } from '../../serving/http/base-app.ts'
import { type RealtimeStack, startRealtimeStack } from '../support/realtime-stack.ts'

const file = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

let tls: TlsFiles
let stack: RealtimeStack
before(async () => {
  const [tlsCertFile, tlsKeyFile] = [file('cert.pem'), file('key.pem')]
  const read = readTlsFiles({ tlsCertFile, tlsKeyFile })
  assert.ok(read)
  tls = read
  stack = await startRealtimeStack()
})
after(() => stack.close())

test("responses over the product's own TLS carry Strict-Transport-Security", async () => {
  const app = await createBaseApp(
    {
      tls,
      config: loadConfig({}),
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      nowMs: Date.now,
    },
    { title: 'test', description: 'test', securitySchemes: {} },
  )
  app.get('/', async () => ({ good: true }))
  const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const headers = await new Promise<NodeJS.Dict<string | string[]>>((resolve, reject) => {
    const call = request(
      { host: 'localhost', port: address.port, path: '/', ca: tls.cert },
      (answer) => {
        answer.resume()
        resolve(answer.headers)
      },
    )
    call.once('error', reject).end()
  })
  assert.match(String(headers['strict-transport-security']), /^max-age=\d{7,}/)
  await assert.rejects(fetch(`http://127.0.0.1:${address.port}/`))
  await app.close()
})

for (const transport of ['uws', 'ws'] as const) {
  test(`streams over our own TLS: ${transport}`, async () => {
    const { port } = await stack.serve({ transport, tls })
    const ws = new WebSocket(`wss://localhost:${port}/connection/websocket`, {
      ca: tls.cert,
      family: 4,
    })
    const frame = new Promise<string>((resolve, reject) => {
      ws.once('message', (data) => resolve(String(data)))
      ws.once('error', reject)
    })
    ws.once('open', () => ws.send(`{"connect":{"token":"${stack.key.apiKey}"},"id":1}`))
    assert.match(await frame, /"connect":\{/)
    ws.terminate()
    const plain = new WebSocket(`ws://127.0.0.1:${port}/connection/websocket`)
    await assert.rejects(new Promise((_, reject) => plain.once('error', reject)))
  })
}
