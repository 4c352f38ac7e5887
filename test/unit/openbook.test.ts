import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributeLogLines } from '../../ingestors/svm/normalize/log-attribution.ts'
import { OPENBOOK } from '../../ingestors/svm/programs/openbook.ts'
import { ALL_PROGRAMS, PROGRAM_IDS, withOrderBooks } from '../../ingestors/svm/programs/programs.ts'
import { orderEvents } from '../../ingestors/svm/to-wire/feeds.ts'
import {
  addressFor,
  borshFields,
  buildAccountList,
  buildSvmBlock,
  buildSvmTransaction,
  eventLogLine,
  type InstructionInput,
  u128le,
} from '../support/builders/svm-block.ts'

const [MARKET, SIGNER, ACCOUNT] = [
  addressFor('market'),
  addressFor('signer'),
  addressFor('open orders'),
]
const [MAKER, TAKER] = [addressFor('maker'), addressFor('taker')]
const FILL = '9617299498a2d740'
const [BID, ASK] = [Buffer.from([0]), Buffer.from([1])]

const NONE = Buffer.from([0])
const some = (order: bigint): Buffer => Buffer.concat([Buffer.from([1]), u128le(order)])
const list = (...orders: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from([orders.length, 0, 0, 0]), ...orders])
const returned = (answer: Buffer, program = OPENBOOK): string =>
  `Program return: ${program} ${answer.toString('base64')}`

/** Numbers of orders: the price, then a count that bids turn over. */
const ask = (price: bigint, count: bigint): bigint => (price << 64n) | count
const bid = (price: bigint, count: bigint): bigint => ask(price, BigInt.asUintN(64, ~count))

const filled = (takerSide: Buffer, price: bigint, lots: bigint): Buffer =>
  borshFields(
    ...[MARKET, takerSide, Buffer.from([3]), true, 1n, 2n, MAKER, 4n, 5n, 6n],
    ...[TAKER, 7n, 8n, price, lots],
  )

const ordersOf = (call: Partial<InstructionInput>) =>
  orderEvents(
    buildSvmBlock([buildSvmTransaction([{ program: OPENBOOK, accounts: [], data: '', ...call }])]),
  ).map(({ key: market, event }) => {
    assert.equal(market, event.market_address)
    assert.deepEqual(
      [event.program_address, event.protocol_name, event.protocol_family],
      [OPENBOOK, 'OpenBook V2', 'openbook'],
    )
    const { event_type, order_id, buy_side, price_ticks, size_lots } = event
    return [event_type, order_id, buy_side, price_ticks, size_lots]
  })

/** Accounts of an instruction that places, with the market at this place. */
const placing = (market: 4 | 5): readonly string[] =>
  buildAccountList(12, { 0: SIGNER, 1: ACCOUNT, [market]: MARKET })

const tagged = (tag: string, ...values: readonly (bigint | Buffer)[]): Buffer =>
  Buffer.concat([Buffer.from(tag, 'hex'), borshFields(...values)])

/** Side, price, size, worth, the client's number, type, expiry, own orders, limit. */
const order = (side: Buffer) => [side, 90n, 40n, 9_000n, 11n, BID, 0n, BID, BID] as const
const peggedOrder = [BID, -5n, 100n, 40n, 9_000n, 11n, BID, 0n, BID, BID] as const

const PLACED: readonly (readonly [string, Buffer, 4 | 5, Buffer, readonly unknown[]])[] = [
  [
    'placeOrder',
    tagged('33c29baf6d82606a', ...order(BID)),
    ...([4, some(bid(88n, 7n))] as const),
    [['OPEN', String(bid(88n, 7n)), true, '88', '40']],
  ],
  [
    'editOrder',
    tagged('fed0761dadf8c846', 11n, 1n, ...order(ASK)),
    ...([4, some(ask(91n, 8n))] as const),
    [['OPEN', String(ask(91n, 8n)), false, '91', '40']],
  ],
  [
    'placeOrderPegged: a price that moves is not told',
    tagged('8db9fb3f4a55d291', ...peggedOrder),
    ...([4, some(bid(1n << 63n, 7n))] as const),
    [['OPEN', String(bid(1n << 63n, 7n)), true, '', '40']],
  ],
  [
    'editOrderPegged',
    tagged('3ebb7d451add9d85', 11n, 1n, ...peggedOrder),
    ...([4, some(ask(5n, 7n))] as const),
    [['OPEN', String(ask(5n, 7n)), false, '', '40']],
  ],
  [
    'placeOrders: those that found no place are passed over',
    tagged('3c3f327b0cc53cbe', BID),
    ...([5, list(some(bid(80n, 1n)), NONE, some(ask(95n, 3n)))] as const),
    [
      ['OPEN', String(bid(80n, 1n)), true, '80', ''],
      ['OPEN', String(ask(95n, 3n)), false, '95', ''],
    ],
  ],
  [
    'cancelAllAndPlaceOrders',
    tagged('809bde3cba28e132', BID),
    ...([5, list(some(ask(95n, 3n)))] as const),
    [['OPEN', String(ask(95n, 3n)), false, '95', '']],
  ],
  ['an order that did not rest', tagged('33c29baf6d82606a', ...order(BID)), 4, NONE, []],
]

for (const [what, data, market, answer, expected] of PLACED) {
  test(`a placed order that rests is an OPEN event: ${what}`, () => {
    const call = { data, accounts: placing(market) }
    assert.deepEqual(ordersOf({ ...call, logs: [returned(answer)] }), expected)
    assert.deepEqual(ordersOf(call), [], 'a log that was cut')
    assert.deepEqual(ordersOf({ ...call, accounts: [SIGNER], logs: [returned(answer)] }), [])
    const elsewhere = returned(answer, addressFor('forger'))
    assert.deepEqual(ordersOf({ ...call, logs: [elsewhere] }), [], 'the answer of another')
    for (let length = 0; length < answer.length; length += 1) {
      const cut = ordersOf({ ...call, logs: [returned(answer.subarray(0, length))] })
      assert.ok(cut.length <= expected.length, `an answer of ${length} bytes`)
    }
  })
}

test('an order event has the owner and the open orders account', () => {
  const [opened] = orderEvents(
    buildSvmBlock([
      buildSvmTransaction([
        {
          program: OPENBOOK,
          accounts: placing(4),
          data: tagged('33c29baf6d82606a', ...order(BID)),
          logs: [returned(some(bid(88n, 7n)))],
        },
      ]),
    ]),
  )
  assert.deepEqual(
    [opened?.event.owner, opened?.event.account, opened?.event.payer, opened?.event.event_index],
    [SIGNER, ACCOUNT, SIGNER, 0],
  )
})

test('a fill is an event of the maker order, on the side opposite to the taker', () => {
  const logs = [
    'Program log: Instruction: ConsumeEvents',
    eventLogLine(FILL, filled(BID, 88n, 3n)),
    eventLogLine(FILL, filled(ASK, 90n, 4n)),
  ]
  assert.deepEqual(ordersOf({ logs }), [
    ['FILL', '', false, '88', '3'],
    ['FILL', '', true, '90', '4'],
  ])
  const [first] = orderEvents(
    buildSvmBlock([buildSvmTransaction([{ program: OPENBOOK, data: '', logs }])]),
  )
  assert.deepEqual(
    [first?.event.owner, first?.event.account, first?.event.payer],
    ['', MAKER, TAKER],
  )
  const short = eventLogLine(FILL, filled(BID, 88n, 3n).subarray(0, -1))
  assert.deepEqual(ordersOf({ logs: [short] }), [])
  assert.deepEqual(ordersOf({ logs: [eventLogLine('08eb303aae4c9c69', filled(BID, 1n, 1n))] }), [])
  assert.deepEqual(ordersOf({ program: addressFor('forger'), logs }), [])
})

test('an order canceled by its id is a CANCEL event', () => {
  const accounts = buildAccountList(5, { 0: SIGNER, 1: ACCOUNT, 2: MARKET })
  const data = tagged('5f81edf00831df84', u128le(bid(88n, 7n)))
  assert.deepEqual(ordersOf({ accounts, data }), [['CANCEL', String(bid(88n, 7n)), true, '', '']])
  assert.deepEqual(ordersOf({ accounts, data: data.subarray(0, -1) }), [])
  assert.deepEqual(ordersOf({ accounts: accounts.slice(0, 2), data }), [])
})

test('an order that fills first and then rests gives its events in that order', () => {
  const call = {
    data: tagged('33c29baf6d82606a', ...order(BID)),
    accounts: placing(4),
    logs: [returned(some(bid(90n, 7n))), eventLogLine(FILL, filled(BID, 90n, 25n))],
  }
  assert.deepEqual(
    ordersOf(call).map(([type]) => type),
    ['FILL', 'OPEN'],
  )
})

test('return data is attributed to the call that returned it', () => {
  const lines = [
    `Program ${addressFor('router')} invoke [1]`,
    `Program ${OPENBOOK} invoke [2]`,
    `Program ${OPENBOOK} consumed 3 of 4 compute units`,
    returned(some(1n)),
    `Program ${OPENBOOK} success`,
    `Program ${addressFor('router')} success`,
  ]
  const calls = [
    { program: addressFor('router'), depth: 1 },
    { program: OPENBOOK, depth: 2 },
  ]
  assert.deepEqual(
    attributeLogLines(lines, calls).map((logged) => logged.lines),
    [[], [returned(some(1n))]],
  )
})

test('instructions and log lines of OpenBook are kept where the orders feed is on', () => {
  const { data, logs } = withOrderBooks(ALL_PROGRAMS)
  assert.ok(data.has(OPENBOOK) && logs.has(OPENBOOK))
  assert.ok(!ALL_PROGRAMS.data.has(OPENBOOK) && ALL_PROGRAMS.data.has(PROGRAM_IDS.pumpFun))
})
