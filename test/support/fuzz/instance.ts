import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DemoFile } from '../../../cli/app/data-folder.ts'
import type { DemoExamples } from '../../../cli/standalone/welcome.ts'
import { freePort } from '../ports.ts'
import { startSluice } from '../sluice-process.ts'
import { until } from '../until.ts'
import { PAYMENT_ENVIRONMENT } from './payment-headers.ts'
import type { FuzzTarget } from './surface.ts'

/** One `sluice start` on simulated chains at a low rate, as the drill attacks it. */
export interface FuzzInstance {
  readonly target: FuzzTarget
  readonly healthUrl: string
  isRunning(): boolean
  /** The end of what it printed as errors. */
  errors(): string
  stop(): Promise<void>
}

/** Organizations whose keys take turns: limits hold by organization. */
const ORGANIZATIONS = 64
const START_LIMIT_MS = 180_000
/** What most installations leave off: with it there is more behind the routes. Nothing is sent to the storage. */
const ENVIRONMENT = {
  LOG_LEVEL: 'error',
  ...PAYMENT_ENVIRONMENT,
  IPFS_UPLOAD_URL: 'http://127.0.0.1:9/bucket/',
  IPFS_UPLOAD_KEY_ID: 'key-id',
  IPFS_UPLOAD_SECRET: 'storage secret',
}

const urlPort = (url: string): number => Number(new URL(url).port)

const requestJson = async <T>(url: string, init: RequestInit = {}): Promise<T> => {
  const response = await fetch(url, init)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${text}`)
  return JSON.parse(text) as T
}

const createKeys = async ({ adminUrl, adminToken }: DemoFile): Promise<readonly string[]> => {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  const keys: string[] = []
  for (let made = 0; made < ORGANIZATIONS; made++) {
    const body = JSON.stringify({ name: `fuzz ${made}`, newOrg: `fuzz ${made}`, plan: 'selfhost' })
    const { apiKey } = await requestJson<{ apiKey: string }>(`${adminUrl}/apps`, {
      method: 'POST',
      headers,
      body,
    })
    keys.push(apiKey)
  }
  return keys
}

/** Starts one in a folder of its own and waits until it serves and has caught up. */
export const startFuzzInstance = async (): Promise<FuzzInstance> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'))
  const port = String(await freePort())
  const words = ['start', '--data', folder, '--port', port, '--rate', '1', '--simulate', 'ethereum']
  const run = startSluice(words, ENVIRONMENT)
  const stop = async (): Promise<void> => {
    if (run.isRunning()) await run.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until(
      () => {
        if (!run.isRunning()) throw new Error(`ended: ${run.out.errors}`)
        return run.out.text.includes('Ctrl-C')
      },
      'the instance serves',
      START_LIMIT_MS,
    )
    const read = <T>(name: string): T => JSON.parse(readFileSync(join(folder, name), 'utf8')) as T
    const demo = read<DemoFile & { readonly examples: DemoExamples }>('demo.json')
    const { url } = read<{ url: string }>('ops.json')
    const { examples } = demo
    const keys = await createKeys(demo)
    let next = 0
    const target: FuzzTarget = {
      ports: {
        public: urlPort(demo.baseUrl),
        streams: urlPort(demo.wsUrl),
        admin: urlPort(demo.adminUrl),
        ops: urlPort(url),
      },
      nextKey: () => keys[next++ % keys.length] ?? '',
      adminToken: demo.adminToken,
      clientId: demo.clientId,
      clientSecret: demo.clientSecret,
      chain: examples.chain,
      words: { token: examples.token, pool: examples.pool, wallet: examples.wallet },
    }
    const healthUrl = `${url}/health`
    return { target, healthUrl, isRunning: run.isRunning, errors: () => run.out.errors, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
