import { createHash } from 'node:crypto'
import type { GroupOffset, Lane, LogRecord, OutRecord } from '../core/bus-contract.ts'
import type { Codec } from '../core/codec-contract.ts'
import { deadLetter, orPoison } from '../core/dead-letter.ts'
import { Malformed } from '../core/fault.ts'
import { retry } from '../core/retry.ts'
import type { Warehouse } from '../core/warehouse.ts'
import { type Topic, topicName } from '../schemas/topics.ts'
import type { EventMeta } from '../schemas/wire.ts'
import {
  checkBalances,
  checkPools,
  checkSupplies,
  checkTokens,
  checkTrades,
  checkTransfers,
} from './check.ts'
import { documentRows } from './document-rows.ts'
import { marketRows, priceRows, statRows, supplyRows } from './market-rows.ts'
import { blockRows, finalRows, type Row } from './rows.ts'
import type { LaneStatus, ProcessDeps, StageRunning } from './run.ts'
import { poolBirthRows, poolEventRows, poolRows, tokenRows } from './state-rows.ts'
import { tradeRows, transferRows } from './trade-rows.ts'
import { balanceRows, holderRows, holdingRows, pnlRows, pnlTradeRows } from './wallet-rows.ts'

/** Rows for one table, without the chain prefix. */
interface TableRows {
  readonly table: string
  readonly rows: readonly Row[]
}

/** A topic and the tables that it feeds; tables are written in this order. */
export interface Sink {
  readonly topic: Topic
  /** Pure function of the record. Throws `Malformed`. */
  readonly map: (
    codec: Codec,
    bytes: Uint8Array,
  ) => { readonly meta: EventMeta | null; readonly tables: readonly TableRows[] }
}

/** Facts stored as they are. None of these tables may feed a view that sums over inserts (contract/kafka.md 3.4). */
export const SINKS: readonly Sink[] = [
  {
    topic: 'blocks',
    map: (codec, bytes) => {
      const block = codec.decode('block.BlockEvent', bytes)
      return {
        meta: block.meta,
        tables: [
          { table: 'blocks', rows: blockRows(block) },
          { table: 'chain_state', rows: finalRows(block) },
        ],
      }
    },
  },
  {
    topic: 'tradesProcessed',
    map: (codec, bytes) => {
      const value = checkTrades(codec.decode('dex.trade.TradeEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'dex_trades', rows: tradeRows(value) }] }
    },
  },
  {
    topic: 'poolsProcessed',
    map: (codec, bytes) => {
      const value = checkPools(codec.decode('dex.pool.DexPoolEvents', bytes))
      return {
        meta: value.meta,
        tables: [
          { table: 'dex_pool_events_enriched', rows: poolEventRows(value) },
          { table: 'dex_pools', rows: poolRows(value) },
          { table: 'dex_pool_births', rows: poolBirthRows(value) },
        ],
      }
    },
  },
  {
    topic: 'tokensProcessed',
    map: (codec, bytes) => {
      const value = checkTokens(codec.decode('token.TokenEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'tokens', rows: tokenRows(value) }] }
    },
  },
  {
    topic: 'tokenDocuments',
    map: (codec, bytes) => {
      const value = codec.decode('token.TokenEvents', bytes)
      return { meta: null, tables: [{ table: 'token_documents', rows: documentRows(value) }] }
    },
  },
  {
    topic: 'tradeStats',
    map: (codec, bytes) => {
      const value = codec.decode('trade.stat.TradeStatEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_stats', rows: statRows(value) }] }
    },
  },
  {
    topic: 'tokenPrices',
    map: (codec, bytes) => {
      const value = codec.decode('token.price.TokenPriceEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_prices', rows: priceRows(value) }] }
    },
  },
  {
    topic: 'tokenMarketCaps',
    map: (codec, bytes) => {
      const value = codec.decode('token.market_cap.TokenMarketCapEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_markets', rows: marketRows(value) }] }
    },
  },
  {
    topic: 'tokenSuppliesProcessed',
    map: (codec, bytes) => {
      const value = checkSupplies(codec.decode('token.supply.TokenSupplyEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'token_supplies', rows: supplyRows(value) }] }
    },
  },
  {
    topic: 'transfersProcessed',
    map: (codec, bytes) => {
      const value = checkTransfers(codec.decode('transfer.TransferEvents', bytes))
      return { meta: value.meta, tables: [{ table: 'transfers', rows: transferRows(value) }] }
    },
  },
  {
    topic: 'balancesProcessed',
    map: (codec, bytes) => {
      const value = checkBalances(codec.decode('balance.BalanceEvents', bytes))
      const holders = holderRows(value)
      return {
        meta: value.meta,
        tables: [
          { table: 'balance_updates', rows: balanceRows(value) },
          { table: 'token_holders', rows: holders },
          { table: 'wallet_balances', rows: holders },
        ],
      }
    },
  },
  {
    topic: 'tokenHoldings',
    map: (codec, bytes) => {
      const value = codec.decode('token.holding.TokenHoldingEvents', bytes)
      return { meta: value.meta, tables: [{ table: 'token_holdings', rows: holdingRows(value) }] }
    },
  },
  {
    topic: 'walletTokenPnls',
    map: (codec, bytes) => {
      const value = codec.decode('wallet.pnl.WalletTokenPnlEvents', bytes)
      return {
        meta: value.meta,
        tables: [
          { table: 'wallet_token_pnl', rows: pnlRows(value) },
          { table: 'wallet_pnl_trades', rows: pnlTradeRows(value) },
        ],
      }
    },
  },
]

/** Tables of the newest state, and the columns that name what a row is the state of: a batch writes each subject once, as it left it. */
export const SUBJECTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['dex_pools', ['pool_address']],
  ['tokens', ['token_address']],
  ['token_stats', ['token_address', 'resolution']],
  ['token_prices', ['token_address']],
  ['token_markets', ['token_address']],
  ['token_holders', ['token_address', 'holder']],
  ['wallet_balances', ['token_address', 'holder']],
  ['token_holdings', ['token_address', 'hour']],
  ['wallet_token_pnl', ['wallet', 'token_address']],
])

/** What a sink works with beside the bus. */
export interface SinkDeps extends ProcessDeps {
  readonly warehouse: Warehouse
}

const TAKE = { maxRecords: 5_000, maxWaitMs: 250 }
const BATCH_ROWS = 50_000
const BATCH_BYTES = 8_388_608
const BATCH_MS = 250
/** Time between two batches of a lane that has something to write all the time: an insert has a price of its own. */
const LINGER_MS = 1_000
const AGAIN = { firstMs: 100, maxMs: 10_000, tries: Number.POSITIVE_INFINITY }

/** Rows per table with the offsets they came from. Later records are newer. */
class Batch {
  readonly #tables = new Map<string, Map<string | number, Row>>()
  readonly poison: OutRecord[] = []
  rows = 0
  bytes = 0
  first: number | null = null
  last = -1
  newest: EventMeta | null = null

  add(record: LogRecord, tables: readonly TableRows[], meta: EventMeta | null): void {
    this.pass(record)
    this.newest = meta ?? this.newest
    for (const { table, rows } of tables) {
      const subject = SUBJECTS.get(table)
      const known = this.#tables.get(table) ?? new Map<string | number, Row>()
      for (const row of rows) {
        const key = subject === undefined ? known.size : subject.map((name) => row[name]).join()
        known.set(key, row)
      }
      this.#tables.set(table, known)
      this.rows += rows.length
    }
  }

  /** Rows to insert, by table. */
  inserts(): readonly TableRows[] {
    return [...this.#tables].flatMap(([table, rows]) =>
      rows.size === 0 ? [] : [{ table, rows: [...rows.values()] }],
    )
  }

  pass(record: LogRecord): void {
    this.first ??= record.offset
    this.last = record.offset
    this.bytes += record.value?.byteLength ?? 0
  }
}

class SinkLane {
  readonly #sink: Sink
  readonly #deps: SinkDeps
  readonly #lane: Lane
  readonly #report: (status: LaneStatus) => void
  readonly #group: string
  #begunMs = Number.NEGATIVE_INFINITY

  constructor(sink: Sink, deps: SinkDeps, lane: Lane, report: (status: LaneStatus) => void) {
    this.#sink = sink
    this.#deps = deps
    this.#lane = lane
    this.#report = report
    this.#group = sinkGroup(sink, deps.chain)
  }

  async run(): Promise<void> {
    while (!this.#lane.signal.aborted) {
      const batch = await this.#collect()
      if (batch.first === null) continue
      await this.#write(batch)
      await this.#commit(batch)
    }
  }

  /** After a pause closes as soon as the log has no more, so that the head is fresh; else at a size or after a while. */
  async #collect(): Promise<Batch> {
    const batch = new Batch()
    const untilMs = Math.max(performance.now() + BATCH_MS, this.#begunMs + LINGER_MS)
    for (;;) {
      const records = await this.#lane.take(TAKE)
      for (const record of records) this.#map(batch, record)
      const nowMs = performance.now()
      const full = batch.rows >= BATCH_ROWS || batch.bytes >= BATCH_BYTES
      const rested = nowMs >= this.#begunMs + LINGER_MS
      const drained = records.length < TAKE.maxRecords && (rested || batch.first === null)
      if (!full && !drained && nowMs < untilMs && !this.#lane.signal.aborted) continue
      if (batch.first !== null) this.#begunMs = nowMs
      return batch
    }
  }

  #map(batch: Batch, record: LogRecord): void {
    const { codec, metrics, log } = this.#deps
    const { value } = record
    const mapped = orPoison(() => {
      if (value === null) throw new Malformed('tombstone', 'a fact cannot be removed')
      return this.#sink.map(codec, value)
    })
    if (!(mapped instanceof Malformed)) {
      batch.add(record, mapped.value.tables, mapped.value.meta)
      return
    }
    batch.pass(record)
    batch.poison.push(deadLetter(this.#group, record, mapped))
    metrics.eventsDropped.inc({ stage: 'sink', reason: mapped.reason })
    log.error({ group: this.#group, offset: record.offset, err: mapped }, 'poison')
  }

  async #write(batch: Batch): Promise<void> {
    const { chain, warehouse, metrics, log } = this.#deps
    const { signal, partition } = this.#lane
    for (const { table: name, rows } of batch.inserts()) {
      const table = `${chain}_${name}`
      const token = insertToken(table, partition, batch.first ?? 0, batch.last)
      const end = metrics.insertSeconds.startTimer({ table })
      await retry(() => warehouse.insert(table, rows, { token }), {
        ...AGAIN,
        signal,
        onRetry: (error, attempt, waitMs) =>
          log.warn({ table, err: error, attempt, waitMs }, 'the same insert again'),
      })
      end()
      metrics.insertedRows.inc({ table }, rows.length)
    }
  }

  async #commit(batch: Batch): Promise<void> {
    const { chain, metrics } = this.#deps
    const { partition } = this.#lane
    const topic = topicName(this.#sink.topic, chain)
    const next: GroupOffset[] = [{ topic, partition, offset: batch.last + 1 }]
    await this.#lane.writer.commit({
      records: batch.poison,
      offsets: { group: this.#group, next },
    })
    metrics.recordsProcessed.inc({ app: this.#group }, batch.rows)
    const { newest } = batch
    if (newest === null) return
    const { seq, height, block_time: blockTimeMs } = newest
    const lagMs = Math.max(0, Date.now() - blockTimeMs)
    metrics.processLagSeconds.set({ app: this.#group }, lagMs / 1_000)
    this.#report({ partition, seq, height, blockTimeMs })
  }
}

/** Name of the insert of one range of one lane: the same range has the same token for ever. */
export const insertToken = (table: string, lane: number, first: number, last: number): string =>
  createHash('sha1').update(`${table}|${lane}|p${lane}@${first}-${last}`).digest('hex')

/** Consumer group of a sink. */
export const sinkGroup = (sink: Sink, chain: string): string =>
  `sink.${topicName(sink.topic, chain)}`

/**
 * Runs a sink: insert with a deterministic token, then commit the offsets. An insert that fails is repeated as it is
 * until it succeeds; a batch cut differently after a crash writes the same versions again, which `FINAL` hides.
 */
export const startSink = async (sink: Sink, deps: SinkDeps): Promise<StageRunning> => {
  const group = sinkGroup(sink, deps.chain)
  const statuses = new Map<number, LaneStatus>()
  const running = await deps.bus.subscribe({
    group,
    topics: [topicName(sink.topic, deps.chain)],
    run: async (lane) =>
      new SinkLane(sink, deps, lane, (status) => statuses.set(lane.partition, status)).run(),
  })
  return { group, lanes: () => [...statuses.values()], stop: () => running.stop() }
}
