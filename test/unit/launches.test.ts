import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { UNKNOWN_QUOTE_ASSET_PRICE } from '../../core/prices/quote-assets.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { updateRunningTotals } from '../../ingestors/publish/running-balances.ts'
import { blockEvents } from '../../ingestors/to-wire/block-events.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { POOLS } from '../../processors/pools/stage.ts'
import type {
  OperationRecord,
  Publication,
  StageProcessor,
} from '../../processors/runtime/stage.ts'
import { tokenRows } from '../../processors/sinks/pool-and-token-rows.ts'
import { TOKENS } from '../../processors/tokens/stage.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { PoolMetadata } from '../../schemas/events.ts'
import { addressTopic, POOL, TOKEN_A, TOPIC, USER } from '../support/builders/dex-logs.ts'
import { buildEventLog, type LogWithoutIndex } from '../support/builders/evm-event-log.ts'
import { QUOTE_ASSETS } from '../support/builders/quote-trade.ts'
import { type TapeOp, tapeBlockEvent, tapeMeta } from '../support/builders/trade-tape.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { createTestProcessor } from '../support/stage-harness.ts'

const MANAGER = `0x${'f4'.repeat(20)}`
const PAIR_FACTORY = '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f'
const COIN = `0x${'0'.repeat(40)}`
const WETH = CHAINS.eth.wrappedNative
const TOKEN = TOKEN_A
const WHOLE = 10n ** 18n

const protocols = protocolRegistry('eth', {
  factories: [{ protocol: 'four_meme', factory: MANAGER }],
  quotes: [],
  referencePools: [],
  replace: false,
})
const curve: PoolMetadata = {
  address: TOKEN,
  tokenA: TOKEN,
  tokenB: COIN,
  protocol: 'four_meme',
  factory: MANAGER,
  feePips: null,
  verified: true,
}
const pool = (address: string) => (address === TOKEN ? curve : undefined)

const created = buildEventLog(
  MANAGER,
  'TokenCreate(address creator, address token, uint256 requestId, string name, string symbol, uint256 totalSupply, uint256 launchTime, uint256 launchFee)',
  [USER, TOKEN, 7n, 'Coin', 'C', 10n ** 27n, 1n, 0n],
)
const bought = (left: bigint): LogWithoutIndex =>
  buildEventLog(
    MANAGER,
    'TokenPurchase(address token, address account, uint256 price, uint256 amount, uint256 cost, uint256 fee, uint256 offers, uint256 funds)',
    [TOKEN, USER, 1n, 1_000n * WHOLE, WHOLE, 1n, left * WHOLE, WHOLE],
  )
const [low = '', high = ''] = [TOKEN, WETH].sort()
const migrated: readonly LogWithoutIndex[] = [
  buildEventLog(MANAGER, 'TradeStop(address token)', [TOKEN]),
  buildLog(PAIR_FACTORY, [TOPIC.pairCreated, addressTopic(low), addressTopic(high)], [POOL, 1n]),
  buildLog(POOL, [TOPIC.v2Mint, addressTopic(MANAGER)], [WHOLE, WHOLE]),
  buildEventLog(
    MANAGER,
    'LiquidityAdded(address base, uint256 offers, address quote, uint256 funds)',
    [TOKEN, WHOLE, COIN, WHOLE],
  ),
]

const codec = localCodec()
const opAt = (op: TapeOp['op'], seq: number, height: number): TapeOp => ({
  op,
  seq,
  block: {
    height,
    hash: `0xb${height}`,
    parent: `0xb${height - 1}`,
    timeMs: 1_700_000_000_000 + height * 1_000,
    trades: [],
  },
  finalHeight: 0,
})

/** Records of a block with these logs, as they come out of the topics. */
const recordsOf = (op: TapeOp, logs: readonly LogWithoutIndex[]): readonly OperationRecord[] => {
  const block = { ...buildSingleTransactionBlock(logs), ...op.block }
  const decoded = decodeBlock(block, { verification: 'facts', protocols, pool })
  assert.deepEqual(decoded.dropped, [])
  const context = {
    chain: CHAINS.eth,
    block,
    mapping: blockMapping(block),
    quoteAssets: QUOTE_ASSETS,
    token: () => undefined,
    pool,
  }
  const runningTotals = updateRunningTotals(block, decoded, [], () => undefined)
  const stamps = new Map([[WETH, UNKNOWN_QUOTE_ASSET_PRICE]])
  const found = { decoded, runningTotals, fetched: [], metadataSource: 'node' } as const
  const events = blockEvents({ ...context, quotePrices: stamps }, found)
  const meta = tapeMeta(op)
  const records: OperationRecord[] = []
  for (const [part, { key, event }] of events.tokens.entries()) {
    const bytes = codec.encode('token.TokenEvents', { meta, events: [event] })
    const value = codec.decode('token.TokenEvents', bytes)
    records.push({ topic: 'tokens', key, part, value })
  }
  for (const [part, { key, event }] of events.trades.entries()) {
    const bytes = codec.encode('dex.trade.TradeEvents', { meta, events: [event] })
    const value = codec.decode('dex.trade.TradeEvents', bytes)
    records.push({ topic: 'trades', key, part, value })
  }
  for (const [part, { key, event }] of events.pools.entries()) {
    const bytes = codec.encode('dex.pool.DexPoolEvents', { meta, events: [event] })
    const value = codec.decode('dex.pool.DexPoolEvents', bytes)
    records.push({ topic: 'pools', key, part, value })
  }
  return records
}

const stepped = (
  folding: StageProcessor,
  op: TapeOp,
  records: readonly OperationRecord[],
  topics: readonly OperationRecord['topic'][],
): readonly Publication[] => {
  const block = tapeBlockEvent(op)
  const mine = records.filter(({ topic }) => topics.includes(topic))
  return [...folding.step({ block, records: mine }), ...folding.flush().publications]
}

test('a curve token is created, traded and migrated by the launch tracker', () => {
  const folding = createTestProcessor(TOKENS)
  const inputs = ['tokens', 'trades'] as const
  const first = opAt('apply', 1, 1)
  const second = opAt('apply', 2, 2)
  const born = stepped(folding, first, recordsOf(first, [created, bought(700_000_000n)]), inputs)
  const left = recordsOf(second, [bought(0n), ...migrated])
  const gone = stepped(folding, second, left, inputs)
  assert.deepEqual(
    [...born, ...gone].map(({ topic }) => topic),
    ['tokensCreated', 'tokensProcessed', 'tokensMigrated', 'tokensProcessed'],
  )
  const [created1, processed, migrated1, last] = [...born, ...gone]
  assert.ok(created1?.topic === 'tokensCreated' && migrated1?.topic === 'tokensMigrated')
  const [birth] = created1.value.events
  assert.deepEqual(birth?.launch_from, {
    program_address: MANAGER,
    protocol_family: 'four_meme',
    protocol_name: 'Four.meme',
    pool_address: TOKEN,
  })
  assert.deepEqual(
    [birth?.token?.name, birth?.token?.symbol, birth?.token?.decimals, birth?.dev],
    ['Coin', 'C', 18, USER],
  )
  const [migration] = migrated1.value.events
  assert.deepEqual(migration?.migrated_to?.pool_address, POOL)
  assert.deepEqual(migration?.migrated_to?.protocol_family, 'uniswap_v2')
  assert.equal(migration?.created_tx, birth?.created_tx, 'the migration knows the birth')
  assert.ok(processed?.topic === 'tokensProcessed' && last?.topic === 'tokensProcessed')
  const rows = [processed, last].map(({ value }) => tokenRows(value)[0])
  assert.deepEqual(
    rows.map((row) => [row?.name, row?.total_supply, row?.dev, row?.created_slot]),
    [
      ['Coin', String(10n ** 27n), USER, 1],
      ['Coin', String(10n ** 27n), USER, 1],
    ],
  )
})

test('a retraction reverts the migration and then the token', () => {
  const folding = createTestProcessor(TOKENS)
  const inputs = ['tokens', 'trades'] as const
  const tokenCreations = [created, bought(700_000_000n)]
  const [one, two] = [opAt('apply', 1, 1), opAt('apply', 2, 2)]
  stepped(folding, one, recordsOf(one, tokenCreations), inputs)
  stepped(folding, two, recordsOf(two, migrated), inputs)
  const back = opAt('revert', 3, 2)
  const restored = stepped(folding, back, recordsOf(back, migrated), inputs).at(-1)
  assert.ok(restored?.topic === 'tokensProcessed')
  assert.equal(restored.value.events[0]?.migrated_to, null)
  assert.equal(restored.value.events[0]?.launch_from?.pool_address, TOKEN)
  const all = opAt('revert', 4, 1)
  const removed = stepped(folding, all, recordsOf(all, tokenCreations), inputs).at(-1)
  assert.ok(removed?.topic === 'tokensProcessed')
  assert.equal(removed.value.meta?.op, 'OP_REVERT')
})

test('a curve opens with its full supply and has its progress with each trade', () => {
  const folding = createTestProcessor(POOLS)
  const op = opAt('apply', 1, 1)
  const logs = [created, bought(600_000_000n), bought(0n)]
  const published = stepped(folding, op, recordsOf(op, logs), ['pools'])
  const events = published.flatMap((one) =>
    one.topic === 'poolsProcessed' ? one.value.events : [],
  )
  assert.deepEqual(
    events.map(({ type, pool: said, pool_processed }) => [
      type,
      said?.address,
      said?.token_a_address,
      said?.token_b_address,
      pool_processed?.curve_progress,
    ]),
    [
      ['DEX_POOL_EVENT_TYPE_INITIALIZE', TOKEN, TOKEN, WETH, '0'],
      ['DEX_POOL_EVENT_TYPE_SWAP', TOKEN, TOKEN, WETH, '0.25'],
      ['DEX_POOL_EVENT_TYPE_SWAP', TOKEN, TOKEN, WETH, '1'],
    ],
  )
})
