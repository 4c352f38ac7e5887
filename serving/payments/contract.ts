import type { PaymentNetworkName } from '../../schemas/payment-networks.ts'

/** What one call costs on one network: what a payment has to be, to the base unit. */
export interface Offer {
  readonly network: PaymentNetworkName
  readonly amountRaw: bigint
  /** Token that pays and who is paid, as they are written for people: upper and lower case. */
  readonly asset: string
  readonly payTo: string
  /** Present on networks of Solana. */
  readonly svm?: SvmTerms
}

/** What a transaction of Solana has to be beside what it pays. */
export interface SvmTerms {
  /** Account that signs last and pays the fee. */
  readonly feePayer: string
  /** Most lamports that its signatures and its computation may cost. */
  readonly maxFeeLamports: number
  /** Text of its one memo; undefined: any memos. */
  readonly memo?: string
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
  | SvmPaymentProblem
  | 'unexpected_verify_error'
  | 'unexpected_settle_error'

/** Why a transaction of Solana is refused. Source: x402, exact scheme on SVM, error codes of its facilitators. */
export type SvmPaymentProblem =
  | 'invalid_exact_svm_payload_transaction'
  | 'invalid_exact_svm_payload_transaction_could_not_be_decoded'
  | 'invalid_exact_svm_fee_payer_mismatch'
  | 'invalid_exact_svm_payload_excessive_signers'
  | 'invalid_exact_svm_payload_signature_invalid'
  | 'invalid_exact_svm_payload_transaction_instructions_length'
  | 'invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction'
  | 'invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction_too_high'
  | 'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction'
  | 'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high'
  | 'invalid_exact_svm_payload_no_transfer_instruction'
  | 'invalid_exact_svm_payload_transaction_fee_payer_included_in_instruction_accounts'
  | 'invalid_exact_svm_payload_transaction_fee_payer_transferring_funds'
  | 'invalid_exact_svm_payload_mint_mismatch'
  | 'invalid_exact_svm_payload_recipient_mismatch'
  | 'invalid_exact_svm_payload_amount_mismatch'
  | 'invalid_exact_svm_payload_unknown_fourth_instruction'
  | 'invalid_exact_svm_payload_unknown_fifth_instruction'
  | 'invalid_exact_svm_payload_unknown_sixth_instruction'
  | 'invalid_exact_svm_payload_memo_count'
  | 'invalid_exact_svm_payload_memo_mismatch'
  | 'invalid_exact_svm_transaction_simulation_failed'
  | 'invalid_exact_svm_transaction_failed'

/** A transfer that a payer signed. Times in unix seconds, as they were signed; on Solana the longest that its transaction can live. */
export interface Authorization {
  /** EVM in lower case. */
  readonly from: string
  readonly to: string
  readonly valueRaw: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** EVM: 32 bytes in hex, lower case. Solana: blockhash and SHA-256 of the signed message, both in base 58, with a dot between. */
  readonly nonce: string
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
  extends Pick<Authorization, 'from' | 'to' | 'valueRaw' | 'nonce' | 'validBefore'> {
  readonly offer: Pick<Offer, 'network' | 'asset'>
}

/**
 * What the chain says of a transfer whose outcome is not known here: its transaction; `unused`: its nonce is not used; `used`: it is,
 * and no transfer to us was found; `unknown`: there is no node to ask.
 */
export type TransferState = { readonly transaction: string } | 'unused' | 'used' | 'unknown'

/** A payment that is well-formed, to the recipient and of the amount of its offer; its signature may be wrong. */
export interface WellFormedPayment extends Authorization, PresentedPayment {
  /** EVM in hex, Solana in base 58. */
  readonly signature: string
}

declare const IS_VERIFIED: unique symbol

/** A payment whose times and signature are good too. Only `verifyExactEvm` and `verifyExactSvm` make one: nothing else is settled. */
export interface VerifiedPayment extends WellFormedPayment {
  readonly [IS_VERIFIED]: true
}

/** How a payment is checked. */
export interface PaymentCheck {
  readonly nowMs: number
  /** Times are not checked where it knows the payment: it has been used, and its answer is kept longer than it is valid. */
  readonly isRecorded?: (payment: WellFormedPayment) => boolean
  /** Runs the check of the signature, or throws instead; default: no limit. */
  readonly limitCheck?: (check: () => Promise<boolean>) => Promise<boolean>
}

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

/** Payments that are verified and not settled at once in a process; each holds an answer, and may wait for its turn to be sent. */
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
