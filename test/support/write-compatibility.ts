/**
 * Writes `docs/compatibility.md` from what the reference SDK for Python makes of a demo that is started for it; with the word `rust`, the section on
 * the SDK for Rust.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compatibilityPage, compatibilityParts, rustSection } from './compatibility-page.ts'
import { freePort } from './ports.ts'
import { fetchSdk, readWithSdk } from './python-clients.ts'
import { buildRustSdk } from './rust-client.ts'
import { RUST_SUBSCRIPTIONS, readWithRustSdk } from './rust-reading.ts'
import { startSluice } from './sluice-process.ts'
import { until } from './until.ts'

/** Time in which the demo's chains make what the operations ask for. */
const LISTEN_SECONDS = 30
const PAGE = new URL('../../docs/compatibility.md', import.meta.url)

const preparePython = async (): Promise<(demoFile: string) => Promise<string>> => {
  await fetchSdk()
  return async (demoFile) => {
    const reading = await readWithSdk(demoFile, LISTEN_SECONDS, ['all'])
    return compatibilityPage(reading) + compatibilityParts(readFileSync(PAGE, 'utf8')).rust
  }
}

const prepareRust = async (): Promise<(demoFile: string) => Promise<string>> => {
  const sdk = await buildRustSdk()
  return async (demoFile) => {
    const reading = await readWithRustSdk(sdk, demoFile, RUST_SUBSCRIPTIONS)
    return compatibilityParts(readFileSync(PAGE, 'utf8')).python + rustSection(reading)
  }
}

const write = await (process.argv[2] === 'rust' ? prepareRust() : preparePython())
const folder = mkdtempSync(join(tmpdir(), 'sluice-compatibility-'))
const run = startSluice(['start', '--data', folder, '--port', String(await freePort())])
try {
  await until(() => run.out.text.includes('Ctrl-C'), 'the welcome is printed', 180_000)
  writeFileSync(PAGE, await write(join(folder, 'demo.json')))
} finally {
  await run.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}
