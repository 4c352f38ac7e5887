import type { Logger } from '../../core/ops/logger.ts'
import type { SecretCipher } from '../../core/security/encryption.ts'
import { HOUR_MS } from '../../core/time.ts'
import type { ControlLog } from './control-log.ts'
import type { ControlRecords } from './control-records.ts'
import type { KeyPair } from './jwt.ts'
import type { OrganizationRegistry } from './organization-registry.ts'
import {
  createKeyRecord,
  createMountedKeyRecord,
  dueRotation,
  type SigningKeyRing,
} from './signing-key-ring.ts'

const ROTATION_CHECK_INTERVAL_MS = HOUR_MS

/** Keeps a signing key at hand: the first one, the next one in time, and none longer than needed. */
export interface SigningKeyRotation {
  /** Resolves once a key can sign. Throws `Outage` when one cannot be written. */
  ready(): Promise<void>
  stop(): Promise<void>
}

/** What the keeper works with. */
export interface SigningKeyRotationDeps {
  readonly registry: OrganizationRegistry
  readonly control: Pick<ControlLog, 'update'>
  readonly records: ControlRecords
  readonly signingKeys: SigningKeyRing
  readonly cipher: SecretCipher
  readonly mounted: KeyPair | null
  readonly nowMs: () => number
  readonly log: Logger
}

/** Looks every hour. The first key is made with the first token, or the first look at the key set. */
export const startSigningKeyRotation = (deps: SigningKeyRotationDeps): SigningKeyRotation => {
  const { log, signingKeys } = deps
  let checking: Promise<void> | undefined
  const check = (): Promise<void> => {
    checking ??= rotateKeys(deps).finally(() => {
      checking = undefined
    })
    return checking
  }
  const timer = setInterval(() => {
    check().catch((err: unknown) => log.warn({ err }, 'signing key rotation check failed'))
  }, ROTATION_CHECK_INTERVAL_MS)
  timer.unref()
  let looked = false
  return {
    ready: async () => {
      if (looked && (await canSign(signingKeys))) return
      await check()
      looked = true
    },
    stop: async () => {
      clearInterval(timer)
      await checking?.catch(() => undefined)
    },
  }
}

const rotateKeys = async (deps: SigningKeyRotationDeps): Promise<void> => {
  const { registry, control, records, mounted, signingKeys, cipher, nowMs, log } = deps
  await control.update(async () => {
    const { newKeyFromMs, retired } = dueRotation(registry.signingKeys(), nowMs())
    const ended = retired.map((kid) => records.gone('signingKeys', kid))
    if (mounted !== null) {
      const known = registry.signingKeys().some(({ kid }) => kid === mounted.publicKey.kid)
      return known
        ? ended
        : [...ended, records.signingKey(createMountedKeyRecord(mounted, nowMs()))]
    }
    const fromMs = newKeyFromMs ?? ((await canSign(signingKeys)) ? null : nowMs())
    if (fromMs === null) return ended
    const key = await createKeyRecord(cipher, fromMs, nowMs())
    log.info({ kid: key.kid, fromMs }, 'signing key created')
    return [...ended, records.signingKey(key)]
  })
}

const canSign = (signingKeys: SigningKeyRing): Promise<boolean> =>
  signingKeys.signer().then(
    () => true,
    () => false,
  )
