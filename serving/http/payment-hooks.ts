import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { FAULTS, Fault } from '../../core/errors.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import { PAID_CALLS_ORG, type Principal } from '../interfaces.ts'
import type { Offer, Resource } from '../payments/contract.ts'
import type { OpenPayment, PaidCall, PaymentFailure } from '../payments/payments.ts'
import type { PaymentDeps } from '../payments/start.ts'
import { makeOffers, makeTerms, matchOffer, networkName, priceRaw } from '../payments/terms.ts'
import {
  decodePaymentHeader,
  encodeHeader,
  PAYMENT_HEADERS,
  type PaymentHeader,
  RECEIPT_HEADERS,
  type Receipt,
  TERMS_HEADERS,
  type TermsV1,
} from '../payments/wire.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The call can be paid for by a client without an organization. */
    isPayable?: boolean
  }
  interface FastifyRequest {
    /** Payment terms that an answer 402 carries beside its error. */
    terms: TermsV1 | null
    /** The payment of a call without another credential. */
    payment: RequestPayment | null
  }
}

/** A payment on its way through the hooks of one request. */
export interface RequestPayment {
  readonly call: Omit<PaidCall, 'call'>
  /** Present once it is verified and held. */
  open?: OpenPayment
  isSettled?: boolean
}

/** Where plans are bought, and what they cost. */
export const PLAN_PATHS = { purchase: '/x402/purchase', pricing: '/x402/pricing' } as const

/** Payment terms; `problem`: why a payment was rejected. */
export interface Terms {
  readonly offers: readonly Offer[]
  readonly resource: Resource
  readonly problem?: string | undefined
  readonly details?: object
}

/** Price of a route without a credential, in thousandths of a unit; undefined: it needs one. */
const payableMilliUnits = ({ routeOptions }: FastifyRequest): number | undefined => {
  const { milliUnits, isPayable } = routeOptions.config
  return isPayable ? milliUnits : undefined
}

/** The payment header of a request. Throws `Fault` BAD_REQUEST where there are two, or what is there is none. */
export const readPayment = ({ headers }: FastifyRequest): PaymentHeader | undefined => {
  const presented = Object.entries(PAYMENT_HEADERS).flatMap(([name, version]) => {
    const value = headers[name]
    return value === undefined ? [] : [{ text: String(value), version }]
  })
  if (presented.length > 1) throw new Fault('BAD_REQUEST', 'Send one payment header only')
  const [only] = presented
  return only && decodePaymentHeader(only.text, only.version)
}

const offerOf = (request: FastifyRequest, milliUnits: number, { prices, baseUrl }: PaymentDeps) => {
  const { method, url, routeOptions } = request
  const path = url.split('?', 1)[0] ?? url
  return {
    offers: makeOffers(priceRaw(milliUnits, prices), prices),
    resource: {
      url: baseUrl() + path,
      description: `${method} ${routeOptions.url ?? path}`,
    },
  }
}

/** The fault of a call that is not paid for, with its terms on the way to the client. `problem`: why a payment was refused. */
export const paymentRequired = (
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PaymentDeps,
  { problem, details }: { readonly problem?: string; readonly details?: object } = {},
): Fault => {
  const milliUnits = payableMilliUnits(request) ?? 0
  const terms = offerOf(request, milliUnits, deps)
  const cu = milliUnits / MILLI_UNITS_PER_UNIT
  const plans = deps.sales && PLAN_PATHS
  return replyWithTerms(request, reply, {
    ...terms,
    problem,
    details: { cu, ...plans, ...details },
  })
}

/** The fault PAYMENT_REQUIRED, with terms on the way to the client. */
export const replyWithTerms = (
  request: FastifyRequest,
  reply: FastifyReply,
  { offers, resource, problem, details }: Terms,
): Fault => {
  const { v1, v2 } = makeTerms(offers, resource, problem)
  for (const name of TERMS_HEADERS) reply.header(name, encodeHeader(v2))
  reply.header('Cache-Control', 'no-store')
  request.terms = v1
  return new Fault('PAYMENT_REQUIRED', undefined, {
    ...(problem !== undefined && { reason: problem, errorReason: problem }),
    ...details,
  })
}

/**
 * Takes the payment of a request without a credential: true where it shows one that fits the terms of today, or those at which
 * it was taken before. False: the route needs a credential. Throws `Fault` PAYMENT_REQUIRED with the terms, BAD_REQUEST, INSUFFICIENT_PERMISSIONS.
 */
export const admitPayment = (
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PaymentDeps,
): boolean => {
  const header = readPayment(request)
  const milliUnits = payableMilliUnits(request)
  if (milliUnits === undefined) {
    const [scope] = request.routeOptions.config.scopes ?? []
    if (header === undefined || scope === undefined) return false
    throw new Fault('INSUFFICIENT_PERMISSIONS', 'The call needs a credential of an organization', {
      required_scope: scope,
      current_scopes: [],
    })
  }
  if (header === undefined) throw paymentRequired(request, reply, deps)
  const { offers, resource } = offerOf(request, milliUnits, deps)
  const taken = deps.payments.offersAsTaken(offers, header.payload)
  const offer = matchOffer(header, taken, resource.url)
  if (typeof offer === 'string') throw paymentRequired(request, reply, deps, { problem: offer })
  const presented = { offer, resource, payload: header.payload, version: header.version }
  const { description: route } = resource
  request.payment = { call: { ...presented, route, address: request.caller } }
  const problem = deps.payments.problemOf(presented)
  if (problem !== undefined) throw refusedPayment(request, reply, deps, { problem })
  return true
}

/**
 * Verifies and holds the payment of a request whose body was read. Answers the payer; undefined: the answer was paid for before and is sent. Throws `Fault` PAYMENT_REQUIRED.
 */
export const holdPayment = async (
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PaymentDeps,
): Promise<Principal | undefined> => {
  const { payment } = request
  if (payment === null) return undefined
  const paid = { ...payment.call, call: digestOf(request) }
  const started = await withRetryAfter(reply, () => deps.payments.start(paid))
  if (started.kind === 'refused') throw refusedPayment(request, reply, deps, started)
  if (started.kind === 'paid') {
    const { transaction, payer, answer } = started
    if (answer === undefined) {
      const problem = 'invalid_transaction_state'
      throw refusedPayment(request, reply, deps, { problem, payer })
    }
    setReceipt(payment.call, reply, { success: true, transaction, payer })
    reply.header('Idempotent-Replayed', 'true')
    reply.status(answer.status).header('Content-Type', answer.contentType)
    await reply.serializer((body) => body as string).send(answer.body)
    return undefined
  }
  payment.open = started.payment
  return payerPrincipal(payment.call.offer.network, started.payment.payer)
}

const payerPrincipal = (network: string, payer: string): Principal => {
  const id = `${PAID_CALLS_ORG}:${network}:${payer}`
  return {
    kind: 'x402',
    orgId: id,
    appId: '',
    credentialId: id,
    plan: 'starter',
    scopes: [],
    expiresAtMs: null,
  }
}

/** The principal whose usage a call counts for: a payer has no quota, its calls are counted together. */
export const billedPrincipal = (principal: Principal): Principal =>
  principal.kind === 'x402' ? { ...principal, orgId: PAID_CALLS_ORG, plan: 'selfhost' } : principal

/** Starts a payment; tells a client that is limited when it may come back. Throws what the start throws. */
export const withRetryAfter = async <Started>(
  reply: FastifyReply,
  start: () => Promise<Started>,
): Promise<Started> => {
  try {
    return await start()
  } catch (error) {
    const resetAt = error instanceof Fault ? error.details?.reset_at : undefined
    if (typeof resetAt === 'number') {
      const waitSeconds = resetAt - Math.floor(Date.now() / 1_000)
      reply.header('Retry-After', Math.max(1, waitSeconds))
    }
    throw error
  }
}

/** Names a call: the same method, address with its query, and body. */
export const digestOf = ({ method, url, body }: FastifyRequest): string =>
  createHash('sha256')
    .update(JSON.stringify([method, url, body ?? null]))
    .digest('base64url')

/**
 * Settles behind the handler: a success is paid for before it leaves, anything else gives the payment back. Throws `Fault`
 * PAYMENT_REQUIRED where it could not be settled, instead of the data.
 */
export const closePayment = async (
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  deps: PaymentDeps,
): Promise<void> => {
  const { payment } = request
  if (!payment?.open || payment.isSettled) return
  const { statusCode } = reply
  if (statusCode >= 300) {
    // Where the API is to blame and the engine was not asked, the payer's calls without a charge are not fewer.
    const isBusy = statusCode === FAULTS.RATE_LIMIT.status || statusCode >= 500
    return payment.open.release(isBusy && !request.work?.statements)
  }
  payment.isSettled = true
  const isKept = typeof payload === 'string' || Buffer.isBuffer(payload)
  const outcome = await payment.open.settle(
    isKept
      ? {
          status: statusCode,
          contentType: String(reply.getHeader('content-type') ?? ''),
          body: payload,
        }
      : undefined,
  )
  if ('problem' in outcome) throw refusedPayment(request, reply, deps, outcome)
  const { transaction } = outcome
  setReceipt(payment.call, reply, { success: true, transaction, payer: payment.open.payer })
}

const refusedPayment = (
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PaymentDeps,
  { problem, payer }: PaymentFailure,
): Fault => {
  if (request.payment !== null) {
    setReceipt(request.payment.call, reply, {
      success: false,
      transaction: '',
      errorReason: problem,
      ...(payer !== undefined && { payer }),
    })
  }
  // What was found is not told without a payment, neither are its traces.
  for (const name of ['ETag', 'X-Chain-Head', 'X-Chain-Since']) reply.removeHeader(name)
  return paymentRequired(request, reply, deps, { problem })
}

/** Tells how a payment ended. */
export const setReceipt = (
  { version, offer }: Pick<PaidCall, 'version' | 'offer'>,
  reply: FastifyReply,
  receipt: Omit<Receipt, 'network'>,
): void => {
  const network = networkName(version, offer.network)
  reply.header(RECEIPT_HEADERS[version], encodeHeader({ ...receipt, network }))
}
