import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { StatusReport } from '../../cli/app/status-report.ts'
import {
  createInstallation,
  type Installation,
  ROLE_NAMES,
  type RoleProcess,
  type RoleProcessName,
  startServers,
} from '../support/installation.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { runSluice, startSluice } from '../support/sluice-process.ts'
import { PROCESS_LIMIT_MS, until, withTimeout } from '../support/until.ts'

const GENESIS = Date.UTC(2026, 1, 1)
/** The chain is shown up to here, and further when a test says so. */
let shownMs = GENESIS + 180_000
const END_MS = GENESIS + 300_000

const servers = await tryStart('roles on a Kafka broker with a registry', startServers)
if (servers) testRoles(servers)

function testRoles(parts: Awaited<ReturnType<typeof startServers>>): void {
  let held: Installation | undefined
  const running = new Map<RoleProcessName, RoleProcess>()
  let apiKey = ''

  const installation = async (): Promise<Installation> => {
    held ??= await createInstallation(parts, {
      id: 'eth',
      seed: 21,
      ratePerSecond: 5,
      genesisMs: GENESIS,
      nowMs: () => shownMs,
    })
    return held
  }
  const role = (name: RoleProcessName): RoleProcess => {
    const found = running.get(name)
    assert.ok(found, `${name} runs`)
    return found
  }
  const trades = async (): Promise<number> => {
    const query =
      '{ EVM(network: eth) { DEXTrades(where: {any: [{IsSuspect: true}, {IsSuspect: false}]}) { count } } }'
    const response = await fetch(`${role('serve').apiUrl}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    const { data } = (await response.json()) as {
      data: { EVM: { DEXTrades: [{ count: number }] } } | null
    }
    return data?.EVM.DEXTrades[0]?.count ?? 0
  }

  after(async () => {
    for (const each of running.values()) await each.kill('SIGKILL')
    await held?.stop()
    await Promise.all(parts.map((part) => part.stop()))
  })

  test('a role on a cluster without topics exits with 1 and names sluice init', async () => {
    const run = startSluice(['process'], await (await installation()).environment('process'))
    assert.equal(await run.exit, 1)
    assert.match(run.out.errors, /sluice init/)
  })

  test('init from two concurrent processes: one account, its key printed once; a repeated init changes nothing', async () => {
    const environment = await (await installation()).environment('init')
    const texts = await Promise.all([
      runSluice(['init', '--acl'], environment),
      runSluice(['init', '--acl'], environment),
    ])
    const keys = texts.flatMap((text) => /^apiKey +(\S+)$/m.exec(text)?.[1] ?? [])
    assert.equal(keys.length, 1, texts.join('\n'))
    apiKey = keys[0] ?? ''
    assert.doesNotMatch(await runSluice(['init'], environment), /apiKey/)
  })

  test('the services of docker-compose.yml run, and answer /health, /ready, /metrics and /status', async () => {
    for (const name of ROLE_NAMES) running.set(name, await (await installation()).start(name))
    for (const name of ROLE_NAMES) {
      const { opsUrl } = role(name)
      for (const path of ['/health', '/ready', '/metrics', '/status']) {
        assert.equal((await fetch(opsUrl + path)).status, 200, `${name} ${path}`)
      }
    }
  })

  test('trades of the chain arrive at REST and GraphQL', async () => {
    await until(async () => (await trades()) > 50, 'trades arrive', PROCESS_LIMIT_MS)
    const search = await fetch(`${role('serve').apiUrl}/v2/token/search?chain=ethereum&keyword=a`, {
      headers: { 'x-api-key': apiKey },
    })
    assert.equal(search.status, 200)
  })

  test('the process role is killed and continues where it was', async () => {
    const before = await trades()
    await role('process').kill('SIGKILL')
    running.delete('process')
    shownMs = END_MS
    running.set('process', await (await installation()).start('process'))
    await until(async () => (await trades()) > before + 50, 'more trades arrive', PROCESS_LIMIT_MS)
  })

  test('`sluice status` reads head and processed height from the servers, without calling a process', async () => {
    const environment = await (await installation()).environment('init')
    const caughtUp = async (): Promise<boolean> => {
      const text = await runSluice(['status', '--json'], environment)
      const [eth] = (JSON.parse(text) as StatusReport).chains
      return eth?.head?.height === 25 && eth.answers?.height === 25
    }
    await until(caughtUp, 'the answers are at the head', PROCESS_LIMIT_MS)
  })

  test('SIGTERM ends each role in order', async () => {
    for (const name of ROLE_NAMES) {
      assert.equal(await role(name).kill('SIGTERM'), 0, `${name}: ${role(name).out.errors}`)
      running.delete(name)
    }
  })

  test('a role ends at a signal also when its brokers are gone', async () => {
    const started = await (await installation()).start('process')
    running.set('process', started)
    await parts[0].stop()
    process.kill(started.pid, 'SIGTERM')
    assert.equal(
      await withTimeout(started.exit, 'the role ends', PROCESS_LIMIT_MS),
      0,
      started.out.errors,
    )
  })
}

test('roles started without their servers exit with 1 and name every missing setting', async () => {
  const run = startSluice(['serve'], { CHAINS: 'ethereum,atlantis' })
  assert.equal(await run.exit, 1)
  for (const name of ['KAFKA_BROKERS', 'CLICKHOUSE_URL', 'KEY_PEPPER', 'atlantis']) {
    assert.match(run.out.errors, new RegExp(name))
  }
  const ingest = startSluice(['ingest'], { CHAINS: 'ethereum' })
  assert.equal(await ingest.exit, 1)
  assert.match(ingest.out.errors, /RPC_URLS_ETHEREUM/)
})
