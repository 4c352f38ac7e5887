import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { PHOENIX, phoenixOrderEvents } from '../../ingestors/svm/programs/phoenix.ts'
import { orderEvents } from '../../ingestors/svm/to-wire/feeds.ts'
import type { SvmBlock, SvmInstruction } from '../../schemas/events.ts'
import { recordedTraces } from '../support/recordings/traces.ts'

const MARKET = 'Ew3vFDdtdGrknJAVVfraxCA37uNJtimXYPY4QjnfhFHH'
const MAKER = 'wowK1ivqmU9WhHnghiJQ4UUySndzvrUAJinjMUw54eX'

const recorded = (): SvmBlock => {
  const { block } = recordedBlock('sol', recordedTraces('sol_phoenix_orders.json'))
  assert.ok(block.vm === 'svm')
  return block
}

const ofPhoenix = ({ transactions: [tx] }: SvmBlock): readonly SvmInstruction[] =>
  (tx?.instructions ?? []).filter(({ program }) => program === PHOENIX)

interface Asked {
  readonly price: bigint
  readonly lots: bigint
}

const byPrice = (orders: readonly Asked[]): readonly Asked[] =>
  orders.toSorted((a, b) => Number(a.price - b.price))

/** Orders of a `PlaceMultiplePostOnlyOrders` instruction: two lists of price, size and two optional limits of time. */
const askedIn = (data: Uint8Array): readonly [readonly Asked[], readonly Asked[]] => {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let at = 1
  const optional = (): void => {
    at += data[at] === 1 ? 9 : 1
  }
  const list = (): readonly Asked[] => {
    const count = view.getUint32(at, true)
    at += 4
    return Array.from({ length: count }, () => {
      const order = { price: view.getBigUint64(at, true), lots: view.getBigUint64(at + 8, true) }
      at += 16
      optional()
      optional()
      return order
    })
  }
  return [list(), list()]
}

test('recorded Phoenix orders equal those of the instruction of the market maker, on both sides', () => {
  const block = recorded()
  const [asking] = ofPhoenix(block).filter(({ data }) => data?.[0] === 16)
  const [bids, asks] = askedIn(asking?.data ?? new Uint8Array())
  assert.deepEqual([bids.length, asks.length], [8, 9])
  const events = orderEvents(block).map(({ event }) => event)
  const opened = events.filter(({ event_type }) => event_type === 'OPEN')
  const shown = (side: boolean): readonly Asked[] =>
    opened
      .filter(({ buy_side }) => buy_side === side)
      .map(({ price_ticks, size_lots }) => ({
        price: BigInt(price_ticks ?? ''),
        lots: BigInt(size_lots ?? ''),
      }))
  assert.deepEqual(byPrice(shown(true)), byPrice(bids))
  assert.deepEqual(byPrice(shown(false)), byPrice(asks))
})

test('earlier Phoenix orders are canceled, and every event has its owner', () => {
  const events = orderEvents(recorded())
  const types = events.map(({ event }) => event.event_type)
  assert.deepEqual(types, [...Array(17).fill('CANCEL'), ...Array(17).fill('OPEN')])
  for (const [index, { key, event }] of events.entries()) {
    assert.deepEqual(
      [key, event.market_address, event.owner, event.payer, event.event_index],
      [MARKET, MARKET, MAKER, MAKER, index],
    )
  }
  const ids = events.map(({ event }) => event.order_id)
  assert.equal(new Set(ids).size, ids.length)
})

const logged = (): SvmInstruction => {
  const [found] = ofPhoenix(recorded()).filter(({ data }) => data?.[0] === 15)
  assert.ok(found)
  return found
}

const log = (): Uint8Array => Uint8Array.from(logged().data ?? [])

const ordersOf = (data: Uint8Array) => phoenixOrderEvents({ ...logged(), data })

const changed = (at: number, value: number): Uint8Array => {
  const data = log()
  data[at] = value
  return data
}

test('an incomplete Phoenix log gives no orders', () => {
  assert.equal(ordersOf(log()).length, 17)
  assert.deepEqual(ordersOf(log().subarray(0, -1)), [])
  assert.deepEqual(ordersOf(new Uint8Array()), [])
  assert.deepEqual(ordersOf(changed(0, 7)), [], 'another instruction')
  assert.deepEqual(ordersOf(changed(1, 2)), [], 'no header')
  assert.deepEqual(ordersOf(changed(93, 77)), [], 'a record that nobody knows')
})

test('a Phoenix log without the log authority of its program gives no events', () => {
  const block = recorded()
  const transactions = block.transactions.map((tx) => ({
    ...tx,
    instructions: tx.instructions.map((each) => ({ ...each, accounts: [MAKER] })),
  }))
  assert.deepEqual(orderEvents({ ...block, transactions }), [])
})

/** A record of a log with this header, its fields after the tag as little-endian numbers of so many bytes. */
const withRecord = (tag: number, fields: readonly (readonly [bigint, number])[]): Uint8Array => {
  const header = log().slice(0, 93)
  header[91] = 1
  header[92] = 0
  const bytes = fields.flatMap(([value, width]) =>
    Array.from({ length: width }, (_, at) => Number((value >> BigInt(8 * at)) & 255n)),
  )
  return Uint8Array.from([...header, tag, ...bytes])
}

const RECORDS: readonly (readonly [string, Uint8Array, string | undefined])[] = [
  [
    'a fill',
    withRecord(2, [
      [0n, 2],
      [1n, 32],
      [5n, 8],
      [6n, 8],
      [7n, 8],
      [8n, 8],
    ]),
    'FILL',
  ],
  [
    'a part is taken away',
    withRecord(4, [
      [0n, 2],
      [5n, 8],
      [6n, 8],
      [7n, 8],
      [8n, 8],
    ]),
    'UPDATE',
  ],
  [
    'all is taken away',
    withRecord(4, [
      [0n, 2],
      [5n, 8],
      [6n, 8],
      [7n, 8],
      [0n, 8],
    ]),
    'CANCEL',
  ],
  [
    'an eviction',
    withRecord(5, [
      [0n, 2],
      [1n, 32],
      [5n, 8],
      [6n, 8],
      [7n, 8],
    ]),
    'CANCEL',
  ],
  [
    'an expiry',
    withRecord(9, [
      [0n, 2],
      [1n, 32],
      [5n, 8],
      [6n, 8],
      [7n, 8],
    ]),
    'CANCEL',
  ],
  [
    'a fee',
    withRecord(7, [
      [0n, 2],
      [5n, 8],
    ]),
    undefined,
  ],
]
for (const [what, data, type] of RECORDS) {
  test(`${what}: ${type ?? 'no order'}`, () => {
    const [event, ...more] = ordersOf(data)
    assert.deepEqual(more, [])
    assert.equal(event?.type, type)
    if (type === undefined) return
    assert.deepEqual([event?.orderId, event?.priceTicks, event?.lots], [5n, 6n, 7n])
    assert.equal(event?.isBid, false)
  })
}
