import type { SvmInstruction } from '../../../schemas/events.ts'
import { keyAt, offsetsOf, u64, viewOf } from '../layout/layout.ts'
import type { OrderEvent } from './order-event.ts'

/** The order book's program, and who signs the log instructions that it sends itself. Source: Ellipsis-Labs/phoenix-v1. */
export const PHOENIX = 'PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY'
const LOGGER = '7aDTsspkQNGKmrexAN7FLx9oxU3iPczSSvHNggyuqYkR'

/** Tag of the log instruction, and of the header that it begins with. */
const LOG = 15
const HEADER = 1

const header = offsetsOf({
  ...{ tag: 'u8', kind: 'u8', instruction: 'u8', sequence: 'u64', timestamp: 'i64', slot: 'u64' },
  ...{ market: 'key', signer: 'key', count: 'u16' },
} as const)

const byMaker = { tag: 'u8', index: 'u16', maker: 'key', order: 'u64', price: 'u64' } as const
const bySigner = { tag: 'u8', index: 'u16', order: 'u64' } as const
const fill = offsetsOf({ ...byMaker, lots: 'u64', remaining: 'u64' } as const)
const place = offsetsOf({ ...bySigner, client: 'u128', price: 'u64', lots: 'u64' } as const)
const reduce = offsetsOf({ ...bySigner, price: 'u64', lots: 'u64', remaining: 'u64' } as const)
const removed = offsetsOf({ ...byMaker, lots: 'u64' } as const)
const summary = offsetsOf({
  ...{ tag: 'u8', index: 'u16', client: 'u128', base: 'u64', quote: 'u64', fee: 'u64' },
} as const)
const fee = offsetsOf({ tag: 'u8', index: 'u16', lots: 'u64' } as const)
const expiry = offsetsOf({ ...bySigner, slot: 'u64', time: 'u64' } as const)

/** What is the same for all records of a log instruction. */
interface Logged {
  readonly data: Uint8Array
  readonly view: DataView
  readonly market: string
  readonly signer: string
}

interface Row {
  readonly end: number
  readonly read?: (logged: Logged, at: number) => OrderEvent
}

/** Bids have the top bit of their number set. */
const isBid = (order: bigint): boolean => order >> 63n === 1n

const orderAt =
  (
    type: OrderEvent['type'],
    {
      order,
      price,
      lots,
      ...offsets
    }: Readonly<Record<'order' | 'price' | 'lots', number>> & {
      readonly maker?: number
      readonly remaining?: number
    },
  ) =>
  ({ data, view, market, signer }: Logged, at: number): OrderEvent => {
    const orderId = u64(view, at + order)
    const { maker, remaining } = offsets
    const isGone = type === 'UPDATE' && remaining !== undefined && u64(view, at + remaining) === 0n
    return {
      ...{ type: isGone ? 'CANCEL' : type, market, orderId, isBid: isBid(orderId) },
      owner: maker === undefined ? signer : keyAt(data, at + maker),
      ...{ account: null, payer: signer },
      priceTicks: u64(view, at + price),
      lots: u64(view, at + lots),
    }
  }

/** Records by their first byte; those without a reader say nothing of an order of their own. */
const ROWS: Readonly<Record<number, Row>> = {
  2: { end: fill.end, read: orderAt('FILL', fill) },
  3: { end: place.end, read: orderAt('OPEN', place) },
  4: { end: reduce.end, read: orderAt('UPDATE', reduce) },
  5: { end: removed.end, read: orderAt('CANCEL', removed) },
  6: { end: summary.end },
  7: { end: fee.end },
  8: { end: expiry.end },
  9: { end: removed.end, read: orderAt('CANCEL', removed) },
}

/**
 * What a log instruction tells of orders, in its order; nothing where it is no whole log: another instruction, one that the
 * program did not send itself, a record that nobody knows yet, or fewer bytes than it counts.
 */
export const phoenixOrders = ({ data, accounts }: SvmInstruction): readonly OrderEvent[] => {
  if (data === null || accounts[0] !== LOGGER) return []
  if (data.length < header.end || data[0] !== LOG || data[header.kind] !== HEADER) return []
  const view = viewOf(data)
  const logged: Logged = {
    ...{ data, view },
    market: keyAt(data, header.market),
    signer: keyAt(data, header.signer),
  }
  const events: OrderEvent[] = []
  let at = header.end
  for (let left = view.getUint16(header.count, true); left > 0; left -= 1) {
    const row = ROWS[data[at] ?? 0]
    if (row === undefined || at + row.end > data.length) return []
    if (row.read !== undefined) events.push(row.read(logged, at))
    at += row.end
  }
  return events
}
