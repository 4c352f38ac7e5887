import type { SvmInstruction } from '../../../schemas/events.ts'
import { dataViewOf, fieldOffsets, readPubkey, u64 } from '../layout/borsh-layout.ts'
import type { OrderEvent } from './order-event.ts'

/** The order book's program, and who signs the log instructions that it sends itself. Source: Ellipsis-Labs/phoenix-v1. */
export const PHOENIX = 'PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY'
const LOG_AUTHORITY = '7aDTsspkQNGKmrexAN7FLx9oxU3iPczSSvHNggyuqYkR'

/** Tag of the log instruction, and of the header that it begins with. */
const LOG_INSTRUCTION_TAG = 15
const HEADER_TAG = 1

const HEADER_OFFSETS = fieldOffsets({
  tag: 'u8',
  kind: 'u8',
  instruction: 'u8',
  sequence: 'u64',
  timestamp: 'i64',
  slot: 'u64',
  market: 'key',
  signer: 'key',
  count: 'u16',
} as const)

const MAKER_FIELDS = { tag: 'u8', index: 'u16', maker: 'key', order: 'u64', price: 'u64' } as const
const SIGNER_FIELDS = { tag: 'u8', index: 'u16', order: 'u64' } as const
const FILL_OFFSETS = fieldOffsets({ ...MAKER_FIELDS, lots: 'u64', remaining: 'u64' } as const)
const PLACE_OFFSETS = fieldOffsets({
  ...SIGNER_FIELDS,
  client: 'u128',
  price: 'u64',
  lots: 'u64',
} as const)
const REDUCE_OFFSETS = fieldOffsets({
  ...SIGNER_FIELDS,
  price: 'u64',
  lots: 'u64',
  remaining: 'u64',
} as const)
const REMOVED_OFFSETS = fieldOffsets({ ...MAKER_FIELDS, lots: 'u64' } as const)
const FILL_SUMMARY_OFFSETS = fieldOffsets({
  tag: 'u8',
  index: 'u16',
  client: 'u128',
  base: 'u64',
  quote: 'u64',
  fee: 'u64',
} as const)
const FEE_OFFSETS = fieldOffsets({ tag: 'u8', index: 'u16', lots: 'u64' } as const)
const TIME_IN_FORCE_OFFSETS = fieldOffsets({ ...SIGNER_FIELDS, slot: 'u64', time: 'u64' } as const)

/** What is the same for all records of a log instruction. */
interface LogBatch {
  readonly data: Uint8Array
  readonly view: DataView
  readonly market: string
  readonly signer: string
}

interface RecordLayout {
  readonly byteLength: number
  readonly read?: (logged: LogBatch, at: number) => OrderEvent
}

/** Bids have the top bit of their number set. */
const isBid = (order: bigint): boolean => order >> 63n === 1n

const orderEventReader =
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
  ({ data, view, market, signer }: LogBatch, at: number): OrderEvent => {
    const orderId = u64(view, at + order)
    const { maker, remaining } = offsets
    const isGone = type === 'UPDATE' && remaining !== undefined && u64(view, at + remaining) === 0n
    return {
      type: isGone ? 'CANCEL' : type,
      market,
      orderId,
      isBid: isBid(orderId),
      owner: maker === undefined ? signer : readPubkey(data, at + maker),
      account: null,
      payer: signer,
      priceTicks: u64(view, at + price),
      lots: u64(view, at + lots),
    }
  }

/** Records by their first byte; those without a reader say nothing of an order of their own. */
const RECORD_LAYOUTS: Readonly<Record<number, RecordLayout>> = {
  2: { byteLength: FILL_OFFSETS.end, read: orderEventReader('FILL', FILL_OFFSETS) },
  3: { byteLength: PLACE_OFFSETS.end, read: orderEventReader('OPEN', PLACE_OFFSETS) },
  4: { byteLength: REDUCE_OFFSETS.end, read: orderEventReader('UPDATE', REDUCE_OFFSETS) },
  5: { byteLength: REMOVED_OFFSETS.end, read: orderEventReader('CANCEL', REMOVED_OFFSETS) },
  6: { byteLength: FILL_SUMMARY_OFFSETS.end },
  7: { byteLength: FEE_OFFSETS.end },
  8: { byteLength: TIME_IN_FORCE_OFFSETS.end },
  9: { byteLength: REMOVED_OFFSETS.end, read: orderEventReader('CANCEL', REMOVED_OFFSETS) },
}

/**
 * What a log instruction tells of orders, in its order; nothing where it is not a whole log: another instruction, one that the
 * program did not send itself, an unknown record, or fewer bytes than it counts.
 */
export const phoenixOrderEvents = ({ data, accounts }: SvmInstruction): readonly OrderEvent[] => {
  if (data === null || accounts[0] !== LOG_AUTHORITY) return []
  if (
    data.length < HEADER_OFFSETS.end ||
    data[0] !== LOG_INSTRUCTION_TAG ||
    data[HEADER_OFFSETS.kind] !== HEADER_TAG
  )
    return []
  const view = dataViewOf(data)
  const logged: LogBatch = {
    data,
    view,
    market: readPubkey(data, HEADER_OFFSETS.market),
    signer: readPubkey(data, HEADER_OFFSETS.signer),
  }
  const events: OrderEvent[] = []
  let at = HEADER_OFFSETS.end
  for (let left = view.getUint16(HEADER_OFFSETS.count, true); left > 0; left -= 1) {
    const row = RECORD_LAYOUTS[data[at] ?? 0]
    if (row === undefined || at + row.byteLength > data.length) return []
    if (row.read !== undefined) events.push(row.read(logged, at))
    at += row.byteLength
  }
  return events
}
