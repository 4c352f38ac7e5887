import { LRUCache } from 'lru-cache'
import pLimit, { type LimitFunction } from 'p-limit'
import { Unfetched } from './fetch.ts'

/** Requests at the same time. */
export interface HostLimits {
  /** Over all hosts. */
  readonly inFlight: number
  readonly inFlightPerHost: number
}

/** Runs requests within the limits of their hosts. */
export interface Hosts {
  /** Throws what `work` throws, and `Unfetched` while the host is on cooldown. */
  run<T>(host: string, work: () => Promise<T>): Promise<T>
}

/** Failures in a row after which a host is left alone, and for how long. */
const FAILURES = 8
const COOLDOWN_MS = 30_000
/** Hosts that are remembered: more than can wait in the windows of a process. */
const MOST_HOSTS = 10_000

interface Host {
  readonly limit: LimitFunction
  failures: number
  cooldownUntilMs: number
}

/** Makes the gate of a process: a host that does not answer costs the others nothing. */
export const makeHosts = (limits: HostLimits, nowMs: () => number): Hosts => {
  const everywhere = pLimit(limits.inFlight)
  const hosts = new LRUCache<string, Host>({ max: MOST_HOSTS })
  const hostOf = (name: string): Host => {
    const known = hosts.get(name)
    if (known !== undefined) return known
    const host = { limit: pLimit(limits.inFlightPerHost), failures: 0, cooldownUntilMs: 0 }
    hosts.set(name, host)
    return host
  }
  const attempt = async <T>(host: Host, work: () => Promise<T>): Promise<T> => {
    if (nowMs() < host.cooldownUntilMs) throw new Unfetched('host-rests', { temporary: true })
    try {
      const value = await everywhere(work)
      host.failures = 0
      return value
    } catch (error) {
      const isDown = error instanceof Unfetched && error.temporary
      host.failures = isDown ? host.failures + 1 : 0
      if (host.failures >= FAILURES) host.cooldownUntilMs = nowMs() + COOLDOWN_MS
      throw error
    }
  }
  return {
    run: (name, work) => {
      const host = hostOf(name)
      return host.limit(() => attempt(host, work))
    },
  }
}
