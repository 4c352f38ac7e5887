import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { InvalidInput } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { isBinpbFile, parseBinpbFile } from '../../ingestors/move/checkpoint/binpb-file.ts'
import { parseChkFile } from '../../ingestors/move/checkpoint/chk-file.ts'
import { recordedSource } from '../../ingestors/recorded/replay.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { MoveTransaction } from '../../schemas/events.ts'
import {
  encodeBcs,
  objectIdFor,
  protocolPackage,
  SUI,
  USDC,
  u8,
} from '../support/builders/move-block.ts'
import {
  ADDRESS_1,
  ADDRESS_2,
  blob,
  buildCheckpoint,
  coinObject,
  digest,
  type ExecutedTransaction,
  effectsV2,
  GAS,
  list,
  owned,
  program,
  published,
  struct,
  transactionData,
  written,
} from '../support/builders/sui-checkpoint-bcs.ts'
import { field, toProtobufCheckpoint } from '../support/builders/sui-checkpoint-protobuf.ts'
import { buildRawFrame } from '../support/builders/zstd-frame.ts'
import { suiRecordingPath } from '../support/recordings/sui.ts'

const RECORDED = readFileSync(suiRecordingPath('1137.chk'))
const read = (message: Uint8Array) => parseBinpbFile('sui', buildRawFrame(message))

const refuses = (message: Uint8Array, reason: string): Promise<void> =>
  assert.rejects(
    read(message),
    (error) => error instanceof InvalidInput && error.reason === reason,
    reason,
  )

/** The message of a checkpoint by hand; the older file reads the same. */
const messageOf = async (executed: readonly ExecutedTransaction[]): Promise<Buffer> => {
  const file = buildCheckpoint(executed)
  const message = toProtobufCheckpoint(file)
  assert.deepEqual(await read(message), parseChkFile('sui', file))
  return message
}

const transactionsOf = async (message: Uint8Array): Promise<readonly MoveTransaction[]> => {
  const { block } = await read(message)
  assert.ok(block.vm === 'move')
  return block.transactions
}

test('a recorded checkpoint in either form is one block', async () => {
  const recorded = parseChkFile('sui', RECORDED)
  assert.equal(recorded.block.height, 1137)
  assert.deepEqual(await read(toProtobufCheckpoint(RECORDED)), recorded)
})

test('`decode` and `replay` read a .binpb.zst file by its name', async () => {
  assert.ok(isBinpbFile('a/5.binpb.zst'))
  assert.ok(!isBinpbFile('5.chk') && !isBinpbFile('5.json.zst'))
  const folder = mkdtempSync(join(tmpdir(), 'blob-'))
  try {
    const file = join(folder, '1137.binpb.zst')
    writeFileSync(file, buildRawFrame(toProtobufCheckpoint(RECORDED)))
    const lines: string[] = []
    const write = (line: string) => lines.push(line)
    assert.equal(await decodeFiles({ chain: 'sui', files: [file], write }), 0)
    assert.deepEqual(JSON.parse(lines[0] ?? '').trades, [])
    const source = await recordedSource({
      chain: CHAINS.sui,
      files: [file],
      log: makeSilentLogger(),
    })
    const heights: number[] = []
    for await (const op of source.operations(null, new AbortController().signal)) {
      if (op.op === 'apply') heights.push(op.block.height)
    }
    assert.deepEqual(heights, [1137])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const CALL = transactionData(program([], []))

/** A coin of Bert's that is new. */
const made = (object: string): Buffer =>
  encodeBcs(object, u8(0), u8(1), digest(2), owned(ADDRESS_2), u8(1))

/** A coin of Bert's that went away. */
const gone = (object: string, version: bigint): Buffer =>
  encodeBcs(object, u8(1), version, digest(2), owned(ADDRESS_2), u8(0), u8(2))

/** Anna's coin pays Bert twice; the checkpoint holds three versions of it. */
const PAID: readonly ExecutedTransaction[] = [
  {
    data: CALL,
    effects: effectsV2(u8(0), [
      written(objectIdFor('one'), owned(ADDRESS_1)),
      made(objectIdFor('two')),
    ]),
    events: [
      encodeBcs(
        ...[
          objectIdFor('router'),
          'router',
          ADDRESS_1,
          struct(`${protocolPackage('cetus')}::pool::Other`),
        ],
        blob(Buffer.of(1)),
      ),
    ],
    before: [coinObject('one', 100n, ADDRESS_1, 3n)],
    after: [coinObject('one', 60n, ADDRESS_1), coinObject('two', 40n, ADDRESS_2)],
  },
  {
    data: CALL,
    effects: effectsV2(
      u8(0),
      [
        written(objectIdFor('one'), owned(ADDRESS_1), 44n),
        gone(objectIdFor('two'), 44n),
        published(objectIdFor('package')),
        encodeBcs(
          ...[
            objectIdFor('balance'),
            u8(0),
            u8(3),
            ADDRESS_2,
            u8(7),
            struct('0x2::balance::Balance', [SUI]),
          ],
          ...[u8(0), u8(0), 33n, u8(0)],
        ),
      ],
      45n,
    ),
    before: [coinObject('one', 60n, ADDRESS_1), coinObject('two', 40n, ADDRESS_2)],
    after: [
      coinObject('one', 55n, ADDRESS_1, 45n),
      encodeBcs(
        u8(1),
        objectIdFor('package'),
        1n,
        list([]),
        list([]),
        list([]),
        u8(3),
        digest(1),
        0n,
      ),
    ],
  },
]

test('objects before and after a transaction are those of the versions that its effects name', async () => {
  const [first, second] = await transactionsOf(await messageOf(PAID))
  assert.deepEqual(first?.deltas, [
    { owner: ADDRESS_1, coin: USDC, deltaRaw: -40n },
    { owner: ADDRESS_2, coin: USDC, deltaRaw: 40n },
  ])
  assert.equal(first?.events.length, 1)
  assert.deepEqual(
    first?.objects.map(({ change }) => change),
    ['changed', 'created'],
  )
  assert.deepEqual(second?.deltas, [
    { owner: ADDRESS_1, coin: USDC, deltaRaw: -5n },
    { owner: ADDRESS_2, coin: USDC, deltaRaw: -40n },
    { owner: ADDRESS_2, coin: SUI, deltaRaw: 33n },
  ])
  assert.deepEqual(
    second?.objects.map(({ change }) => change),
    ['changed', 'published'],
  )
})

test('effects of the first version name what they read in a list of its own', async () => {
  const effects = encodeBcs(
    ...[u8(0), u8(0), 5n, ...GAS, list([encodeBcs(objectIdFor('one'), 3n)]), list([]), digest(1)],
    ...[list([]), list([encodeBcs(objectIdFor('one'), 9n, digest(1), owned(ADDRESS_1))]), list([])],
    ...[list([]), list([]), list([])],
    ...[objectIdFor('one'), 9n, digest(1), owned(ADDRESS_1), false, list([])],
  )
  const states = {
    before: [coinObject('one', 7n, ADDRESS_1, 3n)],
    after: [coinObject('one', 4n, ADDRESS_1, 9n)],
  }
  const [transaction] = await transactionsOf(await messageOf([{ data: CALL, effects, ...states }]))
  assert.deepEqual(transaction?.deltas, [{ owner: ADDRESS_1, coin: USDC, deltaRaw: -3n }])
})

test('a checkpoint whose contents do not match its digests is rejected', async () => {
  const message = await messageOf(PAID)
  const [coinNow] = PAID[0]?.after ?? []
  assert.ok(coinNow)
  const bent = (bytes: Uint8Array, at: number): Buffer => {
    const copy = Buffer.from(message)
    const place = copy.indexOf(bytes) + at
    copy.writeUInt8(copy.readUInt8(place) ^ 1, place)
    return copy
  }
  await refuses(bent(PAID[0]?.effects ?? CALL, 3), 'wrong-contents')
  await refuses(bent(CALL, CALL.length - 1), 'wrong-contents')
  await refuses(bent(coinNow, coinNow.indexOf(encodeBcs(44n))), 'missing-object')
  await refuses(Buffer.concat([message, field(6)]), 'wrong-contents')
  await refuses(Buffer.concat([message, field(7, field(1))]), 'not-an-object')
  await refuses(Buffer.concat([message, field(7, field(1, field(1)))]), 'no-bytes')
  await refuses(
    Buffer.concat([message, field(7, field(1, field(1, field(2, coinNow, u8(0)))))]),
    'trailing-bytes',
  )
})

test('a .binpb file with malformed Protobuf or too many fields is rejected', async () => {
  await refuses(Buffer.of(), 'not-an-object')
  await refuses(Buffer.of(0x32), 'bad-protobuf')
  await refuses(Buffer.of(0x32, 5, 0), 'bad-protobuf')
  await refuses(Buffer.of(0x33, 0x34), 'bad-protobuf')
  await refuses(Buffer.of(0x32, 2, 0x12, 7), 'bad-protobuf')
  await refuses(Buffer.alloc(2 * 1_000_001, Buffer.of(0x32, 0)), 'too-big')
  await refuses(field(7, Buffer.alloc(2 * 1_000_001, Buffer.of(0x0a, 0))), 'too-big')
  await assert.rejects(parseBinpbFile('sui', RECORDED), InvalidInput)
})

test('a .binpb file of any bytes is read or rejected', async () => {
  const recorded = toProtobufCheckpoint(RECORDED)
  for (const message of [await messageOf(PAID), recorded]) {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(message.length - 1),
        fc.nat(255),
        fc.boolean(),
        async (at, byte, isCut) => {
          const bent = Buffer.from(isCut ? message.subarray(0, at) : message)
          if (!isCut) bent[at] = byte
          try {
            await read(bent)
          } catch (error) {
            assert.ok(error instanceof InvalidInput, String(error))
          }
        },
      ),
      { numRuns: message === recorded ? 60 : 300, seed: 7 },
    )
  }
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), (random) =>
      assert.rejects(read(random), InvalidInput),
    ),
    { numRuns: 200, seed: 7 },
  )
})
