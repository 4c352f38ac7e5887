import { secp256k1 } from '@noble/curves/secp256k1'
import { type Hex, recoverMessageAddress } from 'viem'
import { base58Decode } from '../../core/base58.ts'
import { isEd25519Signature } from '../../core/ed25519.ts'
import type { WalletKind } from './siwx-message.ts'

/** A message, who should have signed it, and the signature as the client wrote it. */
export interface SignedMessage {
  readonly kind: WalletKind
  readonly address: string
  readonly message: string
  readonly signature: string
}

/** Longest text of a signature: 65 bytes in hex with its prefix. */
export const MAX_SIGNATURE_LENGTH = 132

const EVM_SIGNATURE = /^0x[0-9a-fA-F]{130}$/
/** Places of `s` and `v` in the hex of a signature `r || s || v`. */
const [S_AT, V_AT] = [66, 130]
/** The two values of `v`; its other writing, 0 and 1, is not taken. Source: EIP-191. */
const RECOVERY_BYTES: ReadonlySet<string> = new Set(['1b', '1c'])
/** Above it, `n - s` signs the same message too: of the two only the lower is taken. Source: EIP-2. */
const HALF_ORDER = secp256k1.CURVE.n / 2n
const ED25519_BYTES = 64

/**
 * Whether the account signed the message: EIP-191 `personal_sign` of an EVM account, or Ed25519 (RFC 8032, strict) over the
 * UTF-8 text of a Solana account, written in base 58, hex or base 64. Contract wallets cannot sign here.
 */
export const isSignedBy = async (signed: SignedMessage): Promise<boolean> =>
  signed.kind === 'evm' ? isSignedByEvm(signed) : isSignedBySolana(signed)

/** Whether a signature of an EVM account is written in the one way that is taken: 65 bytes in hex, the lower `s`, `v` 27 or 28. */
export const isCanonicalEvmSignature = (signature: string): boolean =>
  EVM_SIGNATURE.test(signature) &&
  RECOVERY_BYTES.has(signature.slice(V_AT).toLowerCase()) &&
  BigInt(`0x${signature.slice(S_AT, V_AT)}`) <= HALF_ORDER

const isSignedByEvm = async ({ address, message, signature }: SignedMessage): Promise<boolean> => {
  if (!isCanonicalEvmSignature(signature)) return false
  // No key of the curve fits: what a library throws here says no more than that.
  const signer = await recoverMessageAddress({ message, signature: signature as Hex }).catch(
    () => '',
  )
  return signer.toLowerCase() === address
}

const isSignedBySolana = ({ address, message, signature }: SignedMessage): boolean => {
  const key = base58Decode(address)
  if (key === undefined || signature.length > MAX_SIGNATURE_LENGTH) return false
  const bytes = Buffer.from(message)
  return signatureReadings(signature).some((reading) => isEd25519Signature(reading, bytes, key))
}

/** What 64 bytes a text may stand for. */
const signatureReadings = (text: string): readonly Uint8Array[] => {
  const hex = text.replace(/^0x/, '')
  const readings: (Uint8Array | undefined)[] = /^[0-9a-fA-F]{128}$/.test(hex)
    ? [Buffer.from(hex, 'hex')]
    : [
        base58Decode(text),
        /^[A-Za-z0-9+/_-]{86}(==)?$/.test(text) ? Buffer.from(text, 'base64') : undefined,
      ]
  return readings.filter((reading) => reading?.length === ED25519_BYTES) as Uint8Array[]
}
