import { LRUCache } from 'lru-cache'
import type { LogRecord, ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { DAY_MS, MINUTE_MS } from '../../core/time.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Payment } from '../../schemas/wire.ts'
import { type ControlLogDeps, openControlLog } from '../auth/control-log.ts'

const TOPIC = globalTopic('controlPayments')
/** Two logs of one process under one id would fence each other. */
const WRITER_ID = 'control-payments-writer'

/** How long an answer that was paid for can be fetched again. */
const REPLAY_MS = DAY_MS
/** Beyond the end of its authorization a use need not be remembered: the chain refuses it. So long, that what it was for is finished before. */
const AFTER_END_MS = 10 * MINUTE_MS
/** Answers that are kept to be fetched again, deflated; then the oldest are forgotten, but not that they were paid. */
const MAX_ANSWER_BYTES = 64 * 1_048_576
/** Payments between two looks for those that are over. */
const PRUNE_EVERY = 1_000

/** A payment under its key, without the answer that it bought. */
export type PaymentRow = Omit<Payment, 'body'>

/** Uses of authorizations, on the log: what stands here is never sold a second time, in this process or another. */
export interface PaymentLog {
  find(paymentId: string): PaymentRow | undefined
  /** Deflated body of the answer that a payment bought; undefined where it is kept no longer. */
  bodyOf(paymentId: string): Uint8Array | undefined
  /**
   * Writes the next version of a payment; durable when it returns. False: another call or process wrote it first, and nothing
   * changed. Throws `Outage`.
   */
  put(payment: Payment): Promise<boolean>
  /** Forgets a version of a payment that can no longer come true; a newer one stays. Throws `Outage`. */
  drop(paymentId: string, version: number): Promise<void>
  isFresh(): boolean
  stop(): Promise<void>
}

/** What the log needs of the process. */
export interface PaymentLogDeps
  extends Pick<ControlLogDeps, 'bus' | 'signer' | 'metrics' | 'nowMs' | 'log'> {
  readonly codec: Codec
}

/** Opens the log; returns when everything that was there is known. The topic must exist. */
export const openPaymentLog = async (deps: PaymentLogDeps): Promise<PaymentLog> => {
  const { codec, nowMs, log } = deps
  const rows = new Map<string, PaymentRow>()
  const bodies = new LRUCache<string, Uint8Array>({
    maxSize: MAX_ANSWER_BYTES,
    sizeCalculation: ({ byteLength }) => Math.max(1, byteLength),
  })
  let untilPrune = PRUNE_EVERY
  const prune = (): void => {
    untilPrune -= 1
    if (untilPrune > 0) return
    untilPrune = PRUNE_EVERY
    for (const [id, row] of rows) if (isOver(row, nowMs())) rows.delete(id)
  }
  const apply = (record: LogRecord): void => {
    const payment = readPayment(codec, log, record)
    if (payment === undefined) return
    rows.delete(record.key)
    bodies.delete(record.key)
    if (payment === null) return
    const { body, ...row } = payment
    rows.set(record.key, row)
    if (body.byteLength > 0) bodies.set(record.key, body)
    prune()
  }
  const control = await openControlLog({ ...deps, topics: [TOPIC], apply, writerId: WRITER_ID })
  const find = (paymentId: string): PaymentRow | undefined => {
    const row = rows.get(paymentId)
    return row === undefined || isOver(row, nowMs()) ? undefined : row
  }
  return {
    find,
    bodyOf: (paymentId) => (find(paymentId) ? bodies.get(paymentId) : undefined),
    put: async (payment) => {
      let isWritten = true
      await control.update(() => {
        const held = find(payment.payment_id)
        isWritten = payment.version === (held?.version ?? 0) + 1
        return isWritten
          ? [recordOf(payment.payment_id, codec.encode('control.Payment', payment))]
          : []
      })
      return isWritten
    },
    drop: (paymentId, version) =>
      control.update(() =>
        rows.get(paymentId)?.version === version ? [recordOf(paymentId, null)] : [],
      ),
    isFresh: control.isFresh,
    stop: control.stop,
  }
}

const isOver = ({ updated_at, valid_before }: PaymentRow, nowMs: number): boolean =>
  !isRemembered(updated_at, valid_before, nowMs)

/** Whether a payment that was written down at `writtenMs` or later, valid until `validBeforeMs`, is found at `nowMs`. */
export const isRemembered = (writtenMs: number, validBeforeMs: number, nowMs: number): boolean =>
  Math.max(writtenMs + REPLAY_MS, validBeforeMs + AFTER_END_MS) >= nowMs

const recordOf = (key: string, value: Uint8Array | null): ProducerRecord => ({
  topic: TOPIC,
  partition: 0,
  key,
  value,
})

/** undefined: a record that cannot be read changes nothing. */
const readPayment = (
  codec: Codec,
  log: Logger,
  { value, offset }: LogRecord,
): Payment | null | undefined => {
  if (value === null) return null
  try {
    return codec.decode('control.Payment', value)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    log.error({ err: error, offset }, 'invalid payment record')
    return undefined
  }
}
