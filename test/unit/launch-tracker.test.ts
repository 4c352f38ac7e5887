import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeQuoteAssets } from '../../core/prices/quote-assets.ts'
import { updateRunningTotals } from '../../ingestors/publish/running-balances.ts'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { blockEvents } from '../../ingestors/to-wire/block-events.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { POOLS } from '../../processors/pools/stage.ts'
import type {
  Operation,
  OperationRecord,
  Publication,
  StageProcessor,
} from '../../processors/runtime/stage.ts'
import { TOKENS } from '../../processors/tokens/stage.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { SvmBlock } from '../../schemas/events.ts'
import type { TokenEvent } from '../../schemas/wire.ts'
import {
  addressFor,
  borshFields,
  borshText,
  buildAccountList,
  buildSvmBlock,
  buildSvmTransaction,
  eventCpi,
  type InstructionInput,
} from '../support/builders/svm-block.ts'
import { type TapeOp, tapeBlockEvent, tapeMeta } from '../support/builders/trade-tape.ts'
import { solanaDecodeContext } from '../support/recordings/solana.ts'
import { createTestProcessor } from '../support/stage-harness.ts'

const [CURVE, COIN, USER, CREATOR] = [
  addressFor('curve'),
  addressFor('coin'),
  addressFor('user'),
  addressFor('creator'),
]
const WSOL = CHAINS.sol.wrappedNative
const PROGRAM_ID = PROGRAM_IDS.raydiumLaunchLab

const launched: InstructionInput = {
  program: PROGRAM_ID,
  accounts: buildAccountList(18, {
    0: USER,
    1: CREATOR,
    5: CURVE,
    6: COIN,
    7: WSOL,
    11: PROGRAM_IDS.token,
  }),
  data: '4399af27da102620',
  calls: [
    eventCpi(
      PROGRAM_ID,
      '97d7e20976a173ae',
      Buffer.concat([
        borshFields(CURVE, CREATOR, addressFor('config'), Buffer.from([6])),
        ...['Coin', 'CN', 'https://coin'].map(borshText),
        Buffer.from([0]),
        borshFields(1_500n, 1_000n, 85n),
      ]),
    ),
  ],
}

/** A purchase after which so much of the curve's 1,000 is sold. */
const bought = (sold: bigint): InstructionInput => ({
  program: PROGRAM_ID,
  accounts: buildAccountList(15, { 0: USER, 4: CURVE, 9: COIN, 10: WSOL }),
  data: 'faea0d7bd59c13ec',
  calls: [
    eventCpi(
      PROGRAM_ID,
      'bddb7fd34ee661ee',
      borshFields(CURVE, 1_000n, 1_100n, 30n, 0n, 0n, sold, 85n, 7n, 10n),
    ),
  ],
})

const migrated: InstructionInput = {
  program: PROGRAM_ID,
  accounts: buildAccountList(28, { 1: COIN, 2: WSOL, 5: addressFor('cpmm pool'), 17: CURVE }),
  data: '885cc8671cda908c',
}

const codec = localCodec()
const NOTHING = { fetched: [], metadataSource: 'node' } as const

const recordsOf = (block: SvmBlock, op: TapeOp): readonly OperationRecord[] => {
  const decoded = decodeBlock(block, solanaDecodeContext())
  assert.deepEqual(decoded.dropped, [])
  const { tokens, pools } = blockEvents(
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
      ...NOTHING,
    },
  )
  const meta = tapeMeta(op)
  const place = { key: COIN, part: 0 }
  const tokenBytes = codec.encode('token.TokenEvents', {
    meta,
    events: tokens.map(({ event }) => event),
  })
  const poolBytes = codec.encode('dex.pool.DexPoolEvents', {
    meta,
    events: pools.map(({ event }) => event),
  })
  return [
    { ...place, topic: 'tokens', value: codec.decode('token.TokenEvents', tokenBytes) },
    { ...place, topic: 'pools', value: codec.decode('dex.pool.DexPoolEvents', poolBytes) },
  ]
}

const operationOf = (
  seq: number,
  height: number,
  calls: readonly InstructionInput[],
  op: TapeOp['op'] = 'apply',
): Operation => {
  const block = { ...buildSvmBlock([buildSvmTransaction(calls)]), height }
  const { hash, timeMs } = block
  const tapeOp: TapeOp = {
    op,
    seq,
    block: { height, hash: `${hash}${height}`, parent: `${hash}${height - 1}`, timeMs, trades: [] },
    finalHeight: 0,
  }
  return { block: tapeBlockEvent(tapeOp), records: recordsOf(block, tapeOp) }
}

const stepped = (folding: StageProcessor, operation: Operation): readonly Publication[] => [
  ...folding.step(operation),
  ...folding.flush().publications,
]

const tokensIn = (
  publications: readonly Publication[],
  topic: 'tokensCreated' | 'tokensMigrated' | 'tokensProcessed',
): readonly TokenEvent[] =>
  publications.flatMap((one) => {
    const isToken =
      one.topic === 'tokensCreated' ||
      one.topic === 'tokensMigrated' ||
      one.topic === 'tokensProcessed'
    return isToken && one.topic === topic ? one.value.events : []
  })

test('a LaunchLab token is created, and migrated with its known fields; a revert restores both', () => {
  const folding = createTestProcessor(TOKENS)
  const [created] = tokensIn(stepped(folding, operationOf(1, 1, [launched])), 'tokensCreated')
  assert.ok(created)
  assert.deepEqual(
    [created.token?.symbol, created.dev, created.launch_from?.protocol_family],
    ['CN', CREATOR, 'raydium_launchlab'],
  )
  const published = stepped(folding, operationOf(2, 2, [migrated]))
  const [event] = tokensIn(published, 'tokensMigrated')
  assert.ok(event)
  assert.deepEqual(
    [event.token?.address, event.token?.name, event.token?.decimals, event.dev],
    [COIN, 'Coin', 6, CREATOR],
  )
  assert.deepEqual(event.launch_from, {
    program_address: PROGRAM_ID,
    protocol_family: 'raydium_launchlab',
    protocol_name: 'Raydium LaunchLab',
    pool_address: CURVE,
  })
  assert.deepEqual(event.migrated_to, {
    program_address: PROGRAM_IDS.raydiumCpmm,
    protocol_family: 'raydium_cpmm',
    protocol_name: 'Raydium CPMM',
    pool_address: addressFor('cpmm pool'),
  })
  const [record] = tokensIn(published, 'tokensProcessed')
  assert.ok(record)
  assert.equal(record.migrated_to?.pool_address, addressFor('cpmm pool'))
  const reverted = stepped(folding, operationOf(3, 2, [migrated], 'revert'))
  const [restored] = tokensIn(reverted, 'tokensProcessed')
  assert.ok(restored)
  assert.deepEqual([restored.token?.name, restored.migrated_to], ['Coin', null])
})

test('the progress of a LaunchLab curve grows from 0 to 1', () => {
  const folding = createTestProcessor(POOLS)
  const progress = (seq: number, calls: readonly InstructionInput[]) =>
    stepped(folding, operationOf(seq, seq, calls)).flatMap((one) =>
      one.topic === 'poolsProcessed'
        ? one.value.events.map(({ pool_processed }) => pool_processed?.curve_progress)
        : [],
    )
  assert.deepEqual(progress(1, [launched]), ['0'])
  assert.deepEqual(progress(2, [bought(400n), bought(750n)]), ['0.4', '0.75'])
  assert.deepEqual(progress(3, [bought(1_000n)]), ['1'])
})
