/** Quotes of Meteora DLMM against swaps that the real program carried out (`test/fixtures/sol-programs/dlmm-swaps.json`). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type DlmmBook, dlmmAmountIn, dlmmAmountOut } from '../../serving/dex/dlmm-book.ts'

/** A pool before a swap, the exact side of it, and the other side as the program had it. */
interface CarriedOut extends DlmmBook {
  readonly sellsX: boolean
  readonly exact: 'in' | 'out'
  readonly amount: bigint
  readonly result: bigint
}

const WHOLE = /^\d+n$/

const { swaps } = JSON.parse(
  readFileSync(new URL('../fixtures/sol-programs/dlmm-swaps.json', import.meta.url), 'utf8'),
  (_, value) =>
    typeof value === 'string' && WHOLE.test(value) ? BigInt(value.slice(0, -1)) : value,
) as { readonly swaps: readonly CarriedOut[] }

test('quotes equal what the program moved, both ways, exact on either side, with fees of both kinds', () => {
  const ways = new Map<string, number>()
  for (const { sellsX, exact, amount, result, ...book } of swaps) {
    const quote =
      exact === 'in' ? dlmmAmountOut(book, sellsX, amount) : dlmmAmountIn(book, sellsX, amount)
    const label = `bin ${book.activeBin}, ${sellsX ? 'X' : 'Y'} sold, exact ${exact}: ${amount}`
    assert.ok('amountRaw' in quote, label)
    assert.equal(quote.amountRaw, result, label)
    const isCrossing = quote.steps > 2 ? 'crossing' : 'within'
    for (const way of [
      `${sellsX} ${exact} ${isCrossing}`,
      book.isFeeInY ? 'fee in Y' : 'fee in what is sold',
      book.bins.some(({ orders }) => orders) ? 'orders' : 'no orders',
    ])
      ways.set(way, (ways.get(way) ?? 0) + 1)
  }
  assert.equal(ways.size, 12, [...ways.keys()].join())
  assert.ok(swaps.length >= 100)
})

test('a swap beyond the bins that are known is refused with the reason', () => {
  const [swap] = swaps
  assert.ok(swap)
  for (const sellsX of [true, false]) {
    const quote = dlmmAmountOut({ ...swap, bins: [], below: 'beyond_known_ticks' }, sellsX, 1n)
    assert.equal('refused' in quote && quote.refused, sellsX ? 'beyond_known_ticks' : swap.above)
  }
  for (const amount of [0n, 1n << 64n])
    assert.ok('refused' in dlmmAmountOut(swap, swap.sellsX, amount))
})
