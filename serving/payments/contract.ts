import type { PaymentNetworkName } from '../../schemas/payment-networks.ts'

/** What one call costs on one network: what a payment has to be, to the base unit. */
export interface Offer {
  readonly network: PaymentNetworkName
  readonly amountRaw: bigint
  /** Token that pays and who is paid, as they are written for people: upper and lower case. */
  readonly asset: `0x${string}`
  readonly payTo: `0x${string}`
}

/** Why a payment is refused, by the names of the protocol. Source: x402 specification, error codes. */
export type PaymentProblem =
  | 'invalid_payload'
  | 'invalid_scheme'
  | 'unsupported_scheme'
  | 'invalid_network'
  | 'invalid_payment_requirements'
  | 'invalid_transaction_state'
  | 'duplicate_settlement'
  | 'insufficient_funds'
  | 'invalid_exact_evm_payload_signature'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before'
  | 'invalid_exact_evm_payload_authorization_value_mismatch'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'unexpected_verify_error'
  | 'unexpected_settle_error'

/** A transfer that a payer signed. Times in unix seconds, as they were signed. */
export interface Authorization {
  readonly from: `0x${string}`
  readonly to: `0x${string}`
  readonly valueRaw: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes in hex, lower case. */
  readonly nonce: `0x${string}`
}

/** What is sold: its public address without a query, and what it is. */
export interface Resource {
  readonly url: string
  readonly description: string
}

/** A payment as a client shows it, with the offer that it says it pays. */
export interface PresentedPayment {
  readonly offer: Offer
  readonly resource: Resource
  /** Version of the protocol that the client speaks. */
  readonly version: 1 | 2
  readonly payload: Readonly<Record<string, unknown>>
}

/** A transfer by what the chain knows it by. */
export interface AuthorizedTransfer
  extends Pick<Authorization, 'from' | 'to' | 'valueRaw' | 'nonce'> {
  readonly offer: Pick<Offer, 'network' | 'asset'>
}

/**
 * What the chain says of a transfer whose outcome is not known here: its transaction; `unused`: its nonce is not used; `used`: it is,
 * and no transfer to us was found; `unknown`: there is no node to ask.
 */
export type TransferState = { readonly transaction: string } | 'unused' | 'used' | 'unknown'

/** A payment that is well-formed, to the recipient and of the amount of its offer; its signature may be wrong. */
export interface WellFormedPayment extends Authorization, PresentedPayment {
  readonly signature: `0x${string}`
}

/** A payment whose times and signature are good too. */
export type VerifiedPayment = WellFormedPayment

/** What is to be settled. */
export interface SettlementOrder {
  readonly payment: VerifiedPayment
  /** Transaction of an earlier try whose outcome is not known; `''`: there was a try without a known transaction. */
  readonly earlier?: string
  /** Called before anything that may move money, with the transaction where it is known: what is not written down is not sent. */
  readonly beforeSend: (transaction: string) => Promise<void>
}

/** How a settlement ended. `isFinal` false: it may still come true, so the payment is kept apart. */
export type SettlementOutcome =
  | { readonly transaction: string }
  | { readonly problem: string; readonly isFinal: boolean }

/** Payments under way at once in a process; each holds an answer, and may wait for its turn to be sent. */
export const MAX_OPEN_PAYMENTS = 256

/** Checks payments against the chain and makes them. It never throws for a payment: what goes wrong is a problem. */
export interface Facilitator {
  /**
   * undefined: the chain would take the payment now, and the payer's balance covers `openRaw`: what the payer has open on the
   * network, this payment included.
   */
  verify(payment: VerifiedPayment, openRaw: bigint): Promise<string | undefined>
  settle(order: SettlementOrder): Promise<SettlementOutcome>
  /** Looks for a transfer that may have been made; `earlier`: its transaction, where that is known. Throws `Outage`. */
  lookUp(transfer: AuthorizedTransfer, earlier: string): Promise<TransferState>
  close(): Promise<void>
}
