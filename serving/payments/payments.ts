import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ulid } from 'ulid'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { PaymentNetworkName } from '../../schemas/payment-networks.ts'
import type { Payment } from '../../schemas/wire.ts'
import type {
  Authorization,
  Facilitator,
  PaymentProblem,
  ShownPayment,
  VerifiedPayment,
} from './contract.ts'
import { verifyExactEvm } from './exact-evm.ts'
import type { PaymentLog, PaymentRow } from './payment-log.ts'

/** Payments under way at once; each holds an answer. */
const MAX_OPEN = 256
/** Largest answer that is kept to be fetched again, before and after it is deflated. */
const MAX_KEPT_BYTES = 1_048_576
const MAX_DEFLATED_BYTES = 262_144

/** A call that is to be paid. */
export interface PaidCall extends ShownPayment {
  /** Digest of method, address with its query and body: one payment buys one call. */
  readonly call: string
  /** Name of the route, for the record. */
  readonly route: string
}

/** An answer as it is kept. */
export interface PaidAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
}

/** A payment that is good and held for one call; it is settled or released, once. */
export interface OpenPayment {
  /** Its name on the log. */
  readonly id: string
  readonly payer: string
  readonly authorization: Authorization
  /** Makes the payment; the answer is kept to be fetched again. What failed has cost nothing, unless it is `pending`. */
  settle(answer?: PaidAnswer): Promise<{ readonly transaction: string } | PaymentFailure>
  /** Gives a payment back that is not being settled. */
  release(): void
}

/** Why a payment was not made. */
export interface PaymentFailure {
  readonly problem: string
  readonly payer?: string
  /** It may still come true: the same payment for the same call asks again. */
  readonly isPending?: true
}

/** What became of a payment that a client shows. */
export type StartedPayment =
  | { readonly kind: 'open'; readonly payment: OpenPayment }
  /** Paid before, for the same call: its answer. */
  | {
      readonly kind: 'paid'
      readonly id: string
      readonly payer: string
      readonly transaction: string
      /** undefined: kept no longer, or it was none to be kept. */
      readonly answer: PaidAnswer | undefined
    }
  | ({ readonly kind: 'refused' } & PaymentFailure)

/** Payments of calls. */
export interface Payments {
  /**
   * Verifies a payment and holds its nonce. Throws `Fault` SERVER_BUSY where too many are under way, DATABASE_ERROR while
   * the log cannot be followed.
   */
  start(call: PaidCall): Promise<StartedPayment>
  /** Whether a payment is under way in this process, by its name on the log. */
  isHeld(id: string): boolean
}

/** What payments work with. */
export interface PaymentsDeps {
  readonly facilitatorOf: (network: PaymentNetworkName) => Facilitator
  readonly paymentLog: Pick<PaymentLog, 'find' | 'bodyOf' | 'put' | 'drop' | 'isFresh'>
  readonly metrics: Pick<Metrics, 'payments'>
  readonly nowMs: () => number
  readonly log: Logger
}

/**
 * Payments over the log. A nonce is held in memory while its call runs, and written down before anything may move money: what was
 * interrupted between the two has cost nothing, and what was interrupted later is looked up on the chain when its payer comes back.
 */
export const createPayments = (deps: PaymentsDeps): Payments => {
  const { paymentLog, nowMs, metrics } = deps
  const held = new Map<string, string>()
  const refuse = (problem: string, payer?: string): StartedPayment => {
    metrics.payments.inc({ outcome: 'refused' })
    return { kind: 'refused', problem, ...(payer !== undefined && { payer }) }
  }
  return {
    isHeld: (id) => held.has(id),
    start: async (paid) => {
      const payment = await verifyExactEvm(paid, nowMs())
      if (typeof payment === 'string') return refuse(payment)
      if (!paymentLog.isFresh()) throw new Fault('DATABASE_ERROR')
      const id = paymentId(payment)
      const row = paymentLog.find(id)
      const taken = problemOfUse(held.get(id), row, paid.call)
      if (taken !== undefined) return refuse(taken, payment.from)
      if (row?.state === 'settled') {
        const answer = keptAnswer(row, paymentLog.bodyOf(id))
        metrics.payments.inc({ outcome: 'replayed' })
        return { kind: 'paid', id, payer: payment.from, transaction: row.transaction, answer }
      }
      if (held.size >= MAX_OPEN) throw new Fault('SERVER_BUSY')
      held.set(id, paid.call)
      const release = (): void => {
        held.delete(id)
      }
      const facilitator = deps.facilitatorOf(paid.offer.network)
      const problem = row ? undefined : await verifySafely(facilitator, payment, deps)
      if (problem !== undefined) {
        release()
        return refuse(problem, payment.from)
      }
      return {
        kind: 'open',
        payment: openPayment({ ...deps, facilitator }, { id, paid, payment, row, release }),
      }
    },
  }
}

/** A payment by what the chain knows it by. */
const paymentId = ({ offer: { network, asset }, from, nonce }: VerifiedPayment): string =>
  `${network}:${asset.toLowerCase()}:${from}:${nonce}`

const problemOfUse = (
  heldFor: string | undefined,
  row: PaymentRow | undefined,
  call: string,
): PaymentProblem | undefined => {
  if (heldFor !== undefined)
    return heldFor === call ? 'duplicate_settlement' : 'invalid_transaction_state'
  return row !== undefined && row.call !== call ? 'invalid_transaction_state' : undefined
}

const verifySafely = async (
  facilitator: Facilitator,
  payment: VerifiedPayment,
  { log }: Pick<PaymentsDeps, 'log'>,
): Promise<string | undefined> => {
  try {
    return await facilitator.verify(payment)
  } catch (error) {
    log.warn({ err: error, network: payment.offer.network }, 'payment could not be verified')
    return 'unexpected_verify_error'
  }
}

const keptAnswer = (
  { status, content_type: contentType }: PaymentRow,
  body: Uint8Array | undefined,
): PaidAnswer | undefined =>
  body && {
    status,
    contentType,
    body: inflateRawSync(body, { maxOutputLength: MAX_KEPT_BYTES }),
  }

interface HeldPayment {
  readonly id: string
  readonly paid: PaidCall
  readonly payment: VerifiedPayment
  /** An earlier try whose outcome is not known. */
  readonly row: PaymentRow | undefined
  readonly release: () => void
}

const openPayment = (
  deps: PaymentsDeps & { readonly facilitator: Facilitator },
  given: HeldPayment,
): OpenPayment => {
  const { log, metrics } = deps
  let state: 'held' | 'settling' | 'over' = 'held'
  const { from: payer, offer } = given.payment
  return {
    id: given.id,
    payer,
    authorization: given.payment,
    release: () => {
      if (state !== 'held') return
      state = 'over'
      given.release()
    },
    settle: async (answer) => {
      if (state !== 'held') return { problem: 'invalid_transaction_state', payer }
      state = 'settling'
      try {
        const outcome = await settle(deps, given, answer)
        metrics.payments.inc({ outcome: 'problem' in outcome ? 'failed' : 'settled' })
        return outcome
      } catch (error) {
        log.error({ err: error, network: offer.network, payer }, 'settlement of a payment failed')
        metrics.payments.inc({ outcome: 'failed' })
        // Something may have been sent before it failed.
        return { problem: 'unexpected_settle_error', payer, isPending: true }
      } finally {
        state = 'over'
        given.release()
      }
    },
  }
}

const settle = async (
  deps: PaymentsDeps & { readonly facilitator: Facilitator },
  { id, paid, payment, row }: HeldPayment,
  answer: PaidAnswer | undefined,
): Promise<{ readonly transaction: string } | PaymentFailure> => {
  const { facilitator, paymentLog, nowMs, log } = deps
  const { from: payer } = payment
  const attempt = ulid(nowMs())
  let version = row?.version ?? 0
  const write = async (
    state: 'settling' | 'settled',
    transaction: string,
    kept: Pick<Payment, 'status' | 'content_type' | 'body'>,
  ): Promise<boolean> => {
    version += 1
    const at = { attempt, transaction, updated_at: nowMs(), version }
    return paymentLog.put({ ...paymentFields(id, paid, payment), state, ...at, ...kept })
  }
  const outcome = await facilitator.settle({
    payment,
    ...(row && { earlier: row.transaction }),
    beforeSend: async (transaction) => {
      if (!(await write('settling', transaction, NOTHING_KEPT)))
        throw new Error('another process settles the payment')
    },
  })
  if ('problem' in outcome) {
    if (outcome.isFinal && version > 0) await paymentLog.drop(id)
    return { problem: outcome.problem, payer, ...(!outcome.isFinal && { isPending: true }) }
  }
  // The payment is made: its payer gets the answer also where the record of it fails.
  await write('settled', outcome.transaction, keep(answer)).catch((error: unknown) =>
    log.error({ err: error, payer }, 'settled payment could not be recorded'),
  )
  return outcome
}

const NOTHING_KEPT = { status: 0, content_type: '', body: new Uint8Array() }

const keep = (
  answer: PaidAnswer | undefined,
): Pick<Payment, 'status' | 'content_type' | 'body'> => {
  if (answer === undefined || Buffer.byteLength(answer.body) > MAX_KEPT_BYTES) return NOTHING_KEPT
  const body = deflateRawSync(answer.body)
  if (body.byteLength > MAX_DEFLATED_BYTES) return NOTHING_KEPT
  return { status: answer.status, content_type: answer.contentType, body }
}

const paymentFields = (
  id: string,
  { offer, call, route }: PaidCall,
  { from, nonce, validBefore }: VerifiedPayment,
) => ({
  payment_id: id,
  network: offer.network,
  asset: offer.asset,
  payer: from,
  nonce,
  amount_raw: `${offer.amountRaw}`,
  pay_to: offer.payTo,
  call,
  route,
  valid_before: Number(validBefore) * 1_000,
})
