import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { createApp } from '../cli/app/app.ts'
import { loadConfig } from '../core/config/load.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { evmSource } from '../ingestors/evm/source/evm-source.ts'
import { CHAINS } from '../schemas/chains.ts'
import { startSimulator } from '../simulator/start.ts'
import { quantile } from './quantile.ts'

const WARM_UP_MS = 6_000
const MEASURE_MS = 20_000
/** Trades per second of chain time, and how much faster than the clock the chain goes: a block of 60 trades a second. */
const RATE = 5
const PACE = 12
const GENESIS_MS = Date.UTC(2026, 0, 1)

/** A plain socket; every JSON line that comes is handed over with its time of arrival. */
const openLines = (url: string, onLine: (line: unknown, atMs: number) => void) =>
  new Promise<WebSocket>((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.once('open', () => resolve(socket))
    socket.once('error', reject)
    socket.on('message', (data) => {
      const atMs = performance.now()
      for (const text of String(data).split('\n')) if (text !== '') onLine(JSON.parse(text), atMs)
    })
  })

/** Time from a block being announced by the node to its trades being read by a client of the product. */
export const latencyBench = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const log = makeSilentLogger()
  const metrics = makeMetrics()
  const closing = new AbortController()
  const startedMs = Date.now()
  const simulator = await startSimulator({
    chain: 'eth',
    seed: 7,
    ratePerSecond: RATE,
    genesisMs: GENESIS_MS,
    log,
    nowMs: () => GENESIS_MS + 120_000 + (Date.now() - startedMs) * PACE,
  })
  const source = await evmSource({
    chain: CHAINS.eth,
    urls: [simulator.wsUrl],
    concurrency: 8,
    timeoutMs: 10_000,
    from: null,
    metrics,
    log,
    signal: closing.signal,
  })
  const { extra } = simulator
  const app = await createApp({
    config: { ...loadConfig({}, { port: 0, keyPepper: 'bench' }), chainExtra: { eth: extra } },
    chains: [{ row: CHAINS.eth, source, extra }],
    metrics,
    log,
    logPath: join(folder, 'log'),
    warehousePath: join(folder, 'warehouse'),
    onFatal: (error) => {
      throw error
    },
  })
  const { apiKey } = await app.organizations.createDemo()
  const announced = new Map<number, number>()
  const delays: number[] = []
  let measuring = false
  const node = await openLines(simulator.wsUrl, (line, atMs) => {
    const { params } = line as { params?: { result?: { timestamp: string } } }
    const timestamp = params?.result?.timestamp
    if (timestamp !== undefined) announced.set(Number(timestamp) * 1_000, atMs)
  })
  node.send(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }),
  )
  const client = await openLines(app.wsUrl, (line, atMs) => {
    const { push } = line as { push?: { pub?: { data: { t: number } } } }
    const seenMs = push?.pub && announced.get(push.pub.data.t)
    if (measuring && seenMs !== undefined) delays.push(atMs - seenMs)
    else if (Object.keys(line as object).length === 0) client.send('{}')
  })
  const quotes = extra.quotes.map(({ address }) => address)
  const channels = quotes.map((token) => `dex-trade:eth_${token}`)
  const commands = channels.map((channel, index) => ({ id: index + 2, subscribe: { channel } }))
  const connect = { id: 1, connect: { token: apiKey } }
  client.send([connect, ...commands].map((command) => JSON.stringify(command)).join('\n'))
  await sleep(WARM_UP_MS)
  measuring = true
  await sleep(MEASURE_MS)
  measuring = false
  node.close()
  client.close()
  await app.stop('measured')
  closing.abort()
  await simulator.stop()
  rmSync(folder, { recursive: true, force: true })
  delays.sort((a, b) => a - b)
  const row = {
    bench: 'latency',
    node: process.version,
    perSecond: Math.round((delays.length / MEASURE_MS) * 1_000),
    p50Ms: Math.round(quantile(delays, 0.5)),
    p99Ms: Math.round(quantile(delays, 0.99)),
    bare: 'none: block announced by the node to dex-trade frame read by a client',
  }
  console.log(JSON.stringify(row))
}
