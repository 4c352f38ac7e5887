/** The clients of the benchmark against Centrifugo: every message of a server is counted once, wherever TCP cuts it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  clientFrame,
  createFrameReader,
  eachLine,
  FRAME_KINDS,
} from '../../bench/versus/streams/frame-reader.ts'
import { stampedHash, stampIn, tokenAddress } from '../../bench/versus/streams/messages.ts'

/** An unmasked frame, as servers send them. Source: RFC 6455 5.2. */
const serverFrame = (text: string): Buffer => {
  const payload = Buffer.from(text)
  const { length } = payload
  const header =
    length < 126
      ? [length]
      : length < 65_536
        ? [126, length >> 8, length & 0xff]
        : [127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 0xff, length & 0xff]
  return Buffer.concat([Buffer.from([FRAME_KINDS.text, ...header]), payload])
}

/** Messages of every length of header. */
const message = fc.oneof(
  fc.string({ minLength: 1, maxLength: 150 }).map((text) => text.replaceAll('\n', ' ')),
  fc.constantFrom(125, 126, 65_535, 65_536, 70_000).map((length) => 'x'.repeat(length)),
)

/** The bytes in chunks of the lengths, and the rest in one. */
const cut = (bytes: Buffer, lengths: readonly number[]): readonly Buffer[] => {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = lengths[chunks.length] ?? bytes.length
    chunks.push(bytes.subarray(at, at + length))
    at += length
  }
  return chunks
}

test('messages come out as they went in, one a frame or several, however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(message, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 30 }),
      (frames, lengths) => {
        const heard: string[] = []
        const read = createFrameReader((kind, bytes, from, to) => {
          assert.equal(kind, FRAME_KINDS.text)
          eachLine(bytes, from, to, (line, start, end) =>
            heard.push(line.toString('utf8', start, end)),
          )
        })
        const bytes = Buffer.concat(frames.map((lines) => serverFrame(lines.join('\n'))))
        for (const chunk of cut(bytes, lengths)) read(chunk)
        assert.deepEqual(heard, frames.flat())
      },
    ),
  )
})

test('a frame of a client is masked, and its payload is what it was', () => {
  for (const length of [0, 2, 125, 126, 1_000]) {
    const payload = Buffer.alloc(length, 'x')
    const frame = clientFrame(FRAME_KINDS.text, payload)
    assert.equal((frame[1] ?? 0) & 0x80, 0x80)
    assert.deepEqual(frame.subarray(-4 - length), Buffer.concat([Buffer.alloc(4), payload]))
    // Without the bit and the mask it is a frame of a server.
    const unmasked = Buffer.concat([frame.subarray(0, -4 - length), payload])
    unmasked[1] = (unmasked[1] ?? 0) & 0x7f
    const heard: number[] = []
    createFrameReader((_, __, from, to) => heard.push(to - from))(unmasked)
    assert.deepEqual(heard, [length])
  }
})

test('the stamp of a message is the time that was put into it; an address is not a stamp', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), fc.nat(20), (ns, before) => {
      const text = `${' '.repeat(before)}{"a":"${tokenAddress(7)}","h":"${stampedHash(ns)}","x":1}`
      const bytes = Buffer.from(`${stampedHash(1)}${text}${stampedHash(2)}`)
      const from = stampedHash(1).length
      assert.equal(stampIn(bytes, from, from + text.length), ns)
    }),
  )
  const plain = Buffer.from(`{"a":"${tokenAddress(7)}"}`)
  assert.equal(stampIn(plain, 0, plain.length), undefined)
})
