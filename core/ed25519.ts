import { createPublicKey, verify } from 'node:crypto'
import { ED25519_TORSION_SUBGROUP, ed25519 } from '@noble/curves/ed25519'

const [KEY_BYTES, SIGNATURE_BYTES] = [32, 64] as const
/** A public key in DER is these bytes, then the key. Source: RFC 8410, section 4. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
/** 2^255 - 19, the order of the field. Source: RFC 8032, section 5.1. */
const FIELD_ORDER = 2n ** 255n - 19n

/** The coordinate y of an encoded point, in hex with the highest byte first: its highest bit is the sign of x. */
const encodedY = (point: Uint8Array): string => {
  const bytes = Buffer.from(point).reverse()
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f, 0)
  return bytes.toString('hex')
}

const MAX_Y = (FIELD_ORDER - 1n).toString(16)
/** The coordinates y of the eight points whose order divides 8. */
const SMALL_ORDER_Y: ReadonlySet<string> = new Set(
  ED25519_TORSION_SUBGROUP.map((point) => encodedY(Buffer.from(point, 'hex'))),
)

/** Whether an encoding is the shortest one of its coordinate y, and the point is none that is of small order. */
const isUsualPoint = (point: Uint8Array): boolean => {
  const y = encodedY(point)
  return y <= MAX_Y && !SMALL_ORDER_Y.has(y)
}

/**
 * Whether a signature of 64 bytes is that of a public key of 32 bytes; false for what is neither. The rules are RFC 8032 without the
 * cofactor, and as strict as those of Solana: a key or a point of the signature that is of small order is refused, and a scalar or a key
 * that is not reduced. Takes some 0.1 to 0.4 ms of the thread.
 */
export const isEd25519Signature = (
  signature: Uint8Array,
  message: Uint8Array,
  key: Uint8Array,
): boolean => {
  if (signature.length !== SIGNATURE_BYTES || key.length !== KEY_BYTES) return false
  if (!isUsualPoint(key) || !isUsualPoint(signature.subarray(0, KEY_BYTES))) return false
  try {
    const spki = Buffer.concat([SPKI_PREFIX, key])
    return verify(
      null,
      message,
      createPublicKey({ key: spki, format: 'der', type: 'spki' }),
      signature,
    )
  } catch {
    // An encoding that is not a point of the curve.
    return false
  }
}

/** Public key of a private one of 32 bytes, by RFC 8032. */
export const ed25519PublicKey = (seed: Uint8Array): Uint8Array => ed25519.getPublicKey(seed)
