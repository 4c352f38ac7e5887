import { blake2b } from '@noble/hashes/blake2'
import { base58Encode } from '../../../core/base58.ts'
import { InvalidInput } from '../../../core/errors.ts'
import { unreportedHash } from '../../input/unreported-hash.ts'
import type { BcsReader } from './reader.ts'

/** What counts of a checkpoint's summary. */
export interface CheckpointSummary {
  readonly height: number
  /** Digest of the contents. */
  readonly contentsDigest: string
  readonly parentHash: string
  readonly timeMs: number
}

/** What was executed, by digest. */
export interface ExecutionDigests {
  readonly transaction: string
  readonly effects: string
}

/** A value's digest, a hash of its type's name and of it. Source: MystenLabs/sui sui-types crypto.rs, `Signable`. */
export const signableDigest = (type: string, bytes: Uint8Array): string =>
  base58Encode(blake2b(Buffer.concat([Buffer.from(`${type}::`), bytes]), { dkLen: 32 }))

/** Throws `InvalidInput` where a value is not the one that was named: `wrong-contents`. */
export const verifyDigest = (type: string, bytes: Uint8Array, digest: string): void => {
  if (signableDigest(type, bytes) === digest) return
  throw new InvalidInput('wrong-contents', `a ${type} is not the one that the checkpoint names`)
}

/** A `CheckpointSummary`. Source: MystenLabs/sui sui-types messages_checkpoint.rs. Throws as the reader. */
export const readSummary = (read: BcsReader): CheckpointSummary => {
  read.u64() // epoch
  const height = Number(read.u64())
  read.u64() // transactions so far
  const contents = read.digest()
  const parentHash = read.option(read.digest) ?? unreportedHash(0)
  for (let cost = 0; cost < 4; cost += 1) read.u64()
  const timeMs = Number(read.u64())
  const commitments = () => read.list(() => read.variant('commitment', [read.digest, read.digest]))
  commitments()
  read.option(() => {
    read.list(() => read.skip(read.byteVector, read.u64))
    read.u64()
    commitments()
  })
  read.byteVector()
  return { height, contentsDigest: contents, parentHash, timeMs }
}

/** A `CheckpointContents`: what was executed, in order. Source as of the summary. Throws as the reader. */
export const readContents = (read: BcsReader): readonly ExecutionDigests[] =>
  read.variant('contents', [() => readContentsV1(read), () => readContentsV2(read)])

const readContentsV1 = (read: BcsReader): readonly ExecutionDigests[] => {
  const digests = read.list(() => ({ transaction: read.digest(), effects: read.digest() }))
  read.list(() => read.list(read.byteVector))
  return digests
}

/** The same, each with its signatures and the versions of what they stand on. */
const readContentsV2 = (read: BcsReader): readonly ExecutionDigests[] =>
  read.list(() => {
    const digests = { transaction: read.digest(), effects: read.digest() }
    read.list(() => read.skip(read.byteVector, () => read.option(read.u64)))
    return digests
  })
