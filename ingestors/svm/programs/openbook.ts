import type { SvmInstruction } from '../../../schemas/events.ts'
import { byTag, keyAt, offsetsOf, u64, u128, viewOf } from '../layout/layout.ts'
import { loggedData, returnedData } from '../layout/log-lines.ts'
import type { OrderEvent } from './order-event.ts'

/**
 * OpenBook v2. It logs fills when their maker is settled, and answers the numbers of orders that rest; that other orders go, it
 * tells only where an instruction names one by its number. Source: openbook-dex/openbook-v2 idl/openbook_v2.json and
 * programs/openbook-v2/src/state/orderbook; contract/chains.md 4.9.
 */
export const OPENBOOK = 'opnb2LAfJYbRMAHHvqjCwQxanZn7ReEHp1k81EohpZb'

const FILL_TAG = '9617299498a2d740'
const CANCEL_TAG = '5f81edf00831df84'

const fill = offsetsOf({
  ...{ tag: 'u64', market: 'key', takerSide: 'u8', makerSlot: 'u8', makerOut: 'bool' },
  ...{ timestamp: 'u64', sequence: 'u64', maker: 'key', makerClient: 'u64', makerFee: 'u64' },
  ...{ makerTime: 'u64', taker: 'key', takerClient: 'u64', takerFee: 'u64', price: 'i64' },
  lots: 'i64',
} as const)
const cancel = offsetsOf({ tag: 'u64', order: 'u128' } as const)
const placed = { side: 'u8', price: 'i64', lots: 'i64' } as const
const pegged = { side: 'u8', offset: 'i64', limit: 'i64', lots: 'i64' } as const
const edited = { client: 'u64', expected: 'i64' } as const

/** Accounts of every instruction that places or cancels: who signs, then what it orders from. */
const SIGNER = 0
const ACCOUNT = 1
const CANCEL_MARKET = 2

/** An instruction that may leave orders in the book. */
interface Form {
  /** Place of the market among its accounts. */
  readonly market: number
  /** How many orders it answers for. */
  readonly orders: 'one' | 'many'
  /** Where the size stands that was asked for; without it sizes are limited by their worth. */
  readonly lots?: number
  /** The price follows an oracle. */
  readonly pegged?: true
}

const formOf = byTag<Form>({
  '33c29baf6d82606a': {
    ...{ market: 4, orders: 'one' },
    lots: offsetsOf({ tag: 'u64', ...placed } as const).lots,
  },
  fed0761dadf8c846: {
    ...{ market: 4, orders: 'one' },
    lots: offsetsOf({ tag: 'u64', ...edited, ...placed } as const).lots,
  },
  '8db9fb3f4a55d291': {
    ...{ market: 4, orders: 'one', pegged: true },
    lots: offsetsOf({ tag: 'u64', ...pegged } as const).lots,
  },
  '3ebb7d451add9d85': {
    ...{ market: 4, orders: 'one', pegged: true },
    lots: offsetsOf({ tag: 'u64', ...edited, ...pegged } as const).lots,
  },
  '3c3f327b0cc53cbe': { market: 5, orders: 'many' },
  '809bde3cba28e132': { market: 5, orders: 'many' },
})

const NUMBER_BYTES = 16

/** Price in the upper half, a count in the lower one, which bids turn over: theirs begins with a one. */
const isBid = (order: bigint): boolean => ((order >> 63n) & 1n) === 1n

/** Numbers of orders that rest, of an answer that holds them; those that found no place are left out. */
const restingIn = (answer: Uint8Array, orders: Form['orders']): readonly bigint[] => {
  const view = viewOf(answer)
  if (orders === 'many' && answer.length < 4) return []
  let left = orders === 'one' ? 1 : view.getUint32(0, true)
  let at = orders === 'one' ? 0 : 4
  const numbers: bigint[] = []
  for (; left > 0 && at < answer.length; left -= 1) {
    const rests = answer[at] === 1
    at += 1
    if (!rests) continue
    if (at + NUMBER_BYTES > answer.length) break
    numbers.push(u128(view, at))
    at += NUMBER_BYTES
  }
  return numbers
}

/** The maker's order is the one that is filled: on the other side of the taker's. */
const fillOf = (data: Buffer): OrderEvent => {
  const view = viewOf(data)
  return {
    type: 'FILL',
    market: keyAt(data, fill.market),
    orderId: null,
    isBid: data[fill.takerSide] !== 0,
    owner: null,
    account: keyAt(data, fill.maker),
    payer: keyAt(data, fill.taker),
    priceTicks: u64(view, fill.price),
    lots: u64(view, fill.lots),
  }
}

const openedBy = (instruction: SvmInstruction, data: Uint8Array): readonly OrderEvent[] => {
  const { accounts } = instruction
  const form = formOf(data, 0)
  const market = accounts[form?.market ?? accounts.length]
  const owner = accounts[SIGNER]
  const answer = returnedData(instruction)
  if (!form || market === undefined || owner === undefined || !answer) return []
  const lots =
    form.lots === undefined || data.length < form.lots + 8 ? null : u64(viewOf(data), form.lots)
  return restingIn(answer, form.orders).map((orderId) => ({
    type: 'OPEN',
    market,
    orderId,
    isBid: isBid(orderId),
    owner,
    account: accounts[ACCOUNT] ?? null,
    payer: owner,
    priceTicks: form.pegged ? null : orderId >> 64n,
    lots,
  }))
}

const canceledBy = ({ accounts }: SvmInstruction, data: Uint8Array): readonly OrderEvent[] => {
  const market = accounts[CANCEL_MARKET]
  const owner = accounts[SIGNER]
  if (market === undefined || owner === undefined || data.length < cancel.end) return []
  const orderId = u128(viewOf(data), cancel.order)
  const account = accounts[ACCOUNT] ?? null
  const told = { orderId, isBid: isBid(orderId), owner, account, payer: owner }
  return [{ type: 'CANCEL', market, ...told, priceTicks: null, lots: null }]
}

const tagOf = (data: Uint8Array): string => Buffer.from(data.subarray(0, 8)).toString('hex')

/** What an instruction of OpenBook tells of orders: what it filled first, then what rests or went. */
export const openBookOrders = (instruction: SvmInstruction): readonly OrderEvent[] => {
  const { data } = instruction
  const fills = loggedData(instruction)
    .filter((logged) => logged.length >= fill.end && tagOf(logged) === FILL_TAG)
    .map(fillOf)
  if (data === null) return fills
  const changed = tagOf(data) === CANCEL_TAG ? canceledBy : openedBy
  return [...fills, ...changed(instruction, data)]
}
