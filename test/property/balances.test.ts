import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { BALANCES } from '../../processors/holders/balances-stage.ts'
import type { Operation, Publication } from '../../processors/runtime/stage.ts'
import { balanceRows, holderRows } from '../../processors/sinks/wallet-rows.ts'
import type { BalanceEvent, BlockEvent } from '../../schemas/wire.ts'
import { bruteOwners } from '../support/brute-force/holders.ts'
import {
  buildWalletTape,
  type WalletStep,
  type WalletTape,
  walletStepsArbitrary,
  walletTapeOperations,
} from '../support/builders/wallet-tape.ts'
import { createStageState, createTestProcessor } from '../support/stage-harness.ts'

const operations = (tape: WalletTape): readonly Operation[] =>
  walletTapeOperations(tape, BALANCES.inputs)

type Row = Readonly<Record<string, unknown>>

/** Newest row per key as the store shows it: removed rows are absent. */
class Store {
  readonly holders = new Map<string, Row>()
  readonly updates = new Map<string, Row>()
  readonly state = new Map<string, string>()

  take(publications: readonly Publication[]): void {
    for (const { topic, value } of publications) {
      assert.equal(topic, 'balancesProcessed')
      if (topic !== 'balancesProcessed') continue
      for (const row of holderRows(value))
        this.#keep(this.holders, `${row.holder}|${row.token_address}`, row)
      for (const row of balanceRows(value)) {
        const place = [row.owner, row.token_address, row.block_slot, row.tx_index, row.event_index]
        this.#keep(this.updates, place.join('|'), row)
      }
    }
  }

  #keep(rows: Map<string, Row>, key: string, row: Row): void {
    const before = rows.get(key)
    if (before === undefined || BigInt(String(before._ver)) <= BigInt(String(row._ver))) {
      rows.set(key, row)
    }
  }
}

const shown = (rows: ReadonlyMap<string, Row>): ReadonlyMap<string, Row> =>
  new Map([...rows].filter(([, { _del }]) => _del === 0))

const run = (
  ops: readonly Operation[],
  sizes: readonly number[] = [1],
  restarts: readonly boolean[] = [false],
): Store => {
  const store = new Store()
  let folding = BALANCES.load(createStageState(store.state))
  let at = 0
  for (let round = 0; at < ops.length; round += 1) {
    const size = sizes[round % sizes.length] ?? 1
    for (const operation of ops.slice(at, at + size)) store.take(folding.step(operation))
    for (const [key, value] of folding.flush().changes) {
      if (value === null) store.state.delete(key)
      else store.state.set(key, value)
    }
    at += size
    if (restarts[round % restarts.length]) folding = BALANCES.load(createStageState(store.state))
  }
  return store
}

const check = (tape: WalletTape, { holders, updates }: Store): void => {
  const expected = bruteOwners(tape.blocks)
  const held = shown(holders)
  assert.deepEqual([...held.keys()].toSorted(), [...expected.keys()].toSorted())
  for (const [key, { raw, firstMs, lastMs }] of expected) {
    const row = held.get(key)
    assert.deepEqual(
      [row?.balance, row?.first_seen, row?.last_seen],
      [String(raw), new Date(firstMs).toISOString(), new Date(lastMs).toISOString()],
      key,
    )
  }
  const changes = tape.blocks.flatMap(({ hash, acts }) =>
    acts.flatMap((act) =>
      act.kind === 'balance' ? [`${hash} ${act.account} ${act.postRaw}`] : [],
    ),
  )
  const rows = [...shown(updates).values()]
  assert.deepEqual(
    rows.map((row) => `${row.block_hash} ${row.token_account} ${row.post_balance}`).toSorted(),
    changes.toSorted(),
  )
}

const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
const restarts = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
const courses = walletStepsArbitrary.map((moves) => buildWalletTape(moves))
const RUNS = { numRuns: 120 }

test('after any history of a chain the rows of owners and changes are those of its canonical blocks', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      const store = run(operations(tape), flushes, stops)
      check(tape, store)
      assert.deepEqual([...store.state].toSorted(), [...run(operations(tape)).state].toSorted())
    }),
    RUNS,
  )
})

test('a reverted block publishes the same balance events as its apply, newest first', () => {
  fc.assert(
    fc.property(courses, (tape) => {
      const folding = createTestProcessor(BALANCES)
      const said = new Map<string, readonly BalanceEvent[]>()
      for (const operation of operations(tape)) {
        for (const { topic, key, value } of folding.step(operation)) {
          if (topic !== 'balancesProcessed') continue
          const place = `${value.meta?.hash}|${key}`
          if (value.meta?.op === 'OP_APPLY') said.set(place, value.events)
          else assert.deepEqual(value.events.toReversed(), said.get(place))
        }
      }
    }),
    RUNS,
  )
})

test('a reorg of 60 blocks restores the balances from before it', () => {
  const block = (at: number): WalletStep => ({
    kind: 'apply',
    stepMs: 12_000,
    acts: [0, 1, 2].map((account) => ({
      kind: 'balance',
      tx: account,
      token: account === 1 ? '0xold' : '0xt1',
      owner: `0xo${at % 5}`,
      account: `0xo${at % 5}.${account}`,
      postRaw: BigInt(at),
    })),
  })
  const first = Array.from({ length: 66 }, (_, at) => block(at))
  const back = Array.from({ length: 60 }, (): WalletStep => ({ kind: 'revert' }))
  const other = Array.from({ length: 60 }, (_, at) => block(at + 300))
  const tape = buildWalletTape([...first, { kind: 'finalize', keep: 61 }, ...back, ...other])
  check(tape, run(operations(tape), [7, 64], [false, true]))
  const undone = buildWalletTape([...first, ...first.map((): WalletStep => ({ kind: 'revert' }))])
  assert.equal(shown(run(operations(undone)).holders).size, 0)
})

const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const COIN = '0x0000000000000000000000000000000000000000'

const processedOf = (token: string, prices: BlockEvent['quote_prices'], book?: QuoteAssets) => {
  const tape = buildWalletTape([
    {
      kind: 'apply',
      stepMs: 0,
      acts: [{ kind: 'balance', tx: 0, token, owner: '0xo', account: '0xo', postRaw: 2_000_000n }],
    },
  ])
  const [operation] = operations(tape)
  assert.ok(operation)
  const { block, records } = operation
  const folding = createTestProcessor(BALANCES, book)
  const [out] = folding.step({ block: { ...block, quote_prices: prices }, records })
  assert.equal(out?.topic, 'balancesProcessed')
  const processed =
    out.topic === 'balancesProcessed' ? out.value.events[0]?.balance_processed : null
  return [
    processed?.token_price_in_usd,
    processed?.post_amount_in_usd,
    processed?.post_amount_in_native,
  ]
}

test('balance values use the price table of their own block, for quote assets only', () => {
  const timeMs = Date.UTC(2026, 0, 31, 23, 58)
  const price = {
    token_address: WETH,
    quote_address: USDC,
    price: '2500',
    block_time: timeMs,
  }
  assert.deepEqual(processedOf(WETH, [price]), ['2500', '5000', '2'])
  assert.deepEqual(processedOf(COIN, [price]), ['2500', '5000', '2'])
  assert.deepEqual(processedOf(USDC, [price]), ['1', '2', '0.0008'])
  assert.deepEqual(processedOf('0xt1', [price]), ['', '', ''])
  assert.deepEqual(processedOf(WETH, []), ['', '', '2'])
  const stale = { ...price, block_time: timeMs - 3_600_001 }
  assert.deepEqual(processedOf(WETH, [stale]), ['', '', '2'])
  const own = {
    assets: new Map([
      ['0xt1', { address: '0xt1', symbol: 'T', decimals: 6, kind: 'stable' as const }],
    ]),
    native: WETH,
  }
  assert.deepEqual(processedOf('0xt1', [price], own), ['1', '2', ''])
})
