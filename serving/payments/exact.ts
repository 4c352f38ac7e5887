import { isSvmNetwork } from '../../schemas/payment-networks.ts'
import type {
  Offer,
  PaymentCheck,
  PaymentProblem,
  PresentedPayment,
  SvmTerms,
  VerifiedPayment,
  WellFormedPayment,
} from './contract.ts'
import { readAuthorization, readExactEvm, verifyExactEvm } from './exact-evm.ts'
import { identifySvm, readExactSvm, verifyExactSvm } from './exact-svm.ts'

/** Checks a payment without a node: form, recipient, amount, times, then its signature. Answers the first problem. Throws what `limitCheck` throws. */
export const verifyExact = (
  presented: PresentedPayment,
  check: PaymentCheck,
): Promise<VerifiedPayment | PaymentProblem> =>
  isSvmNetwork(presented.offer.network)
    ? verifyExactSvm(presented, check)
    : verifyExactEvm(presented, check)

/** Reads a payment whose times and signature are not checked. Answers the first problem. */
export const readExact = (
  presented: PresentedPayment,
  nowMs: number,
): WellFormedPayment | PaymentProblem =>
  isSvmNetwork(presented.offer.network) ? readExactSvm(presented, nowMs) : readExactEvm(presented)

/** What a payment names itself by on the network of an offer, not checked; undefined where it cannot be read. */
export interface PaymentIdentity {
  readonly from: string
  readonly nonce: string
  /** What its transaction is bound to: the digest in its nonce covers it. Solana only. */
  readonly svm?: SvmTerms
}

/** Reads what names a payment. */
export const identifyPayment = (
  { network }: Pick<Offer, 'network'>,
  payload: PresentedPayment['payload'],
): PaymentIdentity | undefined => {
  if (!isSvmNetwork(network)) return readAuthorization(payload)?.authorization
  const read = identifySvm(payload)
  if (read === undefined) return undefined
  const { from, nonce, feePayer } = read
  return { from, nonce, svm: { feePayer, maxFeeLamports: Number.MAX_SAFE_INTEGER } }
}
