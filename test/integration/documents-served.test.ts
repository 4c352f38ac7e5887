import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { startDocuments } from '../../ingestors/metadata/worker.ts'
import { batchRows } from '../../processors/sinks/batch-rows.ts'
import { createInserter } from '../../processors/sinks/inserter.ts'
import { sinkConcurrency, startSink } from '../../processors/sinks/runner.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import { topicName } from '../../schemas/topics.ts'
import { callApi, startApi } from '../support/api-stack.ts'
import { startRealtimeStack, TOKEN } from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'
import { buildTokenEvent, buildTokenRecord } from '../support/webhook-stack.ts'

const DOCUMENT = {
  description: 'A frog',
  image: 'https://a.example/frog.png',
  external_url: 'https://frog.example',
  extensions: { telegram: 'https://t.me/frog' },
}

test('a document reaches REST and the streams', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-documents-served-'))
  const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
  await migrate(warehouse, ['eth'])
  const receiver = await startWebhookReceiver()
  receiver.answer('/frog', (response) => response.end(JSON.stringify(DOCUMENT)))
  const uri = `${receiver.base}/frog`
  const [stack, api] = [await startRealtimeStack(), await startApi({ warehouse })]
  const { bus, codec } = stack
  const config = loadConfig({}, { metadataAllow: ['127.0.0.1/32'] })
  const parts = { bus, codec, config, metrics: makeMetrics(), log: makeSilentLogger() }
  const documents = await startDocuments({ ...parts, chains: ['eth'] })
  const sink = SINKS.find(({ topic }) => topic === 'tokenDocuments')
  assert.ok(sink)
  const rows = await startSink(sink, {
    ...parts,
    chain: 'eth',
    insertLimit: sinkConcurrency(),
    inserter: createInserter({ warehouse, metrics: parts.metrics }),
    makeRows: async (_topic, values) => batchRows(codec, sink, values),
  })
  const server = await stack.serve()
  const client = new Centrifuge(`ws://127.0.0.1:${server.port}/connection/websocket`, {
    websocket: WebSocket,
    token: stack.key.apiKey,
  })
  try {
    const heard = (channel: string): unknown[] => {
      const data: unknown[] = []
      const subscription = client.newSubscription(channel)
      subscription.on('publication', (context) => data.push(context.data))
      subscription.subscribe()
      return data
    }
    const born = heard('dex-new-tokens:eth')
    const said = heard('dex-new-tokens-metadata:eth')
    client.connect()
    await Promise.all(Object.values(client.subscriptions()).map((each) => each.ready(5_000)))
    await warehouse.insert('eth_tokens', [
      { token_address: TOKEN, symbol: 'FRG', name: 'Frog', decimals: 6, uri, _ver: 1 },
    ])
    const writer = await bus.writer('test-tokens')
    const token = { address: TOKEN, name: 'Frog', symbol: 'FRG', decimals: 6, uri }
    const value = codec.encode(
      'token.TokenEvents',
      buildTokenRecord([buildTokenEvent(TOKEN, { token })]),
    )
    await writer.commit({
      records: [{ topic: topicName('tokensCreated', 'eth'), key: TOKEN, value }],
    })
    await until(() => said.length > 0 && born.length > 0, 'both arrays', 30_000)
    const fields = { a: TOKEN, n: 'Frog', s: 'FRG', dec: 6, cts: 1_763_640_000_000 }
    const lf = {
      pa: '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P',
      pf: 'pump_fun',
      pn: 'Pump.fun',
    }
    assert.deepEqual(born, [[{ ...fields, lf }]])
    assert.deepEqual(said, [
      [
        {
          ...fields,
          lf,
          iu: 'https://a.example/frog.png',
          de: 'A frog',
          sm: { tg: 'https://t.me/frog', w: 'https://frog.example' },
        },
      ],
    ])
    const body = await until(async () => {
      const answer = await callApi(api, `/v2/token/eth/${TOKEN}`)
      const found = answer.body as Readonly<Record<string, unknown>>
      return found.description === null ? undefined : found
    })
    assert.deepEqual(
      [body.description, body.imageUrl, body.uri],
      ['A frog', 'https://a.example/frog.png', uri],
    )
    const links = body.socialMedias as Readonly<Record<string, unknown>>
    assert.deepEqual(
      [links.website, links.telegram, links.twitter],
      ['https://frog.example', 'https://t.me/frog', null],
    )
  } finally {
    client.disconnect()
    await documents.stop()
    await rows.stop()
    await api.stop()
    await stack.close()
    await receiver.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
