/**
 * The whole product as a process of its own, so that it can be killed: follows a node, and when told the hash at which the
 * chain ends waits until all of it is processed, says what it holds and ends.
 */
import { join } from 'node:path'
import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'
import { type App, createApp } from '../../cli/app/app.ts'
import { loadConfig } from '../../core/config/load.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import { candleKey, type FlatCandle, toFlatCandles } from './flat-candles.ts'
import { PROCESS_LIMIT_MS, until } from './until.ts'

/** What the child is started with, as JSON in its first argument. */
export interface ChildOptions {
  readonly nodeUrl: string
  readonly folder: string
  readonly extra: ChainExtra
  /** Streams to listen to from the start; what they said is part of the content. */
  readonly channels: readonly string[]
  /** Threads that fold; 0 = the main thread. */
  readonly laneThreads: number
}

/** What the child tells its parent. */
export type ChildMessage =
  | { readonly kind: 'at'; readonly height: number; readonly seq: number }
  | {
      readonly kind: 'content'
      readonly content: Readonly<Record<string, readonly string[]>>
      readonly stream: readonly string[]
    }

/** Settled content: what two runs over the same chain must agree on, one line per thing. */
const TABLES: Readonly<Record<string, string>> = {
  blocks: 'SELECT block_height, block_hash, tx_count, trades_count FROM eth_blocks FINAL',
  dex_trades:
    'SELECT block_height, block_hash, tx_hash, event_index, pool_address, buy_token, buy_amount, buy_price_usd, sell_token, sell_amount, sell_price_usd, buy_amount_usd, is_suspect, suspect_reason FROM eth_dex_trades FINAL',
  dex_trades_enriched:
    'SELECT block_height, tx_hash, event_index, side, token_address, amount, price_usd, owner, is_suspect FROM eth_dex_trades_enriched FINAL',
  dex_pool_events:
    'SELECT block_height, tx_hash, event_index, event_type, pool_address, base_post, quote_post, liquidity_usd FROM eth_dex_pool_events_enriched FINAL',
  dex_pools:
    'SELECT pool_address, token_a, token_b, reserve_a, reserve_b, liquidity_usd FROM eth_dex_pools FINAL',
  tokens:
    'SELECT token_address, name, symbol, decimals, total_supply, created_at FROM eth_tokens FINAL',
  transfers:
    'SELECT block_height, tx_hash, event_index, token_address, sender, receiver, amount FROM eth_transfers FINAL',
  pairs:
    'SELECT token_address, side_token, pool_address, bucket, open, high, low, close, volume, trades FROM eth_ohlc_mv',
}

const readTableLines = async ({ warehouse }: App, sql: string): Promise<readonly string[]> => {
  const { rows } = await warehouse.queryArrays({ sql })
  return rows.map((row) => JSON.stringify(row)).sort()
}

const tradeLine = (event: TradeEvent): string => {
  const { trade, trade_processed: processed, transaction, instruction, block } = event
  return JSON.stringify([
    ...[block?.height, block?.hash, transaction?.signature, instruction?.log_index],
    ...[trade?.pool_address, trade?.token_a_address, trade?.user_a_amount, trade?.user_b_amount],
    ...[trade?.was_original_direction, event.quote_price_in_usd],
    ...[processed?.token_a_price_in_usd, processed?.is_token_a_price_in_usd_suspect],
  ])
}

async function* topicValues({ bus }: App, topic: string): AsyncGenerator<Uint8Array> {
  for (const { partition, low, end } of await bus.ends(topic)) {
    for await (const { value } of bus.read(topic, partition, low, end)) if (value) yield value
  }
}

/** Trades of an append topic after its retractions. */
const tradesWithoutRetracted = async (app: App, topic: string): Promise<readonly string[]> => {
  const standing = new Map<string, number>()
  for await (const bytes of topicValues(app, topic)) {
    const { meta, events } = app.codec.decode('dex.trade.TradeEvents', bytes)
    for (const event of events) {
      const line = tradeLine(event)
      const count = (standing.get(line) ?? 0) + (meta?.op === 'OP_REVERT' ? -1 : 1)
      if (count === 0) standing.delete(line)
      else standing.set(line, count)
    }
  }
  return [...standing].map(([line, count]) => `${count} ${line}`).sort()
}

/** Newest value of every candle of the topic; one without trades counts as absent. */
const readNewestCandles = async (app: App): Promise<readonly string[]> => {
  const newest = new Map<string, FlatCandle>()
  for await (const bytes of topicValues(app, 'eth.candlesticks')) {
    const { events } = app.codec.decode('candlestick.CandlestickEvents', bytes)
    for (const candle of events.flatMap(toFlatCandles)) newest.set(candleKey(candle), candle)
  }
  return [...newest.values()]
    .filter(({ trades }) => trades > 0)
    .map(({ version: _, isFinal: __, event: ___, ...candle }) => JSON.stringify(candle))
    .sort()
}

const readContent = async (
  app: App,
  apiKey: string,
): Promise<Record<string, readonly string[]>> => {
  const content: Record<string, readonly string[]> = {
    'minutes whose rollups differ from their trades': await readWrongMinutes(app),
    'cube DEXTrades': await readCubeLines(app, apiKey),
    'REST candles': await readRestLines(app, apiKey),
    'eth.dex.trades': await tradesWithoutRetracted(app, 'eth.dex.trades'),
    'eth.dex.trades.processed': await tradesWithoutRetracted(app, 'eth.dex.trades.processed'),
    'eth.candlesticks': await readNewestCandles(app),
  }
  for (const [name, sql] of Object.entries(TABLES)) content[name] = await readTableLines(app, sql)
  return content
}

/** Each rolled-up minute whose rollups are not the sums of its trades, with both; `none` where all are right. */
const readWrongMinutes = async ({ warehouse }: App): Promise<readonly string[]> => {
  const rolled = (table: string, start: string): string =>
    `SELECT '${table}' AS source, ${start} AS minute, sum(trades) AS n FROM eth_${table} WHERE bucket < w GROUP BY minute`
  const stored = (name: string, condition: string): string =>
    `SELECT '${name}' AS source, toStartOfMinute(block_time) AS minute, countIf(${condition}) AS n FROM eth_dex_trades_enriched FINAL
  WHERE block_time < w GROUP BY minute`
  const sources = [
    rolled('ohlc_1s', 'toStartOfMinute(bucket)'),
    rolled('ohlc_1m', 'bucket'),
    rolled('token_trade_stats_1m', 'bucket'),
    stored('priced', 'is_suspect = 0 AND price_usd > 0'),
    stored('all', '1'),
  ]
  const { rows } = await warehouse.queryArrays({
    sql: `WITH (SELECT argMax(hot_from, _ver) FROM eth_chain_state WHERE key = 'rollup') AS w
SELECT minute, sumIf(n, source = 'ohlc_1s') AS seconds, sumIf(n, source = 'ohlc_1m') AS minutes, sumIf(n, source = 'priced') AS priced,
  sumIf(n, source = 'token_trade_stats_1m') AS stats, sumIf(n, source = 'all') AS trades
FROM (${sources.join('\nUNION ALL\n')}) GROUP BY minute
HAVING seconds != priced OR minutes != priced OR stats != trades ORDER BY minute`,
  })
  return rows.length === 0 ? ['none'] : rows.map((row) => JSON.stringify(row))
}

/** Every trade as the cube gives it, page by page. */
const readCubeLines = async (app: App, apiKey: string): Promise<readonly string[]> => {
  const lines: string[] = []
  for (let offset = 0; ; offset += 5_000) {
    const query = `{ EVM(network: eth) { DEXTrades(
      where: {any: [{IsSuspect: true}, {IsSuspect: false}]}, limit: {count: 5000, offset: ${offset}}) {
      Block { Height } Transaction { Hash } Pool { Address } Trade {
        Buy { Currency { MintAddress } Amount } Sell { Currency { MintAddress } Amount } } } } }`
    const response = await fetch(app.graphqlUrl, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    const { data } = (await response.json()) as { data: { EVM: { DEXTrades: object[] } } }
    for (const row of data.EVM.DEXTrades) lines.push(JSON.stringify(row))
    if (data.EVM.DEXTrades.length < 5_000) return lines.sort()
  }
}

/** Minute candles of every token as REST gives them. */
const readRestLines = async (app: App, apiKey: string): Promise<readonly string[]> => {
  const { rows } = await app.warehouse.query<{ token_address: string }>({
    sql: 'SELECT token_address FROM eth_tokens FINAL ORDER BY token_address',
  })
  const lines: string[] = []
  for (const { token_address: token } of rows) {
    const path = `/v2/token/ethereum/${token}/candles?resolution=1m&limit=1000&from=1`
    const response = await fetch(`${app.baseUrl}${path}`, { headers: { 'x-api-key': apiKey } })
    for (const candle of (await response.json()) as object[]) {
      lines.push(JSON.stringify({ token, ...candle }))
    }
  }
  return lines
}

interface Frame {
  readonly op?: string
  readonly h: string
  readonly btma: string
  readonly stma: string
}

/** Trades that a socket was told of and not asked to forget, by channel. */
const subscribeToTrades = async (app: App, apiKey: string, channels: readonly string[]) => {
  const standing = new Map<string, number>()
  const centrifuge = new Centrifuge(app.wsUrl, { token: apiKey, websocket: WebSocket })
  centrifuge.connect()
  for (const channel of channels) {
    const subscription = centrifuge.newSubscription(channel, { data: { retractions: true } })
    subscription.on('publication', ({ data }) => {
      const { op, h, btma, stma } = data as Frame
      const line = JSON.stringify([channel, h, btma, stma])
      standing.set(line, (standing.get(line) ?? 0) + (op === 'revert' ? -1 : 1))
    })
    subscription.subscribe()
    await subscription.ready(10_000)
  }
  return {
    lines: () =>
      [...standing]
        .filter(([, n]) => n !== 0)
        .map(([line, n]) => `${n} ${line}`)
        .sort(),
    close: () => centrifuge.disconnect(),
  }
}

const sendToParent = (word: ChildMessage): Promise<void> =>
  new Promise((resolve) => process.send?.(word, undefined, undefined, () => resolve()))

const main = async (options: ChildOptions): Promise<void> => {
  const { nodeUrl, folder, extra, channels, laneThreads } = options
  const metrics = makeMetrics()
  const log = makeSilentLogger()
  const closing = new AbortController()
  const source = await evmSource({
    chain: CHAINS.eth,
    urls: [nodeUrl],
    concurrency: 8,
    timeoutMs: 10_000,
    from: 0,
    metrics,
    log,
    signal: closing.signal,
  })
  const app = await createApp({
    config: {
      ...loadConfig({}, { port: 0, keyPepper: 'p', laneThreads }),
      chainExtra: { eth: extra },
    },
    chains: [{ row: CHAINS.eth, source, extra }],
    metrics,
    log,
    logPath: join(folder, 'log'),
    warehousePath: join(folder, 'warehouse'),
    onFatal: (error) => {
      throw error
    },
  })
  const { apiKey } = await app.organizations.createKey({ name: 'run', plan: 'selfhost' })
  const stream = await subscribeToTrades(app, apiKey, channels)
  const status = () => app.ingestors[0]?.status()
  const timer = setInterval(() => {
    sendToParent({ kind: 'at', height: status()?.height ?? -1, seq: status()?.seq ?? 0 })
  }, 50)
  const hash = await new Promise<string>((resolve) =>
    process.once('message', (message) => resolve(String(message))),
  )
  await until(() => status()?.hash === hash, `the ingestor is at ${hash}`, PROCESS_LIMIT_MS)
  await until(() => app.isCaughtUp(), 'everything is processed', PROCESS_LIMIT_MS)
  clearInterval(timer)
  const content = await readContent(app, apiKey)
  await sendToParent({ kind: 'content', content, stream: stream.lines() })
  stream.close()
  await app.stop('told to')
  closing.abort()
  process.disconnect()
}

if (process.send !== undefined) await main(JSON.parse(process.argv[2] ?? '{}'))
