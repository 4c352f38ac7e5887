import {
  addressRules,
  type OutboundClient,
  openOutboundClient,
} from '../../core/http/guarded-client.ts'
import { isJsonObject, parseJson } from '../../core/json.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Facilitator, VerifiedPayment } from './contract.ts'
import { requirementsV1, requirementsV2 } from './terms.ts'

const VERIFY_TIMEOUT_MS = 10_000
/** A settlement waits for its transaction. */
const SETTLE_TIMEOUT_MS = 45_000
const MAX_ANSWER_BYTES = 65_536
/** The operator names the facilitator: it may be anywhere. */
const ANYWHERE = ['0.0.0.0/0', '::/0']
const PROBLEM_PATTERN = /^[a-z0-9_]{1,128}$/

/** What asking a facilitator elsewhere needs. */
export interface RemoteFacilitatorDeps {
  /** Base address, `/verify` and `/settle` follow it. */
  readonly url: string
  readonly log: Logger
  /** Asks the chain for a transfer, where there is a node. */
  readonly lookUp?: Facilitator['lookUp']
  /** Balance of a payer in base units of the token, where there is a node. */
  readonly payerBalanceRaw?: (payment: VerifiedPayment) => Promise<bigint>
}

/**
 * A facilitator behind its HTTP interface. A settlement whose answer did not come stays open: when its payer comes back, the chain
 * is asked first, because a facilitator says of a nonce that it settled itself only that it is used.
 */
export const createRemoteFacilitator = ({
  url,
  log,
  lookUp,
  payerBalanceRaw,
}: RemoteFacilitatorDeps): Facilitator => {
  const client = openOutboundClient({ rules: addressRules(ANYWHERE), plainHttp: 'listed' })
  const base = url.replace(/\/+$/, '')
  return {
    verify: async (payment, openRaw) => {
      const answer = await post(client, `${base}/verify`, payment, VERIFY_TIMEOUT_MS)
      if (answer?.isValid !== true)
        return problemText(answer?.invalidReason) ?? 'unexpected_verify_error'
      if (openRaw <= payment.valueRaw || payerBalanceRaw === undefined) return undefined
      return (await payerBalanceRaw(payment)) < openRaw ? 'insufficient_funds' : undefined
    },
    settle: async ({ payment, earlier, beforeSend }) => {
      const made = earlier === undefined ? undefined : await lookUp?.(payment, earlier)
      if (typeof made === 'object') return made
      await beforeSend('')
      try {
        const answer = await post(client, `${base}/settle`, payment, SETTLE_TIMEOUT_MS)
        if (answer?.success === true) return { transaction: String(answer.transaction ?? '') }
        const problem = problemText(answer?.errorReason) ?? 'unexpected_settle_error'
        // With a transaction it may be mined yet; after an open try the nonce may be used by that.
        const isFinal = answer?.success === false && !answer.transaction && earlier === undefined
        return { problem, isFinal }
      } catch (error) {
        log.warn({ err: error }, 'facilitator did not answer')
        return { problem: 'unexpected_settle_error', isFinal: false }
      }
    },
    lookUp: lookUp ?? (async () => 'unknown'),
    close: () => client.close(),
  }
}

const problemText = (value: unknown): string | undefined =>
  typeof value === 'string' && PROBLEM_PATTERN.test(value) ? value : undefined

const post = async (
  client: OutboundClient,
  url: string,
  payment: VerifiedPayment,
  timeoutMs: number,
): Promise<Readonly<Record<string, unknown>> | undefined> => {
  const { start, broken } = await client.exchange(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(facilitatorRequest(payment)),
    timeoutMs,
    mostBytes: MAX_ANSWER_BYTES,
  })
  if (broken !== undefined) throw broken
  const answer = parseJson(start.toString('utf8'))
  return isJsonObject(answer) ? answer : undefined
}

/** The payment as its client sent it, with the terms that it was held against. */
const facilitatorRequest = ({ offer, payload, version, resource }: VerifiedPayment): object => {
  if (version === 1) {
    const paymentRequirements = requirementsV1(offer, resource)
    const { scheme, network } = paymentRequirements
    return {
      x402Version: version,
      paymentPayload: { x402Version: version, scheme, network, payload },
      paymentRequirements,
    }
  }
  const paymentRequirements = requirementsV2(offer)
  return {
    x402Version: version,
    paymentPayload: { x402Version: version, resource, accepted: paymentRequirements, payload },
    paymentRequirements,
  }
}
