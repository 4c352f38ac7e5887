import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { InvalidInput } from '../errors.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Keeps secrets readable for this installation only. */
export interface SecretCipher {
  /** Encrypted and signed together with `about`, as base64url; twice the same text gives two results. */
  seal(text: string, about: string): string
  /** Throws `InvalidInput` for what was not sealed by the same secret, for the same purpose and `about`. */
  open(sealed: string, about: string): string
}

/**
 * AES-256-GCM (NIST SP 800-38D) under a key that HKDF-SHA256 (RFC 5869) draws from the installation's secret, one per
 * purpose. `about` names the row that the secret belongs to, so that a value cannot be moved to another one.
 */
export const makeSecretCipher = (secret: string, purpose: string): SecretCipher => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, KEY_BYTES))
  return {
    seal: (text, about) => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(about))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    open: (sealed, about) => {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) {
        throw new InvalidInput('sealed', 'a sealed secret is too short')
      }
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
      const decipher = createDecipheriv(CIPHER, key, nonce).setAAD(Buffer.from(about))
      decipher.setAuthTag(tag)
      try {
        const opened = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
        return Buffer.concat([opened, decipher.final()]).toString('utf8')
      } catch (error) {
        throw new InvalidInput('sealed', 'a secret was sealed by another key', { cause: error })
      }
    },
  }
}
