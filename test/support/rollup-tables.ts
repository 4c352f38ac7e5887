import type { Warehouse } from '../../core/clickhouse/client.ts'

/** A full minute long ago, epoch seconds. */
export const START = 1_700_000_040 - (1_700_000_040 % 60)

const iso = (seconds: number): string => new Date(seconds * 1_000).toISOString()

const tradeText = (number: number, atS: number, index: number): string =>
  JSON.stringify({
    block_time: iso(atS + 1),
    block_slot: number,
    block_height: number,
    block_hash: `0xb${number}`,
    tx_hash: `0xt${index}`,
    tx_index: index,
    event_index: 0,
    buy_token: `A${index % 5}`,
    sell_token: 'B',
    buy_amount: '1',
    sell_amount: '1',
    buy_price_usd: 1,
    sell_price_usd: 1,
    buy_amount_usd: '1',
    sell_amount_usd: '1',
    tx_status: 'SUCCESS',
    _ver: String((number << 20) + index),
  })

/** Trades `from` to `to` of a block, a second after its minute begins. */
export interface TradeSet {
  readonly number: number
  readonly atS: number
  readonly from?: number
  readonly to: number
}

const TABLES = ['ohlc_1s', 'ohlc_1m', 'ohlc_1h', 'ohlc_1d', 'token_trade_stats_1m']

/** The same number for every rollup. */
export const allRollups = (count: number): readonly number[] => TABLES.map(() => count)

/** Writes what finalizers read, and reads what they write. */
export const makeRollupTables = (warehouse: Warehouse) => {
  const addBlock = (chain: string, number: number, atS: number, trades: number): Promise<void> =>
    warehouse.insert(`${chain}_blocks`, [
      {
        block_time: iso(atS),
        block_slot: number,
        block_height: number,
        seq: number,
        block_hash: `0xb${number}`,
        trades_count: trades,
        trades_by_partition: [trades],
        commitment: 'FINALIZED',
        _ver: String(number << 4),
        _del: 0,
      },
    ])

  const addTrades = (
    chain: string,
    { number, atS, from = 0, to }: TradeSet,
    store = warehouse,
  ): Promise<void> => {
    const lines = Array.from({ length: to - from }, (_, index) =>
      tradeText(number, atS, from + index),
    )
    const rows = { text: lines.join('\n'), count: lines.length }
    return store.insert(`${chain}_dex_trades`, rows, { token: `${number}/${from}-${to}` })
  }

  const setFinal = (chain: string, atS: number, version = 1): Promise<void> =>
    warehouse.insert(`${chain}_chain_state`, [
      { key: 'final', final_slot: 0, final_time: iso(atS), hot_from: 0, seq: 0, _ver: version },
    ])

  /** Trades that each rollup holds, both sides of each, over buckets from `from` on. */
  const rolledUp = async (chain: string, from = 0): Promise<readonly number[]> => {
    const counts: number[] = []
    for (const table of TABLES) {
      const sql = `SELECT toUInt32(sum(trades)) AS n FROM ${chain}_${table} WHERE bucket >= toDateTime(${from}, 'UTC')`
      const { rows } = await warehouse.query<{ readonly n: number }>({ sql })
      counts.push(rows[0]?.n ?? -1)
    }
    return counts
  }

  const gaps = async (chain: string) =>
    (
      await warehouse.query<{ minute: number; announced: number; stored: number; reason: string }>({
        sql: `SELECT toUnixTimestamp(minute) AS minute, toUInt32(announced_trades) AS announced,
          toUInt32(stored_trades) AS stored, reason FROM ${chain}_rollup_gaps FINAL ORDER BY minute`,
      })
    ).rows
  return { addBlock, addTrades, setFinal, rolledUp, gaps }
}
