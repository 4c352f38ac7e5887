import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../core/config/settings.ts'
import type { TlsFiles } from '../../core/config/tls-files.ts'
import { clientAddress } from '../../core/http/network-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Address of the caller, through the proxies that are trusted. */
    caller: string
  }
}

/** How a server listens. */
export interface PlaneDeps {
  /** Present: it speaks TLS only. */
  readonly tls?: TlsFiles
  readonly config: Pick<Config, 'trustedProxies' | 'httpConnections'>
}

const MAX_HEADER_BYTES = 16_384
/** The whole header has to arrive in this time. */
const HEADERS_TIMEOUT_MS = 15_000
/** Longer than proxies keep idle connections (nginx and Caddy: 60 s or less), so that ours never closes under theirs. */
const KEEP_ALIVE_MS = 75_000
/** How often Node looks for connections that are over their limits. */
const TIMEOUT_CHECK_INTERVAL_MS = 5_000
/** Two years. Source: RFC 6797, hstspreload.org. */
const HSTS_HEADER = 'max-age=63072000'

/** Options of the server below Fastify: TLS, header bounds, time limits. */
export const planeServerOptions = ({ tls }: Pick<PlaneDeps, 'tls'>) => {
  const bounds = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
  }
  return {
    keepAliveTimeout: KEEP_ALIVE_MS,
    ...(tls === undefined
      ? { http: bounds }
      : { https: { cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' as const, ...bounds } }),
  }
}

/** True where no node waits for the answer any more: what failed on its way is not an error of ours. */
export const hasDisconnected = ({ raw }: Pick<FastifyRequest, 'raw'>): boolean =>
  raw.errored !== null || raw.socket.destroyed

/** What every answer of a plane carries, and who the caller is. Comes before every other hook. */
export const installPlane = (app: FastifyInstance, { tls, config }: PlaneDeps): void => {
  app.server.maxConnections = config.httpConnections
  app.decorateRequest('caller', '')
  app.addHook('onRequest', async (request, reply) => {
    const forwarded = request.headers['x-forwarded-for']
    const header = typeof forwarded === 'string' ? forwarded : forwarded?.join()
    request.caller = clientAddress(request.ip, header, config.trustedProxies)
    reply.header('X-Content-Type-Options', 'nosniff')
    if (tls !== undefined) reply.header('Strict-Transport-Security', HSTS_HEADER)
  })
}
