import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { SecretCipher } from '../../core/security/encryption.ts'
import { DAY_MS, HOUR_MS } from '../../core/time.ts'
import type { SigningKey } from '../../schemas/wire.ts'
import {
  createSigner,
  createVerifier,
  generateKeyPairPem,
  type KeyPair,
  type PublicKey,
  type SignToken,
  type VerifyToken,
} from './jwt.ts'

/** A new key is shown this long before it signs, so that verifiers with an old key set learn of it. */
export const DEFAULT_LEAD_MS = DAY_MS
/** Shortest lead: twice the time in which every process here has a control record. */
export const MIN_LEAD_MS = 2_000
/** Age at which a key is followed by the next one. */
const ROTATE_AFTER_MS = 90 * DAY_MS
/** Longest life of a token and an hour: a key is shown so long after it signed for the last time. */
const RETIRE_AFTER_MS = DAY_MS + HOUR_MS

/** What a key is for at a moment. */
export type KeySlot = 'next' | 'current' | 'previous' | 'retired'

/** A key and its slot. */
export interface SlottedKey {
  readonly key: SigningKey
  readonly slot: KeySlot
}

/** Slots of the keys, oldest first: the newest that may sign is current. Pure. */
export const assignKeySlots = (
  keys: Iterable<SigningKey>,
  nowMs: number,
): readonly SlottedKey[] => {
  const sorted = [...keys].toSorted(
    (left, right) => left.active_from - right.active_from || (left.kid < right.kid ? -1 : 1),
  )
  const currentAt = sorted.findLastIndex((key) => key.active_from <= nowMs)
  return sorted.map((key, at) => {
    if (at > currentAt) return { key, slot: 'next' }
    if (at === currentAt) return { key, slot: 'current' }
    const followedMs = sorted[at + 1]?.active_from ?? nowMs
    return { key, slot: nowMs - followedMs > RETIRE_AFTER_MS ? 'retired' : 'previous' }
  })
}

/** What is due: a first key, the key after one that has grown old, keys to forget. Pure. */
export const dueRotation = (
  keys: Iterable<SigningKey>,
  nowMs: number,
): { readonly newKeyFromMs: number | null; readonly retired: readonly string[] } => {
  const slots = assignKeySlots(keys, nowMs)
  const newest = slots.at(-1)
  const retired = slots.filter(({ slot }) => slot === 'retired').map(({ key }) => key.kid)
  if (!slots.some(({ slot }) => slot === 'current')) return { newKeyFromMs: nowMs, retired }
  const old = newest?.slot === 'current' && nowMs - newest.key.active_from >= ROTATE_AFTER_MS
  return { newKeyFromMs: old ? nowMs + DEFAULT_LEAD_MS : null, retired }
}

/** Signs and verifies with the keys of the control topic. */
export interface SigningKeyRing {
  /** Signer of the current key. Throws `InvalidInput` when this process cannot open any key. */
  signer(): Promise<SignToken>
  verifier(): VerifyToken
  /** Keys that verifiers may meet: next, current, previous. */
  published(): readonly PublicKey[]
}

/** What a key ring works with. */
export interface SigningKeyRingDeps {
  readonly keys: () => Iterable<SigningKey>
  readonly cipher: SecretCipher
  /** Signs whenever it is given: a key that an operator mounted. */
  readonly mounted: KeyPair | null
  readonly nowMs: () => number
  readonly log: Logger
}

/** A ring over keys that come and go. */
export const createSigningKeyRing = ({
  keys,
  cipher,
  mounted,
  nowMs,
  log,
}: SigningKeyRingDeps): SigningKeyRing => {
  const signers = new Map<string, Promise<SignToken>>()
  const signerFor = (pair: KeyPair): Promise<SignToken> => {
    const { kid } = pair.publicKey
    const known = signers.get(kid) ?? createSigner(pair)
    signers.set(kid, known)
    return known
  }
  const published = (): readonly PublicKey[] => {
    const presented = assignKeySlots(keys(), nowMs()).filter(({ slot }) => slot !== 'retired')
    const own = mounted === null ? [] : [mounted.publicKey]
    const rest = presented.map(({ key }) => parsePublicKey(key))
    return [...own, ...rest.filter(({ kid }) => kid !== own[0]?.kid)]
  }
  const verifiers: { kids: string; verify: VerifyToken } = { kids: '', verify: createVerifier([]) }
  return {
    published,
    signer: async () => {
      if (mounted !== null) return signerFor(mounted)
      const able = assignKeySlots(keys(), nowMs()).filter(({ slot }) => slot !== 'next')
      for (const { key } of able.toReversed()) {
        const pair = decryptKey(key, cipher, log)
        if (pair !== undefined) return signerFor(pair)
      }
      throw new InvalidInput(
        'signing_key',
        'cannot decrypt any signing key: check that KEY_PEPPER has not changed',
      )
    },
    verifier: () => {
      const presented = published()
      const kids = presented.map(({ kid }) => kid).join()
      if (kids !== verifiers.kids)
        Object.assign(verifiers, { kids, verify: createVerifier(presented) })
      return verifiers.verify
    },
  }
}

const parsePublicKey = ({ public_jwk }: SigningKey): PublicKey => JSON.parse(public_jwk)

const decryptKey = (key: SigningKey, cipher: SecretCipher, log: Logger): KeyPair | undefined => {
  if (key.private_enc === '') return undefined
  try {
    return { publicKey: parsePublicKey(key), privatePem: cipher.open(key.private_enc, key.kid) }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    log.error({ err: error, kid: key.kid }, 'cannot decrypt signing key')
    return undefined
  }
}

/** The record of a new key; `activeFromMs` is when it starts to sign. */
export const createKeyRecord = async (
  cipher: SecretCipher,
  activeFromMs: number,
  nowMs: number,
): Promise<SigningKey> => {
  const pair = await generateKeyPairPem()
  const { kid } = pair.publicKey
  return {
    ...buildKeyRecord(pair.publicKey, activeFromMs, nowMs),
    private_enc: cipher.seal(pair.privatePem, kid),
  }
}

/** The record of a mounted key: its public half, so that its tokens are known after it is gone. */
export const createMountedKeyRecord = ({ publicKey }: KeyPair, nowMs: number): SigningKey =>
  buildKeyRecord(publicKey, nowMs, nowMs)

const buildKeyRecord = (publicKey: PublicKey, activeFromMs: number, nowMs: number): SigningKey => ({
  kid: publicKey.kid,
  public_jwk: JSON.stringify(publicKey),
  private_enc: '',
  active_from: activeFromMs,
  created_at: nowMs,
  version: 1,
})
