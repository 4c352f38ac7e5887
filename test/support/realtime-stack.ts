import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import type { Codec, DeepPartial } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import type { TlsFiles } from '../../core/config/tls-files.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import type { CandlestickEvent, Messages, TradeEvent } from '../../schemas/wire.ts'
import type { NewApplication } from '../../serving/auth/administration.ts'
import { createOrganizations, type Organizations } from '../../serving/auth/organizations.ts'
import { createMeter, type QuotaMeter } from '../../serving/billing/meter.ts'
import type { FreshnessReader } from '../../serving/interfaces.ts'
import type { ReadStore } from '../../serving/queries/limited-reads.ts'
import { createAdmission } from '../../serving/realtime/admission.ts'
import { type RealtimeServer, startRealtimeServer } from '../../serving/realtime/server.ts'

/** Addresses of the synthetic market; TOKEN is keyed by itself, USDC is a listed quote. */
export const TOKEN = '0x00000000000000000000000000000000000000a1'
export const POOL = '0x00000000000000000000000000000000000000b1'
export const WALLET = '0x00000000000000000000000000000000000000c1'
export const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'

/** A stream server over a real embedded log, real accounts and a real meter. */
export interface RealtimeStack {
  readonly bus: Bus
  readonly codec: Codec
  readonly organizations: Organizations
  readonly key: NewApplication
  readonly metrics: Metrics
  /** Moves the server's clock. */
  advance(ms: number): void
  serve(more?: {
    transport?: 'uws' | 'ws'
    env?: Record<string, string>
    port?: number
    tls?: TlsFiles
  }): Promise<RealtimeServer>
  readonly meter: QuotaMeter
  /** Commits a block's records in one transaction. */
  commit(records: readonly RecordInput[]): Promise<void>
  /** Commits one record of a topic of the chain with the events. */
  publish<Name extends EventMessage>(
    topic: keyof typeof TOPICS,
    message: Name,
    events: readonly DeepPartial<Messages[Name]['events'][number]>[],
    op?: 'OP_APPLY' | 'OP_REVERT',
  ): Promise<void>
  /** Commits one record as it is. */
  publishBytes(topic: string, key: string, value: Uint8Array): Promise<void>
  close(): Promise<void>
}

/** Messages that hold events. */
type EventMessage = {
  [Name in keyof Messages]: Messages[Name] extends { readonly events: readonly unknown[] }
    ? Name
    : never
}[keyof Messages]

/** A record to commit: its topic and key follow from its kind. */
export type RecordInput =
  | {
      readonly trade: DeepPartial<TradeEvent>
      readonly op?: 'OP_APPLY' | 'OP_REVERT'
      readonly key?: string
    }
  | { readonly trades: readonly DeepPartial<TradeEvent>[] }
  | { readonly candle: DeepPartial<CandlestickEvent> }
  | { readonly token: { readonly address: string; readonly name: string; readonly symbol: string } }

const FIXED_FRESHNESS: FreshnessReader = {
  of: async () => ({
    head: 120,
    headTimeMs: 1_760_000_120_000,
    headSlot: 120,
    since: 1,
    sinceTimeMs: 1_760_000_000_000,
    sinceSlot: 1,
  }),
}

/** Lists that are read from a store are tested against a real one elsewhere; here they have no elements. */
const EMPTY_WAREHOUSE: ReadStore = {
  query: async () => ({ rows: [], rowsRead: 0, elapsedMs: 0 }),
  queryText: async () => ({ body: Buffer.alloc(0), rowCount: 0, rowsRead: 0, elapsedMs: 0 }),
  places: { point: 2, scan: 2, internal: 2 },
}

/** Opens everything but the server. */
export const startRealtimeStack = async (): Promise<RealtimeStack> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-realtime-'))
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 256 * 1_024 * 1_024,
    log,
    retention: 'off',
  })
  await bus.createTopics(
    Object.entries(TOPICS).map(([topic, row]) => ({
      topic: topicName(topic as keyof typeof TOPICS, 'eth'),
      partitions: row.partitions === 'one' ? 1 : 3,
      cleanup: row.cleanup,
      retentionMs: null,
    })),
  )
  const codec = localCodec()
  let shiftMs = 0
  const nowMs = (): number => Date.now() + shiftMs
  const config = loadConfig({})
  const authUrl = (): string => 'https://auth.test'
  const metrics = makeMetrics()
  /** Servers of one stack count together, also what a process observes once. */
  const shared: Metrics = { ...metrics, observe: (metric, read) => metrics.observe(metric, read) }
  const organizations = await createOrganizations({
    bus,
    codec,
    config,
    authUrl,
    nowMs,
    log,
    metrics,
    checkEveryMs: 20,
  })
  const key = await organizations.createKey({ name: 'test', plan: 'selfhost' })
  const meter = createMeter({ nowMs })
  const writer = await bus.writer('test')
  const running = new Set<RealtimeServer>()
  let seq = 0
  return {
    bus,
    codec,
    organizations,
    key,
    metrics,
    advance: (ms) => {
      shiftMs += ms
    },
    meter,
    serve: async ({ transport, env = {}, port = 0, tls } = {}) => {
      const config = loadConfig(env)
      const server = await startRealtimeServer({
        bus,
        codec,
        guard: organizations.guard,
        meter,
        freshness: FIXED_FRESHNESS,
        warehouse: EMPTY_WAREHOUSE,
        chains: ['eth'],
        config,
        admission: createAdmission(config),
        host: '127.0.0.1',
        port,
        metrics: shared,
        log,
        nowMs,
        ...(transport && { transport }),
        ...(tls && { tls }),
      })
      running.add(server)
      return server
    },
    commit: async (rows) => {
      seq += 1
      const block = { key: 'eth', topic: topicName('blocks', 'eth') }
      const value = codec.encode('block.BlockEvent', {
        meta: { chain: 'eth', op: 'OP_APPLY', seq, height: seq },
      })
      await writer.commit({
        records: rows.map((row, part) => toRecord(codec, row, { seq, part })),
        finalRecords: () => [{ ...block, value }],
      })
    },
    publish: async (topic, message, events, op = 'OP_APPLY') => {
      seq += 1
      const meta = { chain: 'eth', op, seq, block_time: 1_760_000_000_000 + seq }
      const value = codec.encode(message, { meta, events } as never)
      await writer.commit({ records: [{ topic: topicName(topic, 'eth'), key: TOKEN, value }] })
    },
    publishBytes: async (topic, key, value) => {
      await writer.commit({ records: [{ topic, key, value }] })
    },
    close: async () => {
      await Promise.all([...running].map((server) => server.stop()))
      await organizations.stop()
      await bus.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const toRecord = (codec: Codec, row: RecordInput, { seq, part }: { seq: number; part: number }) => {
  const meta = { chain: 'eth', op: 'OP_APPLY', seq, part } as const
  if ('trade' in row) {
    const { trade, op = 'OP_APPLY', key = trade.trade?.token_a_address ?? TOKEN } = row
    const value = codec.encode('dex.trade.TradeEvents', { meta: { ...meta, op }, events: [trade] })
    return { topic: topicName('tradesProcessed', 'eth'), key, value }
  }
  if ('trades' in row) {
    const value = codec.encode('dex.trade.TradeEvents', { meta, events: row.trades })
    return { topic: topicName('tradesProcessed', 'eth'), key: TOKEN, value }
  }
  if ('candle' in row) {
    const value = codec.encode('candlestick.CandlestickEvents', { meta, events: [row.candle] })
    return {
      topic: topicName('candlesticks', 'eth'),
      key: row.candle.token_address ?? TOKEN,
      value,
    }
  }
  const value = codec.encode('token.TokenEvents', { meta, events: [{ token: row.token }] })
  return { topic: topicName('tokensProcessed', 'eth'), key: row.token.address, value }
}

/** Trade `index`: TOKEN sold for USDC, 2.5 TOKEN at 2 USD each. */
export const buildTradeEvent = (
  index: number,
  more: DeepPartial<TradeEvent['trade']> = {},
): DeepPartial<TradeEvent> => ({
  block: { timestamp: 1_760_000_000_000 + index * 12_000 },
  transaction: { signature: `0x${index.toString(16).padStart(64, '0')}` },
  trade: {
    token_a_address: TOKEN,
    token_b_address: USDC,
    user_a_account_owner_address: WALLET,
    user_b_account_owner_address: WALLET,
    user_a_amount: '2500000000000000000',
    user_b_amount: '5000000',
    was_original_direction: true,
    token_a_decimals: 18,
    token_b_decimals: 6,
    pool_address: POOL,
    ...more,
  },
  trade_processed: { token_a_price_in_usd: '2', token_b_price_in_usd: '1' },
})

/** A one-minute candle of TOKEN. */
export const buildCandleEvent = (
  minute: number,
  close: string,
  more: DeepPartial<CandlestickEvent> = {},
): DeepPartial<CandlestickEvent> => ({
  token_address: TOKEN,
  resolution: '1m',
  timestamp: String(1_760_000_040_000 + minute * 60_000),
  open: '1.5',
  high: '3',
  low: '1.25',
  close,
  open_in_native: '0.0005',
  high_in_native: '0.001',
  low_in_native: '0.0004',
  close_in_native: '0.0007',
  volume: '55.5',
  trades: 12,
  dimension: 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS',
  dimension_address: TOKEN,
  ...more,
})
