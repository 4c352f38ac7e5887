/** What each role does on the log is what its access rules allow: a cluster with an authorizer refuses the rest. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { openInfra } from '../../cli/app/infra.ts'
import { aclRows } from '../../cli/app/kafka-acl.ts'
import {
  type ServiceDeps,
  startIngest,
  startProcessing,
  startServing,
} from '../../cli/app/services.ts'
import type { AclRow } from '../../core/bus/kafka/acl.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { type Lifecycle, makeLifecycle } from '../../core/ops/lifecycle.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { readTableMetadata } from '../../ingestors/decode/metadata-reader.ts'
import { CHAINS } from '../../schemas/chains.ts'
import {
  buildEvmBlock,
  createScriptedSource,
  POOLS,
  TOKENS,
  wethSwap,
} from '../support/builders/evm-block.ts'
import { type BusUse, recordBusUse } from '../support/bus/record-use.ts'
import { signPayment } from '../support/payments.ts'
import { until } from '../support/until.ts'

const PAYEE = '0x00000000000000000000000000000000000000AA'
const CONFIG = loadConfig(
  {},
  {
    port: 0,
    keyPepper: 'a pepper for tests',
    adminToken: 'an admin token for tests',
    metadataFetch: 'on',
    x402PayTo: PAYEE,
    x402Networks: ['base-sepolia'],
    x402Facilitator: 'mock',
  },
)
const ROWS = aclRows(['eth'], 'sluice-')

const isAllowed = (role: string, { resource, name, operation }: BusUse): boolean =>
  ROWS.some(
    (row: AclRow) =>
      row.principal === `User:sluice-${role}` &&
      row.resource === resource &&
      row.operation === operation &&
      (row.name === '*' ||
        (row.pattern === 'prefixed' ? name.startsWith(row.name) : name === row.name)),
  )

const folder = mkdtempSync(join(tmpdir(), 'sluice-acl-'))
const log = makeSilentLogger()
const uses = { ingest: recordBusUse(), process: recordBusUse(), serve: recordBusUse() }
let lifecycle: Lifecycle
let base = ''
let apiKey = ''

before(async () => {
  lifecycle = makeLifecycle(log)
  const deps: ServiceDeps = {
    config: CONFIG,
    chains: ['eth'],
    metrics: makeMetrics(),
    log,
    lifecycle,
    checks: [],
    ownPorts: new Set(),
    onFatal: (error) => {
      throw error
    },
  }
  const infra = await openInfra({
    ...deps,
    logPath: join(folder, 'log'),
    warehousePath: join(folder, 'warehouse'),
    activity: makeInFlightTracker(''),
    prepare: true,
    opened: (name, stop) => lifecycle.add({ name, stop }),
  })
  const as = (role: keyof typeof uses) => ({ ...infra, bus: uses[role].wrap(infra.bus) })
  await startProcessing(deps, as('process'))
  const served = await startServing(deps, as('serve'), { firstUser: {} })
  base = served.baseUrl
  apiKey = served.credentials?.apiKey ?? ''
  const source = createScriptedSource()
  const facts = readTableMetadata(TOKENS, POOLS)
  await startIngest(deps, as('ingest'), [{ row: CHAINS.eth, source, metadata: facts }])
  const block = buildEvmBlock({ height: 100 }, [wethSwap(2_000)])
  source.push({ op: 'apply', block })
})
after(async () => {
  await lifecycle.stop('test ended')
  rmSync(folder, { recursive: true, force: true })
})

const post = async (path: string, body: object): Promise<void> => {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(answer.status, 200, `${path}: ${await answer.text()}`)
}

test('no role uses more than its ACL rules for accounts, charges, webhooks, screening, payments and processed blocks', async () => {
  await post('/v2/webhook/endpoint', {
    url: 'https://93.184.216.34/',
    channels: ['eth.token.created'],
  })
  await post('/v2/kyt/address', { address: `0x${'12'.repeat(20)}` })
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  const headers = { 'x-payment': await signPayment(account, PAYEE) }
  const paid = await fetch(`${base}/v2/token/search?q=a`, { headers })
  assert.equal(paid.status, 200, await paid.text())
  const writers = (role: keyof typeof uses): readonly string[] =>
    uses[role]
      .list()
      .flatMap(({ resource, name }) => (resource === 'transactional-id' ? [name] : []))
  await until(() => writers('serve').some((id) => id.startsWith('usage-')), 'charges are written')
  await until(
    () => uses.process.list().some(({ name }) => name === 'eth.candlesticks'),
    'the block is folded',
  )
  for (const [role, use] of Object.entries(uses)) {
    const list = use.list()
    assert.ok(list.length > 5, `${role}: ${list.length} uses`)
    assert.deepEqual(
      list.filter((one) => !isAllowed(role, one)),
      [],
      role,
    )
  }
  assert.equal(writers('serve').filter((id) => !id.startsWith('webhooks.')).length, 5)
})
