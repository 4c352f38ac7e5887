import type { Logger } from '../../core/ops/logger.ts'
import type { Sealer } from '../../core/security/encryption.ts'
import type { ControlLog } from './control-log.ts'
import type { KeyPair } from './jwt.ts'
import type { RecordWriter } from './records.ts'
import type { Registry } from './registry.ts'
import { type KeyRing, keysDue, mountedKeyRecord, newKeyRecord } from './signing-keys.ts'

const LOOK_EVERY_MS = 3_600_000

/** Keeps a signing key at hand: the first one, the next one in time, and none longer than needed. */
export interface KeyKeeper {
  /** Resolves once a key can sign. Throws `Outage` when one cannot be written. */
  ready(): Promise<void>
  stop(): Promise<void>
}

/** What the keeper works with. */
export interface KeyKeeperDeps {
  readonly registry: Registry
  readonly control: Pick<ControlLog, 'update'>
  readonly records: RecordWriter
  readonly ring: KeyRing
  readonly sealer: Sealer
  readonly mounted: KeyPair | null
  readonly nowMs: () => number
  readonly log: Logger
}

/** Looks every hour. The first key is made with the first token, or the first look at the key set. */
export const startKeyKeeper = (deps: KeyKeeperDeps): KeyKeeper => {
  const { log, ring } = deps
  let looking: Promise<void> | undefined
  const look = (): Promise<void> => {
    looking ??= keepKeys(deps).finally(() => {
      looking = undefined
    })
    return looking
  }
  const timer = setInterval(() => {
    look().catch((err: unknown) => log.warn({ err }, 'signing key rotation check failed'))
  }, LOOK_EVERY_MS)
  timer.unref()
  let looked = false
  return {
    ready: async () => {
      if (looked && (await opens(ring))) return
      await look()
      looked = true
    },
    stop: async () => {
      clearInterval(timer)
      await looking?.catch(() => undefined)
    },
  }
}

const keepKeys = async (deps: KeyKeeperDeps): Promise<void> => {
  const { registry, control, records, mounted, ring, sealer, nowMs, log } = deps
  await control.update(async () => {
    const { newKeyFromMs, retired } = keysDue(registry.signingKeys(), nowMs())
    const ended = retired.map((kid) => records.gone('signingKeys', kid))
    if (mounted !== null) {
      const known = registry.signingKeys().some(({ kid }) => kid === mounted.publicKey.kid)
      return known ? ended : [...ended, records.signingKey(mountedKeyRecord(mounted, nowMs()))]
    }
    const fromMs = newKeyFromMs ?? ((await opens(ring)) ? null : nowMs())
    if (fromMs === null) return ended
    const key = await newKeyRecord(sealer, fromMs, nowMs())
    log.info({ kid: key.kid, fromMs }, 'signing key created')
    return [...ended, records.signingKey(key)]
  })
}

const opens = (ring: KeyRing): Promise<boolean> =>
  ring.signer().then(
    () => true,
    () => false,
  )
