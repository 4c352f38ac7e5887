import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { compatibilityPage, compatibilityParts, refusalOf } from '../support/compatibility-page.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { freePort } from '../support/ports.ts'
import { fetchSdk, readWithSdk, type SdkReading } from '../support/python-clients.ts'
import { startSluice } from '../support/sluice-process.ts'
import { PROCESS_LIMIT_MS, until } from '../support/until.ts'

const LISTEN_SECONDS = 120
const CHAINS = ['sol', 'ethereum']
const OF_TOKENS = [
  ...['token_candles', 'token_stats', 'token_trade', 'token_holders', 'token_supply'],
  ...['token_max_liquidity', 'token_total_liquidity'],
]
/** Pools of the demo's Ethereum trade as long as it runs; a curve of its Solana ends. Its wallets trade more on Solana. */
const WANTED = [
  ...OF_TOKENS.flatMap((name) => CHAINS.map((chain) => `${chain} ${name}`)),
  ...['sol new_token', 'sol new_tokens', 'sol wallet_balance', 'sol wallet_pnl'],
  ...['ethereum pool_candles', 'ethereum dex_pool_balance'],
]

const OPERATIONS_OF_A_CHAIN = 93
const OPERATIONS_ON_WEBHOOKS = 7
const OPERATIONS_ON_RISK = 14
/** Groups of which an operation is not offered yet. */
const NOT_OFFERED_GROUPS = ['Dex', 'IPFS', 'Job', 'RedPacket', 'Transaction']
/** Nothing feeds the first ones; the others depend on what the demo's chains did so far. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set([
  ...['get_dexscr_ads', 'get_dexscr_boosts', 'get_dexscr_link_updates', 'get_dexscr_trending'].map(
    (name) => `DexScreener ${name}`,
  ),
  ...['get_stocks_tokens', 'get_final_stretch_tokens', 'get_migrated_tokens'].map(
    (name) => `Ranking ${name}`,
  ),
  ...['Token get_token_similar', 'Token get_holders_multi'],
])

const sdk = await tryStart("the reference API's SDK for Python", async () => {
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
    const run = startSluice(['start', '--data', folder, '--port', port])
    stop = async () => {
      await run.kill('SIGTERM')
    }
    await until(() => run.out.text.includes('Ctrl-C'), 'the welcome is printed', PROCESS_LIMIT_MS)
    const file = join(folder, 'demo.json')
    // On a loaded machine the welcome is printed before both chains have a trade.
    const hasBothChains = (): boolean => {
      demo = JSON.parse(readFileSync(file, 'utf8'))
      return CHAINS.every((chain) => demo.examplesByChain[chain] !== undefined)
    }
    await until(hasBothChains, 'both chains have a trade', PROCESS_LIMIT_MS)
    reading = await readWithSdk(file, LISTEN_SECONDS, WANTED)
  })
  after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('subscriptions of the stock SDK call back with objects of the subscribed token', () => {
    const silent = WANTED.filter((name) => reading.heard[name] === undefined)
    assert.deepEqual(silent, [])
    for (const chain of CHAINS) {
      const token = demo.examplesByChain[chain]?.token ?? ''
      for (const name of OF_TOKENS) {
        assert.ok(reading.heard[`${chain} ${name}`]?.includes(token), `${chain} ${name}`)
      }
    }
  })

  test('each of its operations is answered with objects of its own, or refused as not offered', () => {
    const refused = Object.entries(reading.failed)
    assert.deepEqual(
      refused.filter(([name, failure]) => refusalOf(name, failure) === undefined),
      [],
    )
    const names = [...Object.keys(reading.answered), ...refused.map(([name]) => name)]
    assert.equal(
      names.length,
      2 * OPERATIONS_OF_A_CHAIN + OPERATIONS_ON_WEBHOOKS + OPERATIONS_ON_RISK,
    )
    const groups = new Set(refused.map(([name]) => name.split(' ')[1]))
    assert.deepEqual([...groups].toSorted(), NOT_OFFERED_GROUPS)
    for (const chain of CHAINS) {
      const token = demo.examplesByChain[chain]?.token ?? ''
      assert.ok(reading.answered[`${chain} Token get_token`]?.text.includes(token))
      assert.ok(reading.answered[`${chain} Token search`]?.text.includes(token))
    }
  })

  test('docs/compatibility.md lists the responses of the operations; `npm run compatibility` writes it', () => {
    const page = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8')
    assert.equal(compatibilityParts(page).python, compatibilityPage(reading))
  })

  test('no operation of the stock SDK on a traded token or a trading wallet is empty', () => {
    const empty = Object.entries(reading.answered).flatMap(([name, answer]) =>
      answer.empty ? [name.split(' ').slice(1).join(' ')] : [],
    )
    assert.deepEqual(
      [...new Set(empty)].filter((name) => !MAY_BE_EMPTY.has(name)),
      [],
    )
  })
}

if (sdk) describe("the reference API's own SDK, pointed here", suite)
