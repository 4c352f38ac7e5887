import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { emptyDecodedBlock } from '../../ingestors/decode/contract.ts'
import type { Commitment } from '../../ingestors/follow/contract.ts'
import {
  applyOperation,
  type ChainContext,
  finalizeOperation,
  type Prepared,
  revertOperation,
} from '../../ingestors/publish/block-operation.ts'
import { openLedger } from '../../ingestors/publish/metadata-store.ts'
import { appliedOf } from '../../ingestors/publish/resume.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { buildEvmBlock } from '../support/builders/evm-block.ts'
import { QUOTE_ASSETS } from '../support/builders/quote-trade.ts'

const block = buildEvmBlock({ height: 100 }, [])
const { height, hash, parentHash, timeMs } = block
const REF = { height, hash, parentHash, timeMs }
const CURSOR = { tip: REF, final: null, finalSeq: 0 }

const said = (prepared: Prepared): string => prepared.event([]).meta?.commitment ?? ''

/** What the three operations of one block say. */
const commitments = (commitment: Commitment): readonly string[] => {
  const chainContext: ChainContext = {
    chain: CHAINS.eth,
    quoteAssets: QUOTE_ASSETS,
    codec: localCodec(),
    commitment,
    partitions: () => 1,
    store: 'state',
    partition: 0,
    nowMs: () => 0,
  }
  const ledger = openLedger({ get: () => undefined, entries: () => [] })
  const read = {
    block,
    decoded: emptyDecodedBlock(),
    fetched: { tokens: [], pools: [] },
    origin: 'node' as const,
    seedPrices: [],
    deadLetters: [],
    expired: [],
  }
  const applied = applyOperation(chainContext, ledger, { seq: 1, cursor: CURSOR }, read)
  ledger.take(applied.pending)
  const apply = said(applied)
  const gone = appliedOf(applied.event([]))
  const revert = revertOperation(chainContext, ledger, { seq: 2, cursor: CURSOR }, gone, [])
  const finalize = finalizeOperation(chainContext, ledger, { seq: 3, cursor: CURSOR }, REF, [])
  return [apply, said(revert), said(finalize)].map((text) => text.replace('COMMITMENT_', ''))
}

test('a block record has the commitment of its source, and FINALIZED once it is final', () => {
  assert.deepEqual(commitments('processed'), ['PROCESSED', 'PROCESSED', 'FINALIZED'])
  assert.deepEqual(commitments('confirmed'), ['CONFIRMED', 'CONFIRMED', 'FINALIZED'])
  assert.deepEqual(commitments('finalized'), ['FINALIZED', 'FINALIZED', 'FINALIZED'])
})
