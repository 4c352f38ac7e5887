import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlushResult, Operation } from '../../processors/runtime/stage.ts'
import type { BlockStats } from '../../processors/stats/block-stats.ts'
import { emptyBucket, type PriceRange } from '../../processors/stats/bucket.ts'
import { loadStats } from '../../processors/stats/stage.ts'
import { newTokenStats } from '../../processors/stats/token-stats.ts'
import { windowStatsAt } from '../../processors/stats/token-windows.ts'
import { createUnfinalizedTokens } from '../../processors/stats/unfinalized-tokens.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import {
  buildTape,
  type ChainStep,
  type TapeBlock,
  tapeOperation,
} from '../support/builders/trade-tape.ts'
import { createStageState } from '../support/stage-harness.ts'

const BLOCK_SECONDS = 12
const TOKENS = ['0xaaa', '0xbbb', '0xccc']

const priced = (event: TradeEvent, { height }: TapeBlock, index: number): TradeEvent => {
  const owner = `0xw${(height * 13 + index) % 401}`
  const price = String(1 + ((height * 31 + index) % 50) / 8)
  return {
    ...event,
    trade: event.trade && { ...event.trade, user_a_account_owner_address: owner },
    trade_processed: {
      token_a_price_in_quote: '',
      token_a_price_in_usd: price,
      token_a_price_in_native: price,
      token_b_price_in_base: '',
      token_b_price_in_usd: '',
      token_b_price_in_native: '',
      is_token_a_price_in_usd_suspect: false,
      is_token_a_price_in_usd_suspect_reason: 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED',
      token_a_price_in_usd_lasted: '',
      token_a_price_in_native_lasted: '',
      token_b_price_in_usd_lasted: '',
      token_b_price_in_native_lasted: '',
    },
  }
}

/** Each block trades every token; so many of the newest are never final. */
const chain = (blocks: number, unfinalized: number): readonly Operation[] => {
  const steps = Array.from({ length: blocks }, (_, block): readonly ChainStep[] => [
    {
      kind: 'apply',
      stepMs: BLOCK_SECONDS * 1_000,
      trades: TOKENS.map((base, index) => ({
        base,
        quote: '0xusdc',
        pool: `0xp${index}`,
        baseRaw: 1_000_000n + BigInt(block),
        quoteRaw: 2_000_000n,
        baseDecimals: 6,
        quoteDecimals: 6,
        buy: block % 3 !== 0,
        quoteUsd: '1',
        quoteNative: '0.0004',
        suspect: false,
      })),
    },
    { kind: 'finalize', keep: unfinalized },
  ])
  return buildTape(steps.flat()).ops.map((op) => tapeOperation(op, 'tradesProcessed', priced))
}

const COUNTED = [
  [Map.prototype, ['get', 'set', 'has', 'delete']],
  [Set.prototype, ['add', 'has', 'delete']],
  [Array.prototype, ['push']],
] as const

/** Looks into maps and sets, and entries that are added to lists, while something runs. */
const workOf = (run: () => void): number => {
  let count = 0
  const restored = COUNTED.flatMap(([prototype, names]) =>
    names.map((name) => {
      const method = Reflect.get(prototype, name)
      Reflect.set(prototype, name, function (this: unknown, ...values: unknown[]) {
        count += 1
        return Reflect.apply(method, this, values)
      })
      return () => Reflect.set(prototype, name, method)
    }),
  )
  try {
    run()
    return count
  } finally {
    for (const restore of restored) restore()
  }
}

const MEASURED_BLOCKS = 40
/** Blocks of one flush before those that are measured. */
const BLOCKS_PER_FLUSH = 100

/** Work for each of the newest blocks, and the finality that follows it, in a flush of its own; and what the windows then are. */
const workPerBlock = (unfinalized: number, blocks: number) => {
  const kept = new Map<string, string>()
  const folding = loadStats(createStageState(kept))
  let [work, applied] = [0, 0]
  let told: FlushResult['publications'] = []
  for (const operation of chain(blocks, unfinalized)) {
    const isApply = operation.block.meta.op === 'OP_APPLY'
    if (isApply) applied += 1
    const isMeasured = applied > blocks - MEASURED_BLOCKS
    const stepped = workOf(() => folding.step(operation))
    if (isMeasured) work += stepped
    if (!isApply || (!isMeasured && applied % BLOCKS_PER_FLUSH !== 0)) continue
    let changes: FlushResult['changes'] = []
    const flushed = workOf(() => {
      const result = folding.flush()
      told = result.publications
      changes = result.changes
    })
    if (isMeasured) work += flushed
    for (const [key, text] of changes) {
      if (text === null) kept.delete(key)
      else kept.set(key, text)
    }
  }
  const windows = told.flatMap((one) =>
    one.topic === 'tradeStats' ? one.value.events.map((event) => ({ ...event, version: 0 })) : [],
  )
  return { work: work / MEASURED_BLOCKS, windows }
}

test('a block takes the same work over 3,600 unfinalized blocks as over 32, and gives the same windows', () => {
  const BLOCKS = 3_700
  const [shallow, deep] = [workPerBlock(32, BLOCKS), workPerBlock(3_600, BLOCKS)]
  assert.equal(shallow.windows.length, 8 * TOKENS.length)
  assert.deepEqual(deep.windows, shallow.windows)
  assert.ok(shallow.work > 100, `${shallow.work} steps of work are counted`)
  assert.ok(
    deep.work < 1.2 * shallow.work,
    `${shallow.work} over 32 blocks, ${deep.work} over 3,600`,
  )
})

/** Prices that are read, of a token that traded in so many unfinalized blocks, for one answer after each of the newest ten. */
const priceReads = (blocks: number): number => {
  const tokens = createUnfinalizedTokens()
  const final = newTokenStats('t', { usd: null, native: null, liquidityUsd: null, second: null })
  let reads = 0
  const countedPrice = (price: number): PriceRange => ({
    open: price,
    close: price,
    low: price,
    get high() {
      reads += 1
      return price
    },
  })
  for (let block = 0; block < blocks; block += 1) {
    const second = 1_800_000_000 + block
    const bucket = { ...emptyBucket(second), usd: countedPrice(1 + (block % 7)) }
    const seen = { buyers: [`w${block % 50}`], sellers: [], pools: ['p'], programs: ['g'] }
    const part: BlockStats = { bucket, decimals: 6, seen }
    tokens.add('t', part)
    if (block === blocks - 10) reads = 0
    if (block >= blocks - 11) windowStatsAt(final, tokens.statsOf(final), second)
  }
  return reads / 10
}

test('a window query reads the prices of few blocks, however many are unfinalized', () => {
  const [some, many] = [priceReads(400), priceReads(3_600)]
  assert.ok(some > 0, 'reads are counted')
  assert.ok(many < 3 * some, `${some} reads over 400 blocks, ${many} over 3,600`)
})
