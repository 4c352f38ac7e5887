import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fetchOps } from '../../cli/app/ops-client.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { InvalidOpsRequest, openOpsServer } from '../../core/ops/server.ts'
import { readActivity } from '../support/drills/crash.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-ops-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test("the operators' port answers health, readiness, metrics and questions, and refuses in words", async () => {
  let isGood = true
  const ops = await openOpsServer({
    host: '127.0.0.1',
    port: 0,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    checks: [{ name: 'part', run: () => ({ ok: isGood }) }],
    handlers: {
      '/sum': async (query) => {
        if (!query.has('of')) throw new InvalidOpsRequest('of what?')
        return { of: query.get('of') }
      },
    },
  })
  const statusOf = async (path: string, method = 'GET'): Promise<number> =>
    (await fetch(ops.url + path, { method })).status
  assert.equal(await statusOf('/health'), 200)
  assert.equal(await statusOf('/ready'), 200)
  isGood = false
  assert.equal(await statusOf('/ready'), 503)
  assert.match(await (await fetch(`${ops.url}/metrics`)).text(), /process_cpu/)
  assert.equal(await statusOf('/nothing'), 404)
  assert.equal(await statusOf('/constructor'), 404)
  assert.equal(await statusOf('/health', 'POST'), 405)
  assert.deepEqual(await fetchOps(ops.url, '/sum?of=2'), { of: '2' })
  await assert.rejects(fetchOps(ops.url, '/sum'), /of what\?/)
  await ops.stop()
  assert.equal(await fetchOps(ops.url, '/sum'), undefined, 'nobody is there any more')
})

test('the activity file holds what is in flight, whatever else was in it', () => {
  const path = join(folder, 'activity')
  const activity = makeInFlightTracker(path)
  const endLong = activity.begin(`commit ${'x'.repeat(300)}`)
  const end = activity.begin('insert t')
  assert.deepEqual(readActivity(path), activity.now())
  endLong()
  end()
  end()
  assert.deepEqual(readActivity(path), [])
  activity.close()
})

test('endpoints of one chain by any word for it; a word for no chain is a mistake', () => {
  const { chainRpcUrls } = loadConfig({
    RPC_URLS_ETHEREUM: 'ws://a:1,http://b:2',
    RPC_URLS_SOLANA: 'http://c:3',
    RPC_URLS_BSC: '',
  })
  const urls = Object.entries(chainRpcUrls).map(([chain, list]) => [
    chain,
    list.map((url) => url.reveal()),
  ])
  assert.deepEqual(Object.fromEntries(urls), {
    eth: ['ws://a:1', 'http://b:2'],
    sol: ['http://c:3'],
  })
  assert.throws(() => loadConfig({ RPC_URLS_ATLANTIS: 'ws://a:1' }), /RPC_URLS_ATLANTIS/)
  assert.throws(() => loadConfig({ RPC_URLS_ETH: 'ftp://a' }), /RPC_URLS_<CHAIN>.*eth/)
})
