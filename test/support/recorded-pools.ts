import assert from 'node:assert/strict'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeQuoteAssets } from '../../core/prices/quote-assets.ts'
import { emptyDecodedBlock } from '../../ingestors/decode/contract.ts'
import { batchesOf, encodedRecords } from '../../ingestors/publish/record-batches.ts'
import { updateRunningTotals } from '../../ingestors/publish/running-balances.ts'
import { blockEvents } from '../../ingestors/to-wire/block-events.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { POOLS } from '../../processors/pools/stage.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { DecodedBlock, SvmBlock, Swap } from '../../schemas/events.ts'
import type { DexPoolEvents } from '../../schemas/wire.ts'
import { type TapeOp, tapeBlockEvent, tapeMeta } from './builders/trade-tape.ts'
import { recordedSolanaBlock, solanaDecodeContext } from './recordings/solana.ts'
import { createTestProcessor } from './stage-harness.ts'

/** A recorded transaction as its decoder has it. */
export interface RecordedSwaps {
  readonly block: SvmBlock
  readonly decoded: DecodedBlock
  /** Swaps of the families whose pools price with what their events prove. */
  readonly swaps: readonly Swap[]
}

/** The recorded swaps of a file. */
export const recordedSwaps = (name: string): RecordedSwaps => {
  const block = recordedSolanaBlock(name)
  const decoded = decodeBlock(block, solanaDecodeContext())
  return { block, decoded, swaps: decoded.swaps.filter(({ pricing }) => pricing !== undefined) }
}

/** What an account held before a recorded transaction, base units. */
export const heldBefore = (
  { block }: Pick<RecordedSwaps, 'block'>,
  account: string | undefined,
): bigint | null | undefined =>
  block.transactions
    .flatMap(({ tokenBalances }) => tokenBalances)
    .find((balance) => balance.account === account)?.preRaw

const codec = localCodec()

/** The pool topic of consecutive blocks, as processing publishes it: everything on the way from the decoder to a reader's record. */
export const createPoolTopic = () => {
  const processor = createTestProcessor(POOLS)
  let height = 0
  return (
    { block }: Pick<RecordedSwaps, 'block'>,
    part: Partial<Pick<DecodedBlock, 'swaps' | 'poolChanges'>>,
  ): DexPoolEvents => {
    height += 1
    const decoded = { ...emptyDecodedBlock(), ...part }
    const { pools } = blockEvents(
      {
        chain: CHAINS.sol,
        block,
        mapping: blockMapping(block),
        quotePrices: new Map(),
        quoteAssets: makeQuoteAssets(CHAINS.sol),
        token: () => undefined,
        pool: (address) => decodedPool(block, address),
      },
      {
        decoded,
        fetched: [],
        metadataSource: 'node' as const,
        runningTotals: updateRunningTotals(block, decoded, [], () => undefined),
      },
    )
    const op: TapeOp = {
      op: 'apply',
      seq: height,
      finalHeight: 0,
      block: { height, hash: `b${height}`, parent: `b${height - 1}`, timeMs: height, trades: [] },
    }
    const meta = { ...tapeMeta(op), chain: 'sol' }
    const chunks = batchesOf({ ...emptyEvents(block), pools }, 'sol', () => 1)
    const [record] = encodedRecords(chunks, meta, codec)
    assert.ok(record?.value)
    const value = codec.decode('dex.pool.DexPoolEvents', record.value)
    const [published] = processor.step({
      block: tapeBlockEvent(op),
      records: [{ topic: 'pools', key: '', part: 0, value: { ...value, meta: tapeMeta(op) } }],
    })
    processor.flush()
    assert.ok(published?.topic === 'poolsProcessed')
    return published.value
  }
}

const decodedPool = (block: SvmBlock, address: string) =>
  decodeBlock(block, solanaDecodeContext()).pools.find((fact) => fact.address === address)

const emptyEvents = (block: SvmBlock) => {
  const decoded = emptyDecodedBlock()
  return blockEvents(
    {
      chain: CHAINS.sol,
      block,
      mapping: blockMapping(block),
      quotePrices: new Map(),
      token: () => undefined,
      quoteAssets: makeQuoteAssets(CHAINS.sol),
      pool: () => undefined,
    },
    {
      decoded,
      fetched: [],
      metadataSource: 'node' as const,
      runningTotals: updateRunningTotals(block, decoded, [], () => undefined),
    },
  )
}
