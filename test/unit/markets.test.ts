import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation, OperationRecord, Publication } from '../../processors/runtime/stage.ts'
import { marketRows } from '../../processors/sinks/token-market-rows.ts'
import { MARKETS } from '../../processors/tokens/market-stage.ts'
import { CHAINS, type ChainRow } from '../../schemas/chains.ts'
import type {
  BalanceEvent,
  TokenPriceEvents,
  TokenSupplyEvent,
  TradeEvent,
  TransferEvent,
} from '../../schemas/wire.ts'
import {
  type TapeOp,
  tapeBlockEvent,
  tapeMeta,
  tapeTradeEvent,
} from '../support/builders/trade-tape.ts'
import { createStageState, createTestProcessor } from '../support/stage-harness.ts'

const supplied = (post: string): TokenSupplyEvent => ({
  instruction: null,
  block: null,
  transaction: null,
  d_app: null,
  type: 'TOKEN_SUPPLY_EVENT_TYPE_MINT',
  token_supply: {
    token_address: '0xaaa',
    amount: '1',
    decimals: 0,
    amount_without_decimals: '1',
    amount_with_decimals: '1',
    post_amount_with_decimals: post,
  },
  market_cap: null,
})

const operation = (op: TapeOp['op'], seq: number, height: number, post: string): Operation => {
  const timeMs = height * 1_000
  const block = { height, hash: `0xb${height}`, parent: `0xb${height - 1}`, timeMs, trades: [] }
  const tape: TapeOp = { op, seq, block, finalHeight: 0 }
  const value = { meta: tapeMeta(tape), events: [supplied(post)] }
  return {
    block: tapeBlockEvent(tape),
    records: [{ topic: 'tokenSupplies', key: '0xaaa', part: 0, value }],
  }
}

const marketsIn = (publications: readonly Publication[]) =>
  publications.flatMap((one) => (one.topic === 'tokenMarketCaps' ? [one.value] : []))

test('a market that a revert restores has the time of the block that set it', () => {
  const folding = createTestProcessor(MARKETS)
  const [first] = marketsIn(folding.step(operation('apply', 1, 1, '100')))
  folding.step(operation('apply', 2, 2, '200'))
  const [again] = marketsIn(folding.step(operation('revert', 3, 2, '200')))
  assert.deepEqual(again?.events, first?.events)
  assert.equal(again?.meta?.seq, 3)
  const time = (value = again) => value && marketRows(value).map(({ market_time }) => market_time)
  assert.deepEqual(time(), time(first))
})

test('supplies of one block have the market cap of their own supply, not of the last one', () => {
  const folding = createTestProcessor(MARKETS)
  folding.step(burning('apply', [1, 1], { post: '0' }))
  const block = operation('apply', 2, 2, '')
  const [record] = block.records
  assert.ok(record?.topic === 'tokenSupplies')
  const events = [supplied('0'), supplied('100'), supplied('250'), supplied('')]
  const records = [{ ...record, value: { meta: block.block.meta, events } }]
  const caps = folding
    .step({ ...block, records })
    .flatMap((one) => (one.topic === 'tokenSuppliesProcessed' ? one.value.events : []))
    .map(({ market_cap: cap }) => [cap?.total_supply_amount, cap?.market_cap_in_usd])
  assert.deepEqual(caps, [
    ['0', '0'],
    ['100', '300'],
    ['250', '750'],
    ['250', '750'],
  ])
})

const BURNED = '0x000000000000000000000000000000000000dead'

const burning = (
  op: TapeOp['op'],
  [seq, height]: readonly [number, number],
  change: { readonly owner?: string; readonly pre?: string; readonly post: string },
): Operation => {
  const supply = operation(op, seq, height, '1000')
  const { owner = BURNED, pre = '0', post } = change
  const event: BalanceEvent = {
    instruction: null,
    block: null,
    transaction: null,
    d_app: null,
    balance: {
      token_account_address: owner,
      account_owner_address: owner,
      token_address: '0xaaa',
      pre_amount: pre,
      post_amount: post,
      decimals: 2,
      lifecycle: 'ACCOUNT_LIFECYCLE_EXISTING',
    },
    balance_processed: null,
  }
  const { meta } = supply.block
  const trade: OperationRecord = {
    topic: 'tradesProcessed',
    key: '0xaaa',
    part: 0,
    value: { meta, events: [pricedTrade(height)] },
  }
  const delta: OperationRecord = {
    topic: 'holderDeltas',
    key: '0xaaa',
    part: 0,
    value: { meta, events: [event] },
  }
  return { ...supply, records: [...supply.records, trade, delta] }
}

const pricedTrade = (height: number): TradeEvent => {
  const trade = {
    base: '0xaaa',
    quote: '0xusdc',
    pool: '0xp',
    baseRaw: 1n,
    quoteRaw: 1n,
    buy: true,
    baseDecimals: 2,
    quoteDecimals: 6,
    quoteUsd: '1',
    quoteNative: '0.5',
    suspect: false,
  }
  const block = { height, hash: `0xb${height}`, parent: '', timeMs: height, trades: [trade] }
  const unknown = {
    token_b_price_in_base: '',
    token_b_price_in_usd: '',
    token_b_price_in_native: '',
  }
  return {
    ...tapeTradeEvent(block, 0),
    trade_processed: {
      token_a_price_in_quote: '3',
      token_a_price_in_usd: '3',
      token_a_price_in_native: '1',
      ...unknown,
      is_token_a_price_in_usd_suspect: false,
      is_token_a_price_in_usd_suspect_reason: 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED',
      token_a_price_in_usd_lasted: '3',
      token_a_price_in_native_lasted: '1',
      token_b_price_in_usd_lasted: '',
      token_b_price_in_native_lasted: '',
    },
  }
}

test('tokens at a burn address are not part of the market cap', () => {
  const state = new Map<string, string>()
  let folding = MARKETS.load(createStageState(state))
  const step = (next: Operation) => {
    const [found] = marketsIn(folding.step(next))
    for (const [key, text] of folding.flush().changes) {
      if (text === null) state.delete(key)
      else state.set(key, text)
    }
    folding = MARKETS.load(createStageState(state))
    const cap = found?.events[0]?.market_cap
    return cap && [cap.total_supply_amount, cap.market_cap_in_usd, cap.market_cap_in_native]
  }
  assert.deepEqual(step(burning('apply', [1, 1], { owner: '0xwallet', post: '500' })), [
    ...['1000', '3000', '1000'],
  ])
  const seenWithSome = { pre: '5000', post: '25000' }
  assert.deepEqual(step(burning('apply', [2, 2], seenWithSome)), ['1000', '2250', '750'])
  const more = { pre: '25000', post: '100100' }
  assert.deepEqual(step(burning('apply', [3, 3], more)), ['1000', '0', '0'])
  assert.deepEqual(step(burning('revert', [4, 3], more)), ['1000', '2250', '750'])
  const again = { pre: '25000', post: '30000' }
  assert.deepEqual(step(burning('apply', [5, 3], again)), ['1000', '2100', '700'])
})

test('a price that a revert restores has the time of the block that set it', () => {
  const folding = createTestProcessor(MARKETS)
  const traded = (op: TapeOp['op'], seq: number, height: number, usd: string): Operation => {
    const { block } = operation(op, seq, height, '')
    const event = pricedTrade(height)
    const processed = event.trade_processed && { ...event.trade_processed }
    const events = [
      { ...event, trade_processed: processed && { ...processed, token_a_price_in_usd: usd } },
    ]
    const value = { meta: block.meta, events }
    return { block, records: [{ topic: 'tradesProcessed', key: '0xaaa', part: 0, value }] }
  }
  const pricesIn = (publications: readonly Publication[]) =>
    publications.flatMap((one) => (one.topic === 'tokenPrices' ? one.value.events : []))
  const first = pricesIn(folding.step(traded('apply', 1, 1, '3')))
  assert.equal(first.length, 1)
  assert.deepEqual(pricesIn(folding.step(operation('apply', 2, 2, '200'))), [])
  assert.deepEqual(pricesIn(folding.step(operation('apply', 3, 3, '300'))), [])
  folding.step(traded('apply', 4, 4, '5'))
  assert.deepEqual(pricesIn(folding.step(traded('revert', 5, 4, '5'))), first)
})

test('a stablecoin is priced by each block in which it moves, not by trades', () => {
  const { quotes, wrappedNative: weth } = CHAINS.eth
  const usdc = quotes.find(({ kind }) => kind === 'stable')?.address ?? ''
  const folding = createTestProcessor(MARKETS)
  const moved = (seq: number, key: string, wethUsd: string): readonly TokenPriceEvents[] => {
    const { block, records } = operation('apply', seq, seq, '')
    const { meta } = block
    const quote = { token_address: weth, quote_address: usdc, price: wethUsd }
    const transfers: OperationRecord = {
      topic: 'transfers',
      key,
      part: 0,
      value: { meta, events: [] },
    }
    const event = pricedTrade(seq)
    const trade = event.trade && { ...event.trade, token_a_address: key }
    const trades: OperationRecord = {
      topic: 'tradesProcessed',
      key,
      part: 0,
      value: { meta, events: key === usdc ? [{ ...event, trade }] : [] },
    }
    const published = folding.step({
      block: { ...block, quote_prices: [{ ...quote, block_time: meta.block_time }] },
      records: [...records, transfers, trades],
    })
    return published.flatMap((one) => (one.topic === 'tokenPrices' ? [one.value] : []))
  }
  const said = (values: readonly TokenPriceEvents[]) =>
    values.map(({ events: [event] }) => {
      const { token_address, price_in_usd, price_in_native } = event?.token_price ?? {}
      return [token_address, price_in_usd, price_in_native]
    })
  assert.deepEqual(said(moved(1, usdc, '2000')), [[usdc, '1', '0.0005']])
  assert.deepEqual(said(moved(2, usdc, '2000')), [], 'nothing changed')
  assert.deepEqual(said(moved(3, weth, '4000')), [], 'its own trades price it')
  assert.deepEqual(said(moved(4, usdc, '4000')), [[usdc, '1', '0.00025']])
})

const sentNative = (chain: ChainRow): TransferEvent => ({
  instruction: null,
  block: null,
  transaction: null,
  d_app: null,
  transfer: {
    sender_token_account_address: 'a',
    sender_account_owner_address: 'a',
    receiver_token_account_address: 'b',
    receiver_account_owner_address: 'b',
    token_address: chain.nativeAddress,
    token_amount: String(3n * 10n ** BigInt(chain.nativeDecimals)),
    token_decimals: chain.nativeDecimals,
    token_id: null,
    uri: '',
    call_index: null,
    success: true,
  },
  transfer_processed: null,
})

for (const chain of [CHAINS.sol, CHAINS.eth, CHAINS.sui] satisfies ChainRow[]) {
  test(`a transfer of the native token of ${chain.id} counts at the wrapped token's price in its block`, () => {
    const stable = chain.quotes.find(({ kind }) => kind === 'stable')?.address ?? ''
    const folding = createTestProcessor(MARKETS)
    const sent = (op: TapeOp['op'], [seq, height]: [number, number], price: string | null) => {
      const plain = operation(op, seq, height, '').block
      const meta = { ...plain.meta, chain: chain.id }
      const pair = { token_address: chain.wrappedNative, quote_address: stable }
      const quote_prices = price === null ? [] : [{ ...pair, price, block_time: meta.block_time }]
      const value = { meta, events: [sentNative(chain)] }
      const published = folding.step({
        block: { ...plain, meta, quote_prices },
        records: [{ topic: 'transfers', key: chain.nativeAddress, part: 0, value }],
      })
      return published.flatMap((one) =>
        one.topic === 'transfersProcessed'
          ? one.value.events.map(({ transfer_processed: processed }) => [
              processed?.token_amount_in_usd,
              processed?.token_amount_in_native,
              processed?.token_price_in_usd,
            ])
          : [],
      )
    }
    const first = [['450', '3', '150']]
    assert.deepEqual(sent('apply', [1, 1], '150'), first)
    assert.deepEqual(sent('apply', [2, 2], '200'), [['600', '3', '200']])
    assert.deepEqual(sent('revert', [3, 2], null), [['600', '3', '200']])
    assert.deepEqual(sent('revert', [4, 1], null), first, 'a retraction repeats what was said')
    assert.deepEqual(sent('apply', [5, 1], null), [['', '3', '']], 'no price is known')
  })
}
