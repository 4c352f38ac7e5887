import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatUnits } from '../../core/amounts.ts'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { PNL } from '../../processors/pnl/stage.ts'
import type { Operation, Publication } from '../../processors/runtime/stage.ts'
import type { TradeEvent, WalletTokenPnlEvent, WalletTradePnlEvent } from '../../schemas/wire.ts'
import { type BrutePnlTrade, brutePnl, countTradesWithin } from '../support/brute-force/pnl.ts'
import {
  buildTape,
  type ChainStep,
  chainStepsArbitrary,
  type Tape,
  type TapeBlock,
  type TapeTrade,
  tapeOperation,
} from '../support/builders/trade-tape.ts'
import { createStageState } from '../support/stage-harness.ts'

const WALLETS = ['0xw1', '0xw2', '0xw3'] as const
const DECIMALS = 6
/** 0xzzz is money in these tests: it has no positions. */
const BOOK: QuoteAssets = {
  assets: new Map([['0xzzz', { address: '0xzzz', symbol: 'Z', decimals: 6, kind: 'native' }]]),
  native: '0xzzz',
}

/** Coarse amounts, so that positions close to the last unit now and then. */
const coarse = (moves: readonly ChainStep[]): readonly ChainStep[] =>
  moves.map((move) =>
    move.kind === 'apply'
      ? {
          ...move,
          trades: move.trades.map((trade) => ({
            ...trade,
            baseRaw: ((trade.baseRaw % 4n) + 1n) * 7n,
            quoteRaw: trade.quoteRaw % 1_000_003n,
            baseDecimals: DECIMALS,
          })),
        }
      : move,
  )

const walletOf = (trade: TapeTrade): string => WALLETS[Number(trade.quoteRaw % 3n)] ?? '0xw1'

const traded = (event: TradeEvent, block: TapeBlock, index: number): TradeEvent => {
  const trade = block.trades[index]
  if (trade === undefined || event.trade === null) return event
  const wallet = walletOf(trade)
  return { ...event, trade: { ...event.trade, user_a_account_owner_address: wallet } }
}

const operations = (tape: Tape): readonly Operation[] =>
  tape.ops.map((op) => tapeOperation(op, 'tradesProcessed', traded))

/** Value of the quote leg in units of 10^-12 USD: the double as it prints, rounded half up at the twelfth place. */
const usdOf = ({ quoteRaw, quoteDecimals, quoteUsd }: TapeTrade): bigint | null => {
  if (quoteDecimals === null || quoteUsd === '') return null
  const value = (Number(quoteRaw) / 10 ** quoteDecimals) * Number(quoteUsd)
  const [whole = '0', places = ''] = (value < 1e-6 ? value.toFixed(13) : String(value)).split('.')
  return (BigInt(whole + places.padEnd(13, '0').slice(0, 13)) + 5n) / 10n
}

const canonical = ({ blocks }: Tape): readonly BrutePnlTrade[] =>
  blocks.flatMap((block) =>
    block.trades.flatMap((trade) =>
      trade.base === '0xzzz'
        ? []
        : [
            {
              wallet: walletOf(trade),
              token: trade.base,
              buy: trade.buy,
              raw: trade.baseRaw,
              usd: usdOf(trade),
              timeMs: block.timeMs,
            },
          ],
    ),
  )

/** What a consumer keeps: newest position per key, and the rows that were not taken back. */
class Board {
  readonly positions = new Map<string, WalletTokenPnlEvent>()
  readonly rows = new Map<string, WalletTradePnlEvent>()
  readonly state = new Map<string, string>()

  take(publications: readonly Publication[]): void {
    for (const publication of publications) {
      assert.equal(publication.topic, 'walletTokenPnls')
      if (publication.topic !== 'walletTokenPnls') continue
      const { meta, events, trades } = publication.value
      for (const event of events) {
        assert.equal(event.wallet_address, publication.key)
        const key = `${event.token_address}|${event.wallet_address}`
        const before = this.positions.get(key)
        assert.ok((before?.version ?? 0) < event.version, `${key}: version does not grow`)
        this.positions.set(key, event)
      }
      for (const row of trades) {
        assert.equal(row.wallet_address, publication.key)
        const key = `${meta?.hash}/${row.event_index}`
        if (meta?.op === 'OP_APPLY') {
          assert.ok(!this.rows.has(key))
          this.rows.set(key, row)
        } else {
          assert.deepEqual(this.rows.get(key), row, `${key} is repeated as it was`)
          this.rows.delete(key)
        }
      }
    }
  }
}

const run = (
  ops: readonly Operation[],
  sizes: readonly number[] = [1],
  restarts: readonly boolean[] = [false],
): Board => {
  const board = new Board()
  let folding = PNL.load(createStageState(board.state), BOOK)
  let at = 0
  for (let round = 0; at < ops.length; round += 1) {
    const size = sizes[round % sizes.length] ?? 1
    for (const operation of ops.slice(at, at + size)) board.take(folding.step(operation))
    for (const [key, value] of folding.flush().changes) {
      if (value === null) board.state.delete(key)
      else board.state.set(key, value)
    }
    at += size
    if (restarts[round % restarts.length]) folding = PNL.load(createStageState(board.state), BOOK)
  }
  return board
}

const units = (raw: bigint): string => formatUnits(raw, DECIMALS)
const usd = (raw: bigint): string => formatUnits(raw, 12)

const check = (tape: Tape, board: Board): void => {
  const trades = canonical(tape)
  const { positions, rows } = brutePnl(trades)
  const held = [...board.positions].filter(([, { buys, sells }]) => buys + sells > 0)
  assert.deepEqual(new Set(held.map(([key]) => key)), new Set(positions.keys()))
  for (const [key, event] of held) {
    const expected = positions.get(key)
    assert.ok(expected)
    const week = countTradesWithin(trades, key, 7)
    const month = countTradesWithin(trades, key, 30)
    assert.deepEqual(
      {
        buys: event.buys,
        sells: event.sells,
        wins: event.wins,
        losses: event.losses,
        bought: event.buy_amount,
        boughtUsd: event.buy_amount_in_usd,
        sold: event.sell_amount,
        soldUsd: event.sell_amount_in_usd,
        held: event.position_amount,
        cost: event.position_cost_in_usd,
        realized: event.realized_profit_in_usd,
        total: event.total_realized_profit_in_usd,
        times: [event.open_time, event.close_time, event.first_time, event.last_time],
        windows: [event.buys_7d, event.sells_7d, event.buys_30d, event.sells_30d],
      },
      {
        buys: expected.buys,
        sells: expected.sells,
        wins: expected.wins,
        losses: expected.losses,
        bought: units(expected.boughtRaw),
        boughtUsd: usd(expected.boughtUsd),
        sold: units(expected.soldRaw),
        soldUsd: usd(expected.soldUsd),
        held: units(expected.held),
        cost: usd(expected.cost),
        realized: usd(expected.realized),
        total: usd(expected.total),
        times: [expected.openMs, expected.closeMs, expected.firstMs, expected.lastMs],
        windows: [week.buys, week.sells, month.buys, month.sells],
      },
      key,
    )
  }
  const text = (row: (typeof rows)[number]): string =>
    [
      ...[row.trade.wallet, row.trade.token, row.trade.timeMs, row.trade.buy ? 'BUY' : 'SELL'],
      ...[units(row.trade.raw), row.trade.usd === null ? '' : usd(row.trade.usd)],
      ...[usd(row.realized), usd(row.cost), units(row.unknown)],
    ].join(' ')
  const shown = (row: WalletTradePnlEvent): string =>
    [
      ...[row.wallet_address, row.token_address, row.time, row.side, row.amount],
      ...[row.amount_in_usd, row.realized_profit_in_usd, row.cost_in_usd, row.unknown_amount],
    ].join(' ')
  assert.deepEqual([...board.rows.values()].map(shown).toSorted(), rows.map(text).toSorted())
}

const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
const restarts = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
const courses = chainStepsArbitrary.map((moves) => buildTape(coarse(moves)))
const RUNS = { numRuns: 200 }

test('after any history of a chain positions and rows are those of its canonical trades', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      check(tape, run(operations(tape), flushes, stops))
    }),
    RUNS,
  )
})

test('batch boundaries and restarts change neither the published positions nor the state', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      const one = run(operations(tape))
      const other = run(operations(tape), flushes, stops)
      assert.deepEqual([...other.positions].toSorted(), [...one.positions].toSorted())
      assert.deepEqual([...other.state].toSorted(), [...one.state].toSorted())
    }),
    RUNS,
  )
})

test('a reorg of 60 blocks restores the positions from before it', () => {
  const block = (at: number): ChainStep => ({
    kind: 'apply',
    stepMs: 12_000,
    trades: [0, 1].map((index) => ({
      base: '0xaaa',
      quote: '0xusdc',
      pool: '0xp1',
      suspect: false,
      baseRaw: BigInt(100 + at),
      quoteRaw: BigInt(3_000_000 + at * 7 + index),
      baseDecimals: 6,
      quoteDecimals: 6,
      quoteUsd: '1',
      quoteNative: '',
      buy: (at + index) % 3 !== 0,
    })),
  })
  const first = Array.from({ length: 70 }, (_, at) => block(at))
  const back = Array.from({ length: 60 }, (): ChainStep => ({ kind: 'revert' }))
  const other = Array.from({ length: 60 }, (_, at) => block(at + 500))
  const tape = buildTape([...first, { kind: 'finalize', keep: 62 }, ...back, ...other])
  check(tape, run(operations(tape), [3, 64, 1], [false, true]))
  const undone = buildTape([...first, ...first.map((): ChainStep => ({ kind: 'revert' }))])
  const { rows, positions } = run(operations(undone))
  assert.equal(rows.size, 0)
  assert.ok([...positions.values()].every(({ buys, sells }) => buys + sells === 0))
})
