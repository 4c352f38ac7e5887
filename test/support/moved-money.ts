import type { Warehouse } from '../../core/clickhouse/client.ts'

/** Addresses of a graph by one letter. */
export const addressOf = (letter: string): string =>
  `0x${letter.charCodeAt(0).toString(16).padStart(40, '0')}`

/** Hash of the transaction with that number. */
export const txOf = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

/** A stored transfer of US dollars between two letters, in the transaction of its number. */
export const moved = (
  [from, to, usd]: readonly [from: string, to: string, usd: number],
  { n, atMs }: { readonly n: number; readonly atMs: number },
) => ({
  block_time: atMs,
  block_slot: 100 + n,
  block_height: 100 + n,
  block_hash: `h${n}`,
  tx_hash: txOf(n),
  tx_status: 'SUCCESS',
  event_index: n,
  token_address: addressOf('T'),
  decimals: 6,
  sender: addressOf(from),
  receiver: addressOf(to),
  amount: '1500000',
  amount_usd: String(usd),
  success: 1,
  _ver: 1,
})

/** Blocks of eth are final up to that time. */
export const finalUpTo = (warehouse: Warehouse, timeMs: number): Promise<unknown> =>
  warehouse.insert('eth_chain_state', [
    { key: 'final', final_slot: 1, final_time: timeMs, hot_from: 0, seq: 1, _ver: timeMs },
  ])
