import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { Malformed } from '../../core/errors.ts'
import { silentLogger } from '../../core/ops/logger.ts'
import { isBinpbFile, parseBinpbFile } from '../../ingestors/move/checkpoint/binpb-file.ts'
import { parseChkFile } from '../../ingestors/move/checkpoint/chk-file.ts'
import { recordedSource } from '../../ingestors/recorded/replay.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { MoveTransaction } from '../../schemas/events.ts'
import { blobOf, field } from '../support/checkpoint-blob.ts'
import {
  ANNA,
  BERT,
  blob,
  coin,
  dataOf,
  digest,
  type Executed,
  effectsV2,
  GAS,
  handCheckpoint,
  list,
  owned,
  program,
  published,
  struct,
  written,
} from '../support/hand-checkpoint.ts'
import { bcs, id, packageOf, SUI, USDC, u8 } from '../support/hand-move.ts'
import { suiPath } from '../support/sui-recordings.ts'
import { rawFrame } from '../support/zstd-frame.ts'

const RECORDED = readFileSync(suiPath('1137.chk'))
const read = (message: Uint8Array) => parseBinpbFile('sui', rawFrame(message))

const refuses = (message: Uint8Array, reason: string): Promise<void> =>
  assert.rejects(
    read(message),
    (error) => error instanceof Malformed && error.reason === reason,
    reason,
  )

/** The message of a checkpoint by hand; the older file reads the same. */
const messageOf = async (executed: readonly Executed[]): Promise<Buffer> => {
  const file = handCheckpoint(executed)
  const message = blobOf(file)
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
  assert.deepEqual(await read(blobOf(RECORDED)), recorded)
})

test('`decode` and `replay` take it by its name', async () => {
  assert.ok(isBinpbFile('a/5.binpb.zst'))
  assert.ok(!isBinpbFile('5.chk') && !isBinpbFile('5.json.zst'))
  const folder = mkdtempSync(join(tmpdir(), 'blob-'))
  try {
    const file = join(folder, '1137.binpb.zst')
    writeFileSync(file, rawFrame(blobOf(RECORDED)))
    const lines: string[] = []
    const write = (line: string) => lines.push(line)
    assert.equal(await decodeFiles({ chain: 'sui', files: [file], write }), 0)
    assert.deepEqual(JSON.parse(lines[0] ?? '').trades, [])
    const source = await recordedSource({
      chain: CHAINS.sui,
      files: [file],
      log: silentLogger(),
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

const CALL = dataOf(program([], []))

/** A coin of Bert's that is new. */
const made = (object: string): Buffer => bcs(object, u8(0), u8(1), digest(2), owned(BERT), u8(1))

/** A coin of Bert's that went away. */
const gone = (object: string, version: bigint): Buffer =>
  bcs(object, u8(1), version, digest(2), owned(BERT), u8(0), u8(2))

/** Anna's coin pays Bert twice; the checkpoint holds three versions of it. */
const PAID: readonly Executed[] = [
  {
    data: CALL,
    effects: effectsV2(u8(0), [written(id('one'), owned(ANNA)), made(id('two'))]),
    events: [
      bcs(
        ...[id('router'), 'router', ANNA, struct(`${packageOf('cetus')}::pool::Other`)],
        blob(Buffer.of(1)),
      ),
    ],
    before: [coin('one', 100n, ANNA, 3n)],
    after: [coin('one', 60n, ANNA), coin('two', 40n, BERT)],
  },
  {
    data: CALL,
    effects: effectsV2(
      u8(0),
      [
        written(id('one'), owned(ANNA), 44n),
        gone(id('two'), 44n),
        published(id('package')),
        bcs(
          ...[id('balance'), u8(0), u8(3), BERT, u8(7), struct('0x2::balance::Balance', [SUI])],
          ...[u8(0), u8(0), 33n, u8(0)],
        ),
      ],
      45n,
    ),
    before: [coin('one', 60n, ANNA), coin('two', 40n, BERT)],
    after: [
      coin('one', 55n, ANNA, 45n),
      bcs(u8(1), id('package'), 1n, list([]), list([]), list([]), u8(3), digest(1), 0n),
    ],
  },
]

test('objects before and after a transaction are those of the versions that its effects name', async () => {
  const [first, second] = await transactionsOf(await messageOf(PAID))
  assert.deepEqual(first?.deltas, [
    { owner: ANNA, coin: USDC, deltaRaw: -40n },
    { owner: BERT, coin: USDC, deltaRaw: 40n },
  ])
  assert.equal(first?.events.length, 1)
  assert.deepEqual(
    first?.objects.map(({ change }) => change),
    ['changed', 'created'],
  )
  assert.deepEqual(second?.deltas, [
    { owner: ANNA, coin: USDC, deltaRaw: -5n },
    { owner: BERT, coin: USDC, deltaRaw: -40n },
    { owner: BERT, coin: SUI, deltaRaw: 33n },
  ])
  assert.deepEqual(
    second?.objects.map(({ change }) => change),
    ['changed', 'published'],
  )
})

test('effects of the first version name what they read in a list of its own', async () => {
  const effects = bcs(
    ...[u8(0), u8(0), 5n, ...GAS, list([bcs(id('one'), 3n)]), list([]), digest(1)],
    ...[list([]), list([bcs(id('one'), 9n, digest(1), owned(ANNA))]), list([])],
    ...[list([]), list([]), list([])],
    ...[id('one'), 9n, digest(1), owned(ANNA), false, list([])],
  )
  const states = { before: [coin('one', 7n, ANNA, 3n)], after: [coin('one', 4n, ANNA, 9n)] }
  const [transaction] = await transactionsOf(await messageOf([{ data: CALL, effects, ...states }]))
  assert.deepEqual(transaction?.deltas, [{ owner: ANNA, coin: USDC, deltaRaw: -3n }])
})

test('a checkpoint that is not what it names is refused', async () => {
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
  await refuses(bent(coinNow, coinNow.indexOf(bcs(44n))), 'missing-object')
  await refuses(Buffer.concat([message, field(6)]), 'wrong-contents')
  await refuses(Buffer.concat([message, field(7, field(1))]), 'not-an-object')
  await refuses(Buffer.concat([message, field(7, field(1, field(1)))]), 'no-bytes')
  await refuses(
    Buffer.concat([message, field(7, field(1, field(1, field(2, coinNow, u8(0)))))]),
    'trailing-bytes',
  )
})

test('what is not a message, or one of too many parts', async () => {
  await refuses(Buffer.of(), 'not-an-object')
  await refuses(Buffer.of(0x32), 'bad-protobuf')
  await refuses(Buffer.of(0x32, 5, 0), 'bad-protobuf')
  await refuses(Buffer.of(0x33, 0x34), 'bad-protobuf')
  await refuses(Buffer.of(0x32, 2, 0x12, 7), 'bad-protobuf')
  await refuses(Buffer.alloc(2 * 1_000_001, Buffer.of(0x32, 0)), 'too-big')
  await refuses(field(7, Buffer.alloc(2 * 1_000_001, Buffer.of(0x0a, 0))), 'too-big')
  await assert.rejects(parseBinpbFile('sui', RECORDED), Malformed)
})

test('whatever the bytes are, the file is read or refused', async () => {
  const recorded = blobOf(RECORDED)
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
            assert.ok(error instanceof Malformed, String(error))
          }
        },
      ),
      { numRuns: message === recorded ? 60 : 300, seed: 7 },
    )
  }
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), (random) =>
      assert.rejects(read(random), Malformed),
    ),
    { numRuns: 200, seed: 7 },
  )
})
