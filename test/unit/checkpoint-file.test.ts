import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { base58Encode } from '../../core/base58.ts'
import { InvalidInput } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { isChkFile, parseChkFile } from '../../ingestors/move/checkpoint/chk-file.ts'
import { recordedSource } from '../../ingestors/recorded/replay.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { MoveBlock } from '../../schemas/events.ts'
import {
  encodeBcs,
  objectIdFor,
  protocolPackage,
  SUI,
  USDC,
  u8,
  u128,
} from '../support/builders/move-block.ts'
import {
  ADDRESS_1,
  ADDRESS_2,
  address,
  blob,
  buildCheckpoint,
  coinObject,
  created,
  digest,
  effectsV2,
  GAS,
  list,
  moveObject,
  owned,
  program,
  published,
  shared,
  struct,
  tag,
  transactionData,
  u16,
  written,
} from '../support/builders/sui-checkpoint-bcs.ts'
import { suiDecodeContext, suiRecordingPath } from '../support/recordings/sui.ts'

const RECORDED = suiRecordingPath('1137.chk')
const POOL = objectIdFor('pool')

const blockOf = (bytes: Uint8Array): MoveBlock => {
  const { block, ...rest } = parseChkFile('sui', bytes)
  assert.deepEqual(rest, { whole: true, timed: true, named: true })
  assert.ok(block.vm === 'move')
  return block
}

test('a recorded checkpoint: everything in it has the hash that it is called by', () => {
  const block = blockOf(readFileSync(RECORDED))
  assert.deepEqual(
    [block.height, block.hash, block.parentHash, block.timeMs],
    [
      1137,
      '8qkwUqdozk6whP2X7oxcy1SfwJouBLXwDQxkyHkNR1N3',
      '4HyNVUwUTEEqfJYLSmuPL3qmH1hgHD5EBQTcktrYrdd6',
      1_758_564_778_195,
    ],
  )
  assert.equal(block.transactions.length, 9)
  const paid = block.transactions.filter(({ feeRaw }) => feeRaw > 0n)
  assert.equal(paid.length, 5)
  for (const { from, feeRaw, deltas, calls, objects } of paid) {
    assert.deepEqual(deltas, [{ owner: from, coin: SUI, deltaRaw: -feeRaw }])
    assert.equal(calls.length, 1)
    assert.ok(objects.some(({ change }) => change === 'created'))
  }
})

test('`decode` and `replay` read a .chk file by its name', async () => {
  assert.ok(isChkFile('a/5.chk') && isChkFile('5.chk.bin'))
  assert.ok(!isChkFile('chk.json'))
  const lines: string[] = []
  const write = (line: string) => lines.push(line)
  assert.equal(await decodeFiles({ chain: 'sui', files: [RECORDED], write }), 0)
  assert.deepEqual(JSON.parse(lines[0] ?? '').trades, [])
  const source = await recordedSource({
    chain: CHAINS.sui,
    files: [RECORDED],
    log: makeSilentLogger(),
  })
  const heights: number[] = []
  for await (const op of source.operations(null, new AbortController().signal)) {
    if (op.op === 'apply') heights.push(op.block.height)
  }
  assert.deepEqual(heights, [1137])
})

test('a .chk file of any bytes is read or rejected', () => {
  const bytes = readFileSync(RECORDED)
  const refuses = (said: Uint8Array): void =>
    assert.throws(() => parseChkFile('sui', said), InvalidInput)
  refuses(new Uint8Array())
  refuses(bytes.subarray(0, bytes.length / 2))
  refuses(Buffer.concat([bytes, u8(0)]))
  fc.assert(
    fc.property(fc.nat(20_000), fc.nat(255), (at, byte) => {
      const bent = Buffer.from(bytes)
      bent[at] = byte
      try {
        parseChkFile('sui', bent)
      } catch (error) {
        assert.ok(error instanceof InvalidInput, String(error))
      }
    }),
    { numRuns: 60, seed: 7 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (random) => refuses(random)),
    { numRuns: 200, seed: 7 },
  )
})

test('a checkpoint file gives a swap, its coins, a new coin and balance changes', () => {
  const pool = `${protocolPackage('cetus')}::pool::Pool`
  const swap = encodeBcs(
    ...[true, POOL, objectIdFor('partner'), 100n, 40n, 0n, 1n, 5n, 6n, u128(1n), u128(2n), 1n],
  )
  const package_ = encodeBcs(
    ...[u8(1), objectIdFor('package'), 1n, list([encodeBcs('mine', blob(Buffer.of(1)))])],
    ...[
      list([encodeBcs('mine', 'MINE', objectIdFor('package'))]),
      list([encodeBcs(objectIdFor('a'), objectIdFor('b'), 2n)]),
    ],
    ...[encodeBcs(u8(3)), digest(1), 0n],
  )
  const metadata = `0x2::coin::CoinMetadata`
  const mine = `${objectIdFor('package')}::mine::MINE`
  const bytes = buildCheckpoint([
    {
      data: transactionData(
        program(
          [
            encodeBcs(u8(0), blob(Buffer.of(1, 2))),
            encodeBcs(u8(1), u8(1), POOL, 1n, u8(1)),
            encodeBcs(u8(2), u8(0), 5n, u8(0), tag(SUI), u8(0)),
          ],
          [
            encodeBcs(
              ...[u8(0), objectIdFor('router'), 'router', 'swap', list([tag(USDC), tag(SUI)])],
              list([Buffer.concat([u8(1), u16(1)]), u8(0), encodeBcs(u8(3), u16(0), u16(1))]),
            ),
            encodeBcs(u8(2), u8(0), list([encodeBcs(u8(1), u16(0))])),
            encodeBcs(u8(5), false, list([])),
            encodeBcs(u8(4), list([blob(Buffer.of(1))]), list([encodeBcs(objectIdFor('dep'))])),
          ],
        ),
      ),
      effects: effectsV2(u8(0), [
        written(POOL, shared),
        published(objectIdFor('package')),
        created(objectIdFor('meta'), encodeBcs(u8(3))),
        encodeBcs(
          ...[
            objectIdFor('balance'),
            u8(0),
            u8(3),
            ADDRESS_2,
            u8(7),
            struct('0x2::balance::Balance', [USDC]),
          ],
          ...[u8(0), u8(0), 33n, u8(0)],
        ),
      ]),
      events: [
        encodeBcs(
          ...[
            objectIdFor('router'),
            'router',
            ADDRESS_1,
            struct(`${protocolPackage('cetus')}::pool::SwapEvent`),
          ],
          blob(swap),
        ),
      ],
      before: [coinObject('one', 100n, ADDRESS_1)],
      after: [
        coinObject('one', 10n, ADDRESS_1),
        coinObject('two', 57n, ADDRESS_2),
        moveObject(encodeBcs(u8(0), struct(pool, [USDC, SUI])), encodeBcs(POOL, 1n), shared),
        moveObject(
          encodeBcs(u8(0), struct(metadata, [mine])),
          encodeBcs(objectIdFor('meta'), u8(7), 'Mine', 'MINE', '', false),
          encodeBcs(u8(3)),
        ),
        package_,
      ],
    },
  ])
  const block = blockOf(bytes)
  assert.deepEqual([block.height, block.timeMs], [7, 1_700_000_000_123])
  assert.equal(block.parentHash, base58Encode(Buffer.alloc(32, 3)))
  const [tx] = block.transactions
  assert.ok(tx)
  assert.deepEqual(
    [tx.from, tx.gasOwner, tx.feeRaw, tx.success, tx.calls],
    [
      ADDRESS_1,
      ADDRESS_2,
      1_000n,
      true,
      [{ typeArguments: [full(USDC), full(SUI)], objects: [POOL] }],
    ],
  )
  assert.deepEqual(tx.deltas, [
    { owner: ADDRESS_1, coin: USDC, deltaRaw: -90n },
    { owner: ADDRESS_2, coin: USDC, deltaRaw: 90n },
  ])
  const { swaps, tokenCreations } = decodeBlock(block, suiDecodeContext([], 'facts'))
  assert.deepEqual(
    swaps.map(({ protocol, pool: at, tokenIn, tokenOut, amountInRaw, amountOutRaw }) => [
      ...[protocol, at, tokenIn, tokenOut, amountInRaw, amountOutRaw],
    ]),
    [['cetus', POOL, USDC, SUI, 100n, 40n]],
  )
  assert.deepEqual(
    tokenCreations.map(({ metadata: fact }) => [
      fact.address,
      fact.decimals,
      fact.name,
      fact.symbol,
    ]),
    [[mine, 7, 'Mine', 'MINE']],
  )
})

/** A type with all digits of its address. */
const full = (type: string): string => {
  const [owner = '', ...rest] = type.split('::')
  return [address(owner), ...rest].join('::')
}

test('a checkpoint file reads system transactions, failures and effects of the first version', () => {
  const assignments = encodeBcs(
    u8(1),
    list([encodeBcs(digest(1), list([encodeBcs(objectIdFor('a'), 1n, 2n)]))]),
  )
  const system = [
    encodeBcs(u8(9), 5n, 6n, true, 1n, 1_700n, digest(1), assignments, digest(2)),
    encodeBcs(u8(8), 5n, 6n, false, 1_700n, digest(1), u8(0), list([])),
    encodeBcs(u8(6), 5n, 6n, blob(Buffer.of(1)), 7n),
    encodeBcs(u8(5), list([encodeBcs(u8(0), 1n, 2n, 3n, 4n, 5n, 6n, 7n, list([]))])),
  ]
  const location = encodeBcs(objectIdFor('m'), 'pool', u16(1), u16(2), true, 'swap')
  const failures = [
    encodeBcs(u8(1), u8(12), location, 5n, true, 1n),
    encodeBcs(u8(1), u8(11), true, location, false),
    encodeBcs(u8(1), u8(19), u16(1), u8(5), u16(1), u16(2), false),
    encodeBcs(u8(1), u8(33), list([encodeBcs(objectIdFor('a'))]), false),
  ]
  const effectsV1 = encodeBcs(
    ...[u8(0), u8(0), 5n, ...GAS, list([encodeBcs(objectIdFor('a'), 1n)]), list([]), digest(1)],
    ...[list([encodeBcs(objectIdFor('new'), 1n, digest(1), owned(ADDRESS_1))]), list([]), list([])],
    ...[list([encodeBcs(objectIdFor('old'), 1n, digest(1))]), list([]), list([])],
    ...[objectIdFor('gas'), 1n, digest(1), owned(ADDRESS_1), true, digest(1), list([digest(2)])],
  )
  const gas = {
    before: [coinObject('one', 5n, ADDRESS_1)],
    after: [coinObject('one', 4n, ADDRESS_1)],
  }
  const block = blockOf(
    buildCheckpoint([
      ...system.map((kind) => ({ data: transactionData(kind), effects: effectsV2(u8(0), []) })),
      ...failures.map((status) => ({
        data: transactionData(program([], [])),
        effects: effectsV2(status, []),
        ...gas,
      })),
      { data: transactionData(program([], [])), effects: effectsV1 },
    ]),
  )
  assert.deepEqual(
    block.transactions.map(({ success, feeRaw, objects, deltas }) => [
      ...[success, feeRaw, objects.length, deltas.length],
    ]),
    [
      ...system.map(() => [true, 1_000n, 0, 0]),
      ...failures.map(() => [false, 1_000n, 0, 1]),
      [true, 1_000n, 1, 0],
    ],
  )
})

test('transactions that are not in the checkpoint contents are rejected', () => {
  const executed = { data: transactionData(program([], [])), effects: effectsV2(u8(0), []) }
  const bytes = buildCheckpoint([executed])
  blockOf(bytes)
  const bent = Buffer.from(bytes)
  bent.writeUInt8(1, bent.lastIndexOf(executed.effects) + 3)
  assert.throws(
    () => parseChkFile('sui', bent),
    (error) => error instanceof InvalidInput && error.reason === 'wrong-contents',
  )
})
