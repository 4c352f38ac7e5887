import kafkajs, { Kafka, logLevel, Partitioners } from 'kafkajs'
import type { Bus, Commit, OffsetRange, ProducerRecord } from '../core/bus/contract.ts'
import { openKafkaBus } from '../core/bus/kafka/bus.ts'
import { changelogSpec, topicSpecs } from '../core/bus/topic-specs.ts'
import { localCodec } from '../core/codec/local-codec.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { makeQuoteAssets } from '../core/prices/quote-assets.ts'
import { readTableMetadata } from '../ingestors/decode/metadata-reader.ts'
import { protocolRegistry } from '../ingestors/decode/protocol-registry.ts'
import type { ChainContext } from '../ingestors/publish/block-operation.ts'
import { mergedCommit } from '../ingestors/publish/merge-operations.ts'
import { openLedger } from '../ingestors/publish/metadata-store.ts'
import { makeOperations } from '../ingestors/publish/operation-maker.ts'
import { type BlockReading, readBlock } from '../ingestors/publish/read-block.ts'
import { recover } from '../ingestors/publish/resume.ts'
import { CHAINS } from '../schemas/chains.ts'
import type { EvmBlock } from '../schemas/events.ts'
import { stateTopic } from '../schemas/topics.ts'
import { buildEvmBlock, buildPoolMetadata, WETH } from '../test/support/builders/evm-block.ts'
import { startKafka } from '../test/support/kafka.ts'
import { tryStart } from '../test/support/optional-dependency.ts'
import { addressAt } from './fold-chain.ts'

const CHAIN = CHAINS.eth
const PARTITIONS = 3
/** Swaps of a block, each of a token and pool of its own. */
const SWAPS = 100
const COMMITS = 60
const ROUNDS = 4
const STORE = stateTopic('ingest', CHAIN.id)

const tokenAt = (index: number): string => addressAt(0x1_000 + index)

const POOLS = Array.from({ length: SWAPS }, (_, index) =>
  buildPoolMetadata(addressAt(0x100_000 + index), tokenAt(index), WETH),
)
const TOKENS = [...POOLS.map((_, index) => tokenAt(index)), WETH].map((address) => ({
  address,
  decimals: 18,
  name: address.slice(-4),
  symbol: address.slice(-4),
  totalSupplyRaw: 10n ** 24n,
}))

const blockAt = (height: number, parentHash: string): EvmBlock =>
  buildEvmBlock(
    { height, parentHash },
    POOLS.map(({ address }, index) => ({
      pool: address,
      tokenIn: WETH,
      tokenOut: tokenAt(index),
      amountInRaw: 10n ** 18n,
      amountOutRaw: BigInt(height * 1_000 + index) * 10n ** 15n,
      reservesRaw: [10n ** 24n, 10n ** 21n],
    })),
  )

/** The commit of a block as the ingestor makes it, of tokens and pools that it knows from the block before. */
const ingestorCommit = async (bus: Bus): Promise<Commit> => {
  const chainContext: ChainContext = {
    chain: CHAIN,
    quoteAssets: makeQuoteAssets(CHAIN),
    codec: localCodec(),
    partitions: () => PARTITIONS,
    store: STORE,
    partition: 0,
    nowMs: () => 0,
    commitment: 'processed',
  }
  const ledger = openLedger({ get: () => undefined, entries: () => [] })
  const recovered = await recover(bus, chainContext.codec, CHAIN)
  const operations = makeOperations({ bus, chainContext, ledger }, recovered)
  const reading: BlockReading = {
    protocols: protocolRegistry(CHAIN.id),
    metadataReader: {
      ...readTableMetadata(TOKENS, POOLS),
      metadataSource: 'node',
      verification: 'facts',
    },
    seedPrices: async () => [],
    metrics: makeMetrics(),
  }
  const { signal } = new AbortController()
  const first = blockAt(100, '0x00')
  operations.apply(await readBlock(reading, ledger, first, signal))
  const block = blockAt(101, first.hash)
  const prepared = operations.apply(await readBlock(reading, ledger, block, signal))
  return mergedCommit([prepared], chainContext).commit
}

/** All records of a commit, as a client without a bus would write them: final records and state beside the others. */
const recordsOf = ({
  records = [],
  finalRecords,
  state = [],
}: Commit): readonly ProducerRecord[] => {
  const ranges = new Map<string, OffsetRange>()
  for (const { topic, partition = 0 } of records) {
    const name = `${topic}/${partition}`
    const held = ranges.get(name)?.records ?? 0
    ranges.set(name, { topic, partition, baseOffset: 0, records: held + 1 })
  }
  const changes = state.map(({ store, partition, key, value }) => ({
    topic: store,
    partition,
    key,
    value,
  }))
  return [...records, ...(finalRecords?.([...ranges.values()]) ?? []), ...changes]
}

type CommitBlock = () => Promise<unknown>

/** Milliseconds of each commit. */
const measure = async (commit: CommitBlock): Promise<number[]> => {
  const spent: number[] = []
  for (let i = 0; i < COMMITS; i += 1) {
    const start = performance.now()
    await commit()
    spent.push(performance.now() - start)
  }
  return spent
}

/** A transaction around one `sendBatch` over all partitions: what kafkajs does without guards. */
const bareCommit = async (brokers: readonly string[], records: readonly ProducerRecord[]) => {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const producer = kafka.producer({
    transactionalId: 'bench-bare',
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { initialRetryTime: 5, retries: 1_000 },
  })
  await producer.connect()
  const messagesOf = (topic: string) =>
    records.flatMap(({ key, value, partition = 0, headers, ...record }) =>
      record.topic === topic
        ? [{ key, value: value && Buffer.from(value), partition, ...(headers && { headers }) }]
        : [],
    )
  const topicMessages = [...new Set(records.map(({ topic }) => topic))].map((topic) => ({
    topic,
    messages: messagesOf(topic),
  }))
  const compression = kafkajs.CompressionTypes.GZIP
  const commit: CommitBlock = async () => {
    const transaction = await producer.transaction()
    await transaction.sendBatch({ acks: -1, compression, topicMessages })
    await transaction.commit()
  }
  return { commit, close: () => producer.disconnect() }
}

const at = (sorted: readonly number[], share: number): number =>
  Number((sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2))

const rate = (spent: readonly number[]): number =>
  Math.round((spent.length * SWAPS) / (spent.reduce((a, b) => a + b, 0) / 1_000))

/** Commits of one block to a real broker, as the ingestor makes them: the bus against kafkajs alone with the same records and codec. */
export const produceBench = async (): Promise<void> => {
  const cluster = await tryStart('a Kafka broker (Java, Maven)', () => startKafka(1))
  if (!cluster) return
  const { brokers } = cluster
  const bus = await openKafkaBus({ brokers, clientId: 'bench', log: makeSilentLogger() })
  const plan = { chains: [CHAIN.id], partitions: PARTITIONS, retention: 'off' } as const
  await bus.createTopics([...topicSpecs(plan), changelogSpec(STORE, 1)])
  const commit = await ingestorCommit(bus)
  const records = recordsOf(commit)
  const writer = await bus.writer('bench-bus')
  const bare = await bareCommit(brokers, records)
  const ours: CommitBlock = () => writer.commit(commit)
  await measure(ours)
  await measure(bare.commit)
  const spent = { ours: [] as number[], bare: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    spent.ours.push(...(await measure(ours)))
    spent.bare.push(...(await measure(bare.commit)))
  }
  await writer.close()
  await bare.close()
  await bus.close()
  await cluster.stop()
  const sorted = [...spent.ours].sort((a, b) => a - b)
  const [perSecond, barePerSecond] = [rate(spent.ours), rate(spent.bare)]
  console.log(
    JSON.stringify({
      bench: 'produce',
      node: process.version,
      records: records.length,
      bytes: records.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0),
      perSecond,
      p50Ms: at(sorted, 0.5),
      p99Ms: at(sorted, 0.99),
      barePerSecond,
      ratio: Number((perSecond / barePerSecond).toFixed(2)),
      bare: 'kafkajs: one transaction and one sendBatch per block, same records, same codec',
    }),
  )
}
