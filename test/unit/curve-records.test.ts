import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeQuoteAssets } from '../../core/prices/quote-assets.ts'
import { emptyDecodedBlock } from '../../ingestors/decode/contract.ts'
import {
  batchesOf,
  encodedRecords,
  type OperationMeta,
} from '../../ingestors/publish/record-batches.ts'
import { updateRunningTotals } from '../../ingestors/publish/running-balances.ts'
import { type BlockEvents, blockEvents } from '../../ingestors/to-wire/block-events.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { POOLS } from '../../processors/pools/stage.ts'
import { tokenRows } from '../../processors/sinks/pool-and-token-rows.ts'
import { TOKENS } from '../../processors/tokens/stage.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { DecodedBlock, PoolLiquidityChange } from '../../schemas/events.ts'
import type { DexPoolEvent, DexPoolEvents, TokenEvents } from '../../schemas/wire.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { type TapeOp, tapeBlockEvent, tapeMeta } from '../support/builders/trade-tape.ts'
import { recordedSolanaBlock, solanaDecodeContext } from '../support/recordings/solana.ts'
import { createTestProcessor } from '../support/stage-harness.ts'

const codec = localCodec()
const block = recordedSolanaBlock('swap_mintech_1.json')
const traded = decodeBlock(block, solanaDecodeContext())

const eventsOf = (decoded: DecodedBlock): BlockEvents =>
  blockEvents(
    {
      chain: CHAINS.sol,
      block,
      mapping: blockMapping(block),
      quoteAssets: makeQuoteAssets(CHAINS.sol),
      quotePrices: new Map(),
      token: () => undefined,
      pool: (address) => decoded.pools.find((fact) => fact.address === address),
    },
    {
      decoded,
      runningTotals: updateRunningTotals(block, decoded, [], () => undefined),
      fetched: [],
      metadataSource: 'node',
    },
  )

const op: TapeOp = {
  op: 'apply',
  seq: 1,
  finalHeight: 0,
  block: { height: 1, hash: '0xb1', parent: '0xb0', timeMs: 1_777_373_327_000, trades: [] },
}

const meta: OperationMeta = {
  chain: 'sol',
  op: 'OP_APPLY',
  seq: 1,
  commitment: 'COMMITMENT_PROCESSED',
  height: 1,
  slot: 1,
  hash: '0xb1',
  parent_hash: '0xb0',
  block_time: 5,
  produced_at: 6,
}

/** What a consumer reads of a block's only record with events of that kind. */
const read = (
  only: Partial<BlockEvents>,
  message: 'dex.pool.DexPoolEvents' | 'token.TokenEvents',
) => {
  const chunks = batchesOf({ ...eventsOf(emptyDecodedBlock()), ...only }, 'sol', () => 1)
  const [record] = encodedRecords(chunks, meta, codec)
  assert.ok(record?.value)
  return codec.decode(message, record.value)
}

test('a trade has the reserves of its curve, and unknown ones empty', () => {
  const [trade] = eventsOf(traded).trades
  assert.deepEqual(trade?.event.bonding_curve, {
    virtual_quote_reserves: '',
    virtual_token_reserves: '',
    real_quote_reserves: '11',
    real_token_reserves: '999999997568001',
  })
})

/** Pool events as the pools stage publishes them. */
const pooled = (pools: BlockEvents['pools']): readonly DexPoolEvent[] => {
  const value = read({ pools }, 'dex.pool.DexPoolEvents') as DexPoolEvents
  const [published] = createTestProcessor(POOLS).step({
    block: tapeBlockEvent(op),
    records: [{ topic: 'pools', key: '', part: 0, value: { ...value, meta: tapeMeta(op) } }],
  })
  assert.ok(published?.topic === 'poolsProcessed')
  return published.value.events
}

test('the progress of a curve is part of its pool event and of the pool state', () => {
  const [event] = pooled(eventsOf(traded).pools)
  assert.equal(event?.pool_processed?.curve_progress, '0.00000000088')
})

test('the progress of a curve is not derived from its vault balance', () => {
  const [swap] = traded.swaps
  assert.ok(swap?.tokenIn && swap.tokenOut)
  const { curveProgress: _told, ...untold } = swap
  const opening: PoolLiquidityChange = {
    kind: 'initialize',
    txIndex: 0,
    logIndex: 0,
    owner: addressFor('owner'),
    pool: swap.pool,
    protocol: swap.protocol,
    tokenA: swap.tokenIn,
    tokenB: swap.tokenOut,
    amountARaw: 2n * 10n ** 15n,
    amountBRaw: 0n,
    reserves: [2n * 10n ** 15n, 0n],
  }
  const { pools } = eventsOf({ ...traded, swaps: [untold], poolChanges: [opening] })
  const events = pooled(pools)
  assert.equal(events[1]?.pool?.token_a_vault_post_amount, '999999997568001')
  assert.deepEqual(
    events.map(({ pool_processed }) => pool_processed?.curve_progress),
    ['', ''],
  )
})

test('a migration to an unknown pool is published without a target', () => {
  const migrations = [
    {
      kind: 'migration' as const,
      txIndex: 0,
      logIndex: 4,
      token: addressFor('mint'),
      from: { protocol: 'moonshot', pool: addressFor('curve') },
      to: null,
    },
  ]
  const { tokens } = eventsOf({ ...emptyDecodedBlock(), migrations })
  const value = read({ tokens }, 'token.TokenEvents') as TokenEvents
  assert.equal(value.events[0]?.migrated_to, null)
  assert.equal(value.events[0]?.launch_from?.protocol_family, 'moonshot')
  const published = createTestProcessor(TOKENS).step({
    block: tapeBlockEvent(op),
    records: [{ topic: 'tokens', key: '', part: 0, value: { ...value, meta: tapeMeta(op) } }],
  })
  const moved = published.flatMap((one) => (one.topic === 'tokensProcessed' ? [one.value] : []))
  assert.ok(moved[0])
  const [row] = tokenRows(moved[0])
  assert.deepEqual([row?.migrated_pool, row?.migrated_family], ['', ''])
  assert.ok(row?.migrated_at)
  assert.ok(published.some(({ topic }) => topic === 'tokensMigrated'))
})
