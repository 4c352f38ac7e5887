import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { sha256 } from '../../core/sha256.ts'
import type { AdminAccess } from '../auth/admin-tokens.ts'
import type { Actor } from '../auth/control-records.ts'
import { countAuthFailure } from '../auth/failure-metrics.ts'
import type { Organizations } from '../auth/organizations.ts'
import type { Meter } from '../interfaces.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Role that an admin route asks for; default: `read` for GET, `write` for the rest. */
    role?: AdminAccess['role']
  }
  interface FastifyRequest {
    /** Who administers, for the audit log. */
    by: Actor
  }
}

/** What the admin guard works with. */
export interface AdminGuardDeps {
  readonly organizations: Pick<Organizations, 'adminTokens'>
  readonly meter: Pick<Meter, 'take'>
  readonly metrics: Pick<Metrics, 'authFailures'>
  readonly log: Logger
  readonly config: Pick<Config, 'adminToken'>
}

const ROLE_RANKS = { read: 0, write: 1, owner: 2 } as const
const OWNER_ACCESS: AdminAccess = { id: 'owner', role: 'owner' }

/**
 * ADMIN_TOKEN opens everything, an admin token what its role allows. Who guesses is slowed by address; every refusal is
 * counted and audited.
 */
export const installAdminGuard = (app: FastifyInstance, deps: AdminGuardDeps): void => {
  const expected = sha256(deps.config.adminToken.reveal())
  // Set by the hook before any handler sees it; a shared object here would be one for all requests.
  app.decorateRequest('by', null as unknown as Actor)
  app.addHook('onRequest', async (request, reply) => {
    const presented = /^bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const found = presented === undefined ? undefined : authenticateAdmin(presented, expected, deps)
    reply.header('Cache-Control', 'no-store')
    if (typeof found !== 'object') throw await rejectionFault(found, request, reply, deps)
    request.by = { actor: found.id, address: request.caller, requestId: request.id }
    const { role = isReadMethod(request) ? 'read' : 'write' } = request.routeOptions.config
    if (ROLE_RANKS[found.role] >= ROLE_RANKS[role]) return
    recordRejection(request, { actor: found.id, reason: 'missing_role' }, deps)
    throw new Fault('FORBIDDEN', 'The role of the admin token does not allow this call', {
      reason: 'missing_role',
      required_role: role,
      current_role: found.role,
    })
  })
}

const isReadMethod = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

type AdminAuthentication = ReturnType<Organizations['adminTokens']['open']>

const authenticateAdmin = (
  presented: string,
  expected: Buffer,
  { organizations }: AdminGuardDeps,
): AdminAuthentication =>
  timingSafeEqual(sha256(presented), expected)
    ? OWNER_ACCESS
    : organizations.adminTokens.open(presented)

const REJECTION_REASONS = { unknown: 'invalid_token', expired: 'expired_token' } as const

const rejectionFault = async (
  found: Exclude<AdminAuthentication, AdminAccess> | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: AdminGuardDeps,
): Promise<Fault> => {
  if (found === 'stale') {
    recordRejection(request, { actor: '', reason: 'unavailable' }, deps)
    return new Fault(
      'DATABASE_ERROR',
      'Credentials cannot be checked at the moment: try again later',
    )
  }
  const { allowed, limit, resetAt, retryAfterSeconds } = await deps.meter.take({
    ip: request.caller,
  })
  if (!allowed) {
    recordRejection(request, { actor: '', reason: 'rate_limited' }, deps)
    reply.header('Retry-After', retryAfterSeconds)
    return new Fault('RATE_LIMIT', undefined, { limit, remaining: 0, reset_at: resetAt })
  }
  const reason = found === undefined ? 'missing_credential' : REJECTION_REASONS[found]
  recordRejection(request, { actor: '', reason }, deps)
  reply.header('WWW-Authenticate', 'Bearer realm="admin"')
  return new Fault('UNAUTHORIZED', 'An admin token is required', { reason })
}

const recordRejection = (
  { caller, id, method, routeOptions }: FastifyRequest,
  { actor, reason }: { readonly actor: string; readonly reason: string },
  { metrics, log }: Pick<AdminGuardDeps, 'metrics' | 'log'>,
): void => {
  countAuthFailure(metrics, 'admin', reason)
  const subject = `${method} ${routeOptions.url ?? ''}`
  const entry = { action: 'admin.refused', subject, detail: reason }
  log.warn({ ...entry, actor, address: caller, requestId: id }, 'audit')
}
