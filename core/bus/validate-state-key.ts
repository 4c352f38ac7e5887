import { InvalidInput } from '../errors.ts'

/** Longest key of a state entry; lmdb's own limit is 1,978 bytes for the whole tree key. */
const MAX_STATE_KEY_BYTES = 1_024

/** Throws `InvalidInput` for a state key that a lane's store cannot hold. */
export const validateStateKey = (key: string): void => {
  if (Buffer.byteLength(key) <= MAX_STATE_KEY_BYTES) return
  throw new InvalidInput('state-key', `a state key is longer than ${MAX_STATE_KEY_BYTES} bytes`)
}
