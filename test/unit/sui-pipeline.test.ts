import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeQuoteAssets } from '../../core/prices/quote-assets.ts'
import { parseMetadataTable } from '../../ingestors/decode/metadata-table.ts'
import { normalizeCheckpoint } from '../../ingestors/move/normalize/checkpoint.ts'
import { updateRunningTotals } from '../../ingestors/publish/running-balances.ts'
import { recordedSource } from '../../ingestors/recorded/replay.ts'
import { blockEvents } from '../../ingestors/to-wire/block-events.ts'
import { blockMapping } from '../../ingestors/vm/block-mapping.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { MoveTransaction } from '../../schemas/events.ts'
import { parseTokenAddress, parseWalletAddress } from '../../serving/http/chain-parameters.ts'
import { parseChannel } from '../../serving/realtime/channel-name.ts'
import {
  buildMoveBlock,
  buildMoveEvent,
  buildMoveTransaction,
  buildPoolObject,
  objectIdFor,
  SUI,
  TEST_COIN,
  USDC,
} from '../support/builders/move-block.ts'
import { suiDecodeContext, suiRecordingJson } from '../support/recordings/sui.ts'

const POOL = objectIdFor('pool')

const published = (tx: MoveTransaction) => {
  const block = buildMoveBlock([tx])
  const decoded = decodeBlock(block, suiDecodeContext([], 'facts'))
  const token = () => undefined
  const pool = (address: string) => decoded.pools.find((fact) => fact.address === address)
  const tracked = updateRunningTotals(block, decoded, [], () => undefined)
  return blockEvents(
    {
      chain: CHAINS.sui,
      block,
      mapping: blockMapping(block),
      quoteAssets: makeQuoteAssets(CHAINS.sui),
      quotePrices: new Map(),
      token,
      pool,
    },
    { decoded, runningTotals: tracked, fetched: [], metadataSource: 'node' },
  )
}

const swap = (sender: string) =>
  buildMoveEvent('cetus', 'pool::SwapEvent', {
    atob: false,
    pool: POOL,
    amount_in: '40',
    amount_out: '100',
    sender,
  })

test('a swap on Sui is a trade: the launched coin is the base, the sponsor is the fee payer, a negative fee counts as zero', () => {
  const { trades, pools } = published(
    buildMoveTransaction([swap('')], {
      gasOwner: objectIdFor('sponsor'),
      feeRaw: -5n,
      objects: [buildPoolObject('cetus', POOL, [TEST_COIN, SUI])],
    }),
  )
  const [trade] = trades
  assert.equal(trade?.key, TEST_COIN)
  assert.deepEqual(
    [trade?.event.trade?.token_a_address, trade?.event.trade?.token_b_address],
    [TEST_COIN, SUI],
  )
  assert.equal(trade?.event.trade?.was_original_direction, false)
  assert.equal(trade?.event.trade?.token_b_decimals, 9)
  assert.deepEqual(
    [trade?.event.transaction?.fee, trade?.event.transaction?.fee_payer],
    ['0', objectIdFor('sponsor')],
  )
  assert.equal(trade?.event.d_app?.chain, 'CHAIN_SUI')
  assert.equal(trade?.event.block?.height, 7)
  assert.equal(pools.length, 1)
})

test('a Sui balance change gives a transfer and no balance; a new coin gives a token', () => {
  const { transfers, balances, tokens } = published(
    buildMoveTransaction([], {
      deltas: [
        { owner: objectIdFor('sender'), coin: TEST_COIN, deltaRaw: -5n },
        { owner: objectIdFor('bert'), coin: TEST_COIN, deltaRaw: 5n },
      ],
      objects: [
        { id: objectIdFor('coin'), type: '', change: 'published', fields: null },
        {
          id: objectIdFor('cap'),
          type: `0x2::coin::TreasuryCap<${TEST_COIN}>`,
          change: 'created',
          fields: null,
        },
      ],
    }),
  )
  assert.deepEqual(
    transfers.map(({ key, event: { instruction, transfer } }) => [
      ...[key, instruction?.type, transfer?.token_amount, transfer?.receiver_account_owner_address],
    ]),
    [[TEST_COIN, 'coin', '5', objectIdFor('bert')]],
  )
  assert.deepEqual(balances, [])
  const [born] = tokens
  assert.deepEqual(
    [born?.event.instruction?.type, born?.event.token?.evm_extra, born?.event.token?.solana_extra],
    ['coin', undefined, undefined],
  )
})

test('the block record of a Sui checkpoint counts its transactions and has no gas of its own', () => {
  const block = buildMoveBlock([buildMoveTransaction([]), buildMoveTransaction([])])
  const { parent_slot, tx_count, gas_used, coinbase } = blockMapping(block).header(block)
  assert.deepEqual([parent_slot, tx_count, gas_used, coinbase], [6, 2, '0', ''])
})

test('recordings of one Sui checkpoint are joined in a replay', async () => {
  const { result } = suiRecordingJson('turbos_swap.json') as {
    readonly result: Record<string, unknown>
  }
  const files: Readonly<Record<string, unknown>> = {
    one: result,
    two: { ...result, digest: 'E'.repeat(44) },
    untimed: suiRecordingJson('cetus_swap_b2a.json'),
  }
  const source = await recordedSource({
    chain: CHAINS.sui,
    files: Object.keys(files),
    log: makeSilentLogger(),
    readFile: async (file) => JSON.stringify(files[file]),
  })
  assert.deepEqual(source.skipped, ['untimed'])
  const blocks = []
  for await (const op of source.operations(null, new AbortController().signal)) {
    if (op.op === 'apply') blocks.push(op.block)
  }
  assert.deepEqual(
    blocks.map(({ height, transactions }) => [height, transactions.map(({ index }) => index)]),
    [[29_829_815, [0, 1]]],
  )
})

test('Sui coins and addresses are normalized in every interface', () => {
  const long = `0x${'2'.padStart(64, '0')}::sui::SUI`
  assert.equal(parseTokenAddress('sui', long, 'tokenAddress'), SUI)
  assert.equal(parseWalletAddress('sui', '0xAB', 'walletAddress'), `0x${'ab'.padStart(64, '0')}`)
  assert.throws(() => parseWalletAddress('sui', 'anna', 'walletAddress'))
  const channel = parseChannel(`dex-wallet-balance:sui_0xAB`, new Set(['sui']))
  assert.equal('address' in channel && channel.address, `0x${'ab'.padStart(64, '0')}`)
  const [row] = parseMetadataTable([{ token: long, decimals: 9, origin: 'x' }]).tokens
  assert.equal(row?.address, SUI)
  assert.equal(USDC, CHAINS.sui.quotes[0].address)
})

test('with skipInvalid, an invalid Sui transaction is left out of its checkpoint and reported as rejected', () => {
  const digest = 'A'.repeat(43)
  const broken = { digest, effects: null }
  const said = { sequenceNumber: '5', digest, timestampMs: '1', transactions: [broken] }
  assert.throws(() => normalizeCheckpoint(said, 'sui'), { reason: 'no-effects' })
  const { transactions, rejected: refused } = normalizeCheckpoint(said, 'sui', {
    skipInvalid: true,
  })
  assert.deepEqual(transactions, [])
  assert.deepEqual(
    refused?.map(({ txHash, index, reason }) => [txHash, index, reason]),
    [[digest, 0, 'no-effects']],
  )
})
