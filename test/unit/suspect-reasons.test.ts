import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priceTrade } from '../../processors/prices/stage.ts'
import {
  type PriceSignals,
  SUSPECT_RULES,
  suspectReason,
} from '../../processors/prices/suspect-rules.ts'
import type { BondingCurve, Trade, TradeEvent } from '../../schemas/wire.ts'
import { buildTape, type TapeTrade, tapeTradeEvent } from '../support/builders/trade-tape.ts'

const DOLLARS = 1_000_000n

const plain: TapeTrade = {
  base: '0xaaa',
  quote: '0xusdc',
  pool: '0xp1',
  baseRaw: 100n * DOLLARS,
  quoteRaw: 200n * DOLLARS,
  baseDecimals: 6,
  quoteDecimals: 6,
  buy: true,
  quoteUsd: '1',
  quoteNative: '0.0005',
  suspect: false,
}

const eventOf = (change: Partial<TapeTrade>, vaults: Partial<Trade> = {}): TradeEvent => {
  const [block] = buildTape([
    { kind: 'apply', stepMs: 0, trades: [{ ...plain, ...change }] },
  ]).blocks
  assert.ok(block)
  const event = tapeTradeEvent(block, 0)
  assert.ok(event.trade)
  return { ...event, trade: { ...event.trade, ...vaults } }
}

type Known = Parameters<typeof priceTrade>[2]
const NOTHING: Known = { token: undefined, pool: undefined }
const HOUR = 3_600_000
const AT = { height: 100, timeMs: HOUR * 10 }

const last = (usd: number, ageMs = 1_000, inQuote: number | null = null) => ({
  usd,
  native: null,
  inQuote,
  timeMs: AT.timeMs - ageMs,
  level: null,
})

const suspectReasonOf = (
  change: Partial<TapeTrade>,
  { known = NOTHING, vaults = {} }: { known?: Known; vaults?: Partial<Trade> } = {},
): string => {
  const event = eventOf(change, vaults)
  assert.ok(event.trade)
  const { processed } = priceTrade(event, event.trade, known, AT)
  assert.equal(
    processed.is_token_a_price_in_usd_suspect,
    !processed.is_token_a_price_in_usd_suspect_reason.endsWith('UNSPECIFIED'),
  )
  return processed.is_token_a_price_in_usd_suspect_reason.replace('TOKEN_PRICE_SUSPECT_REASON_', '')
}

/** A buy of 100 for 200 with the given reserves before it, in whole tokens; the product stays but for the fee. */
const reserves = (base: bigint, quote: bigint, taken = 100n, paid = 200n): Partial<Trade> => ({
  vault_a_pre_amount: String(base * DOLLARS),
  vault_b_pre_amount: String(quote * DOLLARS),
  vault_a_post_amount: String((base - taken) * DOLLARS),
  vault_b_post_amount: String((quote + paid) * DOLLARS),
})

test('an ordinary trade is not suspect', () => {
  assert.equal(suspectReasonOf({}), 'UNSPECIFIED')
  assert.equal(suspectReasonOf({}, { vaults: reserves(100_100n, 200_000n) }), 'UNSPECIFIED')
  assert.equal(
    suspectReasonOf({}, { known: { token: last(1.5), pool: last(0, 1_000, 1.9) } }),
    'UNSPECIFIED',
  )
})

test('BY_BIG_PRICE: a price above a billion dollars per token', () => {
  assert.equal(suspectReasonOf({ baseRaw: 1n, quoteRaw: 2_000n * DOLLARS }), 'BY_BIG_PRICE')
})

test('BY_CONSTANT_PRODUCT_FORMULA: the reserves broke the formula', () => {
  const broken = reserves(1_000n, 2_000n, 500n, 200n)
  assert.equal(suspectReasonOf({}, { vaults: broken }), 'BY_CONSTANT_PRODUCT_FORMULA')
})

test('BY_SMALL_AMOUNT_IN_USD: less than a cent', () => {
  assert.equal(suspectReasonOf({ baseRaw: 2_000n, quoteRaw: 4_000n }), 'BY_SMALL_AMOUNT_IN_USD')
})

test('BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT: cents that move the pool', () => {
  const small = { baseRaw: 100_000n, quoteRaw: 200_000n }
  assert.equal(
    suspectReasonOf(small, { known: { token: undefined, pool: last(0, 1_000, 1.5) } }),
    'BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT',
  )
  assert.equal(suspectReasonOf(small), 'UNSPECIFIED')
})

test('BY_POOL_PRICE_IMPACT: one swap that doubles its pool', () => {
  assert.equal(suspectReasonOf({}, { vaults: reserves(300n, 400n) }), 'BY_POOL_PRICE_IMPACT')
  assert.equal(
    suspectReasonOf({}, { known: { token: undefined, pool: last(0, 1_000, 0.5) } }),
    'BY_POOL_PRICE_IMPACT',
  )
})

test('the price on a bonding curve comes from its virtual reserves, not from the amounts in its vaults', () => {
  const SOL = 1_000_000_000n
  const buy = (curve: BondingCurve | null, { vaults = {}, sell = false } = {}): string => {
    const sold = { base: '0xcoin', quote: '0xwsol', quoteDecimals: 9, quoteUsd: '150' }
    const event = eventOf(
      { ...sold, baseRaw: 34_000_000n * DOLLARS, quoteRaw: SOL, buy: !sell },
      {
        vault_a_pre_amount: String(780_000_000n * DOLLARS),
        vault_b_pre_amount: String(SOL / 2n),
        vault_a_post_amount: String(746_000_000n * DOLLARS),
        vault_b_post_amount: String((3n * SOL) / 2n),
        ...vaults,
      },
    )
    assert.ok(event.trade && event.instruction)
    const instruction = { ...event.instruction, type: 'pump_fun' }
    const curved = { ...event, instruction, bonding_curve: curve }
    const { processed } = priceTrade(curved, event.trade, NOTHING, AT)
    return processed.is_token_a_price_in_usd_suspect_reason.replace(
      'TOKEN_PRICE_SUSPECT_REASON_',
      '',
    )
  }
  const curve = (token: bigint, quote: bigint): BondingCurve => ({
    virtual_token_reserves: String(token * DOLLARS),
    virtual_quote_reserves: String(quote),
    real_token_reserves: String(746_000_000n * DOLLARS),
    real_quote_reserves: String((3n * SOL) / 2n),
  })
  const usual = curve(1_020_000_000n, (63n * SOL) / 2n)
  assert.equal(buy(usual), 'UNSPECIFIED')
  assert.equal(buy(usual, { sell: true }), 'UNSPECIFIED')
  assert.equal(buy(curve(60_000_000n, (3n * SOL) / 2n)), 'BY_POOL_PRICE_IMPACT')
  assert.equal(buy(null), 'UNSPECIFIED', 'a curve that tells no virtual reserves tells no price')
  const named = { vault_a_post_amount: usual.real_quote_reserves }
  const mirrored = { ...usual, virtual_quote_reserves: usual.virtual_token_reserves }
  const turned = { ...mirrored, virtual_token_reserves: usual.virtual_quote_reserves }
  assert.equal(
    buy(turned, { vaults: named }),
    'UNSPECIFIED',
    'token a is what the curve is quoted in',
  )
})

test('BY_LAST_CLOSE_PRICES: a price far from the last good price of the hour', () => {
  const far = { token: last(0.3), pool: undefined }
  assert.equal(suspectReasonOf({}, { known: far }), 'BY_LAST_CLOSE_PRICES')
  assert.equal(
    suspectReasonOf({}, { known: { ...far, token: last(0.3, HOUR + 1) } }),
    'UNSPECIFIED',
  )
})

test('every suspect rule has a reason of its own', () => {
  assert.equal(new Set(SUSPECT_RULES.map(({ reason }) => reason)).size, 6)
})

test('a suspect rule without its inputs does not match', () => {
  const nothing: PriceSignals = {
    priceUsd: null,
    valueUsd: null,
    productRatio: null,
    poolFactor: null,
    closeFactor: null,
  }
  assert.equal(suspectReason(nothing), 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED')
  assert.equal(suspectReasonOf({ quoteUsd: '', baseRaw: 1n }), 'UNSPECIFIED')
  assert.equal(suspectReasonOf({ baseDecimals: null }), 'UNSPECIFIED')
})

test('a new price level is accepted once three trades in two blocks agree on it', () => {
  const event = eventOf({})
  assert.ok(event.trade)
  let token: Known['token'] = last(0.3)
  const heights = [100, 100, 100, 101, 102]
  const suspicions = heights.map((height) => {
    assert.ok(event.trade)
    const priced = priceTrade(event, event.trade, { token, pool: undefined }, { ...AT, height })
    token = priced.token
    return priced.processed.is_token_a_price_in_usd_suspect
  })
  assert.deepEqual(suspicions, [true, true, true, false, false])
})

test('a trade with an amount of zero has no price and changes no last price', () => {
  const known: Known = { token: last(2), pool: last(2, 1_000, 2) }
  for (const change of [{ quoteRaw: 0n }, { baseRaw: 0n }]) {
    const event = eventOf(change)
    assert.ok(event.trade)
    const { processed, token, pool } = priceTrade(event, event.trade, known, AT)
    assert.equal(processed.token_a_price_in_usd, '')
    assert.equal(processed.token_a_price_in_quote, '')
    assert.equal(processed.token_b_price_in_base, '')
    assert.deepEqual([token.usd, pool.inQuote], [2, 2])
  }
})

test('a dust trade leaves the last price of its pool unchanged, any other trade replaces it', () => {
  const price = (change: Partial<TapeTrade>, pool: Known['pool']) => {
    const event = eventOf(change)
    assert.ok(event.trade)
    return priceTrade(event, event.trade, { token: last(2), pool }, AT)
  }
  const pool = last(0, 1_000, 2)
  const dust = price({ baseRaw: 10n, quoteRaw: 100n }, pool)
  assert.equal(dust.processed.is_token_a_price_in_usd_suspect, true)
  assert.equal(dust.pool.inQuote, 2)
  const good = price({}, dust.pool).processed
  assert.equal(good.is_token_a_price_in_usd_suspect, false, 'what follows is held against the pool')
  assert.equal(price({ quoteRaw: 500n * DOLLARS }, pool).pool.inQuote, 5, 'a suspect one of size')
  assert.equal(price({ quoteUsd: '', quoteRaw: 10n, baseRaw: 10n }, pool).pool.inQuote, 1)
})

test('a suspect trade leaves the last good price of its token unchanged, a good trade replaces it', () => {
  const suspect = eventOf({ baseRaw: 2_000n, quoteRaw: 4_400n })
  const good = eventOf({ quoteRaw: 220n * DOLLARS })
  assert.ok(suspect.trade && good.trade)
  const known = { token: last(2), pool: undefined }
  const kept = priceTrade(suspect, suspect.trade, known, AT).processed
  const moved = priceTrade(good, good.trade, known, AT).processed
  assert.deepEqual(
    [
      kept.token_a_price_in_usd,
      kept.token_a_price_in_usd_lasted,
      moved.token_a_price_in_usd_lasted,
    ],
    ['2.2', '2', '2.2'],
  )
})
