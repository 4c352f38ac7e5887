import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { ALL_MESSAGE_NAMES, localCodec, schemaText } from '../../core/codec/local-codec.ts'
import { registerSchemas, registryCodec } from '../../core/codec/registry-codec.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { startRegistry } from '../support/kafka.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'

const registry = await tryStart('a schema registry (Java 21 by pip, Maven)', startRegistry)
const url = registry?.url ?? ''
const log = makeSilentLogger()
const access = { url, log }
const SUBJECT = 'onchain.v1.control.Org'
const ORG = { org_id: 'org', name: 'Org', plan: 'free', suspended: true, created_at: 1, version: 2 }
const FULL = { subject: SUBJECT, compatibility: COMPATIBILITY.FULL_TRANSITIVE }

interface RecordSchema {
  readonly fields: readonly { readonly name: string }[]
}

const withFields = (change: (fields: RecordSchema['fields']) => readonly object[]) => {
  const schema = JSON.parse(schemaText('control.Org')) as RecordSchema
  const text = JSON.stringify({ ...schema, fields: change(schema.fields) })
  return { type: SchemaType.AVRO, schema: text } as const
}
const withField = (field: object) => withFields((fields) => [...fields, field])

const suite = (): void => {
  test('without registered schemas the codec refuses to start', async () => {
    await assert.rejects(registryCodec(access), (error: unknown) => {
      assert.ok(error instanceof Outage)
      assert.deepEqual([error.of, error.final], ['registry', true], error.message)
      return true
    })
  })

  test('every schema is registered by record name and by topic, and registering again changes nothing', async () => {
    await registerSchemas(access, ['eth.dex.trades', '_control.orgs', 'not.ours'])
    await registerSchemas(access, ['eth.dex.trades', '_control.orgs'])
    const subjects = (await (await fetch(`${url}/subjects`)).json()) as readonly string[]
    const expected = ALL_MESSAGE_NAMES.map((name) => `onchain.v1.${name}`)
    expected.push('eth.dex.trades-value', '_control.orgs-value')
    assert.deepEqual([...subjects].sort(), expected.sort())
  })

  test('the registry codec gives the bytes of the local codec except for the schema id, and a stock client decodes them', async () => {
    const [ours, local] = [await registryCodec(access), localCodec()]
    const trades = {
      meta: { chain: 'eth', op: 'OP_APPLY', seq: 7 },
      events: [{ trade: { token_a_decimals: 6, user_a_amount: '1' }, quote_price_in_usd: '1.5' }],
    } as const
    const bytes = ours.encode('dex.trade.TradeEvents', trades)
    const same = local.encode('dex.trade.TradeEvents', trades)
    assert.deepEqual(bytes.subarray(5), same.subarray(5))
    assert.deepEqual(
      ours.decode('dex.trade.TradeEvents', bytes),
      local.decode('dex.trade.TradeEvents', same),
    )
    const stock = await new SchemaRegistry({ host: url }).decode(ours.encode('control.Org', ORG))
    assert.deepEqual({ ...stock }, ORG)
  })

  test('incompatible changes are refused', async () => {
    const stock = new SchemaRegistry({ host: url })
    const refused = [
      withField({ name: 'no_default', type: 'string' }),
      withFields((fields) =>
        fields.map((field) =>
          field.name === 'suspended' ? { name: 'suspended', type: 'string', default: '' } : field,
        ),
      ),
    ]
    for (const schema of refused) {
      await assert.rejects(stock.register(schema, FULL), {
        status: 409,
      })
    }
  })

  test('a record of a newer writer schema is decoded once the schema was fetched', async () => {
    const ours = await registryCodec(access)
    const stock = new SchemaRegistry({ host: url })
    const { id } = await stock.register(
      withField({ name: 'region', type: 'string', default: '' }),
      FULL,
    )
    const bytes = await stock.encode(id, { ...ORG, region: 'eu' })
    assert.throws(() => ours.decode('control.Org', bytes), Outage)
    assert.deepEqual(await until(() => ours.decode('control.Org', bytes)), ORG)
    assert.throws(() => ours.decode('control.ApiKey', bytes), InvalidInput)
  })

  test('a schema id that the registry does not have is malformed once it was requested', async () => {
    const ours = await registryCodec(access)
    const bytes = Buffer.from(ours.encode('control.Org', ORG))
    bytes.writeInt32BE(999_999, 1)
    assert.throws(() => ours.decode('control.Org', bytes), Outage)
    await until(() => {
      assert.throws(() => ours.decode('control.Org', bytes), InvalidInput)
      return true
    })
  })

  test('an unreachable schema registry is reported as an outage', async () => {
    const nowhere = { url: 'http://127.0.0.1:1', log }
    await assert.rejects(registerSchemas(nowhere, []), { name: 'Outage', final: false })
  })
}

test('a registry that accepts requests and never answers is an Outage', async () => {
  const mute = createServer((socket) => socket.resume())
  const port = await freePort()
  await new Promise<void>((resolve) => mute.listen(port, '127.0.0.1', resolve))
  const deaf = { url: `http://127.0.0.1:${port}`, log, answerLimitMs: 50 }
  await assert.rejects(registerSchemas(deaf, []), { name: 'Outage', final: false })
  await assert.rejects(registryCodec(deaf), { name: 'Outage', final: false })
  mute.close()
})

test('a request that a registry leaves without an answer is made again', async () => {
  let requests = 0
  const port = await freePort()
  const forgetful = createHttpServer((request, response) => {
    requests += 1
    if (requests === 1) return
    response.setHeader('content-type', 'application/vnd.schemaregistry.v1+json')
    if (request.method === 'PUT') response.end('{"compatibility":"FULL_TRANSITIVE"}')
    else if (request.url?.includes('/config'))
      response.end('{"compatibilityLevel":"FULL_TRANSITIVE"}')
    else response.end('{"id":7}')
  })
  await new Promise<void>((resolve) => forgetful.listen(port, '127.0.0.1', resolve))
  const near = { url: `http://127.0.0.1:${port}`, log, answerLimitMs: 500 }
  await registerSchemas(near, ['eth.dex.trades'])
  requests = 0
  await registryCodec(near)
  forgetful.closeAllConnections()
  forgetful.close()
})

test('a level that another process sets at the same moment is set again', async () => {
  const rejectedOnce = new Set<string>()
  const port = await freePort()
  const racing = createHttpServer((request, response) => {
    const path = request.url ?? ''
    response.setHeader('content-type', 'application/vnd.schemaregistry.v1+json')
    if (request.method === 'PUT' && !rejectedOnce.has(path)) {
      rejectedOnce.add(path)
      response.statusCode = 409
      response.end('{"error_code":409,"message":"the rule exists"}')
    } else if (request.method === 'PUT') response.end('{"compatibility":"FULL_TRANSITIVE"}')
    else if (path.includes('/config')) response.end('{"compatibilityLevel":"FULL_TRANSITIVE"}')
    else response.end('{"id":7}')
  })
  await new Promise<void>((resolve) => racing.listen(port, '127.0.0.1', resolve))
  await registerSchemas({ url: `http://127.0.0.1:${port}`, log }, ['eth.dex.trades'])
  assert.deepEqual([...rejectedOnce], ['/config'])
  racing.closeAllConnections()
  racing.close()
})

if (registry) suite()
after(() => registry?.stop())
