import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readDemoFile } from '../../cli/app/data-folder.ts'
import {
  deadLettersHandler,
  recordsHandler,
  unknownTopicError,
} from '../../cli/app/log-over-ops.ts'
import { parseQueryNumber } from '../../cli/app/query-number.ts'
import { withInfra } from '../../cli/app/with-infra.ts'
import { parseChainOption } from '../../cli/commands/chain-option.ts'
import { parseCount } from '../../cli/commands/command.ts'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { init } from '../../cli/commands/init.ts'
import { labelsImport } from '../../cli/commands/labels.ts'
import { resume } from '../../cli/commands/resume.ts'
import { roleConfig } from '../../cli/commands/role.ts'
import { parsePlan } from '../../cli/commands/start.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { loadConfig } from '../../core/config/load.ts'
import { readTlsFiles } from '../../core/config/tls-files.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-errors-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const secretFile = join(folder, 'secret')
writeFileSync(secretFile, 'x'.repeat(65_537))
const write = (): void => undefined
const kafka = { KAFKA_BROKERS: 'broker:9092', SCHEMA_REGISTRY_URL: 'http://registry:8081' }
const payments = { X402_PAY_TO: `0x${'22'.repeat(20)}`, X402_NETWORKS: 'base' }

/** A mistake, and what its error says: the value or setting, what is expected, what to do. */
const CASES: Readonly<Record<string, readonly [run: () => unknown, text: RegExp]>> = {
  'a chain option': [
    () => parseChainOption('doge'),
    /--chain: doge is not a chain of this build; expected one of sol, ethereum, bsc/,
  ],
  'the chain of recordings': [
    () => decodeFiles({ chain: 'doge', files: [], write }),
    /doge is not a chain of this build; expected one of sol/,
  ],
  'the chain of a start': [() => parsePlan({ chain: 'doge' }, {}), /doge .*expected one of sol/],
  'a seed that is not whole': [
    () => parsePlan({ seed: '1.5' }, {}),
    /--seed: 1\.5 is not a whole number from 0 to 4294967295/,
  ],
  'a first block without a chain': [
    () => parsePlan({ from: '7' }, {}),
    /--from: 7 needs --chain; .*Add --chain/,
  ],
  'a profile of another chain': [
    () => parsePlan({ chain: 'eth', profile: 'pump' }, {}),
    /--profile: pump .*expected pump together with --chain sol/,
  ],
  'a count': [() => parseCount('ten'), /Expected a whole number from 0, e\.g\. 10/],
  'a place to resume from': [
    () => resume({ from: 'later' }, { environment: {}, write }),
    /--from: later is not a position; expected earliest or now/,
  ],
  'a mode of access rules': [
    () => init({}, write, { acl: 'file' }),
    /--acl: file is not a mode; expected print/,
  ],
  'an installation on Kafka without a pepper': [
    () => init(kafka, write),
    /KEY_PEPPER: .*set it to[\s\S]*CLICKHOUSE_URL: .*set it to/,
  ],
  'a format of labels': [
    () => labelsImport('xml', secretFile, { source: 's' }, { environment: {}, write }),
    /xml is not a format of label lists; expected one of csv/,
  ],
  'a role without brokers': [
    () => roleConfig('process', {}),
    /KAFKA_BROKERS: .*not set; set it, or use `sluice all`/,
  ],
  'a role without nodes': [
    () => roleConfig('all', { CHAINS: 'bsc' }),
    /RPC_URLS_BSC: .*set it to URLs of its nodes, or leave the chain out of CHAINS/,
  ],
  'an unknown chain of a role': [
    () => roleConfig('all', { CHAINS: 'doge' }),
    /CHAINS: doge .*expected one of sol/,
  ],
  'a folder without data': [
    () => withInfra(loadConfig({}, { dataDir: join(folder, 'none') }), async () => undefined),
    /none holds no data.*with --data, or set KAFKA_BROKERS/,
  ],
  'a folder without a process': [() => readDemoFile(folder), /contains no demo\.json; .*Start one/],
  'an unknown topic': [
    () => Promise.reject(unknownTopicError('a.b', ['eth.blocks', '_hidden'])),
    /topic a\.b does not exist; expected one of eth\.blocks$/,
  ],
  'an unknown topic of an empty log': [
    () => Promise.reject(unknownTopicError('a.b', ['_hidden'])),
    /topic a\.b does not exist; the log has no topics yet: start a process/,
  ],
  'a number of a request': [
    () => parseQueryNumber('height', '-1', 15),
    /height is "-1"; expected a whole number of at most 15 digits/,
  ],
  'a long number of a request': [
    () => parseQueryNumber('limit', '1'.repeat(99), 9),
    new RegExp(`limit is "${'1'.repeat(40)}"; expected`),
  ],
  'chain settings of an unknown chain': [
    () => loadConfig({ RPC_URLS_DOGE: 'http://a:1' }),
    /RPC_URLS_DOGE: doge is not a chain of this build; expected one of sol/,
  ],
  'a setting that is not JSON': [
    () => loadConfig({ PRICES_STATIC: '{"eth":' }),
    /PRICES_STATIC: is not JSON, or nests too deep: "\{.*eth.*Unset: /,
  ],
  'an unknown override': [
    () => loadConfig({}, { colour: 'red' }),
    /colour: unknown setting; \.env\.example lists all settings/,
  ],
  'a secret file that is too large': [
    () => loadConfig({ ADMIN_TOKEN_FILE: secretFile }),
    /secret is larger than 65536 bytes; expected the secret alone/,
  ],
  'a secret file that is missing': [
    () => loadConfig({ ADMIN_TOKEN_FILE: join(folder, 'none') }),
    /none cannot be read: ENOENT\. Check its path and permissions/,
  ],
  'a certificate that is missing': [
    () => readTlsFiles({ tlsCertFile: join(folder, 'none'), tlsKeyFile: secretFile }),
    /TLS_CERT_FILE: .*none cannot be read: ENOENT\. Check its path/,
  ],
  'a certificate that is not PEM': [
    () => readTlsFiles({ tlsCertFile: secretFile, tlsKeyFile: secretFile }),
    /secret does not match TLS_KEY_FILE \(.*secret\).*name a certificate and its private key/,
  ],
  'half of a TLS pair': [
    () => loadConfig({ TLS_CERT_FILE: 'cert.pem' }),
    /TLS_KEY_FILE: is not set: .*set both or neither/,
  ],
  'half of a TLS pair for Kafka': [
    () => loadConfig({ KAFKA_TLS_CERT: 'a' }),
    /KAFKA_TLS_KEY: .*not set: .*set both or neither/,
  ],
  'brokers without a registry': [
    () => loadConfig({ KAFKA_BROKERS: 'broker:9092' }),
    /SCHEMA_REGISTRY_URL: .*set it to the URL/,
  ],
  'half of a storage': [
    () => loadConfig({ IPFS_UPLOAD_KEY_ID: 'id' }),
    /is not set: .*set all or none/,
  ],
  'half of the payments': [
    () => loadConfig({ X402_NETWORKS: 'base' }),
    /X402_PAY_TO: is not set: .*set both or neither/,
  ],
  'payments without a key': [
    () => loadConfig({ ...payments, X402_RPC_URL: 'https://node.example.com' }),
    /X402_GAS_KEY: .*expected a private key .*Set it, or/,
  ],
  'a public address that is a wildcard': [
    () => loadConfig({ PUBLIC_URL: 'http://0.0.0.0:8080' }),
    /PUBLIC_URL: http:\/\/0\.0\.0\.0:8080 names no host.*expected a URL such as/,
  ],
  'a range that is an address': [
    () => loadConfig({ TRUSTED_PROXIES: '10.0.0.1' }),
    /TRUSTED_PROXIES: 10\.0\.0\.1 is not a CIDR range; expected ranges such as/,
  ],
}

for (const [what, [run, text]] of Object.entries(CASES)) {
  test(`${what}: the error names the value, the expectation and the remedy`, async () => {
    await assert.rejects(async () => run(), text)
  })
}

test('errors of record requests name the value, the expectation and the remedy', async () => {
  const bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 8 << 20,
    log: makeSilentLogger(),
    retention: 'off',
  })
  try {
    await bus.createTopics([{ topic: 't', partitions: 1, retentionMs: null, cleanup: 'delete' }])
    const records = (query: string) =>
      recordsHandler(bus, 'k')(new URLSearchParams(query), new AbortController().signal)
    await assert.rejects(records('topic=t&back=1'), /key is not the key .*ops\.json/)
    await assert.rejects(records('key=k&topic=t&back=x'), /back is "x"; expected a whole number/)
    await assert.rejects(records('key=k&topic=t&at=1'), /at is "1"; expected PARTITION:OFFSET/)
    const letters = deadLettersHandler(bus, 'k')(
      new URLSearchParams('key=k&limit=all'),
      new AbortController().signal,
    )
    await assert.rejects(letters, /limit is "all"; expected a whole number of at most 9 digits/)
  } finally {
    await bus.close()
  }
})
