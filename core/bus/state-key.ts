import { Malformed } from '../errors.ts'

/** Longest key of a state entry; lmdb's own limit is 1,978 bytes for the whole tree key. */
const STATE_KEY_BYTES = 1_024

/** Throws `Malformed` for a state key that a lane's store cannot hold. */
export const checkStateKey = (key: string): void => {
  if (Buffer.byteLength(key) <= STATE_KEY_BYTES) return
  throw new Malformed('state-key', `a state key is longer than ${STATE_KEY_BYTES} bytes`)
}
