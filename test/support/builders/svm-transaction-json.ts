import { base58Decode, base58Encode } from '../../../core/base58.ts'

/** A message by hand: indexes count in `keys`. */
export interface MessageInput {
  readonly keys: readonly string[]
  readonly instructions: readonly {
    readonly program: number
    readonly accounts: readonly number[]
    readonly data: Uint8Array
  }[]
}

/** An address with this byte 32 times. */
export const addressFromByte = (byte: number): string => base58Encode(new Uint8Array(32).fill(byte))

/** A transaction as `getTransaction` gives it in `json`, that cost its first account 5,000 lamports. */
export const buildRpcTransaction = ({ keys, instructions }: MessageInput) => ({
  version: 'legacy',
  transaction: {
    signatures: [base58Encode(Buffer.alloc(64, 7))],
    message: {
      accountKeys: keys,
      instructions: instructions.map(({ program, accounts, data }) => ({
        programIdIndex: program,
        accounts,
        data: base58Encode(data),
        stackHeight: 1,
      })),
    },
  },
  meta: {
    err: null,
    fee: 5_000,
    innerInstructions: [],
    logMessages: [],
    preBalances: keys.map(() => 9_000),
    postBalances: keys.map((_, index) => (index === 0 ? 4_000 : 9_000)),
    preTokenBalances: [],
    postTokenBalances: [],
    loadedAddresses: { writable: [], readonly: [] },
  },
})

/** The wire bytes of a v1 transaction with one signature. Source: SIMD-0385. */
export const encodeV1Transaction = (
  { keys, instructions }: MessageInput,
  { mask, signature }: { readonly mask: number; readonly signature: Uint8Array },
): Buffer => {
  const bits = [...mask.toString(2)].filter((digit) => digit === '1').length
  const maskBytes = Buffer.alloc(4)
  maskBytes.writeUInt32LE(mask)
  return Buffer.concat([
    Buffer.from([0x81, 1, 0, 1]),
    maskBytes,
    Buffer.alloc(32, 1),
    Buffer.from([instructions.length, keys.length]),
    ...keys.map((key) => base58Decode(key) ?? Buffer.alloc(0)),
    Buffer.alloc(4 * bits, 0xee),
    ...instructions.map(({ program, accounts, data }) =>
      Buffer.from([program, accounts.length, data.length & 0xff, data.length >> 8]),
    ),
    ...instructions.flatMap(({ accounts, data }) => [Buffer.from(accounts), data]),
    signature,
  ])
}
