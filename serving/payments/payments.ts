import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ulid } from 'ulid'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { isSvmNetwork, type PaymentNetworkName } from '../../schemas/payment-networks.ts'
import type { Payment } from '../../schemas/wire.ts'
import { createSignatureLimit } from '../auth/signature-limit.ts'
import type {
  Authorization,
  Facilitator,
  Offer,
  PaymentProblem,
  PresentedPayment,
  VerifiedPayment,
  WellFormedPayment,
} from './contract.ts'
import { identifyPayment, readExact, verifyExact } from './exact.ts'
import { feeLamportsOf } from './exact-svm.ts'
import { createFailedFees, type FailedFees } from './failed-fees.ts'
import { createOpenAmounts } from './open-amounts.ts'
import type { PaymentLog, PaymentRow } from './payment-log.ts'
import { createPaymentPlaces, type PaymentPlace } from './payment-places.ts'
import { createUnpaidCalls, type UnpaidCaller } from './unpaid-calls.ts'

/** Wrong signatures that one address may show in a second: each costs a millisecond of computing. */
const WRONG_SIGNATURES_PER_SECOND = 20
/** Largest answer that is kept to be fetched again, before and after it is deflated. */
const MAX_KEPT_BYTES = 1_048_576
const MAX_DEFLATED_BYTES = 262_144

/** A call that is to be paid. */
export interface PaidCall extends PresentedPayment {
  /** Digest of method, address with its query and body: one payment buys one call. */
  readonly call: string
  /** Name of the route, for the record. */
  readonly route: string
  /** Network address of the client. */
  readonly address: string
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
  /** Gives a payment back that is not being settled. `isFree`: the call does not count as unpaid work; default false. */
  release(isFree?: boolean): void
}

/** Reason in the details of `Fault` FORBIDDEN where the payer is labelled as a severe risk. */
const SEVERE_PAYER = 'payer_severe_risk'

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
   * The offers, with amount and recipient as they were when the authorization in `payload` was taken before: what was paid for is
   * fetched and finished at its own price, whatever the operator changed since.
   */
  offersAsTaken(offers: readonly Offer[], payload: PresentedPayment['payload']): readonly Offer[]
  /** What is wrong with the form, recipient or amount of a payment: no more is needed to refuse it. */
  problemOf(presented: PresentedPayment): PaymentProblem | undefined
  /**
   * Verifies a payment and holds its nonce. Throws `Fault` SERVER_BUSY where too many are under way, CONCURRENCY_LIMIT where
   * too many of its payer are, or too many of its address are being verified, RATE_LIMIT where its address has shown too many wrong
   * signatures, or it or the payer has made too many calls that were not paid, what `FailedFees` throws for a new payment on Solana, FORBIDDEN with reason `SEVERE_PAYER` where the
   * payer is labelled as a severe risk, DATABASE_ERROR while the log cannot be followed; `Outage` while labels cannot be read.
   */
  start(call: PaidCall): Promise<StartedPayment>
  /** Whether a payment is under way in this process, by its name on the log. */
  isHeld(id: string): boolean
}

/** What payments work with. */
export interface PaymentsDeps {
  readonly facilitatorOf: (network: PaymentNetworkName) => Facilitator
  /** Whether an address is labelled as a severe risk: it cannot pay. Throws `Outage` while labels cannot be read. */
  readonly hasSevereLabel: (address: string) => Promise<boolean>
  readonly paymentLog: Pick<PaymentLog, 'find' | 'bodyOf' | 'put' | 'drop' | 'isFresh'>
  readonly metrics: Pick<Metrics, 'payments' | 'paymentFailedFees'>
  readonly nowMs: () => number
  readonly log: Logger
  /** Lamports that payments on Solana which fail in their blocks may cost in an hour. */
  readonly failedFeesPerHour: number
}

/**
 * Payments over the log. A nonce is held in memory while its call runs, and written down before anything may move money: what was
 * interrupted between the two has cost nothing, and what was interrupted later is looked up on the chain when its payer comes back.
 */
export const createPayments = (deps: PaymentsDeps): Payments => {
  const { paymentLog, nowMs, metrics } = deps
  const holds = createHolds(nowMs)
  const failedFees = createFailedFees({ lamportsPerHour: deps.failedFeesPerHour, metrics, nowMs })
  const signatures = createSignatureLimit(WRONG_SIGNATURES_PER_SECOND)
  const refuse = (problem: string, payer?: string): StartedPayment => {
    metrics.payments.inc({ outcome: 'refused' })
    return { kind: 'refused', problem, ...(payer !== undefined && { payer }) }
  }
  const verifyForm = (paid: PaidCall): Promise<VerifiedPayment | PaymentProblem> =>
    verifyExact(paid, {
      nowMs: nowMs(),
      isRecorded: (presented) => {
        if (!paymentLog.isFresh()) throw new Fault('DATABASE_ERROR')
        return paymentLog.find(paymentId(presented)) !== undefined
      },
      limitCheck: async (check) => {
        const answer = await signatures.check(paid.address, {
          local: async () => ((await check()) ? 'good' : 'wrong'),
        })
        if (answer instanceof Fault) throw answer
        return answer === 'good'
      },
    })
  return {
    isHeld: (id) => holds.callOf(id) !== undefined,
    offersAsTaken: (offers, payload) => {
      return offers.map((offer) => {
        const signed = identifyPayment(offer, payload)
        const row = signed && paymentLog.find(paymentId({ offer, ...signed }))
        if (row === undefined) return offer
        const { amount_raw, pay_to: payTo } = row
        const { svm } = signed ?? {}
        return { ...offer, amountRaw: BigInt(amount_raw), payTo, ...(svm && { svm }) }
      })
    },
    problemOf: (presented) => {
      const read = readExact(presented, nowMs())
      if (typeof read !== 'string') return undefined
      metrics.payments.inc({ outcome: 'refused' })
      return read
    },
    start: async (paid) => {
      const payment = await verifyForm(paid)
      if (typeof payment === 'string') return refuse(payment)
      if (!paymentLog.isFresh()) throw new Fault('DATABASE_ERROR')
      const id = paymentId(payment)
      const row = paymentLog.find(id)
      const taken = problemOfUse(holds.callOf(id), row, paid.call)
      if (taken !== undefined) return refuse(taken, payment.from)
      if (row?.state === 'settled') {
        const answer = storedAnswer(row, paymentLog.bodyOf(id))
        metrics.payments.inc({ outcome: 'replayed' })
        return { kind: 'paid', id, payer: payment.from, transaction: row.transaction, answer }
      }
      const refusal = feeRefusal(failedFees, { paid, payment, row })
      if (refusal !== undefined) throw refusal
      const facilitator = deps.facilitatorOf(paid.offer.network)
      const hold = holds.add(id, paid, payment)
      const given = { id, paid, payment, row, end: hold.end }
      const problem = await admit({ ...deps, facilitator }, given, hold)
      if (problem !== undefined) return refuse(problem, payment.from)
      return { kind: 'open', payment: openPayment({ ...deps, facilitator, failedFees }, given) }
    },
  }
}

/**
 * Why a payment is not taken that may cost a fee: on Solana a transaction that fails in its block costs its payer nothing. One that was tried
 * before is finished.
 */
const feeRefusal = (
  failedFees: FailedFees,
  { paid: { offer, address }, payment, row }: Pick<HeldPayment, 'paid' | 'payment' | 'row'>,
): Fault | undefined =>
  row === undefined && isSvmNetwork(offer.network)
    ? failedFees.refusal({ payer: payment.from, address })
    : undefined

/** How a held payment ends. */
interface HoldEnd {
  /** The call is paid, or was not worked for. */
  readonly isFree: boolean
  /** A transaction of the payment may still be mined. */
  readonly isUndecided: boolean
}

/** Payments under way: their nonces, their amounts, and calls that are not paid yet. */
const createHolds = (nowMs: () => number) => {
  const calls = new Map<string, string>()
  const amounts = createOpenAmounts(nowMs)
  const unpaid = createUnpaidCalls(nowMs)
  const places = createPaymentPlaces()
  return {
    callOf: (id: string): string | undefined => calls.get(id),
    /** Throws `Fault` where there are too many. `openRaw`: what the payer has open, this payment included; `place`: where it is verified. */
    add: (id: string, { call, address }: PaidCall, payment: VerifiedPayment) => {
      places.check(address)
      const caller: UnpaidCaller = { payer: payment.from, address }
      unpaid.take(caller)
      const openRaw = amounts.add(id, payment)
      if (openRaw === undefined) {
        unpaid.giveBack(caller)
        throw new Fault('CONCURRENCY_LIMIT', 'Too many payments of the payer are under way')
      }
      calls.set(id, call)
      const place = places.take(address)
      const end = ({ isFree, isUndecided }: HoldEnd): void => {
        calls.delete(id)
        amounts.end(id, payment, isUndecided)
        place.leave()
        if (isFree) unpaid.giveBack(caller)
      }
      return { openRaw, place, end }
    },
  }
}

/** A payment by what the chain knows it by. */
const paymentId = ({
  offer: { network, asset },
  from,
  nonce,
}: Pick<WellFormedPayment, 'offer' | 'from' | 'nonce'>): string =>
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

/**
 * Verifies a held payment and looks at the labels of its payer; an earlier try of the payment was both. Answers why it is refused, and ends
 * the hold then. Throws `Fault` FORBIDDEN, and SERVER_BUSY where no place is left.
 */
const admit = async (
  deps: PaymentsDeps & { readonly facilitator: Facilitator },
  { payment, row, end }: HeldPayment,
  { openRaw, place }: { readonly openRaw: bigint; readonly place: PaymentPlace },
): Promise<string | undefined> => {
  let isAdmitted = false
  try {
    if (row === undefined) {
      const problem = await verifySafely(deps.facilitator, { payment, openRaw }, deps)
      if (problem !== undefined) return problem
      if (await deps.hasSevereLabel(payment.from)) {
        deps.metrics.payments.inc({ outcome: 'refused' })
        throw new Fault('FORBIDDEN', 'The payer cannot pay here', { reason: SEVERE_PAYER })
      }
    }
    if (!place.open()) throw new Fault('SERVER_BUSY')
    isAdmitted = true
    return undefined
  } finally {
    if (!isAdmitted) end({ isFree: true, isUndecided: row !== undefined })
  }
}

const verifySafely = async (
  facilitator: Facilitator,
  { payment, openRaw }: { readonly payment: VerifiedPayment; readonly openRaw: bigint },
  { log }: Pick<PaymentsDeps, 'log'>,
): Promise<string | undefined> => {
  try {
    return await facilitator.verify(payment, openRaw)
  } catch (error) {
    log.warn({ err: error, network: payment.offer.network }, 'payment verification failed')
    return 'unexpected_verify_error'
  }
}

const storedAnswer = (
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
  readonly end: (how: HoldEnd) => void
}

const FAILED_IN_BLOCK = 'invalid_exact_svm_transaction_failed' satisfies PaymentProblem

const openPayment = (
  deps: PaymentsDeps & { readonly facilitator: Facilitator; readonly failedFees: FailedFees },
  given: HeldPayment,
): OpenPayment => {
  const { log, metrics } = deps
  let state: 'held' | 'settling' | 'over' = 'held'
  const { from: payer, offer } = given.payment
  return {
    id: given.id,
    payer,
    authorization: given.payment,
    release: (isFree = false) => {
      if (state !== 'held') return
      state = 'over'
      given.end({ isFree, isUndecided: given.row !== undefined })
    },
    settle: async (answer) => {
      if (state !== 'held') return { problem: 'invalid_transaction_state', payer }
      // Others may have failed while the call ran.
      if (feeRefusal(deps.failedFees, given) !== undefined) {
        state = 'over'
        given.end({ isFree: false, isUndecided: false })
        metrics.payments.inc({ outcome: 'failed' })
        return { problem: 'unexpected_settle_error', payer }
      }
      state = 'settling'
      let end: HoldEnd = { isFree: false, isUndecided: true }
      try {
        const outcome = await settle(deps, given, answer)
        const isFailed = 'problem' in outcome
        if (isFailed && outcome.problem === FAILED_IN_BLOCK) {
          const { address } = given.paid
          deps.failedFees.add({ payer, address }, feeLamportsOf(given.payment.payload))
        }
        end = { isFree: !isFailed, isUndecided: isFailed && outcome.isPending === true }
        metrics.payments.inc({ outcome: isFailed ? 'failed' : 'settled' })
        return outcome
      } catch (error) {
        log.error({ err: error, network: offer.network, payer }, 'payment settlement failed')
        metrics.payments.inc({ outcome: 'failed' })
        // Something may have been sent before it failed.
        return { problem: 'unexpected_settle_error', payer, isPending: true }
      } finally {
        state = 'over'
        given.end(end)
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
    if (outcome.isFinal && version > 0) await paymentLog.drop(id, version)
    return { problem: outcome.problem, payer, ...(!outcome.isFinal && { isPending: true }) }
  }
  // The payment is made: its payer gets the answer also where the record of it fails.
  const isRecorded = await write('settled', outcome.transaction, store(answer)).catch(
    (error: unknown) => {
      log.error({ err: error, payer }, 'failed to record settled payment')
      return true
    },
  )
  if (!isRecorded) log.error({ payment: id, payer }, 'another process changed a settled payment')
  return outcome
}

const NOTHING_KEPT = { status: 0, content_type: '', body: new Uint8Array() }

const store = (
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
