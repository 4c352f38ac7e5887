import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { FetchedMetadata } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { startIngestor } from '../../ingestors/start.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import type { DexPoolEvent, TradeEvent } from '../../schemas/wire.ts'
import { collectOperations } from './follow-source.ts'
import { type DataRecord, readDataRecords } from './read-ingest-topics.ts'
import { until } from './until.ts'

/** A node, what its chain must be told, and which of its blocks are wanted. */
export interface IngestRequest {
  readonly url: string
  readonly extra: ChainExtra
  /** First block. */
  readonly from: number
  /** Newest block. */
  readonly to: number
}

/** A trade as its record says it, from the trader's side. */
export interface IngestedTrade {
  readonly hash: string
  readonly protocol: string
  readonly factory: string
  readonly pool: string
  readonly vault: string
  readonly trader: string
  readonly tokenIn: string
  readonly tokenOut: string
  readonly inRaw: bigint
  readonly outRaw: bigint
}

/** A change of a pool as its record says it. */
export interface IngestedPoolChange {
  readonly hash: string
  readonly type: string
  readonly pool: string
  readonly vault: string
  readonly owner: string
  /** What moved, by token. */
  readonly moved: ReadonlyMap<string, bigint>
}

const toIngestedTrade = ({ transaction, instruction, d_app, trade }: TradeEvent): IngestedTrade => {
  if (!transaction || !instruction || !d_app || !trade) throw new Error('a trade without its head')
  const a = { token: trade.token_a_address, raw: BigInt(trade.user_a_amount) }
  const b = { token: trade.token_b_address, raw: BigInt(trade.user_b_amount) }
  const [given, taken] = trade.was_original_direction ? [a, b] : [b, a]
  return {
    hash: transaction.signature,
    protocol: instruction.type,
    factory: d_app.program_address,
    pool: trade.pool_address,
    vault: trade.vault_a_owner_address,
    trader: trade.user_a_account_owner_address,
    tokenIn: given.token,
    tokenOut: taken.token,
    inRaw: given.raw,
    outRaw: taken.raw,
  }
}

const toIngestedPoolChange = ({ type, transaction, pool }: DexPoolEvent): IngestedPoolChange => {
  if (!transaction || !pool) throw new Error('a change without its head')
  return {
    hash: transaction.signature,
    type,
    pool: pool.address,
    owner: pool.lp_wallet,
    vault: pool.token_a_vault_owner_address,
    moved: new Map([
      [pool.token_a_address, BigInt(pool.token_a_amount)],
      [pool.token_b_address, BigInt(pool.token_b_amount)],
    ]),
  }
}

interface EventWithIndex {
  readonly instruction: { readonly event_index: number } | null
}

/** Events in the order of the chain: those of a block lie in several partitions. */
const sortByChainOrder = <Event extends EventWithIndex>(
  records: readonly DataRecord[],
  family: DataRecord['family'],
): Event[] =>
  records
    .filter((record) => record.family === family)
    .flatMap(({ meta, events }) => (events as Event[]).map((event) => ({ seq: meta.seq, event })))
    .toSorted(
      (one, other) => one.seq - other.seq || eventIndex(one.event) - eventIndex(other.event),
    )
    .map(({ event }) => event)

const eventIndex = ({ instruction }: EventWithIndex): number => instruction?.event_index ?? 0

const createSource = ({ url, from }: IngestRequest, signal: AbortSignal) =>
  evmSource({
    chain: { ...CHAINS.eth, blockTimeMs: 200 },
    urls: [url],
    concurrency: 8,
    timeoutMs: 5_000,
    from,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    signal,
  })

/** Trades and changes of pools, in the order of the chain. */
export interface Ingested {
  readonly trades: readonly IngestedTrade[]
  readonly changes: readonly IngestedPoolChange[]
}

/** What the ingestor of the product publishes of a node's blocks. */
export const ingestBlocks = async (wanted: IngestRequest): Promise<Ingested> => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-ingested-'))
  const log = makeSilentLogger()
  const closing = new AbortController()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 64 << 20, log, retention: 'off' })
  try {
    await bus.createTopics(topicSpecs({ chains: ['eth'], partitions: 2, retention: 'off' }))
    const codec = localCodec()
    const ingestor = await startIngestor({
      chain: CHAINS.eth,
      source: await createSource(wanted, closing.signal),
      bus,
      codec,
      log,
      config: { retention: 'off', pricesStatic: {} },
      extra: wanted.extra,
      metrics: makeMetrics(),
    })
    await until(() => (ingestor.status().height ?? -1) >= wanted.to, 'the newest block', 30_000)
    await ingestor.stop()
    const records = await readDataRecords(bus, codec)
    return {
      trades: sortByChainOrder<TradeEvent>(records, 'trades').map(toIngestedTrade),
      changes: sortByChainOrder<DexPoolEvent>(records, 'pools')
        .filter(({ type }) => type !== 'DEX_POOL_EVENT_TYPE_SWAP')
        .map(toIngestedPoolChange),
    }
  } finally {
    closing.abort()
    await bus.close()
    rmSync(path, { recursive: true, force: true })
  }
}

/** What the node answers when it is asked about pools at the newest block that is wanted. */
export const verifyPools = async (
  wanted: IngestRequest,
  pools: readonly { readonly address: string; readonly family: string }[],
): Promise<FetchedMetadata['pools']> => {
  const closing = new AbortController()
  try {
    const source = await createSource({ ...wanted, from: wanted.to }, closing.signal)
    const reader = source.node?.metadataReader(protocolRegistry('eth', wanted.extra))
    if (reader === undefined) throw new Error('a node can be asked')
    const [first] = await collectOperations(source, (ops) => ops.length > 0)
    if (first?.op !== 'apply') throw new Error('the newest block comes first')
    const block: Block = first.block
    const { pools: facts } = await reader.read({ pools, tokens: [] }, block, closing.signal)
    return facts
  } finally {
    closing.abort()
  }
}
