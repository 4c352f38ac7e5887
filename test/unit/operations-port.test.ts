import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { fetchOps } from '../../cli/app/ops-client.ts'
import { reportProgress } from '../../cli/app/report-progress.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { InvalidOpsRequest, openOpsServer } from '../../core/ops/server.ts'
import { readActivity } from '../support/drills/crash.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-ops-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the operators port serves health, readiness, metrics and queries, and refuses invalid ones with a text', async () => {
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

test('a stop answers pending requests with 503, and their later failures are not logged as errors', async () => {
  const lines: string[] = []
  const metrics = makeMetrics()
  const failures: (() => void)[] = []
  const ops = await openOpsServer({
    host: '127.0.0.1',
    port: 0,
    metrics,
    log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    checks: [],
    handlers: {
      '/long': (_query, signal) =>
        new Promise((_, reject) => {
          failures.push(() => reject(new Error(`the log is closed, ${signal.aborted}`)))
        }),
    },
  })
  const asked = fetch(`${ops.url}/long`)
  while (failures.length === 0) await setImmediate()
  await ops.stop()
  const answer = await asked
  assert.equal(answer.status, 503)
  assert.deepEqual(await answer.json(), {
    error: 'the process is stopping',
    code: 'SHUTTING_DOWN',
  })
  for (const fail of failures) fail()
  await setImmediate()
  assert.deepEqual(lines, [])
  assert.doesNotMatch(await metrics.registry.metrics(), /edge_errors_total\{[^}]*ops/)
})

test('a long command reports its progress on stderr every five seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const lines: string[] = []
  const progress = reportProgress('checksum', (line) => lines.push(line))
  t.mock.timers.tick(4_999)
  assert.deepEqual(lines, [], 'a short one says nothing')
  t.mock.timers.tick(5_001)
  progress.at('eth: trades')
  t.mock.timers.tick(5_000)
  progress.stop()
  t.mock.timers.tick(60_000)
  assert.deepEqual(lines, [
    'checksum: running for 5 s',
    'checksum: running for 10 s',
    'checksum: running for 15 s, eth: trades',
  ])
})

test('the activity file holds the work in flight', () => {
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

test('endpoints of a chain are set under any of its names; an unknown chain name is an error', () => {
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
