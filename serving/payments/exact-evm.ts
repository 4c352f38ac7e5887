import { type Hex, recoverTypedDataAddress } from 'viem'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import { isCanonicalEvmSignature } from '../auth/wallet-signature.ts'
import type {
  Authorization,
  PaymentCheck,
  PaymentProblem,
  PresentedPayment,
  VerifiedPayment,
  WellFormedPayment,
} from './contract.ts'

/** The signed message. Source: EIP-3009. */
const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** Seconds that a signature has to be good for, so that it is still when its transaction is mined. Source: x402, exact scheme on EVM. */
const MIN_VALIDITY_SECONDS = 6
/** Longest validity: as long as that the use of a nonce is remembered. */
const MAX_VALIDITY_SECONDS = 86_400

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const NONCE = /^0x[0-9a-fA-F]{64}$/
/** A `uint256` has up to 78 digits. */
const DECIMAL = /^(0|[1-9]\d{0,77})$/
const MAX_UINT256 = 2n ** 256n - 1n

/**
 * Checks a payment of the exact scheme on the EVM without a node: form, recipient and amount to the base unit as `readExactEvm`,
 * times, then the signature of an account of its own key (contract wallets cannot pay), which costs computing. Answers the first
 * problem in this order. Throws what `limitCheck` throws.
 */
export const verifyExactEvm = async (
  presented: PresentedPayment,
  { nowMs, isRecorded, limitCheck = (check) => check() }: PaymentCheck,
): Promise<VerifiedPayment | PaymentProblem> => {
  const payment = readExactEvm(presented)
  if (typeof payment === 'string') return payment
  const problem = isRecorded?.(payment) ? undefined : problemOfTimes(payment, nowMs)
  if (problem !== undefined) return problem
  return (await limitCheck(() => isSignedByPayer(payment)))
    ? (payment as VerifiedPayment)
    : 'invalid_exact_evm_payload_signature'
}

/** Reads a payment whose signature is not checked: well-formed, to the recipient, of the amount. Answers the first problem. */
export const readExactEvm = (presented: PresentedPayment): WellFormedPayment | PaymentProblem => {
  const { payload, offer } = presented
  const read = readAuthorization(payload)
  if (read === undefined) return 'invalid_payload'
  const { authorization, signature } = read
  const { to, valueRaw } = authorization
  if (to !== offer.payTo.toLowerCase()) return 'invalid_exact_evm_payload_recipient_mismatch'
  if (valueRaw !== offer.amountRaw) return 'invalid_exact_evm_payload_authorization_value_mismatch'
  return isCanonicalEvmSignature(signature)
    ? { ...presented, ...authorization, signature }
    : 'invalid_exact_evm_payload_signature'
}

const problemOfTimes = (
  { validAfter, validBefore }: Authorization,
  nowMs: number,
): PaymentProblem | undefined => {
  const now = BigInt(Math.floor(nowMs / 1_000))
  if (
    validBefore < now + BigInt(MIN_VALIDITY_SECONDS) ||
    validBefore > now + BigInt(MAX_VALIDITY_SECONDS)
  )
    return 'invalid_exact_evm_payload_authorization_valid_before'
  return validAfter > now ? 'invalid_exact_evm_payload_authorization_valid_after' : undefined
}

/** Reads what a payment says that its payer signed; undefined where it is not well-formed. */
export const readAuthorization = ({
  authorization,
  signature,
}: Readonly<Record<string, unknown>>):
  | { readonly authorization: Authorization; readonly signature: `0x${string}` }
  | undefined => {
  if (typeof authorization !== 'object' || authorization === null) return undefined
  if (typeof signature !== 'string') return undefined
  const fields = authorization as Readonly<Record<string, unknown>>
  const [from, to] = [hexOf(fields.from, ADDRESS), hexOf(fields.to, ADDRESS)]
  const nonce = hexOf(fields.nonce, NONCE)
  const [value, after, before] = [fields.value, fields.validAfter, fields.validBefore].map(uintOf)
  if (!from || !to || !nonce) return undefined
  if (value === undefined || after === undefined || before === undefined) return undefined
  return {
    authorization: { from, to, valueRaw: value, validAfter: after, validBefore: before, nonce },
    signature: signature as `0x${string}`,
  }
}

const hexOf = (value: unknown, pattern: RegExp): `0x${string}` | undefined =>
  typeof value === 'string' && pattern.test(value)
    ? (value.toLowerCase() as `0x${string}`)
    : undefined

const uintOf = (value: unknown): bigint | undefined => {
  if (typeof value !== 'string' || !DECIMAL.test(value)) return undefined
  const read = BigInt(value)
  return read <= MAX_UINT256 ? read : undefined
}

const isSignedByPayer = async (payment: WellFormedPayment): Promise<boolean> => {
  const { from, to, valueRaw, validAfter, validBefore, nonce, signature } = payment
  const { network, asset } = payment.offer
  const row = PAYMENT_NETWORKS[network]
  if (row.vm !== 'evm') return false
  // No key of the curve fits: what a library throws here says no more than that.
  const signer = await recoverTypedDataAddress({
    domain: { ...row.domain, chainId: row.chainId, verifyingContract: asset as Hex },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: from as Hex,
      to: to as Hex,
      value: valueRaw,
      validAfter,
      validBefore,
      nonce: nonce as Hex,
    },
    signature: signature as Hex,
  }).catch(() => '')
  return signer.toLowerCase() === from
}
