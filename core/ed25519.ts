import { ed25519 } from '@noble/curves/ed25519'

/** Whether a signature of 64 bytes is that of a public key of 32 bytes, by RFC 8032; false for what is neither. */
export const isEd25519Signature = (
  signature: Uint8Array,
  message: Uint8Array,
  key: Uint8Array,
): boolean => {
  try {
    return ed25519.verify(signature, message, key, { zip215: false })
  } catch {
    // An encoding that is not a point of the curve.
    return false
  }
}

/** Public key of a private one of 32 bytes, by RFC 8032. */
export const ed25519PublicKey = (seed: Uint8Array): Uint8Array => ed25519.getPublicKey(seed)
