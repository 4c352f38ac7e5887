import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { orExplain } from '../support/or-explain.ts'
import { freePort } from '../support/ports.ts'
import { fetchSdk, readWithSdk, type SdkReading } from '../support/python.ts'
import { sluice } from '../support/sluice.ts'
import { until } from '../support/until.ts'

const LISTEN_SECONDS = 120
const OF_TOKENS = [
  ...['token_candles', 'token_stats', 'token_trade', 'token_holders', 'token_supply'],
  ...['token_max_liquidity', 'token_total_liquidity'],
]
/** Pools of the demo's Ethereum trade as long as it runs; a curve of its Solana ends. Its wallets trade more on Solana. */
const WANTED = [
  ...OF_TOKENS.flatMap((name) => [`sol ${name}`, `ethereum ${name}`]),
  ...['sol new_token', 'sol new_tokens', 'sol wallet_balance', 'sol wallet_pnl'],
  ...['ethereum pool_candles', 'ethereum dex_pool_balance'],
]

const sdk = await orExplain("a rented service's SDK for Python", async () => {
  await fetchSdk()
  return true
})

const suite = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sdk-'))
  let demo: {
    readonly examplesByChain: Readonly<Record<string, { readonly token: string }>>
  }
  let reading: SdkReading
  let stop: () => Promise<void> = async () => undefined

  before(async () => {
    const port = String(await freePort())
    const run = sluice(['start', '--data', folder, '--port', port])
    stop = async () => {
      await run.kill('SIGTERM')
    }
    await until(() => run.out.text.includes('Ctrl-C'), 'the welcome is printed', 90_000)
    const file = join(folder, 'demo.json')
    demo = JSON.parse(readFileSync(file, 'utf8'))
    reading = await readWithSdk(file, LISTEN_SECONDS, WANTED)
  })
  after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('its subscriptions call back with objects of its own', () => {
    const silent = WANTED.filter((name) => reading.heard[name] === undefined)
    assert.deepEqual(silent, [])
    for (const chain of ['sol', 'ethereum']) {
      const token = demo.examplesByChain[chain]?.token ?? ''
      for (const name of OF_TOKENS) {
        assert.ok(reading.heard[`${chain} ${name}`]?.includes(token), `${chain} ${name}`)
      }
    }
  })

  test('its models take what REST answers', () => {
    assert.deepEqual(reading.failed, {})
    const { length } = Object.keys(reading.answered)
    assert.equal(length, 22)
    for (const chain of ['sol', 'ethereum']) {
      const token = demo.examplesByChain[chain]?.token ?? ''
      assert.ok(reading.answered[`${chain} get_token`]?.includes(token))
      assert.ok(reading.answered[`${chain} search`]?.includes(token))
    }
  })
}

if (sdk) describe("a rented service's own SDK, pointed here", suite)
