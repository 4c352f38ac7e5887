import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../support/ports.ts'
import { type SluiceProcess, startSluice } from '../support/sluice-process.ts'
import { PROCESS_LIMIT_MS, until } from '../support/until.ts'

/** Nothing listens there: every attempt fails, with the address in the error of whichever library tried. */
const CLOSED = '127.0.0.1:1'
const SECRETS = [
  'rpc-user-secret-1',
  'rpc-path-secret-2',
  'rpc-query-secret-3',
  'grpc-token-secret-4',
  'flash-secret-5',
  'clickhouse-secret-6',
  'registry-secret-7',
  'sasl-secret-8',
  'pepper-secret-9',
  'admin-secret-10',
]
const COMMON = {
  LOG_LEVEL: 'trace',
  KEY_PEPPER: 'pepper-secret-9',
  ADMIN_TOKEN: 'admin-secret-10',
}
const folder = mkdtempSync(join(tmpdir(), 'sluice-hush-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const assertSilent = (what: string, text: string): void => {
  for (const secret of SECRETS) assert.ok(!text.includes(secret), `${what} tells ${secret}`)
}

const outputOf = ({ out }: SluiceProcess): string => out.text + out.errors

test('a process whose nodes fail leaks no credential: not in logs, /status, /ready or /metrics', async () => {
  const opsPort = await freePort()
  const run = startSluice(['all'], {
    ...COMMON,
    DATA_DIR: join(folder, 'all'),
    PORT: String(await freePort()),
    OPS_PORT: String(opsPort),
    CHAINS: 'ethereum,sol,base',
    RPC_TIMEOUT_MS: '500',
    RPC_URLS_ETHEREUM: `http://user:rpc-user-secret-1@${CLOSED}/v2/rpc-path-secret-2`,
    RPC_URLS_SOL: `http://${CLOSED}/?api-key=rpc-query-secret-3,grpc://grpc-token-secret-4@${CLOSED}`,
    RPC_URLS_BASE: `ws://${CLOSED}/rpc-path-secret-2`,
    FLASHBLOCKS_URL_BASE: `ws://${CLOSED}/ws?key=flash-secret-5`,
  })
  const ops = `http://127.0.0.1:${opsPort}`
  await until(
    async () => (await fetch(`${ops}/health`).catch(() => undefined))?.ok === true,
    'the process lives',
    PROCESS_LIMIT_MS,
  )
  await until(
    async () => (await (await fetch(`${ops}/metrics`)).text()).includes('outcome="failed"'),
    'a node was asked in vain',
    PROCESS_LIMIT_MS,
  )
  for (const path of ['/status', '/ready', '/metrics', '/health'])
    assertSilent(path, await (await fetch(ops + path)).text())
  assert.equal(await run.kill('SIGTERM'), 0, run.out.errors)
  assertSilent('the log', outputOf(run))
  assert.match(outputOf(run), /127\.0\.0\.1:1/, 'the host is told')
})

test('commands whose servers do not answer exit with 1 and print no credential', async () => {
  const servers = {
    ...COMMON,
    CHAINS: 'ethereum',
    RPC_URLS_ETHEREUM: `http://user:rpc-user-secret-1@${CLOSED}/`,
    KAFKA_BROKERS: CLOSED,
    KAFKA_SASL_USERNAME: 'someone',
    KAFKA_SASL_PASSWORD: 'sasl-secret-8',
    SCHEMA_REGISTRY_URL: `http://reg:registry-secret-7@${CLOSED}/apis/ccompat/v7`,
    CLICKHOUSE_URL: `http://writer:clickhouse-secret-6@${CLOSED}`,
  }
  for (const words of [['init'], ['serve'], ['status']]) {
    const run = startSluice(words, { ...servers, DATA_DIR: join(folder, words[0] ?? '') })
    assert.equal(await run.exit, 1, words.join(' '))
    assertSilent(words.join(' '), outputOf(run))
    assert.match(outputOf(run), /sluice: /)
  }
})

test('a process whose ClickHouse does not answer behind an embedded log prints no credential', async () => {
  const run = startSluice(['all'], {
    ...COMMON,
    DATA_DIR: join(folder, 'store'),
    CHAINS: 'ethereum',
    PORT: String(await freePort()),
    RPC_URLS_ETHEREUM: `http://${CLOSED}/`,
    CLICKHOUSE_URL: `http://writer:clickhouse-secret-6@${CLOSED}`,
  })
  const exit = await Promise.race([
    run.exit,
    until(() => outputOf(run).includes('warehouse'), 'a word', PROCESS_LIMIT_MS),
  ])
  if (exit === undefined) await run.kill('SIGTERM')
  assertSilent('the log', outputOf(run))
})

test('files that the processes wrote are readable by their owner only', () => {
  const modes = (path: string): readonly string[] =>
    readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
      const inside = join(path, entry.name)
      const mode = statSync(inside).mode & 0o077
      const own = mode === 0 ? [] : [`${inside}: ${mode.toString(8)}`]
      return entry.isDirectory() ? [...own, ...modes(inside)] : own
    })
  assert.deepEqual(modes(folder), [])
})
