import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partitionOf } from '../../core/bus/partitioner.ts'
import type { DeepPartial } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { emptyDecodedBlock } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import {
  batchesOf,
  encodedRecords,
  MAX_RECORD_BYTES,
  MAX_RECORD_EVENTS,
  type OperationMeta,
  revertedBatches,
} from '../../ingestors/publish/record-batches.ts'
import { updateRunningTotals } from '../../ingestors/publish/running-balances.ts'
import { type BlockEvents, blockEvents } from '../../ingestors/to-wire/block-events.ts'
import type { MappingContext } from '../../ingestors/to-wire/context.ts'
import { metadataEvent, UNKNOWN_DECIMALS } from '../../ingestors/to-wire/tokens.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type {
  BalanceChange,
  DecodedBlock,
  PoolLiquidityChange,
  Swap,
} from '../../schemas/events.ts'
import type { TransferEvent } from '../../schemas/wire.ts'
import {
  buildEvmBlock,
  FACTORY,
  POOLS,
  TOKEN,
  TOKEN_POOL,
  TOKENS,
  TRADER,
  tokenSwap,
  USDC,
  WETH,
  WETH_POOL,
  wethSwap,
} from '../support/builders/evm-block.ts'
import { QUOTE_ASSETS } from '../support/builders/quote-trade.ts'

const codec = localCodec()
const block = buildEvmBlock({ height: 100 }, [tokenSwap(7n), wethSwap(2_000)])
const pool = (address: string) => POOLS.find((fact) => fact.address === address)
const context: MappingContext = {
  chain: CHAINS.eth,
  block,
  mapping: blockMapping(block),
  quoteAssets: QUOTE_ASSETS,
  quotePrices: new Map([[WETH, { usd: 2_000.5, native: 1 }]]),
  token: (address) => TOKENS.find((fact) => fact.address === address),
  pool,
}
const books = { verification: 'facts', protocols: protocolRegistry('eth'), pool } as const
const eventsOf = (decoded: DecodedBlock, more: Partial<MappingContext> = {}): BlockEvents =>
  blockEvents(
    { ...context, ...more },
    {
      decoded,
      runningTotals: updateRunningTotals(block, decoded, [], () => undefined),
      fetched: [],
      metadataSource: 'node',
    },
  )
const NOTHING: DecodedBlock = emptyDecodedBlock()

const swap = (more: Partial<Swap>): Swap => ({
  kind: 'swap',
  txIndex: 0,
  logIndex: 3,
  pool: TOKEN_POOL,
  protocol: 'uniswap_v2',
  trader: TRADER,
  tokenIn: WETH,
  tokenOut: TOKEN,
  amountInRaw: 10n,
  amountOutRaw: 700n,
  ...more,
})
const meta: OperationMeta = {
  chain: 'eth',
  op: 'OP_APPLY',
  seq: 9,
  commitment: 'COMMITMENT_PROCESSED',
  height: 100,
  slot: 100,
  hash: '0xab',
  parent_hash: '0xaa',
  block_time: 5,
  produced_at: 6,
}

test('a trade has base as a and quote as b, with amounts, decimals, vaults and prices', () => {
  const { trades } = eventsOf(decodeBlock(block, books))
  const [coin, weth] = trades
  assert.equal(coin?.key, TOKEN)
  assert.deepEqual(coin?.event.trade, {
    token_a_address: TOKEN,
    token_b_address: WETH,
    user_a_token_account_address: '',
    user_a_account_owner_address: TRADER,
    user_b_token_account_address: '',
    user_b_account_owner_address: TRADER,
    user_a_amount: '7000000000',
    user_b_amount: '1000000000000000000',
    was_original_direction: false,
    token_a_decimals: 9,
    token_b_decimals: 18,
    pool_address: TOKEN_POOL,
    vault_a: TOKEN_POOL,
    vault_b: TOKEN_POOL,
    vault_a_owner_address: TOKEN_POOL,
    vault_b_owner_address: TOKEN_POOL,
    vault_a_amount: '7000000000',
    vault_b_amount: '1000000000000000000',
    vault_a_pre_amount: '5007000000000',
    vault_b_pre_amount: '49000000000000000000',
    vault_a_post_amount: '5000000000000',
    vault_b_post_amount: '50000000000000000000',
  })
  assert.equal(coin?.event.quote_price_in_usd, '2000.5')
  assert.equal(coin?.event.quote_price_in_native, '1')
  assert.deepEqual(coin?.event.d_app, {
    program_address: FACTORY,
    inner_program_address: '',
    chain: 'CHAIN_ETHEREUM',
  })
  const place = { index: 0, type: 'uniswap_v2', event_index: 0, log_index: 3 }
  assert.deepEqual(coin?.event.instruction, place)
  assert.equal(coin?.event.transaction?.signature, block.transactions[0]?.hash)
  assert.equal(weth?.key, WETH)
  assert.equal(weth?.event.trade?.was_original_direction, true)
  assert.equal(weth?.event.quote_price_in_usd, '', 'no stamp of the stable was given')
})

test('reserves of a trade follow the base and quote order', () => {
  const { trades } = eventsOf(decodeBlock(block, books))
  const weth = trades[1]?.event.trade
  assert.equal(weth?.token_b_address, USDC)
  assert.equal(weth?.vault_a_post_amount, String(1_000n * 10n ** 18n))
  assert.equal(weth?.vault_b_post_amount, '4000000000000')
  assert.equal(weth?.vault_a_pre_amount, String(999n * 10n ** 18n))
  assert.equal(weth?.vault_b_pre_amount, '4002000000000')
})

test('reserves before a swap are those of its event, without the fees of others', () => {
  const told = (
    sells: boolean,
    before: readonly [bigint, bigint],
    after: readonly [bigint, bigint],
  ) => {
    const { trades, pools } = eventsOf({
      ...NOTHING,
      swaps: [
        swap({
          ...(sells && { tokenIn: TOKEN, tokenOut: WETH, amountInRaw: 700n, amountOutRaw: 10n }),
          reservesBeforeInOut: before,
          reservesInOut: after,
        }),
      ],
    })
    const trade = trades[0]?.event.trade
    const pool = pools[0]?.event.pool
    assert.equal(pool?.token_a_vault_pre_amount, trade?.vault_a_pre_amount)
    assert.equal(pool?.token_b_vault_pre_amount, trade?.vault_b_pre_amount)
    return [
      [trade?.vault_a_pre_amount, trade?.vault_a_post_amount, trade?.vault_a_amount],
      [trade?.vault_b_pre_amount, trade?.vault_b_post_amount, trade?.vault_b_amount],
      trade?.user_b_amount,
    ]
  }
  assert.deepEqual(told(false, [1_000n, 70_000n], [1_009n, 69_300n]), [
    ['70000', '69300', '700'],
    ['1000', '1009', '9'],
    '10',
  ])
  assert.deepEqual(told(true, [70_000n, 1_000n], [70_700n, 989n]), [
    ['70000', '70700', '700'],
    ['1000', '989', '11'],
    '10',
  ])
})

test('curve reserves are part of trade, pool event and pool creation', () => {
  const curve = { virtualQuoteRaw: 4n, virtualTokenRaw: 3n, realQuoteRaw: 2n, realTokenRaw: 1n }
  const poolChanges = [{ ...change('initialize', 1), curve }]
  const { trades, pools } = eventsOf({ ...NOTHING, swaps: [swap({ curve })], poolChanges })
  const events = [...trades, ...pools].map(({ event }) => event.bonding_curve)
  const wanted = {
    virtual_quote_reserves: '4',
    virtual_token_reserves: '3',
    real_quote_reserves: '2',
    real_token_reserves: '1',
  }
  assert.deepEqual(events, [wanted, wanted, wanted])
})

test('a pool that is an entry of a shared contract has that contract as its vault', () => {
  const vault = '0x00000000000000000000000000000000000000f4'
  const poolChanges = [{ ...change('increase', 1), vault }]
  const swaps = [swap({ vault, logIndex: 2 }), swap({ logIndex: 3 })]
  const { trades, pools } = eventsOf({ ...NOTHING, swaps, poolChanges })
  const kept = (events: readonly (object | null | undefined)[]) =>
    events.map((event) =>
      Object.entries(event ?? {}).flatMap(([name, value]) =>
        /vault_[ab]$|vault_address|owner_address/.test(name) && !name.startsWith('user')
          ? [value]
          : [],
      ),
    )
  const all = (address: string) => [address, address, address, address]
  assert.deepEqual(kept(trades.map(({ event }) => event.trade)), [all(vault), all(TOKEN_POOL)])
  assert.deepEqual(kept(pools.map(({ event }) => event.pool)), [
    ...[all(vault), all(vault), all(TOKEN_POOL)],
  ])
  assert.deepEqual(pools[1]?.event.pool?.address, TOKEN_POOL)
})

test('unknown decimals are null, unknown prices and reserves are empty', () => {
  const { trades } = eventsOf({ ...NOTHING, swaps: [swap({})] }, { token: () => undefined })
  const [coin] = trades
  assert.equal(coin?.event.trade?.token_a_decimals, null)
  assert.equal(coin?.event.trade?.token_b_decimals, 18, 'quote assets are in the table')
  assert.equal(coin?.event.trade?.vault_a_post_amount, '')
  const without = eventsOf({ ...NOTHING, swaps: [swap({})] }, { quotePrices: new Map() })
  assert.equal(without.trades[0]?.event.quote_price_in_usd, '')
})

test('decimals of a balance in the same block are used where token metadata has none', () => {
  const told: BalanceChange = {
    kind: 'balance',
    txIndex: 0,
    logIndex: 1,
    account: 'account',
    owner: TRADER,
    token: TOKEN,
    decimals: 6,
    preRaw: 0n,
    postRaw: 700n,
    lifecycle: 'existing',
  }
  const { trades } = eventsOf(
    { ...NOTHING, swaps: [swap({})], balances: [told] },
    { token: () => undefined },
  )
  assert.equal(trades[0]?.event.trade?.token_a_decimals, 6)
})

test('a swap with unknown tokens is neither a trade nor a pool event', () => {
  const swaps = [swap({ tokenOut: null }), swap({ tokenIn: TOKEN }), swap({ logIndex: 9 })]
  const { trades, pools } = eventsOf({ ...NOTHING, swaps })
  assert.equal(trades.length, 1)
  assert.equal(pools.length, 1)
  assert.equal(trades[0]?.event.instruction?.event_index, 0)
})

const change = (kind: PoolLiquidityChange['kind'], logIndex: number): PoolLiquidityChange => ({
  kind,
  txIndex: 0,
  logIndex,
  pool: WETH_POOL,
  protocol: 'uniswap_v2',
  owner: TRADER,
  tokenA: USDC,
  tokenB: WETH,
  amountARaw: 5n,
  amountBRaw: 2n,
  reserves: [100n, 50n],
})

test('pool events are in log order with their own index, and reserves before and after', () => {
  const poolChanges = [change('increase', 1), change('decrease', 8), change('collect', 9)]
  const { pools } = eventsOf({ ...NOTHING, swaps: [swap({ logIndex: 4 })], poolChanges })
  assert.deepEqual(
    pools.map(({ key, event }) => [key, event.type, event.instruction?.event_index]),
    [
      [WETH, 'DEX_POOL_EVENT_TYPE_INCREASE_LIQUIDITY', 0],
      [TOKEN, 'DEX_POOL_EVENT_TYPE_SWAP', 1],
      [WETH, 'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY', 2],
    ],
  )
  const [increase, , decrease] = pools
  assert.equal(increase?.event.pool?.token_a_address, WETH)
  assert.equal(increase?.event.pool?.token_a_amount, '2')
  assert.equal(increase?.event.pool?.token_a_vault_pre_amount, '48')
  assert.equal(increase?.event.pool?.token_b_vault_post_amount, '100')
  assert.equal(decrease?.event.pool?.token_b_vault_pre_amount, '105')
  assert.equal(decrease?.event.pool?.lp_wallet, TRADER)
})

test('a token record has the source of its metadata, and leaves out missing fields', () => {
  const blank = { address: TOKEN, decimals: null, name: null, symbol: 'C', totalSupplyRaw: null }
  const { tokenMetadata } = blockEvents(context, {
    decoded: NOTHING,
    runningTotals: updateRunningTotals(block, NOTHING, [], () => undefined),
    fetched: [blank, ...TOKENS.slice(0, 1)],
    metadataSource: 'file',
  })
  assert.deepEqual(tokenMetadata[0]?.event.token, {
    address: TOKEN,
    name: '',
    symbol: 'C',
    decimals: UNKNOWN_DECIMALS,
    uri: '',
    additional_metadata: { facts: 'file' },
    evm_extra: { token_standard: 'TOKEN_STANDARD_ERC20' },
  })
  assert.equal(tokenMetadata[1]?.event.token?.additional_metadata?.total_supply, String(10n ** 24n))
})

test('a wrapped native token without a name takes that of the chain row', () => {
  const chain = CHAINS.sol
  const { wrappedNative: address } = chain
  const namesOf = (name: string | null, symbol: string | null) => {
    const metadata = { address, decimals: 9, name, symbol, totalSupplyRaw: null }
    const { token } = metadataEvent(
      { ...context, chain, mapping: blockMapping(chain) },
      metadata,
      'node',
      0,
    ).event
    return [token?.name, token?.symbol]
  }
  assert.deepEqual(namesOf(null, null), ['Wrapped SOL', 'SOL'])
  assert.deepEqual(namesOf('', ''), ['Wrapped SOL', 'SOL'])
  assert.deepEqual(namesOf('Its Name', 'ITS'), ['Its Name', 'ITS'])
})

test('a quote asset without a symbol takes that of its table', () => {
  const metadata = { address: USDC, decimals: 6, name: null, totalSupplyRaw: null }
  const symbolOf = (symbol: string | null) =>
    metadataEvent(context, { ...metadata, symbol }, 'node', 0).event.token?.symbol
  assert.equal(symbolOf(null), QUOTE_ASSETS.assets.get(USDC)?.symbol)
  assert.equal(symbolOf(''), 'USDC')
  assert.equal(symbolOf('ITS'), 'ITS')
})

test('the decimals of the native token are those of the chain row', () => {
  const { nativeAddress: token } = CHAINS.zksync
  const decoded: DecodedBlock = {
    ...NOTHING,
    transfers: [
      {
        kind: 'transfer',
        txIndex: 0,
        logIndex: 0,
        token,
        from: TRADER,
        to: TOKEN,
        amountRaw: 5n,
        wrap: false,
      },
    ],
  }
  const [moved] = eventsOf(decoded, { chain: CHAINS.zksync, token: () => undefined }).transfers
  assert.equal(moved?.event.transfer?.token_decimals, 18)
})

const transfers = (count: number, key: (index: number) => string, pad = ''): BlockEvents => ({
  ...eventsOf(NOTHING),
  transfers: Array.from({ length: count }, (_, index) => ({
    key: key(index),
    event: { transfer: { token_amount: String(index), uri: pad } } as DeepPartial<TransferEvent>,
  })),
})

test('events are grouped by key and split at the record limits', () => {
  const byCount = batchesOf(
    transfers(MAX_RECORD_EVENTS * 2 + 1, () => TOKEN),
    'eth',
    () => 3,
  )
  assert.deepEqual(
    byCount.map(({ events }) => events.length),
    [MAX_RECORD_EVENTS, MAX_RECORD_EVENTS, 1],
  )
  const big = 'x'.repeat(MAX_RECORD_BYTES / 4)
  const byBytes = batchesOf(
    transfers(7, () => TOKEN, big),
    'eth',
    () => 3,
  )
  assert.deepEqual(
    byBytes.map(({ events }) => events.length),
    [3, 3, 1],
  )
  for (const { value } of encodedRecords(byBytes, meta, codec)) {
    assert.ok((value?.length ?? 0) <= MAX_RECORD_BYTES)
  }
})

test('records are numbered within their partition, and the key decides the partition', () => {
  const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const chunks = batchesOf(
    transfers(14, (index) => keys[index % 7] ?? ''),
    'eth',
    () => 3,
  )
  const records = encodedRecords(chunks, meta, codec)
  for (const partition of [0, 1, 2]) {
    const here = records.filter((record) => record.partition === partition)
    const metas = here.map(({ value }) =>
      codec.decode('transfer.TransferEvents', value ?? Buffer.alloc(0)),
    )
    assert.deepEqual(
      metas.map((message) => [message.meta?.part, message.meta?.parts]),
      here.map((_, index) => [index, here.length]),
    )
    for (const { key } of here) assert.equal(partitionOf(key, 3), partition)
  }
  assert.deepEqual(records[0]?.headers, {
    seq: '9',
    op: 'A',
    part: records[0]?.headers?.part,
    chain: 'eth',
    height: '100',
    hash: '0xab',
    ct: 'application/vnd.confluent.avro',
  })
  assert.match(records[0]?.headers?.part ?? '', /^0\/\d$/)
})

test('a retraction has the same events, newest first, with a sequence number of its own', () => {
  const chunks = batchesOf(eventsOf(decodeBlock(block, books)), 'eth', () => 1)
  const back = revertedBatches(chunks)
  assert.deepEqual(
    back.flatMap(({ events }) => events),
    chunks.flatMap(({ events }) => events).toReversed(),
  )
  assert.deepEqual(revertedBatches(back), chunks)
  const [record] = encodedRecords(back, { ...meta, op: 'OP_REVERT', seq: 10 }, codec)
  assert.equal(record?.headers?.op, 'R')
  assert.equal(record?.headers?.seq, '10')
})

test('an event that does not fit its schema is rejected as InvalidInput', () => {
  const event: DeepPartial<TransferEvent> = JSON.parse('{"transfer": {"token_amount": 7}}')
  const events = { ...eventsOf(NOTHING), transfers: [{ key: TOKEN, event }] }
  const chunks = batchesOf(events, 'eth', () => 1)
  assert.throws(() => encodedRecords(chunks, meta, codec), { name: 'InvalidInput' })
})
