/** A process of the soak: the nodes of simulated chains, or the whole product over them, or both in one as `npm start` has it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../../cli/app/app.ts'
import { nodeSource } from '../../../cli/app/node-source.ts'
import type { AppChain } from '../../../cli/app/services.ts'
import { loadConfig } from '../../../core/config/load.ts'
import type { ChainExtra } from '../../../core/config/settings.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { makeMetrics } from '../../../core/ops/metrics.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import { startSimulator } from '../../../simulator/start.ts'

/** A chain of the soak and its swaps per second of chain time. */
export interface SoakChain {
  readonly id: 'sol' | 'eth'
  readonly ratePerSecond: number
}

/** Where the node of a chain is, and what its ingestor must be told. */
export interface SoakNode {
  readonly id: SoakChain['id']
  readonly url: string
  readonly extra: ChainExtra
}

/** What the child is started with, as JSON in its first argument. */
export interface SoakOptions {
  /** Nodes that it runs itself. */
  readonly make: readonly SoakChain[]
  /** Nodes of another process. */
  readonly follow: readonly SoakNode[]
  /** True: it is the product, over all of them. */
  readonly product: boolean
}

/** What the child tells its parent. */
export type SoakMessage =
  | { readonly kind: 'nodes'; readonly nodes: readonly SoakNode[] }
  | { readonly kind: 'product'; readonly wsUrl: string; readonly apiKey: string }
  | SoakUsage

/** What a process has of the machine; pages of files, which the machine takes back when it needs them, are counted apart. */
export interface SoakUsage {
  readonly kind: 'usage'
  readonly ownBytes: number
  readonly fileBytes: number
  /** The part of `ownBytes` that JavaScript objects and buffers hold. */
  readonly heapBytes: number
  readonly cpuMs: number
}

/** How long the chains are when the soak begins. */
const HISTORY_MS = 30_000
const USAGE_EVERY_MS = 1_000

const startNode = async ({ id, ratePerSecond }: SoakChain): Promise<SoakNode> => {
  const genesisMs = Date.now() - HISTORY_MS
  const plan = { chain: id, seed: 3, ratePerSecond, genesisMs, log: makeSilentLogger() }
  const { wsUrl: url, extra } = await startSimulator(plan)
  return { id, url, extra }
}

const startProduct = async (nodes: readonly SoakNode[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-'))
  const [log, metrics] = [makeSilentLogger(), makeMetrics()]
  const chainExtra = Object.fromEntries(nodes.map(({ id, extra }) => [id, extra]))
  const config = { ...loadConfig({}, { port: 0, keyPepper: 'soak' }), chainExtra }
  const chains = await Promise.all(
    nodes.map(async ({ id, url, extra }): Promise<AppChain> => {
      const source = await nodeSource({
        chain: CHAINS[id],
        urls: [url],
        from: 0,
        config,
        metrics,
        log,
        signal: new AbortController().signal,
      })
      return { row: CHAINS[id], source, extra }
    }),
  )
  const app = await createApp({
    config,
    chains,
    metrics,
    log,
    logPath: join(folder, 'log'),
    warehousePath: join(folder, 'warehouse'),
    onFatal: (error) => {
      throw error
    },
  })
  const stop = async (): Promise<void> => {
    await app.stop('the soak is over')
    rmSync(folder, { recursive: true, force: true })
  }
  return { app, stop }
}

const statusBytes = (status: string, name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1_024

const readUsage = (): SoakUsage => {
  const { user, system } = process.cpuUsage()
  const { heapUsed, external } = process.memoryUsage()
  const status = readFileSync('/proc/self/status', 'utf8')
  return {
    kind: 'usage',
    ownBytes: statusBytes(status, 'RssAnon'),
    fileBytes: statusBytes(status, 'RssFile'),
    heapBytes: heapUsed + external,
    cpuMs: (user + system) / 1_000,
  }
}

/** A parent that is gone hears nothing. */
const sendToParent = (word: SoakMessage): void => {
  process.send?.(word, undefined, undefined, () => undefined)
}

const { make, follow, product }: SoakOptions = JSON.parse(process.argv[2] ?? '{}')
let stop = async (): Promise<void> => undefined
process.once('disconnect', () => stop().finally(() => process.exit()))
const nodes = [...follow, ...(await Promise.all(make.map(startNode)))]
sendToParent({ kind: 'nodes', nodes })
if (product) {
  const started = await startProduct(nodes)
  stop = started.stop
  const { wsUrl, organizations } = started.app
  const { apiKey } = await organizations.createDemo()
  sendToParent({ kind: 'product', wsUrl, apiKey })
  const report = setInterval(() => sendToParent(readUsage()), USAGE_EVERY_MS)
  process.once('disconnect', () => clearInterval(report))
}
