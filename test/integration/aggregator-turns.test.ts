import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { openAggregatorClient } from '../../serving/dex/aggregators/aggregator-client.ts'
import { until } from '../support/until.ts'

test('calls of an aggregator take turns by organization: slow calls of one do not refuse another', async () => {
  const held: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === '/slow') held.push(response)
    else response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  let orgId = 'one'
  const other = 'EXTERNAL_API_ERROR'
  const client = openAggregatorClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers: {},
    faults: { unauthorized: other, rateLimit: other, badRequest: other, other },
    caller: () => ({ orgId }),
  })
  const faultOf = (error: unknown) => (error instanceof Fault ? error.faultName : error)
  try {
    const slow = Array.from({ length: 80 }, () => client.ask('/slow').then(() => 'ok', faultOf))
    await until(() => held.length === 8)
    orgId = 'two'
    assert.deepEqual((await client.ask('/quick')).fields, {})
    assert.equal(held.length, 8, 'half of the calls at the same time are one organization’s')
    orgId = 'one'
    await assert.rejects(client.ask('/slow'), (error) => faultOf(error) === 'CONCURRENCY_LIMIT')
    const answering = setInterval(() => {
      for (const each of held.splice(0)) each.end('{}')
    }, 10)
    const ended = await Promise.all(slow).finally(() => clearInterval(answering))
    const counts = ['ok', 'CONCURRENCY_LIMIT'].map(
      (word) => ended.filter((each) => each === word).length,
    )
    assert.deepEqual(counts, [24, 56])
  } finally {
    await client.close()
    server.closeAllConnections()
    server.close()
  }
})
