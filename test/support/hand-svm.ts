import { base58Decode, base58Encode } from '../../core/base58.ts'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type {
  Decoded,
  SvmBlock,
  SvmInstruction,
  SvmTokenBalance,
  SvmTransaction,
} from '../../schemas/events.ts'
import { solBooks } from './sol-recordings.ts'

/** A made-up address. */
export const key = (name: string): string => base58Encode(Buffer.alloc(32, name))

/** Bytes of an address. */
export const keyBytes = (address: string): Buffer => Buffer.from(base58Decode(address) ?? [])

/** Eight bytes, little endian. */
export const u64le = (value: bigint | number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)))
  return bytes
}

/** Sixteen bytes, little endian. */
export const u128le = (value: bigint): Buffer =>
  Buffer.concat([u64le(value & 0xffff_ffff_ffff_ffffn), u64le(value >> 64n)])

const u32le = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** A Borsh text. */
export const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([u32le(bytes.length), bytes])
}

/** Borsh fields: numbers are eight bytes, texts addresses, booleans a byte; buffers stand as they are. */
export const fields = (...values: readonly (bigint | string | boolean | Buffer)[]): Buffer =>
  Buffer.concat(
    values.map((value) =>
      Buffer.isBuffer(value)
        ? value
        : typeof value === 'bigint'
          ? u64le(value)
          : typeof value === 'boolean'
            ? Buffer.from([value ? 1 : 0])
            : keyBytes(value),
    ),
  )

/** A call with what it called. */
export interface Call {
  readonly program: string
  readonly accounts?: readonly string[]
  readonly data: Uint8Array | string
  readonly logs?: readonly string[]
  readonly calls?: readonly Call[]
}

/** An event that a program tells by calling itself; `tag` is its own first eight bytes in hex. */
export const selfCall = (program: string, tag: string, data: Buffer): Call => ({
  program,
  data: Buffer.concat([Buffer.from(`e445a52e51cb9a1d${tag}`, 'hex'), data]),
})

/** The log line of an event; `tag` is its first eight bytes in hex. */
export const logEvent = (tag: string, data: Buffer): string =>
  `Program data: ${Buffer.concat([Buffer.from(tag, 'hex'), data]).toString('base64')}`

/** A list of accounts: those at these places, made-up ones between them. */
export const accountList = (
  size: number,
  places: Readonly<Record<number, string>>,
): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? key(`account ${index}`))

/** A plain token transfer. */
export const tokenTransfer = (
  accounts: readonly [from: string, to: string, authority: string],
  amount: bigint,
): Call => ({
  program: PROGRAM_IDS.token,
  accounts,
  data: Buffer.concat([Buffer.from([3]), u64le(amount)]),
})

const dataOf = (data: Uint8Array | string): Uint8Array =>
  typeof data === 'string' ? Buffer.from(data, 'hex') : data

/** The calls of a transaction in the order in which they ran. */
export const flattened = (calls: readonly Call[]): readonly SvmInstruction[] =>
  calls.flatMap((call, outer) => {
    let inner = 0
    const walk = (item: Call, depth: number): readonly SvmInstruction[] => {
      const own: SvmInstruction = {
        program: item.program,
        accounts: item.accounts ?? [],
        data: dataOf(item.data),
        outer,
        inner: depth === 1 ? null : inner++,
        depth,
        logs: item.logs ?? [],
      }
      return [own, ...(item.calls ?? []).flatMap((below) => walk(below, depth + 1))]
    }
    return walk(call, 1)
  })

/** A token account that a transaction knows. */
export const tokenAccount = (
  account: string,
  owner: string,
  mint: string,
  amounts: Partial<Pick<SvmTokenBalance, 'preRaw' | 'postRaw' | 'decimals'>> = {},
): SvmTokenBalance => ({
  account,
  owner,
  mint,
  tokenProgram: PROGRAM_IDS.token,
  decimals: 6,
  preRaw: 1n,
  postRaw: 1n,
  ...amounts,
})

/** Who pays for made-up transactions. */
export const PAYER = key('payer')

/** A transaction of these calls. */
export const handTransaction = (
  calls: readonly Call[],
  more: Partial<SvmTransaction> = {},
): SvmTransaction => ({
  hash: base58Encode(Buffer.alloc(64, 'signature')),
  index: 0,
  from: PAYER,
  feeRaw: 5_000n,
  success: true,
  version: 0,
  instructions: flattened(calls),
  tokenBalances: [],
  lamports: [],
  ...more,
})

/** A block of these transactions. */
export const svmBlock = (transactions: readonly SvmTransaction[]): SvmBlock => ({
  vm: 'svm',
  chain: 'sol',
  height: 300_000_000,
  hash: key('block'),
  parentHash: key('parent'),
  timeMs: 1_760_000_000_000,
  parentSlot: 299_999_999,
  blockHeight: 280_000_000,
  txCount: transactions.length,
  rewardsCount: 0,
  transactions,
})

/** Decodes a transaction of these calls alone. */
export const decodeCalls = (calls: readonly Call[], more: Partial<SvmTransaction> = {}): Decoded =>
  decodeBlock(svmBlock([handTransaction(calls, more)]), solBooks())
