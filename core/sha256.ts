import { createHash } from 'node:crypto'

/** Digest of a text: tokens are compared by it, so that neither content nor length takes time of its own. */
export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
