import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POOLS } from '../../processors/pools/stage.ts'
import type { Operation, Publication } from '../../processors/runtime/stage.ts'
import { poolCreatedRows, poolRows } from '../../processors/sinks/pool-and-token-rows.ts'
import type { DexPoolEvent, DexPoolEvents } from '../../schemas/wire.ts'
import { type TapeOp, tapeMeta } from '../support/builders/trade-tape.ts'
import {
  buildOperation,
  createTestProcessor,
  emptyBlockOp,
  stepPublications,
} from '../support/stage-harness.ts'

const poolEvent = (
  type: DexPoolEvent['type'],
  pool: string,
  {
    pre,
    post,
  }: { readonly pre: readonly [string, string]; readonly post: readonly [string, string] },
  protocol = 'uniswap_v2',
): DexPoolEvent => ({
  instruction: {
    index: 0,
    is_inner_instruction: false,
    inner_instruction_index: 0,
    type: protocol,
    event_index: 4,
    log_index: 9,
  },
  block: null,
  transaction: null,
  d_app: { program_address: '0xfa', inner_program_address: '', chain: 'CHAIN_ETHEREUM' },
  quote_price_in_usd: '2000',
  quote_price_in_native: '1',
  type,
  pool: {
    address: pool,
    token_a_vault_address: pool,
    token_a_vault_owner_address: pool,
    token_a_address: '0xaaa',
    token_a_amount: '1000000',
    token_a_vault_pre_amount: pre[0],
    token_a_vault_post_amount: post[0],
    token_a_decimals: 6,
    token_b_vault_address: pool,
    token_b_vault_owner_address: pool,
    token_b_address: '0xweth',
    token_b_amount: '500000000000000000',
    token_b_vault_pre_amount: pre[1],
    token_b_vault_post_amount: post[1],
    token_b_decimals: 18,
    lp_wallet: '',
  },
  pool_processed: null,
  bonding_curve: null,
  concentrated: null,
  pricing: null,
  bins: null,
})

const poolOp = (op: TapeOp, events: readonly DexPoolEvent[]): Operation =>
  buildOperation(op, [
    { topic: 'pools', key: '0xaaa', part: 0, value: { meta: tapeMeta(op), events } },
  ])

const poolsOf = (publications: readonly Publication[]): DexPoolEvents => {
  const [only] = publications
  assert.ok(only?.topic === 'poolsProcessed')
  return only.value
}

const ETH = (whole: number): string => `${whole}${'0'.repeat(18)}`
const SWAP = 'DEX_POOL_EVENT_TYPE_SWAP'

test('both sides of a constant-product pool have the value of its quote, and a token sums its pools', () => {
  const folding = createTestProcessor(POOLS)
  const first = poolEvent(SWAP, '0xp1', { pre: ['9000000', ETH(4)], post: ['8000000', ETH(5)] })
  const second = poolEvent(SWAP, '0xp2', { pre: ['', ''], post: ['1000000', ETH(1)] })
  const value = poolsOf(
    stepPublications(folding, poolOp(emptyBlockOp('apply', 1, 1), [first, second])),
  )
  const [one, two] = value.events.map(({ pool_processed }) => pool_processed)
  assert.equal(one?.token_b_vault_post_amount_in_usd, '10000')
  assert.equal(one?.token_a_vault_post_amount_in_usd, '10000')
  assert.equal(one?.token_b_vault_pre_amount_in_native, '4')
  assert.equal(one?.token_a_amount_in_usd, '1000')
  assert.equal(two?.token_b_vault_pre_amount_in_usd, '')
  assert.deepEqual(two?.token_a_liquidity, {
    token_address: '0xaaa',
    amount: '9000000',
    liquidity_in_native: '12',
    liquidity_in_usd: '24000',
    pool_address: '',
    pool_count: 2,
  })
  assert.equal(two?.token_a_max_liquidity?.pool_address, '0xp1')
  assert.deepEqual(
    poolRows(value).map(({ pool_address, reserve_a, liquidity_usd, price_a_to_b, _del }) => ({
      pool_address,
      reserve_a,
      liquidity_usd,
      price_a_to_b,
      _del,
    })),
    [
      {
        pool_address: '0xp1',
        reserve_a: '8000000',
        liquidity_usd: '20000',
        price_a_to_b: 0.625,
        _del: 0,
      },
      {
        pool_address: '0xp2',
        reserve_a: '1000000',
        liquidity_usd: '4000',
        price_a_to_b: 1,
        _del: 0,
      },
    ],
  )
})

/** A pump.fun event: 6 decimals against SOL's 9 at 150 USD; real and virtual reserves in whole tokens and lamports. */
const curveEvent = (
  type: DexPoolEvent['type'],
  reserves: {
    readonly pre: readonly [tokens: bigint, lamports: bigint]
    readonly post: readonly [tokens: bigint, lamports: bigint]
  },
  virtual: {
    readonly virtual_token_reserves: string
    readonly virtual_quote_reserves: string
  } | null,
  protocol = 'pump_fun',
): DexPoolEvent => {
  const raw = ([tokens, lamports]: readonly [bigint, bigint]): [string, string] => [
    String(tokens * 1_000_000n),
    String(lamports),
  ]
  const [pre, post] = [raw(reserves.pre), raw(reserves.post)]
  const event = poolEvent(type, '0xcurve', { pre, post }, protocol)
  return {
    ...event,
    quote_price_in_usd: '150',
    pool: event.pool && {
      ...event.pool,
      token_a_amount: String((reserves.pre[0] - reserves.post[0]) * 1_000_000n),
      token_b_amount: String(reserves.post[1] - reserves.pre[1]),
      token_b_decimals: 9,
    },
    bonding_curve: virtual && {
      ...virtual,
      real_token_reserves: post[0],
      real_quote_reserves: post[1],
    },
  }
}

const SOL = 1_000_000_000n

test('a curve is priced and valued by its virtual reserves, and has no value once it is sold out', () => {
  const folding = createTestProcessor(POOLS)
  const at = (seq: number, event: DexPoolEvent) => {
    const value = poolsOf(
      stepPublications(folding, poolOp(emptyBlockOp('apply', seq, seq), [event])),
    )
    return { row: poolRows(value)[0], processed: value.events[0]?.pool_processed }
  }
  // Synthetic reserves: 3 SOL for 150,000,000 tokens is 0.00000002 SOL apiece; after the buy 4 for 100,000,000 twice as much.
  const opening = curveEvent(
    'DEX_POOL_EVENT_TYPE_INITIALIZE',
    { pre: [0n, 0n], post: [100_000_000n, 0n] },
    { virtual_token_reserves: '150000000000000', virtual_quote_reserves: String(3n * SOL) },
  )
  const opened = at(1, opening)
  assert.equal(opened.row?.price_a_to_b, 2e-8)
  assert.equal(opened.row?.liquidity_native, '2')
  const bought = at(
    2,
    curveEvent(
      SWAP,
      { pre: [100_000_000n, 0n], post: [50_000_000n, SOL] },
      { virtual_token_reserves: '100000000000000', virtual_quote_reserves: String(4n * SOL) },
    ),
  )
  assert.equal(bought.row?.price_a_to_b, 4e-8)
  assert.equal(bought.processed?.token_a_vault_pre_amount_in_usd, '300')
  assert.equal(bought.processed?.token_a_vault_post_amount_in_usd, '300')
  assert.equal(bought.processed?.token_b_vault_post_amount_in_usd, '150')
  assert.equal(bought.processed?.token_a_amount_in_usd, '150', 'what moved is worth what was paid')
  assert.equal(bought.row?.liquidity_usd, '450')
  assert.equal(bought.processed?.curve_progress, '0.5')
  assert.equal(bought.processed?.token_a_liquidity?.liquidity_in_usd, '450')
  const soldOut = at(
    3,
    curveEvent(
      SWAP,
      { pre: [50_000_000n, SOL], post: [0n, 5n * SOL] },
      { virtual_token_reserves: '50000000000000', virtual_quote_reserves: String(8n * SOL) },
    ),
  )
  assert.equal(soldOut.row?.liquidity_usd, '0')
  assert.deepEqual(
    [
      soldOut.processed?.token_a_liquidity?.liquidity_in_usd,
      soldOut.processed?.token_a_liquidity?.pool_count,
    ],
    ['0', 0],
  )
})

test('a pool with virtual reserves beyond its vault is priced by all of them and valued by the vault', () => {
  const boosted = curveEvent(
    SWAP,
    { pre: [120_000_000n, 7n * SOL], post: [100_000_000n, 8n * SOL] },
    { virtual_token_reserves: '100000000000000', virtual_quote_reserves: String(10n * SOL) },
    'pumpswap',
  )
  const value = poolsOf(
    stepPublications(createTestProcessor(POOLS), poolOp(emptyBlockOp('apply', 1, 1), [boosted])),
  )
  assert.equal(poolRows(value)[0]?.price_a_to_b, 1e-7)
  const processed = value.events[0]?.pool_processed
  assert.equal(processed?.token_a_vault_post_amount_in_native, '10')
  assert.equal(processed?.token_b_vault_post_amount_in_native, '8')
  assert.equal(processed?.curve_progress, '', 'no curve')
  const aside = curveEvent(
    'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY',
    { pre: [100_000_000n, 10n * SOL], post: [100_000_000n, 8n * SOL] },
    { virtual_token_reserves: '100000000000000', virtual_quote_reserves: String(10n * SOL) },
    'pumpswap',
  )
  const moved = poolsOf(
    stepPublications(createTestProcessor(POOLS), poolOp(emptyBlockOp('apply', 1, 1), [aside])),
  )
  assert.deepEqual(
    [
      moved.events[0]?.pool_processed?.token_a_vault_pre_amount_in_native,
      moved.events[0]?.pool_processed?.token_a_vault_post_amount_in_native,
    ],
    ['10', '10'],
    'liquidity that moves leaves the price as it is',
  )
  const plain = curveEvent(
    SWAP,
    { pre: [120n, 7n], post: [100_000_000n, 8n * SOL] },
    null,
    'pumpswap',
  )
  const even = poolsOf(
    stepPublications(createTestProcessor(POOLS), poolOp(emptyBlockOp('apply', 1, 1), [plain])),
  )
  assert.equal(even.events[0]?.pool_processed?.token_a_vault_post_amount_in_native, '8')
})

test('a curve without virtual reserves is priced by its swaps, never by its balances', () => {
  const silent = curveEvent(SWAP, { pre: [100_000_000n, 0n], post: [50_000_000n, SOL] }, null)
  const value = poolsOf(
    stepPublications(createTestProcessor(POOLS), poolOp(emptyBlockOp('apply', 1, 1), [silent])),
  )
  assert.equal(poolRows(value)[0]?.price_a_to_b, 2e-8)
  assert.equal(value.events[0]?.pool_processed?.token_a_vault_post_amount_in_native, '1')
})

test('a curve with a progress of 1 has no liquidity, whatever its vault holds', () => {
  const event = poolEvent(SWAP, '0xdbc', { pre: ['9', '1'], post: ['8', '2'] }, 'meteora_dbc')
  const told = (curve_progress: string) => {
    const processed = { curve_progress } as DexPoolEvent['pool_processed']
    const full = { ...event, pool_processed: processed }
    const value = poolsOf(
      stepPublications(createTestProcessor(POOLS), poolOp(emptyBlockOp('apply', 1, 1), [full])),
    )
    return [poolRows(value)[0]?.liquidity_usd === '0', poolRows(value)[0]?.curve_progress]
  }
  assert.deepEqual(
    [told('0.75'), told('1')],
    [
      [false, 0.75],
      [true, 1],
    ],
  )
})

test('pools of PumpSwap and Raydium are valued at twice their quote side, pools of other kinds have no value', () => {
  const worth = (protocol: string) => {
    const event = poolEvent(
      SWAP,
      '0xp1',
      { pre: ['9000000', ETH(4)], post: ['8000000', ETH(5)] },
      protocol,
    )
    const value = poolsOf(
      stepPublications(createTestProcessor(POOLS), poolOp(emptyBlockOp('apply', 1, 1), [event])),
    )
    const [row] = poolRows(value)
    return [
      value.events[0]?.pool_processed?.token_a_vault_post_amount_in_usd,
      value.events[0]?.pool_processed?.token_a_liquidity?.liquidity_in_usd,
      row?.liquidity_usd,
      row?.price_a_to_b,
    ]
  }
  assert.deepEqual(worth('pumpswap'), ['10000', '20000', '20000', 0.625])
  assert.deepEqual(worth('raydium_amm_v4'), ['10000', '20000', '20000', 0.625])
  assert.deepEqual(worth('raydium_cpmm'), ['10000', '20000', '20000', 0.625])
  assert.deepEqual(worth('camelot_v2'), ['', '', null, 0.5], 'some of its pools are stable ones')
  assert.deepEqual(worth('uniswap_v4'), ['', '', null, 0.5], 'priced by what the swap paid')
})

test('a pool without reserves in its events has a liquidity of null, not zero', () => {
  const event = poolEvent(SWAP, '0xp3', { pre: ['', ''], post: ['', ''] }, 'uniswap_v3')
  const value = poolsOf(
    stepPublications(createTestProcessor(POOLS), poolOp(emptyBlockOp('apply', 1, 1), [event])),
  )
  assert.equal(value.events[0]?.pool_processed?.token_a_liquidity, null)
  const [row] = poolRows(value)
  assert.deepEqual([row?.reserve_a, row?.liquidity_usd, row?.price_a_to_b], [null, null, 0.5])
})

test('a retracted pool event is published unchanged, and the stored pool is that of the event before', () => {
  const folding = createTestProcessor(POOLS)
  const first = poolEvent(SWAP, '0xp1', { pre: ['9500000', ETH(3)], post: ['9000000', ETH(4)] })
  const event = poolEvent(SWAP, '0xp1', { pre: ['9000000', ETH(4)], post: ['8000000', ETH(5)] })
  const known = poolsOf(stepPublications(folding, poolOp(emptyBlockOp('apply', 1, 1), [first])))
  const applied = poolsOf(stepPublications(folding, poolOp(emptyBlockOp('apply', 2, 2), [event])))
  const reverted = poolsOf(stepPublications(folding, poolOp(emptyBlockOp('revert', 3, 2), [event])))
  assert.deepEqual(reverted.events, applied.events)
  const [before] = poolRows(reverted)
  const { _ver: _first, ...wanted } = poolRows(known)[0] ?? {}
  const { _ver: version, ...found } = before ?? {}
  assert.deepEqual(found, wanted)
  assert.equal(found.reserve_a, '9000000')
  const [after] = poolRows(applied)
  assert.ok(BigInt(String(version)) > BigInt(String(after?._ver)))
  const fresh = poolsOf(stepPublications(folding, poolOp(emptyBlockOp('apply', 4, 2), [event])))
  assert.equal(fresh.events[0]?.pool_processed?.token_a_liquidity?.pool_count, 1)
})

test('a pool event has the liquidity that its token had in pools before it', () => {
  const folding = createTestProcessor(POOLS)
  const event = (pool: string, quote: number) =>
    poolEvent(SWAP, pool, { pre: ['9000000', ETH(1)], post: ['8000000', ETH(quote)] })
  const value = poolsOf(
    stepPublications(
      folding,
      poolOp(emptyBlockOp('apply', 1, 1), [event('0xp1', 4), event('0xp2', 5)]),
    ),
  )
  const [first, second] = value.events.map(({ pool_processed }) => pool_processed)
  assert.deepEqual(
    [first?.token_a_liquidity_before, first?.token_a_max_liquidity_before].map((one) => [
      one?.liquidity_in_usd,
      one?.pool_count,
      one?.pool_address,
    ]),
    [
      ['0', 0, ''],
      ['0', 0, ''],
    ],
  )
  assert.deepEqual(second?.token_a_liquidity_before, first?.token_a_liquidity)
  assert.deepEqual(second?.token_a_max_liquidity_before, first?.token_a_max_liquidity)
  assert.equal(second?.token_a_max_liquidity?.pool_address, '0xp2')
})

test('a pool that only a reverted block had is deleted', () => {
  const folding = createTestProcessor(POOLS)
  const event = poolEvent(SWAP, '0xp1', { pre: ['9000000', ETH(4)], post: ['8000000', ETH(5)] })
  stepPublications(folding, poolOp(emptyBlockOp('apply', 1, 1), [event]))
  const reverted = poolsOf(stepPublications(folding, poolOp(emptyBlockOp('revert', 2, 1), [event])))
  assert.equal(poolRows(reverted)[0]?._del, 1)
})

test('a pool whose creation is reverted is deleted, and its creation row with it', () => {
  const made = poolEvent('DEX_POOL_EVENT_TYPE_INITIALIZE', '0xp1', {
    pre: ['', ''],
    post: ['', ''],
  })
  const folding = createTestProcessor(POOLS)
  const applied = poolsOf(stepPublications(folding, poolOp(emptyBlockOp('apply', 1, 1), [made])))
  const reverted = poolsOf(stepPublications(folding, poolOp(emptyBlockOp('revert', 2, 1), [made])))
  const marks = [applied, reverted].map((value) => [
    poolRows(value)[0]?._del,
    poolCreatedRows(value)[0]?._del,
  ])
  assert.deepEqual(marks, [
    [0, 0],
    [1, 1],
  ])
})
