/** The product in a process of its own over one node, as `npm start -- --chain ethereum --rpc URL --from 0` has it. */
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from '../../cli/app/app.ts'
import { nodeSource } from '../../cli/app/node-source.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { loadConfig } from '../../core/config/load.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { Source } from '../../ingestors/follow/contract.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Found, PreparedChain } from './chain.ts'

/** What the process is to do, as JSON in its first argument. */
export interface SluiceOrder extends Pick<PreparedChain, 'tokens' | 'probe' | 'lastHeight'> {
  /** Where the log and the warehouse lie. */
  readonly folder: string
  readonly rpcUrl: string
  readonly extra: ChainExtra
}

/** What it tells its parent. */
export type SluiceWord =
  | { readonly kind: 'reading'; readonly atMs: number }
  /** Everything is in every table; `found` was read after that. */
  | { readonly kind: 'settled'; readonly atMs: number; readonly found: Found }

const LOOK_MS = 100

const say = (word: SluiceWord): void => {
  process.send?.(word)
}

/** The source, which says when it is first read from. */
const announced = (source: Source): Source => ({
  ...source,
  operations: (position, signal) => {
    if (position === null) say({ kind: 'reading', atMs: Date.now() })
    return source.operations(position, signal)
  },
})

/** Counts of what is compared. */
const counts = async (
  warehouse: Warehouse,
  { tokens }: SluiceOrder,
): Promise<{ readonly swaps: number; readonly transfers: number }> => {
  const { rows } = await warehouse.query<Readonly<Record<'swaps' | 'transfers', string>>>({
    sql: `SELECT (SELECT count() FROM eth_dex_trades FINAL) AS swaps,
      (SELECT count() FROM eth_transfers FINAL WHERE has({tokens:Array(String)}, token_address)) AS transfers`,
    params: { tokens },
  })
  return { swaps: Number(rows[0]?.swaps), transfers: Number(rows[0]?.transfers) }
}

const foundIn = async (warehouse: Warehouse, order: SluiceOrder): Promise<Found> => {
  const { probe } = order
  const { rows } = await warehouse.query<Readonly<Record<'balance' | 'price', string>>>({
    sql: `SELECT
      (SELECT balance FROM eth_wallet_balances FINAL WHERE holder = {owner:String} AND token_address = {token:String}) AS balance,
      (SELECT if(base_is_buy, buy_price_usd, sell_price_usd) FROM eth_dex_trades FINAL WHERE pool_address = {pair:String}
        ORDER BY block_slot DESC, tx_index DESC, event_index DESC LIMIT 1) AS price`,
    params: { ...probe },
  })
  const [row] = rows
  return {
    ...(await counts(warehouse, order)),
    balanceRaw: String(row?.balance),
    price: Number(row?.price),
  }
}

const run = async (order: SluiceOrder): Promise<void> => {
  const { folder, extra, rpcUrl, lastHeight } = order
  const ending = once(process, 'SIGTERM')
  const base = loadConfig({}, { port: 0, keyPepper: 'bench', dataDir: folder })
  const config = { ...base, chainExtra: { eth: extra } }
  const [metrics, log, closing] = [makeMetrics(), makeSilentLogger(), new AbortController()]
  const source = await nodeSource({
    chain: CHAINS.eth,
    urls: [rpcUrl],
    from: 0,
    config,
    metrics,
    log,
    signal: closing.signal,
  })
  const app = await createApp({
    config,
    metrics,
    log,
    chains: [{ row: CHAINS.eth, source: announced(source), extra }],
    logPath: join(folder, 'log'),
    warehousePath: join(folder, 'warehouse'),
    onFatal: (error) => {
      throw error
    },
  })
  const [ingestor] = app.ingestors
  while ((ingestor?.status().height ?? -1) < lastHeight) await sleep(LOOK_MS)
  while (!(await app.isCaughtUp())) await sleep(LOOK_MS)
  const atMs = Date.now()
  say({ kind: 'settled', atMs, found: await foundIn(app.warehouse, order) })
  await ending
  await app.stop('measured')
  closing.abort()
  process.disconnect?.()
}

await run(JSON.parse(process.argv[2] ?? ''))
