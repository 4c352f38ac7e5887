import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { FAULTS, Fault } from '../../core/errors.ts'
import { firstValue } from '../../core/http/header-value.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import { type AuthSurface, authFailureReason, countAuthFailure } from '../auth/failure-metrics.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import type { Guard, Principal, RateLimitState, Reservation } from '../interfaces.ts'
import type { PaymentDeps } from '../payments/start.ts'
import { queryWorkMilliUnits } from '../queries/limited-reads.ts'
import {
  admitPayment,
  billedPrincipal,
  closePayment,
  holdPayment,
  paymentRequired,
} from './payment-hooks.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Price in thousandths of a unit; charged when the answer is a success, and as a limit for work without one. */
    milliUnits?: number
    /** Scopes that the credential must carry. */
    scopes?: readonly string[]
    /** Calls are written to the audit log: they change or show what an organization owns. */
    audit?: boolean
  }
  interface FastifyRequest {
    principal: Principal | null
    reservation: Reservation | null
  }
}

/** What decides whether a request may continue. */
export interface GuardDeps {
  readonly guard: Guard
  readonly meter: QuotaMeter
  readonly metrics: Pick<Metrics, 'authFailures'>
  readonly log: Logger
  /** Present: calls can be paid one by one. */
  readonly payPerCall?: PaymentDeps
}

/** Headers that scripts in a browser may read. */
export const EXPOSED_HEADERS = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
  'ETag',
  'X-CU-Cost',
  'X-Quota-Remaining',
  'X-Chain-Head',
  'X-Chain-Since',
  'PAYMENT-REQUIRED',
  'X-Payment-Required',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
] as const

/** Headers that an answer depends on beside its address. */
const VARY_HEADERS = 'Authorization, X-API-KEY, X-PAYMENT, PAYMENT-SIGNATURE'

/** Both versions of a path are one route. */
const VERSION_PREFIX = /^\/v\d+(?=\/)/

/**
 * Credential, suspension, rate and scope before the body is read; quota behind validation, charge with the answer.
 * Covers the routes of `app` and what is registered inside it.
 */
export const installGuard = (
  app: FastifyInstance,
  deps: GuardDeps,
  surface: Extract<AuthSurface, 'rest' | 'graphql'>,
): void => {
  const { guard, meter, metrics, payPerCall } = deps
  const refused = (fault: Fault, reason: string): Fault => {
    countAuthFailure(metrics, surface, reason)
    return fault
  }
  app.decorateRequest('principal', null)
  app.decorateRequest('reservation', null)
  app.decorateRequest('work', null)
  app.decorateRequest('payment', null)
  app.addHook('onRequest', async (request, reply) => {
    const identified = await guard.identify({
      authorization: request.headers.authorization,
      apiKey: firstValue(request.headers['x-api-key']),
      address: request.caller,
    })
    const known = identified !== undefined && !(identified instanceof Fault)
    const rate = await meter.take(known ? { principal: identified } : { ip: request.caller })
    setRateLimitHeaders(reply, rate)
    if (!rate.allowed && known) throw rateLimited(reply, rate)
    if (!rate.allowed && !known && isUnauthenticated(identified))
      throw refused(rateLimited(reply, rate), 'rate_limited')
    if (identified === undefined && payPerCall && admitPayment(request, reply, payPerCall)) return
    if (!known)
      throw refused(
        unauthorized(request, reply, identified, payPerCall),
        authFailureReason(identified),
      )
    request.principal = identified
    // A shared cache must not serve the response of one organization to another.
    reply.header('Cache-Control', 'private, no-store').header('Vary', VARY_HEADERS)
    const missing = missingScope(request, reply, identified)
    if (missing !== undefined) throw refused(missing, 'missing_scope')
  })
  app.addHook('preHandler', async (request, reply) => {
    const { config, url = '' } = request.routeOptions
    if (payPerCall && request.payment) {
      reply.header('Cache-Control', 'private, no-store').header('Vary', VARY_HEADERS)
      const payer = await holdPayment(request, reply, payPerCall)
      if (payer === undefined) return reply
      request.principal = payer
    }
    if (request.principal && config.milliUnits !== undefined) {
      const route = `${request.method} ${url.replace(VERSION_PREFIX, '')}`
      request.reservation = meter.reserve(
        billedPrincipal(request.principal),
        config.milliUnits,
        route,
      )
    }
    return undefined
  })
  app.addHook('onSend', async (request, reply, payload) => {
    if (payPerCall && request.payment) await closePayment(request, reply, payload, payPerCall)
    const { principal, reservation } = request
    const { milliUnits } = request.routeOptions.config
    if (!principal || milliUnits === undefined) return
    const charged = reservation ? responseCharge(reply.statusCode, request, milliUnits) : 0
    reservation?.settle(charged)
    reply.header('X-CU-Cost', String(charged / MILLI_UNITS_PER_UNIT))
    if (principal.kind === 'x402') return
    reply.header('X-Quota-Remaining', String(meter.quota(principal).remaining ?? -1))
  })
  app.addHook('onResponse', async (request, reply) => {
    request.reservation?.release()
    request.payment?.open?.release()
    if (request.routeOptions.config.audit) logAudit(deps.log, request, reply)
  })
  app.addHook('onRequestAbort', async (request) => {
    request.payment?.open?.release()
    const { milliUnits = 0 } = request.routeOptions.config
    request.reservation?.settle(queryWorkCharge(request, milliUnits))
  })
}

/** Answers that say that there is nothing, or that it was too much: the engine has worked for them. */
const CHARGED_ERROR_STATUSES: ReadonlySet<number> = new Set([
  FAULTS.NOT_FOUND.status,
  FAULTS.QUERY_TOO_EXPENSIVE.status,
])

const queryWorkCharge = ({ work }: FastifyRequest, milliUnits: number): number =>
  work ? Math.min(milliUnits, queryWorkMilliUnits(work)) : 0

/** A success costs the price, also where the caller has the body already; an answer without one what the engine did, never more than the price; other errors nothing. */
const responseCharge = (status: number, request: FastifyRequest, milliUnits: number): number => {
  if (status < 300 || status === 304) return milliUnits
  return CHARGED_ERROR_STATUSES.has(status) ? queryWorkCharge(request, milliUnits) : 0
}

/** One audit line per call that changes or shows what an organization owns; rejected callers are counted by the metric. */
const logAudit = (log: Logger, request: FastifyRequest, reply: FastifyReply): void => {
  const { principal, method, routeOptions, caller, id } = request
  if (principal === null) return
  const { id: subject = '' } = (request.params ?? {}) as { readonly id?: string }
  log.info(
    {
      action: `${method} ${(routeOptions.url ?? '').replace(VERSION_PREFIX, '')}`,
      subject,
      orgId: principal.orgId,
      actor: principal.credentialId,
      address: caller,
      requestId: id,
      status: reply.statusCode,
    },
    'audit',
  )
}

/** No credential, or a wrong one: such floods are slowed per address. A suspended organization is told so at any rate. */
const isUnauthenticated = (identified: Fault | undefined): boolean => identified?.status !== 403

const setRateLimitHeaders = (
  reply: FastifyReply,
  { limit, remaining, resetAt }: RateLimitState,
): void => {
  const inSeconds = Math.max(0, resetAt - Math.floor(Date.now() / 1_000))
  reply.headers({
    'X-RateLimit-Limit': limit,
    'X-RateLimit-Remaining': remaining,
    'X-RateLimit-Reset': resetAt,
    'RateLimit-Policy': `"plan";q=${limit};w=1`,
    RateLimit: `"plan";r=${remaining};t=${inSeconds}`,
  })
}

const rateLimited = (
  reply: FastifyReply,
  { limit, resetAt, retryAfterSeconds }: RateLimitState,
): Fault => {
  reply.header('Retry-After', retryAfterSeconds)
  return new Fault('RATE_LIMIT', undefined, { limit, remaining: 0, reset_at: resetAt })
}

const unauthorized = (
  request: FastifyRequest,
  reply: FastifyReply,
  identified: Fault | undefined,
  payPerCall: PaymentDeps | undefined,
): Fault => {
  if (identified?.faultName === 'RATE_LIMIT') reply.header('Retry-After', 1)
  if (identified?.faultName === 'PAYMENT_REQUIRED' && payPerCall) {
    return paymentRequired(request, reply, payPerCall, { details: identified.details ?? {} })
  }
  if (identified && identified.faultName !== 'UNAUTHORIZED') return identified
  reply.header(
    'WWW-Authenticate',
    `Bearer realm="api"${identified ? ', error="invalid_token"' : ''}`,
  )
  return (
    identified ??
    new Fault('UNAUTHORIZED', 'A credential is required', { reason: 'missing_credential' })
  )
}

const missingScope = (
  request: FastifyRequest,
  reply: FastifyReply,
  identified: Principal,
): Fault | undefined => {
  const missing = request.routeOptions.config.scopes?.find(
    (scope) => !identified.scopes.includes(scope),
  )
  if (missing === undefined) return undefined
  reply.header('WWW-Authenticate', `Bearer error="insufficient_scope", scope="${missing}"`)
  return new Fault('INSUFFICIENT_PERMISSIONS', undefined, {
    required_scope: missing,
    current_scopes: identified.scopes,
  })
}
