import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUnits } from '../../core/amounts.ts'
import { pnlEvent, tradePnlEvent } from '../../processors/pnl/events.ts'
import {
  applyTrade,
  fromStoredPosition,
  NO_POSITION,
  type Position,
  type PositionTrade,
  type PositionUpdate,
  toStoredPosition,
  tradesInLastDays,
} from '../../processors/pnl/position.ts'

const WHO = { wallet: '0xw', token: '0xt' }
const DAY = 86_400_000

const deal = (
  side: 'buy' | 'sell',
  amount: string,
  usd: string | null,
  timeMs = 1,
): PositionTrade => ({
  buy: side === 'buy',
  amountRaw: parseUnits(amount, 6),
  usd: usd === null ? null : parseUnits(usd, 12),
  timeMs,
  decimals: 6,
  priceUsd: '',
})

const after = (deals: readonly PositionTrade[]): Position =>
  deals.reduce((position, each) => applyTrade(position, each).position, NO_POSITION)

const last = (deals: readonly PositionTrade[]): PositionUpdate => {
  const newest = deals.at(-1)
  assert.ok(newest)
  return applyTrade(after(deals.slice(0, -1)), newest)
}

test('a sell realizes profit against the moving average cost', () => {
  const bought = [deal('buy', '100', '100'), deal('buy', '100', '300')]
  const { realizedUsd, costUsd, position, unknownRaw } = last([
    ...bought,
    deal('sell', '50', '150'),
  ])
  assert.equal(costUsd, parseUnits('100', 12))
  assert.equal(realizedUsd, parseUnits('50', 12))
  assert.equal(unknownRaw, 0n)
  assert.deepEqual(
    [position.heldRaw, position.costUsd],
    [parseUnits('150', 6), parseUnits('300', 12)],
  )
  assert.deepEqual([position.wins, position.losses], [1, 0])
})

test('a sell below its cost is a loss, one at its cost is neither a loss nor a win', () => {
  const path = [deal('buy', '100', '200'), deal('sell', '10', '5'), deal('sell', '10', '20')]
  const { wins, losses, totalRealizedUsd } = after(path)
  assert.deepEqual([wins, losses, totalRealizedUsd], [0, 1, parseUnits('-15', 12)])
})

test('a cycle starts with the buy that opened it, a position with its first trade', () => {
  const path = [deal('sell', '1', '1', 3), deal('buy', '1', '1', 5), deal('buy', '1', '1', 8)]
  const { firstMs, openMs, lastMs } = after(path)
  assert.deepEqual([firstMs, openMs, lastMs], [3, 5, 8])
})

test('the sold part that was never bought realizes nothing and is counted as unknown', () => {
  const { realizedUsd, costUsd, position, unknownRaw } = last([
    deal('buy', '10', '20'),
    deal('sell', '40', '200', 9),
  ])
  assert.equal(realizedUsd, parseUnits('30', 12), 'a quarter of the proceeds, less the cost')
  assert.equal(costUsd, parseUnits('20', 12))
  assert.equal(unknownRaw, parseUnits('30', 6))
  assert.equal(position.closeMs, 9)
  const none = last([deal('sell', '40', '200')])
  assert.deepEqual([none.realizedUsd, none.unknownRaw], [0n, parseUnits('40', 6)])
  assert.deepEqual([none.position.wins, none.position.losses, none.position.sells], [0, 0, 1])
  assert.equal(none.position.closeMs, 0, 'nothing was open')
})

test('a trade of unknown value is counted, and such a sell takes its cost along', () => {
  const { position, realizedUsd } = last([
    deal('buy', '100', '50'),
    deal('buy', '900', null),
    deal('sell', '40', null),
  ])
  assert.deepEqual([position.buys, position.sells], [2, 1])
  assert.deepEqual(
    [position.boughtRaw, position.boughtUsd],
    [parseUnits('1000', 6), parseUnits('50', 12)],
  )
  assert.deepEqual(
    [position.heldRaw, position.costUsd],
    [parseUnits('60', 6), parseUnits('30', 12)],
  )
  assert.equal(realizedUsd, 0n)
})

test('a cycle closes at less than ten base units and the next buy opens another', () => {
  const closed = after([
    deal('buy', '1', '10', 5),
    { ...deal('sell', '1', '30', 7), amountRaw: 999_991n },
  ])
  assert.deepEqual(
    [closed.heldRaw, closed.costUsd, closed.openMs, closed.closeMs],
    [0n, 0n, 5, 7],
    'dust is nothing',
  )
  const realized = closed.realizedUsd
  assert.ok(realized > 0n)
  const again = applyTrade(closed, deal('buy', '2', '8', 11)).position
  assert.deepEqual([again.openMs, again.closeMs, again.realizedUsd], [11, 0, 0n])
  assert.equal(again.totalRealizedUsd, realized)
  const open = after([
    deal('buy', '1', '10', 5),
    { ...deal('sell', '1', '30'), amountRaw: 999_990n },
  ])
  assert.equal(open.closeMs, 0)
})

test('profit is path dependent: a running average, not one over all buys', () => {
  const path = [
    deal('buy', '100', '100'),
    deal('sell', '100', '150'),
    deal('buy', '100', '400'),
    deal('sell', '50', '210'),
  ]
  assert.equal(after(path).totalRealizedUsd, parseUnits('60', 12))
  const event = pnlEvent(WHO, { ...after(path), priceUsd: '5' }, 7)
  assert.equal(event.average_buy_price_in_usd, '2.5')
  assert.equal(event.average_sell_price_in_usd, '2.4')
  assert.equal(event.realized_profit_in_usd, '10', 'of the open cycle')
  assert.equal(event.total_realized_profit_in_usd, '60')
  assert.equal(event.unrealized_profit_in_usd, '50', '50 at 5, less 200')
  assert.equal(event.total_realized_profit_ratio, '0.12')
  assert.equal(event.unrealized_profit_ratio, '0.1')
  assert.deepEqual([event.position_amount, event.position_cost_in_usd], ['50', '200'])
})

test('profit ratios are 0 without a cost, and unknown values stay empty', () => {
  const none = pnlEvent(WHO, after([deal('sell', '5', '10')]), 1)
  assert.equal(none.realized_profit_ratio, '0')
  assert.equal(none.unrealized_profit_in_usd, '0')
  assert.equal(none.average_buy_price_in_usd, '')
  const blind = pnlEvent(WHO, { ...after([deal('buy', '5', '10')]), decimals: null }, 1)
  assert.deepEqual(
    [blind.buy_amount, blind.position_amount, blind.average_buy_price_in_usd],
    ['', '', ''],
  )
  assert.deepEqual([blind.unrealized_profit_in_usd, blind.unrealized_profit_ratio], ['', ''])
})

test('average prices use trades of known value only, also from state stored before these were counted', () => {
  const path = [deal('buy', '10', '20'), deal('buy', '90', null), deal('sell', '4', '12')]
  const position = after([...path, deal('sell', '1', null)])
  const event = pnlEvent(WHO, position, 1)
  assert.deepEqual(
    [event.buy_amount, event.valued_buy_amount, event.average_buy_price_in_usd],
    ['100', '10', '2'],
  )
  assert.deepEqual(
    [event.sell_amount, event.valued_sell_amount, event.average_sell_price_in_usd],
    ['5', '4', '3'],
  )
  const { valuedBoughtRaw: _bought, valuedSoldRaw: _sold, ...old } = toStoredPosition(position)
  assert.equal(pnlEvent(WHO, fromStoredPosition(old), 1).average_buy_price_in_usd, '0.2')
})

test('window counts end with the day of the newest trade', () => {
  const deals = [0, 1, 6, 7, 29, 30].map((day) => deal('buy', '1', '1', day * DAY + 5))
  const event = pnlEvent(WHO, after(deals), 1)
  assert.deepEqual([event.buys, event.buys_7d, event.buys_30d], [6, 2, 5])
})

test('a window of n days counts the trades of n days, of each side', () => {
  const daily = Array.from({ length: 40 }, (_, day) => [
    deal('buy', '1', '1', day * DAY),
    deal('sell', '1', '1', (day + 1) * DAY - 1),
    deal('sell', '1', '1', (day + 1) * DAY - 1),
  ])
  const position = after(daily.flat())
  for (const length of [1, 7, 30]) {
    const expected = { buys: length, sells: 2 * length }
    assert.deepEqual(tradesInLastDays(position, length), expected, `${length} days`)
  }
})

test('trades are counted by day, and days more than 29 before the newest are dropped', () => {
  const perDay = after([
    deal('buy', '5', '1', 0),
    deal('buy', '5', '1', DAY),
    deal('sell', '1', '1', 30 * DAY - 1),
    deal('buy', '1', '1', 30 * DAY - 1),
    deal('sell', '1', '1', 30 * DAY - 1),
  ])
  assert.deepEqual(perDay.days, [
    [0, 1, 0],
    [1, 1, 0],
    [29, 1, 2],
  ])
  assert.deepEqual(applyTrade(perDay, deal('sell', '1', '1', 30 * DAY)).position.days, [
    [1, 1, 0],
    [29, 1, 2],
    [30, 0, 1],
  ])
})

test('a position keeps the last known price of its trades', () => {
  const prices = ['', '2', '', '3', '']
  const kept = prices.map(
    (_, index) =>
      after(prices.slice(0, index + 1).map((priceUsd) => ({ ...deal('buy', '1', '1'), priceUsd })))
        .priceUsd,
  )
  assert.deepEqual(kept, ['', '2', '2', '3', '3'])
})

test('a trade of amount zero is counted, and neither opens, costs nor realizes anything', () => {
  const bought = last([deal('buy', '0', '7', 5)])
  assert.deepEqual(
    [bought.position.buys, bought.position.boughtUsd, bought.position.openMs, bought.costUsd],
    [1, parseUnits('7', 12), 0, 0n],
  )
  const sold = last([deal('buy', '10', '20', 5), deal('sell', '0', '7', 6)])
  assert.deepEqual(
    [sold.position.sells, sold.realizedUsd, sold.costUsd, sold.unknownRaw, sold.position.closeMs],
    [1, 0n, 0n, 0n, 0],
  )
  assert.equal(sold.position.costUsd, parseUnits('20', 12))
})

test('a profit and loss row has the remaining position and its cost', () => {
  const sell = deal('sell', '40', '200', 9)
  const outcome = applyTrade(after([deal('buy', '10', '20')]), sell)
  assert.deepEqual(tradePnlEvent(WHO, sell, outcome, { tx: '0xtx', eventIndex: 3 }), {
    wallet_address: '0xw',
    token_address: '0xt',
    time: 9,
    tx: '0xtx',
    event_index: 3,
    side: 'SELL',
    amount: '40',
    amount_in_usd: '200',
    realized_profit_in_usd: '30',
    cost_in_usd: '20',
    unknown_amount: '30',
    position_amount: '0',
    position_cost_in_usd: '0',
  })
})

test('a position survives storage', () => {
  const position = after([deal('buy', '100', '50'), deal('sell', '30', '60')])
  assert.deepEqual(
    fromStoredPosition(JSON.parse(JSON.stringify(toStoredPosition(position)))),
    position,
  )
})
