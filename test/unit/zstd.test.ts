import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { decompressZstd } from '../../ingestors/move/checkpoint/zstd.ts'
import { blockHeader, buildRawFrame, FRAME_HEADER } from '../support/builders/zstd-frame.ts'

const MOST = 1024 * 1024

const refuses = (bytes: Uint8Array, reason: string, most = MOST): Promise<void> =>
  assert.rejects(
    decompressZstd(bytes, most),
    (error) => error instanceof InvalidInput && error.reason === reason,
    reason,
  )

test('Zstandard: a frame of the zstd tool with literals and sequences is decompressed', async () => {
  const said =
    'a checkpoint, a checkpoint after it, and one more checkpoint after that; a swap and a swap\n'
  const counted = Array.from({ length: 120 }, (_, place) => `${place + 1}\n`).join('')
  const packed = Buffer.from(PACKED, 'base64')
  const text = said.repeat(6) + counted
  assert.equal(Buffer.from(await decompressZstd(packed, text.length)).toString(), text)
  await refuses(packed, 'too-big', text.length - 1)
  for (let end = 0; end < packed.length; end += 1)
    await refuses(packed.subarray(0, end), 'truncated-file')
  await refuses(Buffer.concat([packed, Buffer.of(0)]), 'trailing-bytes')
})

/** Packed with level 3 from a stream, so without a size, as the store's writer does. */
const PACKED =
  'KLUv/QBYBQgAZpo6GmBL0hwAVxWRXLdxAABgpF5aWrLycIIipsAJRAAtAC0AM3eWefTs2K9br059erv0cY7fdk3PnQHx4FAgioAEwiBB0LCQUBAoLBQDCogCIHFQNBAkChBFAZBQOFhgQBAgMBAoEAGjfbbZZZM9dm2xR5011ldbXTXVU7eWetBJI3200UUTPXRpocecM84321wzzQHjGXcs45FnjvnllldO+eTNJR944ogfbnjhhA9eXPBx54333XbXTffcveUedlrL9NGe7dh+7dZe7dQ+7W2X9iE9paP0k27SSzpJH+mVLtLHOMc4vrGNa0wBBgC4XqgABX4uE5y60qK8JripBA=='

test('Zstandard: raw blocks, repeated-byte blocks, sizes and checksums are read', async () => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, place) => place % 251))
  assert.deepEqual(Buffer.from(await decompressZstd(buildRawFrame(bytes), MOST)), bytes)
  assert.equal((await decompressZstd(buildRawFrame(Buffer.of()), MOST)).length, 0)
  const repeated = Buffer.concat([FRAME_HEADER, blockHeader(1, 1_000, true), Buffer.of(7)])
  assert.deepEqual(Buffer.from(await decompressZstd(repeated, MOST)), Buffer.alloc(1_000, 7))
  const sized = (flags: number, size: Buffer, ...rest: readonly Buffer[]): Buffer =>
    Buffer.concat([
      MAGIC,
      Buffer.of(flags),
      size,
      blockHeader(0, 4, true),
      Buffer.from('four'),
      ...rest,
    ])
  for (const [flags, size] of [
    [0x20, Buffer.of(4)],
    [0xa0, Buffer.of(4, 0, 0, 0)],
    [0xe0, Buffer.of(4, 0, 0, 0, 0, 0, 0, 0)],
    [0x80, Buffer.of(0x58, 4, 0, 0, 0)],
    [0x23, Buffer.of(0, 0, 0, 0, 4)],
  ] as const) {
    assert.equal(Buffer.from(await decompressZstd(sized(flags, size), MOST)).toString(), 'four')
  }
  const checksum = Buffer.from('6951e44c', 'hex')
  assert.equal((await decompressZstd(sized(0x24, Buffer.of(4), checksum), MOST)).length, 4)
  await refuses(sized(0x24, Buffer.of(4), Buffer.alloc(4)), 'not-zstd')
  await refuses(sized(0x24, Buffer.of(4), Buffer.alloc(3)), 'truncated-file')
  await refuses(sized(0xa0, Buffer.of(5, 0, 0, 0)), 'not-zstd')
})

const MAGIC = FRAME_HEADER.subarray(0, 4)

test('a frame that requires too much memory is rejected before it is allocated', async () => {
  const bombs = Array.from({ length: 9 }, (_, place) =>
    Buffer.concat([blockHeader(1, 128 * 1024, place === 8), Buffer.of(0)]),
  )
  await refuses(Buffer.concat([FRAME_HEADER, ...bombs]), 'too-big')
  const last = Buffer.concat([blockHeader(1, 1, true), Buffer.of(0)])
  const head = (...bytes: readonly number[]): Buffer =>
    Buffer.concat([MAGIC, Buffer.from(bytes), last])
  await refuses(head(0, 0xf8), 'too-big')
  await refuses(head(0x80, 0xf8, 1, 0, 0, 0), 'too-big')
  await refuses(head(0xa0, 255, 255, 255, 255), 'too-big')
  await refuses(head(0xe0, 1, 0, 0, 0, 0, 0, 0, 1), 'too-big')
})

test('Zstandard: a forged block is refused or stays within the size limit, in bounded time', async () => {
  const [bits, most] = [Buffer.from('00ffffff7f54000000000000', 'hex'), 4 * 1024 * 1024]
  const packed = Buffer.from(PACKED, 'base64')
  const forged = [Buffer.concat([FRAME_HEADER, blockHeader(2, bits.length, true), bits])]
  for (let at = FRAME_HEADER.length + 3; at < packed.length; at += 1) {
    for (const flip of [0x01, 0x80, 0xff]) {
      const bytes = Buffer.from(packed)
      bytes[at] = (bytes[at] ?? 0) ^ flip
      forged.push(bytes)
    }
  }
  let refused = 0
  for (const bytes of forged) {
    const outcome = await decompressZstd(bytes, most).catch((error: unknown) => error)
    if (outcome instanceof Uint8Array) assert.ok(outcome.length <= 128 * 1024)
    else assert.ok(outcome instanceof InvalidInput, String(outcome))
    refused += outcome instanceof InvalidInput ? 1 : 0
  }
  assert.ok(refused > forged.length / 2, `${refused} of ${forged.length}`)
})

test('Zstandard: data that is not a frame is refused', async () => {
  const last = Buffer.concat([blockHeader(1, 1, true), Buffer.of(0)])
  await refuses(Buffer.from('{"checkpoint":{}}'), 'not-zstd')
  await refuses(
    Buffer.concat([Buffer.of(0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0), FRAME_HEADER, last]),
    'not-zstd',
  )
  await refuses(Buffer.concat([MAGIC, Buffer.of(8, 0x58), last]), 'not-zstd')
  await refuses(Buffer.concat([MAGIC, Buffer.of(1, 0x58, 3), last]), 'not-zstd')
  await refuses(Buffer.concat([FRAME_HEADER, blockHeader(3, 0, true)]), 'not-zstd')
  await refuses(
    Buffer.concat([FRAME_HEADER, blockHeader(1, 128 * 1024 + 1, true), Buffer.of(0)]),
    'not-zstd',
  )
  await refuses(
    Buffer.concat([FRAME_HEADER, blockHeader(2, 4, true), Buffer.of(3, 0, 0, 0)]),
    'not-zstd',
  )
})
