import { base58Decode, base58Encode } from '../../../core/base58.ts'
import { PROGRAM_IDS } from '../../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../../ingestors/vm/decode-block.ts'
import type {
  DecodedBlock,
  SvmBlock,
  SvmInstruction,
  SvmTokenBalance,
  SvmTransaction,
} from '../../../schemas/events.ts'
import { solanaDecodeContext } from '../recordings/solana.ts'

/** A synthetic address. */
export const addressFor = (name: string): string => base58Encode(Buffer.alloc(32, name))

/** Bytes of an address. */
export const addressBytes = (address: string): Buffer => Buffer.from(base58Decode(address) ?? [])

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
export const borshText = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([u32le(bytes.length), bytes])
}

/** Borsh fields: numbers are eight bytes, texts addresses, booleans a byte; buffers stand as they are. */
export const borshFields = (...values: readonly (bigint | string | boolean | Buffer)[]): Buffer =>
  Buffer.concat(
    values.map((value) =>
      Buffer.isBuffer(value)
        ? value
        : typeof value === 'bigint'
          ? u64le(value)
          : typeof value === 'boolean'
            ? Buffer.from([value ? 1 : 0])
            : addressBytes(value),
    ),
  )

/** A call with what it called. */
export interface InstructionInput {
  readonly program: string
  readonly accounts?: readonly string[]
  readonly data: Uint8Array | string
  readonly logs?: readonly string[]
  readonly calls?: readonly InstructionInput[]
}

/** An event that a program tells by calling itself; `tag` is its own first eight bytes in hex. */
export const eventCpi = (program: string, tag: string, data: Buffer): InstructionInput => ({
  program,
  data: Buffer.concat([Buffer.from(`e445a52e51cb9a1d${tag}`, 'hex'), data]),
})

/** The log line of an event; `tag` is its first eight bytes in hex. */
export const eventLogLine = (tag: string, data: Buffer): string =>
  `Program data: ${Buffer.concat([Buffer.from(tag, 'hex'), data]).toString('base64')}`

/** A list of accounts: those at these places, synthetic ones between them. */
export const buildAccountList = (
  size: number,
  places: Readonly<Record<number, string>>,
): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? addressFor(`account ${index}`))

/** A plain token transfer. */
export const tokenTransferInstruction = (
  accounts: readonly [from: string, to: string, authority: string],
  amount: bigint,
): InstructionInput => ({
  program: PROGRAM_IDS.token,
  accounts,
  data: Buffer.concat([Buffer.from([3]), u64le(amount)]),
})

const dataBytes = (data: Uint8Array | string): Uint8Array =>
  typeof data === 'string' ? Buffer.from(data, 'hex') : data

/** The calls of a transaction in the order in which they ran. */
export const flattenInstructions = (
  calls: readonly InstructionInput[],
): readonly SvmInstruction[] =>
  calls.flatMap((call, outer) => {
    let inner = 0
    const walk = (item: InstructionInput, depth: number): readonly SvmInstruction[] => {
      const own: SvmInstruction = {
        program: item.program,
        accounts: item.accounts ?? [],
        data: dataBytes(item.data),
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
export const buildTokenBalance = (
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

/** Who pays for synthetic transactions. */
export const PAYER = addressFor('payer')

/** A transaction of these calls. */
export const buildSvmTransaction = (
  calls: readonly InstructionInput[],
  more: Partial<SvmTransaction> = {},
): SvmTransaction => ({
  hash: base58Encode(Buffer.alloc(64, 'signature')),
  index: 0,
  from: PAYER,
  feeRaw: 5_000n,
  success: true,
  version: 0,
  instructions: flattenInstructions(calls),
  tokenBalances: [],
  lamports: [],
  ...more,
})

/** A block of these transactions. */
export const buildSvmBlock = (transactions: readonly SvmTransaction[]): SvmBlock => ({
  vm: 'svm',
  chain: 'sol',
  height: 300_000_000,
  hash: addressFor('block'),
  parentHash: addressFor('parent'),
  timeMs: 1_760_000_000_000,
  parentSlot: 299_999_999,
  blockHeight: 280_000_000,
  txCount: transactions.length,
  rewardsCount: 0,
  transactions,
})

/** Decodes a transaction of these calls alone. */
export const decodeInstructions = (
  calls: readonly InstructionInput[],
  more: Partial<SvmTransaction> = {},
): DecodedBlock =>
  decodeBlock(buildSvmBlock([buildSvmTransaction(calls, more)]), solanaDecodeContext())
