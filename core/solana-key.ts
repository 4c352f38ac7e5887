import { base58Decode, base58Encode } from './base58.ts'
import { ed25519PublicKey } from './ed25519.ts'

/** Key of an account of Solana. */
export interface SolanaKey {
  /** 32 bytes of the seed, then 32 of the public key. */
  readonly bytes: Uint8Array
  readonly address: string
}

const SEED_BYTES = 32
const KEY_BYTES = 64
/** Longest text: 64 numbers of three digits in a list, with blanks. */
const MAX_LENGTH = 512
const LIST = /^\s*\[(?:\s*\d{1,3}\s*,){63}\s*\d{1,3}\s*\]\s*$/

/** Reads a key as wallets export it (base 58) or as `solana-keygen` writes it (a list of 64 numbers); undefined where it is neither. */
export const readSolanaKey = (text: string): SolanaKey | undefined => {
  if (text.length > MAX_LENGTH) return undefined
  const bytes = LIST.test(text) ? bytesOfList(text) : base58Decode(text.trim())
  if (bytes?.length !== KEY_BYTES) return undefined
  const publicKey = bytes.subarray(SEED_BYTES)
  const isPair = Buffer.from(ed25519PublicKey(bytes.subarray(0, SEED_BYTES))).equals(publicKey)
  return isPair ? { bytes: Uint8Array.from(bytes), address: base58Encode(publicKey) } : undefined
}

/** Whether a text is an address of Solana: 32 bytes in base 58. */
export const isSolanaAddress = (text: string): boolean =>
  text.length <= 44 && base58Decode(text)?.length === SEED_BYTES

const bytesOfList = (text: string): Uint8Array | undefined => {
  const numbers = (text.match(/\d+/g) ?? []).map(Number)
  return numbers.every((number) => number <= 0xff) ? Uint8Array.from(numbers) : undefined
}
