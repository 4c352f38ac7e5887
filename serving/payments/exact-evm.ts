import { recoverTypedDataAddress } from 'viem'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import { isCanonicalEvmSignature } from '../auth/wallet-signature.ts'
import type {
  Authorization,
  Offer,
  PaymentProblem,
  ShownPayment,
  VerifiedPayment,
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
 * Checks a payment of the exact scheme on the EVM without a node: form, signature of an account of its own key (contract wallets
 * cannot pay), recipient, times, amount to the base unit. Answers the first problem in this order.
 */
export const verifyExactEvm = async (
  shown: ShownPayment,
  nowMs: number,
): Promise<VerifiedPayment | PaymentProblem> => {
  const { payload, offer } = shown
  const read = readAuthorization(payload)
  if (read === undefined) return 'invalid_payload'
  const { authorization, signature } = read
  if (!(await isSignedByPayer(authorization, signature, offer)))
    return 'invalid_exact_evm_payload_signature'
  return problemOf(authorization, offer, nowMs) ?? { ...shown, ...authorization, signature }
}

const problemOf = (
  { to, valueRaw, validAfter, validBefore }: Authorization,
  { payTo, amountRaw }: Offer,
  nowMs: number,
): PaymentProblem | undefined => {
  const now = BigInt(Math.floor(nowMs / 1_000))
  if (to !== payTo.toLowerCase()) return 'invalid_exact_evm_payload_recipient_mismatch'
  if (
    validBefore < now + BigInt(MIN_VALIDITY_SECONDS) ||
    validBefore > now + BigInt(MAX_VALIDITY_SECONDS)
  )
    return 'invalid_exact_evm_payload_authorization_valid_before'
  if (validAfter > now) return 'invalid_exact_evm_payload_authorization_valid_after'
  return valueRaw === amountRaw
    ? undefined
    : 'invalid_exact_evm_payload_authorization_value_mismatch'
}

const readAuthorization = ({
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

const isSignedByPayer = async (
  { from, to, valueRaw, validAfter, validBefore, nonce }: Authorization,
  signature: `0x${string}`,
  { network, asset }: Offer,
): Promise<boolean> => {
  if (!isCanonicalEvmSignature(signature)) return false
  const { chainId, domain } = PAYMENT_NETWORKS[network]
  // No key of the curve fits: what a library throws here says no more than that.
  const signer = await recoverTypedDataAddress({
    domain: { ...domain, chainId, verifyingContract: asset },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: { from, to, value: valueRaw, validAfter, validBefore, nonce },
    signature,
  }).catch(() => '')
  return signer.toLowerCase() === from
}
