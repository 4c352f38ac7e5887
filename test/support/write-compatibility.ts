/** Writes `docs/compatibility.md` from what the reference SDK makes of a demo that is started for it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compatibilityPage } from './compatibility-page.ts'
import { freePort } from './ports.ts'
import { fetchSdk, readWithSdk } from './python-clients.ts'
import { startSluice } from './sluice-process.ts'
import { until } from './until.ts'

/** Time in which the demo's chains make what the operations ask for. */
const LISTEN_SECONDS = 30

await fetchSdk()
const folder = mkdtempSync(join(tmpdir(), 'sluice-compatibility-'))
const run = startSluice(['start', '--data', folder, '--port', String(await freePort())])
try {
  await until(() => run.out.text.includes('Ctrl-C'), 'the welcome is printed', 180_000)
  const reading = await readWithSdk(join(folder, 'demo.json'), LISTEN_SECONDS, ['all'])
  const page = new URL('../../docs/compatibility.md', import.meta.url)
  writeFileSync(page, compatibilityPage(reading))
} finally {
  await run.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}
