import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import type { Principal } from '../interfaces.ts'
import type { Offer, Resource } from '../payments/contract.ts'
import type { OpenPayment, PaidCall, PaymentFailure, Payments } from '../payments/payments.ts'
import type { PlanSales } from '../payments/plan-sales.ts'
import {
  makeOffers,
  makeTerms,
  matchOffer,
  networkName,
  type PaymentPrices,
  priceRaw,
} from '../payments/terms.ts'
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
    /** The call can be paid for by a client without an account. */
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

/** What paying for calls works with; where it is absent, calls need an account. */
export interface PaymentDeps {
  readonly payments: Payments
  readonly prices: PaymentPrices
  /** Public address of the API without a slash at its end: never what a client says in `Host`. */
  readonly baseUrl: () => string
  /** Present: wallets can buy plans. */
  readonly sales?: PlanSales
  /** Whether everybody may ask for the bought plan of a wallet. */
  readonly showsStatus: boolean
}

/** Organization under which all calls that were paid one by one are counted. */
const PAID_CALLS_ORG = 'x402'

/** What is asked for something; `problem`: why a payment was refused. */
export interface Terms {
  readonly offers: readonly Offer[]
  readonly resource: Resource
  readonly problem?: string | undefined
  readonly details?: object
}

/** Price of a route to who has no account, in thousandths of a unit; undefined: it needs one. */
const payableMilliUnits = ({ routeOptions }: FastifyRequest): number | undefined => {
  const { milliUnits, isPayable } = routeOptions.config
  return isPayable ? milliUnits : undefined
}

/** The payment header of a request. Throws `Fault` BAD_REQUEST where there are two, or what is there is none. */
export const readPayment = ({ headers }: FastifyRequest): PaymentHeader | undefined => {
  const shown = Object.entries(PAYMENT_HEADERS).flatMap(([name, version]) => {
    const value = headers[name]
    return value === undefined ? [] : [{ text: String(value), version }]
  })
  if (shown.length > 1) throw new Fault('BAD_REQUEST', 'A call is paid by one header')
  const [only] = shown
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
  return tellTerms(request, reply, { ...terms, problem, details: { cu, ...details } })
}

/** The fault PAYMENT_REQUIRED, with terms on the way to the client. */
export const tellTerms = (
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
 * Takes the payment of a request without a credential: true where it shows one that fits the terms of today. False: the route
 * needs an account. Throws `Fault` PAYMENT_REQUIRED with the terms, BAD_REQUEST, INSUFFICIENT_PERMISSIONS.
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
    throw new Fault('INSUFFICIENT_PERMISSIONS', 'The call needs an account', {
      required_scope: scope,
      current_scopes: [],
    })
  }
  if (header === undefined) throw paymentRequired(request, reply, deps)
  const { offers, resource } = offerOf(request, milliUnits, deps)
  const offer = matchOffer(header, offers, resource.url)
  if (typeof offer === 'string') throw paymentRequired(request, reply, deps, { problem: offer })
  request.payment = {
    call: {
      offer,
      resource,
      payload: header.payload,
      version: header.version,
      route: resource.description,
    },
  }
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
  const started = await deps.payments.start({ ...payment.call, call: digestOf(request) })
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

/** To whom the units of a call are counted: a payer has no month and no quota, what counts is that the call was paid. */
export const billedTo = (principal: Principal): Principal =>
  principal.kind === 'x402' ? { ...principal, orgId: PAID_CALLS_ORG, plan: 'selfhost' } : principal

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
  if (reply.statusCode >= 300) return payment.open.release()
  payment.isSettled = true
  const isKept = typeof payload === 'string' || Buffer.isBuffer(payload)
  const outcome = await payment.open.settle(
    isKept
      ? {
          status: reply.statusCode,
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
