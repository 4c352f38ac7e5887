import { createMeter } from '../../serving/billing/meter.ts'
import type { Principal } from '../../serving/interfaces.ts'

/** Whose every connection is. */
export const LIVE_PRINCIPAL: Principal = {
  kind: 'api-key',
  orgId: 'org',
  appId: 'app',
  credentialId: 'key',
  plan: 'selfhost',
  scopes: [],
  expiresAtMs: null,
}

/** What connections of GraphQL subscriptions are made of where a test is not about it. */
export const liveOptions = (nowMs: () => number) => ({
  guard: {
    identify: async () => LIVE_PRINCIPAL,
    authenticate: () => LIVE_PRINCIPAL,
    onRevoked: () => () => undefined,
  },
  meter: createMeter({ nowMs }),
  upgrade: {
    nowMs,
    statusMode: 'semantic' as const,
    allowedOrigins: [],
    trustedProxies: [],
    docsUrl: 'https://docs.example',
  },
})
