import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { createApp } from '../cli/app/app.ts'
import { loadConfig } from '../core/config/load.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { resolveWorkerModule } from '../core/runtime/thread-pool.ts'
import { evmSource } from '../ingestors/evm/source/evm-source.ts'
import type { Source } from '../ingestors/follow/contract.ts'
import { CHAINS } from '../schemas/chains.ts'
import { startKafka, startRegistry } from '../test/support/kafka.ts'
import { tryStart } from '../test/support/optional-dependency.ts'
import { rounded } from './fold-chain.ts'
import type { LatencyChainData, LatencyChainNode } from './latency-chain.ts'
import type { LatencyClientData, SeenTrade } from './latency-client.ts'
import { quantile } from './quantile.ts'

const WARM_UP_MS = 15_000
const MEASURE_MS = 45_000
const BLOCK_INTERVAL_MS = 1_000
/** How much faster than the clock the chain goes. */
const PACE = CHAINS.eth.blockTimeMs / BLOCK_INTERVAL_MS
/** Trades of a block, about: a small one and a large one. */
const BLOCK_SIZES = [6, 60] as const
/** About what a trade takes as JSON. */
const TRADE_BYTES = 1_000

/** Delays in milliseconds, ascending. */
type Delays = readonly number[]

interface KafkaServers {
  readonly brokers: readonly string[]
  readonly registryUrl: string
}

/** The same source; `onBlock` is told of each block when the ingestor has it. */
const watchBlocks = (source: Source, onBlock: (timeMs: number) => void): Source => ({
  ...source,
  async *operations(position, stop) {
    for await (const op of source.operations(position, stop)) {
      if (op.op === 'apply') onBlock(op.block.timeMs)
      yield op
    }
  },
})

/** kafkajs alone: a block is one `send` with a message for each trade, read by `eachMessage`. Produce to consume. */
const bareDelays = async ({ brokers }: KafkaServers, blockTrades: number): Promise<Delays> => {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const topic = `bench.latency.${Date.now()}`
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  const consumer = kafka.consumer({ groupId: topic })
  const admin = kafka.admin()
  await Promise.all([producer.connect(), consumer.connect(), admin.connect()])
  await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: true })
  await consumer.subscribe({ topics: [topic] })
  const delays: number[] = []
  let measuring = false
  await consumer.run({
    eachMessage: async ({ message: { value } }) => {
      const { sentMs } = JSON.parse(value?.toString() ?? '') as { sentMs: number }
      if (measuring) delays.push(performance.now() - sentMs)
    },
  })
  const padding = 'x'.repeat(TRADE_BYTES)
  const send = (): void => {
    const sentMs = performance.now()
    const messages = Array.from({ length: blockTrades }, (_, index) => ({
      key: `${index}`,
      value: JSON.stringify({ sentMs, padding }),
    }))
    void producer.send({ topic, messages })
  }
  const timer = setInterval(send, BLOCK_INTERVAL_MS)
  await sleep(WARM_UP_MS)
  measuring = true
  await sleep(MEASURE_MS)
  clearInterval(timer)
  await Promise.all([consumer.disconnect(), producer.disconnect(), admin.disconnect()])
  return delays.sort((a, b) => a - b)
}

/** Starts a thread whose module lies in this folder. */
const startThread = (name: string, data: unknown) => {
  const { url, execArgv } = resolveWorkerModule(new URL(`./${name}`, import.meta.url))
  const worker = new Worker(url, {
    workerData: data,
    ...(execArgv && { execArgv: [...execArgv] }),
  })
  /** Its next message. */
  const next = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  const end = async (): Promise<void> => {
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage('end')
    await exited
  }
  return { next, end }
}

/**
 * The whole product in one process: from a block in the ingestor's hands to its trades being read by a client. The chain and the
 * client are threads of their own, as the broker is beside kafkajs.
 */
const productDelays = async (
  servers: KafkaServers | undefined,
  blockTrades: number,
): Promise<Delays> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const log = makeSilentLogger()
  const metrics = makeMetrics()
  const closing = new AbortController()
  const { blockTimeMs } = CHAINS.eth
  const chain = startThread('latency-chain', {
    blockTrades,
    pace: PACE,
    blockTimeMs,
  } satisfies LatencyChainData)
  const { wsUrl, extra } = await chain.next<LatencyChainNode>()
  const seenMs = new Map<number, number>()
  const node = await evmSource({
    // A chain of such blocks: heads that come faster than a chain can make them are not believed.
    chain: { ...CHAINS.eth, blockTimeMs: BLOCK_INTERVAL_MS },
    urls: [wsUrl],
    concurrency: 8,
    timeoutMs: 10_000,
    from: 0,
    metrics,
    log,
    signal: closing.signal,
  })
  const source = watchBlocks(node, (timeMs) =>
    seenMs.set(timeMs, performance.timeOrigin + performance.now()),
  )
  const config = loadConfig(
    {},
    {
      port: 0,
      keyPepper: 'bench',
      dataDir: folder,
      ...(servers && {
        kafkaBrokers: [...servers.brokers],
        schemaRegistryUrl: servers.registryUrl,
      }),
    },
  )
  const app = await createApp({
    config: { ...config, chainExtra: { eth: extra } },
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
  await sleep(WARM_UP_MS)
  const channels = extra.quotes.map(({ address }) => `dex-trade:eth_${address}`)
  const client = startThread('latency-client', {
    url: app.wsUrl,
    apiKey,
    channels,
  } satisfies LatencyClientData)
  await sleep(MEASURE_MS)
  const seen = client.next<readonly SeenTrade[]>()
  await client.end()
  const delays = (await seen).flatMap(([blockMs, atMs]) => {
    const fromMs = seenMs.get(blockMs)
    return fromMs === undefined ? [] : [atMs - fromMs]
  })
  await app.stop('measured')
  closing.abort()
  await chain.end()
  rmSync(folder, { recursive: true, force: true })
  return delays.sort((a, b) => a - b)
}

const lineOf = (
  of: { readonly log: 'embedded' | 'kafka'; readonly blockTrades: number },
  ours: Delays,
  bares: readonly Delays[],
) => {
  const bare = bares.flat().sort((a, b) => a - b)
  const at = (delays: Delays, share: number): number => rounded(quantile(delays, share))
  const ratio = (share: number): number => rounded(quantile(ours, share) / quantile(bare, share))
  return {
    bench: 'latency',
    node: process.version,
    log: of.log,
    blockTrades: of.blockTrades,
    perSecond: Math.round((ours.length / MEASURE_MS) * 1_000),
    p50Ms: at(ours, 0.5),
    p99Ms: at(ours, 0.99),
    bareP50Ms: at(bare, 0.5),
    bareP99Ms: at(bare, 0.99),
    p50Ratio: ratio(0.5),
    p99Ratio: ratio(0.99),
    bare: 'kafkajs alone, produce to consume: one send per block of as many messages, eachMessage',
  }
}

/**
 * Time from a block of trades in the ingestor's hands to `dex-trade` frames at a client, the whole product in one process, over the
 * embedded log and over Kafka; kafkajs alone on the same broker before and after. A chain's topics belong to one run, so each size has
 * a broker of its own.
 */
export const latencyBench = async (): Promise<void> => {
  for (const blockTrades of BLOCK_SIZES) {
    const started = await tryStart('Kafka and its registry (Java, Maven, pip)', () =>
      Promise.all([startKafka(1), startRegistry()]),
    )
    if (started === undefined) return
    const [{ brokers }, { url: registryUrl }] = started
    const servers = { brokers, registryUrl }
    try {
      const before = await bareDelays(servers, blockTrades)
      const kafka = await productDelays(servers, blockTrades)
      const between = await bareDelays(servers, blockTrades)
      const embedded = await productDelays(undefined, blockTrades)
      const after = await bareDelays(servers, blockTrades)
      console.log(JSON.stringify(lineOf({ log: 'kafka', blockTrades }, kafka, [before, between])))
      console.log(
        JSON.stringify(lineOf({ log: 'embedded', blockTrades }, embedded, [between, after])),
      )
    } finally {
      await Promise.all(started.map((server) => server.stop()))
    }
  }
}
