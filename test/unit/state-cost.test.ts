import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CANDLES, loadCandles } from '../../processors/candles/stage.ts'
import { createVersionedStore } from '../../processors/runtime/versioned-store.ts'
import {
  buildTape,
  type ChainStep,
  type TapeTrade,
  tapeOperation,
} from '../support/builders/trade-tape.ts'
import { createStageState } from '../support/stage-harness.ts'

const PRICED = {
  token_a_price_in_quote: '',
  token_a_price_in_usd: '2',
  token_a_price_in_native: '',
  token_b_price_in_base: '',
  token_b_price_in_usd: '',
  token_b_price_in_native: '',
  is_token_a_price_in_usd_suspect: false,
  is_token_a_price_in_usd_suspect_reason: 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED' as const,
  token_a_price_in_usd_lasted: '',
  token_a_price_in_native_lasted: '',
  token_b_price_in_usd_lasted: '',
  token_b_price_in_native_lasted: '',
}

const tradeOf = (token: number): TapeTrade => ({
  base: `0xt${token}`,
  quote: '0xusdc',
  pool: `0xp${token}`,
  baseRaw: 1_000_000n,
  quoteRaw: 2_000_000n,
  baseDecimals: 6,
  quoteDecimals: 6,
  buy: true,
  quoteUsd: '1',
  quoteNative: '',
  suspect: false,
})

/** Looks into maps that loading takes, of as many unfinalized blocks as given, each with a token of its own. */
const lookupsOfLoad = (blocks: number): number => {
  const moves = Array.from(
    { length: blocks },
    (_, token): ChainStep => ({ kind: 'apply', stepMs: 1_000, trades: [tradeOf(token)] }),
  )
  const state = new Map<string, string>()
  const folding = CANDLES.load(createStageState(state))
  for (const op of buildTape(moves).ops) {
    const finish = (event: Parameters<NonNullable<Parameters<typeof tapeOperation>[2]>>[0]) => ({
      ...event,
      trade_processed: PRICED,
    })
    folding.step(tapeOperation(op, 'tradesProcessed', finish))
  }
  for (const [key, text] of folding.flush().changes) if (text !== null) state.set(key, text)
  const kept = createStageState(state)
  const get = Map.prototype.get
  let count = 0
  Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
    count += 1
    return get.call(this, key)
  }
  try {
    assert.equal(loadCandles(kept).size, 3 * blocks)
    return count
  } finally {
    Map.prototype.get = get
  }
}

test('loading candles of four times as many blocks takes four times as many lookups', () => {
  const [few, many] = [lookupsOfLoad(50), lookupsOfLoad(200)]
  assert.ok(few > 50, 'lookups are counted')
  assert.ok(many < 5 * few, `${few} lookups for 50 blocks, ${many} for 200`)
})

test('a revert reads the stored data of its block once, also after an earlier read', () => {
  const state = new Map<string, string>()
  const first = createVersionedStore<{ n: number }, string>(createStageState(state))
  for (const height of [1, 2]) {
    const values = new Map([['key', { n: height }]])
    first.apply({ hash: `0x${height}`, height, timeMs: 0, values, extra: `of ${height}` })
  }
  for (const [key, text] of first.changes()) if (text !== null) state.set(key, text)
  let reads = 0
  const kept = createStageState(state)
  const counted = {
    ...kept,
    get: (key: string) => {
      if (key.startsWith('h/')) reads += 1
      return kept.get(key)
    },
  }
  const layers = createVersionedStore<{ n: number }, string>(counted)
  assert.equal(layers.extra('0x2'), 'of 2')
  assert.equal(layers.revert('0x2')?.extra, 'of 2')
  assert.equal(reads, 1)
  assert.deepEqual(layers.get('key'), { n: 1 })
  assert.equal(layers.extra('0x2'), undefined)
  assert.equal(layers.revert('0x1')?.extra, 'of 1')
  assert.equal(reads, 2)
  // The block may come again with something else kept for it.
  const values = new Map([['key', { n: 9 }]])
  layers.apply({ hash: '0x1', height: 1, timeMs: 0, values, extra: 'again' })
  assert.equal(layers.extra('0x1'), 'again')
})
