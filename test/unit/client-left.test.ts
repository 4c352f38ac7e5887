import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../../core/config/load.ts'
import { type Logger, makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createBaseApp } from '../../serving/http/base-app.ts'
import { until } from '../support/until.ts'

const lines: string[] = []
let answered = 0
let entered = 0
let app: FastifyInstance
let port: number
before(async () => {
  const log = Object.assign(Object.create(makeSilentLogger()) as Logger, {
    error: (_facts: object, message: string) => lines.push(message),
  })
  const config = loadConfig({})
  app = await createBaseApp(
    { config, log, metrics: makeMetrics(), nowMs: Date.now },
    { title: 'test', description: 'test', securitySchemes: {} },
  )
  app.addHook('onRequest', async () => {
    entered += 1
  })
  app.addHook('onError', async () => {
    answered += 1
  })
  app.post('/body', async () => ({}))
  app.get('/slow', async (request) => {
    await until(() => request.raw.socket.destroyed, 'the client is gone')
    throw new Error('the query was given up')
  })
  app.get('/bug', async () => {
    throw new Error('a bug')
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  port = typeof address === 'object' && address ? address.port : 0
})
after(() => app.close())

/** Sends a request whole or in part, and leaves once the server has begun with it. */
const leave = async (text: string): Promise<void> => {
  const before = { entered, answered }
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(text)
  await until(() => entered > before.entered, 'the request is begun')
  socket.destroy()
  await until(() => answered > before.answered, 'the request failed')
}

test('a client that disconnects is not logged as an error; a bug is', async () => {
  const head = 'Host: x\r\nContent-Type: application/json\r\n'
  await leave(`POST /body HTTP/1.1\r\n${head}Content-Length: 100\r\n\r\n{"half":`)
  await leave(`GET /slow HTTP/1.1\r\n${head}\r\n`)
  assert.deepEqual(lines, [])
  assert.equal((await fetch(`http://127.0.0.1:${port}/bug`)).status, 500)
  assert.deepEqual(lines, ['request failed'])
})

test('every HTTP response has the header X-Content-Type-Options: nosniff', async () => {
  for (const path of ['/bug', '/nothing']) {
    const { headers } = await fetch(`http://127.0.0.1:${port}${path}`)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
    assert.equal(headers.get('strict-transport-security'), null, path)
  }
})
