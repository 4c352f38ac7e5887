import assert from 'node:assert/strict'
import { test } from 'node:test'
import { roleConfig } from '../../cli/commands/role.ts'
import { parsePlan } from '../../cli/commands/start.ts'
import { UsageError } from '../../cli/commands/usage-error.ts'
import { lateCommandsText, welcomeText } from '../../cli/standalone/welcome.ts'
import { CHAINS } from '../../schemas/chains.ts'

test('sluice start without options runs the simulator on the default port', () => {
  const plan = parsePlan({}, {})
  assert.equal(plan.rpc, null)
  assert.equal(plan.config.port, 8080)
  assert.equal(plan.untilMs, undefined)
})

test('sluice start accepts every option of a simulated chain', () => {
  const plan = parsePlan(
    {
      data: 'd',
      port: '9000',
      seed: '7',
      rate: '2.5',
      genesis: '2026-01-01T00:00:00Z',
      until: '10m',
    },
    {},
  )
  assert.equal(plan.config.dataDir, 'd')
  assert.equal(plan.config.port, 9000)
  assert.equal(plan.seed, 7)
  assert.equal(plan.ratePerSecond, 2.5)
  assert.equal(plan.genesisMs, Date.UTC(2026, 0, 1))
  assert.equal(plan.untilMs, 600_000)
})

test('sluice start takes endpoints of a real chain from the option, else from the public table', () => {
  const given = parsePlan({ chain: 'ethereum', rpc: ['wss://node.example'], from: '19000000' }, {})
  assert.deepEqual(given.rpc, ['wss://node.example'])
  assert.equal(given.from, 19_000_000)
  assert.deepEqual(parsePlan({ chain: 'eth' }, {}).rpc, CHAINS.eth.publicRpc)
})

test('sluice start reports all invalid options together', () => {
  const wrong = { port: 'x', seed: '-1', rate: '0', genesis: 'soon', until: '10', chain: 'doge' }
  assert.throws(
    () => parsePlan(wrong, {}),
    (error: unknown) => {
      assert.ok(error instanceof UsageError)
      for (const name of Object.keys(wrong)) assert.match(error.message, new RegExp(`--${name}:`))
      return true
    },
  )
})

test('sluice start accepts endpoints for every chain', () => {
  for (const { id } of Object.values(CHAINS)) {
    const { rpc } = parsePlan({ chain: id, rpc: ['https://node.example'] }, {})
    assert.deepEqual(rpc, ['https://node.example'])
    const environment = { CHAINS: id, RPC_URLS: 'https://node.example' }
    assert.deepEqual(roleConfig('all', environment).chains, [id])
  }
})

test('sluice start refuses fractions for seed, port and block', () => {
  assert.throws(
    () => parsePlan({ seed: '1.5', port: '80.5', chain: 'eth', from: '7.5' }, {}),
    /--seed: 1\.5 is not a whole number[\s\S]*--from[\s\S]*--port/,
  )
})

test('the welcome text marks a simulated chain, and its commands have key and token', () => {
  const token = `0x${'ab'.repeat(20)}`
  const welcome = {
    baseUrl: 'http://127.0.0.1:8080',
    graphqlUrl: 'http://127.0.0.1:8080/graphql',
    wsUrl: 'ws://127.0.0.1:8081/connection/websocket',
    subscriptionsUrl: 'ws://127.0.0.1:8081/graphql',
    apiKey: 'sluice_live_key',
    tokenUrl: 'http://127.0.0.1:8080/oauth/token',
    audience: 'https://api.test',
    clientId: 'client',
    clientSecret: 'secret',
    adminUrl: 'http://127.0.0.1:8082/admin/v1',
    adminToken: 'token',
    origin: 'SIMULATED Ethereum',
    dataDir: '.data',
    chains: [CHAINS.eth],
    webhooksToHere: true,
    examples: {
      ethereum: { chain: 'ethereum', token, quote: 'q', pool: 'p', wallet: 'w', txHash: 'h' },
    },
  }
  const text = welcomeText(welcome)
  assert.match(text, /SIMULATED/)
  const curls = text.split('\n').filter((line) => line.startsWith('curl '))
  assert.equal(curls.length, 4)
  for (const line of curls) assert.match(line, /X-API-KEY: sluice_live_key/)
  assert.match(text, new RegExp(`npx --no sluice listen 'dex-trade:eth_${token}'`))
  assert.match(text, /npx --no sluice tail eth\.dex\.trades\.processed/)
  const early = welcomeText({ ...welcome, examples: {} })
  assert.match(early, /Ethereum: has no trade to show yet/)
  assert.doesNotMatch(early, /curl /)
  const late = lateCommandsText(welcome, CHAINS.eth)
  for (const line of curls) assert.ok(late.includes(line), line)
})
