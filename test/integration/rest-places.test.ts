import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { startApi } from '../support/api-stack.ts'
import { until } from '../support/until.ts'

const TOKEN = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'

test('all REST routes share the places of an organization, under every version prefix', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rest-places-'))
  const opened = await openWarehouse({ kind: 'embedded', path: folder })
  await migrate(opened, ['eth'])
  let running = 0
  let most = 0
  let isHeld = true
  const query: typeof opened.query = async (given, options) => {
    // What has no budget is read for no caller.
    if (options?.budget === undefined) return opened.query(given, options)
    running += 1
    most = Math.max(most, running)
    await until(() => !isHeld)
    try {
      return await opened.query(given, options)
    } finally {
      running -= 1
    }
  }
  const warehouse = { ...opened, places: { ...opened.places, point: 4 }, query }
  const api = await startApi({ warehouse })
  try {
    const headers = { 'x-api-key': api.apiKey, 'content-type': 'application/json' }
    const created = await fetch(`${api.base}/v2/webhook/endpoint`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ url: 'https://receiver.example/hook' }),
    })
    const { id } = (await created.json()) as { readonly id: string }
    const paths = [
      `/webhook/endpoint/${id}/attempt`,
      `/webhook/endpoint/${id}/stats`,
      `/token/eth/${TOKEN}/pools`,
    ].flatMap((path) => [`/v1${path}`, `/v2${path}`, `/v2${path}`])
    const answers = paths.map((path) => fetch(api.base + path, { headers }))
    const ofRest = async (metric: string) => {
      const read = await api.metrics.registry.getSingleMetric(metric)?.get()
      return read?.values.find(({ labels }) => labels.surface === 'rest')?.value ?? 0
    }
    const queued = () => ofRest('sluice_query_waiting')
    await until(async () => (await queued()) >= paths.length - 3, 'the others wait', 8_000)
    assert.equal(running, 3)
    assert.equal(await ofRest('sluice_query_waiting_limit'), 256)
    isHeld = false
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.equal(most, 3)
  } finally {
    isHeld = false
    await api.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
