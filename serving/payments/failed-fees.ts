import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts'
import type { UnpaidCaller } from './unpaid-calls.ts'

/** After a payment that failed in its block, new ones of its payer rest for so long, and those of its address (IPv6: its /64). */
const PAYER_REST_MS = 10 * MINUTE_MS
const ADDRESS_REST_MS = MINUTE_MS
/** Payers and addresses that rest: the least recent are forgotten beyond. */
const MAX_RESTING = 10_000

/** What the operator paid for payments on Solana that failed in their blocks, and who has to wait for that. */
export interface FailedFees {
  /**
   * Why a payment is not taken now, and counts it; undefined: it is. `Fault` RATE_LIMIT while payments of the payer or the address rest,
   * SERVER_BUSY with reason `failed_fees` while the fees of the hour are spent: then no payment is taken on Solana.
   */
  refusal(caller: UnpaidCaller): Fault | undefined
  /** A payment has failed in its block, for a fee of so many lamports. */
  add(caller: UnpaidCaller, lamports: bigint): void
}

/** Fees of this process. `lamportsPerHour` may be spent at once, and come back in an hour. */
export const createFailedFees = ({
  lamportsPerHour,
  metrics,
  nowMs,
}: {
  readonly lamportsPerHour: number
  readonly metrics: Pick<Metrics, 'payments' | 'paymentFailedFees'>
  readonly nowMs: () => number
}): FailedFees => {
  const restUntilMs = new LRUCache<string, number>({ max: MAX_RESTING })
  const spent = { lamports: 0, atMs: nowMs() }
  const refill = (): void => {
    const pastMs = Math.max(0, nowMs() - spent.atMs)
    spent.lamports = Math.max(0, spent.lamports - (pastMs / HOUR_MS) * lamportsPerHour)
    spent.atMs = nowMs()
  }
  const rests = (fault: Fault): Fault => {
    metrics.payments.inc({ outcome: 'rested' })
    return fault
  }
  return {
    refusal: (caller) => {
      refill()
      if (spent.lamports >= lamportsPerHour) {
        const waitMs = ((spent.lamports - lamportsPerHour) / lamportsPerHour) * HOUR_MS
        const details = { reason: 'failed_fees', reset_at: secondsAt(nowMs() + waitMs) }
        return rests(new Fault('SERVER_BUSY', 'Too many payments on Solana have failed', details))
      }
      const untilMs = Math.max(...keysOf(caller).map(([key]) => restUntilMs.get(key) ?? 0))
      if (untilMs <= nowMs()) return undefined
      const details = { limit: 1, remaining: 0, reset_at: secondsAt(untilMs) }
      return rests(new Fault('RATE_LIMIT', 'A payment has failed in its block', details))
    },
    add: (caller, lamports) => {
      refill()
      spent.lamports += Number(lamports)
      metrics.paymentFailedFees.inc({}, Number(lamports))
      for (const [key, restMs] of keysOf(caller)) restUntilMs.set(key, nowMs() + restMs)
    },
  }
}

const secondsAt = (ms: number): number => Math.ceil(ms / 1_000)

const keysOf = ({ payer, address }: UnpaidCaller) =>
  [
    [`payer:${payer}`, PAYER_REST_MS],
    [`address:${rateLimitAddress(address)}`, ADDRESS_REST_MS],
  ] as const
