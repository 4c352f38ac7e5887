import type { SvmInstruction } from '../../../schemas/events.ts'
import {
  dataViewOf,
  fieldOffsets,
  matchDiscriminator,
  readPubkey,
  u64,
  u128,
} from '../layout/borsh-layout.ts'
import { programData, programReturnData } from '../layout/program-logs.ts'
import type { OrderEvent } from './order-event.ts'

/**
 * OpenBook v2. It logs fills when their maker is settled, and answers the numbers of orders that rest; that other orders go, it
 * tells only where an instruction names one by its number. Source: openbook-dex/openbook-v2 idl/openbook_v2.json and
 * programs/openbook-v2/src/state/orderbook.
 */
export const OPENBOOK = 'opnb2LAfJYbRMAHHvqjCwQxanZn7ReEHp1k81EohpZb'

const FILL_DISCRIMINATOR = '9617299498a2d740'
const CANCEL_DISCRIMINATOR = '5f81edf00831df84'

const FILL_OFFSETS = fieldOffsets({
  tag: 'u64',
  market: 'key',
  takerSide: 'u8',
  makerSlot: 'u8',
  makerOut: 'bool',
  timestamp: 'u64',
  sequence: 'u64',
  maker: 'key',
  makerClient: 'u64',
  makerFee: 'u64',
  makerTime: 'u64',
  taker: 'key',
  takerClient: 'u64',
  takerFee: 'u64',
  price: 'i64',
  lots: 'i64',
} as const)
const CANCEL_OFFSETS = fieldOffsets({ tag: 'u64', order: 'u128' } as const)
const PLACE_FIELDS = { side: 'u8', price: 'i64', lots: 'i64' } as const
const PEGGED_FIELDS = { side: 'u8', offset: 'i64', limit: 'i64', lots: 'i64' } as const
const EDIT_FIELDS = { client: 'u64', expected: 'i64' } as const

/** Accounts of every instruction that places or cancels: who signs, then what it orders from. */
const SIGNER_INDEX = 0
const OPEN_ORDERS_INDEX = 1
const CANCEL_MARKET_INDEX = 2

/** An instruction that may leave orders in the book. */
interface PlaceOrderLayout {
  /** Place of the market among its accounts. */
  readonly market: number
  /** How many orders it answers for. */
  readonly orders: 'one' | 'many'
  /** Where the size stands that was asked for; without it sizes are limited by their worth. */
  readonly lots?: number
  /** The price follows an oracle. */
  readonly pegged?: true
}

const placeOrderLayoutOf = matchDiscriminator<PlaceOrderLayout>({
  '33c29baf6d82606a': {
    market: 4,
    orders: 'one',
    lots: fieldOffsets({ tag: 'u64', ...PLACE_FIELDS } as const).lots,
  },
  fed0761dadf8c846: {
    market: 4,
    orders: 'one',
    lots: fieldOffsets({ tag: 'u64', ...EDIT_FIELDS, ...PLACE_FIELDS } as const).lots,
  },
  '8db9fb3f4a55d291': {
    market: 4,
    orders: 'one',
    pegged: true,
    lots: fieldOffsets({ tag: 'u64', ...PEGGED_FIELDS } as const).lots,
  },
  '3ebb7d451add9d85': {
    market: 4,
    orders: 'one',
    pegged: true,
    lots: fieldOffsets({ tag: 'u64', ...EDIT_FIELDS, ...PEGGED_FIELDS } as const).lots,
  },
  '3c3f327b0cc53cbe': { market: 5, orders: 'many' },
  '809bde3cba28e132': { market: 5, orders: 'many' },
})

const ORDER_ID_BYTES = 16

/** Price in the upper half, a count in the lower one, which bids turn over: theirs begins with a one. */
const isBid = (order: bigint): boolean => ((order >> 63n) & 1n) === 1n

/** Numbers of orders that rest, of an answer that holds them; those that found no place are left out. */
const restingOrderIds = (
  answer: Uint8Array,
  orders: PlaceOrderLayout['orders'],
): readonly bigint[] => {
  const view = dataViewOf(answer)
  if (orders === 'many' && answer.length < 4) return []
  let left = orders === 'one' ? 1 : view.getUint32(0, true)
  let at = orders === 'one' ? 0 : 4
  const numbers: bigint[] = []
  for (; left > 0 && at < answer.length; left -= 1) {
    const rests = answer[at] === 1
    at += 1
    if (!rests) continue
    if (at + ORDER_ID_BYTES > answer.length) break
    numbers.push(u128(view, at))
    at += ORDER_ID_BYTES
  }
  return numbers
}

/** The maker's order is the one that is filled: on the other side of the taker's. */
const decodeFill = (data: Buffer): OrderEvent => {
  const view = dataViewOf(data)
  return {
    type: 'FILL',
    market: readPubkey(data, FILL_OFFSETS.market),
    orderId: null,
    isBid: data[FILL_OFFSETS.takerSide] !== 0,
    owner: null,
    account: readPubkey(data, FILL_OFFSETS.maker),
    payer: readPubkey(data, FILL_OFFSETS.taker),
    priceTicks: u64(view, FILL_OFFSETS.price),
    lots: u64(view, FILL_OFFSETS.lots),
  }
}

const openedOrders = (instruction: SvmInstruction, data: Uint8Array): readonly OrderEvent[] => {
  const { accounts } = instruction
  const form = placeOrderLayoutOf(data, 0)
  const market = accounts[form?.market ?? accounts.length]
  const owner = accounts[SIGNER_INDEX]
  const answer = programReturnData(instruction)
  if (!form || market === undefined || owner === undefined || !answer) return []
  const lots =
    form.lots === undefined || data.length < form.lots + 8 ? null : u64(dataViewOf(data), form.lots)
  return restingOrderIds(answer, form.orders).map((orderId) => ({
    type: 'OPEN',
    market,
    orderId,
    isBid: isBid(orderId),
    owner,
    account: accounts[OPEN_ORDERS_INDEX] ?? null,
    payer: owner,
    priceTicks: form.pegged ? null : orderId >> 64n,
    lots,
  }))
}

const canceledOrders = ({ accounts }: SvmInstruction, data: Uint8Array): readonly OrderEvent[] => {
  const market = accounts[CANCEL_MARKET_INDEX]
  const owner = accounts[SIGNER_INDEX]
  if (market === undefined || owner === undefined || data.length < CANCEL_OFFSETS.end) return []
  const orderId = u128(dataViewOf(data), CANCEL_OFFSETS.order)
  const account = accounts[OPEN_ORDERS_INDEX] ?? null
  const reported = { orderId, isBid: isBid(orderId), owner, account, payer: owner }
  return [{ type: 'CANCEL', market, ...reported, priceTicks: null, lots: null }]
}

const discriminatorOf = (data: Uint8Array): string =>
  Buffer.from(data.subarray(0, 8)).toString('hex')

/** What an instruction of OpenBook tells of orders: what it filled first, then what rests or went. */
export const openBookOrderEvents = (instruction: SvmInstruction): readonly OrderEvent[] => {
  const { data } = instruction
  const fills = programData(instruction)
    .filter(
      (logged) =>
        logged.length >= FILL_OFFSETS.end && discriminatorOf(logged) === FILL_DISCRIMINATOR,
    )
    .map(decodeFill)
  if (data === null) return fills
  const changed = discriminatorOf(data) === CANCEL_DISCRIMINATOR ? canceledOrders : openedOrders
  return [...fills, ...changed(instruction, data)]
}
