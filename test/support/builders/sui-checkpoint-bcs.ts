import { blake2b } from '@noble/hashes/blake2'
import { encodeBcs, objectIdFor, USDC, u8 } from './move-block.ts'

export const ADDRESS_1 = objectIdFor('anna')
export const ADDRESS_2 = objectIdFor('bert')

/** A checkpoint by hand, with the hashes that it must be called by. */
export const buildCheckpoint = (executed: readonly ExecutedTransaction[]): Buffer => {
  const contents = Buffer.concat([
    u8(0),
    list(
      executed.map(({ data, effects }) =>
        Buffer.concat([hashed('TransactionData', data), hashed('TransactionEffects', effects)]),
      ),
    ),
    list(executed.map(() => list([encodeBcs(blob(Buffer.alloc(97, 1)))]))),
  ])
  const summary = encodeBcs(
    ...[0n, 7n, 99n, hashed('CheckpointContents', contents), true, digest(3), 1n, 2n, 3n, 4n],
    ...[1_700_000_000_123n, u8(0), false, blob(Buffer.of(0, 0))],
  )
  const certificate = encodeBcs(0n, Buffer.alloc(48, 2), blob(Buffer.of(1)))
  const transactions = executed.map(({ data, effects, events, before = [], after = [] }) =>
    Buffer.concat([
      encodeBcs(u8(1), Buffer.of(0, 0, 0), data, list([blob(Buffer.alloc(97, 1))])),
      effects,
      events === undefined ? u8(0) : encodeBcs(true, list(events)),
      list(before),
      list(after),
    ]),
  )
  return Buffer.concat([summary, certificate, contents, list(transactions)])
}

/** A transaction with what it did, each part in BCS. */
export interface ExecutedTransaction {
  readonly data: Buffer
  readonly effects: Buffer
  readonly events?: readonly Buffer[]
  readonly before?: readonly Buffer[]
  readonly after?: readonly Buffer[]
}

const size = (count: number): Buffer =>
  count < 128 ? u8(count) : Buffer.from([(count & 127) | 128, count >> 7])
export const list = (items: readonly Buffer[]): Buffer =>
  Buffer.concat([size(items.length), ...items])
export const blob = (bytes: Buffer): Buffer => Buffer.concat([size(bytes.length), bytes])
export const digest = (byte: number): Buffer => blob(Buffer.alloc(32, byte))
const hashed = (type: string, bytes: Buffer): Buffer =>
  blob(Buffer.from(blake2b(Buffer.concat([Buffer.from(`${type}::`), bytes]), { dkLen: 32 })))
export const u16 = (value: number): Buffer => Buffer.from([value & 255, value >> 8])
export const address = (short: string): string => `0x${short.slice(2).padStart(64, '0')}`

/** A type without arguments of its own, as a struct and as the tag of one. */
export const struct = (type: string, inside: readonly string[] = []): Buffer => {
  const [owner = '', module = '', name = ''] = type.split('::')
  return encodeBcs(address(owner), module, name, list(inside.map(tag)))
}
export const tag = (type: string): Buffer => encodeBcs(u8(7), struct(type))

/** Computation, storage, rebate and what of it is kept. */
export const GAS = [750n, 300n, 50n, 5n]
export const effectsV2 = (status: Buffer, changes: readonly Buffer[], version = 44n): Buffer =>
  encodeBcs(
    ...[u8(1), status, 5n, ...GAS, digest(1), true, 0, false, list([digest(9)]), version],
    ...[list(changes), list([encodeBcs(objectIdFor('clock'), u8(0), 1n, digest(1))]), false],
  )
export const shared = encodeBcs(u8(2), 1n)
export const owned = (owner: string): Buffer => encodeBcs(u8(0), owner)
export const written = (object: string, owner: Buffer, before = 3n): Buffer =>
  encodeBcs(object, u8(1), before, digest(1), owner, u8(1), digest(2), owner, u8(0))
export const created = (object: string, owner: Buffer): Buffer =>
  encodeBcs(object, u8(0), u8(1), digest(2), owner, u8(1))
export const moveObject = (type: Buffer, contents: Buffer, owner: Buffer, version = 44n): Buffer =>
  encodeBcs(u8(0), type, true, version, blob(contents), owner, digest(1), 0n)
export const coinObject = (name: string, amount: bigint, owner: string, version = 44n): Buffer =>
  moveObject(
    encodeBcs(u8(3), tag(USDC)),
    encodeBcs(objectIdFor(name), amount),
    owned(owner),
    version,
  )

export const transactionData = (kind: Buffer): Buffer =>
  encodeBcs(
    ...[
      u8(0),
      kind,
      ADDRESS_1,
      list([encodeBcs(objectIdFor('gas'), 3n, digest(1))]),
      ADDRESS_2,
      1_000n,
      9_000n,
    ],
    ...[u8(2), true, 1n, false, false, false, digest(8), 77],
  )

export const program = (inputs: readonly Buffer[], commands: readonly Buffer[]): Buffer =>
  encodeBcs(u8(0), list(inputs), list(commands))

/** A package that was published: written with a version of its own. */
export const published = (object: string): Buffer =>
  encodeBcs(object, u8(0), u8(2), 1n, digest(2), u8(1))
