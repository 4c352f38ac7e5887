/** The reference API's SDK for Rust on a demo: every operation, its streams, and the section of docs/compatibility.md on it. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { compatibilityParts, refusalOf, rustSection } from '../support/compatibility-page.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { freePort } from '../support/ports.ts'
import { buildRustSdk, type RustSdk } from '../support/rust-client.ts'
import { RUST_SUBSCRIPTIONS, type RustReading, readWithRustSdk } from '../support/rust-reading.ts'
import { startSluice } from '../support/sluice-process.ts'
import { until } from '../support/until.ts'

const OPERATIONS = 110

const sdk = await tryStart("the reference API's SDK for Rust", buildRustSdk)

const suite = (built: RustSdk): void => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rust-sdk-'))
  let reading: RustReading
  let token = ''
  let stop: () => Promise<void> = async () => undefined

  before(async () => {
    const run = startSluice(['start', '--data', folder, '--port', String(await freePort())])
    stop = async () => {
      await run.kill('SIGTERM')
    }
    await until(() => run.out.text.includes('Ctrl-C'), 'the welcome is printed', 180_000)
    const file = join(folder, 'demo.json')
    token = JSON.parse(readFileSync(file, 'utf8')).examplesByChain.ethereum.token
    reading = await readWithRustSdk(built, file, RUST_SUBSCRIPTIONS)
  })
  after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('each operation is answered with objects of its own, or refused as the page names it', () => {
    const refused = Object.entries(reading.failed)
    assert.deepEqual(
      refused.filter(([name, failure]) => refusalOf(name, failure) === undefined),
      [],
    )
    const names = [...Object.keys(reading.answered), ...refused.map(([name]) => name)]
    const operations = new Set(names.map((name) => name.split(' ').at(-1)))
    assert.equal(operations.size, OPERATIONS)
    assert.ok(reading.answered['eth Token get_token']?.text.includes(token))
    assert.ok(reading.answered['eth Token search']?.text.includes(token))
  })

  test('its subscriptions call back with objects of the subscribed token', () => {
    const silent = RUST_SUBSCRIPTIONS.wanted.filter((name) => reading.heard[name] === undefined)
    assert.deepEqual(silent, [])
    for (const name of ['token_candles', 'token_trade', 'token_stats']) {
      assert.ok(reading.heard[`eth ${name}`]?.includes(token), name)
    }
  })

  test('a connection stays open that answers no ping of the protocol', () => {
    assert.equal(reading.staysOpen, true)
  })

  test('docs/compatibility.md has its results; `npm run compatibility -- rust` writes them', () => {
    const page = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8')
    assert.equal(compatibilityParts(page).rust, rustSection(reading))
  })
}

if (sdk) describe("the reference API's SDK for Rust, pointed here", () => suite(sdk))
